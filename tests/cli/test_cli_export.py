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


STOPS_ITSELF = """
import os, signal, sys
from wellfed.cli.main import main

def stop(event, args):
    if event == "open" and str(args[0]).endswith("train.csv"):
        os.kill(os.getpid(), signal.Signals[name])

name, sys.argv[1:] = sys.argv[1], sys.argv[2:]
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
