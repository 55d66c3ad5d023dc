"""From a URL to the fsspec file system that speaks its protocol."""

from __future__ import annotations

import importlib
import os
from typing import Any

from wellfed.errors import MissingExtraError, RemoteError
from wellfed.io.attempts import named

# Protocol -> the package that speaks it, which is also the name of wellfed's extra.
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "hdfs": "hdfs-native",
    "viewfs": "hdfs-native",
}


def open_system(url: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the file's name within it.

    Raises:
      MissingExtraError: The package that speaks the URL's protocol is not installed.
      RemoteError: The package refuses the URL, or does not work in this process.
      OSError: Nothing that is installed speaks the protocol, or the package would read another name.
    """
    # Loaded here: `import wellfed` loads nothing but NumPy, and most files are on this machine.
    fsspec = importlib.import_module("fsspec")
    _refuse_fork(url)
    try:
        system, name = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError, OSError) as error:
        protocol = url.split("://", 1)[0]
        package = _PACKAGES.get(protocol)
        if package is None and isinstance(error, ValueError):
            raise OSError(f"{url}: nothing that is installed reads {protocol}:// ({error})") from error
        if package is None or not _is_missing(error):
            raise  # fsspec names the package.
        raise MissingExtraError(f"{protocol}://", package, package) from error
    except RuntimeError as error:  # hdfs-native's, of a URL without a host where no configuration names one.
        raise named(error, url, 0, 0, 1) from error
    if is_hdfs_native(system):
        _HDFS_PROCESS.setdefault("first", os.getpid())
        if set("?#") & set(url):
            what = 'hdfs-native reads no further than "?" or "#" in a name'
            raise OSError(f"{url}: {what}. Use other names, and * or [0-9] in patterns")
    return system, name


def _refuse_fork(url: str) -> None:
    """Refuses to use hdfs-native (0.14) in a fork of a process that used it.

    Connections that the parent used last are used again, and a client that the parent had ends when its last owner
    does: both wait for threads that a fork does not have.
    """
    if url.startswith(("hdfs://", "viewfs://")) and _HDFS_PROCESS.get("first", os.getpid()) != os.getpid():
        reason = 'hdfs-native does not work in a fork of a process that used it. Start processes by "spawn"'
        raise RemoteError(reason, url, 0, 0, 1)


_HDFS_PROCESS: dict[str, int] = {}


def _is_missing(error: Exception) -> bool:
    """Whether a package is missing that speaks the protocol."""
    if isinstance(error, ImportError):
        return True
    # pyarrow, which fsspec asks for hdfs:// without hdfs-native, needs Java and Hadoop, and names each place it looked
    # at; viewfs:// is known through hdfs-native alone.
    return str(error).startswith(("Unable to load lib", "Protocol not known: viewfs"))


def is_hdfs_native(system: Any) -> bool:
    """Whether `mv(..., overwrite=True)` is one step that replaces what is there, and `rm` takes a whole folder.

    Others copy and remove, or take brackets in a name for a pattern.
    """
    return type(system).__module__ == "hdfs_native.fsspec"


class System:
    """The file system of one URL, opened again after a fork: fsspec's connections do not survive one.

    Attributes:
      name: The URL within it.

    Raises:
      MissingExtraError: The package that speaks the URL's protocol is not installed.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._open()

    def _open(self) -> None:
        self._system, self.name = open_system(self._url)
        self._process = os.getpid()

    def get(self) -> Any:
        """The file system, as of this process."""
        if self._process != os.getpid():
            self._open()
        return self._system

    def __reduce__(self) -> tuple[Any, ...]:
        return (System, (self._url,))
