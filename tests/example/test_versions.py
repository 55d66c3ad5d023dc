"""Records that changed over time, and features that may be absent: what is filled, masked and refused."""

import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import wellfed as wf
from wellfed.errors import FeatureLengthError, FeatureMissingError
from wellfed.example import compile_features

Y = {"y": wf.FixedLenFeature([], np.float32)}


def records(*examples):
    return [wf.encode_example(example) for example in examples]


def parse(features, *examples):
    return features.compile().parse(records(*examples))


def test_a_feature_that_a_version_lacks_is_filled_with_its_default():
    features = wf.VersionedFeatures(Y, {1: {"y": 0.5}, 2: {"y": 0.25}})
    columns = parse(features, {"version": 1}, {"version": 2}, {"version": 1, "y": 7.0}, {"version": 3, "y": 9.0})

    assert columns["y"].tolist() == [0.5, 0.25, 7.0, 9.0]
    assert list(columns) == ["y"]


def test_a_feature_missing_in_a_version_that_has_it_is_named():
    features = wf.VersionedFeatures(Y, {1: {"y": 0.5}})

    with pytest.raises(FeatureMissingError, match='feature "y": is absent, and records of version 2 have it') as caught:
        parse(features, {"version": 1}, {"version": 2})

    assert caught.value.example_index == 1


def test_a_feature_with_a_default_of_its_own_has_it_in_all_other_versions():
    spec = {"y": wf.FixedLenFeature([], np.float32, default_value=-1)}
    columns = parse(wf.VersionedFeatures(spec, {1: {"y": 0.5}}), {"version": 1}, {"version": 2}, {})

    assert columns["y"].tolist() == [0.5, -1.0, -1.0]


def test_records_without_a_version_are_of_the_one_that_is_said():
    features = wf.VersionedFeatures(Y, {4: {"y": 2.0}}, unversioned=4)

    assert parse(features, {}, {"y": 1.0})["y"].tolist() == [2.0, 1.0]


def test_the_version_comes_out_where_it_is_asked_for():
    spec = Y | {"v": wf.FixedLenFeature([], np.int64, default_value=9)}
    columns = parse(wf.VersionedFeatures(spec, {9: {"y": 2.0}}, version="v"), {"v": 3, "y": 1.0}, {})

    assert columns["v"].tolist() == [3, 9]
    assert columns["y"].tolist() == [1.0, 2.0]


def test_strings_and_arrays_are_filled_too():
    spec = {"names": wf.FixedLenFeature([2], bytes), "raw": wf.RawFeature([2], np.uint8)}
    features = wf.VersionedFeatures(spec, {1: {"names": [b"a", b"\0b"], "raw": [7, 8]}})
    columns = parse(features, {"version": 1}, {"version": 2, "names": [b"c", b""], "raw": b"\1\2"})

    assert columns["names"].to_list() == [[b"a", b"\0b"], [b"c", b""]]
    assert columns["raw"].tolist() == [[7, 8], [1, 2]]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=20))
def test_each_record_gets_what_its_own_version_says(rows):
    features = wf.VersionedFeatures(Y, {v: {"y": v / 2} for v in range(4)})
    examples = [{"version": v} | ({"y": 100.0} if there else {}) for v, there in rows]

    assert parse(features, *examples)["y"].tolist() == [100.0 if there else v / 2 for v, there in rows]


def test_features_of_a_record_that_nobody_asked_for_are_ignored():
    features = wf.VersionedFeatures(Y, {})

    assert parse(features, {"y": 1.0, "later": [1, 2, 3], "version": 8})["y"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("spec", "defaults", "message"),
    [
        (Y, {1: {"z": 1}}, 'defaults of version 1: "z" is no feature'),
        ({"y": wf.VarLenFeature(np.int64)}, {1: {"y": 1}}, 'defaults of version 1: "y" is a VarLenFeature'),
        (Y, {1: {"y": [1, 2]}}, 'defaults of version 1: feature "y": default_value must hold 1 values'),
        (Y | {"version": wf.FixedLenFeature([], bytes)}, {}, 'feature "version" holds the version'),
    ],
)
def test_defaults_that_fit_no_feature_are_refused_when_they_are_made(spec, defaults, message):
    with pytest.raises(ValueError, match=message):
        wf.VersionedFeatures(spec, defaults)


def test_versioned_features_pickle():
    features = wf.VersionedFeatures(Y, {1: {"y": 0.5}})

    assert pickle.loads(pickle.dumps(features)) == features
    assert pickle.loads(pickle.dumps(features.compile())).parse(records({"version": 1}))["y"].tolist() == [0.5]


# --- Masks ---------------------------------------------------------------------------------------


def test_a_mask_tells_absent_from_empty_and_from_zero():
    spec = {"x": wf.VarLenFeature(np.int64), "has_x": wf.PresentFeature("x")}
    columns = wf.parse_example(records({"x": [0]}, {"x": np.empty(0, np.int64)}, {}), spec)

    assert columns["has_x"].tolist() == [True, True, False]
    assert list(columns) == ["x", "has_x"]


def test_several_masks_may_tell_of_one_feature():
    spec = {
        "x": wf.FixedLenFeature([], np.int64, default_value=0),
        "a": wf.PresentFeature("x"),
        "b": wf.PresentFeature("x"),
    }
    columns = wf.parse_example(records({"x": 1}, {}), spec)

    assert columns["a"].tolist() == columns["b"].tolist() == [True, False]


@pytest.mark.parametrize("key", ["y", "has_x"])
def test_a_mask_of_what_is_not_read_is_refused(key):
    with pytest.raises(ValueError, match=f'feature "has_x": PresentFeature needs "{key}" in the same mapping'):
        compile_features({"x": wf.VarLenFeature(np.int64), "has_x": wf.PresentFeature(key)})


def test_a_single_example_has_a_mask_without_dimensions():
    spec = {"x": wf.FixedLenFeature([], np.int64, default_value=0), "has_x": wf.PresentFeature("x")}

    assert wf.parse_single_example(wf.encode_example({"x": 3}), spec) == {"x": 3, "has_x": True}


def test_a_feature_of_another_length_is_refused_with_a_mask_too():
    spec = {"x": wf.FixedLenFeature([2], np.int64, default_value=[0, 0]), "has_x": wf.PresentFeature("x")}

    with pytest.raises(FeatureLengthError, match='feature "x": expected 2 values'):
        wf.parse_example(records({"x": 1}), spec)
