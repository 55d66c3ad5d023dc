"""Packed data sets as feeds: their schema, their splits, and pictures decoded in one pass with what follows."""

import io

import numpy as np
import pytest
from PIL import Image

import wellfed as wf
from wellfed.errors import DatasetError, ExampleError, ImageError, MalformedExampleError, PlanError
from wellfed.feed import plan
from wellfed.feed.rewrite import rewrite
from wellfed.feed.specs import TensorSpec, spec_of_element


def png(value, size=(6, 8)):
    buffer = io.BytesIO()
    Image.fromarray(np.full((*size, 3), value, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def folders(tmp_path):
    """Twenty pictures in two class folders; each shows its number."""
    for number in range(20):
        folder = tmp_path / "photos" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:02d}.png").write_bytes(png(number * 10))
    return tmp_path / "photos"


@pytest.fixture
def packed(tmp_path, folders):
    wf.pack(wf.sources.ClassFolders(folders), tmp_path / "out", name="photos", split={"train": 0.5, "test": 0.5})
    return tmp_path / "out"


def everything(packed, **options):
    return wf.open(packed, "train", **options).concatenate(wf.open(packed, "test", **options))


def test_a_packed_data_set_gives_decoded_pictures_and_labels(packed):
    (batch,) = everything(packed).batch(20)
    numbers = batch["image"][:, 0, 0, 0] // 10

    assert batch["image"].shape == (20, 6, 8, 3)
    assert sorted(numbers.tolist()) == list(range(20))
    assert (batch["label"] == numbers % 2).all()


def test_without_decoding_the_stored_bytes_come(packed):
    (batch,) = everything(packed, decode=False).batch(20)

    assert sorted(batch["image"].to_list()) == sorted(png(number * 10) for number in range(20))


def test_features_of_ones_own_replace_the_schema(packed):
    element = next(iter(wf.open(packed, "train", features={"label": wf.FixedLenFeature([], np.int64)})))

    assert list(element) == ["label"]


def test_a_split_that_is_not_there_names_those_that_are(packed):
    with pytest.raises(DatasetError, match=r"there is no split 'valid'. This data set has 'train', 'test'"):
        wf.open(packed, "valid")


def test_a_split_must_be_named_where_there_are_several(packed):
    with pytest.raises(DatasetError, match=r"which split\? This data set has 'train', 'test'"):
        wf.open(packed)


def test_a_split_of_plain_files_is_refused(packed):
    with pytest.raises(DatasetError, match="only the folder of a data set has splits"):
        wf.open(str(packed / "photos-train*"), "train")


def test_a_folder_that_is_no_data_set_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=str(tmp_path)):
        wf.open(tmp_path)


def test_neighbouring_transforms_of_one_column_become_one_step(packed):
    dataset = wf.open(packed, "train").map(wf.image.Resize("image", (4, 4))).map(wf.image.Normalize("image"))
    steps = [step for step in plan.walk(rewrite(dataset._node)) if isinstance(step, plan.Map)]

    assert [type(step.function).__name__ for step in steps] == ["DecodeSchema", "Fused"]


def test_one_step_gives_what_several_give(packed):
    resize, normalize = wf.image.Resize("image", (4, 5)), wf.image.Normalize("image", dtype=np.float32)
    (fused,) = everything(packed).map(resize).map(normalize).batch(20)
    (plain,) = everything(packed).batch(20)
    images = plain["image"][:, :4, :5].astype(np.float32) / 255  # Each picture has one colour.

    assert fused["image"].dtype == np.float32
    assert np.allclose(fused["image"], images, atol=1e-6)


def test_a_random_crop_does_not_depend_on_threads(packed):
    crop = wf.image.RandomResizedCrop("image", (4, 4), scale=(0.1, 0.5))

    def run(threads, epoch):
        dataset = wf.open(packed, "train").shuffle(seed=1).map(crop).batch(8).with_options(threads=threads)
        return [b["image"].tolist() for b in dataset.epoch(epoch)]

    assert run(1, 0) == run(3, 0)


