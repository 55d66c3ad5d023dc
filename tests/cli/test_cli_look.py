"""`wellfed head`, `schema`, `verify` and `index`: text, golden JSON, exit codes."""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from wellfed.example import encode_example
from wellfed.io import RecordIndex, TFRecordWriter


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def bare(tmp_path):
    """Returns a TFRecord file of three Examples without a data set."""
    path = tmp_path / "bare.tfrecord"
    with TFRecordWriter(path) as writer:
        for x in range(3):
            writer.write(encode_example({"x": x, "y": [0.5] * x, "name": f"row {x}", "blob": b"\x00\xff"}))
    return path


@pytest.fixture
def flipped(bare):
    """Returns the file with one bit of its second record's payload flipped."""
    content = bytearray(bare.read_bytes())
    content[len(content) // 3 + 20] ^= 1
    bare.write_bytes(content)
    return bare


# --- head ----------------------------------------------------------------------------------------


def test_head_shows_records_as_people_want_to_see_them(wellfed, packed):
    done = wellfed("head", packed, "-n", 1)

    first, where, *features = done.stdout.splitlines()
    assert first.startswith(f"{packed}  digits 1.0.0  train: ")
    assert where.startswith(f"{packed / 'digits-train.tfrecord-00000-of-00002'}  record 0, ")
    assert features[0].startswith("  image     PNG 28x28x1, ")
    assert features[1].split()[0] == "label"
    assert features[2].startswith("  filename  '")


def test_the_golden_json_of_head(wellfed, packed):
    (record,) = lines(wellfed("head", packed, "-n", 1, "--split", "test", "--json"))

    label = record["features"]["label"]["value"]
    assert record == {
        "split": "test",
        "file": str(packed / "digits-test.tfrecord-00000-of-00002"),
        "record": 0,
        "bytes": record["bytes"],
        "features": {
            "image": {
                "format": "png",
                "height": 28,
                "width": 28,
                "channels": 1,
                "bytes": record["features"]["image"]["bytes"],
            },
            "label": {"value": label, "name": str(label)},
            "filename": {"text": record["features"]["filename"]["text"]},
        },
    }
    assert record["features"]["filename"]["text"].startswith(f"{label}/")


def test_head_of_bare_files_goes_by_what_the_bytes_look_like(wellfed, bare):
    assert wellfed("head", bare, "-n", 3).stdout.splitlines()[-4:] == [
        "  blob  2 bytes: 00ff",
        "  name  'row 2'",
        "  x     2",
        "  y     float32 2: 0.5, 0.5",
    ]


@pytest.fixture
def notes(tmp_path):
    """Returns two files: an Example in the first, another and a text in the second."""
    for name, payloads in {"a": [encode_example({"x": 1})], "b": [encode_example({"x": 2}), b"just a text"]}.items():
        with TFRecordWriter(tmp_path / name) as writer:
            writer.write_many(payloads)
    return tmp_path


def test_head_of_what_is_no_example_shows_its_bytes(wellfed, notes):
    assert wellfed("head", notes / "b").stdout.splitlines()[-1] == "  no Example  'just a text'"
    assert lines(wellfed("head", notes / "b", "--json"))[1]["payload"] == {"text": "just a text"}


def test_head_of_an_example_without_features_shows_its_bytes(wellfed, tmp_path):
    with TFRecordWriter(tmp_path / "x") as writer:
        writer.write(b"\x18\x07")  # A field that Examples do not have.

    assert wellfed("head", tmp_path / "x").stdout.splitlines()[-1] == "  no features  2 bytes: 1807"
    assert "no features" in wellfed("schema", tmp_path / "x").stdout


def test_schema_names_the_record_that_is_no_example(wellfed, notes):
    done = wellfed("schema", notes / "[ab]")

    assert (done.exit_code, done.stdout) == (2, "")
    assert f"({notes / 'b'}: record 1)" in done.stderr
    assert "wellfed head" in done.stderr


def test_json_of_numbers_that_are_not_finite_is_json(wellfed, tmp_path):
    with TFRecordWriter(tmp_path / "x.tfrecord") as writer:
        writer.write(encode_example({"x": float("nan"), "y": [float("inf"), -float("inf"), 0.5], "NaN": "Infinity"}))
    (record,) = wellfed("head", tmp_path / "x.tfrecord", "--json").stdout.splitlines()

    features = json.loads(record, parse_constant=pytest.fail)["features"]
    assert (features["x"]["value"], features["y"]["first"]) == ("NaN", ["Infinity", "-Infinity", 0.5])
    assert features["NaN"]["text"] == "Infinity"


def test_head_of_several_files_shows_the_first_records_of_all_together(wellfed, notes):
    done = wellfed("head", notes / "a", notes / "b", "-n", 2, "--json")

    assert [(line["file"], line["record"]) for line in lines(done)] == [(str(notes / "a"), 0), (str(notes / "b"), 0)]


def test_head_of_several_folders_shows_the_first_records_of_each(wellfed, packed, bare):
    done = wellfed("head", packed, bare, packed, "-n", 1, "--json")

    shard = str(packed / "digits-train.tfrecord-00000-of-00002")
    assert [line["file"] for line in lines(done)] == [shard, shard, str(bare)]


def test_head_of_a_list_without_values_does_not_look_like_a_zero(wellfed, tmp_path):
    with TFRecordWriter(tmp_path / "x") as writer:
        writer.write(encode_example({"x": np.zeros(0, np.int64)}))

    assert wellfed("head", tmp_path / "x").stdout.splitlines()[-1] == "  x  int64 0: no values"


@pytest.mark.parametrize(("command", "option"), [("head", "-n"), ("schema", "--limit")])
@pytest.mark.parametrize("count", ["0", "-1", "1.5", "9" * 30])
def test_a_number_that_no_file_has_is_a_usage_error(wellfed, bare, command, option, count):
    done = wellfed(command, bare, f"{option}={count}" if option.startswith("--") else f"{option}{count}")

    assert (done.exit_code, done.stdout) == (2, "")
    assert "expected a whole number from 1 to" in " ".join(done.stderr.split())


def test_head_of_an_empty_file_says_so(wellfed, tmp_path):
    (tmp_path / "empty.tfrecord").touch()

    assert wellfed("head", tmp_path / "empty.tfrecord").stdout == "no records\n"


def test_head_names_the_splits_that_there_are(wellfed, packed):
    done = wellfed("head", packed, "--split", "val")

    assert done.exit_code == 2
    assert "has no split 'val'; it has train, test" in done.stderr


def test_head_shows_what_stands_before_damage_and_then_says_where_it_is(wellfed, flipped):
    done = wellfed("head", flipped)

    assert done.exit_code == 1
    assert "record 0, " in done.stdout
    assert "record 1 at byte" in done.stderr


def test_head_of_a_protocol_that_nothing_reads_says_so(wellfed):
    done = wellfed("head", "foo://x/y")

    assert done.exit_code == 2
    assert done.stderr == "wellfed: foo://x/y: nothing that is installed reads foo:// (Protocol not known: foo)\n"


# --- schema --------------------------------------------------------------------------------------


def test_a_record_that_does_not_fit_the_schema_is_named(wellfed, packed, bare, tmp_path):
    shard = packed / "digits-test.tfrecord-00000-of-00002"
    shard.write_bytes(bare.read_bytes())
    shown, exported = wellfed("head", packed, "--split", "test"), wellfed("export", packed, tmp_path / "back")

    assert (shown.exit_code, exported.exit_code) == (2, 2)
    assert shown.stderr.endswith(f"({shard}: record 0)\n")
    assert exported.stderr.endswith(f"({shard}: record 0)\n")


def test_schema_of_a_data_set_shows_its_types(wellfed, packed):
    assert wellfed("schema", packed).stdout.splitlines()[1:] == [
        "  image     Image  28x28x1 uint8 png",
        "  label     ClassLabel  10 classes: 0, 1, 2, 3, 4, ...",
        "  filename  Text",
    ]


def test_the_golden_json_of_schema(wellfed, packed):
    image, label, filename = lines(wellfed("schema", packed, "--json"))

    assert image == {
        "name": "image",
        "type": {"type": "Image", "shape": [28, 28, 1], "dtype": "uint8", "encoding_format": "png"},
        "facts": None,
        "reason": "",
        "folder": str(packed),
    }
    assert label["type"]["names"] == [str(digit) for digit in range(10)]
    assert filename["type"] == {"type": "Text"}


def test_schema_of_bare_files_reads_their_records(wellfed, bare):
    found = {line["name"]: line for line in lines(wellfed("schema", bare, "--json"))}

    assert found["x"]["facts"]["ints"] == [0, 2]
    assert found["y"]["facts"]["counts"] == [0, 2]
    assert found["name"]["facts"]["looks"] == {"text": 3}
    assert found["x"]["type"] is None


def test_schema_of_several_files_is_that_of_all_their_records(wellfed, bare, tmp_path):
    (tmp_path / "other").write_bytes(bare.read_bytes())

    assert wellfed("schema", bare, tmp_path / "other").stdout.splitlines()[0] == "6 records read"


def test_schema_of_several_folders_says_whose_each_feature_is(wellfed, packed, bare):
    done = wellfed("schema", bare, packed, "--json")

    assert [line["folder"] for line in lines(done)] == [*[str(packed)] * 3, *[""] * 4]


def test_schema_reads_a_data_sets_records_when_asked(wellfed, packed):
    found = {line["name"]: line for line in lines(wellfed("schema", packed, "--scan", "--json"))}

    assert found["image"]["facts"]["looks"] == {"png": 100}
    assert found["image"]["type"]["type"] == "Image"


def test_schema_reads_no_more_than_the_limit(wellfed, bare):
    assert wellfed("schema", bare, "--limit", 2).stdout.splitlines()[0] == "2 records read"


# --- verify --------------------------------------------------------------------------------------


def test_verify_of_a_good_data_set_says_that_all_is_intact(wellfed, packed):
    done = wellfed("verify", packed, "--checksums")

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "100 records in 4 shards, all intact"


def test_the_golden_json_of_verify(wellfed, packed):
    shard = lines(wellfed("verify", packed, "--json"))[0]

    assert {**shard, "file": None} == {
        "path": str(packed / "digits-train.tfrecord-00000-of-00002"),
        "split": "train",
        "expected_records": shard["file"]["records"],
        "file": None,
        "problems": [],
        "ok": True,
    }
    assert set(shard["file"]) == {"path", "compression", "bytes", "stream_bytes", "records", "payload_bytes", "damage"}


def test_one_flipped_bit_is_found_and_told(wellfed, flipped):
    done = wellfed("verify", flipped)

    assert done.exit_code == 1
    assert "bare.tfrecord  2 records  1 damaged region" in done.stdout
    assert "record 1  bytes [" in done.stdout
    assert "payload CRC32C is" in done.stdout


def first_shard(packed):
    return packed / "digits-train.tfrecord-00000-of-00002"


def test_a_shard_cut_between_two_records_is_told_by_the_manifest(wellfed, packed):
    index = RecordIndex.for_file(first_shard(packed))
    content = first_shard(packed).read_bytes()
    first_shard(packed).write_bytes(content[: int(index.offsets[-2])])
    done = wellfed("verify", packed)

    assert done.exit_code == 1
    assert f"holds {len(index) - 1} records, {len(index)} are due" in done.stdout


def test_a_missing_shard_is_told(wellfed, packed):
    first_shard(packed).unlink()
    done = wellfed("verify", packed)

    assert done.exit_code == 1
    assert f"{first_shard(packed)}  is missing" in done.stdout
    assert "1 of 4 shards damaged" in done.stdout


def test_a_shard_of_another_kind_is_told(wellfed, packed):
    with zipfile.ZipFile(first_shard(packed), "w") as archive:
        archive.writestr("x", "not a record")
    done = wellfed("verify", packed)

    assert done.exit_code == 1
    assert "this is a zip archive, not a TFRecord file" in done.stdout


def test_swapped_shards_are_told_by_their_checksums(wellfed, packed):
    one, other = first_shard(packed), packed / "digits-train.tfrecord-00001-of-00002"
    content = bytearray(one.read_bytes())
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)

    assert wellfed("verify", packed, "--checksums").exit_code == 1


