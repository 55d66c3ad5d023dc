"""What is not there says so by name, and says what wellfed has instead."""

from __future__ import annotations

import pytest

import wellfed.compat as tf


@pytest.mark.parametrize(
    ("space", "name", "hint"),
    [
        (tf, "distribute", r"tf\.distribute: .*shard"),
        (tf, "keras", r"tf\.keras: wellfed feeds models and has none"),
        (tf, "get_variable", r"tf\.get_variable: tf\.Variable"),
        (tf, "frobnicate", r"tf\.frobnicate; docs/compat\.md lists the names"),
        (tf.train, "AdamOptimizer", r"tf\.train\.AdamOptimizer: wellfed feeds models"),
        (tf.train, "Saver", r"tf\.train\.Saver: .*state_dict"),
        (tf.data, "Frob", r"tf\.data\.Frob: see wellfed\.feed"),
        (tf.strings, "unicode_decode", r"tf\.strings\.unicode_decode: tf\.py_func"),
        (tf.gfile, "Stat", r"tf\.gfile\.Stat: open, glob and pathlib"),
    ],
)
def test_a_name_that_is_not_here_points_to_what_is(space, name, hint):
    with pytest.raises(AttributeError, match=rf"wellfed\.compat has no {hint}"):
        getattr(space, name)


def test_a_verb_that_is_not_here_points_to_the_feed():
    with pytest.raises(AttributeError, match=r"has no tf\.data\.Dataset\.snapshot: see wellfed\.feed"):
        tf.data.Dataset.range(3).snapshot  # noqa: B018 -- looking it up is the act.
    with pytest.raises(AttributeError, match=r"has no tf\.data\.Dataset\.from_tensor: see wellfed\.feed"):
        tf.data.Dataset.from_tensor  # noqa: B018 -- looking it up is the act.


@pytest.mark.parametrize(
    "use",
    [
        lambda: tf.io.serialize_tensor([1]),
        lambda: tf.image.resize([[[1.0]]], [2, 2], "lanczos3"),
        lambda: tf.io.decode_jpeg(b"", ratio=2),
        lambda: tf.data.TextLineDataset("x", "GZIP"),
    ],
)
def test_an_option_that_is_not_here_says_so(use):
    with pytest.raises(NotImplementedError, match=r"here|wellfed"):
        use()


def test_both_ages_have_their_names_in_one_module():
    assert tf.compat.v1 is tf
    assert tf.compat.v1.placeholder is tf.placeholder
    tf.disable_v2_behavior()
    assert tf.executing_eagerly()
