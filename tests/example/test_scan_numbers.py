"""The number of a record that is no Example, when records come in chunks."""

import pytest

from wellfed.errors import MalformedExampleError
from wellfed.example import encode_example
from wellfed.example.scan import scan_features


def test_a_malformed_record_is_numbered_from_the_first_one(monkeypatch):
    monkeypatch.setattr("wellfed.example.scan._CHUNK", 4)
    records = [encode_example({"x": 1})] * 9 + [b"\xff"]

    with pytest.raises(MalformedExampleError, match="example 9 of the batch"):
        scan_features(iter(records))
