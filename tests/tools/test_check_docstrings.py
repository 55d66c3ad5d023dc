"""The docstring gate sees missing docstrings and errors that do not exist."""

from __future__ import annotations

import dataclasses

import pytest

import check_docstrings

RAISES = """Reads.

Raises:
  CorruptRecordError: The sum does not hold,
    record: this line goes on.
  ValueError, TypeError: The option is
    unknown.

Source: nowhere.
"""


@dataclasses.dataclass
class Bare:
    size: int


class Documented:
    """A class."""

    def silent(self):
        pass


def test_the_raises_section_gives_every_name_and_no_other():
    assert check_docstrings.raised(RAISES) == ["CorruptRecordError", "ValueError", "TypeError"]


def test_a_docstring_without_the_section_raises_nothing():
    assert check_docstrings.raised("Reads.\n\nReturns:\n  Bytes: all of them.\n") == []


@pytest.mark.parametrize("error", ["BadRecordError", "len", "annotations"])
def test_an_error_that_does_not_exist_is_a_fault(error):
    Documented.silent.__doc__ = f"Reads.\n\nRaises:\n  {error}: Always.\n"

    assert list(check_docstrings.faults("m.Documented.silent", Documented.silent)) == [
        f"m.Documented.silent: raises {error}, which is neither in wellfed.errors nor built in"
    ]


def test_the_signature_that_dataclass_writes_is_no_docstring():
    assert list(check_docstrings.faults("m.Bare", Bare)) == ["m.Bare: no docstring"]


def test_methods_of_a_public_class_count():
    assert [name for name, _ in check_docstrings.methods("m.Documented", Documented)] == ["m.Documented.silent"]
