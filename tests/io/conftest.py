import pytest
from counted_files import CountedFiles


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """The file system that counts its requests, empty; and a user's cache folder that no other test wrote to."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    CountedFiles.reset()
    yield CountedFiles
    CountedFiles.reset()
