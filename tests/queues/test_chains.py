"""Chains of three queues: whatever happens to them, nothing hangs, and nothing is delivered twice."""

from __future__ import annotations

import logging

import pytest
from queue_chain import EVENTS, run_chain

SEEDS = range(60)


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL, logger="wellfed.queues.runner")  # The errors are the point here.


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_chain_ends_cleanly_whatever_happens_to_it(seed):
    run_chain(seed)


def test_the_seeds_bring_about_every_event():
    events = {run_chain(seed).event for seed in SEEDS}

    assert events == set(EVENTS)
