import pickle

import numpy as np
import pytest

from wellfed.example import features as f


@pytest.mark.parametrize("dtype", [np.int64, "int64", np.dtype(np.int64), ">i8", int], ids=repr)
def test_int64_has_many_spellings_and_one_meaning(dtype):
    assert f.VarLenFeature(dtype).dtype == np.dtype(np.int64)


@pytest.mark.parametrize("dtype", [bytes, str, "string", object], ids=repr)
def test_strings_have_many_spellings_and_one_meaning(dtype):
    assert f.VarLenFeature(dtype).dtype is bytes


@pytest.mark.parametrize("dtype", [np.float64, np.int32, "nonsense", None, float, "S3"], ids=repr)
def test_types_that_an_example_does_not_store_are_refused(dtype):
    with pytest.raises(ValueError, match=r"dtype must be np\.int64, np\.float32 or bytes"):
        f.FixedLenFeature([], dtype)


@pytest.mark.parametrize(("given", "shape"), [([], ()), (3, (3,)), ([2, np.int64(3)], (2, 3)), (np.array([4]), (4,))])
def test_a_shape_becomes_a_tuple(given, shape):
    assert f.FixedLenFeature(given, np.int64).shape == shape


@pytest.mark.parametrize("shape", [None, [None], [2, None], [-1]], ids=repr)
def test_a_shape_that_is_not_known_is_refused(shape):
    with pytest.raises(ValueError, match="must be known"):
        f.FixedLenFeature(shape, np.int64)


def test_a_default_takes_the_features_shape_and_type():
    assert f.FixedLenFeature([], np.int64, 7.0).default_value == 7
    assert f.FixedLenFeature([2, 1], np.float32, [1, 2]).default_value == ((1.0,), (2.0,))
    assert f.FixedLenFeature([2], bytes, ["é", b"b\0"]).default_value == (b"\xc3\xa9", b"b\0")
    assert f.RawFeature([2], np.uint8, [1, 2]).default_value == (1, 2)


def test_a_scalar_default_for_a_vector_is_refused_when_the_spec_is_made():
    with pytest.raises(ValueError, match=r"must hold 2 values for shape \(2,\), got 1"):
        f.FixedLenFeature([2], np.int64, 0)


def test_a_default_is_rounded_to_its_float_and_may_be_infinite():
    assert f.FixedLenFeature([], np.float32, 0.1).default_value == np.float32(0.1)
    assert f.FixedLenFeature([], np.float32, np.inf).default_value == np.inf
    assert np.isnan(f.FixedLenFeature([], np.float32, np.nan).default_value)
    assert f.RawFeature([], np.float16, 0.1).default_value == np.float16(0.1)


@pytest.mark.parametrize("value", [2**63, np.uint64(2**64 - 1), -(2**63) - 1, 2.0**63], ids=repr)
def test_an_integer_default_beyond_its_type_is_refused(value):
    with pytest.raises(ValueError, match="default_value must be int64"):
        f.FixedLenFeature([], np.int64, value)
    with pytest.raises(ValueError, match="default_value must be int8"):
        f.RawFeature([], np.int8, 200)


@pytest.mark.parametrize(("dtype", "value"), [
    (np.int64, 1.5), (np.int64, b"a"), (bytes, 3), (np.float32, "x"), (np.float32, 1e39), (np.float32, 10**39)
])  # fmt: skip
def test_a_default_of_another_type_is_refused(dtype, value):
    with pytest.raises(ValueError, match="default_value must be"):
        f.FixedLenFeature([], dtype, value)


def test_a_default_of_no_elements_counts_as_none():
    assert f.FixedLenFeature([0], np.int64, []).default_value is None


@pytest.mark.parametrize("dtype", [object, "S3", "U3"], ids=repr)
def test_a_raw_feature_needs_a_type_of_fixed_size(dtype):
    with pytest.raises(ValueError, match="fixed size"):
        f.RawFeature([1], dtype)


def test_a_ragged_feature_takes_partitions_by_tensorflows_names():
    feature = f.RaggedFeature(np.int64, partitions=[f.RaggedFeature.RowSplits("s"), f.UniformRowLength(2)])

    assert feature.partitions == (f.RowSplits("s"), f.UniformRowLength(2))


def test_a_partition_that_is_none_is_refused():
    with pytest.raises(ValueError, match="partition such as RowSplits"):
        f.RaggedFeature(np.int64, partitions=["s"])


def test_a_sparse_feature_needs_a_size_for_each_index():
    assert f.SparseFeature("i", "v", np.int64, 10).index_key == ("i",)
    with pytest.raises(ValueError, match="got 2 keys and 1 sizes"):
        f.SparseFeature(["i", "j"], "v", np.int64, 10)


@pytest.mark.parametrize(
    "feature",
    [
        f.FixedLenFeature([2], np.int64, [1, 2]),
        f.RawFeature([2], "<u2"),
        f.VarLenFeature(bytes),
        f.FixedLenSequenceFeature([], np.float32, allow_missing=True, default_value=1),
        f.RaggedFeature(np.int64, partitions=[f.RowLengths("n")]),
        f.SparseFeature("i", "v", np.int64, 10),
    ],
    ids=lambda feature: type(feature).__name__,
)
def test_features_hash_compare_and_pickle(feature):
    again = pickle.loads(pickle.dumps(feature))

    assert (again, hash(again)) == (feature, hash(feature))
