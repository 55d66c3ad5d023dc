"""Sources and mapped files."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import fsspec
import numpy as np
import pytest

from wellfed.errors import FileChangedError, MissingExtraError
from wellfed.io import MappedFile
from wellfed.io.access import open_source
from wellfed.io.files import LocalFile

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "x"
    file.write_bytes(CONTENT)
    return file


def read(source, offset: int, count: int) -> bytes:
    buffer = bytearray(count)
    return bytes(buffer[: source.read_into(offset, memoryview(buffer))])


@pytest.fixture(params=["local", "without preadv", "memory"])
def source(request, path, monkeypatch):
    if request.param == "memory":
        fsspec.filesystem("memory").pipe_file("/files/x", CONTENT)
        return open_source("memory://files/x")
    if request.param == "without preadv":
        monkeypatch.delattr(os, "preadv", raising=False)
    return open_source(path)


# --- ByteSource -----------------------------------------------------------------------------------


def test_a_source_reads_any_range(source):
    assert source.size == len(CONTENT)
    for offset, count in ((0, 10), (5000, 300), (len(CONTENT) - 4, 4), (7, 0)):
        assert read(source, offset, count) == CONTENT[offset : offset + count]
    source.close()
    source.close()


def test_a_source_gives_fewer_bytes_only_at_the_end(source):
    assert read(source, len(CONTENT) - 4, 100) == CONTENT[-4:]
    assert read(source, len(CONTENT), 100) == b""
    assert read(source, len(CONTENT) + 50, 100) == b""


def test_threads_share_a_source(source):
    wrong = []

    def check(start: int) -> None:
        offsets = range(start, len(CONTENT) - 50, 331)
        wrong.extend(at for at in offsets if read(source, at, 50) != CONTENT[at : at + 50])

    threads = [threading.Thread(target=check, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


def test_a_source_that_nobody_closes_is_closed_with_its_last_owner(path):
    source = LocalFile(path)
    descriptor = source.descriptor
    del source
    gc.collect()

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_short_reads_of_the_system_are_not_the_end(path, monkeypatch):
    real = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, offset: real(fd, [buffers[0][:7]], offset))

    assert read(LocalFile(path), 100, 50) == CONTENT[100:150]


def test_a_url_that_is_not_there_is_an_error():
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_source("memory://nowhere/x")


PROTOCOLS = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "https": "aiohttp",
    "hdfs": "hdfs-native",
    "viewfs": "hdfs-native",
}


@pytest.mark.parametrize(("protocol", "package"), PROTOCOLS.items(), ids=PROTOCOLS)
def test_a_protocol_without_its_package_says_what_to_install(monkeypatch, protocol, package):
    modules = [package.replace("-", "_"), "pyarrow"]
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    # Found without their package.
    parts = [name for name in sys.modules if name.startswith(tuple(f"{module}." for module in modules))]
    for module in ("fsspec.implementations.http", "fsspec.implementations.arrow", *parts):
        monkeypatch.delitem(sys.modules, module, raising=False)
    # As where nobody has used it yet.
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, protocol, raising=False)

    with pytest.raises(MissingExtraError, match=rf'{protocol}:// needs {package}: pip install "wellfed\[{package}\]"'):
        open_source(f"{protocol}://bucket/x")


def test_pyarrow_without_hadoop_says_what_to_install(monkeypatch):
    class WithoutJava:
        """Fails as pyarrow's does where there is no Java, or none of Hadoop's libraries."""

        def __init__(self, *_, **__):
            raise OSError("Unable to load libjvm\ndlopen(/usr/lib/jvm/default-java/libjvm.so) failed")

    monkeypatch.setattr("pyarrow.fs.HadoopFileSystem", WithoutJava)
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "hdfs", raising=False)

    with pytest.raises(MissingExtraError, match=r'hdfs:// needs hdfs-native: pip install "wellfed\[hdfs-native\]"'):
        open_source("hdfs://bucket/x")


def test_file_urls_are_paths_of_this_machine(path):
    assert isinstance(open_source(f"file://{path}"), LocalFile)
    assert MappedFile(f"file://{path}").size == len(CONTENT)


# --- MappedFile -----------------------------------------------------------------------------------


def test_a_mapped_file_is_one_read_only_array(path):
    mapped = MappedFile(path)

    assert (mapped.data.dtype, mapped.data.shape, mapped.size) == (np.uint8, (len(CONTENT),), len(CONTENT))
    assert mapped.data.tobytes() == CONTENT
    assert not mapped.data.flags.writeable
    assert mapped.path == str(path)


def test_an_empty_file_can_be_mapped(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    mapped = MappedFile(tmp_path / "empty")

    assert (mapped.size, mapped.data.shape) == (0, (0,))
    mapped.check_unchanged()


def test_views_keep_the_mapping_alive(path):
    view = MappedFile(path).data[100:][::2]
    gc.collect()
    path.unlink()

    assert view[:10].tolist() == list(CONTENT[100:120:2])


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks into /proc")
def test_a_mapped_file_holds_nodescriptor(path):
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    mapped = [MappedFile(path) for _ in range(50)]

    assert descriptors() == before
    assert len(mapped) == 50


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")
def test_a_mapping_ends_with_its_last_view(path):
    def mapped_here() -> bool:
        return str(path) in Path("/proc/self/maps").read_text()

    view = MappedFile(path).data[5:]
    assert mapped_here()
    del view
    gc.collect()
    assert not mapped_here()


def test_a_mapped_file_pickles_by_its_name(path):
    again = pickle.loads(pickle.dumps(MappedFile(path)))

    assert again.data.tobytes() == CONTENT


def test_an_unchanged_file_is_unchanged(path):
    MappedFile(path).check_unchanged()


def test_a_file_that_has_grown_is_unchanged(path):
    mapped = MappedFile(path)
    with path.open("ab") as file:
        file.write(b"more")

    mapped.check_unchanged()


def cut(path):
    os.truncate(path, 100)


def replace(path):
    (path.parent / "new").write_bytes(CONTENT)
    (path.parent / "new").replace(path)


def overwrite(path):
    path.write_bytes(CONTENT)
    os.utime(path, (1, 1))


CHANGES = {
    "cut": (cut, "the file was cut from 10240 to 100 bytes while it was read"),
    "replaced": (replace, "another file took its place while it was read"),
    "overwritten": (overwrite, "the file was written to while it was read"),
    "removed": (os.unlink, "the file was removed while it was read"),
}


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
def test_a_changed_file_says_how(path, change, reason):
    mapped = MappedFile(path)
    change(path)

    with pytest.raises(FileChangedError, match=reason) as caught:
        mapped.check_unchanged()
    assert caught.value.path == str(path)


def test_the_lost_pages_of_a_cut_file_are_zeros_and_the_process_lives(tmp_path):
    program = (
        "import os, sys, numpy as np; from wellfed.io import MappedFile\n"
        "open(sys.argv[1], 'wb').write(b'x' * 100000)\n"
        "mapped = MappedFile(sys.argv[1]); os.truncate(sys.argv[1], 5000)\n"
        "print(int(mapped.data[:4096].sum()), int(mapped.data[8192:].sum()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "x")], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == [str(4096 * ord("x")), "0"]


def test_a_file_that_was_cut_and_has_grown_again_is_noticed(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"x" * 100_000)
    mapped = MappedFile(path)
    os.truncate(path, 100)
    assert not mapped.data[50_000:].any()
    path.write_bytes(b"x" * 200_000)

    with pytest.raises(FileChangedError, match="was cut while it was read, and has grown again"):
        mapped.check_unchanged()


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no page tables that a program may fill or empty")
def test_pages_of_a_file_that_was_cut_may_be_asked_for(path):
    mapped = MappedFile(path)
    os.truncate(path, 100)
    mapped.ask_for(8192, mapped.size)

    with pytest.raises(FileChangedError, match=r"was cut from 10240 to 100 bytes"):
        mapped.check_unchanged()


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux lists a process's mappings")
@pytest.mark.parametrize("size", [1 << 20, 64 << 20])
def test_a_mapping_ends_with_its_last_array(path, size):
    os.truncate(path, size)
    mapped = MappedFile(path)
    assert str(path) in Path("/proc/self/maps").read_text()
    mapped.ask_for(0, size)
    del mapped

    deadline = time.monotonic() + 10  # A large one is ended by a thread.
    while str(path) in Path("/proc/self/maps").read_text():
        assert time.monotonic() < deadline, "the file is still mapped"


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no page tables that a program may fill or empty")
def test_pages_that_were_let_go_come_back(path):
    mapped = MappedFile(path)
    mapped.ask_for(0, mapped.size)
    mapped.let_go(0, mapped.size)

    assert mapped.data.tobytes() == CONTENT


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no page tables that a program may fill or empty")
@pytest.mark.parametrize("change", [MappedFile.ask_for, MappedFile.let_go])
def test_pages_behind_the_end_are_refused(path, change):
    mapped = MappedFile(path)

    with pytest.raises(IndexError, match="start <= stop <= size"):
        change(mapped, 0, mapped.size + 1)


def flags(path):
    """The kernel's flags of the mapping of a file."""
    found, inside = "", False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        inside = line.endswith(str(path)) or (inside and line.split()[0].endswith(":"))
        if inside and line.startswith("VmFlags:"):
            found = line
    return set(found.split()[1:])


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells a mapping's flags")
@pytest.mark.parametrize(
    ("says", "flag"), [(MappedFile.read_whole, "hg"), (MappedFile.read_at_random, "rr")], ids=["whole", "at random"]
)
def test_how_a_file_is_going_to_be_read_is_said_to_the_system(path, says, flag):
    mapped = MappedFile(path)
    assert flag not in flags(path)
    says(mapped)

    assert flag in flags(path)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells a mapping's flags")
def test_a_file_that_is_read_at_random_is_not_read_whole_any_more(path):
    mapped = MappedFile(path)
    mapped.read_whole()
    mapped.read_at_random()

    assert "hg" not in flags(path)
    assert mapped.data.tobytes() == CONTENT
