"""The demo runs, and shows what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.mark.slow
def test_the_demo_trains_a_classifier_and_loses_no_digit(tmp_path):
    command = [sys.executable, str(DEMO), str(tmp_path / "demo")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)

    assert done.returncode == 0, done.stdout + done.stderr
    assert float(re.findall(r"held-out accuracy ([\d.]+)%", done.stdout)[-1]) >= 93
    assert "0 lost, 0 repeated, same order: True" in done.stdout
