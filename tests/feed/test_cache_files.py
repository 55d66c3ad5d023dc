"""The file of a cache over rows by number: when it appears, what is in it, and what is done with another one."""

import errno
import subprocess
import sys

import numpy as np
import pytest

import wellfed as wf
from wellfed import feed
from wellfed.errors import CorruptRecordError, PlanError


def ints(dataset):
    return [int(x) for x in iter(dataset)]


PROGRAM = """
import sys, numpy as np
from wellfed import feed

def made(x):
    print("made", int(x), flush=True)
    if sys.argv[2] == "stop" and x == 60:
        print("stopping", flush=True)
        sys.stdin.read()
    return np.full(1000, x)

kept = feed.range(100).map(made).cache(sys.argv[1]).shuffle(seed=1).batch(10).with_options(threads=2)
print("sum", sum(int(batch.sum()) for batch in kept), flush=True)
"""


def program(path, mode):
    command = [sys.executable, "-c", PROGRAM, str(path), mode]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_program_that_is_killed_leaves_nothing(tmp_path):
    with program(tmp_path / "cache", "stop") as process:
        for line in process.stdout:
            if "stopping" in line:  # Two threads print.
                break
        process.kill()

    assert list(tmp_path.iterdir()) == []


def test_another_program_makes_nothing_again(tmp_path):
    found = []
    for _ in range(2):
        with program(tmp_path / "cache", "run") as process:
            out, _ = process.communicate()
            found.append((out.count("made"), out.splitlines()[-1]))

    assert found == [(100, f"sum {sum(range(100)) * 1000}"), (0, f"sum {sum(range(100)) * 1000}")]


def test_an_epoch_that_is_broken_off_leaves_no_file(tmp_path):
    kept = feed.range(500).map(lambda x: np.full(1 << 18, x)).cache(tmp_path / "cache").with_options(threads=2)
    iterator = iter(kept.shuffle(seed=0))
    next(iterator)
    iterator.close()

    assert list(tmp_path.iterdir()) == []


def test_parts_that_make_a_whole_together_make_the_file(tmp_path):
    kept = feed.range(50).cache(tmp_path / "cache").with_options(threads=1)
    ints(kept.take(30))
    assert not (tmp_path / "cache").exists()
    ints(kept)

    assert (tmp_path / "cache").exists()


def test_a_file_holds_its_rows_in_order_whatever_the_order_in_which_they_were_made(tmp_path):
    ints(feed.range(50).cache(tmp_path / "one").shuffle(seed=3))
    ints(feed.range(50).cache(tmp_path / "other"))

    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_file_of_other_files_is_not_used(tmp_path):
    def write(numbers):
        with wf.TFRecordWriter(tmp_path / "a.tfrecord", overwrite=True) as writer:
            writer.write_many(wf.encode_example({"x": x}) for x in numbers)

    def values():
        features = {"x": wf.FixedLenFeature([], np.int64)}
        dataset = wf.TFRecordDataset(tmp_path / "a.tfrecord", features).cache(tmp_path / "cache")
        return sorted(int(e["x"]) for e in dataset.shuffle(seed=0))

    write([1, 2, 3])
    assert values() == [1, 2, 3]
    write([7, 8])
    assert values() == values() == [7, 8]


def test_a_shard_has_a_file_of_its_own(tmp_path):
    for index in range(3):
        assert ints(feed.range(9).shard(3, index).cache(tmp_path / "cache")) == list(range(index, 9, 3))


def test_a_file_of_something_else_is_never_replaced(tmp_path):
    with wf.TFRecordWriter(tmp_path / "cache") as writer:
        writer.write(b"mine")
    with pytest.raises(PlanError, match="is there, and is no cache of wellfed's"):
        ints(feed.range(3).cache(tmp_path / "cache").shuffle(seed=0))

    assert list(wf.TFRecordReader(tmp_path / "cache")) == [b"mine"]


def test_a_row_that_is_damaged_in_the_file_is_named(tmp_path):
    ints(feed.range(30).cache(tmp_path / "cache"))
    offsets = wf.Records(tmp_path / "cache").indexes[0].offsets
    content = bytearray((tmp_path / "cache").read_bytes())
    content[int(offsets[8]) - 6] ^= 1
    (tmp_path / "cache").write_bytes(content)

    with pytest.raises(CorruptRecordError, match="cache: record 7"):
        ints(feed.range(30).cache(tmp_path / "cache").shuffle(seed=0))


def test_a_file_that_was_cut_between_two_rows_is_made_anew(tmp_path):
    path = tmp_path / "cache"
    ints(feed.range(30).cache(path))
    end = int(wf.Records(path).indexes[0].offsets[-2])
    whole = path.read_bytes()
    path.write_bytes(whole[:end])

    assert ints(feed.range(30).cache(path)) == list(range(30))
    assert path.read_bytes() == whole


def test_a_file_that_is_removed_is_made_anew(tmp_path):
    kept = feed.range(30).cache(tmp_path / "cache")
    ints(kept)
    (tmp_path / "cache").unlink()

    assert ints(kept) == list(range(30))
    assert (tmp_path / "cache").exists()


FULL = """
import resource, sys, numpy as np
from wellfed import feed

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    list(iter(feed.range(100).map(lambda x: np.full(1000, x)).cache(sys.argv[1]).shuffle(seed=1).batch(10)))
except OSError as error:
    print("refused", error.errno)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
@pytest.mark.parametrize("room", [300_000, 805_500])
def test_a_disk_without_room_for_the_rows_or_for_the_file_is_an_error_and_leaves_nothing(tmp_path, room):
    command = [sys.executable, "-c", FULL, tmp_path / "cache", str(room)]
    run = subprocess.run(command, check=False, capture_output=True, text=True)

    assert run.stdout == f"refused {errno.EFBIG}\n", run.stderr
    assert run.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_a_path_may_be_a_file_url(tmp_path):
    assert ints(feed.range(3).cache(f"file://{tmp_path}/cache")) == [0, 1, 2]
    assert (tmp_path / "cache").exists()


def test_a_url_is_refused_at_once():
    with pytest.raises(PlanError, match="cache: a file of this machine is due, got memory://cache"):
        feed.range(3).cache("memory://cache")


def test_a_place_that_cannot_be_written_is_an_error(tmp_path):
    for source in (feed.range(30), feed.range(30).filter(lambda x: True)):
        with pytest.raises(FileNotFoundError, match=r"no such folder for a cache: make it first: '.*/no'"):
            ints(iter(source.cache(tmp_path / "no" / "cache")))


def test_an_element_that_no_file_can_hold_is_named_by_its_path(tmp_path):
    kept = feed.range(2).map(lambda x: {"x": {"y": object()}}).cache(tmp_path / "cache")
    with pytest.raises(PlanError, match=r"cache: x\.y: arrays, strings and numbers can be kept, got object"):
        list(iter(kept))
    assert list(tmp_path.iterdir()) == []
