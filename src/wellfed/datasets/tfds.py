"""The metadata of TensorFlow Datasets beside the shards, written and read.

    dataset_info.json        name, version, and for each split its file names and records a shard
    features.json            the features' types, nested
    label.labels.txt         a ClassLabel's names, one a line; "-" stands between the parts of a nested name

It is proto3 JSON: 64-bit integers are strings, an unknown size is "-1", a default is left out.

Source: tensorflow_datasets/core/proto/{dataset_info,feature}.proto, core/features/*.py, core/naming.py (version 4.9).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from wellfed.datasets.feature_types import ByteString, ClassLabel, FeatureType, Image, Scalar, Text
from wellfed.datasets.manifest import parse_json, plain_name
from wellfed.datasets.schema import Schema
from wellfed.datasets.tensors import Sequence, Tensor
from wellfed.errors import DatasetError

if TYPE_CHECKING:
    from wellfed.datasets.folder import Folder
    from wellfed.datasets.manifest import Manifest
    from wellfed.datasets.storage import Shape

DATASET_INFO = "dataset_info.json"
FEATURES = "features.json"
TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"

_CORE = "tensorflow_datasets.core.features."
_NAMES_FILE = ".labels.txt"


def shard_name(name: str, split: str, shard: int, shards: int, template: str = TEMPLATE) -> str:
    """Returns the file name of a shard in TensorFlow Datasets' naming.

    >>> shard_name("mnist", "train", 0, 1)
    'mnist-train.tfrecord-00000-of-00001'
    """
    digits = max(5, len(str(shards)))
    index, total = f"{shard:0{digits}}", f"{shards:0{digits}}"
    parts = {"DATASET": name, "SPLIT": split, "FILEFORMAT": "tfrecord", "SHARD_INDEX": index, "NUM_SHARDS": total}
    return template.format(**parts, SHARD_X_OF_Y=f"{index}-of-{total}")


# --- Writing -------------------------------------------------------------------------------------


def tfds_files(manifest: Manifest) -> dict[str, bytes]:
    """Returns the metadata files that let TensorFlow Datasets open the data set: name to content."""
    files = {DATASET_INFO: _dump(_dataset_info(manifest)), FEATURES: _dump(_nested(manifest.schema))}
    for name, kind in manifest.schema.items():
        while isinstance(kind, Sequence):
            kind = kind.feature  # noqa: PLW2901 -- the names belong to what is inside.
        if isinstance(kind, ClassLabel) and kind.names:
            files[name.replace("/", "-") + _NAMES_FILE] = _names_content(kind.names)
    return files


def _names_content(names: Iterable[str]) -> bytes:
    """Returns a file of one name a line; a line end within a name, as folders' names may hold, is escaped."""
    return "".join(name.replace("\n", r"\n").replace("\r", r"\r") + "\n" for name in names).encode()


def _read_names(content: bytes) -> tuple[str, ...]:
    """Returns the names as TensorFlow Datasets reads them."""
    return tuple(line.strip() for line in content.decode().split("\n") if line.strip())


def _dataset_info(manifest: Manifest) -> dict[str, Any]:
    info: dict[str, Any] = {
        "name": manifest.name,
        "version": manifest.version,
        "fileFormat": "tfrecord",
        "splits": [
            {
                "name": split,
                "filepathTemplate": TEMPLATE,
                "shardLengths": [str(shard.records) for shard in shards],
                # What the records hold, without the 16 bytes of framing each.
                "numBytes": str(sum(shard.bytes - 16 * shard.records for shard in shards)),
            }
            for split, shards in manifest.splits.items()
        ],
    }
    keys = _supervised_keys(manifest.schema)
    if keys:
        info["supervisedKeys"] = {"tuple": {"items": [{"featureKey": key} for key in keys]}}
    return info


