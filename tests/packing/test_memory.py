"""Memory grows with the listing alone: at most 200 bytes an item, whatever the data's size."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_source

pytest.importorskip("resource", reason="how large a process became is told on POSIX alone")

BYTES_AN_ITEM = 200
FEW, MANY = 10_000, 1_000_000
PROGRAM = """
import resource, sys, tempfile
from tiny_source import ManyItems
from wellfed.packing import pack

with tempfile.TemporaryDirectory() as out:
    pack(ManyItems(int(sys.argv[1])), out, name="many", split={"train": 0.9, "test": 0.1}, workers=2)
unit = 1 if sys.platform == "darwin" else 1024
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""


def peak(items):
    """Returns how large a process became that packed so many items. [bytes]"""
    path = os.pathsep.join([str(Path(tiny_source.__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(items)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def test_memory_grows_by_the_listing_alone():
    assert (peak(MANY) - peak(FEW)) / (MANY - FEW) <= BYTES_AN_ITEM
