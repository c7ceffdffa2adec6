"""The forms in which answers come: writers of objects, one at a time, so that memory does not grow with the answer.

`json` is one value, an array whose items are written as they come. `jsonl` is one object a line. `csv` and `table` have one
row an object and one column a key of the first objects; what is no scalar stands there as JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from metashell.shell.escape import terminal_json, terminal_line
from metashell.shell.jsonform import colored_json, compact_json, plain_text, pretty_json, spaced_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metashell.nodes import Node
    from metashell.shell.context import Context

Object = dict[str, Any]
TABLE_SAMPLE = 200
"""Rows that a table looks at before it decides on the widths of its columns."""

OBJECT_FORMS = ("json", "jsonl", "table", "csv")
"""The forms that are written from objects; `text` and `kafka` belong to each command."""


class ObjectWriter(Protocol):
    """Writes objects in one form: `add` for each, then `close`."""

    def add(self, item: Object) -> None: ...

    def close(self) -> None: ...


def write_objects(ctx: Context, items: Iterable[Object], *, columns: Sequence[str] = (), single: bool = False) -> None:
    """Write the objects of an answer in the form that was asked for.

    Shape: with `single` the `json` form is the one object and not an array of it; `columns` are those of csv and table, by
    default the keys of the first rows.
    """
    writer = _writer(ctx, columns, single)
    for item in items:
        writer.add(item)
    writer.close()


def _writer(ctx: Context, columns: Sequence[str], single: bool) -> ObjectWriter:
    match ctx.output:
        case "json":
            return SingleJson(ctx) if single else JsonArray(ctx)
        case "jsonl":
            return JsonLines(ctx)
        case "csv":
            return Csv(ctx, columns)
        case _:
            return Table(ctx, columns)


def node_object(ctx: Context, path: str, node: Node, **fields: Any) -> Object:  # noqa: ANN401 - JSON values
    """The object about a node: `path` and `type`, the fields, and how far all that is shown is certain."""
    return {"path": path, "type": node.type, **fields, **ctx.certainty()}


def json_text(ctx: Context, text: str) -> str:
    """JSON text as it may go to this stdout: escaped and coloured on a terminal."""
    if ctx.terminal:
        text = terminal_json(text)
    return colored_json(text) if ctx.color else text


class SingleJson:
    """One object as one indented JSON value; nothing at all where there is none, since then the status tells why."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def add(self, item: Object) -> None:
        self._ctx.out.write(json_text(self._ctx, pretty_json(item)) + "\n")

    def close(self) -> None:
        return


class JsonArray:
    """One JSON array, an object a line."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._opening = "[\n"

    def add(self, item: Object) -> None:
        self._ctx.out.write(f"{self._opening}{json_text(self._ctx, compact_json(item))}")
        self._opening = ",\n"

    def close(self) -> None:
        self._ctx.out.write("[]\n" if self._opening == "[\n" else "\n]\n")


class JsonLines:
    """One object a line."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def add(self, item: Object) -> None:
        self._ctx.out.write(json_text(self._ctx, compact_json(item)) + "\n")

    def close(self) -> None:
        return


class Csv:
    """Comma-separated values with a heading, quoted as RFC 4180 says, lines ending in a line feed."""

    def __init__(self, ctx: Context, columns: Sequence[str]) -> None:
        import csv

        self._ctx = ctx
        self._columns = list(columns)
        self._rows = csv.writer(self, lineterminator="\n")
        if columns:
            self._rows.writerow(self._columns)

    def write(self, text: str) -> None:
        """What the csv module writes to."""
        self._ctx.write(text)

    def add(self, item: Object) -> None:
        if not self._columns:
            self._columns = list(item)
            self._rows.writerow(self._columns)
        self._rows.writerow([_cell(item.get(column)) for column in self._columns])

    def close(self) -> None:
        return


class Table:
    """Aligned columns for people; later rows that are wider than the first ones push their neighbours."""

    def __init__(self, ctx: Context, columns: Sequence[str]) -> None:
        self._ctx = ctx
        self._columns = list(columns)
        self._sample: list[Object] | None = []
        self._widths: list[int] = []

    def add(self, item: Object) -> None:
        if self._sample is None:
            self._row(self._cells(item))
            return
        self._sample.append(item)
        if len(self._sample) == TABLE_SAMPLE:
            self._flush()

    def close(self) -> None:
        if self._sample:
            self._flush()

    def _flush(self) -> None:
        sample = self._sample or []
        self._sample = None
        if not self._columns:
            constant = self._ctx.certainty()
            self._columns = list(dict.fromkeys(key for item in sample for key in item if key not in constant))
        rows = [self._cells(item) for item in sample]
        heading = [column.upper() for column in self._columns]
        self._widths = [max(map(len, cells)) for cells in zip(heading, *rows, strict=True)]
        for row in [heading, *rows]:
            self._row(row)

    def _cells(self, item: Object) -> list[str]:
        return [terminal_line(_cell(item.get(column))) for column in self._columns]

    def _row(self, cells: list[str]) -> None:
        padded = [cell.ljust(width) for cell, width in zip(cells, self._widths, strict=True)]
        self._ctx.out.write("  ".join(padded).rstrip() + "\n")


def _cell(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if value is None:
        return ""
    return plain_text(value) if not isinstance(value, dict | list | tuple) else spaced_json(value)
