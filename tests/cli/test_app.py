"""The command as a whole: help, version, errors, exit codes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

import wellfed as wf
from wellfed.cli import app
from wellfed.cli.main import LazyGroup, sentence
from wellfed.errors import CorruptRecordError, WellfedError


def commands(group=app, path=()):
    """Gives every command with its path."""
    with click.Context(group) as ctx:
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            yield (*path, name), command
            if isinstance(command, click.Group):
                yield from commands(command, (*path, name))


COMMANDS = {" ".join(path): (path, command) for path, command in commands()}


@pytest.mark.parametrize(("path", "command"), COMMANDS.values(), ids=COMMANDS)
def test_help_opens_with_a_verb_and_ends_with_one_example(wellfed, path, command):
    text = command.help.strip()

    assert text.split()[0] in {"Pack", "Turn", "Show", "Check", "Write"}
    assert text.count("Example: ") == 1
    assert text.splitlines()[-1].strip().startswith(f"Example: wellfed {path[0]}")
    assert wellfed(*path, "--help").exit_code == 0


@pytest.mark.parametrize("group", [app, COMMANDS["pack"][1]], ids=["wellfed", "pack"])
def test_the_one_line_help_is_the_commands_own(group):
    assert isinstance(group, LazyGroup)
    for name, (_, text) in group.table.items():
        with click.Context(group) as ctx:
            own = group.get_command(ctx, name).help.strip()
        assert text.rstrip(".").split()[0] == own.split()[0]


def test_the_version_is_the_packages(wellfed):
    assert wellfed("--version").stdout == "wellfed 0.1.0\n"


def test_the_help_of_the_whole_loads_nothing_but_click():
    code = (
        "import sys; from wellfed.cli import app; app(['--help'], standalone_mode=False);"
        "print([m for m in ('numpy', 'PIL', 'rich', 'fsspec') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr == "[]\n"


def test_an_unknown_command_is_a_usage_error(wellfed):
    done = wellfed("pakc")

    assert done.exit_code == 2
    assert "No such command 'pakc'" in done.stderr
    assert done.stdout == ""


@pytest.fixture
def failing(monkeypatch):
    """Makes `wellfed head` raise."""

    def fail_with(error):
        def head(*_args, **_options):
            raise error

        monkeypatch.setattr("wellfed.summary.head", head)

    return fail_with


ERRORS = {
    "an error of wellfed": (WellfedError("a sentence"), 2, "wellfed: a sentence\n"),
    "no such file": (
        FileNotFoundError(2, "No such file or directory", "x"),
        2,
        "wellfed: x: No such file or directory\n",
    ),
    "damage": (CorruptRecordError("bad sum", "a", 3, 90), 1, "wellfed: a: record 3 at byte 90: bad sum. "),
    "Ctrl-C": (KeyboardInterrupt(), 130, "interrupted\n"),
    "no memory": (MemoryError("Unable to allocate 28 GiB"), 2, "wellfed: memory ran out: Unable to allocate 28 GiB"),
    "a bug": (ZeroDivisionError("division by zero"), 101, "wellfed: this is a bug in wellfed: ZeroDivisionError: "),
}


@pytest.mark.parametrize(("error", "code", "text"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_one_sentence_on_stderr_and_an_exit_code(wellfed, failing, error, code, text):
    failing(error)
    done = wellfed("head", "x")

    assert done.exit_code == code
    assert done.stderr.startswith(text)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_debug_shows_the_traceback(wellfed, failing):
    failing(WellfedError("a sentence"))

    assert "Traceback" in wellfed("--debug", "head", "x").stderr


def test_ctrl_c_tells_what_is_kept(wellfed, failing):
    error = KeyboardInterrupt()
    error.add_note("3 of 4 shards are kept")
    failing(error)

    assert wellfed("head", "x").stderr == "interrupted\n3 of 4 shards are kept\n"


def test_the_notes_of_an_error_are_told():
    error = WellfedError("a sentence")
    error.add_note("and what is kept")

    assert sentence(error) == "a sentence\nand what is kept"


# --- An answer that has no place to go --------------------------------------------------------------

ANSWERS = [
    ("--help",),
    ("--version",),
    ("head", "--help"),
    ("pack", "csv", "--help"),
    ("head", "{file}"),
    ("schema", "{file}"),
    ("verify", "{file}"),
    ("index", "{file}"),
    ("bench", "{file}", "--steps", "2"),
    ("bench", "{file}", "--steps", "2", "--json"),
]
PROGRAM = [sys.executable, "-c", "from wellfed.cli import main; main()"]


@pytest.fixture(scope="module")
def record_file(tmp_path_factory):
    """Returns a small file."""
    path = tmp_path_factory.mktemp("answers") / "x.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        writer.write_examples({"x": np.arange(100)})
    return path


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a Linux device")
@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_a_full_disk_under_the_answer_is_one_sentence(record_file, arguments):
    with Path("/dev/full").open("wb") as full:
        command = [*PROGRAM, *(argument.format(file=record_file) for argument in arguments)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    due = "wellfed: the answer cannot be written to standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, due)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
@pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
def test_a_reader_that_has_enough_ends_the_command_without_a_word(record_file, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    command = [*PROGRAM, *(argument.format(file=record_file) for argument in arguments)]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


WRONG = [("bogus",), ("head",), ("head", "-n", "0", "x"), ("pack", "bogus"), ("head", "nowhere")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a Linux device")
@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_what_cannot_run_ends_with_2_where_nobody_can_be_told(arguments):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=full, check=False)

    assert done.returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes descriptors")
@pytest.mark.parametrize("closed", ["1", "2"])
@pytest.mark.parametrize("arguments", [*ANSWERS, ("pack", "numpy", "{file}", "nowhere")], ids=" ".join)
def test_a_closed_descriptor_changes_no_exit_code(record_file, tmp_path, arguments, closed):
    command = [*PROGRAM, *(argument.format(file=record_file) for argument in arguments)]
    shell = ["sh", "-c", f'"$@" {closed}>&-', "sh", *command]
    done = subprocess.run(shell, stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path, check=False)

    assert done.returncode == (2 if "nowhere" in arguments else 0)


def test_a_pipe_that_breaks_elsewhere_is_an_error(wellfed, failing):
    failing(BrokenPipeError(32, "Broken pipe", "hdfs://x"))

    done = wellfed("head", "x")
    assert (done.exit_code, done.stderr) == (2, "wellfed: hdfs://x: Broken pipe\n")


# --- What people type ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "command"), COMMANDS.values(), ids=COMMANDS)
def test_an_empty_path_is_not_the_folder_where_the_user_stands(wellfed, path, command):
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    if not arguments:
        return  # A group.
    done = wellfed(*path, *["" for _ in arguments])

    assert done.exit_code == 2
    assert "got nothing between the quotes" in done.stderr or "NAME=FILE" in done.stderr


def test_a_name_that_the_terminal_has_no_letters_for_is_escaped(tmp_path, record_file):
    path = tmp_path / "数.tfrecord"
    path.write_bytes(record_file.read_bytes())
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([*PROGRAM, "verify", path], capture_output=True, env=env, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"\\u6570.tfrecord  100 records\n")
