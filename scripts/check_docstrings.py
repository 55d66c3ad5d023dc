"""Holds every public name to a docstring, and every "Raises" to errors that exist.

A name is public where its room's `__all__` lists it. A public class's own public methods and properties count too.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import wellfed
from wellfed import errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_RAISES = re.compile(r"^Raises:\n((?:[ \t]+.*\n?|\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"^(\w[\w.]*(?:, \w[\w.]*)*):", re.MULTILINE)


def rooms() -> list[ModuleType]:
    """Imports the root and every room: the packages and modules right below it that do not begin with `_`."""
    names = [f"wellfed.{found.name}" for found in pkgutil.iter_modules(wellfed.__path__) if found.name[0] != "_"]
    return [wellfed, *map(importlib.import_module, sorted(names))]


def public_objects(room: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yields the qualified name and the object of each function and class that the room makes public."""
    own = [name for name, value in vars(room).items() if getattr(value, "__module__", None) == room.__name__]
    for name in getattr(room, "__all__", own):
        value = getattr(room, name)
        if name.startswith("_") or not (inspect.isclass(value) or inspect.isroutine(value)):
            continue  # A constant carries no docstring; its comment explains it.
        yield f"{room.__name__}.{name}", value
        if inspect.isclass(value):
            yield from methods(f"{room.__name__}.{name}", value)


def methods(owner: str, cls: type) -> Iterator[tuple[str, Any]]:
    """Yields the qualified name and the object of each public method and property that the class itself defines."""
    for name, value in vars(cls).items():
        is_code = inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod)
        if is_code and not name.startswith("_"):
            yield f"{owner}.{name}", value


def raised(docstring: str) -> list[str]:
    """Returns the names that the docstring's "Raises" section lists."""
    section = _RAISES.search(inspect.cleandoc(docstring))
    entries = _ENTRY.findall(textwrap.dedent(section[1])) if section else []
    return [name for entry in entries for name in entry.split(", ")]


def faults(name: str, value: Any) -> Iterator[str]:
    """Yields one sentence for each thing that the object's docstring lacks."""
    docstring = value.__doc__ or ""
    made_by_dataclass = docstring.startswith(f"{name.rpartition('.')[2]}(")
    if not docstring.strip() or made_by_dataclass:
        yield f"{name}: no docstring"
    for error in raised(docstring):
        found = getattr(errors, error, getattr(builtins, error, None))
        if not (inspect.isclass(found) and issubclass(found, BaseException)):
            yield f"{name}: raises {error}, which is neither in wellfed.errors nor built in"


def main() -> int:
    """Checks every public name; returns 1 where one has a fault, or where there is none."""
    checked = {name: value for room in rooms() for name, value in public_objects(room)}
    raises = sum(len(raised(value.__doc__ or "")) for value in checked.values())
    found = [fault for name, value in checked.items() for fault in faults(name, value)]
    print(f"docstrings: {len(checked)} public names, {raises} entries under Raises, {len(found)} faults")
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
