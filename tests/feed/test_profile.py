"""What a feed says about its own time: figures, the sentence, the table, JSON, and the trace."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest

import wellfed as wf
from wellfed.errors import PlanError
from wellfed.feed import FeedStats, StageStats
from wellfed.feed.account import Gauge
from wellfed.feed.trace import MAX_EVENTS, Trace

SPEC = {"x": wf.FixedLenFeature([], np.int64)}


def numbers(rows=1000):
    return wf.from_arrays({"x": np.arange(rows)})


def add_one(element):
    return {"x": element["x"] + 1}


def even(element):
    return element["x"] % 2 == 0


@pytest.fixture
def records(tmp_path):
    with wf.TFRecordWriter(tmp_path / "x.tfrecord") as writer:
        writer.write_examples({"x": np.arange(1000)})
    return str(tmp_path / "x.tfrecord")


# --- How much is run --------------------------------------------------


def test_without_steps_or_seconds_one_epoch_is_run():
    found = wf.profile(numbers().batch(10))

    assert (found.stats.elements, found.epochs) == (100, 1)


def test_steps_go_on_into_the_next_epoch():
    found = wf.profile(numbers().shuffle(seed=0).batch(10), steps=250)

    assert (found.stats.elements, found.epochs) == (250, 3)


def test_the_data_sets_own_count_of_epochs_is_left_alone():
    dataset = numbers().batch(10)
    wf.profile(dataset, steps=250)

    assert iter(dataset).epoch == 0


def test_seconds_end_a_run_that_would_never_end():
    found = wf.profile(numbers().repeat().batch(10), seconds=0.05)

    assert found.stats.elements > 0
    assert found.stats.seconds >= 0.05


def test_an_endless_data_set_needs_steps_or_seconds():
    with pytest.raises(PlanError, match="say when to stop with steps= or seconds="):
        wf.profile(numbers().repeat())


def test_an_empty_data_set_ends_however_many_steps_are_asked_for():
    assert wf.profile(numbers(0).batch(10), steps=5).stats.elements == 0


@pytest.mark.parametrize("limit", [{"steps": 0}, {"seconds": 0.0}, {"seconds": -1}, {"seconds": np.nan}])
def test_limits_must_be_above_0(limit):
    with pytest.raises(ValueError, match=r"must be above 0, got"):
        wf.profile(numbers(), **limit)


def test_each_element_is_given_to_the_consumer():
    seen = []
    found = wf.profile(numbers().batch(100), consume=lambda batch: seen.append(len(batch["x"])))

    assert seen == [100] * 10
    assert 0 < found.stats.consumer_seconds < found.stats.seconds


def test_a_profile_leaves_no_thread(feed_threads):
    wf.profile(numbers().batch(10), steps=3)

    assert feed_threads() == []


@pytest.fixture
def feed_threads():
    return lambda: [thread.name for thread in threading.enumerate() if thread.name.startswith("wellfed-feed")]


# --- The figures --------------------------------------------------


def test_each_step_is_told_with_its_rows_bytes_and_threads(records):
    dataset = wf.TFRecordDataset(records, SPEC).shuffle(seed=0).map(add_one).batch(10).with_options(threads=2)
    stages = wf.profile(dataset).stages

    assert [(stage.name, stage.rows, stage.nbytes, stage.threads) for stage in stages] == [
        ("read", 1000, 8000, 2),
        ("shuffle", 1000, 0, 2),
        ("map(add_one)", 1000, 8000, 2),
        ("batch", 100, 8000, 2),
    ]


def test_a_lambda_is_named_by_its_place():
    (_, stage) = wf.profile(numbers().map(lambda element: element)).stages

    assert re.fullmatch(r"map\(lambda at test_profile\.py:\d+\)", stage.name)


def test_the_verbs_of_a_stream_are_told_each_with_its_own_time():
    found = wf.profile(numbers().shuffle(seed=0).filter(even).map(add_one).batch(10))

    assert [(stage.name, stage.rows) for stage in found.stages] == [
        ("read", 1000),
        ("shuffle", 1000),
        ("one by one", 1000),
        ("filter(even)", 500),
        ("map(add_one)", 500),
        ("batch", 50),
    ]
    stream = found.stages[2:]
    assert sum(stage.seconds + stage.input_seconds for stage in stream) <= found.stats.seconds * 1.01


def test_the_epochs_of_a_repeated_stream_are_added_up():
    stages = wf.profile(numbers().filter(even).repeat(3)).stages

    assert [(stage.name, stage.rows) for stage in stages] == [
        ("read", 3000),
        ("one by one", 3000),
        ("filter(even)", 1500),
        ("repeat", 1500),
    ]


def test_a_generator_is_a_step_too():
    dataset = wf.feed.from_generator(lambda: iter(range(30))).batch(10)

    assert [stage.name.partition("(")[0] for stage in wf.profile(dataset).stages] == ["from_generator", "batch"]


def test_the_time_of_a_slow_function_is_that_functions():
    turn = threading.Event()

    def slow(element):
        turn.wait(0.002)
        return element

    found = wf.profile(numbers(40).map(slow).batch(10).with_options(threads=2))
    by_name = {stage.name: stage for stage in found.stages}

    assert by_name["map(slow)"].seconds >= 40 * 0.002
    assert by_name["map(slow)"].cpu_seconds < by_name["map(slow)"].seconds / 2
    assert by_name["read"].seconds < by_name["map(slow)"].seconds


@pytest.mark.parametrize("on_error", ["replace", "skip"])
def test_the_time_of_calls_that_fail_is_that_functions_too(on_error):
    turn = threading.Event()

    def fails_slowly(element):
        if element["x"] % 2:
            turn.wait(0.002)
            raise ValueError("odd")
        return element

    found = wf.profile(numbers(40).map(fails_slowly).batch(10).with_options(threads=2, on_error=on_error))
    by_name = {stage.name: stage for stage in found.stages}

    assert by_name["map(fails_slowly)"].seconds >= 20 * 0.002
    assert by_name["map(fails_slowly)"].rows >= 20


def slow_rows(seconds=0.002):
    turn = threading.Event()
    return numbers(60).map(lambda element: turn.wait(seconds) or element)


COLUMNS = {
    "rows left out": (lambda d: d.batch(4).with_options(on_error="skip"), "batch"),
    "ignore_errors": (lambda d: d.ignore_errors().prefetch().padded_batch(4), "padded_batch"),
}


@pytest.mark.parametrize(("verbs", "name"), COLUMNS.values(), ids=COLUMNS)
def test_a_batch_that_waits_for_rows_is_not_busy(verbs, name):
    by_name = {stage.name: stage for stage in wf.profile(verbs(slow_rows()).with_options(threads=2)).stages}

    assert by_name[name].input_seconds > by_name[name].seconds


@pytest.mark.parametrize("verbs", [lambda d: d.unbatch().padded_batch(3), lambda d: d.rebatch(3)])
def test_rows_that_come_from_batches_are_not_the_time_of_the_next_batch(verbs):
    turn = threading.Event()
    batches = numbers(60).filter(lambda element: True).batch(4).map(lambda batch: turn.wait(0.005) or batch)
    *_, slow, last = wf.profile(verbs(batches)).stages

    assert slow.seconds >= 15 * 0.005
    assert last.seconds < slow.seconds / 2


def test_a_slow_consumer_makes_threads_wait_for_room_and_fills_the_queue():
    pause = threading.Event()
    found = wf.profile(numbers(200).batch(10).with_options(threads=1), consume=lambda _: pause.wait(0.005))
    last = found.stages[-1]

    assert last.queue_fill > 0.2
    assert str(found).endswith("the feed keeps up.")


def test_the_account_stands_still_once_the_iterator_is_closed():
    iterator = numbers().batch(10).epoch(0)
    next(iterator)
    iterator.close()

    assert iterator.stats().seconds == iterator.stats().seconds


def test_what_was_delivered_before_a_resume_does_not_count():
    dataset = numbers().batch(10)
    iterator = dataset.epoch(0)
    iterator.load_state_dict(iterator.state_dict() | {"position": 60})
    next(iterator)
    stats = iterator.stats()
    iterator.close()

    assert stats.elements == 1


def test_the_time_to_the_first_element_is_part_of_the_whole(records):
    stats = wf.profile(wf.TFRecordDataset(records, SPEC).shuffle(seed=0).batch(10)).stats

    assert 0 < stats.first_seconds <= stats.seconds


def test_a_queue_is_as_full_as_it_was_found_on_average():
    gauge = Gauge()
    gauge.window = 4
    for ready in (0, 2, 4, 6):  # Six: some results were ends of something, not units.
        gauge.found(ready)

    assert gauge.queue_fill() == pytest.approx((0 + 0.5 + 1 + 1) / 4)


# --- The sentence --------------------------------------------------


def test_replaced_rows_of_all_epochs_are_told():
    def fail_at_7(element):
        if element["x"] == 7:
            raise ValueError("no seven")
        return element

    dataset = numbers(20).map(fail_at_7).with_options(on_error="replace").batch(10)
    found = wf.profile(dataset, steps=4)

    assert [row.epoch for row in found.stats.replaced] == [0, 1]


def stats(waited, *stages, first=0.1, consumer=None):
    return FeedStats(600, 10.0, waited, 2, stages, first_seconds=first, consumer_seconds=consumer)


DECODE = StageStats(
    "map(Decode)", 600, 18.6, 18.0, threads=2, helps="more cores, smaller pictures, or cache() after it"
)
READ = StageStats("read", 600, 1.0, 0.1, threads=2)


def test_a_function_in_processes_is_told_with_them():
    dataset = numbers(40).map(add_one, processes=2).batch(10)

    assert [stage.name for stage in wf.profile(dataset).stages] == ["read", "map(add_one, 2 processes)", "batch"]


def test_skipped_rows_of_all_epochs_are_told():
    def fail_at_7(element):
        if element["x"] == 7:
            raise ValueError("no seven")
        return element

    dataset = numbers(20).map(fail_at_7).with_options(on_error="skip").batch(19)

    assert [row.epoch for row in wf.profile(dataset, steps=2).stats.skipped] == [0, 1]


SENTENCES = {
    "processes": (
        stats(6.1, StageStats("map(f, 4 processes)", 600, 36.0, 1.0, threads=4, helps="more processes")),
        "map(f, 4 processes) used 90% of 4 threads: more processes would help.",
    ),
    "a busy step": (
        stats(6.1, READ, DECODE),
        "the consumer waited 61% of the time; map(Decode) used 93% of 2 threads: more cores, smaller pictures, or",
    ),
    "a slow disk": (
        stats(6.1, StageStats("read", 600, 9.0, 0.1, threads=1, helps="faster storage")),
        "the consumer waited 61% of the time; read used 90% of one thread: faster storage would help.",
    ),
    "no core": (
        stats(6.1, StageStats("map(f)", 600, 18.0, 2.0, threads=2)),
        "map(f) used 90% of 2 threads and had a core for 11% of that, since another program or Python's",
    ),
    "a long start": (
        stats(9.0, READ, first=8.0),
        "and 80% of it went by before the first element: opening and indexing",
    ),
    "a long start without a wait": (stats(0.1, READ, first=8.0, consumer=0.0), "and 80% of it went by before"),
    "a fast feed": (stats(0.1, READ, DECODE), "the consumer waited 1% of the time: the feed keeps up."),
    "small elements": (
        stats(0.1, READ, consumer=1.0),
        "handing elements over took 89%: batch() makes fewer and larger ones.",
    ),
    "nothing": (FeedStats(0, 0.0, 0.0), "Nothing was asked for yet."),
    "no element": (FeedStats(0, 1.0, 0.0), "No element was delivered."),
}


@pytest.mark.parametrize(("found", "due"), SENTENCES.values(), ids=SENTENCES)
def test_the_sentence_says_what_limits_and_what_would_help(found, due):
    assert due in str(found)


# --- Table and JSON --------------------------------------------------


def test_the_table_has_a_line_a_step():
    from rich.console import Console

    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123 -- nothing is written.
    console.print(stats(6.1, READ, DECODE).table())
    console.file.close()
    lines = console.export_text().splitlines()

    assert [line.split()[0] for line in lines if "% of 2" in line] == ["read", "map(Decode)"]
    assert "600 elements in 10.00 s, first after 100.0 ms, waited 6.10 s" in " ".join(lines)


def test_the_json_has_every_field_and_the_sentence():
    found = wf.profile(numbers().batch(10))
    content = json.loads(found.to_json())

    assert set(content) == {*FeedStats.__dataclass_fields__, "sentence", "epochs", "changed"}
    assert set(content["stages"][0]) == set(StageStats.__dataclass_fields__)
    assert content["sentence"] == str(found)


def test_rich_is_loaded_only_for_the_table():
    code = (
        "import sys, numpy as np, wellfed as wf\n"
        "found = wf.profile(wf.from_arrays(np.arange(9)))\n"
        "found.to_json(); str(found)\n"
        "before = 'rich' in sys.modules; found.table(); print(before, 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False True\n"


# --- The trace --------------------------------------------------


@pytest.fixture
def trace(tmp_path):
    """The trace of a feed with a plain part and a stream over it, with a consumer."""
    dataset = numbers(5000).shuffle(seed=0).map(add_one).filter(even).batch(10).with_options(threads=2)
    wf.profile(dataset, consume=lambda _: None).save_trace(tmp_path / "feed.json")
    return json.loads((tmp_path / "feed.json").read_text())


def test_each_event_of_the_trace_has_what_the_format_asks_of_its_phase(trace):
    # "Trace Event Format", sections "Complete Events", "Counter Events" and "Metadata Events".
    due = {"X": {"name", "cat", "ts", "dur"}, "C": {"name", "ts", "args"}, "M": {"name", "args"}}

    assert {event["ph"] for event in trace["traceEvents"]} == {"X", "C", "M"}
    for event in trace["traceEvents"]:
        assert due[event["ph"]] <= set(event)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
    assert trace["displayTimeUnit"] in {"ms", "ns"}


def test_no_event_of_the_trace_begins_before_it_or_ends_before_it_begins(trace):
    timed = [event for event in trace["traceEvents"] if "ts" in event]

    assert timed
    assert all(event["ts"] >= 0 and event.get("dur", 0) >= 0 for event in timed)


def test_the_spans_of_a_thread_lie_in_one_another_or_apart(trace):
    threads = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            threads.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(threads) >= 3
    for spans in threads.values():
        open_ends = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ends and open_ends[-1] <= start + 0.002:  # Times are rounded to nanoseconds.
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1] + 0.002
            open_ends.append(end)


def test_every_thread_of_the_trace_has_a_name(trace):
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}

    assert {event["tid"] for event in trace["traceEvents"] if event["ph"] == "X"} == set(names)
    assert {"MainThread", "wellfed-feed-0"} <= set(names.values())


def test_the_steps_of_a_unit_lie_within_it(trace):
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    units = [span for span in spans if span["name"] == "unit"]
    maps = [span for span in spans if span["name"] == "map(add_one)"]

    assert maps
    for span in maps:
        assert any(
            unit["tid"] == span["tid"]
            and unit["ts"] <= span["ts"] + 0.002
            and span["ts"] + span["dur"] <= unit["ts"] + unit["dur"] + 0.002
            for unit in units
        )


def test_events_are_in_the_order_of_time(trace):
    starts = [event["ts"] for event in trace["traceEvents"] if event["ph"] == "X"]

    assert all(a <= b for a, b in pairwise(starts))


def test_what_comes_after_half_a_million_events_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("wellfed.feed.trace.MAX_EVENTS", 2)
    trace = Trace()
    for _ in range(5):
        trace.span("unit", 1.0, 2.0)
    trace.save(tmp_path / "feed.json")

    assert MAX_EVENTS >= 100_000
    assert json.loads((tmp_path / "feed.json").read_text())["otherData"]["dropped events"] == 3


def test_a_trace_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        Trace().save(tmp_path / "nowhere" / "feed.json")

    assert list(tmp_path.iterdir()) == []
