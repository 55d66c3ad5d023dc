"""What is told where a feed is used wrongly: which verb, what was found, what was due."""

import numpy as np
import pytest

import wellfed as wf
from wellfed.errors import ExampleError, PlanError, StageError, StateError
from wellfed.feed import from_generator
from wellfed.feed import range as numbers

X = wf.from_arrays({"x": np.arange(20)})
FEATURES = {"x": wf.FixedLenFeature([], np.int64)}


@pytest.mark.parametrize(
    ("verb", "what"),
    [
        (X.batch, "batch: batch_size"),
        (X.padded_batch, "padded_batch: batch_size"),
        (X.ragged_batch, "ragged_batch: batch_size"),
        (X.shuffle, "shuffle: buffer_size"),
        (lambda n: X.shuffle(seed=n), "shuffle: seed"),
        (lambda n: X.filter(bool).shuffle(3, seed=n), "shuffle: seed"),
        (lambda n: X.shuffle(block=n), "shuffle: block"),
        (X.take, "take: count"),
        (X.skip, "skip: count"),
        (X.repeat, "repeat: count"),
        (lambda n: X.shard(n, 0), "shard: num_shards"),
        (lambda n: X.shard(3, n), "shard: index"),
        (X.prefetch, "prefetch: buffer_size"),
        (X.enumerate, "enumerate: start"),
        (X.window, "window: size"),
        (lambda n: X.interleave(bool, n), "interleave: cycle_length"),
        (lambda n: X.sample(np.ones(20), n), "sample: count"),
        (lambda n: X.sample(np.ones(20), seed=n), "sample: seed"),
        (lambda n: wf.sample_from_datasets([X, X], seed=n), "sample_from_datasets: seed"),
        (X.epoch, "epoch: epoch"),
        (lambda n: X.split(0.5, seed=n), "shuffle: seed"),
    ],
)
@pytest.mark.parametrize("given", [2.5, "3", True])
def test_a_number_that_is_not_whole_is_refused_by_name(verb, what, given):
    with pytest.raises(PlanError, match=f"{what} must be a whole number, got {given!r}"):
        verb(given)


@pytest.mark.parametrize("verb", [X.batch, X.take, X.skip, X.enumerate])
def test_a_number_that_is_due_is_not_left_out(verb):
    with pytest.raises(PlanError, match="must be a whole number, got None"):
        verb(None)


def test_numbers_of_numpy_make_the_same_plan():
    state = iter(X.take(np.int64(8)).batch(np.int32(2))).state_dict()
    resumed = iter(X.take(8).batch(2))
    resumed.load_state_dict(state)

    assert next(resumed)["x"].tolist() == [0, 1]
    resumed.close()


@pytest.mark.parametrize("features", [["x"], "x", 3])
def test_features_that_are_no_mapping_are_refused(features):
    records = wf.from_arrays(wf.Bytes.from_list([wf.encode_example({"x": 1})]))

    with pytest.raises(PlanError, match=r"parse: a mapping such as .* is due, got"):
        records.parse(features)


def test_features_that_cannot_be_compiled_are_refused_before_anything_runs(tmp_path):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        writer.write(wf.encode_example({"x": 1}))

    with pytest.raises(ValueError, match="features must name at least one feature"):
        wf.TFRecordDataset(tmp_path / "a.tfrecord", {})


