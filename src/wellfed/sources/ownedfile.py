"""A temporary file that ends with the object that made it."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref


class OwnedFile:
    """A file in the temporary folder, made empty; removed with this object, or at the end of the program.

    A pickled copy, and a forked process's, know the path and do not own it: they read the file as long as the owner
    lives, on a machine that has it.

    Attributes:
      path: Where it is.

    Raises:
      OSError: It cannot be made. The folder is TMPDIR's, or the system's.
    """

    def __init__(self) -> None:
        descriptor, self.path = tempfile.mkstemp(prefix="wellfed-")
        os.close(descriptor)
        weakref.finalize(self, _remove, self.path, os.getpid())

    def __getstate__(self) -> dict[str, str]:
        return {"path": self.path}


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:  # A forked child has the finalizer too.
        with contextlib.suppress(OSError):
            os.unlink(path)
