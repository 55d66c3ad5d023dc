"""Reading through http: a server on loopback that knows ranges, and one that does not."""

import http.server
import math
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from tiny_source import TinySource

import wellfed as wf
from wellfed.errors import FileChangedError, RemoteError
from wellfed.io import RecordIndex, Records, RemoteOptions, TFRecordReader
from wellfed.packing import pack

pytestmark = pytest.mark.s3
pytest.importorskip("aiohttp")

PAYLOADS = [b"%d" % i * (i % 900) for i in range(2000)]
RANGE = 1 << 18


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, with ranges; answers with a status instead as often as it is told."""

    def send_head(self):
        self.server.asked.append((self.command, self.headers.get("Range")))
        self.server.hold.wait(30)
        if self.server.refusals:
            self.send_error(self.server.refusals.pop(0))
            return None
        asked = self.headers.get("Range")
        place = self.translate_path(self.path)
        if not asked or not self.server.ranges or not Path(place).is_file():
            return super().send_head()
        content = Path(place).read_bytes()
        first, _, last = asked.removeprefix("bytes=").partition("-")
        last = last or len(content) - 1
        piece = content[int(first) : int(last) + 1]
        if self.server.changes:
            self.server.changes.pop(0)(Path(place))
        self.send_response(206)
        self.send_header("Content-Length", str(len(piece)))
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.end_headers()
        if self.server.cuts:
            piece = piece[: self.server.cuts.pop(0)]
            self.close_connection = True
        self.wfile.write(piece)
        return None

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path):
    """A server of the test's folder, and its URL."""

    def handler(*args):
        return Handler(*args, directory=str(tmp_path))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.ranges, running.refusals, running.asked = True, [], []
        running.cuts, running.changes = [], []
        running.daemon_threads = True
        running.hold = threading.Event()
        running.hold.set()
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        running.url = f"http://127.0.0.1:{running.server_address[1]}"
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def url(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with wf.TFRecordWriter(tmp_path / "x.tfrecord") as writer:
        writer.write_many(PAYLOADS)
    return f"{server.url}/x.tfrecord"


OPTIONS = RemoteOptions(range_bytes=RANGE, pause_seconds=0)


def test_a_pass_over_http_asks_for_each_range_once(server, url, tmp_path):
    assert list(TFRecordReader(url, remote=OPTIONS)) == PAYLOADS
    size = (tmp_path / "x.tfrecord").stat().st_size
    assert len(server.asked) == 1 + math.ceil(size / RANGE)


def test_an_index_that_http_takes_no_writing_of_is_kept_in_the_users_cache(server, url, tmp_path):
    assert Records(url, remote=OPTIONS)[1234] == PAYLOADS[1234]
    assert not (tmp_path / ".wellfed").exists()
    assert len(list((tmp_path / "cache" / "wellfed" / "index").iterdir())) == 1
    server.asked.clear()
    assert Records(url, remote=OPTIONS)[1234] == PAYLOADS[1234]
    assert len(server.asked) <= 7


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_status_that_passes_is_tried_again(server, url, status):
    server.refusals = [status] * 2
    reader = TFRecordReader(url, remote=OPTIONS)

    assert list(reader) == PAYLOADS
    assert reader.remote_stats.retries >= 1


@pytest.mark.parametrize(("status", "kind"), [(403, PermissionError), (404, FileNotFoundError), (401, PermissionError)])
def test_a_status_that_stays_is_named(server, url, status, kind):
    server.refusals = [status] * 20

    with pytest.raises(kind, match=url):
        list(TFRecordReader(url, remote=OPTIONS))
    assert len(server.asked) <= 2


def test_a_server_that_never_recovers_is_named_with_the_range(server, url):
    reader = iter(
        TFRecordReader(
            url, remote=RemoteOptions(range_bytes=RANGE, attempts=3, pause_seconds=0, read_ahead_bytes=RANGE)
        )
    )
    next(reader)
    server.refusals = [503] * 100

    with pytest.raises(
        RemoteError, match=rf"{url}: bytes \[{RANGE}\.\.{2 * RANGE}\) could not be read in 3 attempts: .*503"
    ):
        list(reader)


def test_a_server_that_does_not_answer_in_time_is_tried_again_and_named(server, url):
    import aiohttp
    import fsspec

    server.hold.clear()
    limits = {"client_kwargs": {"timeout": aiohttp.ClientTimeout(total=0.2)}}
    fsspec.config.conf["http"] = limits  # As a user's configuration file would have it.
    try:
        with pytest.raises(RemoteError, match=rf"{url}: its size could not be read in 2 attempts: .*Timeout"):
            list(TFRecordReader(url, remote=RemoteOptions(attempts=2, pause_seconds=0)))
    finally:
        del fsspec.config.conf["http"]
        server.hold.set()


def test_a_server_without_ranges_serves_small_files(server, url):
    server.ranges = False
    assert list(TFRecordReader(url, remote=RemoteOptions(range_bytes=RANGE, read_ahead_bytes=RANGE))) == PAYLOADS
    assert len(server.asked) == 2


def test_a_data_set_is_opened_by_its_manifest_where_nothing_can_be_listed(server, tmp_path):
    pack(TinySource(40), tmp_path / "d", name="tiny", split={"train": 0.7, "test": 0.3}, seed=0)
    here, there = wf.open(tmp_path / "d", split="train"), wf.open(f"{server.url}/d", split="train")

    assert [int(row["number"]) for row in there] == [int(row["number"]) for row in here]
    assert all(command in ("GET", "HEAD") for command, _ in server.asked)


def test_the_index_of_a_shard_that_was_packed_is_found(server, tmp_path, monkeypatch):
    pack(TinySource(40), tmp_path / "d", name="tiny", shards=1, seed=0)
    (shard,) = (path.name for path in (tmp_path / "d").glob("*tfrecord*"))
    monkeypatch.setattr(RecordIndex, "build", None)

    assert len(RecordIndex.for_file(f"{server.url}/d/{shard}")) == 40
    assert len(np.unique([int(row["number"]) for row in wf.open(f"{server.url}/d")])) == 40


# --- Hostile servers -------------------------------------------------------------------------------


def test_answers_that_are_cut_in_the_middle_are_asked_for_again(server, url):
    server.cuts = [0, 1, RANGE - 1, 7]
    reader = TFRecordReader(url, remote=OPTIONS)

    assert list(reader) == PAYLOADS
    assert 1 <= reader.remote_stats.retries <= 4  # aiohttp asks again by itself where a kept connection says nothing.


def test_a_server_that_cuts_each_answer_is_named_with_the_range_and_the_attempts(server, url):
    server.cuts = [100] * 100

    with pytest.raises(RemoteError, match=rf"{url}: bytes \[0\.\.{RANGE}\) could not be read in 5 attempts: .*Payload"):
        list(TFRecordReader(url, remote=OPTIONS))


@pytest.mark.parametrize("cache", [False, True])
def test_a_feed_over_a_server_that_fails_now_and_then_gives_all_rows(server, url, tmp_path, cache):
    server.cuts, server.refusals = [10, RANGE // 2], [503, 503]
    options = RemoteOptions(range_bytes=RANGE, pause_seconds=0, cache_dir=tmp_path / "shards" if cache else None)
    dataset = wf.TFRecordDataset(url, remote=options)

    assert list(iter(dataset)) == PAYLOADS
    assert sorted(iter(dataset.shuffle(seed=0))) == sorted(PAYLOADS)


def _shorter(path):
    path.write_bytes(path.read_bytes()[: RANGE + 10])


def _other(path):
    path.write_bytes(bytes(path.stat().st_size))
    os.utime(path, (1, 1))  # http tells times by the second.


@pytest.mark.parametrize(
    ("change", "reason"), [(_shorter, r"are due, only \d+ came|bytes and has"), (_other, "its version was")]
)
def test_a_file_that_changes_between_two_answers_is_told(server, url, change, reason):
    server.changes = [lambda path: None, change]
    found = []

    with pytest.raises(FileChangedError, match=rf"{url}: the remote file changed while it was read: .*({reason})"):
        found.extend(iter(wf.TFRecordDataset(url, remote=OPTIONS)))
    assert found == PAYLOADS[: len(found)]


def test_a_shard_that_is_removed_in_the_midst_of_an_epoch_is_named(server, url, tmp_path):
    server.changes = [lambda path: None, lambda path: path.unlink()]
    found = []

    with pytest.raises((FileNotFoundError, FileChangedError), match=url):
        found.extend(iter(wf.TFRecordDataset(url, remote=OPTIONS)))
    assert found == PAYLOADS[: len(found)]
