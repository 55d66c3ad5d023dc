"""The facts that the programs of tests/compat are held to are TensorFlow's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tensorflow
PROGRAMS = Path(__file__).parents[1] / "compat/programs"
EXPECTED = json.loads((PROGRAMS / "expected.json").read_text())


@pytest.mark.parametrize("program", EXPECTED)
def test_tensorflow_gives_the_expected_facts(program, tmp_path):
    pytest.importorskip("tensorflow")
    module = "tensorflow" if program in ("folders.py", "pipeline.py") else "tensorflow.compat.v1"
    command = [sys.executable, PROGRAMS / program, module, str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)

    assert json.loads(done.stdout.strip().splitlines()[-1]) == EXPECTED[program]
