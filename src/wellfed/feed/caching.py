"""Elements kept where they come one after another: in memory, or in a file, once an epoch was made whole.

The file is a TFRecord file: a first record that says what it is a cache of, then one record an element. What stands
below a cache runs as epoch 0, whichever epoch asks: so what is kept never depends on when it was made. Where elements
have numbers, `wellfed.feed.keeping` keeps each by itself.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from typing import TYPE_CHECKING

from wellfed.feed import plan
from wellfed.feed.elements import decode_element, encode_element
from wellfed.feed.file_store import MAGIC, head_of
from wellfed.feed.memory_store import check_limit
from wellfed.feed.ragged import owned
from wellfed.feed.state import fingerprint
from wellfed.feed.tree import Tree, map_tree, nbytes_of_element
from wellfed.io import TFRecordReader, TFRecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wellfed.feed.context import RunContext
    from wellfed.feed.cursors import Input

_STREAM = "one after another"  # Names what was kept here among all that a node kept.


def cached(node: plan.Cache, source: Input, context: RunContext, files: Callable[[plan.Node], str]) -> Iterator[Tree]:
    """The source's elements, or what was kept of them.

    Args:
      node: Where they are kept.
      source: The elements. One that was opened at a cursor gives only the rest, which is not kept.
      context: The run.
      files: Fingerprints what the rows below a node come from.
    """
    kept = _from_file(node, context, files) if node.filename else _from_memory(node)
    if kept is not None:
        return itertools.islice(kept, source.taken, None)
    source.resumes()
    if source.taken:
        return map(_as_from_file, source) if node.filename else iter(source)
    return (
        _into_file(node, source, belongs_to(node, context, files(node.source)))
        if node.filename
        else _into_memory(node, source)
    )


def _from_memory(node: plan.Cache) -> Iterator[Tree] | None:
    elements = node.kept.get(_STREAM)
    return None if elements is None else (map_tree(owned, element) for element in elements)


def _into_memory(node: plan.Cache, source: Iterator[Tree]) -> Iterator[Tree]:
    elements: list[Tree] = []
    held = 0
    for element in source:
        kept = map_tree(owned, element)
        held += nbytes_of_element(kept)
        check_limit(held, node.limit_bytes)
        elements.append(kept)
        yield element
    node.kept[_STREAM] = elements


def _from_file(node: plan.Cache, context: RunContext, files: Callable[[plan.Node], str]) -> Iterator[Tree] | None:
    head = head_of(node.filename)
    if head is None or head["source"] != belongs_to(node, context, files(node.source)):
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


def belongs_to(node: plan.Cache, context: RunContext, files: str, *more: str) -> str:
    """What the elements depend on, as 32 hex digits: the verbs below, the files, the share of a shard, and `more`."""
    parts = [fingerprint(node.source), files, *more]
    for below in plan.walk(node.source):
        if isinstance(below, plan.Shard):
            index = context.rank if below.index is None else below.index
            parts.append(f"{index}/{context.world_size if below.num_shards is None else below.num_shards}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
