"""Files that other software wrote, and damaged variants of them, against what is known about each."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from wellfed.errors import CompressionError, CorruptRecordError, NotTFRecordError, RecordError, TruncatedRecordError
from wellfed.io import RecordIndex, Records, TFRecordReader, salvage
from wellfed.summary import files as summary

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
EXPECTED = json.loads((CORPUS / "EXPECTED.json").read_text())["files"]
HERE = {name: facts for name, facts in EXPECTED.items() if (CORPUS / name).exists()}
COMPRESSION = {"NONE": "", "empty_file": "", "GZIP": "GZIP", "ZLIB": "ZLIB"}

# TensorFlow is silent about these, or reads less than there is; see the specification, section 14.
SILENT_IN_TENSORFLOW = {
    "derived/trunc_at_001.tfrecord": (TruncatedRecordError, 0, 0, "a header of 12 bytes is due, only 1 left"),
    "derived/trunc_at_007.tfrecord": (TruncatedRecordError, 0, 0, "a header of 12 bytes is due, only 7 left"),
    "derived/trunc_at_008.tfrecord": (TruncatedRecordError, 0, 0, "a header of 12 bytes is due, only 8 left"),
    "derived/trunc_rec2_in_length.tfrecord": (TruncatedRecordError, 2, 255, "12 bytes is due, only 5 left"),
    "derived/trunc_rec2_in_length_crc.tfrecord": (TruncatedRecordError, 2, 255, "12 bytes is due, only 10 left"),
    "derived/gz_trunc_no_trailer.tfrecord.gz": (CompressionError, 4, None, "cut at byte 324 of the file, in its tra"),
    "derived/gz_trunc_in_trailer.tfrecord.gz": (CompressionError, 4, None, "cut at byte 329 of the file, in its tra"),
}
LOUD = {
    "derived/trunc_at_012.tfrecord": (TruncatedRecordError, 0, 0, "a record of 124 bytes is due, only 12 left"),
    "derived/trunc_at_013.tfrecord": (TruncatedRecordError, 0, 0, "a record of 124 bytes is due, only 13 left"),
    "derived/trunc_rec2_no_payload.tfrecord": (TruncatedRecordError, 2, 255, "of 134 bytes is due, only 12 left"),
    "derived/trunc_rec2_in_payload.tfrecord": (TruncatedRecordError, 2, 255, "of 134 bytes is due, only 71 left"),
    "derived/trunc_rec2_in_footer.tfrecord": (TruncatedRecordError, 2, 255, "of 134 bytes is due, only 132 left"),
    "derived/flip_rec0_payload.tfrecord": (CorruptRecordError, 0, 0, "payload CRC32C is 0x2c2db112, stored 0x5d34"),
    "derived/flip_rec2_length.tfrecord": (CorruptRecordError, 2, 255, "length CRC32C is 0xc3a6b4e6, stored 0x7df04"),
    "derived/flip_rec2_payload.tfrecord": (CorruptRecordError, 2, 255, "payload CRC32C is 0x00b1dd7e, stored 0xe7"),
    "derived/flip_rec2_payload_crc.tfrecord": (CorruptRecordError, 2, 255, "payload CRC32C is 0xe7c984fd, stored"),
    "derived/tail_16_zeros.tfrecord": (CorruptRecordError, 4, 523, r"stored 0x00000000 \(all bytes are 0\)"),
    "derived/tail_garbage.tfrecord": (CorruptRecordError, 4, 523, "length CRC32C is 0xe4c3b4ee, stored 0x6f662074"),
    "derived/hugelen_max.tfrecord": (TruncatedRecordError, 4, 523, "of 18446744073709551631 bytes is due, only 15"),
    "derived/no_crc_zeroed.tfrecord": (CorruptRecordError, 0, 0, "its writer left out the sums"),
    "derived/unmasked_crc.tfrecord": (CorruptRecordError, 0, 0, "its writer left out the mask"),
    "derived/gz_bad_crc.tfrecord.gz": (CompressionError, 4, None, "CRC-32 is 0xdaf9b795, stored 0xdaf8b795"),
    "derived/gz_flip_middle.tfrecord.gz": (CorruptRecordError, 5, 12031, "payload CRC32C"),
    "derived/gz_of_flip_payload.tfrecord.gz": (CorruptRecordError, 2, 255, "payload CRC32C"),
    "derived/gz_of_truncated.tfrecord.gz": (TruncatedRecordError, 2, 255, "of 134 bytes is due, only 71 left"),
    "derived/gz_trailing_garbage.tfrecord.gz": (CompressionError, 4, None, "8 bytes from byte 332 of the file on are"),
    "derived/gz_trunc_half.tfrecord.gz": (TruncatedRecordError, 5, 12031, "GZIP stream is cut at byte 3075"),
    "derived/zlib_trunc_half.tfrecord": (TruncatedRecordError, 5, 12031, "ZLIB stream is cut at byte 3092"),
    "derived/zlib_bad_adler.tfrecord": (CompressionError, 4, None, "Adler-32 is 0x58d67b1a, stored 0x58d67b1b"),
    "files/google__grain/alphabet.bag-00000-of-00002": (CorruptRecordError, 0, 0, "length CRC32C"),
    "files/google__grain/digits.array_record-00000-of-00002": (NotTFRecordError, 0, None, "an ArrayRecord"),
}
DAMAGED = SILENT_IN_TENSORFLOW | LOUD
SOUND = set(HERE) - set(DAMAGED)

# Records that are found when damage is skipped, and the ranges that are left out.
RECOVERED = {
    "derived/flip_rec0_payload.tfrecord": (3, [(0, 124)]),
    "derived/flip_rec2_length.tfrecord": (3, [(255, 389)]),
    "derived/flip_rec2_payload.tfrecord": (3, [(255, 389)]),
    "derived/flip_rec2_payload_crc.tfrecord": (3, [(255, 389)]),
    "derived/gz_of_flip_payload.tfrecord.gz": (3, [(255, 389)]),
    "derived/gz_flip_middle.tfrecord.gz": (7, [(12031, 14913), (14913, 17290), (22229, 25056), (25056, 25056)]),
    "derived/tail_16_zeros.tfrecord": (4, [(523, 539)]),
    "derived/tail_garbage.tfrecord": (4, [(523, 545)]),
    "derived/hugelen_max.tfrecord": (4, [(523, 538)]),
    "derived/trunc_rec2_in_payload.tfrecord": (2, [(255, 326)]),
    "derived/gz_bad_crc.tfrecord.gz": (4, [(523, 523)]),
    "derived/gz_trailing_garbage.tfrecord.gz": (4, [(523, 523)]),
    "derived/gz_trunc_no_trailer.tfrecord.gz": (4, [(523, 523)]),
    "derived/gz_trunc_half.tfrecord.gz": (5, [(12031, 13948), (13948, 13948)]),
    "derived/zlib_bad_adler.tfrecord": (4, [(523, 523)]),
    "derived/no_crc_zeroed.tfrecord": (0, [(0, 523)]),
}


def sha256(records) -> str:
    digest = hashlib.sha256()
    for record in records:
        digest.update(record)
    return digest.hexdigest()


@pytest.fixture
def copy(tmp_path):
    """Copies a file of the corpus to where an index may be written beside it."""

    def copied(name: str) -> Path:
        path = tmp_path / Path(name).name
        path.write_bytes((CORPUS / name).read_bytes())
        return path

    return copied


def test_the_corpus_is_here():
    assert len(HERE) > 100
    assert set(DAMAGED) <= set(HERE)
    assert all(HERE[name]["tf_error"] is None for name in SOUND)


@pytest.mark.parametrize("name", sorted(SOUND))
def test_a_sound_file_gives_the_records_that_tensorflow_reads(name):
    facts = HERE[name]

    records = list(TFRecordReader(CORPUS / name))

    assert len(records) == facts["records"]
    assert sum(map(len, records)) == facts["payload_bytes"]
    if records:
        assert sha256(records) == facts["payload_sha256"]


@pytest.mark.parametrize("name", sorted(SOUND))
def test_a_sound_file_is_the_same_by_every_way_of_reading_it(name, copy):
    path, facts = copy(name), HERE[name]
    expected = list(TFRecordReader(path))

    assert [record for batch in TFRecordReader(path).read_batches(7) for record in batch] == expected
    assert list(TFRecordReader(path, COMPRESSION[facts["compression"]])) == expected
    records = Records(path)
    assert len(records) == facts["records"]
    assert records[:].to_list() == expected
    assert records[::-3].to_list() == expected[::-3]
    report = summary.verify_file(path)
    assert (report.ok, report.records, report.compression) == (True, len(expected), COMPRESSION[facts["compression"]])


@pytest.mark.parametrize("name", sorted(DAMAGED))
def test_a_damaged_file_gives_its_intact_records_and_then_the_error(name):
    kind, count, offset, reason = DAMAGED[name]
    found = []

    def read():
        for record in TFRecordReader(CORPUS / name):
            found.append(record)  # noqa: PERF402 -- what came before the error counts.

    with pytest.raises(kind, match=reason) as caught:
        read()

    assert len(found) == count
    if isinstance(caught.value, RecordError):
        assert (caught.value.record_index, caught.value.offset) == (count, offset)
    assert caught.value.path == str(CORPUS / name)
    assert HERE[name]["records"] in (count, 0)
    if count and HERE[name]["records"]:
        assert sha256(found) == HERE[name]["payload_sha256"]


@pytest.mark.parametrize("name", sorted(RECOVERED))
def test_skipping_goes_on_in_the_same_file(name, copy, tmp_path):
    count, regions = RECOVERED[name]
    path = copy(name)
    reader = TFRecordReader(path, on_damage="skip")

    records = list(reader)

    assert len(records) == count
    assert [(damage.start, damage.end) for damage in reader.damage] == regions
    assert Records(path, on_damage="skip")[:].to_list() == records
    saved = salvage(path, tmp_path / "clean")
    assert (saved.records, saved.damage) == (count, tuple(reader.damage))
    assert list(TFRecordReader(tmp_path / "clean")) == records


@pytest.mark.parametrize("name", sorted(n for n in SOUND if HERE[n]["compression"] in ("GZIP", "ZLIB")))
def test_the_wrong_compression_is_refused_by_what_the_content_is(name):
    right = HERE[name]["compression"]
    for wrong in {"", "GZIP", "ZLIB"} - {right}:
        with pytest.raises(CompressionError, match=f"the content is {right}; leave compression_type out"):
            list(TFRecordReader(CORPUS / name, wrong))


@pytest.mark.parametrize("wrong", ["GZIP", "ZLIB"])
def test_a_plain_file_read_as_compressed_is_refused(wrong):
    with pytest.raises(CompressionError, match="the content is plain TFRecord"):
        list(TFRecordReader(CORPUS / "files/pytorch__data/example.tfrecord", wrong))


def test_an_array_record_read_as_gzip_is_named():
    with pytest.raises(CompressionError, match="the content is an ArrayRecord"):
        list(TFRecordReader(CORPUS / "files/google__grain/digits.array_record-00000-of-00002", "GZIP"))


@pytest.mark.parametrize("name", sorted(n for n in SOUND if HERE[n].get("gzip_members")))
def test_the_index_knows_every_gzip_member(name, copy):
    index = RecordIndex.build(copy(name))

    assert len(index.members) == HERE[name]["gzip_members"]["members"]
