from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from wellfed.sources import ClassFolders, Mnist

PROGRAM = Path(__file__).parents[2] / "examples" / "make_digits.py"


def run(out: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, PROGRAM, out], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_digits_are_laid_out_as_png_files_in_ten_class_folders(tmp_path, digits):
    done = run(tmp_path / "digits")

    assert (done.returncode, done.stderr) == (0, "")
    folders, source = ClassFolders(tmp_path / "digits"), Mnist(digits)
    assert folders.schema["label"].names == source.schema["label"].names
    assert np.array_equal(np.bincount(folders.listing().labels), np.bincount(source.listing().labels))
    digit = source.load(1234)
    with Image.open(tmp_path / "digits" / str(digit["label"]) / "01234.png") as picture:
        assert np.array_equal(np.asarray(picture), digit["image"][:, :, 0])


def test_a_folder_that_is_there_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("x")

    done = run(tmp_path)

    assert done.returncode == 1
    assert "is there already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
