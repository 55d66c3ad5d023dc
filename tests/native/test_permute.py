"""The permutation: a bijection for every size, as even as a fair shuffle, and the same for ever."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wellfed import _native

KEYS = (
    np.random.default_rng(20240229).integers(0, 2**64, 200_000, dtype=np.uint64).tolist()
)  # Fixed, without a pattern.
LIMIT = 4.0  # Standard deviations. The keys are fixed, so a test that passes once passes always.


def whole(n, key):
    return _native.permute_range(n, key, 0, n)


def chi_square_deviations(counts, cells):
    """How many standard deviations the chi-square of `counts` over `cells` equally likely cells is off."""
    due = sum(counts) / cells
    chi_square = sum((count - due) ** 2 / due for count in counts) + (cells - len(counts)) * due
    return (chi_square - (cells - 1)) / math.sqrt(2 * (cells - 1))


def count_permutations(shuffles):
    counts = {}
    for shuffle in shuffles:
        key = tuple(shuffle)
        counts[key] = counts.get(key, 0) + 1
    return list(counts.values())


def off_by(values, mean):
    """How many standard errors the mean of `values` is from `mean`."""
    values = np.asarray(values, float)
    return abs(values.mean() - mean) / (values.std() / math.sqrt(len(values)))


# --- A bijection


@given(st.integers(1, 3000), st.integers(0, 2**64 - 1))
@example(n=1, key=0)
@example(n=1023, key=0)
@example(n=1024, key=0)
@example(n=1025, key=0)
def test_every_number_comes_exactly_once(n, key):
    assert np.array_equal(np.sort(whole(n, key)), np.arange(n, dtype=np.uint64))


@given(st.integers(1, 2**48), st.integers(0, 2**64 - 1), st.data())
def test_any_range_is_the_points_it_holds(n, key, data):
    start = data.draw(st.integers(0, n - 1))
    stop = min(n, start + data.draw(st.integers(0, 1500)))

    rows = _native.permute_range(n, key, start, stop)

    assert np.array_equal(rows, _native.permute_apply(n, key, np.arange(start, stop, dtype=np.uint64)))
    assert len(set(rows.tolist())) == stop - start
    assert all(rows < n)


def test_applying_leaves_its_argument_alone():
    values = np.array([3, 1, 3], np.uint64)

    rows = _native.permute_apply(10, 0, values)

    assert values.tolist() == [3, 1, 3]
    assert rows[0] == rows[2] != rows[1]


def test_what_a_key_gives_never_changes():
    """Orders of data are made of it: a change here changes every saved order, and needs a new version of states."""
    assert whole(5, 0).tolist() == [1, 2, 4, 0, 3]
    assert whole(10, 1).tolist() == [0, 3, 5, 6, 7, 2, 8, 1, 4, 9]
    assert _native.permute_range(1000, 42, 0, 5).tolist() == [82, 403, 103, 511, 893]
    assert _native.permute_range(1024, 42, 0, 5).tolist() == [129, 760, 259, 615, 982]
    assert _native.permute_range(10**6, 2**64 - 1, 0, 3).tolist() == [808483, 248650, 914642]
    assert _native.permute_range(2**48, 0, 0, 2).tolist() == [230210239060332, 23257223278194]


# --- As even as a fair shuffle


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_all_permutations_of_few_are_equally_likely(n):
    count = 40 * math.factorial(n) if n > 4 else 400 * math.factorial(n)
    counts = count_permutations(whole(n, key).tolist() for key in KEYS[:count])

    assert len(counts) == math.factorial(n)
    assert abs(chi_square_deviations(counts, math.factorial(n))) < LIMIT


def test_the_chi_square_notices_a_shuffle_that_swaps_with_any_place():
    """The usual wrong shuffle: every place swaps with any other, not only with those behind it."""
    swaps = itertools.product(range(4), repeat=4)
    shuffles = []
    for targets in list(swaps) * 40:
        places = list(range(4))
        for place, target in enumerate(targets):
            places[place], places[target] = places[target], places[place]
        shuffles.append(places)

    assert chi_square_deviations(count_permutations(shuffles), 24) > LIMIT


@pytest.mark.parametrize("n", [31, 32, 33, 50, 64, 100])
def test_two_neighbours_land_on_any_two_places_alike(n):
    rows = np.array([_native.permute_range(n, key, 0, n)[:2] for key in KEYS[: 10 * n * n]], np.int64)

    counts = np.bincount(rows[:, 0] * n + rows[:, 1])

    assert abs(chi_square_deviations(counts[counts > 0].tolist(), n * (n - 1))) < LIMIT


@pytest.mark.slow
def test_all_permutations_of_8_are_equally_likely_over_a_million_keys():
    """Half as many rounds miss this by eight standard deviations."""
    rows = np.array([whole(8, key) for key in range(1_000_000)], np.int64)

    counts = np.unique(rows @ 8 ** np.arange(8), return_counts=True)[1]

    assert len(counts) == math.factorial(8)
    assert abs(chi_square_deviations(counts.tolist(), math.factorial(8))) < LIMIT


@pytest.mark.parametrize("step", [1, -1, 2])
@pytest.mark.parametrize(
    ("n", "keys"), [(32, 60000), (100, 20000), (128, 20000), (1000, 4000), (1024, 4000), (10_000, 400), (100_000, 40)]
)
def test_neighbours_stay_together_about_once(n, keys, step):
    """A fair shuffle keeps (n - |step|) ** 2 / (n (n - 1)) pairs at the same distance: about one."""
    distance = abs(step)
    kept = []
    for key in KEYS[:keys]:
        rows = whole(n, key).astype(np.int64)
        kept.append(np.count_nonzero(rows[distance:] - rows[:-distance] == step))

    assert off_by(kept, (n - distance) ** 2 / (n * (n - 1))) < LIMIT


@pytest.mark.parametrize("apart", [1, 2, 1 << 32, 1 << 63, 0x9E3779B97F4A7C15], ids=hex)
@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_neighbouring_keys_give_permutations_that_share_nothing(n, apart):
    same, correlations = [], []
    for key in KEYS[:1000]:
        one, other = whole(n, key), whole(n, (key + apart) % 2**64)
        same.append(np.count_nonzero(one == other))
        correlations.append(np.corrcoef(one.astype(float), other.astype(float))[0, 1])

    assert off_by(same, 1) < LIMIT
    assert off_by(correlations, 0) < LIMIT


def parity(rows):
    """0 for an even permutation, 1 for an odd one."""
    seen, swaps = set(), 0
    for start in range(len(rows)):
        place = start
        while place not in seen:
            seen.add(place)
            place = rows[place]
            swaps += place not in seen
    return swaps % 2


@pytest.mark.parametrize(("n", "due"), [(8, {0, 1}), (16, {0}), (17, {0, 1}), (64, {0}), (2048, {0})])
def test_only_even_permutations_occur_for_powers_of_two_from_16_on(n, due):
    assert {parity(whole(n, key).tolist()) for key in KEYS[:40]} == due


# --- Wrong arguments


def test_more_than_2_48_rows_are_refused():
    with pytest.raises(ValueError, match=rf"n must be at most 2\*\*48, got {2**48 + 1}"):
        _native.permute_range(2**48 + 1, 0, 0, 1)


@pytest.mark.parametrize(("start", "stop"), [(5, 4), (0, 11), (11, 11)])
def test_a_range_outside_is_refused(start, stop):
    with pytest.raises(ValueError, match=f"got start {start}, stop {stop}, n 10"):
        _native.permute_range(10, 0, start, stop)


def test_a_value_outside_is_refused():
    with pytest.raises(IndexError, match="values must be below n = 10, got 10"):
        _native.permute_apply(10, 0, np.array([1, 10], np.uint64))


def test_no_rows_have_one_empty_order():
    assert _native.permute_range(0, 0, 0, 0).shape == (0,)
    assert _native.permute_apply(0, 0, np.empty(0, np.uint64)).shape == (0,)
