"""What a request that fails leads to: another attempt, or an error that names the URL and the range."""

from __future__ import annotations

import errno
import multiprocessing
import pickle
import threading

import fsspec
import pytest
from fsspec.asyn import AsyncFileSystem
from record_files import frames, starts

from wellfed.errors import CorruptRecordError, FileChangedError, RemoteError
from wellfed.io import RecordIndex, Records, RemoteOptions, RemoteStats, TFRecordReader
from wellfed.io.access import Access
from wellfed.io.attempts import Attempts, named, passes
from wellfed.io.blocks import Requests
from wellfed.io.giving_up import give_up_when, may_be_given_up
from wellfed.io.remote import Counts
from wellfed.io.remote_file import RemoteFile, version_in
from wellfed.io.streams import open_walker

PAYLOADS = [b"%d" % i * (i % 90) for i in range(300)]
CONTENT = frames(PAYLOADS)
AT_ONCE = RemoteOptions(range_bytes=4096, pause_seconds=0)


def all_of(walker) -> int:
    return sum(len(run) for run in iter(walker.next_run, None))


# --- Attempts --------------------------------------------------------------------------------------


def test_a_passing_failure_is_tried_again_and_counted(counted):
    url = counted.put("x", CONTENT)
    counted.failures = [TimeoutError("slow"), ConnectionResetError("gone"), OSError(errno.EBUSY, "SlowDown")]
    reader = TFRecordReader(url, remote=AT_ONCE)

    assert list(reader) == PAYLOADS
    stats = reader.remote_stats
    assert stats.retries == 3
    assert stats.requests == 1 + -(-len(CONTENT) // 4096) + 3
    assert stats.bytes == len(CONTENT)


def test_pauses_double_up_to_the_longest_and_are_cut_at_random(counted):
    url = counted.put("x", CONTENT)
    counted.failures = [TimeoutError()] * 5
    pauses, draws = [], iter([0, 0.5, 0, 0, 0.999])
    options = RemoteOptions(attempts=6, pause_seconds=1, longest_pause_seconds=6)
    attempts = Attempts(options, Counts(), pauses.append, lambda: next(draws))

    assert RemoteFile(url, attempts).size == len(CONTENT)
    assert pauses == pytest.approx([1, 1.5, 4, 6, 3], abs=0.01)


class Busy(Exception):
    """As aiohttp's error of a server that asks to be left alone for a time."""

    status = 503

    def __init__(self, retry_after):
        super().__init__("busy")
        self.headers = {"Retry-After": retry_after}


class BusyBucket(Exception):
    """As botocore's."""

    def __init__(self, retry_after):
        super().__init__("busy")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": 503, "HTTPHeaders": {"retry-after": retry_after}}}


@pytest.mark.parametrize("kind", [Busy, BusyBucket])
@pytest.mark.parametrize(("asked", "pause"), [("5", 5), ("600", 16), ("0", 0.5), ("Wed, 21 Oct 2026", 0.5)])
def test_a_pause_is_as_long_as_the_server_asks_for_up_to_the_longest(counted, kind, asked, pause):
    url, pauses = counted.put("x", CONTENT), []
    counted.failures = [kind(asked)]
    RemoteFile(url, Attempts(RemoteOptions(), Counts(), pauses.append, lambda: 0))

    assert pauses == [pause]


def test_giving_up_names_url_range_and_attempts(counted):
    url = counted.put("x", CONTENT)
    reader = TFRecordReader(url, remote=RemoteOptions(range_bytes=4096, attempts=3, pause_seconds=0))
    counted.gate = lambda start, end: raise_if(start == 8192, TimeoutError("no answer"))

    with pytest.raises(
        RemoteError,
        match=r"counted://remote/x: bytes \[8192\.\.12288\) could not be read in 3 attempts: TimeoutError: no answer",
    ):
        list(reader)
    assert reader.remote_stats.retries == 2
    assert counted.ranges.count((8192, 12288)) == 3


def raise_if(condition: bool, error: Exception) -> None:
    if condition:
        raise error


def test_what_stood_before_the_range_that_failed_was_given_out(counted):
    url = counted.put("x", CONTENT)
    counted.gate = lambda start, end: raise_if(start == 8192, TimeoutError())
    found = []

    reader = iter(TFRecordReader(url, remote=RemoteOptions(range_bytes=4096, attempts=1)))
    with pytest.raises(RemoteError, match=r"bytes \[8192"):
        found.extend(reader)
    assert found == PAYLOADS[: len(found)]
    assert starts(PAYLOADS)[len(found)] <= 8192 < starts(PAYLOADS)[len(found) + 1]


@pytest.mark.parametrize(
    ("failure", "kind", "text"),
    [
        (
            PermissionError("Forbidden"),
            PermissionError,
            r"counted://remote/x: access denied \(PermissionError: Forbidden\)",
        ),
        (
            FileNotFoundError("The specified bucket does not exist"),
            FileNotFoundError,
            r"counted://remote/x: there is no such file or bucket \(.*specified bucket",
        ),
        (
            RuntimeError("no credentials"),
            RemoteError,
            r"counted://remote/x: its size could not be read in 1 attempt: RuntimeError: no credentials",
        ),
    ],
)
def test_a_failure_that_stays_is_told_at_once_with_the_url(counted, failure, kind, text):
    url = counted.put("x", CONTENT)
    counted.failures = [failure]

    with pytest.raises(kind, match=text):
        list(TFRecordReader(url, remote=AT_ONCE))
    assert counted.looks == 1


def test_a_folder_is_no_file(counted):
    counted.put("folder/x", CONTENT)

    with pytest.raises(
        IsADirectoryError, match=r"counted://remote/folder is a folder: .*counted://remote/folder/\*\.tfrecord"
    ):
        list(TFRecordReader("counted://remote/folder"))


class Answered(Exception):
    """As the errors of aiohttp, gcsfs and requests: the status stands on them."""

    def __init__(self, status, name="status"):
        super().__init__("oops")
        setattr(self, name, status)


class ClientError(Exception):
    """As botocore's: the status stands deep in the response."""

    def __init__(self, status):
        super().__init__("oops")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}, "Error": {"Code": "x"}}


