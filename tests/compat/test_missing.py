"""What is not there says so by name, and says what wellfed has instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wellfed.compat as tf
from wellfed.compat.missing import INSTEAD

PAGE = (Path(__file__).parents[2] / "docs/compat.md").read_text()


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
        (tf.image, "ssim", r"tf\.image\.ssim: wellfed\.image"),
        (tf.io, "decode_proto", r"tf\.io\.decode_proto: wellfed\.io"),
        (tf.math, "segment_sum", r"tf\.math\.segment_sum: NumPy"),
        (tf.random, "poisson", r"tf\.random\.poisson: numpy\.random"),
        (tf.sparse, "reorder", r"tf\.sparse\.reorder: wellfed\.Ragged"),
        (tf.errors, "Frob", r"tf\.errors\.Frob; docs/compat\.md lists"),
        (tf.queue, "Frob", r"tf\.queue\.Frob; docs/compat\.md lists"),
        (tf, "ragged", r"tf\.ragged: wellfed\.Ragged"),
        (tf, "feature_column", r"tf\.feature_column: wellfed\.parse_example"),
        (tf.gfile, "Stat", r"tf\.gfile\.Stat: open, glob and pathlib"),
    ],
)
def test_a_name_that_is_not_here_points_to_what_is(space, name, hint):
    with pytest.raises(AttributeError, match=rf"wellfed\.compat has no {hint}"):
        getattr(space, name)


def test_the_page_lists_every_name_that_is_refused():
    refused = {name for name in INSTEAD if not name.endswith(".") and "*" not in name}
    table = PAGE.partition("## Names that are refused")[2].partition("| `tf.train.AdamOptimizer`")[0]
    rows = [row.split(" | ") for row in re.findall(r"^\| (`tf\..*) \|$", table, re.M)]
    listed = {name: instead for names, instead in rows for name in re.findall(r"`tf\.([\w.]+)`", names)}

    assert len(refused) > 30
    assert listed == {name: INSTEAD[name] for name in refused}


@pytest.mark.parametrize("name", [name for name in INSTEAD if not name.endswith(".") and "*" not in name])
def test_a_refused_name_says_what_to_use(name):
    space, _, last = name.rpartition(".")
    found = tf
    for part in filter(None, space.split(".")):
        if not hasattr(found, part):
            return  # Its space is refused as a whole.
        found = getattr(found, part)

    with pytest.raises(AttributeError, match=re.escape(INSTEAD[name])):
        getattr(found, last)


def test_a_verb_that_is_not_here_points_to_the_feed():
    with pytest.raises(AttributeError, match=r"has no tf\.data\.Dataset\.snapshot: `wellfed pack`"):
        tf.data.Dataset.range(3).snapshot  # noqa: B018 -- looking it up is the act.
    with pytest.raises(AttributeError, match=r"has no tf\.data\.Dataset\.frob: see wellfed\.feed"):
        tf.data.Dataset.frob  # noqa: B018 -- looking it up is the act.


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
