"""`import wellfed` is cheap: NumPy and nothing else from outside."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys
before = set(sys.modules)
import wellfed
tops = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(tops - sys.stdlib_module_names))
"""
EVERYTHING = """
import sys
import wellfed
for name in wellfed.__all__:
    getattr(wellfed, name)
print(*sorted({"torch", "jax", "tensorflow", "dask", "ray", "pyarrow", "google.protobuf"} & set(sys.modules)))
"""


def loaded_by(program):
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    ).stdout.split()


def test_importing_the_root_loads_numpy_at_most():
    assert set(loaded_by(LOADED)) <= {"wellfed", "numpy"}


def test_no_public_name_of_the_root_needs_an_optional_package():
    assert loaded_by(EVERYTHING) == []
