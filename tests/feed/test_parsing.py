"""Records to batches: every kind of feature, sequences, masks and versions, whatever the unit and the verbs between."""

import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import wellfed as wf
from wellfed.datasets import ByteString, ClassLabel, Scalar, Schema, Sequence, Tensor
from wellfed.errors import FeatureMissingError, PlanError
from wellfed.feed import RaggedTensorSpec, TensorSpec, plan

STEPS = {"x": wf.FixedLenSequenceFeature([], np.int64, allow_missing=True, default_value=-1)}
SEQUENCES = wf.SequenceFeatures(
    {"id": wf.FixedLenFeature([], np.int64)},
    {
        "token": wf.FixedLenSequenceFeature([], np.int64),
        "tags": wf.VarLenFeature(bytes),
    },
)


def from_records(records):
    return wf.from_arrays(wf.Bytes.from_list(records))


def steps_of(lengths):
    return from_records([wf.encode_example({"x": np.arange(n)}) for n in lengths])


def sequence(number):
    tags = [[b"t"] * (step % 3) for step in range(number)]
    return wf.encode_sequence_example({"id": number}, {"token": [[step] for step in range(number)], "tags": tags})


def test_parse_is_pushed_to_the_reader_below_verbs_of_order(tmp_path):
    path = tmp_path / "a.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        writer.write_many(wf.encode_example({"x": x}) for x in range(9))
    spec = {"x": wf.FixedLenFeature([], np.int64)}
    parsed = wf.TFRecordDataset(path).shuffle(seed=1).take(5).parse(spec)
    before = wf.TFRecordDataset(path, spec).shuffle(seed=1).take(5)

    assert not any(isinstance(step, plan.Map) for step in plan.walk(parsed._node))
    assert [int(e["x"]) for e in parsed.epoch(0)] == [int(e["x"]) for e in before.epoch(0)]


def test_parse_after_batch_parses_the_batch():
    records = from_records([wf.encode_example({"x": x}) for x in range(5)])

    assert [b["x"].tolist() for b in records.batch(3).parse({"x": wf.FixedLenFeature([], np.int64)})] == [
        [0, 1, 2],
        [3, 4],
    ]


def test_parse_of_something_else_than_records_is_refused():
    with pytest.raises(PlanError, match=r"parse: elements must be records \(bytes\), got ndarray"):
        list(wf.feed.range(3).parse({"x": wf.FixedLenFeature([], np.int64)}))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 5), st.integers(1, 3))
def test_steps_are_padded_to_the_longest_row_of_their_batch_and_no_other(lengths, size, threads):
    batches = steps_of(lengths).parse(STEPS).batch(size).with_options(threads=threads)
    groups = [lengths[i : i + size] for i in range(0, len(lengths), size)]

    for batch, group in zip(batches, groups, strict=True):
        expected = [[*range(n), *[-1] * (max(group) - n)] for n in group]
        assert batch["x"].tolist() == expected


def test_padding_after_batch_is_the_same_as_before():
    before = [b["x"].tolist() for b in steps_of([1, 3, 0, 2]).parse(STEPS).batch(2)]

    assert [b["x"].tolist() for b in steps_of([1, 3, 0, 2]).batch(2).parse(STEPS)] == before


def test_steps_as_single_elements_are_as_long_as_they_are():
    assert [e["x"].tolist() for e in steps_of([1, 3, 0]).parse(STEPS)] == [[0], [0, 1, 2], []]


def test_padded_batch_pads_steps_with_its_own_value_and_shape():
    (batch,) = steps_of([1, 2]).parse(STEPS).padded_batch(2, {"x": [3]}, {"x": 7})

    assert batch["x"].tolist() == [[0, 7, 7], [0, 1, 7]]


def test_steps_of_items_keep_the_item():
    spec = {"x": wf.FixedLenSequenceFeature([2], np.int64, allow_missing=True)}
    (batch,) = steps_of([2, 4]).parse(spec).batch(2)

    assert batch["x"].tolist() == [[[0, 1], [0, 0]], [[0, 1], [2, 3]]]


def test_sequence_examples_come_as_context_lists_and_lengths():
    dataset = from_records([sequence(n) for n in (2, 0, 3)]).parse(SEQUENCES).batch(3)
    ((context, lists, lengths),) = dataset

    assert context["id"].tolist() == [2, 0, 3]
    assert lists["token"].tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 2]]
    assert lists["tags"].to_list() == [[[], [b"t"]], [], [[], [b"t"], [b"t", b"t"]]]
    assert lengths["token"].tolist() == [2, 0, 3]


def test_a_sequence_example_by_itself_is_what_parse_single_gives():
    (element,) = from_records([sequence(3)]).parse(SEQUENCES)
    context, lists = wf.parse_single_sequence_example(
        sequence(3), SEQUENCES.context_features, SEQUENCES.sequence_features
    )

    assert element[0] == context
    assert element[1]["token"].tolist() == lists["token"].tolist()
    assert element[1]["tags"].to_list() == lists["tags"].to_list()


