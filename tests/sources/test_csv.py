from __future__ import annotations

import csv
import io
import math
import os
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wellfed.datasets import ClassLabel, Image, Scalar, Tensor, Text
from wellfed.errors import SourceError
from wellfed.sources import Csv

PEOPLE = 'name,age,score,old\nAnn,31,0.5,true\n"Bo, jr.",7,-2,False\n"a ""q""\nb",0,1e3,TRUE\n'


@pytest.fixture
def read(make_files):
    """Makes the source of one CSV file."""
    return lambda text, **options: Csv(make_files({"x.csv": text}) / "x.csv", **options)


def items(source) -> list[dict]:
    return [source.load(at) for at in range(len(source.listing()))]


def types(source) -> dict:
    return dict(source.schema)


def test_rows_are_read_with_quotes_separators_and_line_ends_in_cells(read):
    assert items(read(PEOPLE)) == [
        {"name": "Ann", "age": 31, "score": 0.5, "old": True},
        {"name": "Bo, jr.", "age": 7, "score": -2.0, "old": False},
        {"name": 'a "q"\nb', "age": 0, "score": 1000.0, "old": True},
    ]


def test_types_are_decided_over_the_whole_column(read):
    assert types(read(PEOPLE)) == {
        "name": Text(),
        "age": Scalar(np.int64),
        "score": Scalar(np.float32),
        "old": Scalar(np.bool_),
    }


def test_a_column_is_float_if_its_last_cell_alone_is(read):
    source = read("x\n" + "1\n" * 10_000 + "0.5\n")

    assert types(source) == {"x": Scalar(np.float32)}
    assert source.load(0) == {"x": 1.0}


COLUMNS = {
    "integers": (["1", "-2", "+3", "9223372036854775807"], Scalar(np.int64)),
    "floats": (["1", ".5", "-1e-3", "inf", "NaN", ""], Scalar(np.float32)),
    "integers with gaps": (["1", "", "16777216"], Scalar(np.float32)),
    "leading zeros": (["1", "007"], Text()),
    "more than 64 bits": (["1", "9223372036854775808"], Text()),
    "far more than 64 bits": (["1", "9" * 5000], Text()),
    "underscores": (["1", "1_000"], Text()),
    "digits of other scripts": (["1", "\u0661"], Text()),
    "hexadecimal": (["0x1f"], Text()),
    "booleans": (["true", "FALSE"], Scalar(np.bool_)),
    "booleans and numbers": (["true", "1"], Text()),
    "nothing": (["", ""], Text()),
    "text after numbers": (["1", "2.5", "n/a"], Text()),
    "spaces around numbers": ([" 1", "2 "], Scalar(np.int64)),
}


@pytest.mark.parametrize(("cells", "kind"), COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("turned", [False, True], ids=["in order", "reversed"])
def test_the_type_of_a_column_holds_all_of_its_cells(read, cells, kind, turned):
    source = read("key,x\n" + "".join(f"k,{cell}\n" for cell in (reversed(cells) if turned else cells)))

    assert types(source)["x"] == kind
    assert all(source.schema.encode(item) for item in items(source))


def test_an_empty_cell_among_numbers_is_nan(read):
    values = [item["x"] for item in items(read("key,x\na,1\nb,\n"))]

    assert values[0] == 1.0
    assert math.isnan(values[1])


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1),
            st.floats(width=32, allow_nan=False),
            st.text(st.characters(codec="utf-8"), max_size=8),
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, rows, delimiter, end):
    # A lone \r outside quotes is refused, and \0 means that the file is no text.
    assume(not any("\0" in text for _, _, text in rows))
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows([("a", "b", "c"), *rows])
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(out.getvalue().encode())

    source = Csv(path, types={"c": Text()})

    assert items(source) == [{"a": a, "b": b, "c": c} for a, b, c in rows]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_told_from_the_first_line(read, delimiter):
    text = delimiter.join(["a", '"b,;|\t"', "c"]) + "\n" + delimiter.join("123") + "\n"

    assert list(read(text).schema) == ["a", "b,;|\t", "c"]


def test_a_delimiter_that_is_given_goes_before_what_is_told(read):
    assert list(read("a,b;c\n1,2;3\n", delimiter=";").schema) == ["a,b", "c"]


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n3,4", "\ufeffa,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n\r\n3,4\r\n", "\n\na,b\n\n1,2\n3,4\n"]
)
def test_byte_order_marks_and_empty_lines_count_for_nothing(read, text):
    assert items(read(text)) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_names_can_be_given_for_files_without_them(read):
    assert items(read("1,2\n3,4\n", names=["a", "b"])) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_columns_are_kept_in_the_order_asked_for(read):
    assert items(read("a,b,c\n1,2,3\n", columns=["c", "a"])) == [{"c": 3, "a": 1}]


