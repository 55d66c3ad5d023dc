"""Queues, threads and Examples: TensorFlow 1's `tf.train`, and TensorFlow 2's `tf.train.Example` and its kin."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from wellfed.compat import queue_runner
from wellfed.compat.batchers import (
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
)
from wellfed.compat.deferred.graph import Graph, get_default_graph
from wellfed.compat.deferred.runners import QueueRunner, add_queue_runner, start_queue_runners
from wellfed.compat.inputs import (
    input_producer,
    limit_epochs,
    match_filenames_once,
    range_input_producer,
    slice_input_producer,
    string_input_producer,
)
from wellfed.compat.missing import refuse
from wellfed.compat.state import Variable
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
from wellfed.queues import Coordinator, LooperThread

GLOBAL_STEP = "global_step"


def get_global_step(graph: Graph | None = None) -> Variable | None:
    """Gives the graph's counter of steps, or None where it has none."""
    found = (graph or get_default_graph()).get_collection(GLOBAL_STEP)
    return found[0] if found else None


def create_global_step(graph: Graph | None = None) -> Variable:
    """Makes the graph's counter of steps, int64.

    Raises:
      ValueError: It has one.
    """
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with (graph or get_default_graph()).as_default() as home:
        step = Variable(np.int64(0), name=GLOBAL_STEP)
        home.add_to_collection(GLOBAL_STEP, step)
    return step


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """Gives the graph's counter of steps, and makes it where there is none."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step(sess: Any, global_step_tensor: Variable) -> int:
    """Gives the value of a counter of steps in a session."""
    return int(sess.run(global_step_tensor))


__getattr__ = functools.partial(refuse, "train")

__all__ = [
    "BytesList",
    "Coordinator",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "LooperThread",
    "QueueRunner",
    "SequenceExample",
    "add_queue_runner",
    "batch",
    "batch_join",
    "create_global_step",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "queue_runner",
    "range_input_producer",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
]
