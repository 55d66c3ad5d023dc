"""The files that the checks look at: what is committed, and what is about to be."""

from __future__ import annotations

import subprocess
from pathlib import Path


def files(*patterns: str) -> list[Path]:
    """Returns the files that match, relative to the folder it is called in; deleted ones are left out."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", *patterns]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    return [path for path in map(Path, listed.stdout.splitlines()) if path.exists()]
