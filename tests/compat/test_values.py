"""Records, Examples, pictures, strings, files and flags in TensorFlow's names, on values."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import wellfed as wf
import wellfed.compat as tf
from wellfed.errors import EncodeError, FeatureMissingError

EXAMPLE = tf.train.Example(
    features=tf.train.Features(
        feature={
            "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 4])),
            "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a"])),
            "sizes": tf.train.Feature(float_list=tf.train.FloatList(value=[1.5, 2.5, 3.5])),
            "at": tf.train.Feature(int64_list=tf.train.Int64List(value=[5, 2])),
        }
    )
).SerializeToString()


# --- Examples ------------------------------------------------------------------------------------


def test_features_of_one_example_are_eager():
    parsed = tf.io.parse_single_example(
        EXAMPLE, {"n": tf.io.FixedLenFeature([2], tf.int64), "name": tf.io.FixedLenFeature([], tf.string)}
    )

    assert parsed["n"].numpy().tolist() == [3, 4]
    assert parsed["name"].numpy() == b"a"


def test_a_feature_of_any_length_is_a_sparse_tensor():
    sizes = tf.io.parse_single_example(EXAMPLE, {"sizes": tf.io.VarLenFeature(tf.float32)})["sizes"]

    assert sizes.values.numpy().tolist() == [1.5, 2.5, 3.5]
    assert (sizes.indices.numpy().tolist(), sizes.dense_shape.numpy().tolist()) == ([[0], [1], [2]], [3])
    assert tf.sparse.to_dense(sizes).numpy().tolist() == [1.5, 2.5, 3.5]


def test_a_sparse_feature_has_its_own_indices():
    spec = {"w": tf.io.SparseFeature("at", "n", tf.int64, 10)}

    assert tf.sparse.to_dense(tf.io.parse_single_example(EXAMPLE, spec)["w"]).numpy().tolist() == [
        0,
        0,
        4,
        0,
        0,
        3,
        0,
        0,
        0,
        0,
    ]


def test_many_examples_are_parsed_by_columns():
    parsed = tf.io.parse_example(
        [EXAMPLE] * 2, {"n": tf.io.FixedLenFeature([2], tf.int64), "r": tf.io.VarLenFeature(tf.int64)}
    )

    assert parsed["n"].numpy().tolist() == [[3, 4], [3, 4]]
    assert parsed["r"].dense_shape.numpy().tolist() == [2, 0]


def test_a_missing_feature_names_itself():
    with pytest.raises(FeatureMissingError, match='feature "gone"'):
        tf.io.parse_single_example(EXAMPLE, {"gone": tf.io.FixedLenFeature([], tf.int64)})


def test_inside_a_run_it_is_an_invalid_argument():
    with tf.Graph().as_default(), tf.Session() as session:
        parsed = tf.parse_single_example(EXAMPLE, {"gone": tf.FixedLenFeature([], tf.int64)})
        assert parsed["gone"].shape.as_list() == []
        with pytest.raises(tf.errors.InvalidArgumentError, match='feature "gone"') as caught:
            session.run(parsed)

    assert isinstance(caught.value.__cause__, FeatureMissingError)


def test_deferred_features_know_their_dtypes_and_shapes():
    spec = {
        "n": tf.FixedLenFeature([2], tf.int64),
        "s": tf.FixedLenSequenceFeature([3], tf.float32, allow_missing=True),
        "v": tf.VarLenFeature(tf.string),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        parsed = tf.parse_single_example(EXAMPLE, spec)
        many = tf.parse_example([EXAMPLE, EXAMPLE], spec)
        known = [parsed["n"].shape.as_list(), parsed["s"].shape.as_list(), parsed["v"].values.shape.as_list()]
        got = session.run(many)

    assert known == [[2], [None, 3], [None]]
    assert many["s"].shape.as_list() == [None, None, 3]
    assert got["n"].tolist() == [[3, 4], [3, 4]]
    assert isinstance(got["v"], tf.SparseTensorValue)


def test_a_sequence_example_in_a_session():
    clip = tf.train.SequenceExample(
        context=tf.train.Features(feature={"id": tf.train.Feature(int64_list=tf.train.Int64List(value=[9]))}),
        feature_lists=tf.train.FeatureLists(
            feature_list={
                "f": tf.train.FeatureList(
                    feature=[tf.train.Feature(int64_list=tf.train.Int64List(value=[n])) for n in (1, 2)]
                )
            }
        ),
    ).SerializeToString()
    features = {"id": tf.FixedLenFeature([], tf.int64)}, {"f": tf.FixedLenSequenceFeature([], tf.int64)}
    with tf.Graph().as_default(), tf.Session() as session:
        context, lists = session.run(tf.parse_single_sequence_example(clip, *features))

    assert (context["id"], lists["f"].tolist()) == (9, [1, 2])
    many = tf.io.parse_sequence_example([clip, clip], *features)
    assert (many[0]["id"].numpy().tolist(), many[1]["f"].numpy().tolist()) == ([9, 9], [[1, 2], [1, 2]])


# --- Records -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [None, "GZIP", tf.io.TFRecordOptions("ZLIB"), tf.io.TFRecordOptions(2)])
def test_what_is_written_is_read(tmp_path, options):
    with tf.io.TFRecordWriter(str(tmp_path / "a"), options) as writer:
        writer.write(b"one")
        writer.write(b"two")

    assert list(tf.python_io.tf_record_iterator(str(tmp_path / "a"), options)) == [b"one", b"two"]


def test_a_writer_replaces_a_file(tmp_path):
    for content in (b"old", b"new"):
        with tf.io.TFRecordWriter(str(tmp_path / "a")) as writer:
            writer.write(content)

    assert list(tf.python_io.tf_record_iterator(str(tmp_path / "a"))) == [b"new"]


def test_a_writer_that_is_never_closed_leaves_its_file(tmp_path):
    program = (
        "import sys, wellfed.compat as tf\n"
        "writer = tf.python_io.TFRecordWriter(sys.argv[1])\n"
        "writer.write(b'kept')\n"
        "writer.flush()\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a")], check=True, timeout=60)

    assert list(tf.python_io.tf_record_iterator(str(tmp_path / "a"))) == [b"kept"]


def test_an_unknown_compression_is_refused():
    with pytest.raises(ValueError, match="Not a valid compression_type: 'LZ4'"):
        tf.io.TFRecordOptions("LZ4")


def test_options_give_the_name_of_their_compression():
    assert tf.io.TFRecordOptions.get_compression_type_string(tf.io.TFRecordOptions("GZIP")) == "GZIP"


# --- Values in strings ---------------------------------------------------------------------------


def test_raw_bytes_become_numbers():
    assert tf.io.decode_raw(b"\1\0\2\0", tf.int16).numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="strings of one length"):
        tf.io.decode_raw([b"\1\0", b"\1\0\2\0"], tf.int16)


def test_lines_of_csv_become_columns():
    names, numbers = tf.io.decode_csv(["a,1", '"b, c",'], [[""], [7]])

    assert names.numpy().tolist() == [b"a", b"b, c"]
    assert numbers.numpy().tolist() == [1, 7]


def test_columns_of_csv_can_be_chosen():
    (last,) = tf.io.decode_csv("a;1;2.5", [tf.constant([], tf.float32)], field_delim=";", select_cols=[2])

    assert last.numpy() == 2.5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a", "Expect 2 fields but have 1 in record 0"),
        ("a,", "Field 1 is required but missing in record 0"),
        ("a,x", "Field 1 in record 0 is not a valid int32: x"),
    ],
)
def test_a_line_that_does_not_fit_says_where(line, message):
    with pytest.raises(ValueError, match=message):
        tf.io.decode_csv(line, [[""], tf.constant([], tf.int32)])


def test_strings_are_split():
    assert tf.strings.split("a b").numpy().tolist() == [b"a", b"b"]
    assert tf.strings.split(["a b", "c"]).to_list() == [[b"a", b"b"], [b"c"]]
    parts = tf.string_split(["a,b", "", "c"], ",")
    assert parts.values.numpy().tolist() == [b"a", b"b", b"c"]
    assert parts.indices.numpy().tolist() == [[0, 0], [0, 1], [2, 0]]
    assert parts.dense_shape.numpy().tolist() == [3, 2]


def test_strings_are_split_in_a_session():
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string, [])
        got = session.run([tf.strings.split(text, "/"), tf.string_split([text], "/").values], {text: "a/b"})

    assert [part.tolist() for part in got] == [[b"a", b"b"], [b"a", b"b"]]


def test_values_that_are_no_strings_are_refused():
    with pytest.raises(ValueError, match=r"could not convert|invalid literal"):
        tf.strings.to_number("x")


# --- Pictures ------------------------------------------------------------------------------------

PIXELS = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def test_a_lossless_picture_comes_back():
    png = tf.io.encode_png(PIXELS)

    assert tf.io.decode_png(png).numpy().tolist() == PIXELS.tolist()
    assert tf.io.decode_image(png, channels=1).shape == (4, 6, 1)
    assert tf.io.decode_image(png, dtype=tf.float32).numpy().max() == pytest.approx(71 / 255)
    assert tf.io.decode_png(png, dtype=tf.uint16).numpy()[0, 1, 0] == 3 * 257


def test_a_jpeg_says_what_it_is():
    jpeg = tf.io.encode_jpeg(np.tile(PIXELS, (4, 4, 1)))

    assert tf.io.is_jpeg(jpeg).numpy()
    assert not tf.io.is_jpeg(tf.io.encode_png(PIXELS)).numpy()
    assert tf.io.extract_jpeg_shape(jpeg).numpy().tolist() == [16, 24, 3]
    assert tf.image.decode_jpeg(jpeg, dct_method="INTEGER_ACCURATE").shape == (16, 24, 3)


def test_bytes_that_are_no_picture_end_a_run():
    with tf.Graph().as_default(), tf.Session() as session:
        picture = tf.image.decode_jpeg(tf.placeholder_with_default(b"text", []), channels=3)
        assert picture.shape.as_list() == [None, None, 3]
        with pytest.raises(tf.errors.InvalidArgumentError, match="decode_jpeg"):
            session.run(picture)


def test_random_changes_of_pictures_differ_from_run_to_run():
    with tf.Graph().as_default(), tf.Session() as session:
        picture = tf.placeholder(tf.uint8, [4, 6, 3])
        changed = [
            tf.image.random_flip_left_right(picture, seed=1),
            tf.image.random_flip_up_down(picture, seed=2),
            tf.image.random_brightness(picture, 0.5, seed=3),
            tf.image.random_contrast(picture, 0.2, 1.8, seed=4),
            tf.image.random_crop(picture, [2, 2, 3], seed=5),
        ]
        runs = [[value.tolist() for value in session.run(changed, {picture: PIXELS})] for _ in range(8)]

    assert all(len({str(run[i]) for run in runs}) > 1 for i in range(5))


def test_random_changes_of_values_are_made_at_once():
    assert tf.image.random_flip_left_right(PIXELS).shape == (4, 6, 3)
    assert tf.random.uniform([2], seed=1).numpy().tolist() == tf.random.uniform([2], seed=1).numpy().tolist()
    assert tf.random.normal([3]).shape == (3,)
    assert sorted(tf.random.shuffle([1, 2, 3]).numpy().tolist()) == [1, 2, 3]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.image.crop_to_bounding_box(PIXELS, 0, 0, 5, 5), "a box of 5x5 at .* is not inside 4x6"),
        (lambda: tf.image.pad_to_bounding_box(PIXELS, 0, 0, 3, 9), "4x6 at .* does not fit inside 3x9"),
        (lambda: tf.image.central_crop(PIXELS, 0), "central_fraction must be within"),
        (lambda: tf.image.random_contrast(PIXELS, 2, 1), "lower must be non-negative and below upper"),
        (lambda: tf.image.random_crop(PIXELS, [5, 1, 1]), "Need value.shape >= size"),
    ],
)
def test_pictures_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- Files ---------------------------------------------------------------------------------------


def test_files_are_written_read_and_matched(tmp_path):
    tf.io.write_file(str(tmp_path / "new/a.txt"), "content")

    assert tf.io.read_file(str(tmp_path / "new/a.txt")).numpy() == b"content"
    assert tf.io.matching_files(str(tmp_path / "new/*")).numpy().tolist() == [str(tmp_path / "new/a.txt").encode()]


def test_gfile_is_pythons_files(tmp_path):
    place = str(tmp_path / "a" / "b")
    tf.gfile.MakeDirs(place)
    with tf.gfile.GFile(f"{place}/x", "w") as out:
        out.write("text")
    tf.gfile.Copy(f"{place}/x", f"{place}/y")
    tf.gfile.Rename(f"{place}/y", f"{place}/z")

    assert tf.gfile.ListDirectory(place) == ["x", "z"]
    assert tf.gfile.Glob([f"{place}/*"]) == [f"{place}/x", f"{place}/z"]
    assert (tf.gfile.Exists(place), tf.gfile.IsDirectory(place), tf.io.gfile.exists(f"{place}/y")) == (
        True,
        True,
        False,
    )
    assert [names for _, _, names in tf.gfile.Walk(place)] == [["x", "z"]]
    for call in (tf.gfile.Copy, tf.gfile.Rename):
        with pytest.raises(FileExistsError, match="exists already"):
            call(f"{place}/x", f"{place}/z")
    tf.gfile.Remove(f"{place}/x")
    tf.gfile.MkDir(f"{place}/c")
    tf.gfile.DeleteRecursively(str(tmp_path / "a"))
    assert not tf.gfile.Exists(place)


# --- Programs ------------------------------------------------------------------------------------

PROGRAM = """
import wellfed.compat as tf
flags = tf.app.flags
flags.DEFINE_integer("size", 3, "A size.")
flags.DEFINE_string("name", "none", "A name.")
flags.DEFINE_float("rate", 0.5, "A rate.")
flags.DEFINE_boolean("fast", True, "Whether fast.")
flags.DEFINE_enum("mode", "a", ["a", "b"], "A mode.")
flags.DEFINE_list("parts", "x,y", "Parts.")
FLAGS = flags.FLAGS
def main(argv):
    print(FLAGS.size, FLAGS.name, FLAGS.rate, FLAGS.fast, FLAGS.mode, FLAGS.parts, argv[1:])
    return 3
