"""A command whose options stand in named sections of its help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable


class SectionOption(click.Option):
    """An option that knows its section."""

    def __init__(self, *args: Any, section: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class SectionedCommand(click.Command):
    """A command that lists its options by section, in the order in which the sections first appear."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the sections."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                rows.setdefault(getattr(param, "section", "Options"), []).append(record)
        for section, records in rows.items():
            with formatter.section(section):
                formatter.write_dl(records)


def option(section: str, *declarations: str, **attributes: Any) -> SectionOption:
    """Makes an option of a section."""
    return SectionOption(declarations, section=section, **attributes)


def source_option(*declarations: str, **attributes: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates with an option that says how the raw data is read."""
    return click.option(*declarations, cls=SectionOption, section="Raw data", **attributes)
