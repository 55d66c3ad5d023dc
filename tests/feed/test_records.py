"""Records of TFRecord files as rows: read in order and at random, with errors that say where."""

import itertools
import os
import pickle
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import wellfed as wf
from wellfed.errors import (
    CorruptRecordError,
    FeatureMissingError,
    FileChangedError,
    NotTFRecordError,
    PlanError,
    StageError,
    StateError,
    TruncatedRecordError,
)

FEATURES = {
    "x": wf.FixedLenFeature([], np.int64),
    "raw": wf.RawFeature([3], np.uint8),
    "floats": wf.VarLenFeature(np.float32),
    "name": wf.FixedLenFeature([], bytes),
}


def example(x):
    return wf.encode_example(
        {"x": x, "raw": bytes([x % 256] * 3), "floats": np.arange(x % 4, dtype=np.float32), "name": f"n{x}" * (x % 3)}
    )


def write(path, numbers, encode=example):
    with wf.TFRecordWriter(path) as writer:
        for x in numbers:
            writer.write(encode(x))
    return str(path)


@pytest.fixture
def three_files(tmp_path):
    """100 records in files of 40, 0 and 60."""
    write(tmp_path / "part-0.tfrecord", range(40))
    write(tmp_path / "part-1.tfrecord", [])
    write(tmp_path / "part-2.tfrecord", range(40, 100))
    return str(tmp_path / "part-*.tfrecord")


def check_batch(batch, numbers):
    assert batch["x"].tolist() == numbers
    assert batch["raw"].tolist() == [[x % 256] * 3 for x in numbers]
    assert batch["floats"].to_list() == [list(range(x % 4)) for x in numbers]
    assert batch["name"].to_list() == [f"n{x}".encode() * (x % 3) for x in numbers]


@pytest.mark.parametrize("batch_size", [1, 7, 40, 100, 1000])
def test_file_order_crosses_files_without_a_seam(three_files, batch_size):
    numbers = list(range(100))
    batches = list(wf.TFRecordDataset(three_files, FEATURES).batch(batch_size))

    assert len(batches) == -(-100 // batch_size)
    for i, batch in enumerate(batches):
        check_batch(batch, numbers[i * batch_size : (i + 1) * batch_size])


def test_a_shuffle_reads_every_record_once(three_files):
    (batch,) = wf.TFRecordDataset(three_files, FEATURES).shuffle(seed=1).batch(100)

    assert sorted(batch["x"].tolist()) == list(range(100))
    check_batch(batch, batch["x"].tolist())


def test_the_order_of_a_shuffle_does_not_depend_on_how_rows_lie_in_files(tmp_path, three_files):
    one = write(tmp_path / "whole.tfrecord", range(100))
    orders = [
        [int(e["x"]) for e in wf.TFRecordDataset(files, FEATURES).shuffle(seed=5)] for files in (one, three_files)
    ]

    assert orders[0] == orders[1]


def test_without_features_elements_are_the_records_bytes(three_files):
    records = list(wf.TFRecordDataset(three_files))

    assert records == [example(x) for x in range(100)]


def test_batches_of_records_are_bytes_columns(three_files):
    batch = next(iter(wf.TFRecordDataset(three_files).batch(3)))

    assert batch.to_list() == [example(x) for x in range(3)]


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_every_verb_on_records_equals_the_same_on_arrays(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("files")
    sizes = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=4))
    bounds = np.cumsum([0, *sizes])
    files = [write(folder / f"{i}.tfrecord", range(bounds[i], bounds[i + 1])) for i in range(len(sizes))]
    count = data.draw(st.integers(1, 4))
    index = data.draw(st.integers(0, count - 1))
    batch = data.draw(st.integers(1, 9))

    def through(dataset):
        dataset = dataset.shard(count, index) if data_first else dataset.shuffle(seed=2).shard(count, index)
        return [b["x"].tolist() for b in dataset.skip(1).repeat(2).batch(batch)]

    data_first = data.draw(st.booleans())
    assert through(wf.TFRecordDataset(files, FEATURES)) == through(wf.from_arrays({"x": np.arange(bounds[-1])}))


def test_reading_in_order_writes_no_index(tmp_path, three_files):
    assert sum(len(b["x"]) for b in wf.TFRecordDataset(three_files, FEATURES).batch(9)) == 100

    assert not (tmp_path / ".wellfed").exists()


def test_an_index_that_was_needed_is_kept(tmp_path, three_files):
    list(wf.TFRecordDataset(three_files, FEATURES).shuffle(seed=0).batch(9))

    assert len(list((tmp_path / ".wellfed").iterdir())) == 3


def test_the_length_comes_from_the_index(three_files):
    assert len(wf.TFRecordDataset(three_files).batch(30)) == 4


