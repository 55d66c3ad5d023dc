"""The two kinds of folder do the same."""

import pytest

from wellfed.datasets.folder import open_folder


@pytest.fixture(params=["local", "memory"])
def folder(request, tmp_path):
    return open_folder(tmp_path / "d" if request.param == "local" else f"memory://{tmp_path.name}/{request.node.name}")


def test_what_is_written_is_read(folder):
    folder.write("a/b", b"first")
    folder.write("a/b", b"second")

    assert folder.read("a/b") == b"second"
    assert folder.size("a/b") == 6
    assert folder.names("a") == ["b"]
    assert folder.names() == ["a"]


def test_what_is_not_there_is_none(folder):
    assert folder.read("a") is None
    assert folder.size("a") is None
    assert folder.names() == []


def test_a_moved_file_takes_the_place_of_another(folder):
    folder.write("a", b"new")
    folder.write("x/b", b"old")
    folder.move("a", "x/b")

    assert folder.read("x/b") == b"new"
    assert folder.read("a") is None


def test_a_file_of_this_machine_is_moved_there(folder, tmp_path):
    local = tmp_path / "local"
    local.write_bytes(b"content")
    folder.put(str(local), "x/c")

    assert folder.read("x/c") == b"content"
    assert not local.exists()


def test_removing_takes_a_folder_with_all_it_holds(folder):
    folder.write("a/b/c", b"1")
    folder.write("a/d", b"2")
    folder.remove("a")
    folder.remove("a")

    assert folder.read("a/b/c") is None
    assert folder.names("a") == []


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    folder = open_folder(tmp_path)
    folder.write("a", b"old")

    with pytest.raises(TypeError, match="bytes-like"):
        folder.write("a", "no bytes")

    assert folder.read("a") == b"old"
    assert folder.names() == ["a"]
