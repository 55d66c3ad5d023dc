"""Elements kept in memory or in a file: what is kept, when it is whole, and when it is made anew."""

import pickle

import numpy as np
import pytest
from any_elements import TREES, Pair, same
from feed_model import plain
from hypothesis import given

import wellfed as wf
from wellfed import feed
from wellfed.errors import CorruptRecordError, PlanError
from wellfed.feed.elements import decode_element, encode_element


class Counted:
    """A function of an element that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x * 10


def ints(dataset, epoch=None):
    return [int(x) for x in (iter(dataset) if epoch is None else dataset.epoch(epoch))]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache"


def test_a_file_is_made_once_and_read_ever_after(path):
    count = Counted()

    assert ints(feed.range(6).map(count).cache(path)) == [0, 10, 20, 30, 40, 50]
    assert ints(feed.range(6).map(count).cache(path)) == [0, 10, 20, 30, 40, 50]
    assert count.calls == 6


def stream(length):
    return feed.range(length).filter(lambda x: True)


def test_an_iteration_that_is_broken_off_leaves_no_file(path, tmp_path):
    iterator = iter(stream(1000).cache(path))
    next(iterator)
    iterator.close()
    for x in stream(1000).cache(path):
        if x == 3:
            break

    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_no_file(path, tmp_path):
    def fails(x):
        if x == 3:
            raise ValueError("three")
        return x

    with pytest.raises(wf.errors.StageError, match="three"):
        ints(feed.range(9).map(fails).cache(path))
    assert list(tmp_path.iterdir()) == []


def test_other_verbs_below_make_it_anew(path):
    ints(feed.range(6).cache(path))

    assert ints(feed.range(6).take(2).cache(path)) == [0, 1]
    assert ints(feed.range(6).cache(path)) == list(range(6))


def test_other_files_below_make_it_anew(path, tmp_path):
    def write(numbers):
        with wf.TFRecordWriter(tmp_path / "a.tfrecord", overwrite=True) as writer:
            writer.write_many(wf.encode_example({"x": x}) for x in numbers)

    def values():
        features = {"x": wf.FixedLenFeature([], np.int64)}
        return [int(e["x"]) for e in wf.TFRecordDataset(tmp_path / "a.tfrecord", features).cache(path)]

    write([1, 2, 3])
    assert values() == [1, 2, 3]
    write([7, 8])
    assert values() == [7, 8]


def test_a_file_of_something_else_is_never_replaced(path):
    with wf.TFRecordWriter(path) as writer:
        writer.write(b"mine")

    with pytest.raises(PlanError, match="is there, and is no cache of wellfed's"):
        ints(feed.range(3).cache(path))
    assert list(wf.TFRecordReader(path)) == [b"mine"]


def test_a_damaged_cache_is_named(path):
    ints(feed.range(3).cache(path))
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)

    with pytest.raises(CorruptRecordError, match="cache: record 3"):
        ints(feed.range(3).cache(path))


@pytest.mark.parametrize("name", ["", "cache"])
def test_more_than_the_limit_is_an_error(name, tmp_path):
    kept = feed.range(100).cache(tmp_path / name if name else "", limit_bytes=300)

    with pytest.raises(PlanError, match="cache: the elements take more than 300 bytes; give limit_bytes"):
        ints(kept)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "cache"])
def test_what_is_kept_does_not_depend_on_the_epoch_that_was_first(name, tmp_path):
    def dataset():
        return feed.range(20).shuffle(seed=1).cache(tmp_path / name if name else "")

    expected = ints(feed.range(20).shuffle(seed=1), 0)

    assert ints(dataset(), 5) == expected
    assert ints(dataset(), 0) == expected


@pytest.mark.parametrize("name", ["", "cache"])
def test_writing_to_an_element_never_changes_what_is_kept(name, tmp_path):
    dataset = wf.from_arrays(np.ones((4, 3))).cache(tmp_path / name if name else "")
    for _ in range(2):
        for element in dataset:
            assert element.tolist() == [1, 1, 1]
            element[:] = -1


def test_kept_elements_do_not_keep_their_units():
    dataset = wf.from_arrays(np.zeros((1000, 100), np.uint8)).filter(lambda e: True).cache()
    list(iter(dataset))
    (elements,) = dataset._node.kept.values()

    assert all(element.base is None for element in elements)


@pytest.mark.parametrize("name", ["", "cache"])
@pytest.mark.parametrize("made_before", [False, True])
def test_a_cache_resumes_anywhere(name, made_before, tmp_path):
    def fresh():
        return feed.range(12).shuffle(seed=2).cache(tmp_path / name if name else "").batch(2)

    whole = [plain(b) for b in feed.range(12).shuffle(seed=2).cache().batch(2).epoch(0)]
    for stop in range(len(whole) + 1):
        dataset = fresh()
        if made_before:
            list(dataset)
        iterator = dataset.epoch(1)
        for _ in range(stop):
            next(iterator)
        saved = iterator.state_dict()
        iterator.close()
        resumed = iter(fresh())
        resumed.load_state_dict(saved)

        assert [plain(b) for b in resumed] == whole[stop:]


def test_a_plan_takes_no_elements_along_when_it_pickles():
    dataset = feed.range(6).cache()
    ints(dataset)

    assert pickle.loads(pickle.dumps(dataset))._node.kept == {}


def test_an_element_that_no_file_can_hold_is_named(path):
    with pytest.raises(PlanError, match="cache: x: arrays, strings and numbers can be kept, got object"):
        list(iter(feed.range(2).map(lambda x: {"x": object()}).cache(path)))


def test_a_shard_by_rank_has_a_cache_of_its_own(path, monkeypatch):
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")

        assert ints(feed.range(6).shard().cache(path)) == list(range(int(rank), 6, 2))


# --- Elements as bytes -----------------------------------------------------------------------------


@given(TREES)
def test_any_element_comes_back_as_it_was(element):
    same(decode_element(encode_element(element, "cache")), element)


def test_tuples_with_names_come_back_plain_and_lists_as_arrays():
    found = decode_element(encode_element(Pair(1, [2, 3]), "cache"))

    assert type(found) is tuple
    assert found[1].tolist() == [2, 3]


def test_arrays_that_come_back_own_their_memory():
    found = decode_element(encode_element(np.arange(3), "cache"))

    assert found.flags.writeable
    assert found.flags.owndata


@pytest.mark.parametrize("options", [{"on_error": "replace"}, {"threads": 1}])
def test_runs_with_other_options_keep_side_by_side(options):
    made = []
    kept = feed.range(8).map(lambda x: made.append(int(x)) or x).batch(4).cache()
    for _ in range(3):
        list(kept.with_options(**options))
        list(kept)

    assert len(made) == (16 if "on_error" in options else 8)


def test_a_stream_that_was_kept_on_one_rank_is_not_given_to_another(monkeypatch):
    kept = feed.range(8).filter(lambda x: True).shard().cache()
    found = []
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        found.append([int(x) for x in iter(kept)])

    assert found == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_changing_a_list_of_a_stream_never_changes_what_is_kept():
    kept = feed.range(3).filter(lambda x: True).map(lambda x: [int(x)]).cache()
    for _ in range(2):
        for element in iter(kept):
            element.append(9)

    assert list(iter(kept)) == [[0], [1], [2]]
