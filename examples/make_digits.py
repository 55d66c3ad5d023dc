"""Lays MNIST's 10,000 test digits out as people have their pictures: PNG files in ten class folders.

Usage: python examples/make_digits.py OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

import wellfed as wf

DATA = Path(__file__).parent / "data"


def main(out: str) -> None:
    """Writes `OUT/7/00000.png` and so on; refuses a folder that is there already."""
    folder = Path(out)
    if folder.exists():
        sys.exit(f"{folder} is there already; give a folder that is not")
    folder.mkdir(parents=True)
    source = wf.sources.Mnist(DATA)
    for label in range(10):
        (folder / str(label)).mkdir()
    for index in range(len(source.listing())):
        digit = source.load(index)
        pixels = digit["image"][:, :, 0]
        Image.fromarray(pixels).save(folder / str(digit["label"]) / f"{index:05d}.png")
    print(f"{len(source.listing())} digits in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
