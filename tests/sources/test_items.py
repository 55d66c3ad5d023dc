from __future__ import annotations

import collections
import gc
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wellfed.datasets import ByteString, ClassLabel, Image, Scalar, Schema, Sequence, Tensor, Text
from wellfed.errors import SourceError
from wellfed.sources import Items, Spooled, as_source

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 40
BOTH = pytest.mark.parametrize(
    "make", [Items, lambda items, **more: Spooled(iter(items), **more)], ids=["Items", "Spooled"]
)

VALUES = {
    "bool": ([True, False], Scalar(np.bool_)),
    "int": ([3, -(2**63)], Scalar(np.int64)),
    "float": ([0.5, float("inf")], Scalar(np.float32)),
    "int and float": ([1, 0.5], Scalar(np.float32)),
    "uint8": ([np.uint8(255)], Scalar(np.uint8)),
    "float64": ([np.float64(0.1)], Tensor((), np.float64, encoding="bytes")),
    "text": (["a", "é\0"], Text()),
    "bytes": ([b"a\0", PNG], ByteString()),
    "pictures": ([PNG, bytearray(PNG)], Image()),
    "arrays": ([np.zeros((2, 3)), np.ones((2, 3))], Tensor((2, 3), np.float64, encoding="bytes")),
    "arrays of two widths": ([np.zeros((2, 3), "i8"), np.ones((2, 1), "i8")], Tensor((2, None), np.int64)),
    "pixels": ([np.zeros((2, 2, 3), np.uint8)], Tensor((2, 2, 3), np.uint8, encoding="bytes")),
    "lists": ([[1, 2], [], (3,)], Sequence(Scalar(np.int64))),
    "lists of lists": ([[[0.5], []], []], Sequence(Sequence(Scalar(np.float32)))),
    "lists of texts": ([["a"], ["b", "c"]], Sequence(Text())),
    "lists of arrays": ([[np.zeros(2, np.float32)], []], Sequence(Tensor((2,), np.float32))),
}


@BOTH
@pytest.mark.parametrize(("values", "kind"), VALUES.values(), ids=VALUES)
def test_the_schema_holds_all_values(make, values, kind):
    source = make([{"x": value} for value in values])

    assert dict(source.schema) == {"x": kind}
    for at in range(len(values)):
        assert source.schema.encode(source.load(at))


ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "number": st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.booleans(),
            "text": st.text(),
            "bytes": st.binary(),
            "array": hnp.arrays(
                st.sampled_from(["u1", ">i4", "f4", "?"]), hnp.array_shapes(min_dims=0, min_side=0, max_side=3)
            ),
            "list": st.lists(st.integers() | st.binary(max_size=3) | st.lists(st.text(max_size=3))),
        }
    ),
    min_size=1,
    max_size=4,
)


@given(ITEMS)
def test_what_was_spooled_comes_back_as_it_was(items):
    source = Spooled(iter(items), types={"x": Text()})

    for at, item in enumerate(items):
        loaded = source.load(at)
        array, due = loaded.pop("array"), item["array"].astype(item["array"].dtype.newbyteorder("="))
        assert (array.dtype, array.shape, array.tobytes()) == (due.dtype, due.shape, due.tobytes())
        assert loaded == {name: value for name, value in item.items() if name != "array"}


@BOTH
def test_classes_are_numbers_or_sorted_names(make):
    named = make([{"kind": name} for name in ("dog", "Cat", "dog")], label="kind")
    numbered = make([{"kind": np.int32(5)}, {"kind": np.int32(0)}], label="kind")

    assert (named.schema["kind"], named.listing().labels.tolist()) == (ClassLabel(("Cat", "dog")), [1, 0, 1])
    assert [named.load(at)["kind"] for at in range(3)] == [1, 0, 1]
    assert (numbered.schema["kind"], numbered.listing().labels.tolist()) == (ClassLabel(num_classes=6), [5, 0])


