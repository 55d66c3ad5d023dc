"""Records that hold a feature more than once: the last one counts, and what stood before it is lost, so they are told.

The native parser counts them where it reads what no usual writer makes; a look at its count after each unit costs
nothing. The first time that there are any, the unit at hand is parsed again by halves to name one.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from wellfed.example import FeatureParser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wellfed.example import FeatureSpec

_logger = logging.getLogger("wellfed.feed")


class Repeats:
    """A parser of one reader's alone, and what it found more than once. Many threads look.

    Args:
      features: What is parsed.

    Attributes:
      parser: The parser.
      where: The file and record of one of them; "" where there is none.
    """

    def __init__(self, features: Mapping[str, FeatureSpec]) -> None:
        self.parser = FeatureParser(features)
        self.where = ""
        self._lock = threading.Lock()

    def count(self) -> int:
        """Records parsed so far, also ahead and again, that hold a feature of the specification more than once."""
        return self.parser.native.repeated

    def look(self, rows: int, parse: Callable[[FeatureParser, int, int], object], locate: Callable[[int], str]) -> None:
        """Names the first of a unit's rows that holds a feature more than once; only once for all units.

        Args:
          rows: How many the unit has.
          parse: Parses some of them, from a row to another, with a given parser.
          locate: The file and record of a row of the unit.
        """
        if self.where or not self.count():
            return
        with self._lock:
            if self.where or not self._any(parse, 0, rows):  # Another thread's unit has it.
                return
            start, stop = 0, rows
            while stop - start > 1:
                middle = (start + stop) // 2
                start, stop = (start, middle) if self._any(parse, start, middle) else (middle, stop)
            self.where = locate(start)
        _logger.warning(
            "%s holds a feature more than once: the last one counts. iterator.stats().repeated tells how many records "
            "do; wf.scan_features, in which features",
            self.where,
        )

    def _any(self, parse: Callable[[FeatureParser, int, int], object], start: int, stop: int) -> bool:
        parser = FeatureParser(self.parser.features)
        parse(parser, start, stop)
        return parser.native.repeated > 0
