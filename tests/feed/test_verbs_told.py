"""Every verb says what kind of data set it gives, and the page says how each resumes."""

import inspect
import re
from pathlib import Path

import pytest

from wellfed import feed
from wellfed.feed import Dataset

PAGE = (Path(__file__).parents[2] / "docs" / "feed.md").read_text()
TABLE = PAGE[PAGE.index("## Three kinds of data set") : PAGE.index("## The shuffle is exact")]


def gives_data_sets(function):
    hint = function.__annotations__.get("return", "")
    return hint in ("Dataset", "tuple[Dataset, Dataset]")


VERBS = {
    name: function
    for name, function in inspect.getmembers(Dataset, inspect.isfunction)
    if not name.startswith("_") and gives_data_sets(function)
}
SOURCES = {
    name: getattr(feed, name)
    for name in feed.__all__
    if inspect.isfunction(getattr(feed, name)) and gives_data_sets(getattr(feed, name))
}
del SOURCES["open_to_profile"]  # It opens what the others do, for the command line.


def test_there_are_verbs_and_sources_to_look_at():
    assert len(VERBS) > 30
    assert len(SOURCES) > 6


@pytest.mark.parametrize("name", sorted({*VERBS, *SOURCES} - {"with_options"}))
def test_its_docstring_says_the_kind(name):
    text = inspect.getdoc((VERBS | SOURCES)[name])
    first = text.partition("Args:")[0].partition("Raises:")[0]

    assert re.search(r"\b([Aa]ddressable|[Rr]eplayable|[Oo]paque)\b", first), text


@pytest.mark.parametrize("name", sorted({*VERBS, *SOURCES}))
def test_the_page_says_how_it_resumes(name):
    assert re.search(rf"`{name}[`(]", TABLE)
