"""What a cache gains: rows a second without one, in the first epoch, and in later ones (docs/feed.md)."""

from __future__ import annotations

import io
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import wellfed as wf

if TYPE_CHECKING:
    from collections.abc import Mapping

PHOTO = Path(__file__).parent.parent / "tests/data/corpus/photos/good/pillow/flower.jpg"
PHOTOS, DIGITS, BATCH, REPEATS = 1500, 200_000, 64, 3


def by_pillow(element: Mapping[str, Any]) -> dict[str, Any]:
    """A user's own function, as tutorials write it."""
    picture = Image.open(io.BytesIO(element["image"])).convert("RGB").resize((224, 224))
    return {"image": np.asarray(picture)}


def make(folder: str) -> tuple[wf.Dataset, wf.Dataset]:
    """Photos as JPEG of 500x375, and digits as raw bytes with a label."""
    photo = wf.image.decode_image(PHOTO.read_bytes())
    pixels = wf.image.resize(photo, (375, 500)).astype(np.uint8)
    with wf.TFRecordWriter(f"{folder}/photos", index=True) as writer:
        for number in range(PHOTOS):
            encoded = wf.image.encode_image(np.roll(pixels, number, axis=1), "jpeg", quality=87)
            writer.write(wf.encode_example({"image": encoded}))
    with wf.TFRecordWriter(f"{folder}/digits", index=True) as writer:
        for number in range(DIGITS):
            writer.write(wf.encode_example({"image": bytes(784), "label": number % 10}))
    digit = {"image": wf.RawFeature([28, 28], np.uint8), "label": wf.FixedLenFeature([], np.int64)}
    photos = wf.TFRecordDataset(f"{folder}/photos", {"image": wf.FixedLenFeature([], bytes)})
    return photos, wf.TFRecordDataset(f"{folder}/digits", digit)


def rate(dataset: wf.Dataset, rows: int) -> float:
    """Rows a second of the next epoch."""
    began = time.perf_counter()
    for _ in dataset:
        pass
    return rows / (time.perf_counter() - began)


def spread(rates: list[float]) -> str:
    """The least and the most, in two digits."""
    return " to ".join(f"{float(f'{found:.2g}'):,.0f}" for found in (min(rates), max(rates)))


def main() -> None:
    """Prints a line a pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        photos, digits = make(folder)
        resized = photos.map(wf.image.Resize("image", (224, 224)))
        kinds = {
            "500x375 JPEG to 224x224, a function with Pillow": (photos.map(by_pillow), PHOTOS, False),
            "500x375 JPEG to 224x224, `wf.image.Resize`": (resized, PHOTOS, False),
            'the same, `cache("file")`': (resized, PHOTOS, True),
            "28x28 bytes and a label, parsed": (digits, DIGITS, False),
            'the same with `cache("file")`': (digits, DIGITS, True),
        }
        for number, (name, (made, rows, in_file)) in enumerate(kinds.items()):
            without, first, later = [], [], []
            for turn in range(REPEATS):
                shuffled = made.shuffle(seed=0).batch(BATCH)
                without.append(rate(shuffled, rows))
                kept = made.cache(f"{folder}/{number}-{turn}") if in_file else made.cache()
                kept = kept.shuffle(seed=0).batch(BATCH)
                first.append(rate(kept, rows))
                later += [rate(kept, rows), rate(kept, rows)]
            sys.stdout.write(f"| {name} | {spread(without)} | {spread(first)} | {spread(later)} |\n")


if __name__ == "__main__":
    main()
