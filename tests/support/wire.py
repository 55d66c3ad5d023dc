"""Serialized Examples by hand, one protobuf field at a time."""

import struct


def varint(value):
    """A varint; negative numbers as their 64-bit two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number, payload):
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def ints(*values, packed=True):
    """The inside of an Int64List."""
    if packed:
        return field(1, b"".join(map(varint, values)))
    return b"".join(varint(1 << 3) + varint(value) for value in values)


def floats(*values, packed=True):
    """The inside of a FloatList."""
    if packed:
        return field(1, struct.pack(f"<{len(values)}f", *values))
    return b"".join(varint(1 << 3 | 5) + struct.pack("<f", value) for value in values)


def strings(*values):
    """The inside of a BytesList."""
    return b"".join(field(1, value) for value in values)


BYTES, FLOAT, INT64 = 1, 2, 3


def feature(kind, inside):
    """A Feature that holds one list."""
    return field(kind, inside)


def entry(key, value):
    """One entry of a map<string, message>, as a field of the map's owner."""
    return field(1, field(1, key.encode() if isinstance(key, str) else key) + field(2, value))


def example(*entries):
    """An Example of map entries."""
    return field(1, b"".join(entries))


def int_example(**values):
    """An Example of one int64 per key."""
    return example(*(entry(key, feature(INT64, ints(value))) for key, value in values.items()))
