"""Options of a program on its command line: `tf.app.flags` and `tf.flags`.

flags.DEFINE_integer("batch_size", 64, "Elements a batch.")
flags.FLAGS.batch_size      read from the command line at the first look
"""

from __future__ import annotations

import argparse
import sys
from typing import Any


class FlagValues:
    """The flags that a program has defined, as attributes; read from `sys.argv` at the first look.

    Arguments that belong to no flag are left to the program.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.__dict__["_parser"] = argparse.ArgumentParser(allow_abbrev=False)
        self.__dict__["_values"] = {}
        self.__dict__["_parsed"] = False

    def __call__(self, argv: list[str] | None = None, known_only: bool = True) -> list[str]:
        """Reads flags from a command line, whose first entry is the program; gives what is left of it."""
        argv = sys.argv if argv is None else argv
        found, left = self._parser.parse_known_args(argv[1:])
        if left and not known_only:
            self._parser.error(f"unknown command line flags: {' '.join(left)}")
        for name, value in vars(found).items():
            self._values.setdefault(name, value)
        self.__dict__["_parsed"] = True
        return [*argv[:1], *left]

    def define(self, name: str, default: Any, help: str | None, **options: Any) -> None:
        """Adds a flag."""
        self._parser.add_argument(f"--{name}", default=default, help=help, **options)
        self.__dict__["_parsed"] = False

    def flag_values_dict(self) -> dict[str, Any]:
        """Gives all flags with their values."""
        if not self._parsed:
            self()
        return dict(self._values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._parsed:
            self()
        if name not in self._values:
            raise AttributeError(f"no flag --{name} is defined")
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self.flag_values_dict()

    def __dir__(self) -> list[str]:
        return list(self.flag_values_dict())


FLAGS = FlagValues()


def DEFINE_string(name: str, default: str | None, help: str | None = None) -> None:
    """Defines a flag of text."""
    FLAGS.define(name, default, help)


def DEFINE_integer(name: str, default: int | None, help: str | None = None) -> None:
    """Defines a flag of an integer."""
    FLAGS.define(name, default, help, type=int)


def DEFINE_float(name: str, default: float | None, help: str | None = None) -> None:
    """Defines a flag of a number."""
    FLAGS.define(name, default, help, type=float)


def DEFINE_boolean(name: str, default: bool | None, help: str | None = None) -> None:
    """Defines a flag of a truth: --name, --noname, or --name=false."""
    FLAGS.define(name, default, help, type=_truth, nargs="?", const=True)
    FLAGS.define(f"no{name}", argparse.SUPPRESS, argparse.SUPPRESS, dest=name, action="store_const", const=False)


def DEFINE_enum(name: str, default: str | None, enum_values: list[str], help: str | None = None) -> None:
    """Defines a flag of one of several texts."""
    FLAGS.define(name, default, help, choices=enum_values)


def DEFINE_list(name: str, default: Any, help: str | None = None) -> None:
    """Defines a flag of texts with commas between them."""
    default = default.split(",") if isinstance(default, str) else default
    FLAGS.define(name, default, help, type=lambda text: text.split(","))


DEFINE_bool = DEFINE_boolean


def mark_flag_as_required(name: str) -> None:
    """Has the program refuse to start without a flag."""
    for action in FLAGS._parser._actions:
        if action.dest == name:
            action.required = True


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "t", "1", "yes", "false", "f", "0", "no"):
        raise argparse.ArgumentTypeError(f"true or false is due, got {text!r}")
    return text.lower() in ("true", "t", "1", "yes")


__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_string",
    "FlagValues",
    "mark_flag_as_required",
]