def _supervised_keys(schema: Schema) -> tuple[str, str] | None:
    """Returns the names of input and label where they are beyond doubt: one ClassLabel and one other, or one Image."""
    labels = [name for name, kind in schema.items() if isinstance(kind, ClassLabel)]
    inputs = [name for name, kind in schema.items() if isinstance(kind, Image)] or [
        n for n in schema if n not in labels
    ]
    return (inputs[0], labels[0]) if len(labels) == len(inputs) == 1 else None


def _nested(schema: Mapping[str, FeatureType]) -> dict[str, Any]:
    """Returns the JSON of a FeaturesDict; "a/b" becomes b in a FeaturesDict a."""
    groups: dict[str, Any] = {}
    for name, kind in schema.items():
        head, slash, rest = name.partition("/")
        if slash:
            groups.setdefault(head, {})[rest] = kind
        else:
            groups[head] = kind
    features = {name: _nested(kind) if isinstance(kind, dict) else _to_tfds(kind) for name, kind in groups.items()}
    return {"pythonClassName": f"{_CORE}features_dict.FeaturesDict", "featuresDict": {"features": features}}


def _to_tfds(kind: FeatureType) -> dict[str, Any]:
    module, content = _class_and_content(kind)
    return {"pythonClassName": f"{_CORE}{module}", **content}


def _class_and_content(kind: FeatureType) -> tuple[str, dict[str, Any]]:
    """Returns the class's name below `_CORE`, and what feature.proto holds for it."""
    match kind:
        case Image(encoding_format="raw"):  # TensorFlow Datasets has no pictures of bare pixels.
            found = "tensor_feature.Tensor", {"tensor": _tensor(kind.shape, kind.dtype.name, "bytes")}
        case Image():
            content = {"shape": _sizes(kind.shape), "dtype": kind.dtype.name}
            # TensorFlow Datasets decodes JPEG and PNG alike; the format only matters where it encodes.
            named = {"encodingFormat": kind.encoding_format} if kind.encoding_format else {}
            found = "image_feature.Image", {"image": content | named}
        case ClassLabel():
            found = "class_label_feature.ClassLabel", {"classLabel": {"numClasses": str(kind.num_classes)}}
        case Scalar():
            found = "scalar.Scalar", {"tensor": _tensor((), kind.dtype.name, "none")}
        case Text():
            found = "text_feature.Text", {"text": {}}
        case ByteString():
            found = "tensor_feature.Tensor", {"tensor": _tensor((), "string", "none")}
        case Tensor():
            found = "tensor_feature.Tensor", {"tensor": _tensor(kind.shape, kind.dtype.name, kind.encoding)}
        case Sequence():
            length = str(-1 if kind.length is None else kind.length)
            found = "sequence_feature.Sequence", {"sequence": {"feature": _to_tfds(kind.feature), "length": length}}
        case _:
            raise TypeError(f"no feature type of TensorFlow Datasets stands for {kind!r}")
    return found


def _tensor(shape: Shape, dtype: str, encoding: str) -> dict[str, Any]:
    return {"shape": _sizes(shape), "dtype": dtype, "encoding": encoding}


def _sizes(shape: Shape) -> dict[str, Any]:
    return {"dimensions": [str(-1 if size is None else size) for size in shape]} if shape else {}


def _dump(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, indent=2, sort_keys=True) + "\n").encode()


# --- Reading -------------------------------------------------------------------------------------


def read_schema(folder: Folder) -> Schema:
    """Returns the schema that `features.json` and the label files tell.

    Raises:
      DatasetError: The file is missing or damaged, or holds a type that wellfed does not know.
    """
    path = folder.full(FEATURES)
    content = folder.read(FEATURES)
    if content is None:
        raise DatasetError("is missing: TensorFlow Datasets 4.0 and later write it beside dataset_info.json", path)
    types: dict[str, FeatureType] = {}
    try:
        _flatten("", parse_json(content, path), types, folder, lambda kind: kind)
        return Schema(types)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, DatasetError):
            raise
        raise DatasetError(f"is damaged: {error!r}", path) from error