@BOTH
def test_the_schema_can_be_given(make):
    types = Schema({"x": Scalar(np.uint8), "kind": ClassLabel(("b", "a"))})

    source = make([{"x": 1, "kind": "a"}, {"x": 2, "kind": 0}], types=types, label="kind")

    assert source.schema == types
    assert source.listing().labels.tolist() == [1, 0]


BAD = {
    "empty": ([], {}, "at least one (item )?is due"),
    "no mapping": ([{"x": 1}, 2], {}, "item 1: is a int; a mapping such as"),
    "a feature less": ([{"x": 1, "y": 2}, {"x": 1}], {}, "item 1: has no 'y', unlike item 0"),
    "a feature more": ([{"x": 1}, {"x": 1, "y": 2}], {}, "item 1: has 'y', unlike item 0"),
    "another kind": ([{"x": 1}, {"x": "a"}], {}, "item 1: feature 'x' is text, after numbers"),
    "another rank": (
        [{"x": np.zeros(2)}, {"x": np.zeros((2, 2))}],
        {},
        r"item 1: feature 'x' has shape \(2, 2\), after \(2,\)",
    ),
    "a number after true": ([{"x": True}, {"x": 1}], {}, "item 1: feature 'x' is int64, after bool"),
    "nothing": ([{"x": None}], {}, "item 0: feature 'x' is a NoneType, which no feature holds"),
    "an object": ([{"x": object()}], {}, "item 0: feature 'x' is a object, which no feature holds"),
    "a mapping inside": ([{"x": {"y": 1}}], {}, "item 0: feature 'x' is a dict, which no feature holds"),
    "empty lists": ([{"x": []}, {"x": []}], {}, r"feature 'x' holds empty lists alone. Give types=Schema"),
    "lists of uneven arrays": (
        [{"x": [np.zeros(1), np.zeros(2)]}],
        {},
        "feature 'x' a Sequence of Tensors needs their shape",
    ),
    "no class": ([{"x": 1}], {"label": "y"}, "item 0: has None for its class 'y'"),
    "a float for a class": ([{"y": 0.5}], {"label": "y"}, "item 0: has 0.5 for its class 'y'"),
    "names and numbers": ([{"y": "a"}, {"y": 1}], {"label": "y", "types": {"y": Text()}}, "holds names and numbers"),
    "a negative class": ([{"y": -1}, {"y": 1}], {"label": "y"}, "feature 'y' holds -1, which is none of its classes"),
    "an unknown class": ([{"y": "b"}], {"label": "y", "types": {"y": ClassLabel(("a",))}}, "holds 'b', which is none"),
}


@BOTH
@pytest.mark.parametrize(("items", "options", "reason"), BAD.values(), ids=BAD)
def test_items_that_do_not_go_together_are_refused(make, items, options, reason):
    with pytest.raises(SourceError, match=reason):
        make(items, **options).listing()


class Lazy:
    """A sequence that counts how often an item is asked for."""

    def __init__(self, n: int):
        self.n, self.asked = n, 0

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, at: int) -> dict:
        self.asked += 1
        return {"x": at}


def test_no_more_than_a_hundred_items_of_a_lazy_sequence_are_looked_at():
    sequence = Lazy(1_000_000)

    source = Items(sequence)

    assert (len(source.listing()), source.listing().key(999_999), sequence.asked) == (1_000_000, "item/999999", 100)
    assert source.load(999_999) == {"x": 999_999}


def test_any_kind_of_mapping_is_an_item():
    item = collections.ChainMap({"x": 1}, {"y": 2})

    assert Items([item]).load(0) == {"x": 1, "y": 2}


def test_a_part_of_a_list_pickles_its_own_items_alone():
    source = Items([{"x": bytes([at]) * 10_000} for at in range(100)])

    pickled = pickle.dumps(source.part(np.array([50, 7])))

    assert len(pickled) < 25_000
    assert [pickle.loads(pickled).load(at)["x"][0] for at in (0, 1)] == [50, 7]
    assert pickle.loads(pickled).part(np.array([1])).load(0)["x"][0] == 7


