"""Every error that wellfed raises, in one tree.

    WellfedError
    ├── RecordError (ValueError)          a record that could not be read whole
    │   ├── CorruptRecordError                a checksum does not hold
    │   └── TruncatedRecordError              the file ends inside it
    ├── FileFormatError (ValueError)      a file is not what it was opened as
    │   ├── NotTFRecordError                  it looks like something else
    │   └── CompressionError                  the compression is another, or its stream is damaged
    ├── FileChangedError (OSError)        a file was cut or replaced while it was read
    ├── RemoteError (OSError)             a file behind a URL that could not be read
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
    ├── WorkerLostError (RuntimeError)    a process that called a user's function ended
    ├── OpError                           TensorFlow's errors of queues, readers and sessions
    │   ├── CancelledError (1)                a call was given up, or its queue is closed
    │   ├── UnknownError (2)                  an error that has no name of its own
    │   ├── InvalidArgumentError (3, ValueError)
    │   ├── DeadlineExceededError (4, TimeoutError)
    │   ├── NotFoundError (5, FileNotFoundError)
    │   ├── AlreadyExistsError (6, FileExistsError)
    │   ├── PermissionDeniedError (7, PermissionError)
    │   ├── ResourceExhaustedError (8)
    │   ├── FailedPreconditionError (9)       a variable or an iterator that was not initialised
    │   ├── AbortedError (10)
    │   ├── OutOfRangeError (11)              a closed queue without enough elements; the end of an input
    │   ├── UnimplementedError (12, NotImplementedError)
    │   ├── InternalError (13)
    │   ├── UnavailableError (14)
    │   ├── DataLossError (15)                a damaged record met by a reader
    │   └── UnauthenticatedError (16)
    └── MissingExtraError (ImportError)   an optional package is not installed

Each class keeps its facts in fields that equal `args`, so it survives pickling; `__str__` makes the sentence.
"""

from __future__ import annotations


class WellfedError(Exception):
    """The root of every error that wellfed raises."""


SKIP_DAMAGE = 'Skip damage with on_damage="skip"'

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
        return f"{super().__str__()}. {SKIP_DAMAGE}; list it with `wellfed verify`."


class TruncatedRecordError(RecordError):
    """A record that goes on beyond the end of its file."""

    def __str__(self) -> str:
        return f"{super().__str__()}. {SKIP_DAMAGE}; list it with `wellfed verify`."


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


class RemoteError(WellfedError, OSError):
    """A file behind a URL that could not be read, by any of the attempts that its failures allow.

    Attributes:
      reason: What the store or the connection said last.
      path: The URL, as the caller named it.
      start: First byte that was asked for. [bytes]
      end: First byte after them; equal to `start` where the file's size was asked for. [bytes]
      attempts: How often it was tried.
    """

    def __init__(self, reason: str, path: str, start: int, end: int, attempts: int) -> None:
        super().__init__()  # Without arguments: OSError would take them for errno and file.
        self.args = (reason, path, start, end, attempts)
        self.reason, self.path = reason, path
        self.start, self.end, self.attempts = start, end, attempts

    def __str__(self) -> str:
        what = f"bytes [{self.start}..{self.end})" if self.end > self.start else "its size"
        tried = "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"
        return f"{self.path}: {what} could not be read in {tried}: {self.reason}"


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
        at = f" at row {self.row}" if self.row >= 0 else ""
        record = f" ({self.record})" if self.record else ""
        return f"{self.stage} failed{at}{record}: {self.error}"


class WorkerLostError(WellfedError, RuntimeError):
    """A process that called a user's function ended: killed by the system, or by what the function did.

    Attributes:
      stage: The verb and where its function was defined.
      reason: Which process, and how it ended.
    """

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(stage, reason)
        self.stage, self.reason = stage, reason

    def __str__(self) -> str:
        return (
            f"{self.stage}: {self.reason}. Signal 9 is mostly a lack of memory: use fewer processes. Exit code "
            '1 at once is mostly a script that starts them when imported: put that under if __name__ == "__main__".'
        )


# --- TensorFlow's errors of queues, readers and sessions -------------------------------------------


class OpError(WellfedError):
    """The root of the errors that carry TensorFlow's names and codes.

    Made as TensorFlow's own are, `OutOfRangeError(None, None, "no more")`, so that code that raises them runs.
    Where a producer failed, its error is the `__cause__` of what the consumer sees.

    Attributes:
      node_def: Always None; kept for TensorFlow's order of arguments.
      op: Name of the queue or operation; None where there is none.
      message: What was found and what was due.
      code: The canonical number of the kind of error, such as 11 for `OutOfRangeError`.
    """

    code: int = 2

    def __init__(self, node_def: object, op: object, message: str) -> None:
        super().__init__()  # Without arguments: an OSError among the parents would take them for errno and file.
        self.args = (node_def, op, message)
        self.node_def, self.op, self.message = node_def, op, message

    @property
    def error_code(self) -> int:
        """`code`, under the name that TensorFlow gives it."""
        return self.code

    def __str__(self) -> str:
        return self.message


class CancelledError(OpError):
    """A call was given up: its queue was closed before it was served, or its session was."""

    code = 1


class UnknownError(OpError):
    """An error that has no name of its own here, such as one that a user's function raised."""

    code = 2


class InvalidArgumentError(OpError, ValueError):
    """A value that does not fit, such as an element of another shape than its queue's."""

    code = 3


class DeadlineExceededError(OpError, TimeoutError):
    """A blocking call was not served within its timeout; what it had taken is back in its queue."""

    code = 4


class NotFoundError(OpError, FileNotFoundError):
    """A file or a name that does not exist."""

    code = 5


class AlreadyExistsError(OpError, FileExistsError):
    """Something that was to be made exists already."""

    code = 6


class PermissionDeniedError(OpError, PermissionError):
    """A file that may not be read or written."""

    code = 7


class ResourceExhaustedError(OpError):
    """Memory, disk or another resource has run out."""

    code = 8


class FailedPreconditionError(OpError):
    """Something was used before it was ready, such as a variable without a value."""

    code = 9


class AbortedError(OpError):
    """An operation was broken off because another one interfered."""

    code = 10


class OutOfRangeError(OpError):
    """The end of an input: a closed queue holds fewer elements than were asked for, or the epochs are over."""

    code = 11


class UnimplementedError(OpError, NotImplementedError):
    """An operation that does not exist for its arguments."""

    code = 12


class InternalError(OpError):
    """A fault of the library itself."""

    code = 13


class UnavailableError(OpError):
    """A service that does not answer at the moment."""

    code = 14


class DataLossError(OpError):
    """A damaged or truncated record, met by a reader."""

    code = 15


class UnauthenticatedError(OpError):
    """A request without valid credentials."""

    code = 16


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
