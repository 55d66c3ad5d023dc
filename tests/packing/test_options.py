"""Options are checked when they are made."""

import json
from dataclasses import fields

import pytest

from wellfed.packing import PackOptions, PictureOptions, pack
from wellfed.packing.options import PackFields

REFUSED = {
    "name that is no word": ({"name": "a b"}, "letters, digits"),
    "empty name": ({"name": ""}, "letters, digits"),
    "name that leads elsewhere": ({"name": "../x"}, "letters, digits"),
    "split that is no word": ({"split": {"tr/ain": 1.0}}, "split becomes part of file names"),
    "shares above 1": ({"split": {"a": 0.9, "b": 0.2}}, "must add up to 1, got 1.1"),
    "shares below 1": ({"split": {"a": 0.9}}, "must add up to 1"),
    "share of 0": ({"split": {"a": 1.0, "b": 0.0}}, "must be above 0"),
    "share that is no number": ({"split": {"a": float("nan")}}, "must be above 0, got nan"),
    "no shards": ({"shards": 0}, "at least 1"),
    "no shards in one split": ({"shards": {"a": 1, "b": 0}}, "at least 1"),
    "no size": ({"shard_size": 0}, "at least 1 byte"),
    "version of two numbers": ({"version": "1.1"}, "three numbers"),
    "compression that is not known": ({"compression": "LZ4"}, "must be one of '', 'GZIP'"),
    "layout that is not known": ({"layout": "beam"}, "must be one of 'tfds', 'plain'"),
    "name that is a number": ({"name": 5}, 'letters, digits and "_", got 5'),
    "split that is a number": ({"split": 0.9}, "split must be a name, or shares such as .*, got 0.9"),
    "share that is text": ({"split": {"a": "0.5"}}, "the share of split 'a' must be above 0, got '0.5'"),
    "half a shard": ({"shards": 2.5}, "shards must be a whole number, got 2.5"),
    "shards that are a flag": ({"shards": True}, "shards must be a whole number, got True"),
    "half a byte": ({"shard_size": 0.5}, "shard_size must be a whole number, got 0.5"),
    "size that is text": ({"shard_size": "1GB"}, "shard_size must be a whole number, got '1GB'"),
    "seed that is text": ({"seed": "a"}, "seed must be a whole number, got 'a'"),
    "shuffle that is text": ({"shuffle": "no"}, "shuffle must be True or False, got 'no'"),
    "stratify that is a number": ({"stratify": 1}, "stratify must be True or False, got 1"),
    "version that is a number": ({"version": 1}, "three numbers"),
    "pictures that are a mapping": ({"pictures": {"quality": 9}}, "pictures must be PictureOptions"),
    "pattern for the tfds layout": ({"name_pattern": "x{shard}"}, 'needs layout="plain"'),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_an_option_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PackOptions(**{"name": "d", **options})


REFUSED_PICTURES = {
    "encoding that is not known": ({"encoding": "webp"}, "must be one of 'keep'"),
    "channels that are not known": ({"channels": "cmyk"}, "must be one of 'rgb'"),
    "BGR in a JPEG": ({"channels": "bgr", "encoding": "jpeg"}, "JPEG and PNG hold RGB"),
    "quality above 100": ({"quality": 101}, "from 1 to 100"),
    "size of 0": ({"resize": 0}, "at least 1 pixel"),
    "size of one side": ({"resize": (5,)}, r"resize must be \(height, width\) or one number, got \(5,\)"),
    "size that is text": ({"resize": "5"}, "resize must be a whole number, got '5'"),
    "crop of one number": ({"crop": 5}, r"crop must be \(height, width\), got 5"),
    "quality that is text": ({"quality": "5"}, "quality must be a whole number, got '5'"),
    "check that is a number": ({"check": 1}, "check must be True or False, got 1"),
    "crop of 0": ({"crop": (0, 5)}, "at least 1 pixel"),
    "field that is not known": ({"fields": ("depth",)}, "must be one of 'format'"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED_PICTURES.values(), ids=REFUSED_PICTURES)
def test_a_picture_option_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PictureOptions(**options)


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({}, False),
        ({"check": True}, False),
        ({"fields": ("format",)}, False),
        ({"resize": 9}, True),
        ({"exif": "apply"}, True),
    ],
)
def test_only_options_that_change_pixels_are_work_for_processes(options, changes):
    assert PictureOptions(**options).changes_pixels == changes


def test_the_keyword_arguments_of_pack_are_the_fields_of_its_options():
    assert list(PackFields.__annotations__) == [field.name for field in fields(PackOptions)]


def test_a_size_of_shards_may_be_written_as_a_power():
    assert PackOptions(name="d", shard_size=256e6).shard_size == 256_000_000


def test_lists_and_tuples_of_sides_make_equal_options():
    assert PictureOptions(resize=[4, 5], crop=[2, 3]) == PictureOptions(resize=(4, 5), crop=(2, 3))


WRONG = {
    "an unknown option": ({"names": "x"}, TypeError, "pack has no option 'names'; its options are name, split, "),
    "an unknown way with errors": ({"on_error": "ignore"}, ValueError, "on_error must be one of 'raise', 'skip'"),
    "overwrite that is text": ({"overwrite": "no"}, ValueError, "overwrite must be True or False, got 'no'"),
    "workers that are text": ({"workers": "2"}, ValueError, "workers must be a whole number, got '2'"),
    "no workers": ({"workers": 0}, ValueError, "workers must be at least 1, got 0"),
}


@pytest.mark.parametrize(("options", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_pack_does_not_know_is_refused(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        pack([{"x": 1}], tmp_path / "out", **options)


def test_a_pack_to_nowhere_is_refused():
    with pytest.raises(ValueError, match="out is empty: a folder or a URL is due"):
        pack([{"x": 1}], "")


@pytest.mark.parametrize(("folder", "name"), [("photos", "photos"), ("my photos-2", "my_photos_2"), ("ü", "data")])
def test_a_data_set_has_the_name_of_its_folder_where_none_is_given(tmp_path, folder, name):
    assert pack([{"x": 1}], tmp_path / folder).name == name


def test_options_are_json():
    options = PackOptions(name="d", split={"a": 0.5, "b": 0.5}, shards={"a": 1}, pictures=PictureOptions(crop=(2, 3)))

    assert json.loads(json.dumps(options.to_json()))["split"] == {"a": 0.5, "b": 0.5}
