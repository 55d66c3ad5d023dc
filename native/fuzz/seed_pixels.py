"""Writes the seeds of the pixels corpus: each type, method and layout once, at a place that fits.

    python native/fuzz/seed_pixels.py    # into native/fuzz/corpus/pixels

Inputs that a fuzzer found are kept beside them under other names.
"""

from __future__ import annotations

from itertools import product

from seeds import write_seeds

TYPES = ("uint8", "uint16", "float32")
METHODS = ("none", "bilinear", "area")


def seeds() -> dict[str, bytes]:
    """Returns the content of each seed by its name, in the order in which native/fuzz/pixels_fuzz.cc reads it."""
    found = {"empty": b""}
    for (source, source_name), (method, method_name) in product(enumerate(TYPES), enumerate(METHODS)):
        for out, flags in ((source, 16), (2, 16 + 5), (3, 8 * 3 + 6), (4, 1)):  # Channels, planar, stream, scaled.
            height, width = 9, 13
            size = (height, width) if method == 0 else (6, 21)
            place = bytes([2, 1, height, width, *size, 1, 2])
            head = bytes([source, source, out, method, flags, 5, 11, 12, 15]) + place + bytes([1] * (method == 0) + [1])
            pixels = bytes((7 * i * i) % 251 for i in range(40))
            found[f"{source_name}_{method_name}_to_{out}_flags_{flags}"] = head + pixels
    found["no_width"] = bytes([0, 0, 0, 1, 16, 5, 0, 12, 15, 2, 1, 9, 13, 6, 21, 1, 2, 0])
    return found


if __name__ == "__main__":
    write_seeds("pixels", seeds())
