"""`wellfed pack`: what it prints, its exit codes, and wrong input by hand."""

import importlib
import json
import os
import re
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from packed_folder import contents

from wellfed.cli.pack import command as pack_group
from wellfed.cli.progress import describe, progress_bar
from wellfed.datasets import open_dataset
from wellfed.image import encode_image
from wellfed.packing import Progress


def test_the_command_of_the_demo_packs(wellfed, digits, tmp_path):
    options = ["--name", "digits", "--split", "train=0.9,test=0.1", "--shard-size", "1MB", "--seed", "0"]
    done = wellfed("pack", "images", digits, tmp_path / "out", *options)

    assert (done.exit_code, done.stderr) == (0, "")
    dataset = open_dataset(tmp_path / "out")
    counts = {name: split.records for name, split in dataset.splits.items()}
    assert sum(counts.values()) == 100
    assert done.stdout.splitlines()[:3] == [
        f"{tmp_path / 'out'}  digits 1.0.0",
        f"  train  {counts['train']} records in 1 shard",
        f"  test   {counts['test']} records in 1 shard",
    ]


def test_the_golden_json_of_a_pack(wellfed, digits, tmp_path):
    done = wellfed("pack", "images", digits, tmp_path, "--name", "digits", "--shards", "2", "--json")
    report = json.loads(done.stdout)

    assert report.pop("seconds") > 0
    assert report == {
        "folder": str(tmp_path),
        "name": "digits",
        "version": "1.0.0",
        "records": {"train": 100},
        "shards": {"train": 2},
        "bytes_in": sum(path.stat().st_size for path in digits.rglob("*.png")),
        "bytes_out": sum(shard.bytes for shard in open_dataset(tmp_path).manifest.splits["train"]),
        "skipped": [],
        "resumed_shards": 0,
        "ratio": round(report["bytes_out"] / report["bytes_in"], 4),
    }


def test_a_dry_run_prints_the_plan_and_writes_nothing(wellfed, digits, tmp_path):
    done = wellfed("pack", "images", digits, tmp_path / "out", "--split", "train=0.7,test=0.3", "--dry-run")

    assert done.exit_code == 0
    assert "(nothing is written)" in done.stdout
    assert "out-train.tfrecord-00000-of-00001" in done.stdout
    assert "label     ClassLabel  10 classes: 0, 1, 2, 3, 4, ..." in done.stdout
    assert not (tmp_path / "out").exists()


def test_a_dry_run_in_json_has_the_names_of_the_dataclass(wellfed, digits, tmp_path):
    done = wellfed("pack", "images", digits, tmp_path / "out", "--dry-run", "--json")
    plan = json.loads(done.stdout)

    assert list(plan) == ["folder", "name", "version", "schema", "splits", "skipped"]
    assert plan["splits"]["train"]["items"] == 100
    assert sum(plan["splits"]["train"]["classes"].values()) == 100


def test_mnist_keeps_its_own_splits_and_its_pixels(wellfed, idx, tmp_path):
    done = wellfed("pack", "mnist", idx, tmp_path, "--name", "mnist", "--shards", "2")

    assert done.exit_code == 0
    dataset = open_dataset(tmp_path)
    assert {name: split.records for name, split in dataset.splits.items()} == {"test": 10_000}
    assert dataset.schema["image"].encoding_format == "raw"
    assert dataset.schema["label"].num_classes == 10


# --- The other sources: each packs, and shows its first record -----------------------------------


@pytest.fixture
def raw(tmp_path, digits):
    """Returns a folder with a little raw data of each kind."""
    folder = tmp_path / "raw"
    folder.mkdir()
    pictures = sorted(digits.rglob("*.png"))[:6]
    (folder / "list.txt").write_text(
        "".join(f"{path.relative_to(digits)} {at % 2}\n" for at, path in enumerate(pictures))
    )
    (folder / "people.csv").write_text("name,age,class\nAnn,31,x\nBo,,y\nCy,5,x\n")
    (folder / "records.bin").write_bytes(bytes(range(50)))
    np.savez(folder / "set.npz", x=np.arange(12, dtype=np.float32).reshape(4, 3), y=np.arange(4) % 2)
    with tarfile.open(folder / "web.tar", "w") as tar:
        for at, path in enumerate(pictures):
            tar.add(path, f"{at:03d}.png")
            (folder / "cls").write_text(str(at % 2))
            tar.add(folder / "cls", f"{at:03d}.cls")
    return folder