def read_splits(folder: Folder) -> tuple[str, str, dict[str, list[tuple[str, int]]]]:
    """Returns name, version, and for each split its file names and their numbers of records.

    Raises:
      DatasetError: `dataset_info.json` is damaged, or the shards are in another format than TFRecord.
    """
    path = folder.full(DATASET_INFO)
    info = parse_json(folder.read(DATASET_INFO) or b"", path)
    if info.get("fileFormat", "tfrecord") != "tfrecord":
        raise DatasetError(f"holds {info['fileFormat']} shards; wellfed reads tfrecord", path)
    try:
        splits: dict[str, list[tuple[str, int]]] = {}
        for split in info.get("splits", []):
            counts = [int(count) for count in split.get("shardLengths", [])]
            template = split.get("filepathTemplate") or TEMPLATE
            names = (shard_name(info["name"], split["name"], at, len(counts), template) for at in range(len(counts)))
            splits[plain_name(split["name"])] = list(zip(map(plain_name, names), counts, strict=True))
        return info["name"], info.get("version", ""), splits
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DatasetError(f"is damaged: {error!r}", path) from error


Wrap = Callable[[FeatureType], FeatureType]


def _flatten(name: str, node: Mapping[str, Any], types: dict[str, FeatureType], folder: Folder, wrap: Wrap) -> None:
    """Adds a node of features.json to `types`: nested names are joined by "/", a sequence goes to what is inside it."""
    if "featuresDict" in node:
        for child, inner in node["featuresDict"].get("features", {}).items():
            _flatten(f"{name}/{child}" if name else child, inner, types, folder, wrap)
    elif "sequence" in node:
        length = int(node["sequence"].get("length", -1))
        size = None if length < 0 else length
        _flatten(name, node["sequence"]["feature"], types, folder, lambda kind: wrap(Sequence(kind, size)))
    elif "translation" in node:  # A FeaturesDict of texts.
        for language in node["translation"]["languages"]:
            types[f"{name}/{language}"] = wrap(Text())
    else:
        types[name] = wrap(_from_tfds(name, node, folder))


def _from_tfds(name: str, node: Mapping[str, Any], folder: Folder) -> FeatureType:
    if "image" in node:
        value = node["image"]
        dtype = value.get("dtype", "uint8")
        if dtype not in ("uint8", "uint16"):
            raise DatasetError(f'feature "{name}": Image of dtype {dtype} is not supported', folder.full(FEATURES))
        return Image(_shape(value), dtype, value.get("encodingFormat") or None)
    if "classLabel" in node:
        names = folder.read(name.replace("/", "-") + _NAMES_FILE)
        count = int(node["classLabel"].get("numClasses", 0))
        return ClassLabel(_read_names(names or b""), 0 if names else count)
    if "text" in node:
        return Text()
    for key in ("tensor", "boundingBox"):
        if key in node:
            return _from_tensor(node[key])
    known = "Image, ClassLabel, Scalar, Tensor, Text, BBoxFeature, Sequence, Dataset, Translation, FeaturesDict"
    raise DatasetError(
        f'feature "{name}": {node.get("pythonClassName")} is not supported; wellfed knows {known}',
        folder.full(FEATURES),
    )


def _from_tensor(value: Mapping[str, Any]) -> FeatureType:
    shape, dtype = _shape(value), value.get("dtype", "float32")
    if dtype in ("string", "object"):
        if not shape:
            return ByteString()
        if len(shape) == 1:
            return Sequence(ByteString(), shape[0])
        raise ValueError(f"a string Tensor of shape {shape} is not supported")
    encoding: Any = value.get("encoding") or "none"  # Tensor checks it.
    return Scalar(dtype) if not shape and encoding == "none" else Tensor(shape, dtype, encoding)


def _shape(value: Mapping[str, Any]) -> Shape:
    sizes = [int(size) for size in value.get("shape", {}).get("dimensions", [])]
    return tuple(None if size < 0 else size for size in sizes)
