"""Writes expected.json with TensorFlow: python make_expected.py (TensorFlow 2.21 made the one that is kept)."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PROGRAMS = {
    "feeding.py": "tensorflow.compat.v1",
    "folders.py": "tensorflow",
    "iterators.py": "tensorflow.compat.v1",
    "lines.py": "tensorflow.compat.v1",
    "pictures.py": "tensorflow.compat.v1",
    "pipeline.py": "tensorflow",
    "records.py": "tensorflow.compat.v1",
    "shards.py": "tensorflow.compat.v1",
}


def run(program: str, module: str) -> dict:
    """Gives the facts that a program prints under a module."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, HERE / program, module, folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise RuntimeError(f"{program}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    facts = {program: run(program, module) for program, module in PROGRAMS.items()}
    (HERE / "expected.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
