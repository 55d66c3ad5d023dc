"""Who waits for whom: what is said when a consumer has waited for a long time.

The consumer that waits says it itself, so there is no thread for it, and nothing is measured until then: where each
thread stands is read from its stack.
"""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import FrameType

# Where code lies that is no user's: this package, and the standard library.
_NOT_USERS = (str(Path(__file__).parent.parent), str(Path(logging.__file__).parent.parent), "<frozen")

LOGGER = logging.getLogger("wellfed.feed")


@dataclass(frozen=True, slots=True)
class Activity:
    """What a thread of an engine does.

    Attributes:
      unit: The number of its unit; -1 while it waits for room or looks for a unit.
      what: In words, such as "makes elements 16 to 31".
      since: When it began. [s of `monotonic`]
    """

    unit: int
    what: str
    since: float


def warn(waited: float, unit: int, doing: Mapping[threading.Thread, Activity]) -> None:
    """Logs that the calling thread has waited for `waited` seconds for the unit of that number, and what others do."""
    frames = sys._current_frames()  # The documented way to another thread's stack.
    lines = []
    for thread, activity in sorted(doing.items(), key=lambda item: (item[1].unit != unit, item[0].name)):
        passed, where = monotonic() - activity.since, _where(frames.get(thread.ident or 0))
        lines.append(f"{thread.name} {activity.what}, for {passed:.3g} s{where}")
    ended = "; no thread is left" if not lines else ""
    LOGGER.warning(
        "%s has waited for %.3g s for unit %d%s%s",
        threading.current_thread().name,
        waited,
        unit,
        ended,
        "".join(f"\n  {line}" for line in lines),
    )


def _where(frame: FrameType | None) -> str:
    """Where a thread stands: its innermost frame, and the innermost of the user's where that is another one."""
    if frame is None:
        return ""
    found = [_place(frame)]
    user = next((_place(step) for step in _outwards(frame) if not step.f_code.co_filename.startswith(_NOT_USERS)), None)
    if user is not None:
        found.append(user)
    return ", now in " + ", called from ".join(dict.fromkeys(found))


def _outwards(frame: FrameType) -> Iterable[FrameType]:
    step: FrameType | None = frame
    while step is not None:
        yield step
        step = step.f_back


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_name} ({frame.f_code.co_filename}:{frame.f_lineno})"
