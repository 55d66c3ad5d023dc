"""Batches in parts: the same bytes however they are cut, in one allocation where a transform can tell its size."""

import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import given, settings

import wellfed as wf
from wellfed.errors import StageError
from wellfed.feed import parts as cutting
from wellfed.feed.parts import PartSize


@pytest.fixture(autouse=True)
def _every_batch_is_heavy(monkeypatch):
    monkeypatch.setattr(cutting, "_HEAVY_SECONDS", 0.0)
    monkeypatch.setattr(cutting, "_PART_SECONDS", 1e-5)


class Picture:
    """A transform as those of `wf.image`: it can tell how large its result is."""

    def static_output(self, rows):
        del rows
        return (8, 8, 3), np.uint8

    def apply(self, columns, seeds, out=None):
        del seeds
        out = np.empty((len(columns["x"]), 8, 8, 3), np.uint8) if out is None else out
        out[:] = columns["x"].astype(np.uint8)[:, None, None, None]
        return {"image": out, "x": columns["x"]}


def pictures(length, threads=3):
    return wf.from_arrays({"x": np.arange(length)}).shuffle(seed=1).map(Picture()).with_options(threads=threads)


def values(batches):
    return [(b["x"].tolist(), b["image"][:, 0, 0, 0].tolist(), b["image"].shape) for b in batches]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 60), st.integers(1, 20), st.booleans(), st.integers(1, 4), st.integers(0, 3))
def test_batches_in_parts_are_the_batches(length, size, drop, threads, skip):
    order = [int(x) for x in wf.from_arrays(np.arange(length)).shuffle(seed=1)]
    due = [order[i : i + size] for i in range(0, length, size)]
    due = [b for b in due if len(b) == size or not drop][skip:]
    batched = pictures(length, threads).batch(size, drop).prefetch(2)
    iterator = iter(batched)
    for _ in range(skip):
        next(iterator, None)
    resumed = iter(batched)
    resumed.load_state_dict(iterator.state_dict())
    iterator.close()

    assert values(resumed) == [(b, [x % 256 for x in b], (len(b), 8, 8, 3)) for b in due]


def of_length(x):
    """Rows of another length each; neighbours may be alike."""
    return {"x": x, "row": np.arange(int(x) // 3 % 5, dtype=np.int32), "text": b"a" * (int(x) % 4), "flat": np.zeros(2)}


def as_bytes(leaf):
    if isinstance(leaf, wf.Ragged):
        return type(leaf), as_bytes(leaf.values), as_bytes(leaf.row_splits)
    if isinstance(leaf, wf.Bytes):
        return type(leaf), leaf.to_list()
    return leaf.dtype, leaf.shape, leaf.tobytes()


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 40),
    st.integers(1, 20),
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from(["padded_batch", "ragged_batch"]),
    st.booleans(),
)
def test_padded_and_ragged_batches_in_parts_are_the_whole_ones(length, size, drop, threads, verb, function):
    def build(source):
        return getattr(source.map(of_length), verb)(size, drop_remainder=drop)

    def run(dataset):
        return [{name: as_bytes(leaf) for name, leaf in batch.items()} for batch in dataset.epoch(0)]

    numbers = wf.feed.range(length).shuffle(seed=1)
    cut = build(numbers).with_options(threads=threads)
    whole = build(numbers).enumerate().map(lambda pair: pair[1])  # What does not end with its batch is never cut.

    assert run(cut) == run(whole)


def test_a_function_of_the_users_is_called_on_several_threads_for_one_batch():
    gate = threading.Barrier(2, timeout=60)

    def both(x):
        if x in (0, 8):
            gate.wait()  # Rows of the batch's first two parts: no thread alone gets through.
        return x

    (batch,) = wf.from_arrays(np.arange(32)).map(both).batch(32).with_options(threads=2)

    assert batch.tolist() == list(range(32))


def test_parts_lie_in_one_allocation_and_batches_are_their_own():
    batches = list(pictures(64).batch(16))
    addresses = {b["image"].__array_interface__["data"][0] for b in batches}

    assert len(addresses) == 4
    assert all(b["image"].flags.c_contiguous and b["image"].flags.writeable for b in batches)
    batches[0]["image"][:] = 0
    assert batches[1]["image"].any()


def test_what_a_transform_wrote_is_not_copied(monkeypatch):
    copied = []
    monkeypatch.setattr(
        cutting, "concat_columns", lambda pieces: copied.append(pieces[0].ndim) or np.concatenate(pieces)
    )
    list(pictures(64).batch(16))

    assert copied
    assert set(copied) == {1}  # The labels; never the pictures.


def test_kept_batches_keep_their_content_while_others_are_made():
    kept = list(pictures(400).batch(32))

    assert values(kept) == values(pictures(400, threads=1).batch(32))


@pytest.mark.parametrize("bad", [0, 5, 17, 31, 39])
def test_an_error_comes_after_the_batches_before_it(bad):
    def fail(x):
        if x == bad:
            raise ValueError("this one")
        return x

    got = []
    with pytest.raises(StageError, match=f"failed at row {bad}: ValueError: this one"):
        got.extend(plain(b) for b in wf.from_arrays(np.arange(40)).map(fail).batch(8).with_options(threads=3))

    assert got == [tuple(range(i, i + 8)) for i in range(0, bad // 8 * 8, 8)]


def test_rows_are_replaced_in_parts_as_in_whole_batches(monkeypatch):
    def fail(x):
        if x % 7 == 0:
            raise ValueError("this one")
        return x

    def build():
        dataset = wf.from_arrays(np.arange(50)).shuffle(seed=2).map(fail).batch(8)
        return [plain(b) for b in dataset.with_options(threads=2, on_error="replace")]

    cut = build()
    monkeypatch.setattr(cutting, "_HEAVY_SECONDS", 1e9)

    assert cut == build()


def test_random_numbers_do_not_depend_on_the_cut(monkeypatch):
    def noisy(x, rng):
        return x + rng.integers(1000)

    def build():
        dataset = wf.from_arrays(np.arange(50)).shuffle(seed=2).map(noisy, rng=True).repeat(2).batch(8)
        return [plain(b) for b in dataset.epoch(1)]

    cut = build()
    monkeypatch.setattr(cutting, "_HEAVY_SECONDS", 1e9)

    assert cut == build()


def test_light_batches_stay_whole_and_heavy_ones_are_cut_by_time(monkeypatch):
    monkeypatch.setattr(cutting, "_HEAVY_SECONDS", 0.025)
    monkeypatch.setattr(cutting, "_PART_SECONDS", 0.012)
    light, heavy, held_up = (PartSize(1 << 20, elements=16, batch=64, least=4) for _ in range(3))
    light.learn(16, 16 << 20, 0.001)
    heavy.learn(16, 16 << 10, 0.016)
    held_up.learn(16, 16 << 10, 10.0)

    assert (light.elements, heavy.elements, held_up.elements) == (64, 12, 4)
