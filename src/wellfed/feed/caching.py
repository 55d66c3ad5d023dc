"""Elements kept: in memory, or in a file that appears whole once an epoch was made whole.

The file is a TFRecord file: a first record that says what it is a cache of, then one record an element. What stands
below a cache runs as epoch 0, whichever epoch asks: so what is kept never depends on when it was made.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.elements import decode_element, encode_element
from wellfed.feed.ragged import owned
from wellfed.feed.state import fingerprint
from wellfed.feed.tree import Tree, map_tree, nbytes_of_element
from wellfed.io import TFRecordReader, TFRecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wellfed.feed.context import RunContext
    from wellfed.feed.cursors import Input

_MAGIC = b"wellfed cache 1\n"


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
    return _into_file(node, source, _belongs_to(node, context, files)) if node.filename else _into_memory(node, source)


def _from_memory(node: plan.Cache) -> Iterator[Tree] | None:
    return (map_tree(owned, element) for element in node.kept[0]) if node.kept else None


def _into_memory(node: plan.Cache, source: Iterator[Tree]) -> Iterator[Tree]:
    elements: list[Tree] = []
    held = 0
    for element in source:
        kept = map_tree(owned, element)
        held += nbytes_of_element(kept)
        _check(node, held)
        elements.append(kept)
        yield element
    node.kept.append(elements)


def _check(node: plan.Cache, held: int) -> None:
    if held > node.limit_bytes:
        raise PlanError("cache", f"the elements take more than {node.limit_bytes} bytes; give limit_bytes")


def _from_file(node: plan.Cache, context: RunContext, files: Callable[[plan.Node], str]) -> Iterator[Tree] | None:
    if not Path(node.filename).exists():
        return None
    records = iter(TFRecordReader(node.filename))
    due = _belongs_to(node, context, files)
    return map(decode_element, records) if _source_of(next(records, b""), node.filename) == due else None


def _into_file(node: plan.Cache, source: Iterator[Tree], due: str) -> Iterator[Tree]:
    held = 0
    with TFRecordWriter(node.filename, overwrite=True) as writer:  # Broken off, it leaves nothing.
        writer.write(_MAGIC + json.dumps({"source": due}).encode())
        for element in source:
            content = encode_element(element, "cache")
            held += len(content)
            _check(node, held)
            writer.write(content)
            yield decode_element(content)  # The first epoch gives just what later ones will.


def _as_from_file(element: Tree) -> Tree:
    return decode_element(encode_element(element, "cache"))


def _source_of(head: bytes, filename: str) -> str:
    if not head.startswith(_MAGIC):
        raise PlanError("cache", f"{filename} is there, and is no cache of wellfed's: give another name or remove it")
    return str(json.loads(head[len(_MAGIC) :])["source"])


def _belongs_to(node: plan.Cache, context: RunContext, files: Callable[[plan.Node], str]) -> str:
    """What the elements depend on: the verbs below, the files, and the rank where a verb asks for it."""
    parts = [fingerprint(node.source), files(node.source)]
    if any(isinstance(below, plan.Shard) and below.num_shards is None for below in plan.walk(node.source)):
        parts.append(f"{context.rank}/{context.world_size}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