APART = ["--field", "label", "--dtype", "uint8", "--shape", "()", "--field", "x", "--dtype", "uint8", "--shape", "3"]
COMMANDS = {
    "images": (["images", "{digits}", "{out}"], 100, ["image", "label", "filename"]),
    "mnist": (["mnist", "{idx}", "{out}", "--split", "all"], 10_000, ["image", "label"]),
    "parquet": (["parquet", "{raw}/people.parquet", "{out}", "--label", "class"], 3, ["name", "age", "class"]),
    "list": (["list", "{raw}/list.txt", "{out}", "--root", "{digits}"], 6, ["image", "label", "filename"]),
    "csv": (["csv", "{raw}/people.csv", "{out}", "--label", "class"], 3, ["name", "age", "class"]),
    "binary": (
        [
            "binary",
            "{raw}/records.bin",
            "{out}",
            "--field",
            "label:uint8",
            "--field",
            "x:uint8:2x2",
            "--label",
            "label",
        ],
        10,
        ["label", "x"],
    ),
    "binary, types apart": (
        ["binary", "{raw}/records.bin", "{out}", "--field", "last:uint8", *APART],
        10,
        ["last", "label", "x"],
    ),
    "numpy": (["numpy", "{raw}/set.npz", "{out}", "--label", "y"], 4, ["x", "y"]),
    "numpy, several files": (["numpy", "x={raw}/x.npy", "y={raw}/x.npy", "{out}"], 3, ["x", "y"]),
    "cifar": (["cifar", "{corpus}/cifar10/cifar-10-batches-py", "{out}", "--split", "all"], 12, ["image", "label"]),
    "tar": (["tar", "{raw}/web.tar", "{out}", "--tar-fields", "png,cls"], 6, ["image", "label"]),
    "tfrecord": (["tfrecord", "{packed}", "{out}", "--from-split", "train"], None, ["image", "label", "filename"]),
}


def test_each_source_has_a_case_below():
    assert set(pack_group.table) == {name.split(",")[0] for name in COMMANDS}


@pytest.mark.parametrize(("command", "count", "features"), COMMANDS.values(), ids=COMMANDS)
def test_each_kind_of_raw_data_is_packed(wellfed, raw, digits, idx, packed, corpus, tmp_path, command, count, features):
    np.save(raw / "x.npy", np.ones((3, 2)))
    if command[0] == "parquet":
        write_parquet(raw / "people.parquet")
    places = {"raw": raw, "digits": digits, "idx": idx, "out": tmp_path / "out", "packed": packed, "corpus": corpus}
    done = wellfed("pack", *(part.format(**places) for part in command), "--name", "d")

    assert (done.exit_code, done.stderr) == (0, "")
    dataset = open_dataset(tmp_path / "out")
    assert list(dataset.schema) == features
    assert sum(split.records for split in dataset.splits.values()) == (
        count or open_dataset(packed).splits["train"].records
    )
    assert wellfed("head", tmp_path / "out", "-n", 1).exit_code == 0
    assert wellfed("verify", tmp_path / "out").exit_code == 0


