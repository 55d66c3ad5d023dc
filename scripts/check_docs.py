"""Runs the Python blocks of the Markdown pages, follows their relative links, and looks for pages that have none.

The blocks of one page run in order, as one program, in an empty folder. A block that is not to be run is marked
`console`, `text` or another language, never `python`. What a page needs but a reader need not see, such as a folder of
pictures, is made by Python code in a comment that begins with `<!-- run`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import tracked

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = re.compile(r"^```python\n(.*?)^```$|^<!-- run\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^```(\w*)\n.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def program(text: str) -> str:
    """Returns the page's Python blocks as one program whose line numbers are the page's."""
    lines = [""] * (text.count("\n") + 1)
    for block in _BLOCK.finditer(text):
        code = block[1] if block[1] is not None else block[2]
        first = text.count("\n", 0, block.start()) + 1
        lines[first : first + code.count("\n")] = code.splitlines()
    return "\n".join(lines) if any(lines) else ""


def anchors(text: str) -> set[str]:
    """Returns the names by which the page's headings can be linked to."""
    headings = _HEADING.findall(_FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: Path, text: str) -> Iterator[str]:
    """Yields one sentence for each relative link that leads nowhere."""
    for link in _LINK.findall(_FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name
        if not target.exists():
            yield f"{path}: links to {link}, which does not exist"
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8") if name else text):
            yield f"{path}: links to {link}, and there is no such heading"


def unlisted(pages: dict[Path, str], index: Path) -> Iterator[str]:
    """Yields one sentence for each page below the index's folder that the index does not link to."""
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(pages.get(index, ""))}
    for path in pages:
        if index.parent in path.parents and path != index and path.resolve() not in linked:
            yield f"{path}: {index} does not link to it"


def run(path: Path, code: str) -> Iterator[str]:
    """Runs a page's program in an empty folder; yields one sentence with its traceback where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / ".page.py"
        script.write_text(code, encoding="utf-8")
        command = [sys.executable, "-W", "error", script.name]
        done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        yield f"{path}: its Python blocks fail:\n{done.stderr.replace(script.name, str(path))}"


def main() -> int:
    """Checks every page; returns 1 where one has a fault, or where nothing was found to check."""
    pages = {path: path.read_text(encoding="utf-8") for path in tracked.files("*.md")}
    programs = {path: code for path, text in pages.items() if (code := program(text))}
    links = sum(len(_LINK.findall(text)) for text in pages.values())
    found = [fault for path, text in pages.items() for fault in broken_links(path, text)]
    found += unlisted(pages, Path("docs/README.md"))
    found += [fault for path, code in programs.items() for fault in run(path, code)]
    print(f"docs: {len(pages)} pages, {links} links, {len(programs)} programs, {len(found)} faults")
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found or not (programs and links) else 0


if __name__ == "__main__":
    sys.exit(main())
