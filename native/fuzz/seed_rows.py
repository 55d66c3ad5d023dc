"""Writes the seeds of the rows corpus: scripts of random bytes, as native/fuzz/rows_fuzz.cc reads them.

    python native/fuzz/seed_rows.py    # into native/fuzz/corpus/rows

Inputs that a fuzzer found are kept beside them under other names.
"""

from __future__ import annotations

import random
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "corpus" / "rows"
SIZES = (0, 8, 40, 120, 250, 400, 700, 1000, 1500)


def main() -> None:
    """Writes every seed."""
    rng = random.Random(0)  # noqa: S311 -- the same seeds in each run.
    FOLDER.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        (FOLDER / f"script_{size}").write_bytes(bytes(rng.randrange(256) for _ in range(size)))
    print(f"{len(SIZES)} seeds in {FOLDER}")


if __name__ == "__main__":
    main()
