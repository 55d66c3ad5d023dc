"""Randomness from a seed and a count."""

from __future__ import annotations

import numpy as np

from wellfed.image import split_seeds
from wellfed.image.seeds import uniform


def test_draws_are_those_of_splitmix64():
    # The first three outputs of the reference implementation for seed 1234567.
    due = [6457827717110365317, 3203168211198807973, 9817491932198370423]

    found = uniform(np.array([1234567], np.uint64), 3)[0]

    assert found.tolist() == [(value >> 11) * 2.0**-53 for value in due]


def test_draws_are_even_and_of_neighbouring_seeds_unrelated():
    draws = uniform(np.arange(20_000, dtype=np.uint64), 4)

    assert 0 <= draws.min() < draws.max() < 1
    counts = np.histogram(draws, 64, (0, 1))[0]
    assert ((counts - 1250) ** 2 / 1250).sum() < 110  # Chi-square with 63 degrees of freedom: 1 in 5,000.
    related = np.corrcoef(np.column_stack([draws[:-1], draws[1:]]), rowvar=False)
    assert np.abs(related - np.eye(8)).max() < 0.04


def test_steps_of_one_seed_are_unrelated():
    seeds = np.arange(20_000, dtype=np.uint64)
    draws = np.column_stack([uniform(split_seeds(seeds, step), 1)[:, 0] for step in range(5)])

    assert np.abs(np.corrcoef(draws, rowvar=False) - np.eye(5)).max() < 0.04
    assert len(np.unique(split_seeds(seeds, 1))) == len(seeds)


def test_a_draw_depends_on_its_seed_alone():
    assert uniform(np.array([5, 9], np.uint64), 2)[1].tolist() == uniform(np.array([9], np.uint64), 2)[0].tolist()
