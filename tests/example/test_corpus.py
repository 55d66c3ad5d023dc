"""Real files: what other people's software wrote, against what protobuf and TensorFlow made of it (EXPECTED.json)."""

import json
from pathlib import Path

import numpy as np
import pytest

from wellfed.errors import ExampleError, MalformedExampleError
from wellfed.example import (
    Example,
    SequenceExample,
    VarLenFeature,
    decode_example,
    encode_example,
    infer_spec,
    parse_example,
    scan_features,
)
from wellfed.io import TFRecordReader

pytestmark = pytest.mark.filterwarnings("ignore:.* hold a feature more than once")
CORPUS = Path(__file__).resolve().parent.parent / "data" / "corpus"
EXPECTED = json.loads((CORPUS / "EXPECTED.json").read_text())["files"]
HERE = {name: facts for name, facts in EXPECTED.items() if (CORPUS / name).exists()}
WIRE = {name.rpartition("wire_")[2].partition(".")[0]: f["wire_case"] for name, f in HERE.items() if "wire_case" in f}


# Damaged variants are tests/io's; odd forms on the wire and other people's files are read here.
EXAMPLES = {
    name: facts
    for name, facts in HERE.items()
    if facts.get("payload_type") == "Example" and (name.startswith("files/") or "wire_case" in facts)
}
SEQUENCES = {name: facts for name, facts in HERE.items() if facts.get("payload_type") == "SequenceExample"}


def test_the_corpus_is_here():
    assert len(WIRE) == 15
    assert len(EXAMPLES) >= 20
    assert len(SEQUENCES) >= 1


# --- Odd forms on the wire


@pytest.mark.parametrize("case", WIRE.values(), ids=WIRE)
def test_an_odd_form_is_read_as_protobuf_reads_it(case):
    record = bytes.fromhex(case["payload_hex"])

    if not case["python_parse"]:
        with pytest.raises(MalformedExampleError, match="cannot be read"):
            Example.FromString(record)
        return
    # protobuf shows a map in no certain order, so the lines are compared, not their order.
    assert sorted(str(Example.FromString(record)).splitlines()) == sorted(case["text"].splitlines())


# Where TensorFlow's own parser reads otherwise than protobuf.
TENSORFLOW_DIFFERS = {
    "group_wire": "it knows no groups",
    "mixed_packed": "it reads the first chunk of a list",
    "no_value": "it wants a value in a map entry",
    "nonutf8_key": "it does not look whether keys are UTF-8",
    "no_key": "it wants a key in a map entry",
}


@pytest.mark.parametrize("name", sorted(WIRE.keys() - TENSORFLOW_DIFFERS.keys()))
def test_an_odd_form_is_parsed_as_tensorflow_parses_it(name):
    record = bytes.fromhex(WIRE[name]["payload_hex"])
    dtypes = {"b": bytes, "f": np.float32, "i": np.int64, "j": np.int64}

    if "tf_parse" not in WIRE[name]:
        with pytest.raises(ExampleError):
            parse_example([record], {"i": VarLenFeature(np.int64)})
        return
    for key, due in WIRE[name]["tf_parse"].items():
        dtype = bytes if name == "duplicate_key_kinds" else dtypes[key]
        values = parse_example([record], {key: VarLenFeature(dtype)})[key].values
        found = values.to_list() if dtype is bytes else values.tolist()
        assert str(found).replace(" ", "") == due.replace(" ", "") or dtype is np.float32


def test_floats_of_every_sort_keep_their_bits():
    record = bytes.fromhex(WIRE["packed"]["payload_hex"])

    values = parse_example([record], {"f": VarLenFeature(np.float32)})["f"].values

    bits = bytes.fromhex("00000000000000800000c03f0000807f000080ff0000c07f01000000")
    assert values.tobytes() == bits


# --- Whole files

KINDS = {"unset": "unset", "bytes": "bytes", "float": "float", "int64": "int64"}
LOOKS = {"utf8": "text"}


def check_facts(found, due):
    """One feature's facts against those of EXPECTED.json."""
    assert found.kinds == {KINDS[kind]: count for kind, count in due["kinds"].items()}
    assert found.counts == (due["count_min"], due["count_max"])
    if "int_min" in due:
        assert found.ints == (due["int_min"], due["int_max"])
    if "float_min" in due:
        assert found.floats == pytest.approx((due["float_min"], due["float_max"]), rel=1e-7)
    assert found.nonfinite == due.get("nonfinite", 0)
    if "bytes_len_min" in due:
        assert found.sizes == (due["bytes_len_min"], due["bytes_len_max"])


@pytest.mark.parametrize(("name", "facts"), EXAMPLES.items(), ids=EXAMPLES)
def test_every_feature_of_a_real_file_is_found(name, facts):
    scan = scan_features(TFRecordReader(CORPUS / name))

    assert scan.records == facts["records"]
    assert scan.features.keys() == facts["features"].keys()
    for key, due in facts["features"].items():
        assert scan.features[key].present == due["present"]
        check_facts(scan.features[key], due)
        for look, count in due.get("magic", {}).items():
            assert scan.features[key].looks.get(LOOKS.get(look, look), 0) == count


@pytest.mark.parametrize(("name", "facts"), SEQUENCES.items(), ids=SEQUENCES)
def test_every_list_of_a_real_file_of_sequences_is_found(name, facts):
    scan = scan_features(TFRecordReader(CORPUS / name))

    for key, due in facts.get("context_features", {}).items():
        check_facts(scan.features[key], due)
    assert scan.sequences.keys() == facts["feature_lists"].keys()
    for key, due in facts["feature_lists"].items():
        assert scan.sequences[key].present == due["present"]
        assert scan.sequences[key].steps == (due["steps_min"], due["steps_max"])
        check_facts(scan.sequences[key], due["per_step"]["*"])


@pytest.mark.parametrize(("name", "facts"), EXAMPLES.items(), ids=EXAMPLES)
def test_the_inferred_specification_reads_a_real_file(name, facts):
    records = list(TFRecordReader(CORPUS / name))
    spec = infer_spec(scan_features(records))

    columns = parse_example(records, spec.features) if spec.features else {}

    assert {key: len(column) for key, column in columns.items()} == dict.fromkeys(spec.features, len(records))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_real_file_written_again_holds_the_same(name):
    for record in list(TFRecordReader(CORPUS / name))[:50]:
        message = Example.FromString(record)
        again = encode_example(decode_example(record))

        assert again == (message.SerializeToString() or b"\x0a\x00")
        assert str(Example.FromString(again).features) == str(message.features)  # As text, where NaN is NaN.
        if record and keeps_sizes(name):
            assert len(again) == len(record)


def keeps_sizes(name):
    """Whether protobuf, too, writes each of the first 300 records in as many bytes as it has."""
    facts = EXPECTED[name]
    return facts.get("same_size_when_reserialized_first_300") == min(facts["records"], 300)


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_written_again_hold_the_same(name):
    for record in list(TFRecordReader(CORPUS / name))[:20]:
        message = SequenceExample.FromString(record)

        assert SequenceExample.FromString(message.SerializeToString()) == message
        assert len(message.SerializeToString()) == len(record)
