"""Runs the programs of tests/compat again and again: each has to give its facts every time, and to end.

    python tests/soak/compat_soak.py [--rounds 50]

Exits with 1 at the first program that differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "compat/programs"
PATIENCE_S = 240


def differs(program: str, due: dict[str, object]) -> str:
    """Runs a program; says what is wrong with what it gave, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(PROGRAMS / program), "wellfed.compat", folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr[-2000:]}"
    got = json.loads(done.stdout.strip().splitlines()[-1])
    return "; ".join(f"{name} is {got.get(name)}, not {value}" for name, value in due.items() if got.get(name) != value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50, help="How often each program is run.")
    rounds = parser.parse_args().rounds
    expected = json.loads((PROGRAMS / "expected.json").read_text())
    start = time.monotonic()
    for number in range(rounds):
        for program, due in expected.items():
            wrong = differs(program, due)
            if wrong:
                print(f"round {number}, {program}: {wrong}")
                return 1
    print(f"{len(expected)} programs, {rounds} times each, in {time.monotonic() - start:.0f} s: the same every time")
    return int(rounds == 0 or not expected)


if __name__ == "__main__":
    sys.exit(main())
