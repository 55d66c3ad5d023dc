"""Options are checked when they are made."""

import json
from dataclasses import fields

import pytest

from wellfed.packing import PackOptions, PictureOptions
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


def test_options_are_json():
    options = PackOptions(name="d", split={"a": 0.5, "b": 0.5}, shards={"a": 1}, pictures=PictureOptions(crop=(2, 3)))

    assert json.loads(json.dumps(options.to_json()))["split"] == {"a": 0.5, "b": 0.5}