def test_types_can_be_given(read):
    given_types = {"zip": Text(), "time": Tensor((), np.float64, encoding="bytes"), "kind": ClassLabel(("x", "y"))}

    source = read("zip,time,kind\n12345,1700000000.25,y\n", types=given_types)

    assert types(source) == given_types
    assert items(source) == [{"zip": "12345", "time": 1700000000.25, "kind": "y"}]


def test_named_classes_are_sorted_by_code_point(read):
    source = read("x,kind\n1,dog\n2,Cat\n3,dog\n", label="kind")

    assert types(source)["kind"] == ClassLabel(("Cat", "dog"))
    assert source.listing().labels.tolist() == [1, 0, 1]
    assert [item["kind"] for item in items(source)] == [1, 0, 1]


def test_numbered_classes_keep_their_numbers(read):
    source = read("x,kind\n1,5\n2,0\n", label="kind")

    assert types(source)["kind"] == ClassLabel(num_classes=6)
    assert source.listing().labels.tolist() == [5, 0]


def test_classes_can_be_given(read):
    source = read("kind\nb\na\n", label="kind", types={"kind": ClassLabel(("b", "a", "c"))})

    assert source.listing().labels.tolist() == [0, 1]


def test_several_files_follow_each_other(make_files):
    source = Csv(make_files({"b.csv": "x\n3\n", "a.csv": "x\n1\n2\n"}) / "*.csv")

    assert [source.listing().key(at) for at in range(3)] == ["a.csv/0", "a.csv/1", "b.csv/0"]
    assert items(source) == [{"x": 1}, {"x": 2}, {"x": 3}]


def test_a_row_of_another_length_fails_when_it_is_loaded(read):
    source = read("a,b\n1,2\n3\n4,5\n", label="a")

    assert [source.load(at)["b"] for at in (0, 2)] == [2, 5]
    with pytest.raises(SourceError, match=r"x.csv: row 1 at byte 8 has 1 cells; 2 are due"):
        source.load(1)


def test_a_cell_that_does_not_fit_the_type_given_fails_when_it_is_loaded(read):
    source = read("a\n1\nx\n", types={"a": Scalar(np.int64)})

    with pytest.raises(SourceError, match="row 1 at byte 4: column 'a' holds 'x', which is no Scalar"):
        source.load(1)


@pytest.mark.parametrize("cell", ["1e400", "1e39", "-1e39", "3.4028236e38", "1" + "0" * 39 + ".0"])
def test_a_number_beyond_the_columns_type_fails_when_it_is_loaded(read, cell):
    source = read(f"a\n0.5\n{cell}\n2\n")

    assert [source.load(at)["a"] for at in (0, 2)] == [0.5, 2]
    assert source.load_columns(0, 3) is None  # Row by row, then.
    with pytest.raises(
        SourceError, match=f"x.csv: row 1 at byte 6: column 'a' holds '{cell}', which is beyond float32"
    ):
        source.load(1)


@pytest.mark.parametrize(("dtype", "cell"), [("float64", "1e400"), ("float16", "1e6")])
def test_a_number_beyond_a_type_that_is_given_fails_too(read, dtype, cell):
    source = read(f"a\n{cell}\n", types={"a": Tensor((), dtype, "bytes")})

    with pytest.raises(SourceError, match=f"holds '{cell}', which is beyond {dtype}"):
        source.load(0)


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "INF", "3.4028235e38", "-3.40282356e38", "1e-400"])
def test_a_number_that_the_columns_type_holds_is_read(read, cell):
    source = read(f"a\n0.5\n{cell}\n")

    assert source.load(1) == {"a": float(cell)}
    assert np.isinf(np.float32(source.load(1)["a"])) == ("n" in cell.lower())


def test_a_cell_of_more_than_128_kilobytes_is_read(read):
    assert len(read("a\n" + "x" * 200_000 + "\n").load(0)["a"]) == 200_000


