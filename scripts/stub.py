"""Writes the type stub of the native module, or checks that the one in the tree is up to date.

    python scripts/stub.py            # writes src/wellfed/_native.pyi from the module as it is built
    python scripts/stub.py --check    # exit code 1 and a diff where the file differs from that

The stub is made by nanobind from the compiled module and laid out by ruff, so it is never edited by hand.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "src" / "wellfed" / "_native.pyi"


def generate() -> str:
    """Returns the stub of the compiled `wellfed._native` as text, laid out by ruff."""
    module = importlib.import_module("wellfed._native")
    generator = StubGen(module)
    generator.put(module)
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    done = subprocess.run(command, input=generator.get(), capture_output=True, text=True, check=True)
    return done.stdout


def count_functions(stub: str) -> int:
    """Returns how many functions and methods the stub declares."""
    return sum(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(stub)))


def main() -> int:
    """Writes or checks the stub; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the file in the tree, write nothing")
    check = parser.parse_args().check
    sys.path.insert(0, str(ROOT / "src"))
    due = generate()
    functions = count_functions(due)
    if functions == 0:
        print("the native module has no functions: is it built?", file=sys.stderr)
        return 1
    name = STUB.relative_to(ROOT).as_posix()
    if not check:
        STUB.write_text(due, encoding="utf-8", newline="\n")
        print(f"{name}: wrote {functions} functions")
        return 0
    found = STUB.read_text(encoding="utf-8") if STUB.exists() else ""
    if found != due:
        sys.stderr.writelines(difflib.unified_diff(found.splitlines(True), due.splitlines(True), name, "as built"))
        print(f"{name}: out of date. Run `python scripts/stub.py`.", file=sys.stderr)
        return 1
    print(f"{name}: {functions} functions, up to date")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
