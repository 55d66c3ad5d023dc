"""The command `wellfed`: stdout is the answer, stderr is the talk, the exit code is the verdict.

    0    nothing wrong
    1    found something: damage, a mismatch, something skipped
    2    could not run: usage, no such file, an item at fault
    101  a bug in wellfed
    141  who read the answer closed it: `wellfed head ... | head -1`
    130  Ctrl-C; 143 and 129 where SIGTERM or SIGHUP came: all end it alike, with nothing left behind

A command's module is loaded when the command is called, so the help of the whole costs nothing but click.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wellfed.errors import SKIP_DAMAGE, RecordError, WellfedError

if TYPE_CHECKING:
    from collections.abc import Mapping

FOUND_SOMETHING, COULD_NOT_RUN, OUR_BUG = 1, 2, 101
_SIGNALLED = 128  # And the signal's number, as shells have it.
# Controls, line separators, turns of the writing direction, and bytes of names that are no UTF-8.
_COMMANDS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class LazyGroup(click.Group):
    """A group whose commands are loaded when they are called.

    Args:
      table: Command name to the module that holds it (as `command`) and its one-line help.
    """

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature.
        """Names in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 -- as above.
        """Loads a command."""
        if name not in self.table:
            return None
        command: click.Command = importlib.import_module(self.table[name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- as above.
        """Lists the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


class App(LazyGroup):
    """The whole command: turns what a command raises into one sentence and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Runs all of it; click itself tells a usage error."""
        try:
            return super().main(*args, **kwargs)
        except OSError:  # Standard error is full.
            sys.exit(COULD_NOT_RUN)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Reads the arguments; `--help` and `--version` are answered here, before any command is called."""
        try:
            return super().make_context(*args, **kwargs)
        except OSError as error:  # Nothing but the answer was written so far.
            raise click.exceptions.Exit(self._unanswered(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command that was called."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, click.Abort) as error:
            number = error.number if isinstance(error, _Stopped) else signal.SIGINT
            told = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
            with contextlib.suppress(OSError):  # After SIGHUP there may be no terminal any more.
                click.echo("\n".join([told, *getattr(error, "__notes__", ())]), err=True)
            ctx.exit(_SIGNALLED + number)
        except (WellfedError, OSError) as error:
            if _is_of_echo(error):
                ctx.exit(self._unanswered(error))
            self._tell(ctx, error, self._in_options(ctx, sentence(error)))
            ctx.exit(FOUND_SOMETHING if isinstance(error, RecordError) else COULD_NOT_RUN)
        except MemoryError as error:
            self._tell(ctx, error, f"memory ran out: {error or 'no bytes were left'}")
            ctx.exit(COULD_NOT_RUN)
        except Exception as error:  # noqa: BLE001 -- the last line of defence; --debug shows all of it.
            self._tell(ctx, error, f"this is a bug in wellfed: {type(error).__name__}: {error} (--debug shows more)")
            ctx.exit(OUR_BUG)

    def _in_options(self, ctx: click.Context, text: str) -> str:
        """What to do against damage, as the command that was called has it."""
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        can_skip = command is not None and any(option.name == "on_damage" for option in command.params)
        if can_skip:
            return text.replace(SKIP_DAMAGE, "Skip damage with --on-damage skip")
        return text.replace(f"{SKIP_DAMAGE}; list it", "List the damage")

    def _unanswered(self, error: BaseException) -> int:
        """Ends the answer that stdout did not take; gives the exit code."""
        # What is left is let go: Python would try to write it at exit once more.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 -- open until the process ends.
        if isinstance(error, BrokenPipeError):  # `wellfed head ... | head -1`: who reads has enough.
            return _SIGNALLED + getattr(signal, "SIGPIPE", 13)
        with contextlib.suppress(OSError):  # Standard error may be full, too.
            click.echo(f"wellfed: the answer cannot be written to standard output: {sentence(error)}", err=True)
        return COULD_NOT_RUN

    def _tell(self, ctx: click.Context, error: BaseException, text: str) -> None:
        with contextlib.suppress(OSError):  # As above.
            if ctx.params.get("debug"):
                click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
            click.echo(f"wellfed: {text}", err=True)


def _is_of_echo(error: BaseException) -> bool:
    """Whether an error comes from printing the answer."""
    return any(frame.f_code is click.echo.__code__ for frame, _ in traceback.walk_tb(error.__traceback__))


def sentence(error: BaseException) -> str:
    """Returns an error as people read it: the library's sentence, then its notes."""
    if isinstance(error, OSError) and not isinstance(error, WellfedError) and error.strerror:
        reason = _where_a_folder_is_due(error) or error.strerror
        text = f"{error.filename}: {reason}" if error.filename else reason
    else:
        text = str(error)
    return "\n".join([one_line(text), *getattr(error, "__notes__", ())])


def _where_a_folder_is_due(error: OSError) -> str:
    """Names the part of a path that is a file, though more of the path follows; "" for any other error."""
    if not isinstance(error, NotADirectoryError) or not error.filename:
        return ""
    path = Path(os.fspath(error.filename))
    file = next((part for part in (path, *path.parents) if part.is_file()), None)
    return f"{file} is a file, where a folder is due" if file else ""


def one_line(text: str) -> str:
    r"""Returns a text as it may go to a terminal: a file's name may hold what breaks the line or commands the terminal.

    >>> one_line("a\nb\x1b[31m")
    'a\\nb\\x1b[31m'
    """
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


@click.group(
    cls=App,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    table={
        "pack": ("wellfed.cli.pack", "Pack raw data into TFRecord shards."),
        "export": ("wellfed.cli.export", "Turn a packed data set back into files."),
        "head": ("wellfed.cli.head", "Show the first records."),
        "schema": ("wellfed.cli.schema", "Show which features the records hold."),
        "verify": ("wellfed.cli.verify", "Check every record and say where the damage is."),
        "index": ("wellfed.cli.index", "Write the indexes that make records addressable."),
        "bench": ("wellfed.cli.bench", "Show how fast records are fed, and what limits it."),
    },
)
@click.version_option(sys.modules["wellfed"].__version__, message="wellfed %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def app(debug: bool) -> None:
    """Pack raw data into TFRecord shards, and look after them.

    \b
    Example: wellfed pack images photos/ out/ --name photos --split train=0.9,test=0.1
    """
    del debug  # App reads it from the context.


class _Stopped(KeyboardInterrupt):
    """A signal that ends a program was sent: what Ctrl-C tidies up, it does too.

    Attributes:
      number: Which one.
    """

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number)
        self.number = number


def _stop(number: int, _frame: object) -> None:
    raise _Stopped(signal.Signals(number))


def main() -> None:
    """The entry point of the console script."""
    # Else temporary files would stay behind: `timeout`, a batch system or a container's end sends these.
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) == signal.SIG_DFL:  # `nohup` has SIGHUP ignored.
            signal.signal(number, _stop)
    for closed in ("stdout", "stderr"):  # `2>&-`: the next file that is opened would take its place.
        if getattr(sys, closed) is None:
            setattr(sys, closed, open(os.devnull, "w"))  # noqa: PTH123, SIM115 -- open until the process ends.
    if isinstance(sys.stdout, io.TextIOWrapper):  # A name that the terminal has no letters for is still told.
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="wellfed")