def test_a_path_that_leads_nowhere_is_told_when_it_is_opened(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing is there: .*none\.tfrecord"):
        wf.open(tmp_path / "none.tfrecord", features=FEATURES)


def test_a_path_that_is_none_is_refused():
    with pytest.raises(PlanError, match="a path, a pattern or several are due, got 3"):
        wf.open(3)


def test_lists_of_different_length_are_no_column():
    with pytest.raises(PlanError, match=r"from_arrays: rows differ in shape, .*wf\.Ragged\.from_list"):
        wf.from_arrays({"x": [[1], [1, 2]]})


def test_a_state_that_is_no_mapping_is_refused():
    with pytest.raises(StateError, match="a mapping is due, got NoneType"):
        iter(X).load_state_dict(None)


@pytest.mark.parametrize("names", [(["x"],), ()])
def test_columns_are_selected_by_names(names):
    with pytest.raises(PlanError, match=r'names are due, such as select_columns\("x", "y"\); got'):
        X.select_columns(*names)


@pytest.mark.parametrize(
    "make",
    [
        lambda: wf.sample_from_datasets([X, 3]),
        lambda: wf.choose_from_datasets([X, 3], numbers(2)),
        lambda: wf.choose_from_datasets([X, X], 3),
    ],
)
def test_data_sets_are_due(make):
    with pytest.raises(PlanError, match=r"(sample|choose)_from_datasets: a data set is due, got int"):
        make()


def test_a_transform_names_the_column_that_is_not_there():
    with pytest.raises(ExampleError, match=r'feature "image": there is no such column; there are \[\'x\'\]'):
        list(iter(X.map(wf.image.Decode("image"))))


# --- Functions -----------------------------------------------------------------------------------


LACKS_ITS_RETURN = [
    lambda e: None,
    lambda e: e if e["x"] < 7 else None,
    lambda e: None if e["x"] < 7 else e,
    lambda e: {"y": None},
]


@pytest.mark.parametrize("function", LACKS_ITS_RETURN)
@pytest.mark.parametrize("lose", [lambda d: d, lambda d: d.filter(lambda e: True)], ids=["addressable", "stream"])
def test_a_batch_of_nothing_says_that_a_return_may_be_missing(function, lose):
    with pytest.raises(PlanError, match=r"batch: .*an element is None: does a function lack its return"):
        list(lose(X).map(function).batch(4))


def test_elements_that_are_none_may_be_left_out_by_filter():
    kept = X.map(lambda e: e if e["x"] % 2 else None).filter(lambda e: e is not None).batch(4)

    assert np.concatenate([batch["x"] for batch in kept]).tolist() == list(range(1, 20, 2))


@pytest.mark.parametrize("value", [{1, 2}, object()])
def test_a_batch_of_objects_is_refused(value):
    with pytest.raises(PlanError, match=f"batch: the element: .* make columns; got {type(value).__name__}"):
        list(X.map(lambda e: value).batch(4))


@pytest.mark.parametrize("first", ["text", b"bytes"])
def test_numbers_among_strings_are_no_strings(first):
    with pytest.raises(PlanError, match="rows of the element differ, so they are no array"):
        list(from_generator(lambda: [first, 3]).batch(2))


@pytest.mark.parametrize("verb", ["filter", "take_while"])
@pytest.mark.parametrize(
    ("predicate", "what"),
    [
        (lambda e: None, "got None: does it lack its return"),
        (lambda e: np.array([True, False]), r"got an array of shape \(2,\)"),
    ],
)
def test_a_predicate_gives_one_truth_value(verb, predicate, what):
    with pytest.raises(StageError, match=rf"{verb}\(<lambda> at .*\) failed at row 0: one truth value is due, {what}"):
        list(iter(getattr(X, verb)(predicate)))


def test_what_flat_map_opens_is_iterable():
    with pytest.raises(StageError, match=r"flat_map\(.*\) failed at row 0: a data set or another iterable .* got int"):
        list(iter(X.flat_map(lambda e: 5)))


def test_scan_gives_a_pair():
    with pytest.raises(
        StageError, match=r"scan\(.*\) failed at row 0: the pair \(next state, element\) is due, got int"
    ):
        list(iter(numbers(3).scan(0, lambda state, x: 5)))


def test_a_length_is_a_number():
    with pytest.raises(StageError, match=r"bucket_by_sequence_length\(.*\) failed at row 0: a length is due, got 'a'"):
        list(iter(X.bucket_by_sequence_length(lambda e: "a", [2], [2, 2])))


@pytest.mark.parametrize(
    ("boundaries", "sizes", "what"),
    [([5, 2], [2, 2, 2], r"boundaries must rise, got \[5, 2\]"), ([5], [0, 2], "each batch size must be at least 1")],
)
def test_buckets_that_are_none_are_refused(boundaries, sizes, what):
    with pytest.raises(PlanError, match=what):
        X.bucket_by_sequence_length(len, boundaries, sizes)


def broken():
    yield 1
    yield 2
    raise KeyError("boom")


def test_a_generator_that_raises_is_named_with_the_element():
    with pytest.raises(StageError, match=r"from_generator\(broken at .*\) failed at row 2: KeyError: 'boom'") as caught:
        list(iter(from_generator(broken).batch(2)))

    assert isinstance(caught.value.__cause__, KeyError)


def test_a_generator_gives_an_iterable():
    with pytest.raises(StageError, match=r"from_generator\(.*<lambda> at .*\) failed: an iterable is due, got int"):
        list(iter(from_generator(lambda: 5)))


# --- Rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [lambda d: d.unbatch(), lambda d: d.unbatch().batch(2), lambda d: d.rebatch(2)])
def test_single_values_have_no_rows(verb):
    with pytest.raises(PlanError, match=r"batch: .*is a single value, and has no rows: batch\(\) before it"):
        list(iter(verb(X)))


def test_a_string_has_no_rows():
    with pytest.raises(PlanError, match="unbatch: the element is a single value, and has no rows"):
        list(iter(from_generator(lambda: ["text"]).unbatch()))


@pytest.mark.parametrize("verb", [lambda d: d.unbatch(), lambda d: d.rebatch(2)])
def test_columns_of_different_length_lose_no_rows_in_silence(verb):
    uneven = from_generator(lambda: [{"a": np.zeros(2), "b": np.zeros(3)}])

    with pytest.raises(PlanError, match=r"columns of different length: {'a': 2, 'b': 3}"):
        list(iter(verb(uneven)))


RAGGED = wf.from_arrays({"r": wf.Ragged.from_list([[1], [1, 2, 3]], np.int64)})


def test_padding_cuts_no_row():
    with pytest.raises(PlanError, match="padded_batch: r: a row of 3 values is longer than 2"):
        list(RAGGED.padded_batch(2, {"r": [2]}))


def test_padding_cuts_no_row_within_rows():
    nested = wf.Ragged(wf.Ragged.from_list([[1], [1, 2, 3]], np.int64), [0, 2])

    with pytest.raises(PlanError, match="padded_batch: r: a row of 3 values is longer than 2"):
        list(wf.from_arrays({"r": nested}).padded_batch(1, {"r": [None, 2]}))


def test_a_padding_value_of_another_kind_names_the_column():
    with pytest.raises(PlanError, match="padded_batch: r: its padded_shapes or padding_values do not fit"):
        list(RAGGED.padded_batch(2, padding_values={"r": "a"}))


# --- Options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "what"),
    [
        ({"threads": "a"}, "threads must be a whole number, got 'a'"),
        ({"threads": 1.5}, "threads must be a whole number, got 1.5"),
        ({"ram_budget": "1GB"}, "ram_budget must be a whole number, got '1GB'"),
        ({"max_errors": "few"}, "max_errors must be a whole number, got 'few'"),
        ({"threads": True}, "threads must be a whole number, got True"),
        ({"on_error": None}, 'on_error must be "raise", "replace" or "skip", got None'),
        ({"deterministic": "no"}, "deterministic must be True, False or None, got 'no'"),
        ({"stall_seconds": "a"}, "stall_seconds must be a number of at least 0, got 'a'"),
    ],
)
def test_an_option_of_another_kind_is_named(option, what):
    with pytest.raises(PlanError, match=f"with_options: {what}"):
        X.with_options(**option)


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda: X.map(abs, "4"), "map: num_parallel_calls must be a whole number, got '4'"),
        (lambda: X.map(abs, processes="4"), "map: processes must be a whole number, got '4'"),
        (lambda: X.map(abs, deterministic="no"), "map: deterministic must be True, False or None, got 'no'"),
        (lambda: X.cache(limit_bytes="a"), "cache: limit_bytes must be a whole number, got 'a'"),
        (lambda: X.unique(limit_bytes="a"), "unique: limit_bytes must be a whole number, got 'a'"),
        (lambda: X.zip([1]), "zip: a data set is due, got list"),
        (lambda: X.concatenate(3), "concatenate: a data set is due, got int"),
        (lambda: X.mix([1]), "mix: a data set is due, got list"),
    ],
)
def test_an_argument_of_another_kind_is_named(use, what):
    with pytest.raises(PlanError, match=what):
        use()
