"""The frame of a program: `tf.app.run`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

from wellfed.compat import flags
from wellfed.compat.flags import FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> NoReturn:
    """Reads the flags, calls the program's `main` with the arguments that are left, and exits with what it gives.

    Args:
      main: The function; `main` of the program where None.
      argv: The command line; the program's own where None.
    """
    left = FLAGS(argv)
    main = main or sys.modules["__main__"].main
    sys.exit(main(left))


__all__ = ["flags", "run"]
