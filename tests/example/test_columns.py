import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellfed.columns import Bytes, Ragged, concat_columns

STRINGS = st.lists(st.binary(max_size=6), max_size=8)
ROWS = st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=6)


@given(STRINGS)
def test_bytes_give_back_every_byte_that_went_in(strings):
    assert Bytes.from_list(strings).to_list() == strings


def test_trailing_nul_bytes_are_kept():
    assert Bytes.from_list([b"a\0\0", b"\0"]).to_object_array().tolist() == [b"a\0\0", b"\0"]


def test_numpy_makes_an_object_array_of_bytes_and_keeps_trailing_nul_bytes():
    array = np.asarray(Bytes.from_list([b"a\0", b"b"]))

    assert (array.dtype, array.tolist()) == (np.dtype(object), [b"a\0", b"b"])


@given(STRINGS, st.slices(8))
def test_a_slice_holds_the_strings_of_a_list_slice_over_the_same_buffer(strings, part):
    column = Bytes.from_list(strings)

    assert column[part].to_list() == strings[part]
    assert column[part].data is column.data


def test_an_index_array_and_a_mask_pick_strings():
    column = Bytes.from_list([b"a", b"b", b"c"])

    assert column[[2, 0]].to_list() == [b"c", b"a"]
    assert column[np.array([True, False, True])].to_list() == [b"a", b"c"]


def test_an_index_beyond_the_column_raises():
    with pytest.raises(IndexError, match="out of bounds"):
        Bytes.from_list([b"a"])[1]


def test_a_view_is_read_only_and_copies_nothing():
    column = Bytes(np.frombuffer(bytearray(b"pigcow"), np.uint8), [0, 3], [3, 3])

    view = column.view(1)

    assert bytes(view) == b"cow"
    assert view.readonly
    column.data[3] = ord("t")
    assert bytes(view) == b"tow"


def test_two_dimensions_give_rows_of_strings():
    column = Bytes.from_list([b"a", b"b", b"c", b"d"]).reshape(2, 2)

    assert column.shape == (2, 2)
    assert column[1].to_list() == [b"c", b"d"]
    assert column[1, 0] == b"c"
    assert column.to_list() == [[b"a", b"b"], [b"c", b"d"]]
    assert [row.to_list() for row in column] == column.to_list()


@given(STRINGS, STRINGS)
def test_concat_puts_columns_end_to_end(left, right):
    joined = Bytes.concat([Bytes.from_list(left), Bytes.from_list(right)])

    assert joined.to_list() == left + right


def test_concat_of_slices_of_one_buffer_copies_no_string():
    column = Bytes.from_list([b"a", b"b", b"c"])

    assert Bytes.concat([column[:1], column[2:]]).data is column.data


def test_a_pickle_of_a_slice_holds_only_its_own_strings():
    column = Bytes.from_list([b"x" * 100_000, b"small"])[1:]

    blob = pickle.dumps(column)

    assert len(blob) < 1000
    assert pickle.loads(blob) == column


def test_columns_compare_by_their_strings_not_by_their_buffers():
    assert Bytes.from_list([b"z", b"a", b"b"])[1:] == Bytes.from_list([b"a", b"b"])
    assert Bytes.from_list([b"a"]) != Bytes.from_list([b"b"])
    assert Bytes.from_list([b"a"]) != Bytes.from_list([b"a", b"a"])


def test_a_number_among_strings_is_refused_by_its_place():
    with pytest.raises(TypeError, match="item 1: bytes or str are due, got int"):
        Bytes.from_list([b"a", 3])


def test_starts_and_sizes_of_different_shape_are_refused():
    with pytest.raises(ValueError, match=r"got \(2,\) and \(1,\)"):
        Bytes(b"ab", [0, 1], [1])


def test_data_of_another_type_is_refused():
    with pytest.raises(ValueError, match="1-D uint8 array, got int64"):
        Bytes(np.zeros(3, np.int64), [0], [1])


def test_repr_shows_the_first_strings():
    assert repr(Bytes.from_list([b"a", b"b", b"c", b"d"])) == "Bytes([b'a', b'b', b'c', ...], shape=(4,))"


@given(ROWS)
def test_ragged_gives_back_the_rows_that_went_in(rows):
    assert Ragged.from_list(rows, np.int64).to_list() == rows


@given(ROWS, st.slices(6))
def test_a_ragged_slice_holds_the_rows_of_a_list_slice(rows, part):
    assert Ragged.from_list(rows, np.int64)[part].to_list() == rows[part]


@given(ROWS.filter(len), st.data())
def test_a_ragged_index_array_picks_rows(rows, data):
    picked = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1)))

    assert Ragged.from_list(rows, np.int64)[np.array(picked, np.int64)].to_list() == [rows[i] for i in picked]


