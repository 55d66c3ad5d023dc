"""`map(f, processes=N)`: the same elements as threads make, errors as if raised here, and nothing left behind."""

import functools
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import heavy
import numpy as np
import pytest
from feed_model import plain
from leftovers import child_that_drops, feed_threads, workers

import wellfed as wf
from wellfed.adapters.loader import Loader
from wellfed.errors import PlanError, StageError, WorkerLostError
from wellfed.feed import messages

SUPPORT = Path(heavy.__file__).parent


def numbers(length):
    return wf.from_arrays(np.arange(length))


def check_nothing_is_left():
    gc.collect()
    assert workers() == []
    assert feed_threads() == []


@pytest.mark.parametrize("processes", [1, 3])
def test_processes_make_the_bytes_that_threads_make(processes):
    def build(processes):
        return numbers(60).shuffle(seed=2).map(heavy.picture, processes=processes).batch(7)

    for ours, due in zip(build(processes), build(None), strict=True):
        assert (ours["image"].tobytes(), ours["label"].tolist()) == (due["image"].tobytes(), due["label"].tolist())


@pytest.mark.parametrize("processes", [1, 3])
def test_random_numbers_do_not_depend_on_the_process(processes):
    def build(processes):
        return numbers(50).shuffle(seed=1).map(heavy.noisy, rng=True, processes=processes)

    assert [plain(x) for x in build(processes).epoch(2)] == [plain(x) for x in build(None).epoch(2)]


def test_a_batch_may_be_made_in_a_process():
    batches = list(wf.from_arrays({"x": np.arange(10)}).batch(4).map(heavy.batch_sum, processes=2))

    assert [(int(b["sum"]), b["text"]) for b in batches] == [(6, "4 rows"), (22, "4 rows"), (17, "2 rows")]


def test_the_work_is_done_elsewhere():
    found = {plain(x) for x in numbers(40).map(heavy.pid, processes=2)}

    assert os.getpid() not in found
    assert 1 <= len(found) <= 2


@pytest.mark.parametrize("processes", [1, 2])
def test_processes_work_after_a_verb_that_lost_the_rows(processes):
    found = [plain(x) for x in numbers(30).filter(heavy.double).map(heavy.double, processes=processes)]

    assert found == [2 * x for x in range(1, 30)]
    check_nothing_is_left()


@pytest.mark.parametrize("processes", [1, 2])
def test_a_stop_in_a_stream_with_processes_resumes_exactly(processes):
    def build():
        return numbers(30).filter(heavy.double).map(heavy.noisy, rng=True, processes=processes).batch(4)

    iterator = iter(build())
    next(iterator)
    next(iterator)
    saved = iterator.state_dict()
    due = [plain(b) for b in iterator]
    resumed = iter(build())
    resumed.load_state_dict(saved)

    assert [plain(b) for b in resumed] == due


def test_a_state_is_good_for_any_number_of_processes():
    iterator = iter(numbers(30).map(heavy.double, processes=2))
    next(iterator)
    saved = iterator.state_dict()
    iterator.close()
    resumed = iter(numbers(30).map(heavy.double))
    resumed.load_state_dict(saved)

    assert plain(next(resumed)) == 2
    resumed.close()


def test_arrays_that_come_back_are_writable_and_their_own():
    first, second = numbers(2).map(heavy.picture, processes=1)
    first["image"][:] = 9

    assert int(second["image"].max()) == 1


# --- Errors ---------------------------------------------------------------------------------------


def test_an_error_names_stage_place_row_and_shows_its_own_traceback():
    got = []
    with pytest.raises(
        StageError, match=r"map\(fail_at_57 at .*heavy\.py:\d+\) failed at row 57: LookupError: no 57"
    ) as caught:
        got.extend(plain(x) for x in numbers(100).map(heavy.fail_at_57, processes=2))

    assert got == list(range(57))
    assert type(caught.value.__cause__) is LookupError
    assert "in fail_at_57" in "".join(traceback.format_exception(caught.value))
    check_nothing_is_left()


def test_an_error_that_does_not_pickle_arrives_as_text():
    with pytest.raises(StageError, match="failed at row 0: RuntimeError: Awkward: detail 0"):
        list(numbers(3).map(heavy.fail_awkwardly, processes=1))
    check_nothing_is_left()