def test_verify_goes_on_after_files_that_cannot_be_checked(wellfed, bare, tmp_path):
    page, gone = tmp_path / "page.tfrecord", tmp_path / "gone.tfrecord"
    page.write_text("<html></html>")
    done = wellfed("verify", page, gone, tmp_path, bare, "--json")

    assert done.exit_code == 2
    assert [(line["path"], line["ok"]) for line in lines(done)] == [(str(bare), True)]
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == [str(page), str(gone), str(tmp_path)]


def test_verify_goes_on_after_a_pattern_that_matches_nothing(wellfed, bare, tmp_path):
    done = wellfed("verify", tmp_path / "no-*", bare)

    assert (done.exit_code, done.stdout) == (2, f"{bare}  3 records\n")
    assert done.stderr == f"wellfed: no file matches {tmp_path / 'no-*'}\n"


def test_one_record_is_a_record(wellfed, notes):
    assert wellfed("verify", notes / "a").stdout == f"{notes / 'a'}  1 record\n"


def test_a_shard_that_cannot_be_read_does_not_hide_the_others(wellfed, packed):
    first_shard(packed).unlink()
    first_shard(packed).mkdir()
    done = wellfed("verify", packed)

    assert done.exit_code == 1
    assert f"{first_shard(packed)}  cannot be read: Is a directory" in done.stdout
    assert "1 of 4 shards damaged" in done.stdout