BAD = {
    "empty": ("", {}, "is empty; a row of column names is due"),
    "names alone": ("a,b\n", {}, "holds no row"),
    "no row fits": ("a,b\n1\n2\n", {}, "none of 2 rows has 2 cells, as the first. Check delimiter=','"),
    "two columns of one name": ("a,a\n1,2\n", {}, "has the name 'a' for more than one column"),
    "a column without a name": ("a,\n1,2\n", {}, "has a column without a name"),
    "an unknown column": ("a,b\n1,2\n", {"columns": ["c"]}, "has no column 'c'; it has a, b"),
    "an unknown label": ("a,b\n1,2\n", {"label": "c"}, "has no column 'c'"),
    "an open quote": ('a,b\n1,"2\n3,4\n', {}, "line 3 is no CSV: unexpected end of data"),
    "a quote within": ('a,b\n1,"2"x\n', {}, "line 2 is no CSV: ',' expected after '\"'"),
    "Latin-1": ("a,b\n1,é\n".encode("latin-1"), {}, "line 2 is no UTF-8: it holds the byte 0xe9"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), {}, "is no CSV but UTF-16 text"),
    "gzip": (b"\x1f\x8b\x08abc", {}, "is no CSV but GZIP"),
    "old line ends": ("a,b\r1,2\r", {}, "line 1 is no CSV: new-line character seen in unquoted field"),
    "gaps in large integers": ("k,a\nk,16777217\nk,\n", {}, "column 'a' has empty cells, and integers up to 16777217"),
    "gaps in booleans": ("k,a\nk,true\nk,\n", {}, "column 'a' has empty cells among true and false"),
    "a float for a class": ("a\n0.5\n", {"label": "a"}, "column 'a' is Scalar.*; a class is a name or a whole number"),
    "a negative class": ("a\n-1\n", {"label": "a"}, "column 'a' holds the class -1; classes count from 0"),
    "an unknown class": (
        "a\nx\n",
        {"label": "a", "types": {"a": ClassLabel(("y",))}},
        "column 'a' holds 'x', which is none of the 1 classes",
    ),
}


@pytest.mark.parametrize(("text", "options", "reason"), BAD.values(), ids=BAD)
def test_a_file_that_cannot_be_read_is_refused(read, text, options, reason):
    with pytest.raises(SourceError, match=reason):
        read(text, **options).listing()


def test_files_of_different_columns_are_refused(make_files):
    root = make_files({"a.csv": "x,y\n1,2\n", "b.csv": "y,x\n1,2\n"})

    with pytest.raises(SourceError, match=r"b.csv: has the columns \['y', 'x'\], but .*a.csv has \['x', 'y'\]"):
        Csv(root / "*.csv").listing()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_a_pipe_is_refused_before_it_is_opened(tmp_path):
    os.mkfifo(tmp_path / "x.csv")

    with pytest.raises(SourceError, match=r"x.csv: is a pipe or device; rows are read from files"):
        Csv(tmp_path / "x.csv")


def test_a_type_that_no_cell_gives_is_refused_at_once(read):
    with pytest.raises(ValueError, match=r"a cell gives Text, .* not Image"):
        read("a\n1\n", types={"a": Image()})


def test_a_file_of_another_length_than_listed_is_refused(read, tmp_path):
    source = read("a\n1\n2\n")
    source.listing()
    (tmp_path / "x.csv").write_text("a\n1\n")

    with pytest.raises(SourceError, match="has 4 bytes, but had 6 when it was listed"):
        source.load(0)


def test_a_file_that_vanished_is_named(read, tmp_path):
    source = read("a\n1\n2\n")
    source.listing()
    (tmp_path / "x.csv").unlink()

    with pytest.raises(SourceError, match=r"x.csv: was there when it was listed and is gone"):
        source.load(0)


def test_a_part_reads_its_own_rows(read):
    source = read(PEOPLE)

    part = pickle.loads(pickle.dumps(source.part(np.array([2, 0]))))

    assert items(part) == [source.load(2), source.load(0)]


def test_the_listing_holds_no_data(read):
    source = read("a\n" + ("x" * 1000 + "\n") * 1000)

    assert len(pickle.dumps(source)) < 40 * 1000


@pytest.mark.parametrize(
    ("text", "classes"),
    [("k,c\n1,cat\n2,\n3,ant\n", ClassLabel(("ant", "cat"))), ("k,c\n1,1\n2, \n3,0\n", ClassLabel(num_classes=2))],
)
def test_a_row_without_a_class_fails_by_itself(read, text, classes):
    source = read(text, label="c")

    assert source.schema["c"] == classes
    assert [source.load(0)["c"], source.load(2)["c"]] == [1, 0]
    with pytest.raises(SourceError, match=r"x.csv: row 1 at byte .*: column 'c' is empty; a class is due"):
        source.load(1)


@pytest.mark.parametrize("delimiter", ["ab", "", '"', "\n"])
def test_a_delimiter_is_one_character(read, delimiter):
    with pytest.raises(ValueError, match="delimiter must be one character"):
        read("a,b\n1,2\n", delimiter=delimiter)
