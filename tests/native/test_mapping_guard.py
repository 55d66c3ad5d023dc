"""A mapped file that is cut: zeros and a mark inside a guarded mapping, everything else as before.

Each test runs in a process of its own, since what it is about ends a process.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import wellfed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be cut on Windows")

PAGE = 65536  # A multiple of every page size in use.

PRELUDE = """
import faulthandler, mmap, os, sys
from wellfed import _native
path, page = sys.argv[1], int(sys.argv[2])
def write(pages):
    with open(path, "wb") as file:
        file.write(b"x" * (pages * page))
def guarded(pages):
    write(pages)
    with open(path, "rb") as file:
        return _native.map_file(file.fileno(), pages * page)
def unguarded(pages):
    write(pages)
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
"""


def run(script, tmp_path):
    source = str(Path(wellfed.__file__).parent.parent)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r})\n{PRELUDE}\n{script}"]
    command += [str(tmp_path / "file"), str(PAGE)]
    # In a sanitized build its own handler would turn the signal into an exit code.
    env = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":handle_sigbus=0"}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_a_cut_file_reads_as_zeros_and_is_marked(tmp_path):
    done = run(
        """
data = guarded(8)
os.truncate(path, page + 5)
print(_native.mapping_was_cut(data), bytes(data).count(b"x") - page, _native.mapping_was_cut(data))
""",
        tmp_path,
    )

    assert (done.stdout, done.stderr, done.returncode) == ("False 5 True\n", "", 0)


def test_a_native_scan_of_a_cut_file_ends_in_damage(tmp_path):
    done = run(
        """
import numpy as np
framed = _native.frame_records(bytes(4 * page), np.array([0, 0]), np.array([page, 3 * page]))
open(path, "wb").write(framed)
data = _native.map_file(os.open(path, os.O_RDONLY), len(framed))
os.truncate(path, page)
offsets, position, status = _native.scan_frames(data)
print(len(offsets), position, status == _native.FRAME_BAD_PAYLOAD_CRC, _native.mapping_was_cut(data))
""",
        tmp_path,
    )

    assert (done.stdout, done.stderr, done.returncode) == ("0 0 True True\n", "", 0)


def test_a_mapping_without_guard_still_ends_the_process(tmp_path):
    done = run("kept = guarded(1); data = unguarded(2); os.truncate(path, 0); data[0]", tmp_path)

    assert done.returncode == -signal.SIGBUS


def test_a_mapping_that_ended_is_guarded_no_longer(tmp_path):
    done = run(
        """
data = guarded(4)
kept = data[page:]
del data
os.truncate(path, 0)
print(kept[0], flush=True)  # A view keeps mapping and guard.
del kept
data = unguarded(4)
os.truncate(path, 0)
data[0]
""",
        tmp_path,
    )

    assert (done.stdout, done.returncode) == ("0\n", -signal.SIGBUS)


ENABLE = {"before": "faulthandler.enable(); data = guarded(4)", "after": "data = guarded(4); faulthandler.enable()"}


@pytest.mark.parametrize("enable", ENABLE.values(), ids=ENABLE)
def test_faulthandler_still_reports_other_faults_once(enable, tmp_path):
    done = run(f"{enable}; data = (data, guarded(1)); other = unguarded(2); os.truncate(path, 0); other[0]", tmp_path)

    assert done.returncode == -signal.SIGBUS
    assert done.stderr.count("Fatal Python error: Bus error") == 1


@pytest.mark.parametrize("enable", ENABLE.values(), ids=ENABLE)
def test_the_guard_holds_beside_faulthandler(enable, tmp_path):
    done = run(
        f"{enable}; os.rename(path, path + '.cut'); more = guarded(1); os.truncate(path + '.cut', 0); print(data[0])",
        tmp_path,
    )

    assert (done.stdout, done.stderr, done.returncode) == ("0\n", "", 0)


def test_a_bus_error_sent_by_hand_ends_the_process(tmp_path):
    done = run("data = guarded(1); os.kill(os.getpid(), 7 if sys.platform == 'linux' else 10)", tmp_path)

    assert done.returncode == -signal.SIGBUS
