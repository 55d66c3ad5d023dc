"""The soak notices what it is there for, and its rounds run."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

import soak

START = soak.Footprint(threads=3, descriptors=9, memory_bytes=100 << 20, children=0, shared_memory=1, files=6)


@pytest.mark.parametrize("name", ["threads", "descriptors", "children", "shared_memory", "files"])
def test_one_more_of_anything_is_growth(name):
    (sentence,) = soak.grown(START, replace(START, **{name: getattr(START, name) + 1}))

    assert sentence.startswith(f"{name} grew from {getattr(START, name)} to {getattr(START, name) + 1}")


def test_memory_may_go_up_and_down_a_little():
    assert soak.grown(START, replace(START, memory_bytes=160 << 20)) == []
    assert len(soak.grown(START, replace(START, memory_bytes=165 << 20))) == 1


def test_less_is_no_growth():
    assert soak.grown(START, replace(START, threads=1, memory_bytes=0)) == []


def test_a_footprint_sees_a_thread_a_descriptor_and_a_file(tmp_path):
    before = soak.Footprint.now(tmp_path)
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    with (tmp_path / "a").open("w"):
        now = soak.Footprint.now(tmp_path)
    end.set()
    thread.join()

    assert (now.threads, now.descriptors, now.files) == (before.threads + 1, before.descriptors + 1, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_footprint_sees_a_child_that_nobody_waited_for(tmp_path):
    before = soak.Footprint.now(tmp_path)
    child = os.fork()
    if not child:
        os._exit(0)
    now = soak.Footprint.now(tmp_path)
    os.waitpid(child, 0)

    assert now.children == before.children + 1


def test_some_rounds_leave_nothing():
    command = [sys.executable, soak.__file__, "--seconds", "0", "--seed", "3", "--warm-up", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("soak: nothing grew\n")
