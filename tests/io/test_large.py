"""Records above 2 GiB, in a sparse file that takes no room."""

from __future__ import annotations

import pytest
from record_files import frame

from wellfed import _native
from wellfed.errors import CorruptRecordError, TruncatedRecordError
from wellfed.io import MappedFile, RecordIndex, Records, TFRecordReader
from wellfed.summary.files import verify_file

SIZE = (2 << 30) + 5
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A record of SIZE zeros, then one of five bytes."""
    path = tmp_path_factory.mktemp("large") / "x"
    length = SIZE.to_bytes(8, "little")
    with path.open("wb") as file:
        file.write(length + _native.masked_crc32c(length).to_bytes(4, "little"))
        file.truncate(12 + SIZE)
    payload = MappedFile(path).data[12:]
    with path.open("ab") as file:
        file.write(_native.masked_crc32c(payload).to_bytes(4, "little") + frame(b"after"))
    return path


def test_a_record_above_2_gib_is_found_checked_and_read(large):
    index = RecordIndex.for_file(large)
    assert index.offsets.tolist() == [0, SIZE + 16, SIZE + 16 + 21]

    (batch,) = TFRecordReader(large).read_batches()
    assert batch.sizes.tolist() == [SIZE, 5]
    assert not batch.view(0)[-4:].tobytes().strip(b"\0")
    assert Records(large)[:].sizes.tolist() == [SIZE, 5]
    report = verify_file(large)
    assert (report.ok, report.records, report.payload_bytes) == (True, 2, SIZE + 5)


def test_damage_far_inside_it_costs_it_alone(large):
    with large.open("r+b") as file:
        file.seek(SIZE // 2)
        file.write(b"\1")
    try:
        with pytest.raises(CorruptRecordError, match="record 0 at byte 0: payload CRC32C"):
            list(TFRecordReader(large).read_batches())
        reader = TFRecordReader(large, on_damage="skip")
        assert [batch.to_list() for batch in reader.read_batches()] == [[b"after"]]
        assert [(one.start, one.end) for one in reader.damage] == [(0, SIZE + 16)]
    finally:
        with large.open("r+b") as file:
            file.seek(SIZE // 2)
            file.write(b"\0")


def test_a_cut_inside_it_is_a_truncated_record(large, tmp_path):
    path = tmp_path / "cut"
    with path.open("wb") as file:
        file.write(MappedFile(large).data[:12])
        file.truncate(SIZE)

    with pytest.raises(TruncatedRecordError, match=f"a record of {SIZE + 16} bytes is due, only {SIZE} left"):
        list(TFRecordReader(path).read_batches())
