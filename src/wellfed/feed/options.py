"""How a data set is run."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from wellfed.errors import PlanError
from wellfed.feed import plan
from wellfed.feed.checks import check_whole, check_wish
from wellfed.io.usable import usable_cores

UNIT_BYTES = 8 << 20
_VERB = "with_options"


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """How a data set is run. Nothing here changes what comes out, but for `on_error` where a row cannot be made.

    Its order is kept but for `deterministic=False`.

    Attributes:
      threads: Threads that read, parse and transform; None: one for each core that this process may use.
      ram_budget: Units that are ready or being made hold about this much at most. [bytes]
      on_error: What becomes of a row that cannot be made. "raise"; "replace": another one comes in its place; "skip":
        later rows move up.
      deterministic: Whether elements come in their order. True: always. False: where no `map` asks for it. None: where
        no `map` gave it up.
      max_errors: How many rows may be replaced or left out in one iteration; None: any number.
      stall_seconds: Log who waits for whom once the consumer has waited for so long; 0: never. [s]
    """

    threads: int | None = None
    ram_budget: int = 256 << 20
    on_error: str = "raise"
    max_errors: int | None = None
    stall_seconds: float = 60.0
    deterministic: bool | None = None

    def __post_init__(self) -> None:
        check_whole(self, _VERB, "threads", 1, optional=True)
        check_whole(self, _VERB, "ram_budget", 1 << 20, "bytes")
        check_whole(self, _VERB, "max_errors", 0, "rows", optional=True)
        if self.on_error not in ("raise", "replace", "skip"):
            raise PlanError(_VERB, f'on_error must be "raise", "replace" or "skip", got {self.on_error!r}')
        check_wish(_VERB, "deterministic", self.deterministic)
        if not isinstance(self.stall_seconds, (Real, np.number)) or not self.stall_seconds >= 0:
            raise PlanError(_VERB, f"stall_seconds must be a number of at least 0, got {self.stall_seconds!r}")

    def keeps_order(self, node: plan.Node) -> bool:
        """Whether the elements of a plan come in their order; always where it is not addressable."""
        if self.deterministic or not plan.is_addressable(node):
            return True
        asked = {step.deterministic for step in plan.walk(node) if isinstance(step, plan.Map)}
        if False in asked:
            return False
        return True in asked or self.deterministic is None

    def thread_count(self) -> int:
        """The number of threads that these options mean here."""
        return self.threads or usable_cores()

    def unit_bytes(self, window: int) -> int:
        """How large a unit may be where `window` of them are under way. [bytes]."""
        return min(UNIT_BYTES, self.ram_budget // window)