def write_parquet(path):
    pyarrow = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "wellfed[pyarrow]"')
    parquet = importlib.import_module("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"name": ["Ann", "Bo", "Cy"], "age": [31, 7, 5], "class": ["x", "y", "x"]}), path)


FOLDER = str(Path(__file__).parent)
WRONG_COMMANDS = {
    "a folder for a list": (["list", FOLDER, "out"], "is a folder; a list of pictures is due"),
    "a folder for class names": (["list", __file__, "out", "--labels", FOLDER], "is a folder; a list of class names"),
    "a folder for an array": (["numpy", FOLDER, "out"], "is a folder; a .npy or .npz file is due"),
    "no such class names": (["images", FOLDER, "out", "--labels", "nope"], "nope: no such file or folder"),
    "no such TFRecords": (["tfrecord", "nope", "out"], "nope: cannot be read: No such file or directory"),
    "binary without fields": (["binary", "x", "out"], "Missing option '--field'"),
    "binary field": (["binary", "x", "out", "--field", "x:"], "expected NAME:DTYPE"),
    "binary field without a type": (["binary", "x", "out", "--field", "x"], "1 of the fields are names alone: give as"),
    "binary shape": (["binary", "x", "out", "--field", "x", "--shape", "3,3"], "expected a shape such as 3x32x32"),
    "binary field twice": (["binary", __file__, "out", "--field", "x:u1", "--field", "x:u1"], "given twice"),
    "binary dtype": (["binary", __file__, "out", "--field", "x:what"], "what"),
    "csv delimiter": (["csv", __file__, "out", "--delimiter", "ab"], "delimiter must be one character"),
    "numpy without a file": (["numpy", "out"], "FILES and OUT are both due"),
    "numpy array without a name": (["numpy", "x=a.npy", "b.npy", "out"], "expected NAME=FILE"),
    "two clusters": (["numpy", "x.npy", "out", "--dask", "a", "--ray", "b"], "x.npy"),
}


SEVERAL = {
    "csv": ("x\n{}\n", ()),
    "binary": ("{}", ("--field", "x:u1")),
}


@pytest.mark.parametrize(
    ("command", "content", "options"), [(name, *each) for name, each in SEVERAL.items()], ids=SEVERAL
)
def test_several_files_are_packed_as_a_pattern_of_them(wellfed, tmp_path, command, content, options):
    for number in range(3):
        (tmp_path / f"part-{number}").write_text(content.format(number))
    for out, files in {"a": ["part-*"], "b": ["part-0", "part-1", "part-2"]}.items():
        done = wellfed("pack", command, *(tmp_path / file for file in files), tmp_path / out, "--name", "x", *options)
        assert done.exit_code == 0, done.stderr

    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_several_tfrecords_are_packed_together(wellfed, packed, tmp_path):
    done = wellfed("pack", "tfrecord", *sorted(packed.glob("digits-*")), tmp_path / "anew", "--json")

    assert json.loads(done.stdout)["records"] == {"train": 100}


def test_the_folder_of_a_data_set_is_packed_alone(wellfed, packed, tmp_path):
    done = wellfed("pack", "tfrecord", packed, packed, tmp_path / "anew")

    assert done.exit_code == 2
    assert "is a folder among several paths: give it alone" in done.stderr


@pytest.mark.parametrize("command", ["csv", "binary", "tar", "parquet", "numpy", "tfrecord"])
def test_a_forgotten_output_does_not_take_a_file_of_the_input(wellfed, tmp_path, command):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    field = ("--field", "x:u1") if command == "binary" else ()
    done = wellfed("pack", command, tmp_path / "a", tmp_path / "b", "--overwrite", *field)

    assert done.exit_code == 2
    assert "OUT, the last argument, is the folder to pack into" in " ".join(done.stderr.split())
    assert (tmp_path / "b").read_text() == "b"


@pytest.mark.parametrize(("command", "text"), WRONG_COMMANDS.values(), ids=WRONG_COMMANDS)
def test_a_wrong_command_is_one_clear_error(wellfed, command, text):
    done = wellfed("pack", *command)

    assert done.exit_code == 2
    assert text in " ".join(done.stderr.split())


# --- Wrong input by hand: one clear sentence, an exit code, nothing half-written -----------------


def one_sentence(done, code, *parts):
    assert done.exit_code == code
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


def test_an_empty_folder(wellfed, tmp_path):
    (tmp_path / "empty").mkdir()
    done = wellfed("pack", "images", tmp_path / "empty", tmp_path / "out")

    one_sentence(done, 2, "empty: is empty; pictures in class folders are due")
    assert not (tmp_path / "out").exists()


def test_a_path_that_does_not_exist(wellfed, tmp_path):
    done = wellfed("pack", "images", tmp_path / "no", tmp_path / "out")

    one_sentence(done, 2, f"{tmp_path / 'no'}: no such file or folder")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such names")
def test_names_that_would_command_the_terminal_are_escaped(wellfed, tmp_path):
    for name in (b"raw/new\nline/a.png", b"raw/no\xff/b.png", b"raw/\x1b[31mred/c.png", b"raw/no\xff/\x1b.txt"):
        path = tmp_path / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_image(np.zeros((2, 2), np.uint8)) if name.endswith(b"png") else b"x")

    done = wellfed("pack", "images", tmp_path / "raw", tmp_path / "out")
    plan = wellfed("pack", "images", tmp_path / "raw", tmp_path / "other", "--dry-run")
    schema = wellfed("schema", tmp_path / "out")

    assert (done.exit_code, plan.exit_code, schema.exit_code) == (1, 0, 0)
    assert "no\\udcff/\\x1b.txt: is no picture" in done.stdout
    assert "\\x1b[31mred 1, new\\nline 1, no\\udcff 1" in plan.stdout
    assert "3 classes: \\x1b[31mred, new\\nline, no\\udcff" in schema.stdout
    assert not {"\x1b", "\udcff"} & set(done.stdout + plan.stdout + schema.stdout)


