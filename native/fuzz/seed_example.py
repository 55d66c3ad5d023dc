"""Writes the seeds of the Example corpora: a file for each form that a reader can meet, and scripts of random bytes.

    python native/fuzz/seed_example.py    # into native/fuzz/corpus/example_parse and native/fuzz/corpus/sequence_parse

The first byte says how the rest is read: 0, as a record; 1, as a script for native/fuzz/example_script.h. Inputs that a
fuzzer found are kept beside them under other names.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

import wire  # noqa: E402 -- found through the line above.

FOLDER = Path(__file__).resolve().parent / "corpus"
INT64, FLOAT, BYTES = wire.INT64, wire.FLOAT, wire.BYTES


def one(key: str, kind: int, inside: bytes) -> bytes:
    """Returns an Example of one feature."""
    return wire.example(wire.entry(key, wire.feature(kind, inside)))


EXTREMES = (0, 1, -1, 127, 128, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
ALL = wire.example(
    wire.entry("i", wire.feature(INT64, wire.ints(300))),
    wire.entry("f", wire.feature(FLOAT, wire.floats(1, 2, 3))),
    wire.entry("s", wire.feature(BYTES, wire.strings(b"a\0", b""))),
    wire.entry("raw", wire.feature(BYTES, wire.strings(b"1234"))),
    wire.entry("many", wire.feature(INT64, wire.ints(*EXTREMES))),
    wire.entry("other", wire.feature(INT64, wire.ints(7))),
)
KEY, VALUE = wire.field(1, b"i"), wire.field(2, wire.feature(INT64, wire.ints(5)))
GROUP = b"\x2b\x08\x01\x2c"
RECORDS = {
    "empty": b"",
    "no_features": wire.example(),
    "all_features": ALL,
    "extremes": one("many", INT64, wire.ints(*EXTREMES)),
    "loose_ints": one("many", INT64, wire.ints(*EXTREMES, packed=False)),
    "loose_floats": one("reals", FLOAT, wire.floats(1.5, -2, packed=False)),
    "chunks": one("many", INT64, wire.ints(1, 2) + wire.ints(3, packed=False) + wire.ints(4)),
    "one_byte_ints": one("many", INT64, wire.ints(*range(30))),
    "unset_kind": wire.example(wire.entry("i", b"")),
    "empty_list": one("many", INT64, b""),
    "wrong_kind": one("i", FLOAT, wire.floats(1)),
    "two_kinds": wire.example(wire.entry("i", wire.feature(INT64, wire.ints(1)) + wire.feature(FLOAT, b""))),
    "two_lists": wire.example(wire.entry("many", wire.feature(INT64, wire.ints(1)) + wire.feature(INT64, b"\x08\x02"))),
    "kind_and_back": wire.example(
        wire.entry("many", b"".join([wire.feature(INT64, b"\x08\x01"), b"\x12\x00", wire.feature(INT64, b"\x08\x02")]))
    ),
    "duplicate": wire.example(wire.field(1, KEY + VALUE), wire.entry("i", wire.feature(INT64, wire.ints(6)))),
    "split": ALL + wire.int_example(i=9),
    "value_first": wire.example(wire.field(1, VALUE + KEY)),
    "no_value": wire.example(wire.field(1, KEY)),
    "no_key": wire.example(wire.field(1, VALUE)),
    "two_values": wire.example(wire.field(1, KEY + VALUE + VALUE)),
    "unknown_in_entry": wire.example(wire.field(1, KEY + wire.field(3, b"?") + VALUE)),
    "unknown_fields": wire.field(15, b"z") + ALL + b"\x48\x07",
    "group": ALL + GROUP,
    "open_group": ALL + b"\x2b",
    "groups_in_groups": b"\x2b" * 101 + b"\x2c" * 101,
    "no_utf8": wire.example(wire.entry(b"\xff\xfe", b"")),
    "varint_of_11_bytes": one("i", INT64, wire.field(1, b"\xff" * 10 + b"\x01")),
    "varint_of_65_bits": one("i", INT64, wire.field(1, b"\xff" * 9 + b"\x7f")),
    "cut_varint": one("i", INT64, wire.field(1, b"\x80")),
    "cut_floats": one("f", FLOAT, wire.field(1, b"123")),
    "length_beyond": b"\x0a\x05\x0a",
    "length_of_2_63": b"\x0a" + wire.varint(2**63),
    "long_tag": b"\x8a\x80\x80\x80\x00" + ALL[1:],
    "cut": ALL[:-3],
}
LISTS = {
    "list": wire.field(2, wire.entry("i", wire.field(1, wire.feature(INT64, wire.ints(1))) + wire.field(1, b""))),
    "lists": wire.field(2, wire.entry("many", b"")) + wire.field(2, wire.entry("s", wire.field(1, b"\x0a\x00"))),
    "context_and_list": ALL + wire.field(2, wire.entry("f", wire.field(1, wire.feature(FLOAT, wire.floats(1, 2, 3))))),
    "list_twice": wire.field(2, wire.entry("i", b"") * 2),
    "other_kind_empty": wire.field(2, wire.entry("i", wire.field(1, b"\x12\x00"))),
    "step_kind_and_back": wire.field(
        2,
        wire.entry(
            "i", wire.field(1, wire.feature(INT64, b"\x08\x01") + b"\x12\x00" + wire.feature(INT64, b"\x08\x02"))
        ),
    ),
    "cut_list": wire.field(2, wire.entry("i", b"\x0a\x05")),
}


def main() -> None:
    """Writes every seed."""
    rng = random.Random(0)  # noqa: S311 -- the same seeds in each run.
    scripts = {f"script_{size}": bytes(rng.randrange(256) for _ in range(size)) for size in (5, 20, 60, 150, 400)}
    for name, records in {"example_parse": RECORDS, "sequence_parse": RECORDS | LISTS}.items():
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        for seed, content in records.items():
            (folder / seed).write_bytes(b"\0" + content)
        for seed, content in scripts.items():
            (folder / seed).write_bytes(b"\1" + content)
        print(f"{len(records) + len(scripts)} seeds in {folder}")


if __name__ == "__main__":
    main()
