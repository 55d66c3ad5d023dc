"""Splits, order and shards: arithmetic on the listing."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tiny_source import SCHEMA, TinySource

from wellfed.errors import PackError
from wellfed.packing.options import PackOptions
from wellfed.packing.plan import cut, key_hashes, plan_splits
from wellfed.sources import Listing, NumberedKeys


def plans(source, **options):
    return {plan.name: plan for plan in plan_splits(source.listing(), PackOptions(name="d", **options), SCHEMA)}


def listing_of(n, labels=None, **fields):
    return Listing(NumberedKeys.of_counts({"all": n}), np.full(n, 10, np.int64), labels, **fields)


@given(st.integers(1, 200), st.lists(st.integers(1, 20), min_size=1, max_size=4), st.integers(0, 3), st.booleans())
def test_every_item_is_in_exactly_one_shard(n, weights, seed, shuffle):
    split = {f"s{at}": weight / sum(weights) for at, weight in enumerate(weights)}
    try:
        found = plans(TinySource(n), split=split, seed=seed, shuffle=shuffle, shard_size=500).values()
    except PackError:
        assume(False)  # Few items, and a split of them would be empty: another test's claim.

    rows = [row for plan in found for shard in range(plan.shards) for row in plan.rows_of(shard)]
    assert sorted(rows) == list(range(n))


@given(st.integers(0, 10**12), st.integers(1, 5000))
def test_shards_are_equal_within_one(n, parts):
    sizes = np.diff(cut(n, parts))

    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1


def test_the_shares_are_about_right():
    found = plans(TinySource(10_000), split={"train": 0.9, "test": 0.1})

    assert abs(len(found["test"].rows) - 1000) < 150  # Five standard deviations of a fair draw.


def test_an_item_keeps_its_split_when_others_are_added():
    few, many = (plans(TinySource(n), split={"train": 0.5, "test": 0.5}) for n in (100, 1000))

    assert set(few["test"].rows) == {row for row in many["test"].rows if row < 100}


def test_the_seed_changes_the_order_but_not_the_splits():
    one, other = (plans(TinySource(100), split={"train": 0.5, "test": 0.5}, seed=seed) for seed in (0, 1))

    assert set(one["test"].rows) == set(other["test"].rows)
    assert list(one["test"].rows) != list(other["test"].rows)


def test_without_shuffle_the_order_is_the_sources():
    (plan,) = plans(TinySource(50), shuffle=False).values()

    assert list(plan.rows) == list(range(50))


def test_a_shuffle_mixes_a_sorted_listing():
    (plan,) = plans(TinySource(1000)).values()

    assert np.count_nonzero(np.diff(plan.rows) == 1) < 10  # One is expected of a fair draw.


def test_stratified_shares_hold_within_each_class():
    labels = np.repeat([0, 1, 2], [100, 20, 10])
    options = PackOptions(name="d", split={"train": 0.9, "test": 0.1}, stratify=True)

    found = {
        plan.name: np.bincount(labels[plan.rows]) for plan in plan_splits(listing_of(130, labels), options, SCHEMA)
    }

    assert list(found["test"]) == [10, 2, 1]
    assert list(found["train"]) == [90, 18, 9]


def test_a_stratified_split_needs_classes():
    with pytest.raises(PackError, match="needs a source with one class an item"):
        plan_splits(listing_of(10), PackOptions(name="d", split={"a": 0.5, "b": 0.5}, stratify=True), SCHEMA)


def test_the_sources_own_splits_are_kept_unless_others_are_asked_for():
    listing = listing_of(4, split_names=("train", "test"), split_ids=np.array([0, 1, 0, 0]))
    own = plan_splits(listing, PackOptions(name="d"), SCHEMA)
    asked = plan_splits(listing, PackOptions(name="d", split="all"), SCHEMA)

    assert {plan.name: sorted(plan.rows) for plan in own} == {"train": [0, 2, 3], "test": [1]}
    assert {plan.name: sorted(plan.rows) for plan in asked} == {"all": [0, 1, 2, 3]}


def test_a_split_that_would_be_empty_is_an_error():
    with pytest.raises(PackError, match=r"split 'test' would be empty \(0.001 of 20 items\)"):
        plans(TinySource(20), split={"train": 0.999, "test": 0.001})


def test_an_empty_listing_is_an_error():
    with pytest.raises(PackError, match="has no items"):
        plan_splits(listing_of(0), PackOptions(name="d"), SCHEMA)


def test_shards_are_as_many_as_their_size_asks_for():
    # 100 bytes listed, and 72 of framing, names and tags: 17,200 in all.
    (plan,) = plans(TinySource(100), shard_size=2000).values()

    assert plan.shards == 9


def test_a_split_of_few_items_has_no_empty_shards():
    (plan,) = plans(TinySource(3, size=10**9), shard_size=1).values()

    assert plan.shards == 3


def test_shards_may_be_counted_for_each_split():
    found = plans(TinySource(100), split={"a": 0.5, "b": 0.5}, shards={"a": 4, "b": 1})

    assert (found["a"].shards, found["b"].shards) == (4, 1)


@pytest.mark.parametrize(
    ("shards", "message"),
    [(21, "has 20 items, fewer than its 21 shards"), ({"b": 1}, "no number of shards for split 'train'")],
)
def test_a_number_of_shards_that_does_not_fit_is_an_error(shards, message):
    with pytest.raises(PackError, match=message):
        plans(TinySource(20), shards=shards)


def test_key_hashes_stay_the_same_for_ever():
    hashes = key_hashes([b"cat/1.jpg", b"\xff"], 2)

    # BLAKE2b of 8 bytes, little-endian, by Python's hashlib. Other values would move items between people's splits.
    assert [hex(value) for value in hashes] == ["0xd200e9bdaf8d0132", "0x91bf0c83d9ee2ea7"]
