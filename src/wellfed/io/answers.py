"""One request for bytes of the content that was opened, and of no later one; the store is asked nothing more for that.

http, https    the answer's head is looked at before its body comes: which bytes, of which length and ETag
s3             If-Match, with the ETag
gs             the generation
others         what fsspec's file system gives

A request has a time limit of its own, where its file system can be told one: a server that sends a byte now and then
would be waited for without end.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

from wellfed.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WHOLE_BYTES = 64 << 20  # A server that ignores ranges may send so much for one; it is kept then.
_LIMIT_SECONDS = 120.0
_LEAST_RATE = 32 << 10  # A range takes so much longer than the limit. [bytes/s]
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class WrongAnswerError(ConnectionError):
    """An answer that is not what was asked for. It passes where the file is still the same: the next one may be right.

    Args:
      came: What came.
    """

    def __init__(self, came: str) -> None:
        super().__init__(f"{came} came. Where that stays so, copy the file to a disk, and read it there")


def limit(system: Any, count: int = 0) -> dict[str, float]:
    """Tells a method of fsspec how long a request may take, for so many bytes; nothing where it knows no limits."""
    return {"timeout": _LIMIT_SECONDS + count / _LEAST_RATE} if getattr(system, "async_impl", False) else {}


def ask(system: Any, name: str, start: int, end: int, info: Mapping[str, Any]) -> bytes:
    """The bytes [start, end), or more of them where a server ignores ranges.

    Args:
      system: fsspec's.
      name: The file within it.
      start: First byte.
      end: The byte after the last one.
      info: What the system told of the file when it was opened.

    Raises:
      WrongAnswerError: Fewer bytes came, or others, or of another content.
      RemoteError: The server ignores ranges, and the file is large.
      Exception: Whatever the system raises.
    """
    way = _WAYS.get(type(system).__name__)
    if way is None:
        found: bytes = system.cat_file(name, start=start, end=end, **limit(system, end - start))
    else:
        found = way(system, name, start, end, info)
    if len(found) < end - start or (len(found) > end - start and len(found) != info["size"]):
        raise WrongAnswerError(f"{len(found)} bytes")
    if len(found) > max(end - start, _WHOLE_BYTES):
        raise _ignores_ranges(name, start, end)
    return found


def _ignores_ranges(path: str, start: int, end: int) -> RemoteError:
    """The error for a server that sends all of a large file."""
    reason = "the server ignores ranges and sends the whole file. Copy it to a disk, and read it there"
    return RemoteError(reason, path, start, end, 1)


def _over_http(system: Any, name: str, start: int, end: int, info: Mapping[str, Any]) -> bytes:
    async def look(answer: Any) -> None:
        """Called by aiohttp between the answer's head and its body."""
        if answer.status < 400:
            try:
                _check_head(answer, name, (start, end), info)
            except Exception:
                answer.close()  # aiohttp 3.9 leaves it open, and its body coming.
                raise

    # Where a server may compress what it sends, a range is one of compressed bytes.
    headers = {**system.kwargs.get("headers", {}), "Accept-Encoding": "identity"}
    options = {"headers": headers, "raise_for_status": look, **limit(system, end - start)}
    found: bytes = system.cat_file(name, start=start, end=end, **options)
    return found


def _check_head(answer: Any, name: str, span: tuple[int, int], info: Mapping[str, Any]) -> None:
    status, headers, (start, end) = answer.status, answer.headers, span
    due, found = info.get("ETag"), headers.get("ETag")
    if due and found and due.removeprefix("W/") != found.removeprefix("W/"):
        raise WrongAnswerError(f"bytes of ETag {found} in place of {due}")
    size = info["size"]
    told = _CONTENT_RANGE.match(headers.get("Content-Range", ""))
    if told is not None and told[3] not in ("*", str(size)):
        raise WrongAnswerError(f"bytes of a file of {told[3]} bytes, which was said to have {size},")
    if told is not None and int(told[1]) != start:
        raise WrongAnswerError(f"bytes [{told[1]}..{int(told[2]) + 1})")
    if status != 206 and size > max(_WHOLE_BYTES, end - start):
        raise _ignores_ranges(name, start, end)
    length, most = headers.get("Content-Length", ""), end - start if status == 206 else size
    if length.isdecimal() and int(length) > most and not headers.get("Content-Encoding"):
        raise WrongAnswerError(f"{length} bytes")


def _over_s3(system: Any, name: str, start: int, end: int, info: Mapping[str, Any]) -> bytes:
    bucket, key, version = system.split_path(name)
    if version or not info.get("ETag"):
        found: bytes = system.cat_file(name, start=start, end=end, **limit(system, end - start))
        return found

    async def get() -> bytes:
        # As s3fs's own files do: `cat_file` takes no condition.
        span = {"Range": f"bytes={start}-{end - 1}", "IfMatch": info["ETag"]}
        answer = await system._call_s3("get_object", system.req_kw, Bucket=bucket, Key=key, **span)
        try:
            content: bytes = await answer["Body"].read()
        finally:
            answer["Body"].close()
        return content

    sync: Callable[..., bytes] = importlib.import_module("fsspec.asyn").sync
    return sync(system.loop, get, **limit(system, end - start))


def _over_gs(system: Any, name: str, start: int, end: int, info: Mapping[str, Any]) -> bytes:
    options = {"generation": info.get("generation"), **limit(system, end - start)}
    found: bytes = system.cat_file(name, start=start, end=end, **options)
    return found


# By the names of fsspec's classes, not those made from them: others may speak another way.
_WAYS: dict[str, Callable[..., bytes]] = {
    "HTTPFileSystem": _over_http,
    "S3FileSystem": _over_s3,
    "GCSFileSystem": _over_gs,
}
