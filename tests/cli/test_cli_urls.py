"""What a URL stands for on the command line is asked of its store, not told from its name."""

import fsspec
import numpy as np
import pytest

import wellfed as wf
from wellfed.sources import Numpy

LOOK = ["head", "schema", "verify", "index"]


@pytest.fixture
def store(tmp_path):
    """Returns the URL of a folder: two shards without a dot in their names, and a data set with a version."""
    for number in range(2):
        with wf.TFRecordWriter(f"memory://commands/train-{number:05d}-of-00002") as writer:
            writer.write_examples({"x": np.arange(5)})
    np.save(tmp_path / "x.npy", np.arange(5))
    wf.pack(Numpy(tmp_path / "x.npy"), "memory://commands/packed", name="n", version="1.0.0")
    yield "memory://commands"
    fsspec.filesystem("memory").rm("/commands", recursive=True)


@pytest.mark.parametrize("command", LOOK)
@pytest.mark.parametrize("name", ["train-00000-of-00002", "train-0000?-of-00002", "train-*", "train@2"])
def test_a_shard_without_a_dot_in_its_name_is_a_file(wellfed, store, command, name):
    done = wellfed(command, f"{store}/{name}")

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("command", LOOK)
@pytest.mark.parametrize("name", ["packed", "packed/", "packed/1.0.0"])
def test_the_folder_of_a_version_is_a_data_set(wellfed, store, command, name):
    done = wellfed(command, f"{store}/{name}")

    assert (done.exit_code, done.stderr) == (0, "")
    assert f"{store}/packed/1.0.0" in done.stdout


@pytest.mark.parametrize("command", [*LOOK, "bench"])
def test_what_is_not_there_is_said_so(wellfed, store, command):
    done = wellfed(command, f"{store}/nosuch")

    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{store}/nosuch: there is no such file" in done.stderr


@pytest.mark.parametrize("command", [*LOOK, "bench"])
def test_a_folder_with_the_protocol_of_files_is_a_folder(wellfed, packed, command):
    options = ["--split", "test", "--steps", 1] if command == "bench" else []
    done = wellfed(command, f"file://{packed}", *options)

    assert (done.exit_code, done.stderr) == (0, "")
