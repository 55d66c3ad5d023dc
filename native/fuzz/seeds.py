"""Where the seeds of a fuzz target lie, and how they are written there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_seeds(part: str, seeds: Mapping[str, bytes]) -> None:
    """Writes each seed under its name into the corpus of a target."""
    folder = Path(__file__).resolve().parent / "corpus" / part
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (folder / name).write_bytes(content)
    print(f"{len(seeds)} seeds in {folder}")