def test_a_result_that_does_not_pickle_names_its_row():
    with pytest.raises(StageError, match=r"failed at row 3: PicklingError: its result does not pickle.*lambda"):
        list(numbers(6).map(heavy.give_a_lambda, processes=1))


def test_a_function_that_does_not_pickle_is_refused_at_once():
    with pytest.raises(
        PlanError, match=r"map: processes=2 needs a function that pickles: .*<lambda> at .*\.py:\d+ does"
    ):
        numbers(3).map(lambda x: x, processes=2)


@pytest.mark.parametrize(
    ("function", "processes", "what"),
    [
        (heavy.double, 0, "processes must be at least 1, got 0"),
        (wf.image.Resize("image", 8), 2, "Resize works on columns"),
    ],
)
def test_what_processes_cannot_do_is_refused(function, processes, what):
    with pytest.raises(PlanError, match=what):
        numbers(3).map(function, processes=processes)


def test_a_partial_of_a_function_is_a_function():
    assert [plain(x) for x in numbers(3).map(functools.partial(np.add, 5), processes=1)] == [5, 6, 7]


def test_a_killed_worker_is_an_error_that_names_the_signal():
    with pytest.raises(WorkerLostError, match=r"map\(die_at_57 at .*\): process \d+ ended by signal 9"):
        list(numbers(100).map(heavy.die_at_57, processes=2))
    check_nothing_is_left()


def test_failing_rows_are_replaced_as_with_threads():
    def build(processes):
        mapped = numbers(100).shuffle(seed=3).map(heavy.fail_at_57, processes=processes)
        return [plain(x) for x in mapped.with_options(on_error="replace")]

    assert build(2) == build(None)


# --- Nothing is left ------------------------------------------------------------------------------


def test_a_break_ends_the_processes():
    for number, _ in enumerate(numbers(10_000).map(heavy.picture, processes=2)):
        if number == 5:
            break

    check_nothing_is_left()


def test_a_collected_iterator_ends_its_processes_in_the_middle_of_a_call():
    holder = [iter(numbers(100).map(heavy.take_for_ever, processes=2))]
    next(holder[0])
    holder.append(holder)
    assert workers()
    del holder

    check_nothing_is_left()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # That is the point.
def test_a_child_that_drops_its_parents_iterator_leaves_the_parents_processes_alone():
    held = [iter(numbers(200).map(heavy.double, processes=2).with_options(threads=2))]
    next(held[0])

    assert child_that_drops(held) == 0
    assert [plain(x) for x in held[0]] == [2 * x for x in range(1, 200)]
    check_nothing_is_left()


# --- From one epoch to the next -------------------------------------------------------------------


class Plain(Loader):
    """A loader that moves nothing."""

    def _start(self, element):
        return element


def pids():
    return {process.pid for process in workers()}


def test_a_loader_keeps_its_processes_and_ends_them():
    loader = Plain(numbers(40).map(heavy.double, processes=2), ahead=0)
    found = [[plain(x) for x in loader]]
    first = pids()
    found += [[plain(x) for x in loader], [plain(x) for x in loader]]

    assert found == [[2 * x for x in range(40)]] * 3
    assert (len(first), pids()) == (2, first)
    del loader
    check_nothing_is_left()


def test_a_loader_whose_epoch_was_left_goes_on_with_the_next_and_leaves_nothing():
    loader = Plain(numbers(100).map(heavy.double, processes=2), ahead=0)
    for _ in range(3):
        for number, _ in enumerate(loader):
            if number == 5:
                break
    gc.collect()

    assert len(workers()) <= 2
    assert [plain(x) for x in loader] == [2 * x for x in range(100)]
    del loader
    check_nothing_is_left()


def test_processes_whose_function_changed_between_epochs_are_others():
    function = heavy.Times(2)
    loader = Plain(numbers(10).map(function, processes=2), ahead=0)
    before = [plain(x) for x in loader], pids()
    function.factor = 3
    after = [plain(x) for x in loader], pids()

    assert (before[0], after[0]) == ([2 * x for x in range(10)], [3 * x for x in range(10)])
    assert len(after[1]) == 2
    assert not before[1] & after[1]


