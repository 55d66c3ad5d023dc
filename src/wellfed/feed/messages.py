"""Values between two processes: small ones through a pipe, large ones through memory that no name leads to.

    pipe      [size of the pickle][number of buffers], or the pickle itself where it is small
    memory    pickle | begin and size of each buffer | buffers, each at a multiple of 64 bytes

The memory has no name from the start (Linux: `memfd_create`; elsewhere: a file that is deleted while it is open). Its
descriptor travels through the pipe, and the kernel frees it when the last mapping of it ends, however either process
ends: there is nothing to clean up. Arrays of the value that arrives lie in the mapping, and keep it.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import tempfile
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SMALL_BUFFER = 4 << 10  # Buffers below it travel within the pickle. [bytes]
SMALL_MESSAGE = 32 << 10  # Messages below it travel through the pipe, whose own buffer holds more than that. [bytes]
_ALIGNMENT = 64
_LARGE = struct.Struct("<cQQQ")  # b"L", bytes in all, bytes of the pickle, number of buffers.
_SPAN = struct.Struct("<QQ")  # Where a buffer begins, and its size.


def send(connection: Connection[Any, Any], value: Any) -> None:
    """Sends a value. Its arrays are copied once.

    Raises:
      Exception: The value does not pickle; nothing was sent.
      OSError: The other side is gone.
    """
    buffers: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < SMALL_BUFFER:
            return True
        buffers.append(raw)
        return False

    content = pickle.dumps(value, protocol=5, buffer_callback=keep)
    if not buffers and len(content) < SMALL_MESSAGE:
        connection.send_bytes(b"S" + content)
        return
    spans, end = [], _aligned(len(content) + _SPAN.size * len(buffers))
    for buffer in buffers:
        spans.append((end, buffer.nbytes))
        end = _aligned(end + buffer.nbytes)
    descriptor = _nameless(end)
    try:
        with mmap.mmap(descriptor, end) as memory:
            memory[: len(content)] = content
            for number, (buffer, span) in enumerate(zip(buffers, spans, strict=True)):
                _SPAN.pack_into(memory, len(content) + _SPAN.size * number, *span)
                memory[span[0] : sum(span)] = buffer
        connection.send_bytes(_LARGE.pack(b"L", end, len(content), len(buffers)))
        reduction.send_handle(connection, descriptor, 0)  # The other process's number, which only Windows needs.
    finally:
        os.close(descriptor)


def receive(connection: Connection[Any, Any]) -> Any:
    """The next value; its arrays own a part of the memory it came in, and are writable where they were.

    Raises:
      EOFError, OSError: The other side is gone.
    """
    message = connection.recv_bytes()
    if message[:1] == b"S":
        return pickle.loads(memoryview(message)[1:])  # noqa: S301 -- from a process of this program.
    _, size, length, count = _LARGE.unpack(message)
    descriptor = reduction.recv_handle(connection)
    try:
        memory = memoryview(mmap.mmap(descriptor, size))
    finally:
        os.close(descriptor)
    spans = [_SPAN.unpack_from(memory, length + _SPAN.size * number) for number in range(count)]
    buffers = [memory[begin : begin + nbytes] for begin, nbytes in spans]
    return pickle.loads(memory[:length], buffers=buffers)  # noqa: S301 -- from a process of this program.


def _aligned(size: int) -> int:
    return -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT


def _nameless(size: int) -> int:
    """A descriptor of `size` bytes of memory that no path leads to."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("wellfed", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor
