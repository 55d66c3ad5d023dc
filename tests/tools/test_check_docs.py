"""The docs gate runs the pages' programs and follows their links."""

from __future__ import annotations

from pathlib import Path

import check_docs

PAGE = """# A page

<!-- run
made = 1
-->

```python
x = made + 1
```

Some text.

```console
$ not python
```

```python
assert x == 2
```
"""


def test_a_page_is_one_program_whose_lines_are_the_page_s():
    lines = check_docs.program(PAGE).splitlines()

    assert {i + 1: line for i, line in enumerate(lines) if line} == {
        4: "made = 1",
        8: "x = made + 1",
        18: "assert x == 2",
    }


def test_a_page_without_python_has_no_program():
    assert check_docs.program("# A page\n\n```console\n$ ls\n```\n") == ""


def test_a_page_that_runs_has_no_fault(tmp_path):
    assert list(check_docs.run(tmp_path / "page.md", check_docs.program(PAGE))) == []


def test_a_failing_page_is_named_with_the_line_that_failed(tmp_path):
    faults = list(check_docs.run(tmp_path / "page.md", check_docs.program(PAGE.replace("x == 2", "x == 3"))))

    assert len(faults) == 1
    assert 'page.md", line 18' in faults[0]


def test_a_link_to_a_file_or_heading_that_is_not_there_is_named(tmp_path):
    (tmp_path / "other.md").write_text("# Where it is\n", encoding="utf-8")
    good = "# Top\n\n[a](other.md) [b](other.md#where-it-is) [c](#top) [d](https://example.org/x)\n"
    bad = "[a](gone.md) [b](other.md#nowhere)\n"

    assert list(check_docs.broken_links(tmp_path / "page.md", good)) == []
    assert [fault.rpartition("links to ")[2] for fault in check_docs.broken_links(tmp_path / "page.md", bad)] == [
        "gone.md, which does not exist",
        "other.md#nowhere, and there is no such heading",
    ]


def test_a_page_that_the_index_does_not_link_to_is_named():
    index = Path("docs/README.md")
    pages = {
        index: "[a](a.md) [b](adr/b.md#top) [c](../c.md)",
        **dict.fromkeys(map(Path, ["docs/a.md", "docs/adr/b.md"]), ""),
    }

    assert list(check_docs.unlisted(pages, index)) == []
    assert list(check_docs.unlisted({**pages, Path("docs/adr/d.md"): "", Path("e.md"): ""}, index)) == [
        "docs/adr/d.md: docs/README.md does not link to it"
    ]
