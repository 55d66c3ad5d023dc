"""Every error that wellfed raises, in one tree.

    WellfedError
    ├── RecordError (ValueError)          a record that could not be read whole
    │   ├── CorruptRecordError                a checksum does not hold
    │   └── TruncatedRecordError              the file ends inside it
    ├── FileFormatError (ValueError)      a file is not what it was opened as
    │   ├── NotTFRecordError                  it looks like something else
    │   └── CompressionError                  the compression is another, or its stream is damaged
    ├── FileChangedError (OSError)        a file was cut or replaced while it was read
    ├── IndexFileError (ValueError)       an index that does not fit its file
    ├── ExampleError (ValueError)         an Example that does not fit its specification
    │   ├── MalformedExampleError             the bytes are no Example
    │   ├── FeatureMissingError               a feature is due and absent
    │   ├── FeatureTypeError                  a feature holds another kind of list
    │   └── FeatureLengthError                a feature holds another number of values
    ├── EncodeError (ValueError)          a value that would lose information when encoded
    ├── ImageError (ValueError)           a picture that cannot be decoded under the policy given
    ├── DatasetError (ValueError)         a data set on disk that is missing, incomplete or inconsistent
    ├── SourceError (ValueError)          raw input that cannot be read as what it was given for
    ├── PackError (RuntimeError)          packing that could not start or finish
    ├── PlanError (ValueError)            a verb that its data set cannot answer
    ├── StateError (ValueError)           a saved state of another plan, or of other files
    ├── StageError (RuntimeError)         a user's function failed on an element
    ├── OpError (Exception)               TensorFlow's errors of queues and sessions
    │   ├── CancelledError, OutOfRangeError, AbortedError, DeadlineExceededError, InvalidArgumentError, ...
    └── MissingExtraError (ImportError)   an optional package is not installed

Each class keeps its facts in fields that equal `args`, so it survives pickling; `__str__` makes the sentence.
"""

from __future__ import annotations


class WellfedError(Exception):
    """The root of every error that wellfed raises."""


# --- Records -------------------------------------------------------------------------------------


class RecordError(WellfedError, ValueError):
    """A record that could not be read whole.

    Attributes:
      reason: What is wrong with it, with the numbers found and due.
      path: The file, as the caller named it.
      record_index: 0-based.
      offset: First byte of the record's header in the uncompressed stream. [bytes]
    """

    def __init__(self, reason: str, path: str, record_index: int, offset: int) -> None:
        super().__init__(reason, path, record_index, offset)  # args == fields: pickles as is
        self.reason, self.path = reason, path
        self.record_index, self.offset = record_index, offset

    def __str__(self) -> str:
        return f"{self.path}: record {self.record_index} at byte {self.offset}: {self.reason}"


class CorruptRecordError(RecordError):
    """A record whose length or payload does not match its checksum."""

    def __str__(self) -> str:
        return f'{super().__str__()}. Skip damage with on_damage="skip"; list it with `wellfed verify`.'


class TruncatedRecordError(RecordError):
    """A record that goes on beyond the end of its file."""

    def __str__(self) -> str:
        return f'{super().__str__()}. Skip damage with on_damage="skip"; list it with `wellfed verify`.'


class FileFormatError(WellfedError, ValueError):
    """A file is not what it was opened as.

    Attributes:
      reason: What was found and what was due.
      path: The file, as the caller named it.
    """

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason, path)
        self.reason, self.path = reason, path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class NotTFRecordError(FileFormatError):
    """A file that holds no TFRecords; `reason` says what it looks like."""


class CompressionError(FileFormatError):
    """A file whose compression is another than the one given, or whose compressed stream is damaged."""


class FileChangedError(WellfedError, OSError):
    """A file was cut or replaced while it was being read.

    Attributes:
      reason: What changed, with the numbers found and due.
      path: The file, as the caller named it.
    """

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason, path)
        self.reason, self.path = reason, path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class IndexFileError(FileFormatError):
    """An index that does not belong to its file, or that is damaged."""


# --- Examples ------------------------------------------------------------------------------------


