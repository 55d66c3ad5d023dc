"""salvage: what is intact goes to a clean file."""

from __future__ import annotations

import gzip
import random

import pytest
from record_files import frame, frames

from wellfed.errors import FileChangedError
from wellfed.io import TFRecordReader, salvage


@pytest.fixture
def damaged(tmp_path):
    path = tmp_path / "damaged"
    path.write_bytes(frames([b"one", b"two"]) + b"noise" + frames([b"three"]) + frame(b"four")[:-1])
    return path


def test_intact_records_are_saved_and_the_rest_is_reported(damaged, tmp_path):
    report = salvage(damaged, tmp_path / "clean")

    assert (tmp_path / "clean").read_bytes() == frames([b"one", b"two", b"three"])
    assert (report.path, report.out, report.records) == (str(damaged), str(tmp_path / "clean"), 3)
    assert [(one.start, one.end, one.records_lost) for one in report.damage] == [(38, 43, None), (64, 83, 1)]
    assert report.damage[1].reason == "a record of 20 bytes is due, only 19 left"


def test_the_clean_file_may_be_compressed(damaged, tmp_path):
    salvage(damaged, tmp_path / "clean", out_compression="GZIP")

    assert gzip.decompress((tmp_path / "clean").read_bytes()) == frames([b"one", b"two", b"three"])


def test_a_file_can_be_saved_over_itself(damaged):
    salvage(damaged, damaged, overwrite=True)

    assert list(TFRecordReader(damaged)) == [b"one", b"two", b"three"]


def test_a_file_that_exists_is_not_overwritten(damaged, tmp_path):
    (tmp_path / "clean").write_bytes(b"mine")

    with pytest.raises(FileExistsError, match="clean exists already"):
        salvage(damaged, tmp_path / "clean")
    assert (tmp_path / "clean").read_bytes() == b"mine"


def test_a_file_that_changes_meanwhile_leaves_no_clean_file(damaged, tmp_path, monkeypatch):
    def changed(self):
        raise FileChangedError("the file was cut", str(damaged))

    monkeypatch.setattr("wellfed.io.files.MappedFile.check_unchanged", changed)

    with pytest.raises(FileChangedError, match="the file was cut"):
        salvage(damaged, tmp_path / "clean")
    assert [file.name for file in tmp_path.iterdir()] == ["damaged"]


def test_a_file_of_noise_gives_an_empty_one_and_one_region(tmp_path):
    (tmp_path / "noise").write_bytes(random.Random(0).randbytes(100_000))

    report = salvage(tmp_path / "noise", tmp_path / "clean")

    assert report.records == 0
    assert [(one.start, one.end) for one in report.damage] == [(0, 100_000)]
    assert list(TFRecordReader(tmp_path / "clean")) == []
