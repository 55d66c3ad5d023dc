"""What a file is that somebody opens as TFRecord."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from record_files import frames

from wellfed.errors import NotTFRecordError
from wellfed.io import RecordIndex, Records, TFRecordReader, salvage
from wellfed.io.sniff import sniff
from wellfed.summary import files as summary

CORPUS = Path(__file__).parent.parent / "data" / "corpus"


def picture(kind: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 40)).save(out, kind)
    return out.getvalue()


def archive(kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as whole:
            whole.writestr("a", "b")
    else:
        with tarfile.open(fileobj=out, mode="w") as whole:
            whole.addfile(tarfile.TarInfo("a"))
    return out.getvalue()


def npy() -> bytes:
    out = io.BytesIO()
    np.save(out, np.zeros(9))
    return out.getvalue()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1\nsize 12345\n"
FOUND = {
    "a zip archive": archive("zip"),
    "a tar archive": archive("tar"),
    "a JPEG picture": picture("JPEG"),
    "a PNG picture": picture("PNG"),
    "a GIF picture": picture("GIF"),
    "a WebP picture": picture("WEBP"),
    "a git-lfs pointer": LFS,
    "an HTML page": b"\n<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>",
    "an XML document": b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
    "a Parquet file": b"PAR1\x15\x04\x15\x20" + bytes(60),
    "an MXNet RecordIO file": b"\x0a\x23\xd7\xce\x10" + bytes(60),
    "an ArrayRecord": b"\x83\xafp\xd1\r\x88J?" + bytes(8) + b"\x40" + bytes(60),
    "a NumPy array file": npy(),
    "a Python pickle": pickle.dumps(list(range(100))),
    "bzip2": bz2.compress(bytes(100)),
    "xz": lzma.compress(bytes(100)),
    "Zstandard": b"\x28\xb5\x2f\xfd\x24" + bytes(60),
    "JSON text": json.dumps({"image": "a.png", "label": 3}).encode(),
    "text": b"image,label\na.png,3\nb.png,4\n",
    "an MNIST idx file of images": b"\x00\x00\x08\x03\x00\x00\x27\x10" + bytes(60),
}


@pytest.mark.parametrize(("what", "content"), FOUND.items(), ids=FOUND)
def test_it_is_named(what, content):
    assert (sniff(content[:512]) or "").startswith(what)


@pytest.mark.parametrize(("what", "content"), FOUND.items(), ids=FOUND)
@pytest.mark.parametrize("on_damage", ["raise", "skip"])
def test_every_door_names_it_also_where_damage_is_skipped(tmp_path, what, content, on_damage):
    path = tmp_path / "x.tfrecord"
    path.write_bytes(content)

    for opened in (
        lambda: list(TFRecordReader(path, on_damage=on_damage)),
        lambda: RecordIndex.for_file(path, on_damage=on_damage),
        lambda: len(Records(path, on_damage=on_damage)),
        lambda: summary.verify_file(path),
        lambda: salvage(path, tmp_path / "out"),
    ):
        with pytest.raises(NotTFRecordError, match=f"this is {what}.*, not a TFRecord file"):
            opened()
    assert [file.name for file in tmp_path.iterdir()] == ["x.tfrecord"]


def test_the_real_array_record_is_named():
    content = (CORPUS / "files/google__grain/digits.array_record-00000-of-00002").read_bytes()

    assert sniff(content[:512]) == "an ArrayRecord (Riegeli) file"


@pytest.mark.parametrize("content", [b"", b"\0" * 100, bytes(range(256)), b"short", b"\xff" * 40])
def test_what_is_unknown_is_not_guessed(content):
    assert sniff(content) is None


@pytest.mark.parametrize("magic", [b"PAR1", b"ORC", b"BZh", b"\x0a\x23\xd7\xce", b"\x00\x00\x08\x01"])
def test_a_damaged_header_whose_length_has_a_magic_is_no_other_format(magic):
    assert sniff(magic.ljust(8, b"\0") + b"\x12\x34\x56\x78" + bytes(500)) is None


def test_a_character_cut_at_the_end_is_still_text():
    assert sniff(("ä" * 400).encode()[:511]) == "text"


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=5))
def test_sound_records_are_read_whatever_their_first_bytes_look_like(tmp_path_factory, payloads):
    path = tmp_path_factory.mktemp("sniff") / "x"
    path.write_bytes(frames(payloads))

    assert list(TFRecordReader(path)) == payloads
