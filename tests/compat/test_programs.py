"""Whole programs in TensorFlow's names, each in a process of its own, against the facts that TensorFlow gave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
EXPECTED = json.loads((PROGRAMS / "expected.json").read_text())


def run(program, module, folder):
    command = [sys.executable, PROGRAMS / program, module, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_there_are_programs():
    assert len(EXPECTED) >= 8


@pytest.mark.parametrize("program", EXPECTED)
def test_a_program_written_for_tensorflow_runs_with_one_changed_line(program, tmp_path):
    assert run(program, "wellfed.compat", tmp_path) == EXPECTED[program]
