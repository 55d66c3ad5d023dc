"""Hypothesis strategies for serialized Examples in every form that protobuf reads, and for specifications.

A drawn record carries flags that name its unusual forms, so that a test can tell where TensorFlow's own parser is known
to differ from protobuf.
"""

from dataclasses import dataclass, field

import numpy as np
import wire
from hypothesis import strategies as st

from wellfed.example import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, VarLenFeature

KEYS = ["a", "b", "key of some length", "é"]
INT64 = st.one_of(st.integers(-3, 300), st.integers(-(2**63), 2**63 - 1))
FLOAT = st.floats(width=32)
STRINGS = st.one_of(st.binary(max_size=5), st.sampled_from([b"", b"\0", b"a\0"]))
VALUES = {wire.INT64: INT64, wire.FLOAT: FLOAT, wire.BYTES: STRINGS}
DTYPES = {wire.INT64: np.int64, wire.FLOAT: np.float32, wire.BYTES: bytes}
SHAPES = [(), (1,), (2,), (1, 2), (0,)]


@dataclass
class Record:
    """A serialized Example, and the names of its unusual forms."""

    data: bytes
    flags: set = field(default_factory=set)


@st.composite
def lists(draw, flags, kind=None):
    """One list field of a Feature."""
    kind = draw(st.sampled_from([wire.INT64, wire.FLOAT, wire.BYTES])) if kind is None else kind
    values = draw(st.lists(VALUES[kind], max_size=4))
    if kind == wire.BYTES:
        return wire.feature(kind, wire.strings(*values))
    encode = wire.ints if kind == wire.INT64 else wire.floats
    form = draw(st.sampled_from(["packed"] * 4 + ["unpacked"] * 2 + ["chunks", "packed+unpacked", "unpacked+packed"]))
    if kind == wire.FLOAT and "unpacked" in form:
        flags.add("unpacked floats")
    if form in ("packed", "unpacked"):
        return wire.feature(kind, encode(*values, packed=form == "packed") if values else b"")
    cut = len(values) // 2
    first, second = values[:cut], values[cut:]
    flags.add("chunks")
    packed = {"chunks": (True, True), "packed+unpacked": (True, False), "unpacked+packed": (False, True)}[form]
    return wire.feature(kind, encode(*first, packed=packed[0]) + encode(*second, packed=packed[1]))


@st.composite
def features(draw, flags, kind):
    """The inside of a Feature."""
    form = draw(st.sampled_from(["one"] * 10 + ["any kind"] * 3 + ["unset"] * 2 + ["two", "unknown", "unknown list"]))
    if form == "unset":
        flags.add("unset")
        return b""
    if form == "any kind":
        return draw(lists(flags))
    first = draw(lists(flags, kind))
    if form == "two":
        flags.add("two lists")
        return first + draw(lists(flags))
    if form == "unknown":
        flags.add("unknown in feature")
        return draw(st.permutations([first, wire.varint(9 << 3) + wire.varint(300)]).map(b"".join))
    if form == "unknown list":
        flags.add("unknown in list")
        return wire.feature(kind, wire.varint(7 << 3) + b"\x01")
    return first


@st.composite
def entries(draw, flags, kinds):
    """One map entry, as a field of Features."""
    key = draw(st.sampled_from(KEYS))
    value = draw(features(flags, kinds.get(key, wire.INT64)))
    form = draw(st.sampled_from(["usual"] * 20 + ["value first", "no value", "no key", "two values"]))
    key_field, value_field = wire.field(1, key.encode()), wire.field(2, value)
    if form == "usual":
        return wire.entry(key, value), key
    flags.add(form)
    inside = {
        "value first": value_field + key_field,
        "no value": key_field,
        "no key": value_field,
        "two values": key_field + value_field + wire.field(2, draw(features(flags, kinds.get(key, wire.INT64)))),
    }[form]
    return wire.field(1, inside), "" if form == "no key" else key


@st.composite
def records(draw, kinds):
    """A serialized Example; `kinds` says which kind most values of a key have."""
    flags = set()
    drawn = draw(st.lists(entries(flags, kinds), max_size=5))
    keys = [key for _, key in drawn]
    if len(set(keys)) < len(keys):
        flags.add("duplicate")
    parts = [entry for entry, _ in drawn]
    form = draw(st.sampled_from(["usual"] * 12 + ["split", "unknown field", "group", "in features", "cut"]))
    if form == "usual":
        return Record(wire.example(*parts), flags)
    if form == "cut":
        whole = wire.example(*parts)
        return Record(whole[: draw(st.integers(0, len(whole)))], flags | {"cut"})
    flags.add(form)
    data = {
        "split": wire.example(*parts[:2]) + wire.example(*parts[2:]),
        "unknown field": wire.field(15, b"zzz") + wire.example(*parts) + wire.varint(9 << 3) + b"\x07",
        "group": wire.example(*parts) + b"\x2b\x08\x01\x2c",
        "in features": wire.example(wire.field(9, b"?"), *parts),
    }[form]
    return Record(data, flags)


@st.composite
def defaults(draw, kind, shape):
    """A default value for a fixed feature, or None."""
    count = int(np.prod(shape))
    if not count or draw(st.booleans()):
        return None
    values = draw(st.lists(VALUES[kind], min_size=count, max_size=count))
    if kind == wire.FLOAT:
        values = [value + 0.0 for value in values]  # TensorFlow keeps constants by value, so -0.0 may be 0.0 there.
    return values[0] if shape == () else values


def kinds():
    """The kind that most values of each key have."""
    return st.fixed_dictionaries({key: st.sampled_from([wire.INT64, wire.FLOAT, wire.BYTES]) for key in KEYS})


@st.composite
def specs(draw, kinds):
    """Features for some of the keys."""
    chosen = {}
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)):
        kind, shape = kinds[key], draw(st.sampled_from(SHAPES))
        form = draw(st.sampled_from(["fixed", "fixed", "var", "ragged", "sequence"]))
        if form == "fixed":
            chosen[key] = FixedLenFeature(shape, DTYPES[kind], draw(defaults(kind, shape)))
        elif form == "sequence" and 0 not in shape:
            pad = draw(defaults(kind, ()))
            chosen[key] = FixedLenSequenceFeature(shape, DTYPES[kind], allow_missing=True, default_value=pad)
        else:
            chosen[key] = RaggedFeature(DTYPES[kind]) if form == "ragged" else VarLenFeature(DTYPES[kind])
    return chosen
