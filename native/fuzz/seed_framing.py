"""Writes the seeds of the framing corpus: one small file for each thing that a reader can meet.

    python native/fuzz/seed_framing.py    # into native/fuzz/corpus/framing

Inputs that a fuzzer found are kept beside them under other names.
"""

from __future__ import annotations

import struct

from seeds import write_seeds


def masked_sum(payload: bytes) -> bytes:
    """Returns the masked CRC-32C as four little-endian bytes, computed bit by bit."""
    crc = 0xFFFFFFFF
    for byte in payload:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def header(length: int) -> bytes:
    """Returns the twelve bytes in front of a payload of `length` bytes."""
    number = struct.pack("<Q", length)
    return number + masked_sum(number)


def record(payload: bytes) -> bytes:
    """Returns the framed payload."""
    return header(len(payload)) + payload + masked_sum(payload)


def flip(content: bytes, at: int) -> bytes:
    """Returns the bytes with the lowest bit of byte `at` flipped."""
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


THREE = record(b"first") + record(b"") + record(b"x" * 40)
SEEDS = {
    "empty": b"",
    "one_empty_record": record(b""),
    "three_records": THREE,
    "flipped_length": flip(THREE, 1),
    "flipped_length_sum": flip(THREE, 9),
    "flipped_payload": flip(THREE, 13),
    "flipped_payload_sum": flip(THREE, 18),
    "cut_in_header": THREE[:26],
    "cut_in_payload": THREE[:60],
    "cut_in_footer": THREE[:-1],
    "zeros_behind": THREE + bytes(40),
    "zeros_before": bytes(24) + record(b"after"),
    "length_of_2_63": header(1 << 63) + THREE,
    "length_wraps": header((1 << 64) - 16) + THREE,
    "record_in_payload": record(b"ab" + record(b"inner") + b"cd"),
    "record_in_damaged_payload": flip(record(b"ab" + record(b"inner") + b"cd"), 12) + record(b"behind"),
    "headers_in_headers": header(60) + header(40) + header(20) + bytes(80),
    "headers_far_apart": (header(3000) + bytes(188)) * 10 + record(b"x" * 2000) + bytes(1500),
    "text": b"version https://git-lfs.github.com/spec/v1\n",
}


if __name__ == "__main__":
    write_seeds("framing", SEEDS)
