"""Writes the seeds of the PNG corpus: a small picture of each depth, number of samples, filter and interlace.

    python native/fuzz/seed_png.py    # into native/fuzz/corpus/png

Inputs that a fuzzer found are kept beside them under other names.
"""

from __future__ import annotations

from seeds import write_seeds

DEPTHS = (1, 2, 4, 8, 16)
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


def scanlines(height: int, width: int, bits: int, filter_type: int, interlaced: bool) -> bytes:
    """Returns scanlines of counting bytes, all with one filter."""
    lines = b""
    for top, left, down, across in ADAM7 if interlaced else ((0, 0, 1, 1),):
        columns = len(range(left, width, across))
        for _ in range(top, height, down) if columns else ():
            size = (columns * bits + 7) // 8
            lines += bytes([filter_type]) + bytes((7 * i + len(lines)) % 256 for i in range(size))
    return lines


def seeds() -> dict[str, bytes]:
    """Returns the content of each seed by its name."""
    found = {"empty": b"", "no_pixels": bytes([0, 3, 3]), "short": bytes([3, 3, 3, 0, 1])}
    for number, depth in enumerate(DEPTHS):
        for samples in (1,) if depth < 8 else (1, 2, 3, 4):
            for interlaced in (False, True):
                filter_type = (number + samples + interlaced) % 6  # 5 is none.
                kind = number + 5 * (samples - 1) + 20 * interlaced
                lines = scanlines(5, 9, depth * samples, filter_type, interlaced)
                name = f"{depth}_bits_{samples}_samples_filter_{filter_type}" + "_interlaced" * interlaced
                found[name] = bytes([5, 9, kind]) + lines
    return found


if __name__ == "__main__":
    write_seeds("png", seeds())
