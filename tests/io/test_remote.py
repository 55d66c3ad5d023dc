"""Files behind URLs, through fsspec."""

from __future__ import annotations

import gzip
import pickle

import fsspec
import pytest
from record_files import frames, starts

from wellfed.errors import CompressionError, CorruptRecordError
from wellfed.io import RecordIndex, Records, TFRecordReader, TFRecordWriter, salvage
from wellfed.summary import files as summary

PAYLOADS = [b"%d" % i * (i % 9) for i in range(200)]


@pytest.fixture(autouse=True)
def _cache_of_ones_own(tmp_path, monkeypatch):
    """An index that another test kept in the user's cache would be found here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture
def url(memory):
    def put(content: bytes, name: str = "x") -> str:
        memory.pipe_file(f"/remote/{name}", content)
        return f"memory://remote/{name}"

    return put


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "GZIP"])
def test_a_remote_file_is_read_as_a_local_one(url, compress):
    name = url(compress(frames(PAYLOADS)))

    assert list(TFRecordReader(name)) == PAYLOADS
    assert Records(name)[:].to_list() == PAYLOADS
    assert [Records(name)[i] for i in (0, 5, -1)] == [PAYLOADS[i] for i in (0, 5, -1)]
    report = summary.verify_file(name)
    assert (report.records, report.ok, report.bytes) == (200, True, len(compress(frames(PAYLOADS))))


def test_a_remote_index_is_published_beside_its_file(url, memory, monkeypatch):
    name = url(frames(PAYLOADS))
    RecordIndex.for_file(name)

    assert memory.exists("/remote/.wellfed/x.index")
    monkeypatch.setattr(RecordIndex, "build", None)
    index = RecordIndex.for_file(name)
    assert index.offsets.tolist() == starts(PAYLOADS)
    assert len(pickle.loads(pickle.dumps(index))) == 200


def test_where_nothing_can_be_published_the_users_cache_is_used(url, monkeypatch):
    name = url(frames(PAYLOADS))
    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.pipe_file", _read_only)

    assert len(RecordIndex.for_file(name)) == 200
    monkeypatch.setattr(RecordIndex, "build", None)
    assert len(RecordIndex.for_file(name)) == 200


def _read_only(self, path, value, **options):
    raise NotImplementedError


def test_a_damaged_remote_record_is_named(url):
    content = bytearray(frames(PAYLOADS))
    content[starts(PAYLOADS)[17] + 13] ^= 1
    name = url(bytes(content))

    with pytest.raises(CorruptRecordError, match=r"memory://remote/x: record 17 at byte \d+: payload CRC32C"):
        Records(name)[17]
    assert len(Records(name, on_damage="skip")) == 199
    assert salvage(name, url(b"", "clean"), overwrite=True).records == 199
    assert list(TFRecordReader("memory://remote/clean")) == PAYLOADS[:17] + PAYLOADS[18:]


@pytest.mark.parametrize(("kind", "seekable"), [("", False), ("GZIP", False), ("GZIP", True)])
def test_a_remote_file_is_written(memory, kind, seekable):
    with TFRecordWriter("memory://remote/new", kind, seekable=seekable, index=True) as writer:
        writer.write_many(PAYLOADS)

    assert list(TFRecordReader("memory://remote/new")) == PAYLOADS
    assert memory.exists("/remote/.wellfed/new.index")


def test_an_exception_leaves_no_remote_file(memory):
    def fail():
        with TFRecordWriter("memory://remote/new") as writer:
            writer.write(b"a")
            raise KeyError("oops")

    with pytest.raises(KeyError, match="oops"):
        fail()
    assert not memory.exists("/remote/new")


def test_an_existing_remote_file_is_not_overwritten_unless_told(url):
    name = url(b"old")

    with pytest.raises(FileExistsError, match="memory://remote/x exists already"):
        TFRecordWriter(name)
    with TFRecordWriter(name, overwrite=True) as writer:
        writer.write(b"new")
    assert list(TFRecordReader(name)) == [b"new"]


def test_a_remote_file_is_not_added_to(url):
    with pytest.raises(ValueError, match="append=True needs a file on this machine"):
        TFRecordWriter(url(frames(PAYLOADS)), append=True)


def test_the_wrong_compression_of_a_remote_file_is_refused(url):
    with pytest.raises(CompressionError, match="the content is GZIP"):
        list(TFRecordReader(url(gzip.compress(b"")), "ZLIB"))
