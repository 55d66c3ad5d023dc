"""What happens to pictures on their way into the shards."""

import gzip
import io
import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from packed_folder import columns
from PIL import Image as PilImage

from wellfed.columns import Bytes
from wellfed.datasets import ClassLabel, Image, Schema, Text, open_dataset
from wellfed.errors import ImageError, PackError, SourceError
from wellfed.example import parse_example
from wellfed.image import decode_image, encode_image, image_info, resize
from wellfed.io import TFRecordReader
from wellfed.packing import PictureOptions, pack
from wellfed.packing.pictures import plain_pngs, prepare_picture
from wellfed.sources import ClassFolders, ListedSource, ListingBuilder, Scan

PHOTOS = Path(__file__).parent.parent / "data" / "corpus" / "photos"

RNG = np.random.default_rng(3)
COLOUR = RNG.integers(0, 256, (12, 20, 3), np.uint8)
GREY = RNG.integers(0, 256, (12, 20, 1), np.uint8)


@dataclass(frozen=True)
class Pictures(ListedSource):
    """Pictures given as bytes or arrays."""

    values: tuple = ()

    def scan(self):
        builder = ListingBuilder()
        for number, _ in enumerate(self.values):
            builder.add(f"{number}", size=100, number=number)
        return Scan(Schema({"image": Image(), "label": ClassLabel(num_classes=1)}), builder.listing())

    def load(self, index):
        return {"image": self.values[int(self.listing().places["number"][index])], "label": 0}


def packed(tmp_path, *values, **options):
    """Packs pictures in their order; returns the stored values and the schema."""
    pack(Pictures(values), tmp_path / "out", name="p", shuffle=False, pictures=PictureOptions(**options), workers=1)
    dataset = open_dataset(tmp_path / "out")
    (file,) = dataset.splits["train"].files
    return parse_example(list(TFRecordReader(file)), dataset.schema.features())["image"], dataset.schema


@pytest.mark.parametrize("path", sorted((PHOTOS / "good").rglob("*.*")), ids=lambda path: path.name)
def test_the_bytes_of_real_pictures_are_kept(path):
    stored, facts = prepare_picture(path.read_bytes(), PictureOptions())

    assert stored == path.read_bytes()
    assert facts.format == image_info(stored).format


def test_pictures_of_one_size_and_format_narrow_the_schema(tmp_path):
    _, schema = packed(tmp_path, encode_image(COLOUR), encode_image(COLOUR[::-1]))

    assert schema["image"] == Image((12, 20, 3), encoding_format="png")


def test_pictures_of_different_sizes_and_formats_leave_it_open(tmp_path):
    stored, schema = packed(tmp_path, encode_image(COLOUR), encode_image(COLOUR[:5], "jpeg"))

    assert schema["image"] == Image((None, 20, 3))
    assert stored.to_list() == [encode_image(COLOUR), encode_image(COLOUR[:5], "jpeg")]


def test_pixels_are_kept_as_pixels(tmp_path):
    stored, schema = packed(tmp_path, COLOUR, COLOUR[::-1])

    assert schema["image"] == Image((12, 20, 3), encoding_format="raw")
    np.testing.assert_array_equal(stored, [COLOUR, COLOUR[::-1]])


def test_pixels_may_be_encoded(tmp_path):
    stored, schema = packed(tmp_path, COLOUR, encoding="png")

    assert schema["image"].encoding_format == "png"
    np.testing.assert_array_equal(decode_image(stored[0]), COLOUR)


def test_pixels_of_different_sizes_cannot_be_kept_raw(tmp_path):
    with pytest.raises(PackError, match=r'1: feature "image": expected shape \(12, 20, 3\), got \(5, 20, 3\)'):
        packed(tmp_path, COLOUR, COLOUR[:5])


def test_encoded_pictures_are_stored_as_pixels_when_asked(tmp_path):
    stored, schema = packed(tmp_path, encode_image(COLOUR), encode_image(COLOUR[::-1]), encoding="raw")

    assert schema["image"] == Image((12, 20, 3), encoding_format="raw")
    np.testing.assert_array_equal(stored, [COLOUR, COLOUR[::-1]])


