"""Every file of the corpus by a live TensorFlow and by wellfed: records, where they stop, what is parsed from them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from wellfed import example as wf
from wellfed.errors import CompressionError, ExampleError, NotTFRecordError, RecordError
from wellfed.io import TFRecordReader

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # A line for each refused record otherwise.
pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:.* hold a feature more than once"),
]
tf = pytest.importorskip("tensorflow")
columns_of = pytest.importorskip("tensorflow_columns")
all_plain, all_to_tensorflow, plain = columns_of.all_plain, columns_of.all_to_tensorflow, columns_of.plain

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
EXPECTED = json.loads((CORPUS / "EXPECTED.json").read_text())["files"]
COMPRESSION = {"NONE": "", "empty_file": "", "unknown": "", "GZIP": "GZIP", "ZLIB": "ZLIB"}

LEFT_OVER = "TensorFlow ends in silence where 1 to 11 bytes are left over"
TRAILER = "TensorFlow does not miss a GZIP trailer"
BLOCK = "TensorFlow loses the records in front of the damage that were inflated together with it"
# Files of which each library reads something else, and why.
DIFFERENCES = {
    "derived/trunc_at_001.tfrecord": LEFT_OVER,
    "derived/trunc_at_007.tfrecord": LEFT_OVER,
    "derived/trunc_at_008.tfrecord": LEFT_OVER,
    "derived/trunc_rec2_in_length.tfrecord": LEFT_OVER,
    "derived/trunc_rec2_in_length_crc.tfrecord": LEFT_OVER,
    "derived/gz_trunc_no_trailer.tfrecord.gz": TRAILER,
    "derived/gz_trunc_in_trailer.tfrecord.gz": TRAILER,
    "derived/gz_bad_crc.tfrecord.gz": BLOCK,
    "derived/gz_flip_middle.tfrecord.gz": BLOCK,
    "derived/zlib_bad_adler.tfrecord": BLOCK,
}


def read(make, failures):
    """The records up to the end or the first error, and the error."""
    records = []
    try:
        for record in make():
            records.append(record)  # noqa: PERF402 -- what came before the error counts.
    except failures as error:
        return records, error
    return records, None


def read_both(name):
    """What TensorFlow reads with the right compression, and what wellfed reads by itself."""
    path, kind = CORPUS / name, COMPRESSION[EXPECTED[name]["compression"]]
    theirs = read(lambda: tf.data.TFRecordDataset(str(path), kind).as_numpy_iterator(), tf.errors.OpError)
    return theirs, read(lambda: TFRecordReader(path), (RecordError, CompressionError, NotTFRecordError))


def test_every_file_of_the_corpus_is_compared():
    files = {str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*") if path.is_file()}
    assert len(EXPECTED) > 120
    assert EXPECTED.keys() - files == set()
    assert DIFFERENCES.keys() <= EXPECTED.keys()


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_file_gives_the_records_that_tensorflow_reads_and_stops_where_it_stops(name):
    (due, their_error), (found, our_error) = read_both(name)

    alike = found == due and (their_error is None) == (our_error is None)
    assert alike == (name not in DIFFERENCES)
    assert found[: len(due)] == due  # What TensorFlow reads is read.
    # TensorFlow gives the payload's place where a payload is damaged, wellfed always the record's.
    place = re.search(r"record at (\d+)", str(their_error))
    if place and isinstance(our_error, RecordError) and alike:
        assert int(place[1]) - our_error.offset in (0, 12)


# --- What is parsed from them

# Records that TensorFlow's parser reads otherwise than protobuf, which wellfed follows (tests/example/test_corpus.py).
PARSED_OTHERWISE = {
    "derived/wire_group_wire.tfrecord": "TensorFlow knows no groups",
    "derived/wire_mixed_packed.tfrecord": "TensorFlow reads the first chunk of a list",
    "derived/wire_no_value.tfrecord": "TensorFlow wants a value in a map entry",
    "derived/wire_nonutf8_key.tfrecord": "TensorFlow does not look whether keys are UTF-8",
    "derived/wire_no_key.tfrecord": "TensorFlow wants a key in a map entry",
}
EXAMPLES = sorted(
    name for name, facts in EXPECTED.items() if facts.get("payload_type") == "Example" or "wire_case" in facts
)
SEQUENCES = sorted(name for name, facts in EXPECTED.items() if facts.get("payload_type") == "SequenceExample")
KINDS = {"int64": np.int64, "float": np.float32, "bytes": bytes}
RECORDS = 100  # Of each file.


def features_of(facts):
    """A VarLenFeature of the commonest kind for each feature of a file; each value that is there comes out."""
    kinds = {key: {kind: n for kind, n in found["kinds"].items() if kind in KINDS} for key, found in facts.items()}
    return {key: wf.VarLenFeature(KINDS[max(found, key=found.get)]) for key, found in kinds.items() if found}


def parsed(parse, *given):
    """Comparable columns, or "error"."""
    try:
        return parse(*given)
    except (ExampleError, tf.errors.OpError, ValueError):
        return "error"


def parse_ours(records, features):
    return {name: plain(column.to_sparse()) for name, column in wf.parse_example(records, features).items()}


def parse_theirs(records, features):
    return all_plain(tf.io.parse_example(records, all_to_tensorflow(features)))


def test_there_are_files_to_parse():
    assert len(EXAMPLES) > 60
    assert len(SEQUENCES) >= 4
    assert set(EXAMPLES) >= PARSED_OTHERWISE.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_parsed_to_the_same_values(name):
    records = read_both(name)[1][0][:RECORDS]
    features = features_of(EXPECTED[name].get("features", {})) or {"i": wf.VarLenFeature(np.int64)}

    alike = parsed(parse_ours, records, features) == parsed(parse_theirs, records, features)

    assert alike == (name not in PARSED_OTHERWISE)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_inferred_specification_gives_the_same_by_both(name):
    records = read_both(name)[1][0][:RECORDS]
    if name in PARSED_OTHERWISE or not records:
        return
    try:
        features = dict(wf.infer_spec(wf.scan_features(records)).features)
    except ExampleError:  # One of the odd forms on the wire: both refuse it, as the test above shows.
        return
    var = {key for key, feature in features.items() if isinstance(feature, wf.VarLenFeature)}

    if features:
        ours = wf.parse_example(records, features)
        found = {key: plain(column.to_sparse() if key in var else column) for key, column in ours.items()}
        assert found == parse_theirs(records, features)


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_are_parsed_to_the_same_values(name):
    records = read_both(name)[1][0][:RECORDS]
    facts = EXPECTED[name]
    context = features_of(facts.get("context_features", {}))
    lists = features_of({key: found["per_step"]["*"] for key, found in facts["feature_lists"].items()})

    found, steps, _ = wf.parse_sequence_example(records, context, lists)
    due, their_steps, _ = tf.io.parse_sequence_example(
        records, all_to_tensorflow(context) or None, all_to_tensorflow(lists)
    )

    assert {key: plain(column.to_sparse()) for key, column in found.items()} == all_plain(due)
    assert {key: plain(column.to_sparse()) for key, column in steps.items()} == all_plain(their_steps)
