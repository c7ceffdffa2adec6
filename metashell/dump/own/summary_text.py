"""A summary as aligned text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from metashell.amounts import duration_text
from metashell.dump.inputs import shown_path
from metashell.escape import terminal_line
from metashell.forms import aligned

_WIDTH = 13
_TIME_MAX_MS = 253_402_300_799_999


def table_lines(label: str, shown: dict[str, Any]) -> Iterator[str]:
    """One line a fact, then the record types with their counts."""
    yield terminal_line(shown_path(label))
    for name, text in _facts(shown):
        yield f"  {name:<{_WIDTH}}{text}"
    if shown["types"]:
        yield ""
        yield from _types(shown["types"])
    yield ""


def _facts(shown: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "bytes", str(shown["bytes"])
    yield "batches", f"{shown['batches']}{_compression(shown['compression'])}"
    yield "records", _records(shown)
    if shown["offsets"]:
        yield "offsets", f"{shown['offsets']['first']} to {shown['offsets']['last']}"
    if shown["timestamps"]:
        first, last = shown["timestamps"]["first"], shown["timestamps"]["last"]
        yield "time", f"{_time(first)} to {_time(last)} ({duration_text(max(last - first, 0))})"
    if shown["epochs"]:
        yield "epochs", ", ".join(f"{entry['epoch']} from {entry['first_offset']}" for entry in shown["epochs"])
    if shown["gap_count"] or shown["missing_offsets"]:
        gaps = ", ".join(f"{gap['after']} to {gap['next']}" for gap in shown["gaps"])
        more = ", ..." if shown["gap_count"] > len(shown["gaps"]) else ""
        listed = f": {gaps}{more}" if gaps else ""
        yield "gaps", f"{shown['gap_count']} between batches, {shown['missing_offsets']} offsets missing{listed}"
    if shown["producers"]:
        yield "producers", str(shown["producers"])
    if any(entry["magic"] != 2 for entry in shown["magics"]):
        yield "magic", ", ".join(f"{entry['magic']} in {entry['batches']}" for entry in shown["magics"])
    if shown["faults"]:
        yield "faults", str(shown["faults"])


def _compression(codecs: list[dict[str, Any]]) -> str:
    if not codecs:
        return ""
    parts = [f"{entry['batches']} {_codec(entry['codec'])}, {entry['bytes']} bytes" for entry in codecs]
    return f" ({'; '.join(parts)})"


def _codec(name: str) -> str:
    return "not compressed" if name == "none" else name


def _records(shown: dict[str, Any]) -> str:
    parts = [
        f"{shown[name]} {text}"
        for name, text in (
            ("transactional_records", "transactional"),
            ("tombstones", "without a value"),
        )
        if shown[name]
    ]
    more = f" ({', '.join(parts)})" if parts else ""
    control = f", {shown['control_records']} control" if shown["control_records"] else ""
    return f"{shown['records']}{more}{control}"


def _time(time_ms: int) -> str:
    if not 0 <= time_ms <= _TIME_MAX_MS:
        return f"{time_ms} ms"
    seconds, fraction = divmod(time_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:03d}Z"


def _types(types: list[dict[str, Any]]) -> Iterator[str]:
    rows = [("TYPE", "VERSION", "COUNT", "BYTES")]
    rows += [(row["type"], "-" if row["version"] is None else str(row["version"]), str(row["count"]), str(row["bytes"])) for row in types]
    yield from (f"  {line}" for line in aligned(rows, right=(1, 2, 3)))
