"""The examples that are programs for TensorFlow with one changed line run to their end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("example", "last"), [("tf1_queues.py", "1984 pairs"), ("tf_data.py", "300 pictures")])
def test_an_example_gives_the_same_through_both_names(example, last, tmp_path):
    command = [sys.executable, EXAMPLES / example, str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == f"feed: the same {last} in wellfed's own names"
