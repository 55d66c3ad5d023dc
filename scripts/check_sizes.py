"""Holds files and functions to the sizes agreed in CONTRIBUTING.md.

Python and shell of the product    400 lines a file, 40 a function (its docstring not counted)
native files                       500 lines a file, 40 a function
tests, native ones too             600 lines a file
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

import tracked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_LINES = 400
NATIVE_FILE_LINES = 500
TEST_FILE_LINES = 600
FUNCTION_LINES = 40

# Files that may have up to 600 lines, each with its reason.
LONGER: dict[str, str] = {
    "src/wellfed/errors.py": "one tree in one place, drawn at its top",
    "src/wellfed/compat/__init__.py": "lists every name of TensorFlow's that there is, and holds no logic",
}
LONGER_LINES = 600

# A function at the left margin, as clang-format leaves it: a head with parameters that ends in "{", and a "}" that
# closes it.
_CC_FUNCTION = re.compile(
    r"^(?!namespace|extern|[\s}#/])[^\n;(]*(?:\n[^\n;(]*)?\((?:[^\n;]*\n)*?[^\n;]*\{$", re.MULTILINE
)


def file_limit(path: Path) -> int:
    """Returns how many lines the file may have."""
    if "tests" in path.parts or "fuzz" in path.parts:
        return TEST_FILE_LINES
    if path.as_posix() in LONGER:
        return LONGER_LINES
    return FILE_LINES if path.suffix == ".py" else NATIVE_FILE_LINES


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yields name, first line and number of lines of each function, its docstring not counted."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            yield node.name, node.lineno, lines


def native_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yields head, first line and number of lines of each C++ function that starts at the left margin."""
    for head in _CC_FUNCTION.finditer(text):
        end = text.find("\n}", head.end())
        if end >= 0:
            yield (
                head[0].split("(")[0].split()[-1],
                text.count("\n", 0, head.start()) + 1,
                text.count("\n", head.start(), end) + 2,
            )


def faults(path: Path, text: str) -> Iterator[str]:
    """Yields one sentence for each size that is exceeded."""
    lines, limit = text.count("\n"), file_limit(path)
    if lines > limit:
        yield f"{path}: {lines} lines, {limit} at most; split it, or give its reason in scripts/check_sizes.py"
    if limit == TEST_FILE_LINES and "tests" in path.parts:
        return  # A test's table of cases may be long.
    functions = python_functions(text) if path.suffix == ".py" else native_functions(text)
    for name, line, length in functions:
        if length > FUNCTION_LINES:
            yield f"{path}:{line}: {name} has {length} lines, {FUNCTION_LINES} at most"


def main() -> int:
    """Checks every tracked or new file; returns 1 where one is too long, or where there is none."""
    paths = tracked.files("*.py", "*.cc", "*.h")
    found = [fault for path in paths for fault in faults(path, path.read_text(encoding="utf-8"))]
    print(f"sizes: {len(paths)} files, {len(found)} too long")
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
