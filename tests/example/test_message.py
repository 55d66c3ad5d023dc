import copy
import pickle

import numpy as np
import pytest
import wire
from wire import BYTES, FLOAT, INT64, entry, example, feature, floats, ints, strings

from wellfed.errors import MalformedExampleError
from wellfed.example import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)


def of(**features):
    return Example(features=Features(feature=features))


INT = Feature(int64_list=Int64List(value=[1, 2]))
REAL = Feature(float_list=FloatList(value=[1.5]))
TEXT = Feature(bytes_list=BytesList(value=[b"a\0", "é"]))


def test_constructors_take_protobufs_keywords():
    assert of(i=INT, f=REAL, s=TEXT).SerializeToString() == example(
        entry("f", feature(FLOAT, floats(1.5))),
        entry("i", feature(INT64, ints(1, 2))),
        entry("s", feature(BYTES, strings(b"a\0", "é".encode()))),
    )


def test_asking_for_a_feature_makes_all_that_is_passed():
    message = Example()

    message.features.feature["x"].int64_list.value.append(3)

    assert message == of(x=Feature(int64_list=Int64List(value=[3])))
    assert message.HasField("features")


def test_what_was_only_looked_at_is_not_written():
    message = Example()

    assert list(message.features.feature) == []
    assert not message.HasField("features")
    assert message.SerializeToString() == b""


def test_looking_at_a_list_that_is_not_set_sets_nothing():
    message = Feature(int64_list=Int64List(value=[1]))

    assert list(message.float_list.value) == []
    assert message.WhichOneof("kind") == "int64_list"


def test_filling_another_list_replaces_the_one_that_is_set():
    message = Feature(int64_list=Int64List(value=[1]))

    message.bytes_list.value.extend([b"a"])

    assert message.WhichOneof("kind") == "bytes_list"
    assert not message.HasField("int64_list")
    assert list(message.int64_list.value) == []


def test_an_empty_list_can_be_set():
    message = Feature()

    message.float_list.SetInParent()

    assert message.WhichOneof("kind") == "float_list"
    assert message.SerializeToString() == b"\x12\x00"
    assert Feature(bytes_list=BytesList()).SerializeToString() == b"\x0a\x00"


def test_clearing_a_field_unsets_it():
    message = Feature(int64_list=Int64List(value=[1]))
    message.ClearField("float_list")
    assert message.WhichOneof("kind") == "int64_list"

    message.ClearField("int64_list")
    assert message.WhichOneof("kind") is None

    whole = of(x=INT)
    whole.ClearField("features")
    assert whole.SerializeToString() == b""


def test_messages_given_to_a_constructor_are_copied():
    values = Int64List(value=[1])
    inner = Feature(int64_list=values)
    values.value.append(2)
    whole = of(x=inner)
    inner.int64_list.value.append(3)

    assert list(whole.features.feature["x"].int64_list.value) == [1]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: BytesList(value="abc"), r"a list is due, got str; put it into \[ \]"),
        (lambda: BytesList(value=b"abc"), "a list is due, got bytes"),
        (lambda: BytesList(value=[1]), "bytes are due, got int"),
        (lambda: Int64List(value=[1.5]), "an int is due, got float"),
        (lambda: Int64List(value=["1"]), "an int is due, got str"),
        (lambda: FloatList(value=["1"]), "a number is due, got str"),
        (lambda: Int64List().value.append(1.5), "an int is due, got float"),
        (lambda: BytesList().value.extend("ab"), "a list is due, got str"),
        (lambda: Features().feature[1], r"a name \(str\) is due, got 1"),
    ],
)
def test_a_value_of_another_type_is_refused_when_it_is_given(make, text):
    with pytest.raises(TypeError, match=text):
        make()


def test_an_integer_beyond_int64_is_refused():
    with pytest.raises(ValueError, match="9223372036854775808 is beyond int64"):
        Int64List(value=[2**63])


def test_floats_are_rounded_when_they_are_given_as_protobuf_rounds_them():
    assert list(FloatList(value=[0.1, 1e300]).value) == [float(np.float32(0.1)), float("inf")]


