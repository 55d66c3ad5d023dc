"""A pack that ends early, in any way, goes on when it is run again."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import killed_pack
import pytest
from packed_folder import contents, numbers
from tiny_source import TinySource

from wellfed import _native
from wellfed.datasets import Text, open_dataset
from wellfed.errors import DatasetError, PackError, SourceError
from wellfed.packing import pack
from wellfed.packing.run import LocalPool
from wellfed.packing.staging import Lock

SUPPORT = Path(killed_pack.__file__).parent
KILLED = -signal.SIGKILL
TOO_LATE = 10**9


def run_killed(out, last, *flags):
    """Packs in a process that dies at operation `last`; returns its exit code and what it printed."""
    path = os.pathsep.join([str(SUPPORT), *sys.path])
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "killed_pack.py"), str(out), str(last), *flags],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, KILLED), done.stderr
    return done.returncode, done.stdout


def pack_whole(out, **options):
    return pack(killed_pack.SOURCE, out, workers=1, **{**killed_pack.OPTIONS, **options})


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Returns the files of a pack that nobody killed, and how many operations it took."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    code, printed = run_killed(out, TOO_LATE)
    assert code == 0
    return contents(out), int(printed)


@pytest.mark.parametrize("share", random.Random(7).choices(range(1, 1000), k=10))
def test_killed_at_any_moment_and_run_again_gives_the_same_bytes(tmp_path, undisturbed, share):
    whole, operations = undisturbed
    out = tmp_path / "out"

    code, _ = run_killed(out, 1 + operations * share // 1000)
    assert code == KILLED
    state(out)
    pack_whole(out)

    assert contents(out) == whole
    assert state(out) == "whole"


@pytest.mark.parametrize("share", random.Random(6).choices(range(1, 1000), k=3))
def test_killed_with_two_workers_and_run_again_gives_the_same_bytes(tmp_path, undisturbed, share):
    whole, operations = undisturbed
    out = tmp_path / "out"

    run_killed(out, 1 + operations * share // 1000, "--two-workers")
    pack_whole(out)

    assert contents(out) == whole


@pytest.fixture(scope="module")
def long_packs(tmp_path_factory):
    """Returns, by kind of workers, the files of a longer pack that nobody killed, and how many seconds it took."""
    folder = tmp_path_factory.mktemp("long")
    seconds = {workers: pack_killed_after(None, folder / workers, workers) for workers in ("threads", "processes")}
    return {workers: (contents(folder / workers), seconds[workers]) for workers in seconds}


def pack_killed_after(seconds, out, workers):
    """Packs in a process that is killed so long after it began; returns how long it took."""
    path = os.pathsep.join([str(SUPPORT), *sys.path])
    command = [sys.executable, str(SUPPORT / "killed_pack.py"), str(out), workers, "--timed"]
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begin\n"
        began = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.kill()
    assert process.returncode in (0, KILLED)
    return time.monotonic() - began


MOMENTS = [("threads", random.Random().random()) for _ in range(10)] + [
    ("processes", random.Random().random()) for _ in range(4)
]


@pytest.mark.parametrize(("workers", "share"), MOMENTS, ids=range(len(MOMENTS)))
def test_killed_at_a_random_moment_of_the_clock_and_run_again_gives_the_same_bytes(
    tmp_path, long_packs, workers, share
):
    whole, seconds = long_packs[workers]
    out = tmp_path / "out"

    pack_killed_after(share * seconds, out, workers)
    if state(out) == "none" or (out / ".wellfed" / "pack" / "plan.json").exists():  # Else it had ended.
        pack(killed_pack.LONG_SOURCE, out, workers=2, **killed_pack.LONG_OPTIONS)

    assert contents(out) == whole, f"killed {share * seconds:.3f} s after it began, of {seconds:.3f} s"


def test_what_was_half_written_when_a_pack_was_killed_goes(tmp_path, undisturbed):
    whole, operations = undisturbed
    out = tmp_path / "out"
    run_killed(out, 1 + operations // 2)
    for name in (".features.json.7.partial", ".wellfed/.manifest.json.7.partial", ".mine.7.partial"):
        (out / name).write_bytes(b"")
    pack_whole(out)

    assert contents(out) == whole | {".mine.7.partial": b""}


def test_an_interrupt_that_ends_the_worker_processes_too_ends_the_pack(tmp_path):
    path = os.pathsep.join([str(SUPPORT), *sys.path])
    command = [sys.executable, str(SUPPORT / "killed_pack.py"), str(tmp_path / "out"), "-", "--interrupted"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert "Exception in thread" not in done.stderr


@pytest.mark.skipif(not Path("/proc").exists(), reason="whether a process runs is told by /proc")
def test_worker_processes_end_when_the_pack_is_killed(tmp_path):
    code, _ = run_killed(tmp_path / "out", tmp_path / "marker", "--from-worker")
    worker = int((tmp_path / "marker").read_text())

    assert code == KILLED
    waited = 0.0
    while is_running(worker) and waited < 10:
        threading.Event().wait(0.02)
        waited += 0.02
    assert not is_running(worker)


def is_running(process):
    """Says whether a process is there that is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("share", random.Random(8).choices(range(1, 1000), k=3))
