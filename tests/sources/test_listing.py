from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellfed.sources import Listing, ListingBuilder, NumberedKeys

# What os.fsdecode gives: any text, and lone surrogates for bytes that are no UTF-8.
KEYS = st.lists(st.binary(max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape")), max_size=30)


def built(keys, labels=None) -> Listing:
    builder = ListingBuilder()
    for at, key in enumerate(keys):
        builder.add(key, size=at, **({"label": labels[at]} if labels else {}))
    return builder.listing()


@given(KEYS)
def test_joined_keys_come_back_as_they_were_given(keys):
    listing = built(keys)

    assert [listing.key(at) for at in range(len(listing))] == keys


@given(KEYS)
def test_the_bytes_of_all_keys_are_those_of_each(keys):
    assert list(built(keys).keys.encoded()) == [key.encode("utf-8", "surrogateescape") for key in keys]


def test_the_bytes_of_all_numbered_keys_are_those_of_each():
    keys = NumberedKeys.of_counts({"train": 70_000, "tést": 2})

    assert list(keys.encoded()) == [keys[at].encode() for at in range(len(keys))]


@given(KEYS.filter(len), st.data())
def test_a_part_of_a_listing_holds_the_rows_asked_for(keys, data):
    rows = data.draw(st.lists(st.integers(0, len(keys) - 1), max_size=10))

    part = built(keys).take(np.array(rows, np.int64))

    assert [part.key(at) for at in range(len(part))] == [keys[row] for row in rows]
    assert part.sizes.tolist() == rows


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.integers(0, 5), max_size=6))
def test_numbered_keys_count_within_their_group(counts):
    keys = NumberedKeys.of_counts(counts)

    assert [keys[at] for at in range(len(keys))] == [f"{name}/{at}" for name, n in counts.items() for at in range(n)]


@given(st.permutations(range(9)), st.integers(0, 9), st.integers(0, 9))
def test_many_numbered_keys_are_located_as_one_is(rows, start, stop):
    start, stop = sorted((start, stop))
    keys = NumberedKeys.of_counts({"a": 4, "b": 0, "c": 5}).take(np.array(rows))

    found = {}
    for group, places, numbers in keys.locate_all(start, stop):
        found |= {start + int(place): (group, int(number)) for place, number in zip(places, numbers, strict=True)}
    assert found == {at: keys.locate(at) for at in range(start, stop)}


def test_a_part_of_numbered_keys_keeps_the_numbers():
    keys = NumberedKeys.of_counts({"train": 3, "test": 2}).take(np.array([4, 0]))

    assert [keys[0], keys[1]] == ["test/1", "train/0"]


def test_a_listing_is_the_same_after_pickling():
    listing = built(["a", "b/\udc80"], labels=[1, 0])

    again = pickle.loads(pickle.dumps(listing))

    assert [again.key(0), again.key(1)] == ["a", "b/\udc80"]
    assert again.fingerprint() == listing.fingerprint()


@pytest.mark.parametrize(
    "other",
    [built(["a", "b"], [0, 1]), built(["ab", ""], [0, 0]), built(["a", "c"], [0, 0]), built(["a"], [0])],
    ids=["another label", "keys cut elsewhere", "another key", "one item less"],
)
def test_the_fingerprint_tells_listings_apart(other):
    assert built(["a", "b"], [0, 0]).fingerprint() != other.fingerprint()


def test_arrays_of_another_length_than_the_keys_are_refused():
    with pytest.raises(ValueError, match=r"labels must have shape \(2,\), one value an item, got \(3,\)"):
        Listing(NumberedKeys.of_counts({"a": 2}), np.zeros(2, np.int64), labels=np.zeros(3, np.int64))


def test_split_names_without_split_ids_are_refused():
    with pytest.raises(ValueError, match="must be given together"):
        Listing(NumberedKeys.of_counts({"a": 1}), np.zeros(1, np.int64), split_names=("train",))


def test_a_million_items_with_keys_of_thirty_bytes_take_less_than_a_hundred_bytes_each():
    builder = ListingBuilder()
    for at in range(10_000):
        builder.add(f"n01440764/n01440764_{at:05d}.JPEG", size=at, label=3, split=0)

    assert len(pickle.dumps(builder.listing(("train",)))) < 100 * 10_000


@given(KEYS.filter(len), st.text(max_size=3))
def test_many_items_added_at_once_are_those_added_one_by_one(keys, prefix):
    one, many = ListingBuilder(), ListingBuilder()
    for at, key in enumerate(keys):
        one.add(prefix + key, size=at, label=7)
    many.add_many(prefix, keys[:3], size=np.arange(min(3, len(keys))), label=7)
    many.add_many(prefix, keys[3:], size=np.arange(3, max(3, len(keys))), label=7)

    assert many.listing().fingerprint() == one.listing().fingerprint()
