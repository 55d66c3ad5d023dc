"""Whole remote shards on local disk: found again, within a budget, and never trusted blindly."""

from __future__ import annotations

import errno
import gzip
import json
import multiprocessing
import os
import subprocess
import sys
import threading

import pytest
from record_files import frames

from wellfed.errors import CorruptRecordError, FileChangedError, RemoteError
from wellfed.io import Records, RemoteOptions, TFRecordReader
from wellfed.io.access import Access
from wellfed.io.giving_up import give_up_when
from wellfed.io.locks import is_unused

PAYLOADS = [b"%d" % i * (i % 90) for i in range(300)]
CONTENT = frames(PAYLOADS)
SIZE = len(CONTENT)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "shards"


@pytest.fixture
def options(folder):
    return RemoteOptions(cache_dir=folder, range_bytes=4096, pause_seconds=0, index="local")


def entries(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "lock")


def bytes_in(folder) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.suffix != ".json")


def copy_in(folder):
    (found,) = folder.glob("*.shard")
    return found


def use(url: str, options) -> Records:
    """Opens a shard and reads a record, as a training run does."""
    records = Records(url, remote=options)
    assert records[-1] == PAYLOADS[-1]
    return records


# --- Hits ------------------------------------------------------------------------------------------


def test_a_shard_is_fetched_once_and_read_from_disk_from_there_on(counted, options):
    url = counted.put("x", CONTENT)
    first = use(url, options)
    assert (first.remote_stats.cache_fetches, first.remote_stats.cache_hits) == (1, 0)
    assert sorted(counted.ranges) == [(at, min(at + 4096, SIZE)) for at in range(0, SIZE, 4096)]
    counted.forget()

    second = Records(url, remote=options)
    assert second[:].to_list() == PAYLOADS
    assert list(second) == PAYLOADS
    assert (second.remote_stats.cache_fetches, second.remote_stats.cache_hits) == (0, 1)
    assert (counted.looks, counted.ranges) == (1, [])  # Is it still the same?


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "GZIP"])
def test_a_reader_uses_the_copy_too(counted, options, compress):
    url = counted.put("x", compress(CONTENT))
    assert list(TFRecordReader(url, remote=options)) == PAYLOADS
    counted.forget()

    assert list(TFRecordReader(url, remote=options)) == PAYLOADS
    assert Records(url, remote=options)[7] == PAYLOADS[7]
    assert counted.ranges == []


def test_errors_of_a_copy_name_the_url(counted, options):
    content = bytearray(CONTENT)
    content[-5] ^= 1
    url = counted.put("x", bytes(content))

    with pytest.raises(CorruptRecordError, match="counted://remote/x: record 299"):
        list(TFRecordReader(url, remote=options))
    with pytest.raises(CorruptRecordError, match="counted://remote/x: record 299"):
        Records(url, remote=options)[299]


def test_an_empty_shard_is_kept_like_any_other(counted, options):
    url = counted.put("x", b"")

    assert len(Records(url, remote=options)) == 0
    assert list(TFRecordReader(url, remote=options)) == []


# --- What changed is noticed -----------------------------------------------------------------------


def test_a_shard_that_changed_is_fetched_again(counted, options, folder):
    url = counted.put("x", CONTENT)
    use(url, options)
    counted.put("x", frames([b"new"] * 10))

    assert Records(url, remote=options)[:].to_list() == [b"new"] * 10
    assert len(list(folder.glob("*.shard"))) == 2  # The old one goes when room is needed.


def test_a_shard_that_changes_while_it_is_fetched_is_not_kept(counted, options, folder):
    url = counted.put("x", CONTENT)
    counted.gate = lambda start, end: counted.put("x", bytes(SIZE)) if start == 8192 else None

    with pytest.raises(FileChangedError, match="its version was"):
        Records(url, remote=options)[0]
    assert entries(folder) == []


