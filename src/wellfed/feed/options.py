"""How a data set is run; never what comes out."""

from __future__ import annotations

from dataclasses import dataclass

from wellfed.feed.usable import usable_cores

UNIT_BYTES = 2 << 20  # Long enough to hide what handing it over costs, short enough to stay in a core's cache. [bytes]


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """How a data set is run; never what comes out.

    Attributes:
      threads: Threads that read, parse and transform; None: one for each core that this process may use.
      ram_budget: Units that are ready or being made hold about this much at most. [bytes]
    """

    threads: int | None = None
    ram_budget: int = 256 << 20

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be at least 1, got {self.threads}")
        if self.ram_budget < 1 << 20:
            raise ValueError(f"ram_budget must be at least 1048576 bytes, got {self.ram_budget}")

    def thread_count(self) -> int:
        """The number of threads that these options mean here."""
        return self.threads or usable_cores()

    def unit_bytes(self, window: int) -> int:
        """How large a unit may be where `window` of them are under way. [bytes]."""
        return min(UNIT_BYTES, self.ram_budget // window)