def test_bgr_pixels_have_their_channels_turned_around():
    for value in (encode_image(COLOUR), COLOUR):
        stored, _ = prepare_picture(value, PictureOptions(encoding="raw", channels="bgr"))
        np.testing.assert_array_equal(stored, COLOUR[:, :, ::-1])


def test_a_jpeg_asked_for_as_jpeg_is_not_encoded_again():
    encoded = encode_image(COLOUR, "jpeg", quality=30)

    assert prepare_picture(encoded, PictureOptions(encoding="jpeg"))[0] == encoded


def test_a_png_asked_for_as_jpeg_is_one_of_the_quality_asked_for():
    stored, facts = prepare_picture(encode_image(COLOUR), PictureOptions(encoding="jpeg", quality=40))

    assert stored == encode_image(COLOUR, "jpeg", quality=40)
    assert facts.format == "jpeg"


@pytest.mark.parametrize(("pixels", "channels", "count"), [(GREY, "rgb", 3), (COLOUR, "grey", 1), (COLOUR, "rgb", 3)])
@pytest.mark.parametrize("encoded", [True, False])
def test_channels_are_what_is_asked_for(pixels, channels, count, encoded):
    value = encode_image(pixels) if encoded else pixels
    stored, facts = prepare_picture(value, PictureOptions(channels=channels))

    assert facts.channels == count
    shape = stored.shape if isinstance(stored, np.ndarray) else decode_image(stored, channels=0).shape
    assert shape == (12, 20, count)


def test_a_picture_that_has_the_channels_already_is_kept():
    assert prepare_picture(encode_image(GREY), PictureOptions(channels="grey"))[0] == encode_image(GREY)


SIZES = {
    "height and width": ((6, 5), (6, 5)),
    "shorter side": (6, (6, 10)),
    "larger": ((24, 40), (24, 40)),
}


@pytest.mark.parametrize(("asked", "size"), SIZES.values(), ids=SIZES)
def test_resizing_gives_the_size_and_the_pixels_of_the_image_room(asked, size):
    stored, facts = prepare_picture(encode_image(COLOUR), PictureOptions(resize=asked))
    method = "area" if size[0] <= 12 else "bilinear"

    assert (facts.height, facts.width, facts.format) == (*size, "png")
    np.testing.assert_array_equal(decode_image(stored), resize(COLOUR, size, method, dtype=np.uint8))


def test_cropping_cuts_the_middle_after_resizing():
    stored, _ = prepare_picture(COLOUR, PictureOptions(crop=(4, 6)))

    np.testing.assert_array_equal(stored, COLOUR[4:8, 7:13])


def test_a_picture_too_small_to_crop_is_an_error():
    with pytest.raises(ImageError, match="is 12 x 20, too small to cut 13 x 20"):
        prepare_picture(COLOUR, PictureOptions(crop=(13, 20)))


def turned_jpeg():
    out = io.BytesIO()
    exif = PilImage.Exif()
    exif[0x0112] = 6
    PilImage.fromarray(COLOUR).save(out, "JPEG", exif=exif, quality=95)
    return out.getvalue()


def test_exif_turns_pictures_only_when_asked():
    kept, kept_facts = prepare_picture(turned_jpeg(), PictureOptions())
    turned, facts = prepare_picture(turned_jpeg(), PictureOptions(exif="apply"))

    assert kept == turned_jpeg()
    assert (kept_facts.height, kept_facts.width) == (12, 20)
    assert (facts.height, facts.width) == (20, 12)
    assert image_info(turned).orientation == 1


def test_sixteen_bits_are_kept_through_a_crop():
    wide = RNG.integers(0, 65536, (8, 8, 1), np.uint16)
    stored, facts = prepare_picture(encode_image(wide), PictureOptions(crop=(4, 4)))

    assert facts.bits == 16
    np.testing.assert_array_equal(decode_image(stored, channels=1, dtype="uint16"), wide[2:6, 2:6])


