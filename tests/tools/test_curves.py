"""The cost curves measure what they say, on files that are right."""

from __future__ import annotations

import pytest

import curves
import wellfed as wf


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "curves" / "pairs.tfrecord"
    curves.write(path, 3000)
    return path


def test_the_file_holds_as_many_pairs_as_it_says(pairs):
    columns = wf.parse_example(wf.Records(str(pairs))[:], curves.SPEC)

    assert (columns["a"] == range(3000)).all()
    assert (columns["b"] == -columns["a"]).all()


@pytest.mark.parametrize("what", ["first", "resume", "order"])
def test_each_time_is_the_time_of_a_batch(pairs, what):
    assert 0 < curves.measure(pairs, what, 3000) < 60


def test_memory_is_measured_in_bytes():
    assert curves.resident("RssAnon") > 1 << 20