def flip(path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_damage_of_the_copy_is_never_the_users(counted, options, folder):
    url = counted.put("x", CONTENT)
    use(url, options)
    flip(copy_in(folder), 18_000)  # Between the samples that are looked at when it is opened.
    records = Records(url, remote=options)

    assert records[:].to_list() == PAYLOADS
    assert entries(folder) == []
    assert records[3] == PAYLOADS[3]  # Over the network from here on.


def test_a_walk_over_a_copy_that_is_damaged_says_so_and_the_next_one_reads_the_file(counted, options, folder):
    url = counted.put("x", CONTENT)
    use(url, options)
    flip(copy_in(folder), 18_000)

    with pytest.raises(FileChangedError, match=r"^counted://remote/x: its copy on disk is damaged and was removed"):
        list(TFRecordReader(url, remote=options))
    assert list(TFRecordReader(url, remote=options)) == PAYLOADS


@pytest.mark.parametrize(
    "harm", [lambda path: flip(path, 0), lambda path: os.truncate(path, 100), lambda path: path.write_bytes(b"")]
)
def test_a_copy_that_was_cut_or_written_to_is_fetched_again(counted, options, folder, harm):
    url = counted.put("x", CONTENT)
    use(url, options)
    harm(copy_in(folder))

    assert use(url, options).remote_stats.cache_fetches == 1


@pytest.mark.parametrize("facts", [b"", b"{}", b"null", b"\xff", b'{"size": "x"}'])
def test_facts_that_are_damaged_are_none(counted, options, folder, facts):
    url = counted.put("x", CONTENT)
    use(url, options)
    copy_in(folder).with_suffix(".json").write_bytes(facts)

    assert use(url, options).remote_stats.cache_fetches == 1


def test_the_facts_say_whose_copy_it_is(counted, options, folder):
    url = counted.put("x", CONTENT)
    use(url, options)

    facts = json.loads(copy_in(folder).with_suffix(".json").read_text())
    assert (facts["url"], facts["size"]) == (url, SIZE)


# --- The budget ------------------------------------------------------------------------------------


def with_budget(folder, shards: float) -> RemoteOptions:
    return RemoteOptions(cache_dir=folder, cache_bytes=int(shards * SIZE), range_bytes=4096, index="local")


def held(folder) -> set[str]:
    return {json.loads(path.read_text())["url"][-1] for path in folder.glob("*.json")}


def test_those_not_used_for_the_longest_time_go_first(counted, folder):
    urls = {name: counted.put(name, CONTENT) for name in "abc"}
    options = with_budget(folder, 2.5)
    for name in "ab":
        use(urls[name], options)
    for at, name in enumerate("ba"):  # The clock of a file system may be coarser than the test is fast.
        (facts,) = (path for path in folder.glob("*.json") if urls[name] in path.read_text())
        os.utime(facts, (1000 + at, 1000 + at))

    use(urls["c"], options)
    assert held(folder) == {"a", "c"}
    assert bytes_in(folder) == 2 * SIZE


def test_what_is_in_use_stays_and_the_rest_is_read_over_the_network(counted, folder):
    urls = [counted.put(name, CONTENT) for name in "abc"]
    options = with_budget(folder, 2.5)
    in_use = [use(url, options) for url in urls[:2]]
    third = use(urls[2], options)

    assert third.remote_stats.cache_refusals == 1
    assert third[:].to_list() == PAYLOADS
    assert held(folder) == {"a", "b"}
    assert in_use[0][5] == PAYLOADS[5]
    del in_use[0]
    assert use(urls[2], options).remote_stats.cache_fetches == 1
    assert held(folder) == {"b", "c"}


def test_a_data_set_larger_than_the_budget_keeps_what_it_has(counted, folder):
    urls = [counted.put(name, CONTENT) for name in "abcd"]
    options = with_budget(folder, 2)
    for epoch in range(3):
        records = Records(urls, remote=options)
        assert list(records) == PAYLOADS * 4
        stats = records.remote_stats
        assert (stats.cache_fetches, stats.cache_hits, stats.cache_refusals) == ((0, 2, 2) if epoch else (2, 0, 2))
        assert bytes_in(folder) == 2 * SIZE


def test_a_shard_larger_than_the_budget_is_never_fetched_whole(counted, folder):
    url = counted.put("x", CONTENT)

    assert use(url, with_budget(folder, 0.9)).remote_stats.cache_refusals == 1
    assert entries(folder) == []


# --- Removed by others -----------------------------------------------------------------------------


@pytest.mark.parametrize("read", [use, lambda url, options: list(TFRecordReader(url, remote=options))])
def test_a_copy_that_goes_between_being_found_and_being_opened_is_fetched_again(
    counted, options, folder, monkeypatch, read
):
    url = counted.put("x", CONTENT)
    found, goes = Access.copy_of, iter([True])

    def find(access, url):
        copy = found(access, url)
        if next(goes, False):
            folder.rename(folder.with_name("gone"))
        return copy

    monkeypatch.setattr(Access, "copy_of", find)
    read(url, options)
    assert len(entries(folder)) == 2


def test_a_folder_that_goes_while_a_shard_is_fetched_is_made_again(counted, options, folder):
    url, goes = counted.put("x", CONTENT), iter([True])
    counted.gate = lambda start, end: next(goes, False) and folder.rename(folder.with_name("gone"))

    stats = use(url, options).remote_stats
    assert (stats.cache_fetches, stats.cache_refusals) == (2, 0)
    assert len(entries(folder)) == 2


def test_a_folder_that_goes_each_time_a_shard_is_fetched_is_done_without(counted, options, folder):
    url, names = counted.put("x", CONTENT), iter(range(99))

    def gate(start, end):
        if start == 0 and folder.exists():  # One request of each fetch.
            folder.rename(folder.with_name(f"gone-{next(names)}"))

    counted.gate = gate

    assert use(url, options).remote_stats.cache_refusals == 1


# --- Nothing half-written --------------------------------------------------------------------------


def test_a_fetch_that_fails_leaves_nothing(counted, options, folder):
    url = counted.put("x", CONTENT)

    def fail(start, end):
        if start == 8192:
            raise ValueError("broken")

    counted.gate = fail
    with pytest.raises(RemoteError, match="ValueError: broken"):
        use(url, options)
    assert entries(folder) == []


def test_a_full_disk_is_told_and_leaves_nothing(counted, options, folder, monkeypatch):
    def full(file, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("wellfed.io.shard_cache._write_all", full)
    with pytest.raises(OSError, match=r"counted://remote/x: its copy .* No space left.*cache_dir='.*lower cache_bytes"):
        use(counted.put("x", CONTENT), options)
    assert entries(folder) == []


def test_what_a_killed_process_left_is_cleared_away_and_takes_no_room(counted, folder):
    folder.mkdir()
    dead = folder / "0123.partial"
    dead.write_bytes(bytes(SIZE))
    (folder / "0123.json").write_text("{}")

    assert use(counted.put("x", CONTENT), with_budget(folder, 1)).remote_stats.cache_fetches == 1
    assert not dead.exists()
    assert not (folder / "0123.json").exists()


def test_a_disk_that_is_full_for_the_facts_is_told_too(counted, options, folder, monkeypatch):
    def full(facts, text, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(OSError, match=r"counted://remote/x: its copy .* No space left.*cache_dir='.*lower cache_bytes"):
        use(counted.put("x", CONTENT), options)
    assert entries(folder) == []


def _fetch_and_die(url, options):
    def die(start, end):
        if start == 8192:
            os._exit(9)

    from counted_files import CountedFiles

    CountedFiles.gate = die
    use(url, options)


def test_a_process_killed_while_it_fetches_leaves_no_entry(counted, options, folder):
    url = counted.put("x", CONTENT)
    child = multiprocessing.get_context("fork").Process(target=_fetch_and_die, args=(url, options))
    child.start()
    child.join(30)
    assert child.exitcode == 9
    assert [name for name in entries(folder) if not name.endswith(".partial")] == []

    assert use(url, options).remote_stats.cache_fetches == 1
    assert len(entries(folder)) == 2


def _use_and_tell(url, options, start, answers):
    start.wait(30)
    stats = use(url, options).remote_stats
    answers.put((stats.cache_fetches, stats.cache_hits))


def test_processes_that_want_one_shard_at_once_fetch_it_once(counted, options, folder):
    url = counted.put("x", CONTENT)
    context = multiprocessing.get_context("fork")
    start, answers = context.Event(), context.SimpleQueue()
    children = [context.Process(target=_use_and_tell, args=(url, options, start, answers)) for _ in range(4)]
    for child in children:
        child.start()
    start.set()
    found = [answers.get() for _ in children]
    for child in children:
        child.join(30)

    assert sorted(found) == [(0, 1), (0, 1), (0, 1), (1, 0)]
    assert len(entries(folder)) == 2


@pytest.fixture
def being_fetched(counted, options):
    """The URL of a shard that somebody else is fetching, and does not get on with."""
    url, begun, go = counted.put("x", CONTENT), threading.Event(), threading.Event()

    def wait(start, end):
        if start == 0:  # What comes after it is not written before it.
            begun.set()
            go.wait(30)

    counted.gate = wait
    other = threading.Thread(target=use, args=(url, options))
    other.start()
    begun.wait(30)
    counted.gate = None
    yield url
    go.set()
    other.join()


def test_who_waits_for_another_process_that_fetches_gives_up_when_nobody_waits_for_him(being_fetched, options):
    with give_up_when(lambda: True), pytest.raises(RemoteError, match=f"{being_fetched}: .*nobody waits for it"):
        Access(options).copy_of(being_fetched)


def test_a_shard_that_another_process_does_not_go_on_fetching_is_read_over_the_network(being_fetched, options, folder):
    (partial,) = folder.glob("*.partial")
    os.utime(partial, (0, 0))

    access = Access(options)
    assert access.copy_of(being_fetched) is None
    assert access.stats().cache_refusals == 1


def test_a_folder_that_cannot_be_made_is_an_error_at_once(counted, tmp_path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(OSError, match="file"):
        Records(counted.put("x", CONTENT), remote=RemoteOptions(cache_dir=tmp_path / "file" / "shards"))


def test_a_lock_is_seen_by_others_and_ends_with_its_holder(counted, options, folder):
    records = use(counted.put("x", CONTENT), options)
    copy = copy_in(folder)
    assert not is_unused(copy)

    del records
    assert is_unused(copy)
    assert is_unused(folder / "nowhere")


_AS_NOBODY = """
import os, sys
from wellfed.io import Records, RemoteOptions, TFRecordWriter

def read(folder):
    return Records("memory://x.tfrecord", remote=RemoteOptions(cache_dir=folder, index="local"))[0]

with TFRecordWriter("memory://x.tfrecord") as writer:
    writer.write(b"one")
assert read(sys.argv[2]) == b"one"  # Everything is loaded now: this user may not be allowed to read Python's own files.
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    read(sys.argv[1])
except OSError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can run as somebody else")
@pytest.mark.parametrize("made", [True, False])
def test_a_folder_that_this_user_may_not_write_is_an_error_that_names_it(tmp_path, made):
    for part in (tmp_path, *tmp_path.parents):
        if part.stat().st_mode & 0o005 != 0o005 and part.stat().st_uid == os.geteuid():
            part.chmod(part.stat().st_mode | 0o055)  # pytest makes its folders for one user alone.
    folder = tmp_path / "shards"
    if made:
        folder.mkdir(mode=0o755)
    command = [sys.executable, "-c", _AS_NOBODY, str(folder), str(tmp_path / "first")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.startswith("PermissionError")
    assert f"cache_dir='{folder}' cannot be written" in done.stdout
    assert not list(tmp_path.rglob("*.partial"))
