import numpy as np
import pytest

from wellfed.errors import FeatureLengthError
from wellfed.example import RaggedFeature, SparseFeature, encode_example, parse_example, parse_single_example
from wellfed.example.features import RowLengths, RowLimits, RowSplits, RowStarts, UniformRowLength, ValueRowIds

# The numbers that cut [3, 1, 4, 1, 5] into [[3, 1], [], [4, 1, 5]], and those that make one row of one value.
PARTITIONS = {
    "RowSplits": (RowSplits("p"), [0, 2, 2, 5], [0, 1]),
    "RowLengths": (RowLengths("p"), [2, 0, 3], [1]),
    "RowStarts": (RowStarts("p"), [0, 2, 2], [0]),
    "RowLimits": (RowLimits("p"), [2, 2, 5], [1]),
    "ValueRowIds": (ValueRowIds("p"), [0, 0, 2, 2, 2], [0]),
}


def parse(partitions, *examples):
    """Parses examples of (values, numbers of the first partition, ...)."""
    names = ["v", "p", "q"]
    records = [encode_example(dict(zip(names, map(ints, parts), strict=False))) for parts in examples]
    return parse_example(records, {"r": RaggedFeature(np.int64, value_key="v", partitions=partitions)})["r"]


def ints(values):
    return np.array(values, np.int64)


@pytest.mark.parametrize(("partition", "three", "one"), PARTITIONS.values(), ids=PARTITIONS)
def test_every_partition_says_the_same_rows(partition, three, one):
    column = parse([partition], ([], []), ([3, 1, 4, 1, 5], three), ([9], one), ([], []))

    assert column.to_list() == [[], [[3, 1], [], [4, 1, 5]], [[9]], []]


def test_without_partitions_each_example_is_a_row():
    assert parse([], ([1, 2],), ([],)).to_list() == [[1, 2], []]


def test_partitions_go_from_the_outermost_to_the_innermost():
    column = parse([RowLengths("p"), RowSplits("q")], ([1, 2, 3], [1, 2], [0, 1, 1, 3]), ([4], [1], [0, 1]))

    assert column.to_list() == [[[[1]], [[], [2, 3]]], [[[4]]]]


def test_uniform_rows_of_values_are_one_array():
    column = parse([UniformRowLength(2)], ([1, 2, 3, 4],), ([5, 6],))

    assert column.values.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert column.row_splits.tolist() == [0, 2, 3]


def test_uniform_rows_of_rows_are_ragged():
    column = parse([UniformRowLength(2), RowLengths("p")], ([1, 2, 3], [1, 0, 2, 0]))

    assert column.to_list() == [[[[1], []], [[2, 3], []]]]


def test_strings_are_cut_as_numbers_are():
    record = encode_example({"r": ["a", "b", "c"], "p": [2, 1]})

    column = parse_example([record], {"r": RaggedFeature(bytes, partitions=[RowLengths("p")])})["r"]

    assert column.to_list() == [[[b"a", b"b"], [b"c"]]]


def test_a_single_example_loses_the_batch_dimension():
    record = encode_example({"v": [1, 2, 3], "p": [2, 1]})
    feature = RaggedFeature(np.int64, value_key="v", partitions=[RowLengths("p")])

    assert parse_single_example(record, {"r": feature})["r"].to_list() == [[1, 2], [3]]


FAULTS = {
    "lengths short": (RowLengths("p"), [1, 1], "as many values as RowLengths"),
    "lengths long": (RowLengths("p"), [4], "as many values as RowLengths"),
    "a negative length": (RowLengths("p"), [4, -1], "RowLengths.* that never falls"),
    "splits that begin late": (RowSplits("p"), [1, 3], "RowSplits.* that begins with 0, got 1"),
    "splits that end early": (RowSplits("p"), [0, 2], "as many values as RowSplits"),
    "splits that fall": (RowSplits("p"), [0, 2, 1, 3], "RowSplits.* that never falls"),
    "starts that begin late": (RowStarts("p"), [1, 2], "as many values as RowStarts"),
    "starts beyond": (RowStarts("p"), [0, 4], "RowStarts.* that never falls"),
    "limits that end late": (RowLimits("p"), [4], "as many values as RowLimits"),
    "ids too few": (ValueRowIds("p"), [0, 0], "an id in ValueRowIds.* for each value, got 2"),
    "ids that fall": (ValueRowIds("p"), [1, 0, 1], "ids in ValueRowIds.* that never fall"),
    "a negative id": (ValueRowIds("p"), [-1, 0, 0], "ids in ValueRowIds.* that never fall"),
    "an id that asks for all memory": (ValueRowIds("p"), [0, 0, 2**62], "at most 16777216 rows"),
    "uniform rows": (UniformRowLength(2), [], r"a multiple of 2 values \(UniformRowLength\), got 3"),
}


@pytest.mark.parametrize(("partition", "numbers", "text"), FAULTS.values(), ids=FAULTS)
def test_a_partition_that_does_not_fit_names_the_example(partition, numbers, text):
    with pytest.raises(FeatureLengthError, match=text) as caught:
        parse([partition], ([], []), ([1, 2, 3], numbers))

    assert (caught.value.feature, caught.value.example_index) == ("r", 1)


# --- Sparse


def sparse(feature, *examples):
    return parse_example(
        [encode_example(dict(zip("iv", map(ints, parts), strict=True))) for parts in examples], {"s": feature}
    )["s"]


def test_values_are_sorted_by_their_indices():
    column = sparse(SparseFeature("i", "v", np.int64, 10), ([5, 2], [50, 20]), ([], []), ([0], [7]))

    assert column.indices.tolist() == [[0, 2], [0, 5], [2, 0]]
    assert (column.values.tolist(), column.dense_shape) == ([20, 50, 7], (3, 10))


def test_indices_said_to_be_sorted_stay_as_they_are():
    column = sparse(SparseFeature("i", "v", np.int64, 10, already_sorted=True), ([5, 2], [50, 20]))

    assert column.indices.tolist() == [[0, 5], [0, 2]]


@pytest.mark.parametrize("index", [10, -1])
def test_an_index_outside_the_size_is_an_error_that_names_it(index):
    with pytest.raises(FeatureLengthError, match=f'indices in "i" from 0 to 9, got {index}') as caught:
        sparse(SparseFeature("i", "v", np.int64, 10), ([1], [1]), ([2, index], [1, 2]))

    assert caught.value.example_index == 1


def test_unequal_counts_of_indices_and_values_are_an_error():
    with pytest.raises(FeatureLengthError, match='as many indices in "i" as values, got 1'):
        sparse(SparseFeature("i", "v", np.int64, 10), ([1], [1, 2]))


def test_one_key_may_serve_two_sparse_features():
    features = {
        "a": SparseFeature("i", "v", np.int64, 10),
        "b": SparseFeature("i", "v", np.int64, 20),
    }

    columns = parse_example([encode_example({"i": [3], "v": [1]})], features)

    assert (columns["a"].dense_shape, columns["b"].dense_shape) == ((1, 10), (1, 20))


def test_one_key_read_as_two_types_is_refused():
    features = {"a": SparseFeature("i", "v", np.int64, 10), "b": SparseFeature("i", "v", np.float32, 10)}

    with pytest.raises(ValueError, match='key "v" is read in two ways'):
        parse_example([b""], features)


def test_a_single_sparse_example_loses_the_batch_dimension():
    column = parse_single_example(encode_example({"i": [3], "v": [1]}), {"s": SparseFeature("i", "v", np.int64, 10)})[
        "s"
    ]

    assert (column.indices.tolist(), column.dense_shape) == ([[3]], (10,))