def test_a_part_of_another_sequence_reads_the_rows_asked_for():
    part = pickle.loads(pickle.dumps(Items(Lazy(1000)).part(np.array([500, 7]))))

    assert [part.load(at) for at in (0, 1)] == [{"x": 500}, {"x": 7}]


def test_an_iterable_is_read_once_and_kept_in_a_file_that_goes_with_the_source(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = Spooled({"x": at} for at in range(10))

    assert [source.load(at)["x"] for at in (9, 0, 9)] == [9, 0, 9]
    part = source.part(np.array([3]))
    del source
    gc.collect()
    assert part.load(0) == {"x": 3}
    del part
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_gone_when_the_program_ends(tmp_path):
    program = (
        "import os, tempfile; from wellfed.sources import Spooled\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "source = Spooled(iter([{'x': 1}])); source.load(0); print(len(os.listdir(tempfile.tempdir)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "1\n"
    assert list(tmp_path.iterdir()) == []


def test_a_pickled_copy_reads_the_owners_file_and_leaves_it():
    source = Spooled({"x": at} for at in range(10))

    copy = pickle.loads(pickle.dumps(source))
    assert copy.load(4) == {"x": 4}
    del copy
    gc.collect()

    assert source.load(5) == {"x": 5}


def test_an_error_of_the_iterable_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def items():
        yield {"x": 1}
        raise FileNotFoundError("the camera is off")

    with pytest.raises(FileNotFoundError, match="the camera is off"):
        Spooled(items()).listing()
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_a_full_temporary_folder_is_named(monkeypatch):
    real_open = open
    monkeypatch.setattr("builtins.open", lambda path, mode: real_open("/dev/full", mode))

    with pytest.raises(
        SourceError, match=r"item \d: cannot be written down in .*: No space left on device. TMPDIR names"
    ):
        Spooled({"x": bytes(5_000)} for _ in range(10)).listing()


def test_a_spool_that_was_deleted_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = Spooled(iter([{"x": 1}]))
    source.listing()
    for path in tmp_path.iterdir():
        path.unlink()

    with pytest.raises(SourceError, match="was there when it was listed and is gone"):
        source.load(0)


def test_threads_that_ask_at_once_get_one_listing():
    barrier = threading.Barrier(4)
    source = Spooled({"x": at} for at in range(1000))

    def ask(_):
        barrier.wait()
        return source.listing()

    with ThreadPoolExecutor(4) as pool:
        listings = list(pool.map(ask, range(4)))

    assert all(listing is source.listing() for listing in listings)
    assert len(source.listing()) == 1000


def test_whatever_holds_items_becomes_a_source():
    rows = [{"x": 1}]

    assert isinstance(as_source(rows), Items)
    assert isinstance(as_source(iter(rows)), Spooled)
    assert as_source(source := Items(rows)) is source
    assert dict(as_source(rows, types={"x": Scalar(np.uint8)}).schema) == {"x": Scalar(np.uint8)}


def test_a_source_is_not_read_to_know_that_it_is_one():
    source = Spooled(not_read := iter([{"x": 1}]))

    assert as_source(source) is source
    assert next(not_read) == {"x": 1}


@pytest.mark.parametrize("given", ["photos/", {"x": 1}, 3, b"x", Items])
def test_what_holds_no_items_is_refused(given):
    with pytest.raises(TypeError, match="a sequence or iterable of mappings is due, got"):
        as_source(given)


class Frame:
    """Has a length and is indexed by columns, as a data frame is."""

    def __len__(self):
        return 2

    def __getitem__(self, name):
        return {"x": [1, 2]}[name]


def test_what_has_a_length_and_is_no_sequence_is_told():
    with pytest.raises(SourceError, match=r"item 0: cannot be got out of the Frame: KeyError: 0. A sequence"):
        as_source(Frame()).listing()
