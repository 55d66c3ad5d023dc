"""The node of `cache`: addressable where its source is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wellfed.feed.checks import check_whole

if TYPE_CHECKING:
    from wellfed.feed.plan import Node


@dataclass(frozen=True, slots=True, eq=False)
class Cache:
    """The source's elements, each made once and kept; what is below runs as epoch 0 always.

    Attributes:
      limit_bytes: What is kept may take so much. [bytes]
      filename: Where they are kept; "" for memory.
      kept: What was kept so far in this process, by what it depends on; shared by all that is made of this node.
    """

    source: Node
    limit_bytes: int = field(repr=False)  # No matter of what comes out, and so is the next.
    filename: str = field(default="", repr=False)
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_whole(self, "cache", "limit_bytes", 0, "bytes")

    def __reduce__(self) -> tuple[Any, ...]:
        return (Cache, (self.source, self.limit_bytes, self.filename))
