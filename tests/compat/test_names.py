"""The page of all names lists exactly those that there are, and each name has what it promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wellfed.compat as tf

PAGE = (Path(__file__).parents[2] / "docs/compat.md").read_text()
LISTED = re.findall(r"`tf\.([\w.]+)`", PAGE.partition("## Every name")[2])
SPACES = [
    *("app", "compat", "data", "data.experimental", "dtypes", "errors", "flags", "gfile", "image", "io", "logging"),
    *("math", "python_io", "queue", "random", "sparse", "strings", "train"),
]


def find(path):
    found = tf
    for part in path.split("."):
        found = getattr(found, part)
    return found


def own(space):
    """A space's names: those it lists, or those that are defined in it."""
    module = find(space)
    names = getattr(module, "__all__", None)
    if names is None:
        made = [n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__]
        kinds = [n for n, v in vars(module).items() if isinstance(v, tf.DType)] if space == "dtypes" else []
        names = [name for name in made + kinds if name[0] != "_"]
    return {f"{space}.{name}" for name in names} - {"data.experimental"}


def test_the_page_lists_every_name_once():
    there = set(tf.__all__).union(*map(own, SPACES)) | {"compat.v1", "compat.v2"}

    assert len(LISTED) > 300
    assert set(LISTED) == there
    assert len(set(LISTED)) == len(LISTED)


@pytest.mark.parametrize("name", LISTED)
def test_a_listed_name_is_there(name):
    assert find(name) is not None or name == "newaxis"


def test_every_function_and_class_says_what_it_does():
    silent = [
        name
        for name in LISTED
        if callable(find(name))
        and getattr(find(name), "__module__", "").startswith("wellfed")
        and not find(name).__doc__
    ]

    assert silent == []
