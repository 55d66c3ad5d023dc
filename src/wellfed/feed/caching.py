"""Elements kept where they come one after another: in memory, or in a file, once an epoch was made whole.

The file is a TFRecord file: a first record that says what it is a cache of, then one record an element. What stands
below a cache runs as epoch 0, whichever epoch asks: so what is kept never depends on when it was made. Where elements
have numbers, `wellfed.feed.keeping` keeps each by itself.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from typing import TYPE_CHECKING, Any, TypeAlias

from wellfed.feed import plan
from wellfed.feed.elements import decode_element, encode_element
from wellfed.feed.file_store import MAGIC, head_of
from wellfed.feed.memory_store import check_limit, own_leaf
from wellfed.feed.parsing import ParseRecords
from wellfed.feed.state import fingerprint
from wellfed.feed.transforms import DecodeSchema, ParseSchema, SelectColumns
from wellfed.feed.tree import Tree, map_tree, nbytes_of_element
from wellfed.image import Cast, CenterCrop, Decode, Normalize, OneHot, Resize
from wellfed.io import TFRecordReader, TFRecordWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellfed.feed.context import RunContext
    from wellfed.feed.cursors import Input

Key: TypeAlias = "tuple[str, str, int | None]"

_STREAM = "one after another"  # Tells what is kept here from rows by number.
# Transforms that never look at the seeds of rows.
_CERTAIN = (ParseRecords, ParseSchema, DecodeSchema, SelectColumns, Decode, Resize, CenterCrop, Normalize, Cast, OneHot)


def cached(node: plan.Cache, source: Input, context: RunContext, files: str, *, replacing: bool) -> Iterator[Tree]:
    """The source's elements, or what was kept of them.

    Args:
      node: Where they are kept.
      source: The elements. One that was opened at a cursor gives only the rest, which is not kept.
      context: The run.
      files: The fingerprint of what the rows below come from.
      replacing: Whether rows that cannot be made are replaced below.
    """
    errors = "left out" if context.ignoring else "replaced" if replacing else "raised"
    key = key_of(node, context, files, _STREAM, errors)
    kept = _from_file(node, key[1]) if node.filename else _from_memory(node, key)
    if kept is not None:
        return itertools.islice(kept, source.taken, None)
    source.resumes()
    if source.taken:
        return map(_as_from_file, source) if node.filename else iter(source)
    return _into_file(node, source, key[1]) if node.filename else _into_memory(node, source, key)


def _from_memory(node: plan.Cache, key: Key) -> Iterator[Tree] | None:
    elements = node.kept.get(key)
    return None if elements is None else (map_tree(own_leaf, element) for element in elements)


def _into_memory(node: plan.Cache, source: Iterator[Tree], key: Key) -> Iterator[Tree]:
    elements: list[Tree] = []
    held = 0
    for element in source:
        kept = map_tree(own_leaf, element)
        held += nbytes_of_element(kept)
        check_limit(held, node.limit_bytes)
        elements.append(kept)
        yield element
    node.kept[key] = elements


def _from_file(node: plan.Cache, due: str) -> Iterator[Tree] | None:
    head = head_of(node.filename)
    if head is None or head["source"] != due:
        return None
    return map(decode_element, itertools.islice(TFRecordReader(node.filename), 1, None))


def _into_file(node: plan.Cache, source: Iterator[Tree], due: str) -> Iterator[Tree]:
    held = 0
    with TFRecordWriter(node.filename, overwrite=True) as writer:  # Broken off, it leaves nothing.
        writer.write(MAGIC + json.dumps({"source": due}).encode())
        for element in source:
            content = encode_element(element, "cache")
            held += len(content)
            check_limit(held, node.limit_bytes)
            writer.write(content)
            yield decode_element(content)  # The first epoch gives just what later ones will.


def _as_from_file(element: Tree) -> Tree:
    return decode_element(encode_element(element, "cache"))


def key_of(node: plan.Cache, context: RunContext, files: str, *more: str) -> Key:
    """What tells apart all that one node kept: what is kept of files that have changed since is dropped.

    Args:
      node: The cache.
      context: The run.
      files: The fingerprint of what the rows below come from.
      more: What else the elements depend on.

    Returns:
      (files, 32 hex digits of what the elements depend on but for the seed, the seed where it matters).
    """
    for other in [key for key in list(node.kept) if key[0] != files]:
        node.kept.pop(other, None)
    parts = [fingerprint(node.source), files, *more]
    for below in plan.walk(node.source):
        if isinstance(below, plan.Shard):
            index = context.rank if below.index is None else below.index
            parts.append(f"{index}/{context.world_size if below.num_shards is None else below.num_shards}")
    due = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    draws = "replaced" in more or any(map(_draws, plan.walk(node.source)))
    return files, due, context.seed if draws else None


def _draws(node: plan.Node) -> bool:
    """Whether what a node gives depends on the seed of the run."""
    if isinstance(node, (plan.Shuffle, plan.BufferShuffle, plan.Sample, plan.SampleFromDatasets)):
        return node.seed is None
    if isinstance(node, plan.Interleave):
        return True  # What is opened may draw.
    if not isinstance(node, plan.Map):
        return False
    function: Any = node.function
    steps = getattr(function, "steps", (function,))  # Several transforms made one.
    return node.rng or (hasattr(function, "apply") and not all(isinstance(step, _CERTAIN) for step in steps))
