"""`wellfed export`."""

import json
import subprocess
import sys

import pytest
from packed_folder import contents


def test_export_brings_the_digits_back(wellfed, packed, digits, tmp_path):
    done = wellfed("export", packed, tmp_path / "back")

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{tmp_path / 'back'}  100 files, ")
    back = contents(tmp_path / "back")
    assert {path.split("/", 1)[1]: content for path, content in back.items()} == contents(digits)


def test_the_golden_json_of_export(wellfed, packed, tmp_path):
    report = json.loads(wellfed("export", packed, tmp_path / "back", "--split", "test", "--json").stdout)

    assert set(report) == {"folder", "records", "files", "bytes"}
    assert report["records"] == {"test": report["files"]}


def test_export_to_csv_of_some_features(wellfed, packed, tmp_path):
    done = wellfed("export", packed, tmp_path / "back", "--to", "csv", "--features", "filename,label")

    assert done.exit_code == 0
    assert (tmp_path / "back" / "train.csv").read_text().splitlines()[0] == "filename,label"


def test_what_cannot_be_exported_is_one_sentence(wellfed, packed, tmp_path):
    done = wellfed("export", packed, tmp_path / "back", "--to", "csv")

    assert done.exit_code == 2
    assert "feature 'image' is bytes, which CSV cannot hold" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_in_the_place_of_the_data_set_is_told_from_a_folder(wellfed, packed, tmp_path):
    shard = packed / "digits-test.tfrecord-00000-of-00002"
    done = wellfed("export", shard, tmp_path / "back")

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"wellfed: {shard}: is a file; the folder of a data set is due")
    assert "`wellfed pack tfrecord` makes one" in done.stderr


def test_a_folder_of_bare_files_says_what_makes_a_data_set_of_them(wellfed, tmp_path):
    (tmp_path / "x.tfrecord").touch()
    done = wellfed("export", tmp_path, tmp_path / "back")

    assert done.exit_code == 2
    assert "make a data set of them with `wellfed pack tfrecord`" in done.stderr


@pytest.mark.parametrize(
    ("under", "told"), [("", "is a file: give a folder"), ("x", "is a file, where a folder is due")]
)
def test_a_file_in_the_place_of_the_output_is_told(wellfed, packed, tmp_path, under, told):
    (tmp_path / "mine").write_text("kept")
    done = wellfed("export", packed, tmp_path / "mine" / under)

    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr
    assert (tmp_path / "mine").read_text() == "kept"


def test_an_output_with_a_protocol_is_the_folder_of_that_path(wellfed, packed, tmp_path):
    assert wellfed("export", packed, f"file://{tmp_path}/back", "--split", "test").exit_code == 0
    assert (tmp_path / "back" / "test").is_dir()


STOPS_ITSELF = """
import os, signal, sys
from wellfed.cli.main import main

def stop(event, args):
    if event == "open" and str(args[0]).endswith("train.csv"):
        os.kill(os.getpid(), signal.Signals[name])

name, sys.argv[1:] = sys.argv[1], sys.argv[2:]
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # Under nohup it is ignored.
sys.addaudithook(stop)
main()
"""


@pytest.mark.parametrize(("name", "code", "told"), [
    ("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "ended by SIGTERM"), ("SIGHUP", 129, "ended by SIGHUP")
])  # fmt: skip
def test_a_signal_that_ends_the_command_leaves_nothing_behind(packed, tmp_path, name, code, told):
    args = ["export", str(packed), "back", "--to", "csv", "--features", "label"]
    command = [sys.executable, "-c", STOPS_ITSELF, name, *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    assert (done.returncode, done.stderr) == (code, f"{told}\n")
    assert list(tmp_path.iterdir()) == [packed]