def test_a_picture_wrapped_in_gzip_is_unwrapped():
    assert prepare_picture(gzip.compress(encode_image(COLOUR)), PictureOptions())[0] == encode_image(COLOUR)


def test_facts_are_stored_beside_the_picture_when_asked(tmp_path):
    pictures = PictureOptions(fields=("format", "height", "width", "channels"))
    pack(
        Pictures((encode_image(COLOUR), encode_image(GREY, "jpeg"))),
        tmp_path,
        name="p",
        shuffle=False,
        pictures=pictures,
    )
    found = columns(tmp_path, "train")

    assert found["format"].to_list() == [b"png", b"jpeg"]
    assert [list(found[name]) for name in ("height", "width", "channels")] == [[12, 12], [20, 20], [3, 1]]


def test_a_fact_that_the_source_has_itself_is_refused(tmp_path):
    class WithFormat(Pictures):
        @property
        def schema(self):
            return super().schema.replace({"format": Text()})

    with pytest.raises(PackError, match="has a feature 'format' of its own"):
        pack(WithFormat((COLOUR,)), tmp_path, name="p", pictures=PictureOptions(fields=("format",)))


def test_picture_options_for_a_source_without_pictures_are_refused(tmp_path):
    from tiny_source import TinySource

    with pytest.raises(PackError, match="the source has no pictures"):
        pack(TinySource(3), tmp_path, name="p", pictures=PictureOptions(resize=5))


CUT = {"png": encode_image(COLOUR)[:-9], "jpeg": encode_image(COLOUR, "jpeg")[:-2]}


def facts_of(*values):
    """Returns what the column way finds, and what looking at each finds."""
    each = [prepare_picture(value, PictureOptions())[1] for value in values]
    return plain_pngs(Bytes.from_list(values)), each


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_column_of_plain_pngs_is_known_as_each_of_them_is(channels):
    pixels = RNG.integers(0, 256, (5, 7, channels), np.uint8)
    found, each = facts_of(encode_image(pixels), encode_image(pixels[:3]), encode_image(pixels))

    assert sorted(found, key=lambda facts: facts.height) == sorted(set(each), key=lambda facts: facts.height)


def transparent(pixels):
    out = io.BytesIO()
    key = (1, 2, 3) if pixels.shape[2] == 3 else 1
    PilImage.fromarray(pixels.squeeze()).save(out, "PNG", transparency=key)
    return out.getvalue()


@pytest.mark.parametrize("pixels", [COLOUR, GREY], ids=["colour", "grey"])
def test_a_transparent_colour_changes_nothing(pixels):
    found, each = facts_of(transparent(pixels))

    assert found == each


def damaged_header():
    content = bytearray(encode_image(COLOUR))
    content[18] ^= 1
    return bytes(content)


def test_a_damaged_header_is_left_to_be_looked_at():
    assert plain_pngs(Bytes.from_list([damaged_header()])) is None


NOT_PLAIN = {
    "a JPEG": encode_image(COLOUR, "jpeg"),
    "16 bits": encode_image(RNG.integers(0, 65536, (8, 8, 1), np.uint16)),
    "a palette": (PHOTOS / "odd" / "pngsuite" / "basn3p08.png").read_bytes(),
    "bytes behind its end": encode_image(COLOUR) + b"more",
}


