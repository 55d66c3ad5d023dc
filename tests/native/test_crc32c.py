"""CRC-32C from Python: known sums, every implementation, every kind of buffer. The tables of edges are in C++."""

import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellfed import _native

# RFC 3720 appendix B.4; the last is the check value of the CRC catalogue.
VECTORS = {
    "zeros": (bytes(32), 0x8A9136AA),
    "ones": (b"\xff" * 32, 0x62A8AB43),
    "up": (bytes(range(32)), 0x46DD794E),
    "down": (bytes(range(31, -1, -1)), 0x113FDB5C),
    "digits": (b"123456789", 0xE3069283),
    "nothing": (b"", 0),
}


def mapped(content, folder):
    path = folder / "content"
    path.write_bytes(content)
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


BUFFERS = {
    "bytes": lambda content, _: content,
    "bytearray": lambda content, _: bytearray(content),
    "memoryview": lambda content, _: memoryview(content),
    "slice of a memoryview": lambda content, _: memoryview(b"x" + content + b"y")[1:-1],
    "mmap": mapped,
    "writable array": lambda content, _: np.frombuffer(content, np.uint8).copy(),
    "read-only array": lambda content, _: np.frombuffer(content, np.uint8),
    "int64 array": lambda content, _: np.frombuffer(content, np.int64),
    "table": lambda content, _: np.frombuffer(content, np.uint8).reshape(4, -1),
}


@pytest.mark.parametrize(("content", "due"), VECTORS.values(), ids=VECTORS)
@pytest.mark.parametrize("name", _native.crc32c_implementations())
def test_each_implementation_gives_the_published_sums(name, content, due):
    assert _native.crc32c_with(name, content) == due


@pytest.mark.parametrize(("content", "due"), VECTORS.values(), ids=VECTORS)
def test_the_default_gives_the_published_sums(content, due):
    assert _native.crc32c(content) == due


@given(st.binary(max_size=5000))
def test_all_implementations_agree_on_any_bytes(content):
    assert len({_native.crc32c_with(name, content) for name in _native.crc32c_implementations()}) == 1


@given(st.binary(max_size=5000), st.integers(0, 5000))
def test_a_sum_may_be_taken_in_parts(content, cut):
    first = _native.crc32c(content[:cut])

    assert _native.crc32c(content[cut:], first) == _native.crc32c(content)


@given(st.binary(min_size=1, max_size=3000), st.data())
def test_any_flipped_bit_changes_the_sum(content, data):
    at = data.draw(st.integers(0, 8 * len(content) - 1))
    flipped = bytearray(content)
    flipped[at // 8] ^= 1 << at % 8

    assert _native.crc32c(flipped) != _native.crc32c(content)


@pytest.mark.parametrize("make", BUFFERS.values(), ids=BUFFERS)
def test_any_contiguous_buffer_is_taken(make, tmp_path):
    content = bytes(range(256)) * 40

    assert _native.crc32c(make(content, tmp_path)) == _native.crc32c(content)


def test_masking_follows_the_formula():
    crc = _native.crc32c(b"123456789")

    assert _native.masked_crc32c(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize("not_bytes", ["text", 5, None, [1, 2], np.arange(10)[::2]], ids=repr)
def test_what_is_no_contiguous_buffer_is_a_type_error(not_bytes):
    with pytest.raises(TypeError, match=r"crc32c\(data: "):
        _native.crc32c(not_bytes)


def test_a_buffer_is_given_back_after_the_call():
    buffer = bytearray(b"abc")
    _native.crc32c(buffer)

    buffer.append(0)  # Raises BufferError while somebody holds it.

    assert _native.crc32c(buffer) == _native.crc32c(b"abc\0")


def test_an_unknown_implementation_is_named_beside_those_that_there_are():
    with pytest.raises(ValueError, match=r'must be one of "portable".*, got "md5"'):
        _native.crc32c_with("md5", b"")