def test_processes_that_died_between_epochs_are_made_anew():
    loader = Plain(numbers(10).map(heavy.double, processes=2), ahead=0)
    list(loader)
    for process in workers()[:1]:
        process.kill()
        process.join()

    assert [plain(x) for x in loader] == [2 * x for x in range(10)]
    assert len(workers()) == 2


def test_an_error_in_an_epoch_of_a_loader_leaves_nothing_once_it_is_gone():
    loader = Plain(numbers(100).map(heavy.fail_at_57, processes=2), ahead=0)
    for _ in range(2):
        with pytest.raises(StageError, match="no 57"):
            list(loader)
    del loader

    check_nothing_is_left()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # That is the point.
def test_a_child_that_drops_its_parents_loader_leaves_the_parents_processes_alone():
    held = [Plain(numbers(20).map(heavy.double, processes=2), ahead=0)]
    list(held[0])
    kept = pids()

    assert child_that_drops(held) == 0
    assert [plain(x) for x in held[0]] == [2 * x for x in range(20)]
    assert pids() == kept
    held.clear()
    check_nothing_is_left()


def test_a_stream_under_repeat_keeps_its_processes():
    found = [plain(x) for x in numbers(12).filter(heavy.double).map(heavy.pid, processes=2).repeat(4)]

    assert len(found) == 44
    assert len(set(found)) <= 2
    check_nothing_is_left()


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's list of open files")
def test_no_memory_and_no_descriptor_stays_once_elements_are_gone():
    list(numbers(4).map(heavy.picture, processes=1))  # Python's forkserver and its pipes stay for the whole program.
    gc.collect()
    before = descriptors()
    kept = list(numbers(40).map(heavy.picture, processes=2))
    assert "memfd:wellfed" in Path("/proc/self/maps").read_text(encoding="utf-8")
    del kept
    gc.collect()

    assert "memfd:wellfed" not in Path("/proc/self/maps").read_text(encoding="utf-8")
    assert descriptors() <= before  # Fewer where what an earlier test left was collected meanwhile.


PROGRAM = """
import sys
sys.path.insert(0, {support!r})
import heavy, numpy as np, wellfed as wf

if __name__ == "__main__":
    iterator = iter(wf.from_arrays(np.arange(10**6)).map(heavy.{function}, processes=2))
    print(int(next(iterator)["label"] if heavy.{function} is heavy.picture else next(iterator)), flush=True)
    {then}
"""


def run(tmp_path, function, then):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(support=str(SUPPORT), function=function, then=then), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_program_that_ends_with_running_workers_says_nothing(tmp_path):
    program = run(tmp_path, "picture", "kept = next(iterator)")
    out, err = program.communicate(timeout=60)

    assert (program.returncode, out, err) == (0, "0\n", "")


def test_ctrl_c_in_the_middle_of_calls_ends_everything(tmp_path):
    program = run(tmp_path, "take_for_ever", "list(iterator)")
    assert program.stdout.readline() == "0\n"
    os.killpg(program.pid, signal.SIGINT)  # As a terminal does: all processes get it.
    _, err = program.communicate(timeout=60)  # Returns once every process has closed the pipe.

    assert program.returncode == -signal.SIGINT
    assert err.count("Traceback") == 1
    assert "KeyboardInterrupt" in err
    assert "resource_tracker" not in err


def test_workers_end_when_their_program_is_killed(tmp_path):
    program = run(tmp_path, "picture", "list(iterator)")
    assert program.stdout.readline() == "0\n"
    program.kill()
    _, err = program.communicate(timeout=60)  # Returns once every process has closed the pipe.

    assert "resource_tracker" not in err


# --- Messages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [None, [1, "a", b"b"], b"x" * 100_000, np.arange(3), np.arange(100_000.0).reshape(100, -1), "y" * 50_000],
    ids=["none", "list", "bytes", "small array", "large array", "text"],
)
def test_a_value_arrives_as_it_was(value):
    ours, theirs = multiprocessing.Pipe()
    messages.send(ours, [value, value])
    found = messages.receive(theirs)
    ours.close()
    theirs.close()

    for one in found:
        assert type(one) is type(value)
        assert pickle.dumps(one) == pickle.dumps(value)
