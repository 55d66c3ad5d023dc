"""The other readers' ways from encoded photos to batches of pixels, each in its own environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jpeg import BATCH, KINDS, OTHER_PIXELS, SIDE, proof
from layouts import path_of
from other_readers import write_dali_index

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from harness import Batch

LOADERS = 2  # Processes, one a core of the bench's machine.


class Dali:
    """DALI on the CPU: its TFRecord reader, decoder and resize, shuffled through its buffer."""

    def __init__(self, name: str, folder: Path) -> None:
        path = path_of(folder, name)
        index = path.with_suffix(".idx")
        if not index.exists():
            write_dali_index(path, index)
        self._batches = KINDS[name][0] // BATCH
        self._pipeline = self._built(path, index)

    def _built(self, path: Path, index: Path) -> Any:
        from nvidia.dali import fn, pipeline_def, tfrecord, types

        features = {
            "image": tfrecord.FixedLenFeature([], tfrecord.string, ""),
            "label": tfrecord.FixedLenFeature([], tfrecord.int64, 0),
        }

        @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)
        def reading() -> Any:
            columns = fn.readers.tfrecord(
                path=str(path), index_path=str(index), features=features, random_shuffle=True, initial_fill=1000
            )
            images = fn.decoders.image(columns["image"], device="cpu", use_fast_idct=True)
            linear = types.DALIInterpType.INTERP_LINEAR
            small = fn.resize(images, size=[SIDE, SIDE], interp_type=linear, antialias=False, dtype=types.FLOAT)
            return small, columns["label"]

        return reading()

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        for _ in range(self._batches):
            images, labels = self._pipeline.run()
            yield {"image": images.as_array(), "label": labels.as_array().reshape(-1)}

    later = first

    def proof(self) -> list[Any]:
        return proof(self.later())


class Photos:
    """A map-style data set for PyTorch: a file a picture, decoded and resized by Pillow."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, row: int) -> tuple[np.ndarray, int]:
        from PIL import Image

        path = self._paths[row]
        with Image.open(path) as picture:
            picture.draft("RGB", (SIDE, SIDE))  # Decodes at half size where that is enough: the fastest it has.
            small = picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR, reducing_gap=1.0)
        return np.asarray(small, np.float32), int(path.parent.name)


class TorchFolder:
    """PyTorch's DataLoader over a folder of files, with workers that stay."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "photos" / "files"
        self._loader: Any = None

    def forget(self) -> None:
        pass

    def first(self) -> Iterable[Batch]:
        from torch.utils.data import DataLoader

        if self._loader is None:  # wellfed's side writes the files before this side is first asked.
            photos: Any = Photos(sorted(self._folder.glob("*/*.jpg")))
            self._loader = DataLoader(
                photos, BATCH, shuffle=True, drop_last=True, num_workers=LOADERS, persistent_workers=True
            )
        for images, labels in self._loader:
            yield {"image": images.numpy(), "label": labels.numpy()}

    later = first

    def proof(self) -> list[Any]:
        return proof(self.later(), OTHER_PIXELS)