def test_reading_a_row_copies_nothing():
    ragged = Ragged.from_list([[1, 2], [3]], np.int64)

    assert np.shares_memory(ragged[0], ragged.values)
    assert ragged[-1].tolist() == [3]


def test_rows_of_rows_are_sliced_padded_and_listed():
    inner = Ragged.from_list([[1], [2, 3], []], np.int64)
    nested = Ragged(inner, [0, 2, 2, 3])

    assert nested.to_list() == [[[1], [2, 3]], [], [[]]]
    assert nested[::-1].to_list() == [[[]], [], [[1], [2, 3]]]
    assert nested.to_padded(9).tolist() == [[[1, 9], [2, 3]], [[9, 9], [9, 9]], [[9, 9], [9, 9]]]
    assert nested.to_padded(0, (1, 3)).tolist() == [[[1, 0, 0]], [[0, 0, 0]], [[0, 0, 0]]]


def test_padding_fills_on_the_right_and_cuts_what_is_longer_than_asked():
    ragged = Ragged.from_list([[1, 2, 3], [], [4]], np.int64)

    assert ragged.to_padded(-1).tolist() == [[1, 2, 3], [-1, -1, -1], [4, -1, -1]]
    assert ragged.to_padded(0, 2).tolist() == [[1, 2], [0, 0], [4, 0]]
    assert ragged.to_padded(length=4).shape == (3, 4)


def test_padding_strings_gives_bytes_of_two_dimensions():
    ragged = Ragged.from_list([[b"a\0", b"b"], [b"c"]], bytes)

    assert ragged.to_padded().to_list() == [[b"a\0", b"b"], [b"c", b""]]
    assert ragged.to_padded(b"--").to_list() == [[b"a\0", b"b"], [b"c", b"--"]]


def test_rows_of_vectors_keep_their_inner_shape():
    ragged = Ragged(np.arange(6).reshape(3, 2), [0, 1, 3])

    assert ragged.to_padded(0).tolist() == [[[0, 1], [0, 0]], [[2, 3], [4, 5]]]


def test_to_object_array_holds_one_row_in_each_place():
    array = Ragged.from_list([[1], [2]], np.int64).to_object_array()

    assert array.shape == (2,)
    assert array[1].tolist() == [2]


def test_to_sparse_names_row_and_place_of_each_value():
    sparse = Ragged.from_list([[5, 6], [], [7]], np.int64).to_sparse()

    assert sparse.indices.tolist() == [[0, 0], [0, 1], [2, 0]]
    assert (sparse.values.tolist(), sparse.dense_shape) == ([5, 6, 7], (3, 2))


def test_to_sparse_of_rows_in_rows_has_an_index_for_each_level():
    rows = [[[5], []], [], [[6, 7]]]
    inner = Ragged.from_list([step for row in rows for step in row], np.int64)

    sparse = Ragged(inner, np.array([0, 2, 2, 3])).to_sparse()

    assert sparse.indices.tolist() == [[0, 0, 0], [2, 0, 0], [2, 0, 1]]
    assert (sparse.values.tolist(), sparse.dense_shape) == ([5, 6, 7], (3, 2, 2))


@given(ROWS, ROWS)
def test_concat_of_ragged_columns_puts_rows_one_after_another(left, right):
    columns = [Ragged.from_list(left, np.int64), Ragged.from_list(right, np.int64)]

    assert concat_columns(columns).to_list() == left + right


def test_concat_columns_refuses_a_mix_of_types():
    with pytest.raises(ValueError, match="columns of one type are due"):
        concat_columns([np.zeros(1), Bytes.from_list([b""])])


def test_ragged_columns_compare_by_rows():
    ragged = Ragged.from_list([[1], [2, 3]], np.int64)

    assert ragged == Ragged(np.array([1, 2, 3]), [0, 1, 3])
    assert ragged != Ragged(np.array([1, 2, 4]), [0, 1, 3])
    assert ragged != Ragged(np.array([1, 2, 3]), [0, 2, 3])


def test_a_ragged_column_survives_a_pickle():
    ragged = Ragged.from_list([[b"a"], [b"b", b"c"]], bytes)

    assert pickle.loads(pickle.dumps(ragged)) == ragged


@pytest.mark.parametrize(
    "splits", [[1, 3], [0, 2], [], [[0, 3]], [0, 2, 1, 3]], ids=["begin", "end", "none", "2-D", "falls"]
)
def test_row_splits_that_do_not_fit_are_refused(splits):
    with pytest.raises(ValueError, match="row_splits must"):
        Ragged(np.arange(3), splits)