class ExampleError(WellfedError, ValueError):
    """An Example that does not fit its specification.

    Attributes:
      reason: What was found and what was due.
      feature: The feature's name; "" where the bytes as a whole are at fault.
      example_index: 0-based position in the batch that was parsed.
      path: The file the record came from; "" where it is not known.
      record_index: 0-based number of the record in `path`; -1 where it is not known.
    """

    def __init__(
        self, reason: str, feature: str = "", example_index: int = 0, path: str = "", record_index: int = -1
    ) -> None:
        super().__init__(reason, feature, example_index, path, record_index)
        self.reason, self.feature, self.example_index = reason, feature, example_index
        self.path, self.record_index = path, record_index

    def __str__(self) -> str:
        what = f'feature "{self.feature}": {self.reason}' if self.feature else self.reason
        where = (
            f"{self.path}: record {self.record_index}" if self.path else f"example {self.example_index} of the batch"
        )
        return f"{what} ({where})"


class MalformedExampleError(ExampleError):
    """The bytes are no Example; `reason` holds the offset from the proto's start."""


class FeatureMissingError(ExampleError, KeyError):
    """A feature that has no default is absent."""


class FeatureTypeError(ExampleError, TypeError):
    """A feature holds another kind of list than its specification needs."""


class FeatureLengthError(ExampleError):
    """A feature holds another number of values than its specification needs."""


class EncodeError(WellfedError, ValueError):
    """A value that cannot be encoded, or would lose information.

    Attributes:
      reason: What was found, what was due, and how to ask for it.
      feature: The feature's name.
    """

    def __init__(self, reason: str, feature: str) -> None:
        super().__init__(reason, feature)
        self.reason, self.feature = reason, feature

    def __str__(self) -> str:
        return f'feature "{self.feature}": {self.reason}'


# --- Pictures ------------------------------------------------------------------------------------


class ImageError(WellfedError, ValueError):
    """A picture that cannot be decoded under the policy given.

    Attributes:
      reason: What was found and what was due.
      source: Where it came from (file, record, row); "" where it is not known.
    """

    def __init__(self, reason: str, source: str = "") -> None:
        super().__init__(reason, source)
        self.reason, self.source = reason, source

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}" if self.source else self.reason


# --- Data sets, sources, packing -----------------------------------------------------------------


class DatasetError(WellfedError, ValueError):
    """A data set on disk that is missing, incomplete or inconsistent.

    Attributes:
      reason: What was found, what was due, and what to do.
      path: The data set's folder or pattern.
    """

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason, path)
        self.reason, self.path = reason, path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class SourceError(WellfedError, ValueError):
    """Raw input that cannot be read as what it was given for.

    Attributes:
      reason: What was found, what was due, and what to do.
      path: The item or file.
    """

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason, path)
        self.reason, self.path = reason, path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class PackError(WellfedError, RuntimeError):
    """Packing that could not start or finish.

    Attributes:
      reason: What was found, what was due, and what to do.
      path: The output folder, or the item at fault.
    """

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason, path)
        self.reason, self.path = reason, path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


# --- The feed ------------------------------------------------------------------------------------


class PlanError(WellfedError, ValueError):
    """A verb that its data set cannot answer.

    Attributes:
      verb: The verb that was asked for, such as "shuffle".
      reason: What is missing, which verb lost it, and what to do.
    """

    def __init__(self, verb: str, reason: str) -> None:
        super().__init__(verb, reason)
        self.verb, self.reason = verb, reason

    def __str__(self) -> str:
        return f"{self.verb}: {self.reason}"


class StateError(WellfedError, ValueError):
    """A saved state that belongs to another plan, or to other files.

    Attributes:
      reason: What differs.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class StageError(WellfedError, RuntimeError):
    """A user's function failed on an element; the error it raised is the `__cause__`.

    Attributes:
      stage: The verb and where its function was defined.
      row: The element's number in the data set; -1 where it is not known.
      record: Where the element came from (file, record); "" where it is not known.
      error: Type and text of the error that the function raised.
    """

    def __init__(self, stage: str, row: int, record: str, error: str) -> None:
        super().__init__(stage, row, record, error)
        self.stage, self.row, self.record, self.error = stage, row, record, error

    def __str__(self) -> str:
        at = f"row {self.row}" + (f" ({self.record})" if self.record else "")
        return f"{self.stage} failed at {at}: {self.error}"


# --- Optional packages ---------------------------------------------------------------------------


class MissingExtraError(WellfedError, ImportError):
    """An optional package is not installed.

    Attributes:
      user: What needs it, such as "wellfed.adapters.torch".
      package: The package's name for people, such as "PyTorch".
      extra: The name of wellfed's extra that brings it.
    """

    def __init__(self, user: str, package: str, extra: str) -> None:
        super().__init__(user, package, extra)
        self.user, self.package, self.extra = user, package, extra

    def __str__(self) -> str:
        return f'{self.user} needs {self.package}: pip install "wellfed[{self.extra}]"'