def test_a_text_file_among_the_pictures_is_left_out_and_told(wellfed, digits, tmp_path):
    folder = tmp_path / "mixed"
    (folder / "7").mkdir(parents=True)
    for path in sorted((digits / "7").iterdir()):
        (folder / "7" / path.name).write_bytes(path.read_bytes())
    (folder / "7" / "notes.txt").write_text("not a digit")
    done = wellfed("pack", "images", folder, tmp_path / "out")

    assert done.exit_code == 1
    assert "skipped 1:\n  7/notes.txt: is no picture but" in done.stdout
    assert open_dataset(tmp_path / "out").manifest.skipped[0].item == "7/notes.txt"


@pytest.fixture
def cut_png(tmp_path):
    """Returns a folder of two pictures, one of them cut."""
    folder = tmp_path / "cut" / "cat"
    folder.mkdir(parents=True)
    whole = encode_image(np.zeros((9, 9, 3), np.uint8))
    (folder / "good.png").write_bytes(whole)
    (folder / "bad.png").write_bytes(whole[:-20])
    return folder.parent


def test_a_truncated_png_ends_the_pack(wellfed, cut_png, tmp_path):
    done = wellfed("pack", "images", cut_png, tmp_path / "out")

    assert (done.exit_code, done.stdout) == (2, "")
    told, to_do = done.stderr.splitlines()
    assert told.startswith("wellfed: cat/bad.png: the PNG of")
    assert told.endswith("bytes is cut: it has no end chunk")
    assert "--on-error skip" in to_do
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name == "nt", reason="names are UTF-16 there")
def test_names_that_are_no_utf8_are_packed_and_come_back_escaped(wellfed, cut_png, tmp_path):
    folder, out = (tmp_path / os.fsdecode(name) for name in (b"raw \xff", b"out \xfe"))
    picture = (cut_png / "cat" / "good.png").read_bytes()
    (folder / os.fsdecode(b"cl\xe9")).mkdir(parents=True)
    (folder / os.fsdecode(b"cl\xe9/a\xff.png")).write_bytes(picture)
    done = wellfed("pack", "images", folder, out, "--name", "x")

    assert done.exit_code == 0, done.stderr
    assert wellfed("verify", out).exit_code == 0
    assert wellfed("export", out, tmp_path / "back").exit_code == 0
    assert (tmp_path / "back/train/cl\\udce9/a\\udcff.png").read_bytes() == picture  # What Examples hold is UTF-8.


