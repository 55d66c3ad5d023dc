"""Examples of several versions read as one: what older records lack is filled with what was meant then.

record     version  x  y           features {"x", "y"}, defaults {1: {"y": 0.5}}
  0           1     7      ->      y = 0.5: records of version 1 had none
  1           2     8  3   ->      y = 3
  2           2     9      ->      an error: records of version 2 have it
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wellfed.columns import Bytes
from wellfed.errors import FeatureMissingError
from wellfed.example.features import FeatureSpec, FixedLenFeature, RawFeature
from wellfed.example.parse import FeatureParser, RecordBatch, compile_features

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class VersionedFeatures:
    """Features of records that changed over time: each record says its version, and lacks what its version had not.

    Features of a record that are not asked for are ignored, as always. A feature with a `default_value` of its own has
    it in every version that `defaults` does not name.

    Attributes:
      features: What comes out, by name, as in `parse_example`.
      defaults: Version to the values of features that its records lack, by name; they fit the feature's shape and
        dtype. For FixedLenFeature and RawFeature.
      version: The int64 feature that holds a record's version. It comes out only where `features` names it.
      unversioned: The version of records that have no such feature.

    Raises:
      ValueError: A default is of no feature, of one of any length, or does not fit it.

    Example:
      >>> import numpy as np
      >>> from wellfed.example import encode_example
      >>> features = VersionedFeatures({"y": FixedLenFeature([], np.float32)}, {1: {"y": 0.5}})
      >>> records = [encode_example({"version": 1}), encode_example({"version": 2, "y": 3.0})]
      >>> features.compile().parse(records)["y"].tolist()
      [0.5, 3.0]
    """

    features: Mapping[str, FeatureSpec]
    defaults: Mapping[int, Mapping[str, Any]]
    version: str = "version"
    unversioned: int = 0
    _filled: dict[str, dict[int, Any]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", dict(self.features))
        object.__setattr__(self, "defaults", {int(v): dict(values) for v, values in self.defaults.items()})
        filled: dict[str, dict[int, Any]] = {}
        for version, values in self.defaults.items():
            for name, value in values.items():
                filled.setdefault(name, {})[version] = self._default(version, name, value)
        object.__setattr__(self, "_filled", filled)
        self.compile()

    def _default(self, version: int, name: str, value: Any) -> Any:
        feature = self.features.get(name)
        if not isinstance(feature, (FixedLenFeature, RawFeature)):
            found = "no feature" if feature is None else f"a {type(feature).__name__}"
            due = "a FixedLenFeature or RawFeature is due"
            raise ValueError(f'defaults of version {version}: "{name}" is {found}; {due}')  # noqa: TRY004 -- a spec's faults are all of one type.
        try:
            return replace(feature, default_value=value).default_value
        except ValueError as error:
            raise ValueError(f'defaults of version {version}: feature "{name}": {error}') from error

    def compile(self) -> VersionedParser:
        """The parser of these features."""
        return VersionedParser(self)


class VersionedParser:
    """Versioned features compiled for parsing; made by `VersionedFeatures.compile`. Immutable."""

    def __init__(self, spec: VersionedFeatures) -> None:
        self.spec, self._filled = spec, spec._filled
        features = dict(spec.features)
        for name, values in self._filled.items():
            if features[name].default_value is None:  # type: ignore[union-attr]  # A FixedLenFeature or RawFeature.
                features[name] = replace(features[name], default_value=next(iter(values.values())))
        features.setdefault(spec.version, FixedLenFeature((), np.int64, spec.unversioned))
        found = features[spec.version]
        if not isinstance(found, FixedLenFeature) or found.shape != () or found.dtype != np.int64:
            raise ValueError(f'feature "{spec.version}" holds the version: FixedLenFeature([], np.int64) is due')
        self._parser: FeatureParser = compile_features(features)

    def __reduce__(self) -> tuple[Any, ...]:
        return (VersionedParser, (self.spec,))

    def parse(self, serialized: RecordBatch) -> dict[str, Any]:
        """Parses B Examples; as `parse_example`, with what each version lacks filled.

        Raises:
          FeatureMissingError: A feature is absent that neither its own default nor one of its record's version fills.
          ExampleError: As `parse_example`.
        """
        present = {name: np.empty(len(serialized), np.bool_) for name in self._filled}
        columns = self._parser.parse(serialized, present=present)
        versions = columns[self.spec.version]
        for name, there in present.items():
            if not there.all():
                columns[name] = self._fill(name, columns[name], ~there, versions)
        return {name: columns[name] for name in self.spec.features}

    def _fill(self, name: str, column: Any, missing: NDArray[np.bool_], versions: NDArray[np.int64]) -> Any:
        feature = self.spec.features[name]
        left = missing.copy()
        for version, value in self._filled[name].items():
            rows = missing & (versions == version)
            if rows.any():
                column = _put(column, rows, value)
                left &= ~rows
        if left.any() and feature.default_value is None:  # type: ignore[union-attr]  # As above.
            row = int(np.flatnonzero(left)[0])
            raise FeatureMissingError(
                f"is absent, and records of version {versions[row]} have it: defaults= has none for that version",
                name,
                row,
            )
        return column


def _put(column: Any, rows: NDArray[np.bool_], value: Any) -> Any:
    """The column with `value` in those rows."""
    if not isinstance(column, Bytes):
        column[rows] = np.asarray(value, column.dtype)
        return column
    strings = Bytes.from_list([value] if isinstance(value, bytes) else np.array(value, np.object_).reshape(-1).tolist())
    column = column.compact()
    starts, sizes = column.starts.copy(), column.sizes.copy()
    starts[rows] = (strings.starts + len(column.data)).reshape(starts.shape[1:])
    sizes[rows] = strings.sizes.reshape(sizes.shape[1:])
    return Bytes(np.concatenate([column.data, strings.data]), starts, sizes)
