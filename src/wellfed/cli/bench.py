"""`wellfed bench`."""

from __future__ import annotations

import click

from wellfed import summary
from wellfed.cli import render
from wellfed.cli.main import FOUND_SOMETHING
from wellfed.cli.values import new_file, number, picture_size_or_side, place, time

_SECONDS = 5.0


@click.command("bench", no_args_is_help=True)
@click.argument("paths", type=place, nargs=-1, required=True)
@click.option("--split", help="Of a data set. Default: its only one.")
@click.option("--batch-size", type=number, default=64, show_default=True, help="Records in a batch.")
@click.option("--shuffle", is_flag=True, help="Feed in an exact random order; without it, in the order of the files.")
@click.option("--steps", type=number, help="Stop after so many batches.")
@click.option(
    "--seconds",
    type=time,
    help=f"Stop after this time. Default: {_SECONDS:g}, or none with --steps.",
)
@click.option("--threads", type=number, help="Threads that read and parse. Default: one a core.")
@click.option(
    "--resize",
    type=picture_size_or_side,
    metavar="HxW|SIDE",
    help="Decode pictures and make them this size; SIDE is the shorter one's.",
)
@click.option(
    "--on-error",
    type=click.Choice(["raise", "skip", "replace"]),
    default="raise",
    show_default=True,
    help="A row that cannot be made ends the run, is left out, or gives way to another one.",
)
@click.option(
    "--on-damage",
    type=click.Choice(["raise", "skip"]),
    default="raise",
    show_default=True,
    help="Damage of files ends the run, or is left out when they are indexed.",
)
@click.option("--raw", is_flag=True, help="Feed the records' bytes, unparsed.")
@click.option("--trace", type=new_file, metavar="FILE", help="Write who did what when; ui.perfetto.dev opens it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    paths: tuple[str, ...],
    *,
    split: str | None,
    batch_size: int,
    shuffle: bool,
    steps: int | None,
    seconds: float | None,
    threads: int | None,
    resize: tuple[int, int] | int | None,
    on_error: str,
    on_damage: str,
    raw: bool,
    trace: str | None,
    as_json: bool,
) -> None:
    """Show how fast PATHS are fed to training, which step limits it, and what would help.

    PATHS are TFRecord files or patterns, fed together, or the folder of one data set. Features come from the data set's
    schema, or are inferred from the first records. Epochs follow one another until time or steps are over. The exit
    code is 1 where rows or damage were left out, rows replaced, or files changed meanwhile; the answer names them.

    \b
    Example: wellfed bench 'train-*.tfrecord' --shuffle --seconds 10 --trace feed.json
    """
    if raw and resize is not None:
        raise click.UsageError("--resize makes pictures of parsed records: leave out --raw")
    from wellfed.feed import open_to_profile, profile  # noqa: PLC0415 -- it takes a while, and --help needs none.

    path = paths[0] if len(paths) == 1 else summary.find_target(paths, split).files
    dataset = open_to_profile(path, split, parse=not raw, resize=resize, on_error=on_error, on_damage=on_damage)
    if shuffle:
        dataset = dataset.shuffle(seed=0)
    dataset = dataset.batch(batch_size).with_options(threads=threads)
    found = profile(dataset, steps, seconds=_SECONDS if steps is None and seconds is None else seconds)
    render.profiled(found, as_json=as_json)
    if trace is not None:
        found.save_trace(trace)
    if found.stats.skipped or found.stats.replaced or found.stats.damage or found.changed:
        raise SystemExit(FOUND_SOMETHING)
