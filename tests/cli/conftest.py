"""Runs the command line as people do, with stdout and stderr apart."""

import contextlib
import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from wellfed.cli import app
from wellfed.image import encode_image

IDX = Path(__file__).parent.parent.parent / "examples" / "data"


@pytest.fixture
def wellfed():
    """Returns the command: arguments in; `exit_code`, `stdout` and `stderr` out."""

    def run(*args):
        return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="wellfed")

    return run


@pytest.fixture
def corpus():
    """Returns the folder of files that other people's software wrote."""
    return Path(__file__).parent.parent / "data" / "corpus"


@pytest.fixture
def idx():
    """Returns a folder of MNIST's test digits as idx files; its README is no idx file."""
    return IDX


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """Returns a folder of 100 real digits as PNG in class folders."""
    root = tmp_path_factory.mktemp("digits")
    pixels = np.frombuffer(gzip.decompress((IDX / "t10k-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    labels = np.frombuffer(gzip.decompress((IDX / "t10k-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    for number, (image, label) in enumerate(zip(pixels.reshape(-1, 28, 28)[:100], labels[:100], strict=True)):
        path = root / str(label) / f"{number:05d}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(encode_image(image))
    return root


@pytest.fixture
def packed(wellfed, digits, tmp_path):
    """Returns a folder with the digits packed."""
    out = tmp_path / "packed"
    done = wellfed("pack", "images", digits, out, "--name", "digits", "--split", "train=0.7,test=0.3", "--shards", "2")
    assert done.exit_code == 0, done.stderr
    return out


@pytest.fixture
def on_terminal():
    """Runs `wellfed` with a terminal as its standard error; gives what was shown there, and the standard output."""

    def run(*arguments) -> tuple[bytes, bytes]:
        ours, theirs = os.openpty()
        command = [sys.executable, "-c", "from wellfed.cli import app; app()", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100", "TERM": "xterm"}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # Linux's way to say that all of it was read.
                while part := os.read(ours, 65536):
                    shown += part
            answer = process.stdout.read()
        os.close(ours)
        return shown, answer

    return run
