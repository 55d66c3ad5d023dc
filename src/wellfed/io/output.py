"""Where bytes go: a file that appears under its name whole, or not at all.

new       .NAME.1234-5f3a.partial  --commit-->  NAME        the dot keeps it out of patterns such as `*`
append    NAME, from its end on    --abandon->  cut back to its old length
device    /dev/stdout, a FIFO: written to as it is
URL       uploaded, made visible by fsspec's commit
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from wellfed.io.attempts import unwritten
from wellfed.io.files import is_url, local_path
from wellfed.io.systems import is_hdfs_native, open_system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.io.files import PathLike


_OBJECT_STORES = ("s3://", "s3a://", "gs://", "gcs://", "abfs://", "abfss://", "az://")


class Output(Protocol):
    """A file that is being written, by one thread at a time."""

    def write(self, content: bytes | memoryview) -> None:
        """Writes all of it; an error of the system is raised at once."""

    def commit(self) -> None:
        """Closes the file and makes it visible under its name."""

    def abandon(self) -> None:
        """Closes the file and leaves everything as it was; does nothing after `commit`."""


def open_output(path: PathLike, *, overwrite: bool = False, append: bool = False) -> Output:
    """Opens a file for writing.

    Args:
      path: A path of this machine or a URL.
      overwrite: Replace a file of that name when this one is whole.
      append: Add to a file of that name, on this machine.

    Raises:
      FileExistsError: The file exists; also at `commit`, if another has made it meanwhile.
      OSError: Its folder cannot be written.
      ValueError: Both `overwrite` and `append`, or `append` to a URL.
    """
    if overwrite and append:
        raise ValueError("overwrite and append exclude each other")
    if is_url(path):
        if append:
            raise ValueError(f"append=True needs a file on this machine, got {os.fspath(path)}")
        url = os.fspath(path)
        kind = _ObjectOutput if url.startswith(_OBJECT_STORES) else _RenamedOutput
        return kind(url, overwrite=overwrite)
    target = Path(local_path(path))
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        return _DirectOutput(target)  # Under its own name: what /dev/stdout links to is no path where it is a pipe.
    # The file behind a symbolic link is replaced, not the link.
    target = Path(os.path.realpath(target))
    if append and target.exists():
        return _AppendOutput(target)
    return _NewOutput(target, overwrite=overwrite)


class _NewOutput:
    def __init__(self, target: Path, *, overwrite: bool) -> None:
        self._target, self._overwrite = target, overwrite
        if target.exists() and not overwrite:
            raise _exists(target)
        self._partial = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
        try:
            self._file: BinaryIO = self._partial.open("xb", buffering=0)
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, "No such folder", str(target.parent)) from None
        except OSError as error:
            error.filename = str(target)  # Nobody knows the temporary one.
            raise

    def write(self, content: bytes | memoryview) -> None:
        _write_all(self._file, content)

    def commit(self) -> None:
        try:
            self._file.close()
            if self._overwrite:
                self._partial.replace(self._target)
            else:
                _rename_to_new(self._partial, self._target)
        finally:
            self.abandon()

    def abandon(self) -> None:
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._partial.unlink()


class _AppendOutput:
    def __init__(self, target: Path) -> None:
        self._file: BinaryIO = target.open("r+b", buffering=0)
        self._size = self._file.seek(0, os.SEEK_END)

    def write(self, content: bytes | memoryview) -> None:
        _write_all(self._file, content)

    def commit(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        if not self._file.closed:
            self._file.truncate(self._size)
            self._file.close()


class _DirectOutput:
    def __init__(self, target: Path) -> None:
        self._file: BinaryIO = target.open("wb", buffering=0)

    def write(self, content: bytes | memoryview) -> None:
        _write_all(self._file, content)

    def commit(self) -> None:
        self._file.close()

    abandon = commit


class _ObjectOutput:
    """An object store, where a name appears when its upload is committed."""

    def __init__(self, url: str, *, overwrite: bool) -> None:
        system, name = _open_remote(url, overwrite=overwrite)
        self._file: Any = system.open(name, "wb", autocommit=False)
        self._open = True

    def write(self, content: bytes | memoryview) -> None:
        self._file.write(content)

    def commit(self) -> None:
        self._open = False
        self._file.close()
        self._file.commit()

    def abandon(self) -> None:
        if self._open:
            self._open = False
            self._file.discard()


class _RenamedOutput:
    """Any other remote file system: a temporary name, then a move."""

    def __init__(self, url: str, *, overwrite: bool) -> None:
        self._url, self._overwrite = url, overwrite
        self._system, self._name = _open_remote(url, overwrite=overwrite)
        folder, _, file = self._name.rpartition("/")
        self._partial = f"{folder}/.{file}.{os.getpid()}-{secrets.token_hex(4)}.partial"
        with self._errors_named():
            self._file: Any = self._system.open(self._partial, "wb")

    def write(self, content: bytes | memoryview) -> None:
        with self._errors_named():
            self._file.write(content)

    def commit(self) -> None:
        try:
            with self._errors_named():
                self._file.close()
                if not self._overwrite and self._system.exists(self._name):
                    raise _exists(self._url)
                over = {"overwrite": True} if self._overwrite and is_hdfs_native(self._system) else {}
                self._system.mv(self._partial, self._name, **over)
        except FileExistsError:
            raise _exists(self._url) from None
        finally:
            self.abandon()

    def abandon(self) -> None:
        with contextlib.suppress(Exception):  # One that broke cannot be closed, and goes all the same.
            self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._partial)

    @contextlib.contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Errors that say nothing of the file become an OSError that does; drivers raise others too."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            raise unwritten(error, self._url) from error


def _open_remote(url: str, *, overwrite: bool) -> tuple[Any, str]:
    system, name = open_system(url)
    if not overwrite and system.exists(name):
        raise _exists(url)
    return system, name


def _write_all(file: BinaryIO, content: bytes | memoryview) -> None:
    left = memoryview(content)
    while left:
        # A disk that fills up takes a part first and refuses the rest.
        left = left[file.write(left) :]


def _rename_to_new(source: Path, target: Path) -> None:
    """Renames without replacing: two writers of one name cannot both succeed."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise _exists(target) from None
    except OSError:  # File systems without hard links: the window between question and rename is small.
        if target.exists():
            raise _exists(target) from None
        source.rename(target)


def _exists(target: Path | str) -> FileExistsError:
    return FileExistsError(f"{target} exists already: overwrite=True replaces it, append=True adds to it")
