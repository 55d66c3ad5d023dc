"""The size gate sees what is too long, and counts as CONTRIBUTING.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

import check_sizes


def function(lines, docstring_lines=0):
    docstring = ['    """' + "x\n" * (docstring_lines - 1) + '    """'] if docstring_lines else []
    return "\n".join(["def work():", *docstring, *["    pass"] * (lines - 1)]) + "\n"


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("src/wellfed/io/reader.py", 400),
        ("native/framing.cc", 500),
        ("native/bindings/io.cc", 500),
        ("tests/io/test_reader.py", 600),
        ("native/tests/framing_test.cc", 600),
    ],
)
def test_each_kind_of_file_has_its_limit(path, limit):
    assert list(check_sizes.faults(Path(path), "\n" * limit)) == []
    assert f"{limit + 1} lines, {limit} at most" in next(check_sizes.faults(Path(path), "\n" * (limit + 1)))


def test_a_function_of_41_lines_is_too_long():
    assert list(check_sizes.faults(Path("a.py"), function(40))) == []
    assert list(check_sizes.faults(Path("a.py"), function(41))) == ["a.py:1: work has 41 lines, 40 at most"]


def test_a_docstring_does_not_count_towards_its_function():
    assert list(check_sizes.faults(Path("a.py"), function(40, docstring_lines=30))) == []


def test_a_native_function_is_measured_from_its_head_to_its_closing_brace():
    text = "namespace wellfed {\n\nuint64_t Work(int a,\n              int b) {\n" + "  Step();\n" * 40 + "}\n\n}\n"

    assert list(check_sizes.native_functions(text)) == [("Work", 3, 43)]


def test_a_native_class_is_not_taken_for_a_function():
    assert list(check_sizes.native_functions("struct Row {\n" + "  int a;\n" * 60 + "};\n")) == []


def test_a_native_class_template_is_not_taken_for_a_function():
    assert list(check_sizes.native_functions("template <typename T>\nclass Row {\n" + "  int a;\n" * 60 + "};\n")) == []
