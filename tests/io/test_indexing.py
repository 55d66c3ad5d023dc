"""Indexes of many files: how far they are is told, and walks end when nobody waits any more."""

import logging
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context

import pytest

import wellfed as wf
from wellfed.errors import CorruptRecordError
from wellfed.feed import records
from wellfed.io import GrowingIndex, MappedFile, RecordIndex, Records, TFRecordWriter, give_up_when, indexing
from wellfed.io.indexing import LongWalk, walks_end_here


@pytest.fixture
def file(tmp_path):
    """5 MB, in more than one run of a walk."""
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        writer.write_many([bytes(500)] * 10_000)
    return path


def _finish(path, progress=None):
    return GrowingIndex(MappedFile(path)).finish(progress=progress)


@pytest.fixture
def long(monkeypatch):
    """A walk takes long from its first step on."""
    monkeypatch.setattr(indexing, "_FIRST_SECONDS", 0.0)


def test_a_short_walk_says_nothing(caplog):
    LongWalk(1, 1000).passed(1000)

    assert not caplog.records


def test_a_long_walk_says_how_far_it_is(long, caplog):
    LongWalk(2, 3_000_000_000).passed(1_000_000_000)

    assert caplog.records[0].levelno == logging.WARNING
    assert caplog.messages[0].startswith("making the index of 2 files: 1.0 of 3.0 GB after 0 s. It is kept")


def test_each_line_comes_after_twice_as_long(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(indexing, "monotonic", lambda: now[0])
    walk = LongWalk(1)
    for second in range(101):
        now[0] = float(second)
        walk.passed(1)

    assert [message.split(" after ")[1].split(".")[0] for message in caplog.messages] == [
        "10 s",
        "20 s",
        "40 s",
        "80 s",
    ]


@pytest.mark.parametrize("make", ["feed", "records"])
def test_who_needs_an_index_tells_how_far_it_is(file, long, caplog, make):
    if make == "feed":
        next(iter(wf.TFRecordDataset([file]).shuffle(seed=0).batch(2)))
    else:
        assert len(Records(file)) == 10_000

    assert "making the index of 1 file: " in caplog.messages[0]


@pytest.mark.parametrize("walk", [RecordIndex.build, _finish], ids=["build", "grow"])
def test_progress_adds_up_to_the_file(file, walk):
    passed = []
    walk(file, progress=passed.append)

    assert sum(passed) == file.stat().st_size
    assert len(passed) > 1


@pytest.mark.parametrize("walk", [RecordIndex.build, _finish], ids=["build", "grow"])
def test_a_walk_that_nobody_waits_for_ends(file, walk):
    with give_up_when(lambda: True), pytest.raises(CancelledError):
        walk(file)


def test_what_a_block_around_has_said_holds_too(file):
    with give_up_when(lambda: True), give_up_when(lambda: False), pytest.raises(CancelledError):
        RecordIndex.build(file)


def test_walks_in_threads_end_when_their_block_is_left(file):
    begun = threading.Event()

    def walk_for_ever():
        while True:
            RecordIndex.build(file)
            begun.set()

    with ThreadPoolExecutor(1) as pool, walks_end_here():
        walking = pool.submit(copy_context().run, walk_for_ever)
        begun.wait()

    assert isinstance(walking.exception(), CancelledError)


def test_one_damaged_file_ends_the_walks_over_the_others(tmp_path, file, monkeypatch):
    """As Ctrl-C does: the pool waits for its threads, so they have to end."""
    (tmp_path / "0.tfrecord").write_bytes(bytes(100))
    monkeypatch.setattr(records, "usable_cores", lambda: 2)
    walk = GrowingIndex.ensure
    # The walk over the good file never comes to an end.
    monkeypatch.setattr(GrowingIndex, "ensure", lambda self, count: walk(self, 0 if self._bytes > 100 else count))

    with pytest.raises(CorruptRecordError):
        len(wf.TFRecordDataset([tmp_path / "0.tfrecord", file]))
