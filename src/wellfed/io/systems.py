"""From a URL to the fsspec file system that speaks its protocol."""

from __future__ import annotations

import importlib
import os
from typing import Any

from wellfed.errors import MissingExtraError

# Protocol -> the package that speaks it, which is also the name of wellfed's extra.
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "hdfs": "pyarrow",
}


def open_system(url: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the file's name within it.

    Raises:
      MissingExtraError: The package that speaks the URL's protocol is not installed.
    """
    # Loaded here: `import wellfed` loads nothing but NumPy, and most files are on this machine.
    fsspec = importlib.import_module("fsspec")
    try:
        system, name = fsspec.core.url_to_fs(url)
    except ImportError as error:
        protocol = url.split("://", 1)[0]
        package = _PACKAGES.get(protocol)
        if package is None:
            raise  # fsspec names the package.
        raise MissingExtraError(f"{protocol}://", package, package) from error
    return system, name


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
