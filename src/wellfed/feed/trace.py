"""A record of who did what when, as a file that Perfetto (ui.perfetto.dev) and chrome://tracing open.

    track of the consumer       wait | consume | wait | consume ...
    track of each thread        input | [ unit:  read | map | batch ] | room | input | [ unit: ...
    counter                     units that are ready

Source: "Trace Event Format" (Google, 2016): complete events ("X"), counters ("C") and thread names ("M"); times in
microseconds.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from wellfed.io.files import errors_named
from wellfed.io.output import open_output

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_EVENTS = 500_000  # About 100 MB of memory; what comes later is counted, not kept.


@dataclass(frozen=True, slots=True)
class Span:
    """Something that a thread did.

    Attributes:
      name: What, such as "map(decode)".
      thread: `threading.get_ident()` of the thread.
      began: `perf_counter()` when it began. [s]
      ended: `perf_counter()` when it ended. [s]
      facts: What else is known, such as rows and bytes.
    """

    name: str
    thread: int
    began: float
    ended: float
    facts: dict[str, int]


class Trace:
    """Collects spans and counts. Many threads add to it.

    Attributes:
      dropped: How many events came after `MAX_EVENTS`.
    """

    def __init__(self) -> None:
        self._zero = perf_counter()
        self._spans: list[Span] = []
        self._counts: list[tuple[float, int]] = []
        self._names: dict[int, str] = {}
        self.dropped = 0

    def span(self, name: str, began: float, ended: float, **facts: int) -> None:
        """Notes what the current thread did."""
        if len(self._spans) >= MAX_EVENTS:
            self.dropped += 1
            return
        thread = threading.current_thread()
        ident = thread.ident or 0
        self._names.setdefault(ident, thread.name)
        self._spans.append(Span(name, ident, began, ended, facts))

    def ready(self, units: int) -> None:
        """Notes how many units are ready now."""
        if len(self._counts) < MAX_EVENTS:
            self._counts.append((perf_counter(), units))

    def events(self) -> Iterator[dict[str, Any]]:
        """The events as the format has them: names of threads first, then by the time at which they began."""
        process = os.getpid()
        numbers = {ident: number for number, ident in enumerate(self._names, 1)}
        for ident, name in self._names.items():
            facts = {"name": name}
            yield {"name": "thread_name", "ph": "M", "pid": process, "tid": numbers[ident], "args": facts}
        # An outer span begins no later and ends no earlier than what is in it.
        for span in sorted(self._spans, key=lambda span: (span.began, -span.ended)):
            yield {
                "name": span.name,
                "cat": "feed",
                "ph": "X",
                "ts": self._microseconds(span.began),
                "dur": max(self._microseconds(span.ended) - self._microseconds(span.began), 0.0),
                "pid": process,
                "tid": numbers[span.thread],
                "args": span.facts,
            }
        for at, units in self._counts:
            ts = self._microseconds(at)
            yield {"name": "ready", "ph": "C", "ts": ts, "pid": process, "tid": 0, "args": {"units": units}}

    def _microseconds(self, at: float) -> float:
        return round((at - self._zero) * 1e6, 3)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace as JSON, whole or not at all; into a pipe or device as it is."""
        content = {
            "traceEvents": list(self.events()),
            "displayTimeUnit": "ms",
            "otherData": {"by": "wellfed", "dropped events": self.dropped},
        }
        output = open_output(path, overwrite=True)
        try:
            with errors_named(path):
                output.write(json.dumps(content).encode())
            output.commit()
        finally:
            output.abandon()