@pytest.mark.parametrize("value", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_what_is_no_plain_png_is_looked_at_by_itself(value):
    found, _ = facts_of(encode_image(COLOUR), value)

    assert found is None


@pytest.mark.parametrize("length", [0, 8, 40, -9])
def test_a_column_with_a_cut_png_is_looked_at_one_by_one(length):
    assert plain_pngs(Bytes.from_list([encode_image(COLOUR), encode_image(COLOUR)[:length]])) is None


@pytest.mark.parametrize("name", CUT)
def test_a_cut_picture_is_found_without_decoding(name):
    with pytest.raises(ImageError, match="is cut: it has no end"):
        prepare_picture(CUT[name], PictureOptions())


def test_bytes_after_the_end_of_a_png_are_kept():
    value = encode_image(COLOUR) + b"more"

    assert prepare_picture(value, PictureOptions(check=True))[0] == value


def test_damage_inside_is_found_by_decoding_alone():
    content = bytearray(encode_image(COLOUR))
    content[80] ^= 255

    assert prepare_picture(bytes(content), PictureOptions())[0] == content
    with pytest.raises(ImageError, match="is damaged"):
        prepare_picture(bytes(content), PictureOptions(check=True))


def test_workers_that_encode_pictures_are_processes_and_give_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("wellfed.packing.api._MANY_PICTURES", 1)
    values = tuple(encode_image(RNG.integers(0, 256, (9, 9, 3), np.uint8)) for _ in range(6))
    options = {"name": "p", "shards": 3, "pictures": PictureOptions(encoding="jpeg")}
    folder = tmp_path / "pictures" / "cat"
    folder.mkdir(parents=True)
    for number, value in enumerate(values):
        (folder / f"{number}.png").write_bytes(value)
    source = ClassFolders(folder.parent)
    one = pack(source, tmp_path / "one", workers=1, **options)
    two = pack(source, tmp_path / "two", workers=2, **options)

    assert one.records == two.records == {"train": 6}
    manifests = [json.loads((tmp_path / out / ".wellfed" / "manifest.json").read_text()) for out in ("one", "two")]
    assert manifests[0] == manifests[1]


@pytest.fixture
def vanishing(tmp_path):
    """Returns a source of three pictures, one of which vanishes after it was listed."""
    for number in range(3):
        path = tmp_path / "pictures" / "cat" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_image(COLOUR))
    source = ClassFolders(tmp_path / "pictures")
    source.listing()
    path.unlink()
    return source


def test_a_picture_that_vanishes_ends_the_pack_with_its_path(tmp_path, vanishing):
    with pytest.raises(SourceError, match=r"cat/2\.png: was there when it was listed and is gone"):
        pack(vanishing, tmp_path / "out", name="p")
    assert not (tmp_path / "out").exists()


def test_a_picture_that_vanishes_is_left_out_when_asked(tmp_path, vanishing):
    report = pack(vanishing, tmp_path / "out", name="p", on_error="skip")

    assert [item.item for item in report.skipped] == ["cat/2.png"]
    assert columns(tmp_path / "out", "train")["image"].shape == (2, 12, 20, 3)


# --- The corpus of odd and corrupt pictures ------------------------------------------------------


def opens(path):
    """Says whether both Pillow and the decoder take a picture as it is stored."""
    content = path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of a JPEG with two pictures in it.
            PilImage.open(io.BytesIO(content)).load()
        info = image_info(content)
        decode_image(content, channels=0, dtype="uint16" if info.bits > 8 else "uint8")
    except (OSError, SyntaxError, ValueError, PilImage.DecompressionBombError):  # Pillow's, and ImageError.
        return False
    return True


def test_what_check_and_quarantine_refuse_is_what_pillow_or_the_decoder_cannot_open(tmp_path):
    folder = tmp_path / "classes"
    for kind in ("odd", "corrupt"):
        for path in sorted((PHOTOS / kind).rglob("*.*")):
            target = folder / kind / f"{path.parent.name}-{path.name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    source = ClassFolders(folder)

    report = pack(
        source, tmp_path / "out", name="p", on_error="quarantine", pictures=PictureOptions(check=True), workers=1
    )

    found = {str(path.relative_to(folder)) for path in folder.rglob("*.*")}
    assert {item.item for item in report.skipped} == {key for key in found if not opens(folder / key)}
    refused = {item.item for item in report.skipped if item.split}
    assert "corrupt/pillow-unknown_compression_method.png" in refused  # Its colour profile: Pillow minds it alone.
    quarantine = tmp_path / "out" / ".wellfed" / "quarantine"
    rows = [json.loads(line) for line in (quarantine / "items.jsonl").read_text().splitlines()]
    assert {row["item"] for row in rows} == refused
    assert all((quarantine / key).read_bytes() == (folder / key).read_bytes() for key in refused)