def test_verify_of_nothing_is_a_usage_error(wellfed, tmp_path):
    done = wellfed("verify", tmp_path / "no-*.tfrecord")

    assert done.exit_code == 2
    assert "no-*.tfrecord" in done.stderr


# --- index ---------------------------------------------------------------------------------------


def test_index_writes_the_index_of_each_file(wellfed, bare):
    done = wellfed("index", bare)

    assert done.stdout == f"{bare}  3 records\n"
    assert (bare.parent / ".wellfed" / "bare.tfrecord.index").exists()


def test_what_was_indexed_before_a_file_that_cannot_be_is_told(wellfed, bare, tmp_path):
    (tmp_path / "bad.tfrecord").write_bytes(b"no records at all")
    done = wellfed("index", bare, tmp_path / "bad.tfrecord", bare)

    assert (done.exit_code, done.stdout) == (2, f"{bare}  3 records\n")
    assert "bad.tfrecord" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such terminals")
@pytest.mark.parametrize("command", ["index", "verify"])
def test_on_a_terminal_a_bar_shows_how_much_was_read(on_terminal, command, bare):
    shown, answer = on_terminal(command, bare)

    size = bare.stat().st_size
    assert answer.startswith(str(bare).encode())
    assert f"{size}/{size} bytes".encode() in shown