class ReadTimeoutError(Exception):
    pass


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
@pytest.mark.parametrize(
    "make",
    [
        Answered,
        ClientError,
        lambda status: Answered(status, "code"),
        lambda status: caused(FileNotFoundError("u"), Answered(status)),
    ],
)
def test_these_statuses_pass(make, status):
    assert passes(make(status))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 412, 416])
@pytest.mark.parametrize(
    "make", [Answered, ClientError, lambda status: caused(OSError(errno.EIO, "u"), Answered(status))]
)
def test_these_statuses_stay(make, status):
    assert not passes(make(status))


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError(),
        TimeoutError(),
        OSError(errno.ECONNREFUSED, "x"),
        ReadTimeoutError(),
        caused(ValueError(), ConnectionResetError()),
    ],
    ids=repr,
)
def test_lost_connections_pass(error):
    assert passes(error)


@pytest.mark.parametrize(
    "error",
    [ValueError(), PermissionError(errno.EACCES, "x"), FileNotFoundError("x"), OSError(errno.ENOSPC, "x")],
    ids=repr,
)
def test_other_errors_stay(error):
    assert not passes(error)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, PermissionError),
        (403, PermissionError),
        (404, FileNotFoundError),
        (410, FileNotFoundError),
        (416, RemoteError),
    ],
)
def test_a_status_on_the_cause_names_the_error(status, kind):
    error = named(caused(FileNotFoundError("u"), Answered(status)), "s3://b/x", 0, 0, 1)

    assert type(error) is kind
    assert "s3://b/x" in str(error)


def test_a_server_that_did_not_answer_is_not_called_a_missing_file():
    error = named(caused(FileNotFoundError("u"), TimeoutError("slow")), "https://h/x", 0, 0, 5)

    assert type(error) is RemoteError
    assert "in 5 attempts: FileNotFoundError: u, caused by TimeoutError: slow" in str(error)


