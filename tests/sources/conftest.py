from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Files that other people's software wrote; their provenance is in its MANIFEST.tsv."""
    return TESTS / "data" / "corpus"


@pytest.fixture(scope="session")
def digits() -> Path:
    """The folder that holds MNIST's 10,000 test digits as idx files, gzipped."""
    return TESTS.parent / "examples" / "data"


@pytest.fixture
def make_files(tmp_path):
    """Writes files from a mapping of path to content, and gives the folder."""

    def make(files: dict[str, bytes | str]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path

    return make
