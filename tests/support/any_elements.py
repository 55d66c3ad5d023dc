"""Elements of every kind that a feed passes on, and a comparison that tells all of them apart."""

from __future__ import annotations

from collections import namedtuple

import hypothesis.strategies as st
import numpy as np

import wellfed as wf

Pair = namedtuple("Pair", "a b")

LEAVES = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.text(),
    st.binary(),
    st.builds(np.int32, st.integers(-5, 5)),
    st.builds(lambda n: np.arange(n, dtype=np.float32), st.integers(0, 4)),
    st.builds(lambda n: np.zeros((n, 0, 2), np.complex64), st.integers(0, 3)),
    st.builds(wf.Bytes.from_list, st.lists(st.binary(), max_size=4)),
    st.builds(lambda rows: wf.Ragged.from_list(rows, np.int64), st.lists(st.lists(st.integers(0, 9)), max_size=4)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.dictionaries(st.text(), inner, max_size=3), st.builds(tuple, st.lists(inner, max_size=3))
    ),
    max_leaves=6,
)


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for name in a:
            same(a[name], b[name])
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, np.ndarray | np.generic):
        assert (a.dtype, a.shape, a.tolist()) == (b.dtype, b.shape, b.tolist())
    else:
        assert a == b
