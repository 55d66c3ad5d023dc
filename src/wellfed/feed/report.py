"""The account of a feed as a table. The one file of the feed that imports rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from wellfed.feed.stats import FeedStats, StageStats

_HEADINGS = ("step", "made", "made/s", "bytes/s", "busy", "core", "input", "room", "queue")


def stages_table(stats: FeedStats) -> Table:
    """A line a step; docs/profile.md says how each column is read."""
    rows = [_cells(stage, stats) for stage in stats.stages]
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=Text(_caption(stats)), caption_justify="left")
    for number, heading in enumerate(_HEADINGS):
        width = max(len(cells[number]) for cells in [_HEADINGS, *rows])
        # Only the first column gives way where there is little room.
        table.add_column(
            heading, justify="right" if number else "left", no_wrap=number > 0, min_width=width if number else 8
        )
    for cells in rows:
        table.add_row(*map(Text, cells))
    return table


def _caption(stats: FeedStats) -> str:
    return (
        f"{stats.elements:,} elements in {stats.seconds:.2f} s, first after {stats.first_seconds * 1e3:,.1f} ms, "
        f"waited {stats.waited_seconds:.2f} s"
    )


def _cells(stage: StageStats, stats: FeedStats) -> list[str]:
    seconds = max(stats.seconds, 1e-9)
    threads = stage.threads or stats.threads
    return [
        stage.name,
        short(stage.rows),
        short(stage.rows / seconds),
        f"{short(stage.nbytes / seconds)}B" if stage.nbytes else "",
        f"{stage.seconds / (seconds * max(threads, 1)):.0%} of {threads}",
        f"{min(stage.cpu_seconds / stage.seconds, 1):.0%}" if stage.cpu_seconds and stage.seconds else "",
        f"{stage.input_seconds:.2f} s" if stage.input_seconds else "",
        f"{stage.room_seconds:.2f} s" if stage.room_seconds else "",
        f"{stage.queue_fill:.0%}" if stage.queue_fill is not None else "",
    ]


def short(value: float) -> str:
    """A number with three digits and its size.

    >>> short(1234567), short(12.3), short(45_600_000_000)
    ('1.23 M', '12.3', '45.6 G')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"
