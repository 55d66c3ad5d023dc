"""Runs a training example as its reader would: to the end, and with a stop on the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, folder: Path, *options: str) -> str:
    """What the example prints."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=200).stdout