def test_the_error_survives_a_process():
    error = RemoteError("no answer", "s3://b/x", 0, 4096, 5)

    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert "bytes [0..4096) could not be read in 5 attempts" in str(error)


def test_a_pause_ends_when_its_reader_does(counted):
    url = counted.put("x", CONTENT)
    access = Access(RemoteOptions(pause_seconds=600, longest_pause_seconds=600))
    file = access.remote(url)
    begun = threading.Event()

    def fail(start, end):
        begun.set()
        raise TimeoutError

    counted.gate = fail
    future = access.requests.submit(file.read, 0, 10)
    assert begun.wait(30)
    access.close()
    with pytest.raises(RemoteError, match="in 1 attempt"):
        future.result(30)


def test_no_connection_keeps_what_a_feed_says_of_itself(counted):
    url, seen = counted.put("x", CONTENT), []
    counted.gate = lambda start, end: seen.append(may_be_given_up())

    with give_up_when(lambda: False):
        assert list(TFRecordReader(url, remote=AT_ONCE)) == PAYLOADS
    assert set(seen) == {False}


# --- Files that are not what they were -------------------------------------------------------------


def test_a_file_that_was_cut_meanwhile_is_named(counted):
    url = counted.put("x", CONTENT)
    walker, _ = open_walker(url, access=Access(RemoteOptions(range_bytes=4096, read_ahead_bytes=4096)))
    walker.next_run()
    counted.put("x", CONTENT[:6000])

    with pytest.raises(
        FileChangedError,
        match=rf"counted://remote/x: the remote file changed .* it had {len(CONTENT)} bytes and has 6000 now",
    ):
        all_of(walker)


def test_a_short_answer_is_asked_for_again_where_the_file_is_the_same(counted, monkeypatch):
    url, whole, turn = counted.put("x", CONTENT), counted.cat_file, iter([False, True])
    monkeypatch.setattr(
        counted,
        "cat_file",
        lambda self, path, start=None, end=None: whole(self, path, start, end - 1 if next(turn, False) else end),
    )
    reader = TFRecordReader(url, remote=AT_ONCE)

    assert list(reader) == PAYLOADS
    assert reader.remote_stats.retries == 1


def test_damage_of_a_file_that_was_replaced_is_not_called_damage(counted):
    url = counted.put("x", CONTENT)
    walker, _ = open_walker(url, access=Access(RemoteOptions(range_bytes=4096, read_ahead_bytes=4096)))
    walker.next_run()
    counted.put("x", bytes(len(CONTENT)))

    with pytest.raises(FileChangedError, match=r"its version was created=.* and is created="):
        all_of(walker)


def test_a_record_of_a_file_that_was_replaced_is_not_called_damaged(counted):
    url = counted.put("x", CONTENT)
    records = Records(url)
    assert records[5] == PAYLOADS[5]
    counted.put("x", bytes(len(CONTENT)))

    with pytest.raises(FileChangedError, match=r"changed while it was read.*Open it again"):
        records[250]


def test_a_file_that_was_removed_is_named(counted):
    url = counted.put("x", CONTENT)
    file = Access().remote(url)
    counted().rm("/remote/x")

    with pytest.raises(FileChangedError, match="it was removed"):
        file.check_unchanged()


def test_true_damage_is_called_damage(counted):
    content = bytearray(CONTENT)
    content[starts(PAYLOADS)[250] + 13] ^= 1
    url = counted.put("x", bytes(content))

    with pytest.raises(CorruptRecordError, match="record 250"):
        list(TFRecordReader(url, remote=AT_ONCE))
    assert counted.looks == 2  # The second one: is it still the same file?


@pytest.mark.parametrize(
    ("info", "version"),
    [
        ({"ETag": '"abc"', "LastModified": 5}, 'etag="abc"'),
        ({"etag": "x", "generation": "7", "mtime": 3}, "etag=x generation=7"),
        ({"Last-Modified": "Monday"}, "last-modified=Monday"),
        ({"mtime": 3, "created": 1}, "mtime=3"),
        ({"size": 3}, ""),
    ],
)
def test_a_version_is_the_best_mark_that_a_store_gives(info, version):
    assert version_in(info) == version