def test_an_index_that_can_be_written_nowhere_is_an_error(wellfed, bare, monkeypatch):
    (bare.parent / ".wellfed").touch()  # No folder, so nothing is written into it, whoever runs this.
    monkeypatch.setenv("XDG_CACHE_HOME", str(bare))
    done = wellfed("index", bare)

    assert (done.exit_code, done.stdout) == (2, "")
    assert "XDG_CACHE_HOME" in done.stderr


def test_the_golden_json_of_index(wellfed, bare):
    assert lines(wellfed("index", bare, "--check", "--json")) == [
        {"path": str(bare), "records": 3, "compression": "", "checked": True}
    ]


@pytest.mark.parametrize("command", ["head", "schema", "index"])
def test_a_command_without_an_option_for_damage_names_none(wellfed, tmp_path, command):
    (tmp_path / "cut.tfrecord").write_bytes(bytes.fromhex("0300000000000000b099490e66"))
    done = wellfed(command, tmp_path / "cut.tfrecord")

    assert done.exit_code == 1
    assert done.stderr.endswith("only 13 left. List the damage with `wellfed verify`.\n")


@pytest.mark.parametrize("command", ["head", "schema", "verify", "index"])
def test_a_file_in_the_place_of_a_folder_is_named(wellfed, bare, command):
    done = wellfed(command, bare / "x" / "y")

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"wellfed: {bare / 'x' / 'y'}: {bare} is a file, where a folder is due\n"


def test_a_split_of_a_file_is_refused(wellfed, packed):
    done = wellfed("head", packed / "digits-test.tfrecord-00000-of-00002", "--split", "test")

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith("only the folder of a data set has splits; this is no folder\n")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a Linux file that cannot be read at its start")
@pytest.mark.parametrize("command", ["head", "schema", "verify", "index", "bench"])
def test_a_file_that_the_disk_does_not_give_is_named(wellfed, command):
    done = wellfed(command, "/proc/self/mem")

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "wellfed: /proc/self/mem: Input/output error\n"
