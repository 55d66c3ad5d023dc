"""`shuffle(block=)`: exactly once, by arithmetic, a few blocks at a time."""

import hypothesis.strategies as st
import numpy as np
import pytest
from feed_model import plain
from hypothesis import given

import wellfed as wf
from wellfed.errors import PlanError
from wellfed.feed import range as numbers
from wellfed.feed.block_order import BlockOrder


def ints(dataset, epoch=0):
    return [plain(x) for x in dataset.epoch(epoch)]


LENGTHS, BLOCKS, WINDOWS = st.integers(1, 300), st.integers(1, 40), st.integers(1, 120)


@given(LENGTHS, BLOCKS, WINDOWS, st.integers(0, 2**64 - 1))
def test_every_row_comes_exactly_once(length, block, window, key):
    rows = BlockOrder(length, block, window).rows(key, range(length))

    assert sorted(rows.tolist()) == list(range(length))


@given(LENGTHS, BLOCKS, WINDOWS, st.data())
def test_any_position_is_found_by_itself(length, block, window, data):
    order = BlockOrder(length, block, window)
    whole = order.rows(5, range(length))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, length), st.integers(0, length))))
    some = np.array(data.draw(st.lists(st.integers(0, length - 1))), np.uint64)

    assert order.rows(5, range(start, stop)).tolist() == whole[start:stop].tolist()
    assert order.rows(5, range(start, stop, 3)).tolist() == whole[start:stop:3].tolist()
    assert order.rows(5, some).tolist() == whole[some].tolist()


@given(LENGTHS, BLOCKS, WINDOWS)
def test_a_window_reads_no_more_blocks_than_fit_into_it_and_two(length, block, window):
    rows = BlockOrder(length, block, window).rows(9, range(length))
    for start in range(0, length, window):
        found = set((rows[start : start + window] // block).tolist())
        # The shorter block at the end may lie in the middle of a window, besides a part of one at either end.
        assert len(found) <= -(-window // block) + 2


@pytest.mark.parametrize(("length", "block"), [(6, 2), (7, 2), (3, 1)])
def test_every_order_of_the_blocks_occurs_equally_often(length, block):
    count = 6000
    counts = {}
    for key in range(count):
        rows = BlockOrder(length, block, 1).rows(key * 0x9E3779B97F4A7C15 % 2**64, range(length)) // block
        blocks = tuple(dict.fromkeys(rows.tolist()))
        counts[blocks] = counts.get(blocks, 0) + 1
    orders = {3: 6, 4: 24}[-(-length // block)]
    chi_square = sum((found - count / orders) ** 2 / (count / orders) for found in counts.values())

    assert len(counts) == orders
    assert chi_square < orders + 5 * (2 * orders) ** 0.5


def test_a_verb_of_blocks_gives_each_epoch_another_order_and_the_same_again():
    dataset = wf.from_arrays(np.arange(1000)).shuffle(200, seed=4, block=20)

    assert ints(dataset, 0) == ints(dataset, 0) != ints(dataset, 1)
    assert sorted(ints(dataset, 1)) == list(range(1000))


def test_shards_of_blocks_partition_the_rows():
    dataset = wf.from_arrays(np.arange(101)).shuffle(seed=4, block=7)

    assert sorted(ints(dataset.shard(3, 0)) + ints(dataset.shard(3, 1)) + ints(dataset.shard(3, 2))) == list(range(101))


def test_a_stop_resumes_exactly():
    def build():
        return wf.from_arrays(np.arange(50)).shuffle(seed=4, block=4).repeat(2).batch(3)

    iterator = iter(build())
    for _ in range(13):
        next(iterator)
    resumed = iter(build())
    resumed.load_state_dict(iterator.state_dict())

    assert [plain(b) for b in resumed] == [plain(b) for b in iterator]


def test_a_billion_thousands_of_rows_are_no_more_work_than_a_few():
    dataset = numbers(10**12).shuffle(seed=1, block=1000)

    assert len({*ints(dataset.take(5)), *ints(dataset.skip(10**12 - 5))}) == 10


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (lambda d: d.shuffle(block=0), "shuffle: block must be at least 1 element, got 0"),
        (lambda d: d.shuffle(0, block=5), "shuffle: buffer_size must be at least 1 element, got 0"),
        (lambda d: d.filter(bool).shuffle(10, block=5), r"shuffle\(block=\): needs rows by number, which filter lost"),
    ],
)
def test_what_cannot_be_is_refused(build, what):
    with pytest.raises(PlanError, match=what):
        build(wf.from_arrays(np.arange(5)))
