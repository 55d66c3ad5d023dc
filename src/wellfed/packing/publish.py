"""Making finished shards a data set: move them into place, and the manifest last.

Each step can be done again, so a publishing that was killed is taken up by the next run of the same pack. Where a data
set is replaced, its manifest goes first: between the two there is no data set, never a mixed one.
"""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from wellfed.datasets.folder import LocalFolder
from wellfed.datasets.manifest import MANIFEST, is_plain_name, parse_json, pointer_to_json
from wellfed.datasets.tfds import DATASET_INFO, read_splits, tfds_files
from wellfed.packing.encode import QUARANTINE
from wellfed.packing.staging import clear, note_replaced, replaced, staged_name
from wellfed.packing.write import index_name

if TYPE_CHECKING:
    from wellfed.datasets import Manifest
    from wellfed.datasets.folder import Folder

_HALF_WRITTEN = re.compile(r"\.(.+)\.\d+\.partial")  # By `LocalFolder.write`.


def publish(folder: Folder, manifest: Manifest, *, tfds: bool) -> None:
    """Makes the data set of `manifest` the one in `folder`.

    Args:
      folder: Where its finished shards wait in staging, or have been moved from it.
      manifest: What the data set is.
      tfds: Whether to write the metadata of TensorFlow Datasets.
    """
    files = [shard.file for shards in manifest.splits.values() for shard in shards]
    _withdraw(folder)
    for file in files:
        for name in (file, index_name(file)):
            if folder.size(staged_name(name)) is not None:
                folder.move(staged_name(name), name)
    metadata = tfds_files(manifest) if tfds else {}
    # dataset_info.json last: it is what makes the folder a data set for TensorFlow Datasets.
    for name in sorted(metadata, key=lambda name: name == DATASET_INFO):
        folder.write(name, metadata[name])
    quarantined = [item for item in manifest.skipped if item.split]
    if folder.names(QUARANTINE):
        lines = "".join(json.dumps(asdict(item)) + "\n" for item in quarantined)
        folder.write(f"{QUARANTINE}/items.jsonl", lines.encode())
    folder.write(MANIFEST, manifest.to_json().encode())
    finish(folder, manifest)


def finish(folder: Folder, manifest: Manifest) -> None:
    """Removes what a published pack no longer needs: shards of the data set it replaced, and the staging folder."""
    kept = {shard.file for shards in manifest.splits.values() for shard in shards}
    for file in replaced(folder):
        if file not in kept and _may_be_shard(folder, file):
            folder.remove(file)
            folder.remove(index_name(file))
    if isinstance(folder, LocalFolder):
        _remove_half_written(folder, manifest)
    clear(folder)


def _may_be_shard(folder: Folder, file: str) -> bool:
    """Whether a name in old metadata may be removed by: damaged or foreign metadata may name anything."""
    return is_plain_name(file) and not (isinstance(folder, LocalFolder) and Path(folder.full(file)).is_dir())


def _remove_half_written(folder: LocalFolder, manifest: Manifest) -> None:
    """Removes what was being written when an earlier run was killed. REQUIRES: nobody else packs into the folder."""
    home, name = posixpath.split(MANIFEST)
    for under, of in ((".", set(tfds_files(manifest))), (home, {name}), (QUARANTINE, None)):
        for left in folder.names(under):
            found = _HALF_WRITTEN.fullmatch(left)
            if found and (of is None or found[1] in of):
                folder.remove(f"{under}/{left}")


def switch(root: Folder, version: str) -> None:
    """Makes `version` the current one of the versions in `root`, by one rename.

    A data set that was packed into `root` itself keeps its manifest, and can be opened by its version.
    """
    content = root.read(MANIFEST)
    if content is None:
        root.write(MANIFEST, pointer_to_json(version).encode())
        return
    values = parse_json(content, root.full(MANIFEST))
    if values.get("current") != version:
        root.write(MANIFEST, (json.dumps(values | {"current": version}, indent=1) + "\n").encode())


def _withdraw(folder: Folder) -> None:
    """Takes an older data set's metadata away, once its shards are noted for removal."""
    content = folder.read(MANIFEST)
    if content is None and folder.size(DATASET_INFO) is None:
        return
    if content is None:
        _, _, found = read_splits(folder)
        files = [file for shards in found.values() for file, _ in shards]
    else:
        splits = parse_json(content, folder.full(MANIFEST)).get("splits", {})
        files = [shard["file"] for shards in splits.values() for shard in shards]
    note_replaced(folder, files)
    folder.remove(DATASET_INFO)
    folder.remove(MANIFEST)
