from __future__ import annotations

import bz2
import gc
import gzip
import io
import lzma
import pickle
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellfed.datasets import ByteString, ClassLabel, Image, Scalar, Tensor, Text
from wellfed.errors import SourceError
from wellfed.sources import Skipped, Tar
from wellfed.sources.tarheaders import Headers

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 40
FORMS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
ITEMS = {"a.png": PNG, "a.cls": b"1", "b.png": PNG + b"b", "b.cls": b"0\n"}


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def tarred(members, form=tarfile.USTAR_FORMAT) -> bytes:
    """A tar of a mapping of name to content, or of a list of names with contents or ready TarInfos."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name, content in members.items() if isinstance(members, dict) else members:
            member = tarfile.TarInfo(name)
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


@pytest.fixture
def read(make_files):
    """Makes the source of one tar, "x.tar"."""

    def make(members, **options) -> Tar:
        content = members if isinstance(members, bytes) else tarred(members)
        return Tar(make_files({"x.tar": content}) / "x.tar", **options)

    return make


def items(source) -> dict[str, dict]:
    return {source.listing().key(at): source.load(at) for at in range(len(source.listing()))}


def test_members_of_one_name_are_one_item(read):
    source = read(ITEMS)

    assert dict(source.schema) == {"image": Image(), "label": ClassLabel(num_classes=2)}
    assert items(source) == {"x.tar/a": {"image": PNG, "label": 1}, "x.tar/b": {"image": PNG + b"b", "label": 0}}
    assert source.listing().labels.tolist() == [1, 0]
    assert source.listing().sizes.tolist() == [len(PNG) + 1, len(PNG) + 3]


def test_real_photos_come_back_whole(read, corpus):
    photos = sorted((corpus / "photos/good").rglob("*.*"))
    source = read([(f"{at:04d}{path.suffix}", path.read_bytes()) for at, path in enumerate(photos)])

    assert [item["image"] for item in items(source).values()] == [path.read_bytes() for path in photos]


@pytest.mark.parametrize("form", FORMS)
def test_long_and_foreign_names_are_keys_in_every_format_of_tar(read, form):
    long = "d" * 60 + "/" + "e" * 90 if form == tarfile.USTAR_FORMAT else "d" * 300
    source = read(tarred({f"{long}.txt": b"1", "é.txt": b"2"}, form))

    assert list(items(source)) == [f"x.tar/{long}", "x.tar/é"]


def test_members_need_not_lie_together(read):
    source = read({"a.png": PNG, "b.png": PNG, "b.txt": b"bb", "a.txt": b"aa"})

    assert [item["txt"] for item in items(source).values()] == ["aa", "bb"]


def test_the_field_is_all_behind_the_first_dot_of_the_last_part_of_the_name(read):
    source = read({"v1.2/a.b.txt": b"x", "v1.2/a.JSON": b"{}"})

    assert items(source) == {"x.tar/v1.2/a": {"b.txt": "x", "json": "{}"}}


def test_fields_have_the_types_of_their_endings(read):
    source = read(
        {
            "a.seg.png": PNG,
            "a.txt": b"x",
            "a.npy": npy(np.float32([1, 2])),
            "a.pyd": b"\x80",
            "a.n.npy": npy(np.array(3)),
        }
    )

    assert dict(source.schema) == {
        "seg.png": Image(),
        "txt": Text(),
        "npy": Tensor((2,), np.float32),
        "pyd": ByteString(),
        "n.npy": Scalar(np.int64),
    }
    item = source.load(0)
    assert (item["npy"].tolist(), item["n.npy"], item["pyd"]) == ([1, 2], 3, b"\x80")
    assert source.schema.encode(item)


def test_arrays_of_different_sizes_have_an_unknown_one(read):
    source = read({"a.npy": npy(np.zeros((2, 3), np.uint8)), "b.npy": npy(np.zeros((4, 3), np.uint8))})

    assert dict(source.schema) == {"npy": Tensor((None, 3), np.uint8, encoding="bytes")}


def test_arrays_of_different_dtypes_are_refused(read):
    with pytest.raises(SourceError, match=r"x.tar/b.npy: is an array of int64 \(1,\); others are float64 \(1,\)"):
        read({"a.npy": npy(np.zeros(1)), "b.npy": npy(np.arange(1))}).listing()


def test_named_classes_are_sorted_by_code_point(read):
    source = read({"a.cls": b"dog", "b.cls": b"Cat\n", "c.cls": b"dog"})

    assert source.schema["label"] == ClassLabel(("Cat", "dog"))
    assert source.listing().labels.tolist() == [1, 0, 1]


def test_the_same_key_in_two_tars_is_two_items(make_files):
    root = make_files({"b.tar": tarred({"0.txt": b"b"}), "a.tar": tarred({"0.txt": b"a"})})

    assert items(Tar(root / "*.tar")) == {"a.tar/0": {"txt": "a"}, "b.tar/0": {"txt": "b"}}


def test_only_the_fields_asked_for_are_read(read):
    source = read({**ITEMS, "a.json": b"{}"}, fields=["png", "cls"])

    assert list(source.schema) == ["image", "label"]
    assert source.listing().skipped == [Skipped("x.tar: *.json", "is a field that was not asked for (1 members)")]


def link(name: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "a.txt"
    return member


def test_what_is_no_field_of_an_item_is_named(read):
    source = read(
        [
            ("a.txt", b"x"),
            ("", link("folder", tarfile.DIRTYPE)),
            ("README", b"x"),
            ("._a.txt", b"x"),
            (".hidden/a.txt", b"x"),
            ("", link("b.txt", tarfile.SYMTYPE)),
            ("", link("c.txt", tarfile.LNKTYPE)),
            ("", link("d.txt", tarfile.CHRTYPE)),
        ]
    )

    assert list(items(source)) == ["x.tar/a"]
    assert source.listing().skipped == [
        Skipped("x.tar/README", "has no dot in its name, and so is no field of an item"),
        Skipped("x.tar/._a.txt", "is hidden"),
        Skipped("x.tar/.hidden/a.txt", "is hidden"),
        Skipped("x.tar/b.txt", "is no plain file"),
        Skipped("x.tar/c.txt", "is no plain file"),
        Skipped("x.tar/d.txt", "is no plain file"),
    ]


def test_a_missing_partner_is_named_in_both_directions(read):
    source = read({"a.png": PNG, "b.png": PNG, "b.txt": b"x", "c.txt": b"y"})

    assert source.load(1) == {"image": PNG, "txt": "x"}
    with pytest.raises(SourceError, match=r"x.tar/a: has .png, but no .txt. Add it"):
        source.load(0)
    with pytest.raises(SourceError, match=r"x.tar/c: has .txt, but no .png. Add it"):
        source.load(2)


@pytest.mark.parametrize(
    ("members", "both"),
    [
        ([("a.txt", b"1"), ("b.txt", b"2"), ("a.txt", b"3")], "a.txt and a.txt, which are both the txt"),
        ([("a.png", PNG), ("a.jpg", PNG)], "a.png and a.jpg, which are both the image"),
        ([("a.TXT", b"1"), ("./a.txt", b"2")], r"a.TXT and ./a.txt, which are both the txt"),
    ],
)
def test_two_members_for_one_field_are_refused_with_both_names(read, members, both):
    with pytest.raises(SourceError, match=f"x.tar: holds {both} of one item"):
        read(members).listing()


@pytest.mark.parametrize("name", ["../a.txt", "/etc/a.txt", "a/../../b.txt", "a/..", "./../a.txt"])
def test_a_name_that_leads_out_of_its_folder_is_refused(read, name):
    with pytest.raises(SourceError, match=r"whose path leads out of its folder. Do not trust this tar"):
        read({"a.txt": b"", name: b"x"}).listing()


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_a_compressed_tar_is_read_through_a_copy_that_goes_with_it(read, compress, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    source = read(compress(tarred(ITEMS)))
    copy = pickle.loads(pickle.dumps(source.part(np.array([1]))))

    assert copy.load(0) == source.load(1) == {"image": PNG + b"b", "label": 0}
    del source
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []
    assert copy.load(0)["label"] == 0  # The owner is gone: the copy inflates for itself.


def test_the_bytes_of_a_pickle_are_kept_and_not_read(read):
    assert read({"a.pkl": b"cos\nsystem\n(Vtouch pwned\ntR."}).load(0) == {"pkl": b"cos\nsystem\n(Vtouch pwned\ntR."}


BAD = {
    "text": (b"no tar", "is no tar but text"),
    "empty": (b"", "is no tar but an empty file"),
    "no members": (tarred({}), "holds no item. Members such as 0001.jpg"),
    "no items": (tarred({"README": b"x"}), r"holds no item \(x.tar/README has no dot in its name"),
    "cut in a header": (tarred(ITEMS)[:1300], "has bytes after byte 1024 that are no member"),
    "cut in a member": (tarred(ITEMS)[:550], "is a damaged tar: unexpected end of data"),
    "two end to end": (tarred(ITEMS) * 2, "has bytes after byte .* another tar behind its end"),
    "cut gzip": (gzip.compress(tarred(ITEMS))[:-9], "is damaged or cut"),
    "damaged gzip": (gzip.compress(tarred(ITEMS))[:-8] + bytes(8), "is damaged or cut"),
    "cut xz": (lzma.compress(tarred(ITEMS))[:-20], "is damaged or cut"),
    "an array of objects": (tarred({"a.npy": b"\x93NUMPY\x01\0"}), "x.tar/a.npy: is a damaged .npy"),
}


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_a_file_that_is_no_whole_tar_is_refused(read, content, reason):
    with pytest.raises(SourceError, match=reason):
        read(content).listing()


@given(at=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_a_damaged_byte_gives_an_error_or_items_and_never_more(tmp_path_factory, at, byte):
    content = bytearray(tarred(ITEMS, tarfile.PAX_FORMAT)[:4096])
    content[at % len(content)] = byte
    path = tmp_path_factory.mktemp("tar") / "x.tar"
    path.write_bytes(content)

    try:
        items(Tar(path))
    except SourceError as error:
        assert "x.tar" in error.path  # noqa: PT017 -- some bytes can change without harm.


NAMES = st.text("aé/.\n", min_size=1, max_size=99).map(lambda name: name.strip("/") or "a")


@given(st.lists(st.tuples(NAMES, st.binary(max_size=600)), max_size=5), st.sampled_from(FORMS), st.booleans())
def test_members_are_those_that_tarfile_finds(tmp_path_factory, files, form, with_links):
    path = tmp_path_factory.mktemp("tar") / "x.tar"
    with tarfile.open(path, "w", format=form) as tar:
        for number, (name, content) in enumerate(files):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), number + 0.5  # pax has a header of its own for that.
            tar.addfile(member, io.BytesIO(content))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, name[:90]
            if with_links:
                tar.addfile(link)
    with tarfile.open(path) as tar:
        due = [(one.name, one.isreg(), one.offset_data, one.size) for one in tar]

    found = Headers(str(path), memoryview(path.read_bytes()))

    assert [(one.name, one.kind == "file", one.offset, one.size) for one in found] == due


def test_many_items_at_once_are_those_one_by_one(make_files):
    root = make_files({"x.tar": tarred(ITEMS), "y.tar": tarred({"c.png": PNG + b"c", "c.cls": b"1"})})
    source = Tar(root / "*.tar").part(np.array([2, 0, 1]))

    columns = source.load_columns(0, 3)

    assert columns["image"].to_list() == [source.load(at)["image"] for at in range(3)]
    assert columns["label"].tolist() == [source.load(at)["label"] for at in range(3)]


def test_items_are_left_to_be_read_one_by_one_where_one_is_at_fault(read):
    assert read({**ITEMS, "c.png": PNG}).load_columns(0, 3) is None
    assert read({**ITEMS, "a.txt": b"a", "b.txt": b"\xff"}).load_columns(0, 2) is None


def test_a_member_without_a_class_fails_when_it_is_loaded(read):
    with pytest.raises(SourceError, match=r"x.tar/b.cls: is empty; a class is due"):
        read({**ITEMS, "b.cls": b" \n"}).load(1)


def test_a_member_that_is_no_picture_fails_when_it_is_loaded(read):
    source = read({"a.jpg": b"<html>"})

    with pytest.raises(SourceError, match=r"x.tar/a.jpg: is no picture but an HTML page"):
        source.load(0)


def test_a_text_that_is_no_utf8_fails_when_it_is_loaded(read):
    with pytest.raises(SourceError, match=r"x.tar/a.txt: is no UTF-8"):
        read({"a.txt": b"\xff"}).load(0)


def test_a_tar_of_another_length_than_listed_is_refused(read, tmp_path):
    source = read(ITEMS)
    source.listing()
    (tmp_path / "x.tar").write_bytes(tarred(ITEMS)[:5000])

    with pytest.raises(SourceError, match="has 5000 bytes, but had 10240 when it was listed"):
        source.load(0)


def test_a_tar_that_vanished_is_named(read, tmp_path):
    source = read(ITEMS)
    source.listing()
    (tmp_path / "x.tar").unlink()

    with pytest.raises(SourceError, match=r"x.tar: was there when it was listed and is gone"):
        source.load(0)
