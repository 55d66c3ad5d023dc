"""`wellfed bench`: how fast a path is fed, what limits it, and where that is written."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import wellfed as wf


@pytest.fixture
def pairs(tmp_path):
    """Returns a pattern of two files with 500 records each."""
    for number in range(2):
        with wf.TFRecordWriter(tmp_path / f"pairs-{number}.tfrecord") as writer:
            writer.write_examples({"a": np.arange(500), "b": np.arange(500)})
    return tmp_path / "pairs-*.tfrecord"


def steps_of(done):
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_the_answer_is_a_table_and_a_sentence(wellfed, pairs):
    done = wellfed("bench", pairs, "--steps", 10)
    lines = done.stdout.splitlines()

    assert (done.exit_code, done.stderr) == (0, "")
    assert [line.split()[0] for line in lines if " of " in line and "%" in line][:2] == ["read", "batch"]
    assert lines[-1].partition(";")[0].endswith("elements/s")


def test_a_narrow_terminal_loses_no_column(pairs):
    program = "from wellfed.cli.main import main; main()"
    script = f"stty cols 40; {sys.executable} -c '{program}' bench '{pairs}' --steps 2"
    done = subprocess.run(["script", "-qec", script, "/dev/null"], capture_output=True, text=True, check=True)
    # What is wider than the terminal it breaks by itself.
    heading, rows = done.stdout.split("read", 1)
    assert all(name in heading for name in ("step", "made/s", "bytes/s", "busy", "queue"))
    assert "batch" in rows


def test_the_json_is_one_object_with_the_fields_of_the_account(wellfed, pairs):
    done = wellfed("bench", pairs, "--steps", 40, "--json")
    content = steps_of(done)

    assert done.stdout.count("\n") == 1
    assert sorted(content) == [
        "changed",
        "consumer_seconds",
        "damage",
        "elements",
        "epochs",
        "first_seconds",
        "remote",
        "repeated",
        "repeated_at",
        "replaced",
        "seconds",
        "sentence",
        "skipped",
        "stages",
        "threads",
        "waited_seconds",
    ]
    assert (content["elements"], content["epochs"]) == (40, 3)


def test_several_files_are_fed_together(wellfed, pairs):
    files = sorted(pairs.parent.glob(pairs.name))
    content = steps_of(wellfed("bench", *files, "--steps", 1, "--batch-size", 1000, "--json"))

    assert content["stages"][0]["rows"] == 1000


def test_the_folder_of_a_data_set_is_fed_alone(wellfed, packed, pairs):
    done = wellfed("bench", pairs, packed, "--steps", 1)

    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{packed}: is a folder among several paths: give it alone" in done.stderr


def test_batches_have_the_size_that_was_asked_for(wellfed, pairs):
    content = steps_of(wellfed("bench", pairs, "--steps", 4, "--batch-size", 250, "--threads", 1, "--json"))

    assert content["threads"] == 1
    assert [stage["rows"] for stage in content["stages"]] == [1000, 4]


def test_shuffling_is_a_step(wellfed, pairs):
    content = steps_of(wellfed("bench", pairs, "--steps", 3, "--shuffle", "--json"))

    assert [stage["name"] for stage in content["stages"]] == ["read", "shuffle", "batch"]


def test_raw_feeds_the_records_bytes(wellfed, tmp_path):
    with wf.TFRecordWriter(tmp_path / "x.tfrecord") as writer:
        writer.write_many([b"\xff" * 100] * 20)  # No Examples.
    content = steps_of(wellfed("bench", tmp_path / "x.tfrecord", "--steps", 1, "--batch-size", 20, "--raw", "--json"))

    assert content["stages"][0]["nbytes"] >= 2000


def test_seconds_end_it(wellfed, pairs):
    content = steps_of(wellfed("bench", pairs, "--seconds", 0.05, "--json"))

    assert content["seconds"] >= 0.05


def test_a_packed_data_set_is_fed_as_its_schema_says(wellfed, packed):
    content = steps_of(wellfed("bench", packed, "--split", "train", "--steps", 2, "--json"))

    assert [stage["name"] for stage in content["stages"]] == ["read", "map(DecodeSchema)", "map(Decode)", "batch"]


@pytest.mark.parametrize("of", ["a folder", "files"])
def test_pictures_are_resized_where_that_is_asked_for(wellfed, packed, of):
    path = [packed, "--split", "train"] if of == "a folder" else [packed / "digits-train*"]
    content = steps_of(wellfed("bench", *path, "--steps", 2, "--batch-size", 8, "--resize", "14x14", "--json"))
    maps = [stage for stage in content["stages"] if stage["name"].startswith("map(")]

    assert maps[-1]["nbytes"] // maps[-1]["rows"] >= 14 * 14
    assert maps[-1]["nbytes"] // maps[-1]["rows"] < 28 * 28


def test_the_trace_is_written_where_it_was_asked_for(wellfed, pairs, tmp_path):
    done = wellfed("bench", pairs, "--steps", 3, "--trace", tmp_path / "feed.json")

    assert done.exit_code == 0
    assert {"unit", "read", "batch"} <= {
        e["name"] for e in json.loads((tmp_path / "feed.json").read_text())["traceEvents"]
    }


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="Windows has none")
def test_a_trace_into_the_output_comes_behind_the_answer(pairs, tmp_path):
    (tmp_path / "out").symlink_to("/dev/stdout")  # Were it replaced, only the link would be lost.
    command = [sys.executable, "-c", "from wellfed.cli import main; main()", "bench", str(pairs), "--steps", "2"]
    done = subprocess.run([*command, "--trace", str(tmp_path / "out")], capture_output=True, text=True, check=True)

    assert (tmp_path / "out").is_symlink()
    assert "traceEvents" in json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has none")
def test_a_trace_does_not_take_the_place_of_a_device(wellfed, pairs, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    done = wellfed("bench", pairs, "--steps", 2, "--trace", tmp_path / "pipe")
    os.close(reading)

    assert done.exit_code == 0
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a Linux device")
def test_a_trace_that_meets_a_full_disk_is_named_below_the_answer(wellfed, pairs, tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")  # Were it replaced, only the link would be lost.
    done = wellfed("bench", pairs, "--steps", 2, "--trace", tmp_path / "full")

    assert done.exit_code == 2
    assert done.stderr == f"wellfed: {tmp_path / 'full'}: No space left on device\n"
    assert "elements/s" in done.stdout


def append(path):
    with path.open("ab") as file:
        file.write(path.read_bytes())


def replace(path):
    path.with_name("new").write_bytes(path.read_bytes())
    path.with_name("new").replace(path)


CHANGES = {
    "grows": append,
    "is replaced": replace,
    "is cut": lambda path: os.truncate(path, 1000),
    "is removed": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changes_meanwhile_is_named(wellfed, pairs, monkeypatch, change):
    changing, other = sorted(pairs.parent.glob(pairs.name))
    monkeypatch.setattr("wellfed.feed.profile", partial(wf.profile, consume=lambda _: change(changing)))
    done = wellfed("bench", changing, other, "--steps", 1, "--batch-size", 1000)

    told = f"files that changed meanwhile, so the figures may be of more than one content:\n  {changing}\n"
    assert done.exit_code == 1
    assert told in done.stdout
    assert str(other) not in done.stdout


def test_a_file_without_records_has_no_figures(wellfed, tmp_path):
    (tmp_path / "empty").touch()
    done = wellfed("bench", tmp_path / "empty")

    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "No element was delivered.")


FAULTS = {
    "a time that never comes": (["{pairs}", "--seconds", "nan"], 2, "expected seconds above 0"),
    "no time": (["{pairs}", "--seconds", "0"], 2, "expected seconds above 0"),
    "a batch of more than there can be": (["{pairs}", "--batch-size", "9" * 30], 2, "expected a whole number"),
    "no such file": (["nowhere.tfrecord"], 2, "nowhere.tfrecord"),
    "no records": ([__file__], 2, "not a TFRecord"),
    "no such size": (["{pairs}", "--resize", "big"], 2, "big"),
    "no size at all": (["{pairs}", "--resize", "0x5"], 2, "0x5"),
    "no side at all": (["{pairs}", "--resize", "0"], 2, "'0'"),
    "no pictures": (["{pairs}", "--steps", "1", "--resize", "5"], 2, "holds no picture"),
    "pictures of bytes": (["{pairs}", "--raw", "--resize", "5"], 2, "leave out --raw"),
    "no place for a trace": (["{pairs}", "--trace", "nowhere/x.json"], 2, "nowhere is no folder"),
    "a folder for a trace": (["{pairs}", "--trace", "."], 2, ". is a folder"),
    "no steps": (["{pairs}", "--steps", "0"], 2, "--steps"),
}


@pytest.mark.parametrize(("arguments", "code", "text"), FAULTS.values(), ids=FAULTS)
def test_what_cannot_run_is_a_sentence_on_stderr(wellfed, pairs, arguments, code, text):
    done = wellfed("bench", *(str(argument).format(pairs=pairs) for argument in arguments))

    assert (done.exit_code, done.stdout) == (code, "")
    assert text in done.stderr


def test_damage_is_something_found(wellfed, pairs):
    path = pairs.parent / "pairs-0.tfrecord"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    done = wellfed("bench", pairs, "--steps", 30)

    assert done.exit_code == 1
    assert "record 499" in done.stderr


@pytest.fixture
def damaged(tmp_path):
    """Returns a file of 20 records whose sixth one is damaged."""
    path = tmp_path / "damaged.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        writer.write_examples({"a": np.arange(20)})
    content = bytearray(path.read_bytes())
    content[len(content) // 20 * 6 - 1] ^= 1
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("on_error", "what", "elements"), [("skip", "left out", 19), ("replace", "replaced", 20)])
@pytest.mark.parametrize("raw", [(), ("--raw",)], ids=["parsed", "raw"])
def test_rows_that_are_left_out_or_replaced_are_named(wellfed, damaged, raw, on_error, what, elements):
    options = ("--steps", elements * 2, "--batch-size", 1, "--on-error", on_error, *raw)
    done = wellfed("bench", damaged, *options)
    content = json.loads(wellfed("bench", damaged, *options, "--json").stdout)

    assert (done.exit_code, done.stderr) == (1, "")
    assert f"{what} 2 times:\n  {damaged}: record 5: payload CRC32C is" in done.stdout
    assert done.stdout.count("record 5") == 1
    assert content["epochs"] == 2
    assert len(content["skipped"] + content["replaced"]) == 2


def test_without_a_word_on_errors_damage_ends_the_run(wellfed, damaged):
    done = wellfed("bench", damaged, "--steps", 20, "--batch-size", 1)

    assert (done.exit_code, done.stdout) == (1, "")
    assert "record 5" in done.stderr


@pytest.fixture
def cut(tmp_path):
    """Returns a file of 20 records whose last one is cut."""
    path = tmp_path / "cut.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        writer.write_examples({"a": np.arange(20)})
    path.write_bytes(path.read_bytes()[:-7])
    return path


def test_what_helps_against_a_cut_file_is_an_option_of_the_command(wellfed, cut):
    done = wellfed("bench", cut, "--on-error", "skip", "--steps", 20, "--batch-size", 1)

    assert (done.exit_code, done.stdout) == (1, "")
    assert "only " in done.stderr
    assert done.stderr.endswith("Skip damage with --on-damage skip; list it with `wellfed verify`.\n")


@pytest.mark.parametrize("raw", [(), ("--raw",)], ids=["parsed", "raw"])
def test_damage_that_is_left_out_is_named(wellfed, cut, raw):
    options = ("--steps", 38, "--batch-size", 1, "--on-damage", "skip", *raw)
    done = wellfed("bench", cut, *options)
    content = json.loads(wellfed("bench", cut, *options, "--json").stdout)

    assert (done.exit_code, done.stderr) == (1, "")
    assert f"left out 1 damaged region:\n  {cut}: record 19  bytes [" in done.stdout
    assert [region["record_index"] for region in content["damage"]] == [19]
    assert content["epochs"] == 2


def test_it_runs_as_a_program(pairs):
    command = [sys.executable, "-c", "from wellfed.cli import main; main()", "bench", str(pairs), "--steps", "5"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "elements/s" in done.stdout
    assert "\x1b" not in done.stdout