if __name__ == "__main__":
    tf.app.run()
"""


def run_program(*arguments):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_flags_are_read_from_the_command_line():
    done = run_program("--size=7", "--name", "x", "--rate=0.25", "--nofast", "--mode=b", "--parts=1,2", "more")

    assert (done.stdout.strip(), done.returncode) == ("7 x 0.25 False b ['1', '2'] ['more']", 3)


def test_flags_have_their_defaults():
    assert run_program().stdout.strip() == "3 none 0.5 True a ['x', 'y'] []"


def test_a_flag_that_does_not_fit_is_refused():
    done = run_program("--size=many")

    assert done.returncode == 2
    assert "invalid int value: 'many'" in done.stderr


def test_an_undefined_flag_says_so():
    with pytest.raises(AttributeError, match="no flag --nothing is defined"):
        tf.flags.FlagValues()(["program"]) and tf.flags.FLAGS.nothing


def test_settings_of_a_session_are_taken_and_ignored():
    config = tf.ConfigProto(allow_soft_placement=True)
    config.gpu_options.allow_growth = True

    with tf.Graph().as_default(), tf.device("/gpu:0"), tf.Session(config=config) as session:
        assert session.run(tf.placeholder_with_default(1, [])) == 1


def test_texts_of_both_ages():
    assert (tf.compat.as_bytes("é"), tf.compat.as_text(b"a"), tf.compat.as_str_any(3)) == ("é".encode(), "a", "3")


def test_an_example_of_the_wrong_kind_is_refused_by_the_example_room():
    with pytest.raises((TypeError, EncodeError), match="int"):
        tf.train.Int64List(value=["a"])


def test_messages_go_to_pythons_logging(caplog):
    tf.logging.set_verbosity(tf.logging.INFO)

    tf.logging.info("step %d", 3)

    assert (caplog.messages, tf.logging.get_verbosity()) == (["step 3"], tf.logging.INFO)


def test_python_functions_of_values_give_values():
    assert tf.py_function(lambda value: value.numpy() * 2, [3], tf.int32).numpy() == 6
    assert [v.numpy() for v in tf.numpy_function(lambda a: (a + 1, a / 2), [np.float32(3)], [tf.float32] * 2)] == [
        4,
        1.5,
    ]


def test_messages_take_eager_values():
    values = tf.constant([1, 2])
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[values[0], values[1]]))

    assert feature.int64_list.value == [1, 2]
    assert tf.train.BytesList(value=[tf.constant(b"a")]).value == [b"a"]
    assert tf.train.FloatList(value=[tf.constant(0.5)]).value == [0.5]


def test_the_parts_of_ragged_results_are_eager():
    records = [wf.encode_example({"x": row}) for row in ([1, 2], [3])]

    ragged = tf.io.parse_example(records, {"x": tf.io.RaggedFeature(tf.int64)})["x"]

    assert (ragged.values.numpy().tolist(), ragged.row_splits.numpy().tolist()) == ([1, 2, 3], [0, 2, 3])
    assert ragged.to_list() == [[1, 2], [3]]