def test_killed_twice_and_run_again_gives_the_same_bytes(tmp_path, undisturbed, share):
    whole, operations = undisturbed
    out = tmp_path / "out"

    run_killed(out, 1 + operations * share // 2000)
    run_killed(out, 1 + operations * share // 2000)
    pack_whole(out)

    assert contents(out) == whole


@pytest.mark.parametrize("share", random.Random(5).choices(range(1, 1000), k=4))
def test_a_stream_that_was_killed_begins_again_and_gives_the_same_bytes(tmp_path, share):
    _, operations = run_killed(tmp_path / "whole", TOO_LATE, "--stream")
    out = tmp_path / "out"

    code, _ = run_killed(out, 1 + int(operations) * share // 1000, "--stream")
    assert code == KILLED
    state(out)
    killed_pack.pack_stream(out)

    assert contents(out) == contents(tmp_path / "whole")


@pytest.mark.parametrize("share", random.Random(9).choices(range(1, 1000), k=8))
def test_killed_while_it_replaces_a_data_set_leaves_the_old_one_or_none(tmp_path, undisturbed, share):
    whole, operations = undisturbed
    out = tmp_path / "out"
    pack(TinySource(30), out, name="tiny", split={"train": 0.5, "test": 0.5}, shards=3)
    old = numbers(out)

    run_killed(out, 1 + operations * share // 1000, "--overwrite")

    if state(out) == "whole" and open_dataset(out).splits["train"].records == len(old):
        assert numbers(out) == old
    pack_whole(out, overwrite=True)
    assert contents(out) == whole


def state(out):
    """Returns "whole" or "none"; fails where a data set opens and its shards are not what the manifest says."""
    try:
        dataset = open_dataset(out)
    except DatasetError:
        return "none"
    for shards in dataset.manifest.splits.values():
        for shard in shards:
            assert f"{_native.crc32c((out / shard.file).read_bytes()):08x}" == shard.crc32c
    return "whole"


def test_finished_shards_are_not_written_again(tmp_path):
    bad = TinySource(60, bad=(57,))
    with pytest.raises(SourceError, match="is broken"):
        pack(bad, tmp_path, name="tiny", shards=6, shuffle=False, workers=1)
    staged = sorted((tmp_path / ".wellfed" / "pack" / "done").iterdir())

    report = pack(TinySource(60), tmp_path, name="tiny", shards=6, shuffle=False, workers=1)

    assert report.resumed_shards == len(staged)
    assert numbers(tmp_path) == list(range(60))


def failed_pack(out):
    """Leaves a pack with one of two shards finished."""
    with pytest.raises(SourceError, match="is broken") as caught:
        pack(TinySource(20, bad=(15,)), out, name="tiny", shards=2, shuffle=False, workers=1)
    return caught.value


def test_an_error_tells_that_finished_shards_are_kept(tmp_path):
    error = failed_pack(tmp_path)

    assert error.__notes__ == [
        'on_error="skip" (--on-error skip) leaves such items out and lists them.',
        "1 of 2 shards are finished and kept: run it again with the same input and options to go on.",
    ]
    with pytest.raises(DatasetError, match="is not whole yet"):
        open_dataset(tmp_path)


class OtherText(TinySource):
    @property
    def schema(self):
        return super().schema.replace({"more": Text()})


CHANGED = {
    "another seed": (TinySource(20), {"seed": 1}, "seed was 0, is 1"),
    "other shards": (TinySource(20), {"shards": 3}, "shards was 2, is 3"),
    "another item": (TinySource(21), {}, "the source had 20 items, it has 21"),
    "another size": (TinySource(20, size=99), {}, "names, sizes or classes of the source's items have changed"),
    "another schema": (OtherText(20), {}, "the schema has changed"),
}


@pytest.mark.parametrize(("source", "options", "message"), CHANGED.values(), ids=CHANGED)
def test_going_on_with_something_else_is_noticed(tmp_path, source, options, message):
    failed_pack(tmp_path)

    with pytest.raises(PackError, match=f"{message}.*--overwrite"):
        pack(source, tmp_path, **{"name": "tiny", "shards": 2, "shuffle": False, **options})


def test_beginning_again_drops_what_the_other_pack_left(tmp_path):
    failed_pack(tmp_path / "out")
    pack(TinySource(21), tmp_path / "out", name="tiny", overwrite=True)
    pack(TinySource(21), tmp_path / "fresh", name="tiny")

    assert contents(tmp_path / "out") == contents(tmp_path / "fresh")


def test_a_damaged_note_of_a_finished_shard_only_costs_writing_it_again(tmp_path):
    failed_pack(tmp_path)
    (note,) = (tmp_path / ".wellfed" / "pack" / "done").iterdir()
    note.write_bytes(note.read_bytes()[:10])

    report = pack(TinySource(20), tmp_path, name="tiny", shards=2, shuffle=False)

    assert (report.resumed_shards, numbers(tmp_path)) == (0, list(range(20)))


def test_a_second_pack_into_a_folder_is_refused_while_the_first_runs(tmp_path):
    def pack_again(_):
        with pytest.raises(PackError, match="another pack is writing here now"):
            pack(TinySource(20), tmp_path, name="tiny")
        refused.append(True)

    refused = []
    pack(TinySource(20), tmp_path, name="tiny", progress=pack_again)

    assert refused
    assert len(numbers(tmp_path)) == 20


def test_a_second_pack_from_another_process_is_refused(tmp_path):
    lock = Lock(tmp_path / ".wellfed" / "pack" / "lock", str(tmp_path))
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "killed_pack.py"), str(tmp_path), str(TOO_LATE)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    lock.release()

    assert "another pack is writing here now" in done.stderr


def test_ctrl_c_keeps_finished_shards_and_leaves_no_thread(tmp_path):
    def interrupt(now):
        if now.shards:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pack(TinySource(3000), tmp_path, name="tiny", shards=30, workers=1, progress=interrupt)
    report = pack(TinySource(3000), tmp_path, name="tiny", shards=30, workers=1)

    assert report.resumed_shards >= 1
    assert sorted(numbers(tmp_path)) == list(range(3000))


@dataclass(frozen=True)
class Flaky(TinySource):
    """Fails the first time item 3 is read, as a network file system may."""

    marker: str = ""

    def load(self, index):
        marker = Path(self.marker)
        if index == 3 and not marker.exists():
            marker.touch()
            raise OSError(5, "Input/output error", "item/3")
        return super().load(index)


def test_a_task_that_fails_once_is_tried_again(tmp_path):
    pack(Flaky(10, marker=str(tmp_path / "marker")), tmp_path / "out", name="tiny")

    assert sorted(numbers(tmp_path / "out")) == list(range(10))


def test_a_full_disk_is_one_clear_error_and_the_finished_part_is_kept(tmp_path):
    resource = pytest.importorskip("resource", reason="how large a file may be is set on POSIX alone")
    rows = [{"text": "a" * (10 if number < 30 else 10_000)} for number in range(40)]
    options = {"name": "texts", "shards": 4, "shuffle": False, "workers": 1}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))  # As a quota has it: writing fails in the middle.
    try:
        with pytest.raises(OSError, match=f"File too large: '{tmp_path}/out'") as caught:
            pack(rows, tmp_path / "out", **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert caught.value.__notes__[0].startswith("3 of 4 shards are finished and kept")
    assert pack(rows, tmp_path / "out", **options).resumed_shards == 3
    pack(rows, tmp_path / "whole", **options)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


class Full(TinySource):
    """Stands for a disk that is full from the first byte on."""

    def load(self, index):
        raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_from_the_beginning_is_named_and_nothing_is_left(tmp_path):
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/out'"):
        pack(Full(10), tmp_path / "out", name="tiny")

    assert not (tmp_path / "out").exists()


def test_a_dead_worker_process_is_replaced(tmp_path, monkeypatch):
    processes = partial(LocalPool, processes=True)
    monkeypatch.setattr("wellfed.packing.api.LocalPool", lambda workers, **_: processes(workers))
    pack(
        killed_pack.KillsItsProcess(10, marker=str(tmp_path / "marker")),
        tmp_path / "out",
        name="tiny",
        shards=2,
        workers=2,
    )

    assert sorted(numbers(tmp_path / "out")) == list(range(10))
