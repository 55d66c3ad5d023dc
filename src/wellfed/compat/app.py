"""The frame of a program: `tf.app.run`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from wellfed.compat import flags
from wellfed.compat.flags import FLAGS


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> NoReturn:
    """Reads the flags, calls the program's `main` with the arguments that are left, and exits with what it gives.

    Args:
      main: The function; `main` of the program where None.
      argv: The command line; the program's own where None.
    """
    left = FLAGS(argv)
    main = main or sys.modules["__main__"].main  # type: ignore[attr-defined]  # The program's, as TensorFlow has it.
    sys.exit(main(left))


__all__ = ["flags", "run"]