# --- Servers that know less ------------------------------------------------------------------------


@pytest.fixture
def without_ranges(counted, monkeypatch):
    """A server that sends the whole file, whatever is asked for."""
    monkeypatch.setattr(
        counted, "cat_file", lambda self, path, start=None, end=None: self.ranges.append((start, end)) or CONTENT
    )
    return counted


def test_a_server_that_knows_no_ranges_is_asked_once_for_a_small_file(without_ranges):
    url = without_ranges.put("x", CONTENT)

    assert list(TFRecordReader(url, remote=RemoteOptions(range_bytes=4096, read_ahead_bytes=4096))) == PAYLOADS
    assert len(without_ranges.ranges) == 1


def test_a_server_that_knows_no_ranges_is_named_where_the_file_is_large(without_ranges, monkeypatch):
    monkeypatch.setattr("wellfed.io.answers._WHOLE_BYTES", 5000)
    url = without_ranges.put("x", CONTENT)

    with pytest.raises(
        RemoteError, match=r"the server ignores ranges and sends the whole file. Copy it to a disk, and read it there"
    ):
        list(TFRecordReader(url, remote=AT_ONCE))


def test_a_server_that_does_not_say_the_length_is_named(counted, monkeypatch):
    url = counted.put("x", CONTENT)
    monkeypatch.setattr(counted, "info", lambda self, path: {"type": "file", "size": None})

    with pytest.raises(RemoteError, match=r"counted://remote/x.*does not say how long the file is"):
        list(TFRecordReader(url))


# --- Processes and options -------------------------------------------------------------------------


def _read_in_child(records, rows, answers):
    answers.put([records[row] for row in rows] + [records.take([3, 4], in_order=True).to_list()])


@pytest.mark.parametrize("method", ["fork"])
def test_records_that_were_read_before_a_fork_are_read_after_it(counted, method):
    context = multiprocessing.get_context(method)
    records = Records(counted.put("x", CONTENT), remote=AT_ONCE)
    assert records.take([1, 200]).to_list() == [PAYLOADS[1], PAYLOADS[200]]  # By threads of the parent.
    assert list(records) == PAYLOADS
    answers = context.SimpleQueue()

    child = context.Process(target=_read_in_child, args=(records, [7, 250], answers))
    child.start()
    found = answers.get()
    child.join(30)
    assert child.exitcode == 0
    assert found == [PAYLOADS[7], PAYLOADS[250], [PAYLOADS[3], PAYLOADS[4]]]


class Awaited(AsyncFileSystem):
    """One file, on fsspec's own thread, where s3fs, gcsfs and http have their connections."""

    protocol = "awaited"

    async def _info(self, path, **options):
        return {"name": path, "size": len(CONTENT), "type": "file"}

    async def _cat_file(self, path, start=None, end=None, **options):
        if path != "x":  # An index.
            raise FileNotFoundError(path)
        return CONTENT[start:end]


def test_a_fork_has_a_thread_of_fsspecs_own():
    fsspec.register_implementation("awaited", Awaited, clobber=True)
    context = multiprocessing.get_context("fork")
    records = Records("awaited://x", remote=AT_ONCE)
    assert records[1] == PAYLOADS[1]
    answers = context.SimpleQueue()

    child = context.Process(target=_read_in_child, args=(records, [7], answers), daemon=True)
    child.start()
    child.join(30)
    child.kill()  # With fsspec before 2025.3.2 it waits for the parent's thread.
    assert child.exitcode == 0
    assert answers.get() == [PAYLOADS[7], [PAYLOADS[3], PAYLOADS[4]]]


def test_records_pickle_with_their_options_and_count_anew(counted):
    records = Records(counted.put("x", CONTENT), remote=AT_ONCE)
    assert len(records) == 300
    other = pickle.loads(pickle.dumps(records))

    assert other.remote_stats == RemoteStats()
    assert other[5] == PAYLOADS[5]
    assert other._access.options == AT_ONCE


