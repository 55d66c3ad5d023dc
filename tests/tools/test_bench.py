"""The bench compares what was delivered before it compares times, and says what it found as it is."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from checksum import Checksum
from harness import Figures, Row, Worker
from rows import all_rows

ROWS = {"x": np.arange(100, dtype=np.int64), "image": np.arange(100 * 13, dtype=np.uint8).reshape(100, 13)}


def total(columns, batch_size, *, ordered=True):
    checksum = Checksum(ordered=ordered)
    for start in range(0, 100, batch_size):
        checksum.add({name: column[start : start + batch_size] for name, column in columns.items()})
    return checksum.result()


def changed(name, change):
    return {**ROWS, name: change(ROWS[name].copy())}


def swap_rows(column):
    column[[3, 4]] = column[[4, 3]]
    return column


def swap_bytes(column):
    column[5, [0, 1]] = column[5, [1, 0]]
    return column


def test_the_sum_does_not_depend_on_the_batch_size():
    assert total(ROWS, 64) == total(ROWS, 7) == total(ROWS, 100)


@pytest.mark.parametrize(
    "columns",
    [
        changed("image", swap_bytes),
        changed("image", swap_rows),
        changed("x", lambda column: column + 1),
        changed("x", lambda column: column.astype(np.int32)),
        changed("image", lambda column: column.reshape(100, 13, 1)),
        {"y": ROWS["x"], "image": ROWS["image"]},
    ],
    ids=["bytes swapped", "rows of one column swapped", "value", "dtype", "shape", "name"],
)
@pytest.mark.parametrize("ordered", [True, False])
def test_the_sum_notices_every_change_within_a_row(columns, ordered):
    assert total(columns, 64, ordered=ordered) != total(ROWS, 64, ordered=ordered)


def test_only_an_ordered_sum_notices_that_whole_rows_changed_places():
    other = {name: swap_rows(column.copy()) for name, column in ROWS.items()}

    assert total(other, 64, ordered=False) == total(ROWS, 64, ordered=False)
    assert total(other, 64) != total(ROWS, 64)


def test_an_unordered_sum_notices_a_row_that_came_twice_in_another_s_place():
    other = {name: np.concatenate([column[:99], column[:1]]) for name, column in ROWS.items()}

    assert total(other, 64, ordered=False) != total(ROWS, 64, ordered=False)


def test_the_median_of_the_pairs_ratios_counts_and_the_spread_is_kept():
    figures = Figures()
    for ours, theirs in [(10.0, 1.0), (30.0, 1.0), (12.0, 2.0)]:
        figures.add(ours, theirs, ours / theirs)

    assert figures.summary() == {
        "wellfed": 12.0,
        "peer": 1.0,
        "ratio": 10.0,
        "ratio_min": 6.0,
        "ratio_max": 30.0,
        "pairs": 3,
    }


@pytest.mark.parametrize(("unit", "ratio"), [("records", 2.0), ("s", 0.5), ("MB", 0.5)])
def test_more_is_better_for_rates_and_less_for_costs(unit, ratio):
    assert Row("row", {}, unit=unit).ratio(ours=4.0, theirs=2.0) == ratio


@pytest.mark.parametrize(
    ("unit", "limit", "figure", "holds"),
    [("bytes", 500e6, 600e6, True), ("bytes", 500e6, 400e6, False), ("s", 0.05, 0.01, True), ("s", 0.05, 0.06, False)],
)
def test_a_row_without_a_peer_has_a_least_rate_or_a_highest_cost(unit, limit, figure, holds):
    row = Row("row", {"wellfed": None}, unit=unit, limit=limit)

    assert row.is_alone
    assert row.holds(figure) is holds


def test_a_worker_that_fails_is_quoted():
    failed = pytest.raises(RuntimeError, match=r"exit code 1; it said:\n(.*\n)*StopIteration")
    with Worker(sys.executable, Row("no such row", {}), "wellfed") as worker, failed:
        worker.ask("prove")


def test_every_row_has_a_name_of_its_own_and_wellfed_s_side():
    rows = all_rows()

    assert len(rows) > 20
    assert len({row.name for row in rows}) == len(rows)
    assert all("wellfed" in row.sides for row in rows)
    assert all(set(row.due) <= set(row.sides) for row in rows)
