"""Cast and OneHot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from wellfed.errors import ExampleError
from wellfed.image import Cast, OneHot

NONE = np.zeros(0, np.uint64)
LABELS = nps.arrays(np.int64, nps.array_shapes(max_dims=3, max_side=4), elements=st.integers(0, 6))


@given(labels=LABELS)
def test_one_hot_is_a_row_of_the_unit_matrix(labels):
    found = OneHot("label", 7).apply({"label": labels}, NONE)["label"]

    assert found.dtype == np.float32
    assert np.array_equal(found, np.eye(7)[labels])


@pytest.mark.parametrize("label", [-1, 3])
def test_a_class_outside_is_an_error_that_names_its_row(label):
    with pytest.raises(
        ExampleError, match=rf'feature "label": class {label} is outside of \[0, 3\) \(example 1'
    ) as caught:
        OneHot("label", 3).apply({"label": np.array([0, label])}, NONE)

    assert caught.value.example_index == 1


def test_labels_must_be_integers():
    with pytest.raises(ExampleError, match="OneHot needs integers, found float32"):
        OneHot("label", 3).apply({"label": np.zeros(2, np.float32)}, NONE)


def test_there_must_be_a_class():
    with pytest.raises(ValueError, match="classes must be at least 1, got 0"):
        OneHot("label", 0)


@given(values=nps.arrays(np.float32, (3, 2), elements=st.floats(-1e6, 1e6, width=32)))
def test_cast_cuts_fractions_off(values):
    found = Cast("x", np.int32).apply({"x": values}, NONE)["x"]

    assert found.dtype == np.int32
    assert np.array_equal(found, np.trunc(values))


@pytest.mark.parametrize("transform", [Cast("x", np.uint8), OneHot("x", 4, np.int64)])
def test_rows_are_filled_in_place_as_static_output_says(transform):
    columns = {"x": np.array([[0, 3], [2, 1]]), "y": 1}
    shape, dtype = transform.static_output({"x": ((2,), np.int64)})
    batch = np.full((4, *shape), 9, dtype)

    found = transform.apply(columns, NONE, batch[1:3])

    assert found["y"] == 1
    assert np.array_equal(batch[1:3], transform.apply(columns, NONE)["x"])
    assert (batch[[0, 3]] == 9).all()


@pytest.mark.parametrize("transform", [Cast("x", np.uint8), OneHot("x", 4)])
def test_static_output_is_none_where_the_column_is_not_known(transform):
    assert transform.static_output({}) is None
    assert transform.static_output({"x": ((), bytes)}) is None
