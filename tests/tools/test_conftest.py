"""The rules that conftest.py holds every test to do catch what they forbid."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.fixture
def run(tmp_path):
    """Runs the body of one test under the rules, in a project of its own whose temporary folder is `temp`."""
    (tmp_path / "temp").mkdir()
    shutil.copy(CONFTEST, tmp_path)

    def run_test(*body):
        lines = ["def test_it(tmp_path):", *(f"    {line}" for line in body)]
        (tmp_path / "test_it.py").write_text("\n".join(lines), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "test_it.py"]
        environment = {**os.environ, "TMPDIR": str(tmp_path / "temp")}
        done = subprocess.run(
            command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout

    return run_test


def test_a_test_that_writes_into_its_own_folder_passes(run):
    code, output = run('(tmp_path / "x").write_text("x")')

    assert code == 0, output


@pytest.mark.parametrize(
    "act", ['open("x", "w").close()', 'import os; os.mkdir("x")', 'import os; os.rename(tmp_path, "x")']
)
def test_a_test_that_writes_elsewhere_fails(run, act):
    code, output = run(act)

    assert code == 1
    assert "the test wrote outside tmp_path" in output


def test_a_test_that_leaves_a_thread_fails_with_the_thread_s_name(run):
    code, output = run(
        "import threading",
        'threading.Thread(target=threading.Event().wait, args=(30,), name="forgotten", daemon=True).start()',
    )

    assert code == 1
    assert "the test left 1 threads: ['forgotten']" in output


def test_a_thread_that_is_about_to_end_is_waited_for(run):
    code, output = run("import threading", "threading.Thread(target=threading.Event().wait, args=(0.1,)).start()")

    assert code == 0, output