def test_a_stop_in_a_shuffled_epoch_resumes_exactly(three_files):
    def dataset():
        return wf.TFRecordDataset(three_files, FEATURES).shuffle(seed=3).batch(7)

    whole = [b["x"].tolist() for b in dataset().epoch(2)]
    for stop in range(len(whole)):
        iterator = dataset().epoch(2)
        for _ in range(stop):
            next(iterator)
        saved = iterator.state_dict()
        iterator.close()
        resumed = iter(dataset())
        resumed.load_state_dict(saved)

        assert [b["x"].tolist() for b in resumed] == whole[stop:]


def test_a_state_of_other_files_is_refused(tmp_path, three_files):
    saved = iter(wf.TFRecordDataset(three_files)).state_dict()
    write(tmp_path / "part-3.tfrecord", range(5))

    with pytest.raises(StateError, match=r"the files .* differ"):
        iter(wf.TFRecordDataset(three_files)).load_state_dict(saved)


def damage(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def offset_of(path, record):
    return int(wf.RecordIndex.build(path).offsets[record])


def test_a_damaged_payload_is_named_after_all_records_before_it(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(100))
    at = offset_of(path, 57)
    damage(path, at + 14)
    got = []
    with pytest.raises(CorruptRecordError, match=r"a\.tfrecord: record 57 at byte \d+: payload CRC32C is 0x") as caught:
        got.extend(int(e["x"]) for e in wf.TFRecordDataset(path, FEATURES))

    assert got == list(range(57))
    assert (caught.value.record_index, caught.value.offset) == (57, at)


def test_a_damaged_length_is_named_after_all_records_before_it(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(100))
    at = offset_of(path, 57)
    damage(path, at)
    got = []
    with pytest.raises(CorruptRecordError, match=r"record 57 at byte .* length CRC32C") as caught:
        got.extend(int(e["x"]) for e in wf.TFRecordDataset(path, FEATURES))

    assert got == list(range(57))
    assert caught.value.offset == at


def test_a_batch_with_damage_in_it_is_the_first_that_is_missing(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(100))
    damage(path, offset_of(path, 57))
    got = []
    with pytest.raises(CorruptRecordError, match="record 57"):
        got.extend(b["x"].tolist() for b in wf.TFRecordDataset(path, FEATURES).batch(10))

    assert got == [list(range(i, i + 10)) for i in range(0, 50, 10)]


def test_damage_in_a_header_stops_a_shuffle_before_it_starts(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(100))
    damage(path, offset_of(path, 57))

    with pytest.raises(CorruptRecordError, match="record 57"):
        next(iter(wf.TFRecordDataset(path, FEATURES).shuffle(seed=0)))


def test_a_cut_file_is_named_with_what_is_left(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(10))
    path.write_bytes(path.read_bytes()[:-3])
    got = []
    with pytest.raises(
        TruncatedRecordError, match=r"record 9 at byte \d+: a record of \d+ bytes is due, only \d+ left"
    ):
        got.extend(iter(wf.TFRecordDataset(path)))

    assert got == [example(x) for x in range(9)]


def test_a_feature_that_is_missing_names_file_and_record(tmp_path):
    path = write(tmp_path / "a.tfrecord", range(10), lambda x: wf.encode_example({"x": x} if x != 6 else {"y": x}))

    with pytest.raises(FeatureMissingError, match=r'feature "x": .*a\.tfrecord: record 6'):
        list(wf.TFRecordDataset(path, {"x": FEATURES["x"]}).batch(5))


def test_a_function_that_fails_names_the_record(three_files):
    def check(element):
        if element["x"] == 55:
            raise ValueError("55 again")
        return element

    with pytest.raises(StageError, match=r"row 55 \(.*part-2\.tfrecord: record 15\): ValueError: 55 again"):
        list(wf.TFRecordDataset(three_files, FEATURES).shuffle(seed=0).map(check))


def test_a_file_cut_while_it_is_read_is_an_error_and_the_process_lives(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(100_000))
    iterator = iter(wf.TFRecordDataset(path, FEATURES).shuffle(seed=0).batch(10).with_options(threads=1))
    next(iterator)
    os.truncate(path, 4096)

    with pytest.raises(FileChangedError, match=r"a\.tfrecord: the file was cut from \d+ to 4096 bytes"):
        list(iterator)


def test_a_file_replaced_between_epochs_is_opened_anew(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(10))
    dataset = wf.TFRecordDataset(path, FEATURES).batch(100)
    list(dataset)
    path.unlink()
    write(path, range(20))

    assert [len(b["x"]) for b in dataset] == [20]


def test_a_file_that_is_none_says_what_it_looks_like(tmp_path):
    (tmp_path / "a.tfrecord").write_bytes(b"<!DOCTYPE html><html>gone</html>")

    with pytest.raises(NotTFRecordError, match=r"a\.tfrecord: this is .*HTML"):
        list(wf.TFRecordDataset(tmp_path / "a.tfrecord"))


def test_a_pattern_without_a_match_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file matches"):
        wf.TFRecordDataset(tmp_path / "*.tfrecord")


def test_sums_may_be_left_unproved(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(10))
    damage(path, len(path.read_bytes()) - 1)  # The last payload's sum.

    assert len(list(wf.TFRecordDataset(path, check_crc=False))) == 10


def test_a_data_set_of_files_pickles_and_opens_them_there(three_files):
    dataset = wf.TFRecordDataset(three_files, FEATURES).shuffle(seed=1).batch(50)
    list(dataset)
    copy = pickle.loads(pickle.dumps(dataset))

    assert [b["x"].tolist() for b in copy.epoch(0)] == [b["x"].tolist() for b in dataset.epoch(0)]


def test_two_iterators_of_one_data_set_do_not_disturb_each_other(three_files):
    dataset = wf.TFRecordDataset(three_files, FEATURES).batch(3)
    results = {}

    def read(name):
        results[name] = [b["x"].tolist() for b in dataset.epoch(0)]

    threads = [threading.Thread(target=read, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results[0] == results[1] == results[2]
    assert [x for batch in results[0] for x in batch] == list(range(100))


def test_batches_that_are_kept_do_not_change_when_memory_is_used_again(tmp_path):
    path = write(tmp_path / "a.tfrecord", range(20_000))
    dataset = wf.TFRecordDataset(path, {"x": FEATURES["x"]}).batch(5000).with_options(threads=3)
    kept = [b["x"] for _ in range(3) for b in dataset]

    assert np.concatenate(kept).tolist() == list(range(20_000)) * 3


def test_a_new_data_set_starts_with_the_memory_of_the_one_before(tmp_path):
    path = write(tmp_path / "a.tfrecord", range(20_000))

    def places():
        dataset = wf.TFRecordDataset(path, {"x": FEATURES["x"]}).batch(20_000).with_options(threads=1)
        return {b["x"].ctypes.data for b in dataset}

    first = places()
    assert places() == first


@pytest.mark.parametrize(("batch_size", "shared"), [(2047, False), (2049, True)])
def test_batches_of_16_kib_and_more_share_their_units_memory(tmp_path, batch_size, shared):
    path = write(tmp_path / "a.tfrecord", range(40_000))
    batches = list(wf.TFRecordDataset(path, {"x": FEATURES["x"]}).batch(batch_size).with_options(threads=1))
    unit = [np.lib.array_utils.byte_bounds(b["x"]) for b in batches[3:6]]

    assert all(after[0] == before[1] for before, after in itertools.pairwise(unit)) is shared


@pytest.mark.parametrize(
    "options",
    [{"compression_type": "GZIP"}, {"compression_type": "ZLIB"}, {"compression_type": "GZIP", "seekable": True}],
)
@pytest.mark.parametrize("given", [None, "right"])
def test_compressed_files_give_what_plain_ones_give(tmp_path, options, given):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord", **options) as writer:
        for x in range(100):
            writer.write(example(x))
    compression = None if given is None else options["compression_type"]
    dataset = wf.TFRecordDataset(tmp_path / "a.tfrecord", FEATURES, compression)
    (in_order,) = dataset.batch(100)
    (shuffled,) = dataset.shuffle(seed=1).batch(100)

    check_batch(in_order, list(range(100)))
    check_batch(shuffled, shuffled["x"].tolist())
    assert sorted(shuffled["x"].tolist()) == list(range(100))


def test_files_behind_a_url_give_what_local_ones_give():
    url = "memory://feed-test/a.tfrecord"
    with wf.TFRecordWriter(url, overwrite=True) as writer:
        for x in range(50):
            writer.write(example(x))
    (batch,) = wf.TFRecordDataset(url, FEATURES).shuffle(seed=1).batch(50)

    check_batch(batch, batch["x"].tolist())


def test_damage_is_left_out_before_the_order_starts_when_told(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(100))
    damage(path, offset_of(path, 57) + 14)
    dataset = wf.TFRecordDataset(path, FEATURES, on_damage="skip")

    assert len(dataset) == 99
    assert sorted(int(e["x"]) for e in dataset.shuffle(seed=0)) == [x for x in range(100) if x != 57]


def test_a_feature_missing_in_a_compressed_file_names_file_and_record(tmp_path):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord", "GZIP") as writer:
        for x in range(10):
            writer.write(wf.encode_example({"x": x} if x != 6 else {"y": x}))

    with pytest.raises(FeatureMissingError, match=r'feature "x": .*a\.tfrecord: record 6'):
        list(wf.TFRecordDataset(tmp_path / "a.tfrecord", {"x": FEATURES["x"]}).batch(5))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"compression_type": "LZ4"}, "compression_type must be"), ({"on_damage": "warn"}, "on_damage must be")],
)
def test_an_option_that_is_none_is_refused(tmp_path, options, message):
    path = write(tmp_path / "a.tfrecord", range(3))

    with pytest.raises(PlanError, match=message):
        wf.TFRecordDataset(path, **options)
