"""The command line: parses, calls one function of the library, renders, exits."""

from wellfed.cli.main import app, main

__all__ = ["app", "main"]
