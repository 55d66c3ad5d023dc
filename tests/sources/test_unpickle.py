from __future__ import annotations

import contextlib
import os
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellfed.errors import SourceError
from wellfed.sources.unpickle import unpickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)

PLAIN = st.recursive(
    st.integers() | st.text() | st.binary() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(value=PLAIN)
def test_plain_values_come_back_as_they_were(protocol, value):
    assert unpickle(pickle.dumps(value, protocol), "x") == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.uint8).reshape(3, 4),
        np.asfortranarray(np.arange(12, dtype=np.int64).reshape(3, 4)),
        np.arange(6, dtype=">i4"),
        np.float32([0.5, -1.5]),
        np.zeros((0, 3072), np.uint8),
        np.arange(10, dtype=np.int16)[::3],
    ],
    ids=["rows", "columns", "big-endian", "floats", "empty", "strided"],
)
def test_arrays_come_back_as_they_were(protocol, array):
    read = unpickle(pickle.dumps({"data": array}, protocol), "x")["data"]

    assert np.array_equal(read, array)
    assert read.flags.writeable
    assert read.flags.owndata or read.base.flags.owndata


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_numpy_numbers_become_numbers(protocol):
    assert unpickle(pickle.dumps([np.uint8(3), np.int64(-4)], protocol), "x") == [3, -4]


@pytest.mark.parametrize("module", [b"numpy.core.multiarray", b"numpy._core.multiarray"])
def test_arrays_of_old_and_new_numpy_are_read(module):
    # What NumPy of either age writes in protocol 2, its memory as a string of Python 2 (opcode U).
    content = (
        b"\x80\x02c" + module + b"\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x03\x85cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89U\x03\x07\x08\xfftb."
    )

    assert unpickle(content, "x").tolist() == [7, 8, 255]


def test_strings_of_python_2_come_back_as_bytes():
    assert unpickle(b"\x80\x02U\x03a\xffb.", "x") == b"a\xffb"


class Calls:
    """Pickles to a call of `function`."""

    def __init__(self, function, *args):
        self.made = function, args

    def __reduce__(self):
        return self.made


HOSTILE = {
    "os.system": (Calls(os.system, "touch pwned"), r"names (posix|nt)\.system"),
    "subprocess": (Calls(subprocess.check_call, ["touch", "pwned"]), r"names (subprocess|commands)\.check_call"),
    "eval": (Calls(eval, "open('pwned', 'w')"), r"names (builtins|__builtin__)\.eval"),
    "getattr": (Calls(getattr, [], "append"), r"names (builtins|__builtin__)\.getattr"),
    "another of NumPy's functions": (Calls(np.load, "x"), r"names numpy\.load"),
    "an array of objects": (np.array([Calls(os.system, "touch pwned")], object), r"names (posix|nt)\.system"),
    "an array of numbers as objects": (np.array([1, "a"], object), "holds an array of dtype 'O8'"),
    "a structured array": (np.zeros(2, [("a", "u1")]), "holds an array of dtype 'V1'"),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("value", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_pickle_that_names_anything_else_is_refused_and_runs_nothing(value, reason, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SourceError, match=f"bad.pkl: is a pickle that {reason}.*Nothing was run"):
        unpickle(pickle.dumps({"data": value}, protocol), "bad.pkl")

    assert list(tmp_path.iterdir()) == []


def test_the_hostile_pickle_of_these_tests_does_run_when_pickle_reads_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    pickle.loads(pickle.dumps(Calls(eval, "open('pwned', 'w').close()")))

    assert (tmp_path / "pwned").exists()


def test_a_pickle_cannot_change_the_functions_that_stand_for_numpys():
    # BUILD with a slot state on what a name stands for.
    with pytest.raises(SourceError, match="changes a function"):
        unpickle(b"cnumpy\nndarray\n(N(dVx\nI1\nstb.", "x")


def test_codecs_encode_is_read_for_bytes_alone():
    assert unpickle(b"c_codecs\nencode\n(V\xe9\nVlatin1\ntR.", "x") == b"\xe9"
    with pytest.raises(SourceError, match=r"calls codecs\.encode for something else than bytes"):
        unpickle(b"c_codecs\nencode\n(Va\nVrot13\ntR.", "x")


def test_an_array_whose_memory_is_too_short_is_refused():
    content = pickle.dumps(np.arange(300, dtype=np.uint8), 2).replace(struct.pack("<H", 300), struct.pack("<H", 301), 1)

    with pytest.raises(SourceError, match=r"holds an array of shape .301,. and dtype u1 in 300 bytes"):
        unpickle(content, "x")


def laughs(depth: int) -> list:
    """A list that unfolds to 10 ** depth values, from a few bytes for each level."""
    value: list = []
    for _ in range(depth):
        value = [value] * 10
    return value


def test_a_small_pickle_that_unfolds_without_end_is_refused():
    with pytest.raises(SourceError, match="unfolds to far more than its own size"):
        unpickle(pickle.dumps(laughs(12)), "x")


def test_a_list_that_holds_itself_is_refused():
    value: list = []
    value.append(value)

    with pytest.raises(SourceError, match=r"unfolds to far more than its own size|damaged pickle .RecursionError"):
        unpickle(pickle.dumps(value), "x")


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_damaged_pickle_gives_an_error_or_a_value_and_never_more(at, byte):
    content = bytearray(pickle.dumps({b"data": np.arange(30, dtype=np.uint8), b"labels": [1, 2]}, 2))
    content[at % len(content)] = byte

    with contextlib.suppress(SourceError):  # Any other error fails the test.
        unpickle(bytes(content), "x")


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_cut_pickle_is_refused(cut):
    content = pickle.dumps({b"data": np.arange(30, dtype=np.uint8)}, 3)

    with pytest.raises(SourceError, match="is a damaged pickle"):
        unpickle(content[:cut], "x")


def test_reading_imports_nothing_that_the_pickle_names():
    with pytest.raises(SourceError, match="names antigravity"):
        unpickle(b"cantigravity\nfly\n.", "x")

    assert "antigravity" not in sys.modules
