"""A name is public exactly when its room's `__init__` lists it in `__all__`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import wellfed

ROOMS = [f"wellfed.{room.name}" for room in pkgutil.iter_modules(wellfed.__path__) if room.ispkg]


def test_there_are_rooms():
    assert len(ROOMS) >= 8


@pytest.mark.parametrize("room", ROOMS)
def test_all_lists_exactly_the_public_names(room):
    module = importlib.import_module(room)
    found = {name for name in dir(module) if not name.startswith("_") and not inspect.ismodule(getattr(module, name))}
    found -= {"annotations"}  # `from __future__ import annotations` leaves it.

    assert found  # An empty room would pass the next line.
    assert set(module.__all__) == found


def test_the_root_resolves_every_name_it_lists():
    assert len(wellfed.__all__) > 20
    assert not [name for name in wellfed.__all__ if getattr(wellfed, name, None) is None]


def test_the_root_lists_every_room_that_is_a_library():
    for_others = {"adapters", "cli", "compat", "summary", "testing", "viewer"}

    assert {room.rpartition(".")[2] for room in ROOMS} - for_others <= set(wellfed.__all__)


def test_the_map_of_the_code_shows_every_room():
    modules = [found.name for found in pkgutil.iter_modules(wellfed.__path__) if not found.name.startswith("_")]
    architecture = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")

    assert modules
    assert [name for name in modules if f"| `{name}` |" not in architecture] == []


def test_an_unknown_name_is_an_error_that_says_so():
    with pytest.raises(AttributeError, match="module 'wellfed' has no attribute 'TFRecordReeder'"):
        wellfed.TFRecordReeder  # noqa: B018 -- looking it up is the act.