def test_arrays_are_taken_as_values():
    assert list(Int64List(value=np.array([[1], [2]], np.int32)).value) == [1, 2]


def test_values_can_be_changed_in_place():
    values = Int64List(value=[1, 2, 3]).value

    values[0] = 7
    values[1:] = [8]
    values.insert(0, True)
    values += [9]

    assert values == [1, 7, 8, 9]


@pytest.mark.parametrize("name", ["feature", "nonsense"])
def test_only_single_fields_can_be_asked_for(name):
    with pytest.raises(ValueError, match=f"Features has no single field '{name}'"):
        Features().HasField(name)


def test_fields_of_messages_cannot_be_assigned():
    with pytest.raises(AttributeError, match=r"use features\.CopyFrom"):
        Example().features = Features()
    with pytest.raises(AttributeError, match=r"use int64_list\.CopyFrom"):
        Feature().int64_list = Int64List()


def test_copying_into_a_field_sets_it():
    message = Feature()

    message.int64_list.CopyFrom(Int64List(value=[4]))

    assert message == Feature(int64_list=Int64List(value=[4]))


SEQUENCE = SequenceExample(
    context=Features(feature={"n": INT}),
    feature_lists=FeatureLists(feature_list={"s": FeatureList(feature=[INT, Feature(), TEXT])}),
)
MESSAGES = {
    type(message).__name__: message
    for message in (
        INT.int64_list,
        REAL.float_list,
        TEXT.bytes_list,
        TEXT,
        of(i=INT, f=REAL).features,
        of(i=INT, f=REAL),
        SEQUENCE.feature_lists.feature_list["s"],
        SEQUENCE.feature_lists,
        SEQUENCE,
    )
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_every_message_is_read_as_it_was_written(message):
    again = type(message).FromString(message.SerializeToString())

    assert again == message
    assert again.ByteSize() == len(message.SerializeToString())
    assert pickle.loads(pickle.dumps(message)) == message
    assert copy.deepcopy(message) == message
    assert message != type(message)()


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_the_repr_of_every_message_makes_it_again(message):
    names = {"nan": float("nan"), **{name: globals()[name] for name in MESSAGES}}

    assert eval(repr(message), names) == message


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_bytes_that_are_no_such_message_are_refused(message):
    with pytest.raises(MalformedExampleError, match="cannot be read"):
        type(message).FromString(b"\x0a\x7f")


def test_merging_replaces_entries_of_maps_and_goes_on_with_lists():
    message = of(a=INT, b=INT)
    message.MergeFrom(of(b=TEXT, c=REAL))
    assert message == of(a=INT, b=TEXT, c=REAL)

    message = Feature(int64_list=Int64List(value=[1]))
    message.MergeFromString(feature(INT64, ints(2)))
    assert message == INT
    message.MergeFrom(REAL)
    assert message == REAL


def test_parsing_replaces_what_was_there():
    message = of(a=INT)

    assert message.ParseFromString(of(b=REAL).SerializeToString()) == of(b=REAL).ByteSize()
    assert message == of(b=REAL)


def test_steps_are_added_one_by_one():
    message = SequenceExample()

    step = message.feature_lists.feature_list["s"].feature.add()
    step.int64_list.value.append(1)

    assert [list(s.int64_list.value) for s in message.feature_lists.feature_list["s"].feature] == [[1]]


def test_unknown_fields_are_dropped_when_read():
    record = wire.int_example(x=1) + wire.field(15, b"zzz")

    assert Example.FromString(record).SerializeToString() == wire.int_example(x=1)


def test_text_is_protobufs_text_format():
    assert str(of(s=Feature(bytes_list=BytesList(value=[b'a"\n\xff'])))) == (
        'features {\n  feature {\n    key: "s"\n    value {\n      bytes_list {\n'
        '        value: "a\\"\\n\\377"\n      }\n    }\n  }\n}\n'
    )


def test_messages_cannot_be_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Example())