@pytest.mark.parametrize(
    "option", ["range_bytes", "read_ahead_bytes", "max_requests", "attempts", "pause_seconds", "cache_bytes"]
)
def test_an_option_out_of_range_is_refused(option):
    with pytest.raises(ValueError, match=f"{option} must be at least .*, got -1"):
        RemoteOptions(**{option: -1})


def test_an_unknown_policy_for_indexes_is_refused():
    with pytest.raises(
        ValueError, match='index must be "publish" or "local", got "beside"'.replace('"beside"', "'beside'")
    ):
        RemoteOptions(index="beside")


def test_requests_in_flight_are_given_up_when_nobody_reads_on(counted):
    url = counted.put("x", CONTENT)
    access = Access(RemoteOptions(max_requests=1))
    held = threading.Event()
    counted.gate = lambda start, end: held.wait(30)
    futures = [access.requests.submit(access.remote(url).read, at, at + 1) for at in range(3)]
    ranges = Requests(access.options).cut(10)

    del access
    held.set()
    assert ranges == [(0, 10)]
    assert futures[0].result(30) == CONTENT[:1]
    assert futures[2].cancelled()


# --- Indexes ---------------------------------------------------------------------------------------


def test_an_index_that_is_kept_local_is_not_published_and_found_again(counted, monkeypatch):
    url = counted.put("x", CONTENT)
    access = Access(RemoteOptions(index="local"))

    assert len(RecordIndex.for_file(url, access=access)) == 300
    assert list(counted.store) == ["/remote/x"]
    monkeypatch.setattr(RecordIndex, "build", None)
    assert len(RecordIndex.for_file(url)) == 300


def test_a_store_that_one_data_set_waits_for_keeps_no_other_waiting(counted):
    slow, fast = Records(counted.put("slow", CONTENT)), Records(counted.put("fast", CONTENT))
    asked, go = threading.Event(), threading.Event()

    def gate(start, end):
        if counted.named[-1][0] == "slow":
            asked.set()
            go.wait(30)

    counted.gate = gate
    other = threading.Thread(target=lambda: slow[0])
    other.start()
    assert asked.wait(30)
    ahead = threading.Thread(target=lambda: fast[0])
    ahead.start()
    ahead.join(10)
    was_waiting = ahead.is_alive()
    go.set()
    other.join()
    ahead.join()

    assert not was_waiting


def test_an_index_that_is_asked_for_by_two_threads_is_built_once(counted):
    records, asked, go = Records(counted.put("x", CONTENT)), threading.Event(), threading.Event()

    def gate(start, end):
        asked.set()
        go.wait(30)

    counted.gate = gate
    both = [threading.Thread(target=len, args=(records,)) for _ in range(2)]
    both[0].start()
    assert asked.wait(30)
    both[1].start()
    go.set()
    for thread in both:
        thread.join()

    assert counted.ranges.count((0, len(CONTENT))) == 1


def test_an_index_that_is_missing_is_built_by_one_pass_and_published(counted):
    url = counted.put("x", CONTENT)
    records = Records(url, remote=RemoteOptions(range_bytes=4096))

    assert len(records) == 300
    assert sorted(counted.ranges) == [(at, min(at + 4096, len(CONTENT))) for at in range(0, len(CONTENT), 4096)]
    assert "/remote/.wellfed/x.index" in counted.store
    counted.forget()
    assert len(Records(url)) == 300
    assert counted.ranges == [(0, len(CONTENT))]  # The sample of a small file is the file.


@pytest.mark.parametrize("refusal", [PermissionError, NotImplementedError])
def test_an_index_that_may_not_be_published_is_kept_in_the_users_cache(counted, monkeypatch, refusal):
    url = counted.put("x", CONTENT)
    monkeypatch.setattr(counted, "pipe_file", lambda self, path, value: raise_if(True, refusal()))

    assert len(RecordIndex.for_file(url)) == 300
    assert list(counted.store) == ["/remote/x"]
    monkeypatch.setattr(RecordIndex, "build", None)
    assert len(RecordIndex.for_file(url)) == 300