def test_a_truncated_png_is_put_aside_when_asked(wellfed, cut_png, tmp_path):
    done = wellfed("pack", "images", cut_png, tmp_path / "out", "--on-error", "quarantine")

    assert done.exit_code == 1
    assert "skipped 1:\n  cat/bad.png: the PNG of" in done.stdout
    assert (
        contents(tmp_path / "out" / ".wellfed" / "quarantine")["cat/bad.png"] == (cut_png / "cat/bad.png").read_bytes()
    )


def test_out_that_exists_already(wellfed, digits, packed):
    before = contents(packed)
    done = wellfed("pack", "images", digits, packed)

    one_sentence(done, 2, f"{packed}: holds a data set already", "--overwrite")
    assert contents(packed) == before


def test_one_shard_is_written_again(wellfed, digits, packed):
    before = contents(packed)
    (packed / "digits-train.tfrecord-00001-of-00002").unlink()
    options = ["--name", "digits", "--split", "train=0.7,test=0.3", "--shards", "2", "--only-shard", "train:1"]
    done = wellfed("pack", "images", digits, packed, *options)

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("digits-train.tfrecord-00001-of-00002  ")
    assert contents(packed) == before


WRONG_OPTIONS = {
    "shares": (["--split", "train=0.9,test=0.2"], "must add up to 1, got 1.1"),
    "no share": (["--split", "train=x"], "expected NAME=SHARE"),
    "split twice": (["--split", "a=0.5,a=0.5"], "split 'a' is given twice"),
    "size": (["--shard-size", "big"], "expected a size such as 256MB"),
    "shards": (["--shards", "many"], "expected a number, or one a split"),
    "picture size": (["--resize", "10x"], "expected HEIGHTxWIDTH"),
    "picture side": (["--resize", "99999999999"], "each below a million"),
    "field": (["--fields", "depth"], "must be one of 'format'"),
    "channels": (["--channels", "bgr"], 'needs encoding="raw"'),
    "version": (["--version", "2"], "three numbers"),
    "name": (["--name", "a/b"], "letters, digits"),
    "pattern": (["--name-pattern", "x"], 'needs layout="plain"'),
}


@pytest.mark.parametrize(("options", "text"), WRONG_OPTIONS.values(), ids=WRONG_OPTIONS)
def test_wrong_options_are_usage_errors(wellfed, digits, tmp_path, options, text):
    done = wellfed("pack", "images", digits, tmp_path / "out", *options)

    assert done.exit_code == 2
    assert text in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_growth_beyond_names_and_framing_is_warned_of(wellfed, tmp_path):
    folder = tmp_path / "flat" / "cat"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.png").write_bytes(encode_image(np.full((64, 64, 3), number, np.uint8)))
    done = wellfed("pack", "images", folder.parent, tmp_path / "out", "--encoding", "raw")

    assert done.exit_code == 0
    assert done.stderr.startswith("warning: the shards are ")
    assert "times as large as the input" in done.stderr


# --- Progress ------------------------------------------------------------------------------------


def test_there_is_no_progress_bar_where_nobody_watches(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with progress_bar() as show:
        assert show is None


def test_the_bar_shows_items_a_second_megabytes_a_second_and_the_time_left():
    now = Progress(
        items=600,
        total_items=1000,
        bytes_in=3_000_000,
        total_bytes=5_000_000,
        shards=1,
        total_shards=3,
        seconds=2.0,
        resumed_items=100,
        resumed_bytes=1_000_000,
    )

    assert describe(now) == "600/1,000 items  250 items/s  1.0 MB/s  2 s left"


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such terminals")
def test_on_a_terminal_stderr_shows_the_progress_and_stdout_the_answer_alone(on_terminal, digits, tmp_path):
    shown, answer = on_terminal("pack", "images", digits, tmp_path / "out", "--json")

    assert json.loads(answer)["records"] == {"train": 100}
    assert b"100/100 items" in shown
    assert re.search(rb"[\d,]+ items/s  [\d.]+ MB/s  0 s left", shown)