@given(st.lists(st.integers(0, 6), max_size=20), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_batches_of_sequences_do_not_depend_on_threads(numbers, size, threads, seed):
    def run(threads):
        dataset = from_records([sequence(n) for n in numbers]).shuffle(seed=seed).parse(SEQUENCES).batch(size)
        return [
            (c["id"].tolist(), li["token"].tolist(), li["tags"].to_list())
            for c, li, _ in dataset.with_options(threads=threads).epoch(0)
        ]

    assert run(1) == run(threads)


def test_files_of_sequence_examples_open_with_their_features(tmp_path):
    path = tmp_path / "s.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        writer.write_many(sequence(n) for n in range(10))
    found = [int(c["id"]) for c, _, _ in wf.TFRecordDataset(path, SEQUENCES).shuffle(seed=0)]

    assert sorted(found) == list(range(10))


def test_a_record_that_does_not_fit_names_file_and_record(tmp_path):
    path = tmp_path / "s.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        writer.write_many([sequence(1), sequence(2), wf.encode_sequence_example({"other": 1}, {})])

    with pytest.raises(FeatureMissingError, match=r'feature "id": .* \(.*s\.tfrecord: record 2\)') as caught:
        list(wf.TFRecordDataset(path, SEQUENCES).batch(2))

    assert caught.value.record_index == 2


def test_a_mask_reaches_the_batch():
    spec = {"x": wf.FixedLenFeature([], np.float32, default_value=0), "has_x": wf.PresentFeature("x")}
    records = [wf.encode_example({"x": 1.5} if n % 2 else {}) for n in range(4)]
    (batch,) = from_records(records).parse(spec).batch(4)

    assert batch["has_x"].tolist() == [False, True, False, True]
    assert batch["x"].tolist() == [0.0, 1.5, 0.0, 1.5]


def test_versions_reach_the_batch(tmp_path):
    path = tmp_path / "v.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        writer.write(wf.encode_example({"version": 1, "x": 1}))
        writer.write(wf.encode_example({"version": 2, "x": 2, "y": 2.5, "new": "ignored"}))
    features = wf.VersionedFeatures(
        {"x": wf.FixedLenFeature([], np.int64), "y": wf.FixedLenFeature([], np.float32)}, {1: {"y": 0.5}}
    )
    (batch,) = wf.open(path, features=features).batch(2)

    assert batch["y"].tolist() == [0.5, 2.5]


def test_a_data_set_that_parses_pickles():
    dataset = from_records([sequence(n) for n in range(4)]).parse(SEQUENCES).batch(4)
    copy = pickle.loads(pickle.dumps(dataset))

    assert [c["id"].tolist() for c, _, _ in copy] == [[0, 1, 2, 3]]


@pytest.mark.parametrize("records", ["Example", "SequenceExample"])
def test_a_packed_data_set_of_sequences_gives_the_same_from_either_kind_of_record(tmp_path, records):
    schema = Schema(
        {
            "label": ClassLabel(["a", "b"]),
            "tokens": Sequence(Scalar("int64")),
            "boxes": Sequence(Tensor((2,), "float32")),
            "words": Sequence(ByteString()),
        },
        records=records,
    )
    items = [
        {
            "label": n % 2,
            "tokens": list(range(n)),
            "boxes": np.full((n % 3, 2), n, np.float32),
            "words": [b"w"] * (n % 2),
        }
        for n in range(12)
    ]
    wf.pack(wf.sources.Items(items, schema), tmp_path / "out", name="s", split={"train": 1.0}, seed=0)
    batches = list(wf.open(tmp_path / "out").batch(5))
    by_number = {len(tokens): i for b in batches for i, tokens in enumerate(b["tokens"])}

    assert sorted(by_number) == list(range(12))
    for batch in batches:
        for i, tokens in enumerate(batch["tokens"].to_list()):
            item = items[len(tokens)]
            assert tokens == item["tokens"]
            assert batch["boxes"][i].tolist() == item["boxes"].tolist()
            assert batch["words"][i].to_list() == item["words"]
            assert batch["label"][i] == item["label"]


# --- What is known before ------------------------------------------------------------------------


def test_the_form_of_elements_follows_from_the_features():
    dataset = from_records([sequence(1)]).parse(SEQUENCES)
    int64 = np.dtype(np.int64)

    assert dataset.element_spec == (
        {"id": TensorSpec((), int64)},
        {"token": TensorSpec((None,), int64), "tags": RaggedTensorSpec((None, None), bytes, 1)},
        {"token": TensorSpec((), int64)},
    )
    assert dataset.batch(4, drop_remainder=True).element_spec[1] == {
        "token": TensorSpec((4, None), int64),
        "tags": RaggedTensorSpec((4, None, None), bytes, 2),
    }


ARRAYS = {"x": np.zeros((6, 2), np.float32), "s": wf.Bytes.from_list([b""] * 6), "n": np.arange(6)}


@pytest.mark.parametrize(
    "chain",
    [
        lambda d: d,
        lambda d: d.batch(4),
        lambda d: d.batch(4).batch(1),
        lambda d: d.batch(3, drop_remainder=True),
        lambda d: d.padded_batch(4),
        lambda d: d.ragged_batch(4),
        lambda d: d.shuffle(seed=1).shard(2, 0).take(2).repeat(2),
        lambda d: d.select_columns("n"),
        lambda d: d.enumerate(),
        lambda d: d.with_row_ids(),
        lambda d: d.zip(d),
        lambda d: d.concatenate(d).mix(d),
        lambda d: d.filter(lambda e: e["n"] > 1).batch(2),
        lambda d: d.batch(3).unbatch(),
        lambda d: d.batch(3).rebatch(2),
        lambda d: d.batch(3).rebatch(2, drop_remainder=True),
        lambda d: d.batch(3).rebatch([2, 1], drop_remainder=True),
        lambda d: d.window(2),
        lambda d: d.unique().cache(),
    ],
)
def test_elements_are_of_the_form_that_was_told(chain):
    dataset = chain(wf.from_arrays(ARRAYS))
    elements = list(dataset.take(2))

    assert elements
    for element in elements:
        fits(wf.feed.specs.spec_of_element(element), dataset.element_spec)


def fits(found, told):
    if isinstance(told, dict):
        assert list(found) == list(told)
        for name in told:
            fits(found[name], told[name])
    elif isinstance(told, tuple):
        assert len(found) == len(told)
        for f, t in zip(found, told, strict=True):
            fits(f, t)
    else:
        assert found.dtype == told.dtype
        assert len(found.shape) == len(told.shape)
        assert all(t is None or f == t for f, t in zip(found.shape, told.shape, strict=True))


def test_after_a_function_the_first_element_shows_the_form():
    assert wf.feed.range(3).map(lambda n: np.zeros((int(n) + 1, 2))).element_spec == TensorSpec(
        (1, 2), np.dtype(np.float64)
    )


HIDDEN = {
    "batch": (lambda d: d.batch(3), (None, 2)),
    "of full batches only": (lambda d: d.batch(3, drop_remainder=True), (3, 2)),
    "and other verbs": (lambda d: d.batch(3).shuffle(seed=1).take(2).prefetch(1), (None, 2)),
    "padded_batch": (lambda d: d.padded_batch(3), (None, 2)),
    "ragged_batch": (lambda d: d.ragged_batch(3), (None, None)),
    "batch of batches": (lambda d: d.batch(2).batch(2), (None, 2, 2)),
    "a function on batches": (lambda d: d.batch(3).map(lambda b: b), (3, 2)),
    "unbatch": (lambda d: d.batch(3).unbatch(), (2,)),
    "rebatch": (lambda d: d.batch(3).rebatch(2), (None, 2)),
    "rebatch in turn": (lambda d: d.batch(3).rebatch([2, 1], drop_remainder=True), (None, 2)),
    "rebatch of one size": (lambda d: d.batch(3).rebatch(2, drop_remainder=True), (2, 2)),
    "window": (lambda d: d.window(3), (None, 2)),
    "full windows": (lambda d: d.window(3, drop_remainder=True), (3, 2)),
    "bucket": (lambda d: d.bucket_by_sequence_length(len, [1], [2, 2], drop_remainder=True), (None, 2)),
    "concatenate": (lambda d: d.batch(3, drop_remainder=True).concatenate(d.batch(3)), (None, 2)),
}


@pytest.mark.parametrize(("verbs", "shape"), HIDDEN.values(), ids=HIDDEN)
def test_after_a_function_the_rows_of_a_batch_are_open_where_the_last_may_be_smaller(verbs, shape):
    hidden = wf.feed.range(7).map(lambda n: np.zeros(2))

    assert verbs(hidden).element_spec.shape == shape


def test_open_rows_are_found_in_tuples_and_leave_single_values_alone():
    batches = wf.feed.range(7).map(lambda n: n).batch(3)
    number, (first, second) = batches.zip(wf.feed.range(9)).enumerate().element_spec

    assert (number.shape, first.shape, second.shape) == ((), (None,), ())


def test_a_hidden_form_without_elements_is_an_error():
    with pytest.raises(PlanError, match="element_spec: a function hides the form of an element"):
        wf.feed.range(0).map(lambda n: n).element_spec  # noqa: B018 -- looking it up is the act.


# --- The order of bytes --------------------------------------------------------------------------

BIG = {
    "batch": lambda d: d.batch(2),
    "one by one": lambda d: d.filter(lambda e: True).batch(2),
    "repeat": lambda d: d.repeat(2).batch(5),
    "mix": lambda d: d.mix(d).batch(3),
    "cache": lambda d: d.map(lambda e: e).cache().batch(2),
    "window": lambda d: d.window(2),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("verbs", BIG.values(), ids=BIG)
def test_every_batch_has_the_order_of_bytes_that_the_feature_says(verbs, threads):
    payload = np.arange(3, dtype=">i4").tobytes()
    rows = from_records([wf.encode_example({"x": payload})] * 9).parse({"x": wf.RawFeature([3], ">i4")})

    for batch in verbs(rows).with_options(threads=threads):
        assert batch["x"].dtype == np.dtype(">i4")
        assert (batch["x"] == [0, 1, 2]).all()
