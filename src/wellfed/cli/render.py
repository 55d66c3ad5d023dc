"""The library's answers as text or JSON: one function an answer. The answer goes to stdout, a warning to stderr."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import click

from wellfed.cli.main import one_line

if TYPE_CHECKING:
    from wellfed import summary
    from wellfed.datasets import Shard, SkippedItem
    from wellfed.feed import Profile, ReplacedRow, SkippedRow
    from wellfed.io import RecordIndex
    from wellfed.packing import ExportReport, PackPlan, PackReport

# Names and framing take this much of a record; growth beyond it comes from the content.
_USUAL_OVERHEAD_BYTES = 256
_SHOWN_SKIPPED = 20
_WIDTH = 132  # Of a table in a file or a pipe.


def json_line(value: Any) -> None:
    """Prints a dataclass or a mapping as one line of JSON; keys are the fields' names.

    JSON has no NaN and no infinity: they become "NaN", "Infinity" and "-Infinity", as protobuf's JSON has them.
    """
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    text = json.dumps(plain, default=_plain)
    if "NaN" in text or "Infinity" in text:  # Or a name that holds the word; that stays as it is.
        text = json.dumps(json.loads(text, parse_constant=str))
    _say(text)


def packed(report: PackReport, *, as_json: bool, holds_pictures: bool) -> None:
    """Prints what a pack did, and warns where the shards are much larger than what they were made of."""
    if as_json:
        json_line(asdict(report) | {"ratio": round(report.ratio, 4)})
    else:
        _say(f"{report.folder}  {report.name} {report.version}")
        _table(
            (split, f"{_records(count)} in {_shards(report.shards[split])}") for split, count in report.records.items()
        )
        ratio = f"{report.ratio:.2f} bytes out for each byte in"
        again = f", {_shards(report.resumed_shards)} of an earlier run" if report.resumed_shards else ""
        _say(f"{size(report.bytes_in)} in, {size(report.bytes_out)} out: {ratio}; {report.seconds:.1f} s{again}")
        skipped(report.skipped)
    grown = report.bytes_out - report.bytes_in
    if report.ratio > 1.1 and grown > _USUAL_OVERHEAD_BYTES * sum(report.records.values()):
        hint = ". --encoding keep stores pictures as they came; --encoding jpeg or png makes pixels smaller"
        grown_by = f"warning: the shards are {report.ratio:.1f} times as large as the input"
        click.echo(grown_by + (hint if holds_pictures else ""), err=True)


def remade(shard: Shard, *, as_json: bool) -> None:
    """Prints which shard was written again."""
    if as_json:
        json_line(shard)
    else:
        _say(f"{shard.file}  {_records(shard.records)}, written again")


def exported(report: ExportReport, *, as_json: bool) -> None:
    """Prints what an export wrote."""
    if as_json:
        json_line(report)
        return
    _say(f"{report.folder}  {_counted(report.files, 'file')}, {size(report.bytes)}")
    _table((split, _records(count)) for split, count in report.records.items())


def plan(found: PackPlan, *, as_json: bool) -> None:
    """Prints what a pack would write."""
    if as_json:
        json_line(
            {
                "folder": found.folder,
                "name": found.name,
                "version": found.version,
                "schema": found.schema.to_json(),
                "splits": {name: asdict(split) for name, split in found.splits.items()},
                "skipped": [asdict(item) for item in found.skipped],
            }
        )
        return
    _say(f"{found.folder}  {found.name} {found.version}  (nothing is written)")
    for name, split in found.splits.items():
        first = split.shards[0] + (f" ... {split.shards[-1]}" if len(split.shards) > 1 else "")
        items = f"{_counted(split.items, 'item')}, about {size(split.bytes)}"
        _say(f"  {name}  {items}, in {_shards(len(split.shards))}: {first}")
        if split.classes:
            shown = [f"{label} {count:,}" for label, count in list(split.classes.items())[:_SHOWN_SKIPPED]]
            more = len(split.classes) - len(shown)
            _say(f"    {', '.join(shown)}" + (f", {more} more classes" if more else ""))
    features(found.schema.to_json())
    skipped(found.skipped)


def head(found: summary.Head, *, as_json: bool) -> None:
    """Prints the first records."""
    if as_json:
        for record in found.records:
            values = {view.name: view.facts for view in record.features}
            where = {"file": record.file, "record": record.record, "bytes": record.bytes}
            payload = {"payload": record.payload.facts} if record.payload else {}
            json_line({"split": found.split, **where, "features": values, **payload})
        return
    if found.folder:
        _say(f"{found.folder}  {found.name} {found.version}  {found.split}: {_records(found.total or 0)}")
    for record in found.records:
        _say(f"{record.file}  record {record.record}, {record.bytes:,} bytes")
        _table((view.name or "''", view.text) for view in (*record.features, *filter(None, [record.payload])))
    if not found.records:
        _say("no records")


def schema(report: summary.SchemaReport, *, as_json: bool) -> None:
    """Prints which features there are."""
    if as_json:
        for each in report.features:
            json_line({**asdict(each), "folder": report.folder})
        return
    if report.folder:
        splits = ", ".join(f"{name} {records:,}" for name, records in report.splits.items())
        _say(f"{report.folder}  {report.name} {report.version}  records: {splits}")
    if report.scanned or not report.folder:
        _say(f"{_records(report.scanned)} read")
    _table((each.name or "''", _feature_line(each)) for each in report.features)
    if report.scanned and not report.features:
        _say("no features: are these Examples? `wellfed head` shows the records' bytes")


def _feature_line(each: summary.FeatureReport) -> str:
    parts = [feature(each.type)] if each.type else []
    if each.facts is not None:
        looks = ", ".join(f"{count:,} {look}" for look, count in each.facts.looks.items())
        ranges = [_range(*found) for found in filter(None, (each.facts.ints, each.facts.floats))]
        ranges += [f"{each.facts.nonfinite:,} infinite or NaN"] if each.facts.nonfinite else []
        sizes = [f"{_range(*each.facts.sizes, ',')} bytes"] if each.facts.sizes else []
        parts += [each.reason, *ranges, *([looks] if looks else []), *sizes]
    return "; ".join(parts)


def _range(low: float, high: float, form: str = "") -> str:
    return f"{low:{form}}" if low == high else f"{low:{form}} to {high:{form}}"


def verified_dataset(report: summary.DatasetReport, *, as_json: bool) -> None:
    """Prints what a check of a data set found, a shard a line."""
    if as_json:
        for shard in report.shards:
            json_line(asdict(shard) | {"ok": shard.ok})
        return
    _say(f"{report.folder}  {report.name} {report.version}")
    for shard in report.shards:
        if shard.file is not None:
            _file_lines(shard.file, shard.problems)
        else:
            _say(f"{shard.path}  {'; '.join(shard.problems)}")
    bad = sum(not shard.ok for shard in report.shards)
    records = sum(shard.file.records for shard in report.shards if shard.file)
    verdict = f"{bad} of {_shards(len(report.shards))} damaged" if bad else f"{_shards(len(report.shards))}, all intact"
    _say(f"{_records(records)} in {verdict}")


def verified_file(report: summary.FileReport, *, as_json: bool) -> None:
    """Prints what a check of a file found."""
    if as_json:
        json_line(asdict(report) | {"ok": report.ok})
    else:
        _file_lines(report, ())


def _file_lines(report: summary.FileReport, problems: Sequence[str]) -> None:
    damage = f"  {_counted(len(report.damage), 'damaged region')}" if report.damage else ""
    _say("  ".join([f"{report.path}  {_records(report.records)}{damage}", *problems]))
    for region in report.damage:
        _say(f"  record {region.record_index}  bytes [{region.start}..{region.end})  {region.reason}")


def indexed(path: str, index: RecordIndex, *, as_json: bool) -> None:
    """Prints that a file has its index."""
    if as_json:
        json_line({"path": path, "records": len(index), "compression": index.compression, "checked": index.checked})
    else:
        _say(f"{path}  {_records(len(index))}")


def profiled(found: Profile, *, as_json: bool) -> None:
    """Prints where the time of a feed went, and one sentence of what that means."""
    if as_json:
        _say(found.to_json())
        return
    from rich.console import Console  # noqa: PLC0415 -- only this answer is a table of rich's.

    text = io.StringIO()
    console, table = Console(file=text), found.table()
    least = console.measure(table).minimum  # What a terminal breaks is still there; what rich cuts off is not.
    console.print(table, width=max(console.width if sys.stdout.isatty() else _WIDTH, least))
    click.echo(text.getvalue(), nl=False)
    damage = found.stats.damage
    _first_of(f"left out {_counted(len(damage), 'damaged region')}:", [f"{region.path}: {region}" for region in damage])
    _lost("left out", found.stats.skipped)
    _lost("replaced", found.stats.replaced)
    _first_of("files that changed meanwhile, so the figures may be of more than one content:", found.changed)
    _say(str(found))


def _lost(what: str, rows: Sequence[SkippedRow] | Sequence[ReplacedRow]) -> None:
    """Names each row once, however many epochs met it."""
    each = Counter((row.where or f"row {row.position}", row.reason) for row in rows)
    lines = [f"{at}: {why}" + (f" ({times:,} times)" if times > 1 else "") for (at, why), times in each.items()]
    _first_of(f"{what} {len(rows):,} times:", lines)


def features(schema: Mapping[str, Any]) -> None:
    """Prints a schema, a line a feature."""
    _table((name, feature(kind)) for name, kind in schema.items())


def feature(kind: Mapping[str, Any]) -> str:
    """Returns a feature's type in words."""
    fields = {key: value for key, value in kind.items() if key != "type" and value is not None}
    if kind["type"] == "ClassLabel" and fields.get("names"):
        names = fields.pop("names")
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        classes = "1 class" if len(names) == 1 else f"{fields['num_classes']} classes"
        return f"ClassLabel  {classes}: {shown}"
    if "shape" in fields:
        fields["shape"] = "x".join("?" if length is None else str(length) for length in fields["shape"]) or "()"
    if "feature" in fields:
        fields["feature"] = f"({feature(fields['feature'])})"
    words = " ".join(str(value) for value in fields.values() if value not in ([], 0))
    return f"{kind['type']}  {words}".rstrip()


def skipped(items: Iterable[SkippedItem]) -> None:
    """Prints what was left out, and why."""
    lines = [f"{item.item}: {item.reason}" for item in items]
    _first_of(f"skipped {len(lines):,}:", lines)


def _first_of(heading: str, lines: Sequence[str]) -> None:
    if lines:
        _say(heading)
    for line in lines[:_SHOWN_SKIPPED]:
        _say(f"  {line}")
    if len(lines) > _SHOWN_SKIPPED:
        _say(f"  and {len(lines) - _SHOWN_SKIPPED:,} more; --json lists all")


def size(count: float) -> str:
    """Returns a number of bytes as people read it.

    >>> size(999), size(2_500_000)
    ('999 bytes', '2.5 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} bytes"


def _say(line: str) -> None:
    click.echo(one_line(line))


def _records(count: int) -> str:
    return _counted(count, "record")


def _shards(count: int) -> str:
    return _counted(count, "shard")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _table(rows: Iterable[tuple[str, str]]) -> None:
    every = [(one_line(name), text) for name, text in rows]
    width = max((len(name) for name, _ in every), default=0)
    for name, text in every:
        _say(f"  {name:<{width}}  {text}")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")
