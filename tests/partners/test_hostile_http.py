"""Servers that answer wrongly: the right records come, or an error that names the URL; never others, never no end."""

import gzip
import threading

import fsspec
import pytest
from hostile_server import hostile
from record_files import frames

import wellfed as wf
from wellfed.errors import FileChangedError, RemoteError
from wellfed.io import Records, RemoteOptions, TFRecordReader

__all__ = ["hostile"]  # A fixture.

pytestmark = pytest.mark.s3
pytest.importorskip("aiohttp")

PAYLOADS = [b"%06d" % i * 20 for i in range(2000)]  # All of one size: another order of them has the same frames.
CONTENT, OTHER = frames(PAYLOADS), frames(PAYLOADS[::-1])
ROWS = range(0, len(PAYLOADS), 250)  # A request each.
RANGE = 1 << 16
OPTIONS = RemoteOptions(range_bytes=RANGE, read_ahead_bytes=RANGE, pause_seconds=0, attempts=3)


@pytest.fixture(autouse=True)
def url(hostile, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    hostile.content = CONTENT
    return hostile.url


def by_reader(url):
    return list(TFRecordReader(url, remote=OPTIONS))


def by_rows(url):
    records = Records(url, remote=OPTIONS)
    one_by_one, all_of_them = [records[row] for row in ROWS], records[:].to_list()
    assert one_by_one == [all_of_them[row] for row in ROWS]
    return all_of_them


def by_feed(url):
    return list(iter(wf.TFRecordDataset(url, remote=OPTIONS)))


WAYS = pytest.mark.parametrize("read", [by_reader, by_rows, by_feed])


def every_other(wrong):
    """Answers that are wrong, but for each second one."""
    turn = iter(range(1 << 30))
    return lambda asked: wrong(asked) if asked.is_range and next(turn) % 2 == 0 else asked.usual()


# --- Another content -------------------------------------------------------------------------------


@WAYS
def test_a_file_that_was_replaced_by_one_with_the_same_frames_is_never_mixed_with_it(hostile, url, read):
    ranges = iter(range(1 << 30))
    replaced = threading.Event()

    def answer(asked):
        if asked.is_range and next(ranges) == 2:
            replaced.set()
        asked.usual(OTHER, etag='"b"') if replaced.is_set() else asked.usual()

    hostile.answer = answer
    with pytest.raises(FileChangedError, match=f'{url}: .*its version was etag="a" and is etag="b" now'):
        read(url)


def test_an_etag_may_become_weak(hostile, url):
    hostile.answer = lambda asked: asked.usual(etag='W/"a"' if asked.is_range else '"a"')

    assert by_reader(url) == PAYLOADS


def test_a_server_that_gives_each_answer_another_etag_is_named(hostile, url):
    hostile.answer = lambda asked: asked.usual(etag='"b"' if asked.is_range else '"a"')

    with pytest.raises(RemoteError, match=f'{url}: .* in 3 attempts: .*bytes of ETag "b" in place of "a" came'):
        by_reader(url)


# --- Other bytes than asked for --------------------------------------------------------------------


def of_another_range(asked):
    start, end = asked.span(CONTENT)
    asked.send(206, CONTENT[: end - start], Content_Range=f"bytes 0-{end - start - 1}/{len(CONTENT)}")


def too_short(asked):
    start, end = asked.span(CONTENT)
    asked.send(206, CONTENT[start : end - 9], Content_Range=f"bytes {start}-{end - 10}/{len(CONTENT)}")


def too_long(asked):
    start, end = asked.span(CONTENT)
    asked.send(206, CONTENT[start : end + 9], Content_Range=f"bytes {start}-{end + 8}/{len(CONTENT)}")


def a_page(asked):
    asked.send(200, b"<html>please log in</html>")


@WAYS
@pytest.mark.parametrize("wrong", [of_another_range, too_short, too_long, a_page])
def test_an_answer_with_other_bytes_is_asked_for_again(hostile, url, read, wrong):
    hostile.answer = every_other(wrong)

    assert read(url) == PAYLOADS


@pytest.mark.parametrize(
    ("wrong", "came"),
    [
        (of_another_range, rf"bytes \[0\.\.{RANGE}\) came"),
        (too_short, rf"{RANGE - 9} bytes came"),
        (too_long, rf"{RANGE + 9} bytes came"),
        (a_page, "26 bytes came"),
    ],
)
def test_a_server_that_goes_on_sending_other_bytes_is_named_with_what_came(hostile, url, wrong, came):
    hostile.answer = lambda asked: wrong(asked) if asked.is_range else asked.usual()

    with pytest.raises(RemoteError, match=rf"{url}: bytes \[\d+\.\.\d+\) .* in 3 attempts: .*{came}.*copy the file"):
        by_reader(url)


@WAYS
@pytest.mark.parametrize("said", [138 * 1000, len(CONTENT) + 5])
def test_a_length_that_is_not_the_files_is_told(hostile, url, read, said):
    hostile.answer = lambda asked: asked.usual() if asked.is_range else asked.send(200, CONTENT[:said], length=said)

    with pytest.raises(RemoteError, match=f"{url}: .*a file of {len(CONTENT)} bytes, which was said to have {said}"):
        read(url)


def test_a_large_file_of_a_server_that_ignores_ranges_is_not_fetched(hostile, url, monkeypatch):
    monkeypatch.setattr("wellfed.io.answers._WHOLE_BYTES", RANGE)
    hung_up = threading.Event()

    def without_end(asked):
        asked.send(200, length=1 << 40)
        try:
            while asked.command == "GET":
                asked.wfile.write(bytes(1 << 20))
        except OSError:
            hung_up.set()

    hostile.answer = without_end
    with pytest.raises(RemoteError, match=f"{url}: .*ignores ranges and sends the whole file. Copy it to a disk"):
        by_reader(url)
    assert hung_up.wait(30)


# --- Time ------------------------------------------------------------------------------------------


def test_a_server_that_sends_a_byte_now_and_then_is_given_up(hostile, url, monkeypatch):
    monkeypatch.setattr("wellfed.io.answers._LIMIT_SECONDS", 0.2)
    monkeypatch.setattr("wellfed.io.answers._LEAST_RATE", 1 << 30)
    done = threading.Event()

    def slowly(asked):
        if asked.is_range:
            asked.send(206, length=RANGE)
            while not done.wait(0.05):
                asked.wfile.write(b"x")
        else:
            asked.usual()

    hostile.answer = slowly
    with pytest.raises(RemoteError, match=rf"{url}: bytes \[0\.\.{RANGE}\) .* in 3 attempts: .*Timeout"):
        by_reader(url)
    done.set()


# --- Encodings, redirects, headers -----------------------------------------------------------------


def test_no_server_is_asked_for_compressed_ranges(hostile, url):
    by_reader(url)

    assert {headers["Accept-Encoding"] for _, _, headers in hostile.asked} == {"identity"}


def test_a_file_that_is_kept_compressed_is_refused_with_what_to_do(hostile, url):
    packed = gzip.compress(CONTENT)
    hostile.answer = lambda asked: asked.send(200, packed, Content_Encoding="gzip")

    with pytest.raises(RemoteError, match=f"{url}: .*does not say how long the file is. Copy it to a disk"):
        by_reader(url)


def test_headers_of_the_configuration_are_sent_with_each_request(hostile, url, monkeypatch):
    monkeypatch.setitem(fsspec.config.conf, "http", {"headers": {"Authorization": "Bearer x"}})

    assert by_reader(url) == PAYLOADS
    assert {headers["Authorization"] for _, _, headers in hostile.asked} == {"Bearer x"}


@WAYS
def test_a_redirect_is_followed(hostile, read):
    def answer(asked):
        asked.usual() if asked.path == "/x.tfrecord" else asked.send(302, Location="/x.tfrecord")

    hostile.answer = answer
    assert read(f"{hostile.root}/moved.tfrecord") == PAYLOADS


def test_redirects_without_end_are_not_called_a_missing_file(hostile, url):
    hostile.answer = lambda asked: asked.send(302, Location=asked.path)

    with pytest.raises(RemoteError, match=f"{url}: .*TooManyRedirects"):
        by_reader(url)


def test_an_address_with_a_query_is_no_pattern(hostile, url):
    signed = f"{url}?X-Signature=a/b%3D&*"

    assert by_feed(signed) == PAYLOADS


# --- The index -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index", [lambda asked: asked.send(403), lambda asked: asked.send(503), lambda asked: asked.send(200, b"<html>")]
)
def test_an_index_that_cannot_be_read_is_built_once_and_kept_in_the_users_cache(hostile, url, tmp_path, index):
    hostile.index = index
    assert by_rows(url) == PAYLOADS
    (kept,) = (tmp_path / "cache" / "wellfed" / "index").iterdir()
    made = kept.stat().st_mtime_ns

    assert by_rows(url) == PAYLOADS
    assert kept.stat().st_mtime_ns == made
    assert {command for command, _, _ in hostile.asked} == {"GET", "HEAD"}  # Nothing is sent to a server.