def test_transforms_after_batch_work_on_the_batch(packed):
    (batch,) = everything(packed).batch(20).map(wf.image.Resize("image", (3, 3)))

    assert batch["image"].shape == (20, 3, 3, 3)


def test_batches_of_pictures_that_are_kept_do_not_change(packed):
    dataset = everything(packed).map(wf.image.Resize("image", (64, 64))).batch(4).with_options(threads=3)
    kept = [b["image"] for _ in range(4) for b in dataset]
    firsts = [sorted((k[:, 0, 0, 0] // 10).tolist() for k in kept[i : i + 5]) for i in range(0, 20, 5)]

    assert firsts[0] == firsts[1] == firsts[2] == firsts[3]


def test_a_picture_that_cannot_be_decoded_names_file_and_record(tmp_path):
    path = tmp_path / "a.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        for number in range(10):
            content = png(number) if number != 6 else png(number)[:60]
            writer.write(wf.encode_example({"image": content}))
    dataset = wf.TFRecordDataset(path, {"image": wf.FixedLenFeature([], bytes)}).map(wf.image.Decode("image"))

    with pytest.raises(ImageError, match=r"a\.tfrecord: record 6: the PNG ends at byte 60"):
        list(dataset.batch(4))


def test_a_picture_that_cannot_be_decoded_can_be_replaced(tmp_path):
    path = tmp_path / "a.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        for number in range(10):
            writer.write(wf.encode_example({"image": png(number) if number != 6 else b"no picture"}))
    dataset = wf.TFRecordDataset(path, {"image": wf.FixedLenFeature([], bytes)}).map(wf.image.Decode("image"))
    iterator = dataset.batch(5).with_options(on_error="replace").epoch(0)
    got = [int(x) for b in iterator for x in b["image"][:, 0, 0, 0]]

    assert len(got) == 10
    assert 6 not in got
    assert [row.position for row in iterator.stats().replaced] == [6]


def test_features_of_bare_files_are_inferred_where_asked(tmp_path):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        for x in range(5):
            writer.write(wf.encode_example({"x": x, "words": ["a"] * x}))

    (batch,) = wf.open(tmp_path / "*.tfrecord", features="infer").batch(5)

    assert batch["x"].tolist() == [0, 1, 2, 3, 4]
    assert batch["words"].to_list() == [[b"a"] * x for x in range(5)]


@pytest.mark.parametrize(("how", "rows"), [({"on_damage": "skip"}, [0, 1, 3, 4]), ({"check_crc": False}, None)])
def test_features_are_inferred_past_damage_that_is_not_to_stop_the_feed(how, rows, tmp_path):
    path = tmp_path / "a.tfrecord"
    with wf.TFRecordWriter(path) as writer:
        writer.write_examples({"x": np.arange(5)})
    content = bytearray(path.read_bytes())
    content[len(content) // 5 * 3 - 1] ^= 1  # In the sum of the third record.
    path.write_bytes(content)

    got = [int(element["x"]) for element in wf.open(path, features="infer", **how)]

    assert got == (rows or [0, 1, 2, 3, 4])


@pytest.mark.parametrize(("payloads", "seen"), [([], "no record"), ([b"", b""], "none of the first 2 records")])
def test_features_cannot_be_inferred_where_there_are_none(tmp_path, payloads, seen):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        writer.write_many(payloads)

    with pytest.raises(DatasetError, match=rf"a.tfrecord: .*{seen}.*without features="):
        wf.TFRecordDataset(tmp_path / "a.tfrecord", "infer")


def test_features_cannot_be_inferred_from_records_that_are_no_examples(tmp_path):
    with wf.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        writer.write(b"\xff")

    with pytest.raises(MalformedExampleError, match="byte 0 cannot be read"):
        wf.TFRecordDataset(tmp_path / "a.tfrecord", "infer")


# --- The form of the elements ---------------------------------------------------------------------------------------


def rows_of_all_types(rows):
    return [
        {
            "length": np.arange(n % 3),
            "list": [n] * (n % 3),
            "nested": [[n]] * (n % 3),
            "fixed": np.full((2, 3), n, np.float32),
            "wide": np.full((1, n % 2 + 1), n, np.float64),
            "number": n,
            "half": n / 2,
            "flag": n % 2 == 0,
            "text": str(n),
            "picture": png(n, (n + 1, 3)),
            "pixels": np.full((4, 5, 3), n, np.uint8),
        }
        for n in range(rows)
    ]


@pytest.fixture
def of_all_types(tmp_path):
    wf.pack(rows_of_all_types(6), tmp_path / "all", name="all", shuffle=False)
    return wf.open(tmp_path / "all")


def fits(leaf, spec):
    """Whether a leaf has the form that was told."""
    found = spec_of_element(leaf)
    alike = len(found.shape) == len(spec.shape) and found.dtype == spec.dtype
    return alike and all(due in (None, side) or side is None for side, due in zip(found.shape, spec.shape, strict=True))


def test_the_form_that_the_schema_tells_is_that_of_every_element(of_all_types):
    told = of_all_types.element_spec

    assert [name for element in of_all_types for name in told if not fits(element[name], told[name])] == []


def test_what_differs_between_rows_is_told_to_differ(of_all_types):
    shapes = {name: spec.shape for name, spec in of_all_types.element_spec.items() if None in spec.shape}

    assert shapes == {
        "length": (None,),
        "list": (None,),
        "nested": (None, None),
        "wide": (1, None),
        "picture": (None, None, 3),
    }


def test_elements_of_no_packed_file_at_all_have_a_form_too(tmp_path, of_all_types):
    for file in (tmp_path / "all").glob("*.tfrecord*"):
        file.unlink()

    assert of_all_types.element_spec["number"] == TensorSpec((), np.dtype(np.int64))


LISTS = ["length", "list", "nested"]


@pytest.mark.parametrize(
    "verbs", [lambda d: d.filter(lambda e: True).batch(2), lambda d: d.window(2)], ids=["filter", "window"]
)
def test_rows_of_any_length_are_ragged_however_they_come_together(of_all_types, verbs):
    batches = list(verbs(of_all_types.select_columns(*LISTS)))

    assert {type(batch[name]) for batch in batches for name in LISTS} == {wf.Ragged}
    assert [batch["list"].to_list() for batch in batches] == [[[], [1]], [[2, 2], []], [[4], [5, 5]]]


CHAINS = {
    "one size": ([wf.image.Resize("picture", (4, 6))], (4, 6, 3), np.uint8),
    "a shorter side": ([wf.image.Resize("picture", 4)], (None, None, 3), np.uint8),
    "crop of a resized one": (
        [wf.image.Resize("picture", 4), wf.image.CenterCrop("picture", 2)],
        (2, 2, 3),
        np.uint8,
    ),
    "channels first": ([wf.image.Normalize("picture", layout="chw")], (3, None, None), np.float32),
    "several passes": ([wf.image.RandomFlip("picture"), wf.image.Resize("picture", (4, 6))], (4, 6, 3), np.uint8),
}


@pytest.mark.parametrize(("steps", "shape", "dtype"), CHAINS.values(), ids=CHAINS)
def test_transforms_of_pictures_tell_the_form_of_what_they_make(of_all_types, steps, shape, dtype):
    for step in steps:
        of_all_types = of_all_types.map(step)
    told = of_all_types.element_spec["picture"]

    assert told == TensorSpec(shape, np.dtype(dtype))
    assert [n for n, element in enumerate(of_all_types) if not fits(element["picture"], told)] == []


def test_transforms_of_values_tell_the_form_of_what_they_make(of_all_types):
    dataset = of_all_types.map(wf.image.OneHot("number", 6)).map(wf.image.Cast("fixed", np.int8))

    assert dataset.element_spec["number"] == TensorSpec((6,), np.dtype(np.float32))
    assert dataset.element_spec["fixed"] == TensorSpec((2, 3), np.dtype(np.int8))


def pixels(dataset):
    return [element["picture"].tolist() for element in dataset.map(wf.image.Resize("picture", (4, 6)))]


@pytest.mark.parametrize(
    "verbs", [lambda d: d.cache(), lambda d: d.filter(lambda e: True).cache()], ids=["all", "some"]
)
def test_pictures_of_any_size_are_resized_after_a_cache_as_before_it(of_all_types, verbs):
    assert pixels(verbs(of_all_types)) == pixels(of_all_types)


VALUES = {
    "numbers of any length": (wf.image.Cast("list", np.int8), (None,)),
    "lists of lists": (wf.image.Cast("nested", np.float32), (None, None)),
    "arrays of any size": (wf.image.Cast("wide", np.int8), (1, None)),
    "classes of any length": (wf.image.OneHot("list", 6), (None, 6)),
}


@pytest.mark.parametrize(("transform", "shape"), VALUES.values(), ids=VALUES)
def test_values_of_any_length_are_changed_as_those_of_one(of_all_types, transform, shape):
    dataset = of_all_types.map(transform)
    told = dataset.element_spec[transform.column]

    assert (told.shape, told.dtype) == (shape, transform.dtype)
    assert [n for n, element in enumerate(dataset) if not fits(element[transform.column], told)] == []


def test_steps_are_padded_after_they_are_cast(tmp_path):
    with wf.TFRecordWriter(tmp_path / "a") as writer:
        for n in range(3):
            writer.write(wf.encode_example({"x": [n] * n}))
    feature = wf.FixedLenSequenceFeature([], np.int64, allow_missing=True, default_value=7)
    (batch,) = wf.TFRecordDataset(tmp_path / "a", {"x": feature}).map(wf.image.Cast("x", np.int8)).batch(3)

    assert batch["x"].dtype == np.int8
    assert batch["x"].tolist() == [[7, 7], [1, 7], [2, 2]]


def test_text_cannot_be_cast(of_all_types):
    with pytest.raises(ExampleError, match='feature "text": Cast needs numbers, found Bytes'):
        list(of_all_types.map(wf.image.Cast("text", np.int8)))


BATCHES = {
    "flipped": (lambda d: d.padded_batch(2).map(wf.image.RandomFlip("picture")), (None, None, None, 3)),
    "resized": (lambda d: d.padded_batch(2).map(wf.image.Resize("picture", (4, 6))), (None, 4, 6, 3)),
    "resized rows of any size": (lambda d: d.ragged_batch(2).map(wf.image.Resize("picture", (4, 6))), (None, 4, 6, 3)),
    "full batches": (
        lambda d: d.padded_batch(2, drop_remainder=True).map(wf.image.Resize("picture", (4, 6))),
        (2, 4, 6, 3),
    ),
}


@pytest.mark.parametrize(("verbs", "shape"), BATCHES.values(), ids=BATCHES)
def test_transforms_of_batches_tell_the_form_of_what_they_make(of_all_types, verbs, shape):
    dataset = verbs(of_all_types.select_columns("picture"))
    told = dataset.element_spec["picture"]

    assert told.shape == shape
    assert [n for n, batch in enumerate(dataset) if not fits(batch["picture"], told)] == []


def test_the_row_ids_of_batches_are_arrays(of_all_types):
    numbers, _ = of_all_types.select_columns("number").batch(2).with_row_ids().element_spec

    assert numbers["row"] == TensorSpec((None,), np.dtype(np.int64))


@pytest.mark.parametrize("verbs", [lambda d: d.batch(2), lambda d: d.filter(lambda e: True).batch(2)], ids=["", "some"])
def test_a_transform_of_batches_without_names_says_what_is_due(of_all_types, verbs):
    batches = verbs(of_all_types.select_columns("number")).enumerate()

    with pytest.raises(ExampleError, match="a transform needs elements with names, got tuple"):
        list(batches.map(wf.image.Cast("number", np.int8)))
    with pytest.raises(PlanError, match="elements must be mappings, got tuple"):
        list(batches.select_columns("number"))


def test_rows_of_a_window_that_differ_are_refused_as_those_of_a_batch(of_all_types):
    with pytest.raises(PlanError, match="rows of picture differ, so they are no array"):
        list(of_all_types.select_columns("picture").window(2))
