"""Runs chains of three queues with random ends, errors, stops and closes: none may hang, none may leave a thread.

    python tests/soak/queues_soak.py [--runs 200] [--seed 0]

Prints what happened how often; exits with 1 at the first chain that does not hold.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import logging
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from queue_chain import EVENTS, PATIENCE_S, run_chain


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="How many chains.")
    parser.add_argument("--seed", type=int, default=0, help="The first chain's seed; the others' follow.")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)  # Producers fail here by intent.
    before = threading.active_count()
    events: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    for seed in range(args.seed, args.seed + args.runs):
        faulthandler.dump_traceback_later(2 * PATIENCE_S, exit=True)
        events[run_chain(seed).event] += 1
    faulthandler.cancel_dump_traceback_later()
    for event in EVENTS:
        print(f"{event:20}{events[event]:6}")
    left = threading.active_count() - before
    print(f"{args.runs} chains in {time.monotonic() - start:.1f} s, {left} threads left")
    return int(left > 0 or args.runs == 0)


if __name__ == "__main__":
    sys.exit(main())
