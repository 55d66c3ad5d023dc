"""What is this file? Names what people open as TFRecord by mistake, from its first bytes."""

from __future__ import annotations

# Where the magic stands, the magic, and what it is. The first that fits wins.
_MAGICS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x1f\x8b\x08", "GZIP"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"PK\x05\x06", "an empty zip archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"version https://git-lfs.github.com/", "a git-lfs pointer (`git lfs pull` fetches the file itself)"),
    (0, b"\xff\xd8\xff", "a JPEG picture"),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (0, b"GIF87a", "a GIF picture"),
    (0, b"GIF89a", "a GIF picture"),
    (8, b"WEBP", "a WebP picture"),
    (0, b"PAR1", "a Parquet file"),
    # Riegeli's first block header and signature; ArrayRecord is built on it.
    (0, b"\x83\xafp\xd1\r\x88J?\0\0\0\0\0\0\0\0", "an ArrayRecord (Riegeli) file"),
    (0, b"\x0a\x23\xd7\xce", "an MXNet RecordIO file"),
    (0, b"ARROW1\0\0", "an Arrow file"),
    (0, b"Obj\x01", "an Avro file"),
    (0, b"ORC", "an ORC file"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (0, b"\x93NUMPY", "a NumPy array file"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"BZh", "bzip2"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard"),
    (0, b"\xff\x06\x00\x00sNaPpY", "Snappy"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"\x00\x00\x08\x01", "an MNIST idx file of labels"),
    (0, b"\x00\x00\x08\x03", "an MNIST idx file of images"),
    (0, b"\x80\x02}", "a Python pickle"),
    (0, b"\x80\x03}", "a Python pickle"),
)


def sniff(head: bytes) -> str | None:
    r"""Says what a file is that is not TFRecord, from its first bytes (512 or more, or all there are).

    Returns:
      Words that follow "this is", such as "a zip archive"; None where nothing known fits.

    Example:
      >>> sniff(b"PK\x03\x04....")
      'a zip archive'
    """
    for at, magic, what in _MAGICS:
        # Four bytes and then zeros may as well be the length of a record whose sum is damaged.
        if head[at : at + len(magic)] == magic and (len(magic) > 4 or any(head[4:8])):
            return what
    # A pickle's protocol, its first frame, and the frame's length in 8 bytes.
    if head[:1] == b"\x80" and head[1:3] in (b"\x04\x95", b"\x05\x95") and head[8:11] == bytes(3):
        return "a Python pickle"
    return _sniff_text(head)


def _sniff_text(head: bytes) -> str | None:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "an HTML page, as a failed download leaves"
    if text.startswith(b"<?xml"):
        return "an XML document"
    try:
        decoded = head[:512].decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head[:512]) - 3:  # A character cut at the end is still text.
            return None
        decoded = head[: error.start].decode("utf-8")
    if len(decoded) < 12 or not all(c.isprintable() or c in "\t\r\n" for c in decoded):
        return None
    return "JSON text" if text.startswith((b"{", b"[")) else "text"
