"""The forms in which answers come: writers of objects, one at a time, so that memory does not grow with the answer.

`json` is one value, an array whose items are written as they come. `jsonl` is one object a line. `csv` and `table` have one
row an object and one column a key of the first objects; what is no scalar stands there as JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from metashell.escape import terminal_json, terminal_line
from metashell.shell.jsonform import colored_json, compact_json, plain_text, pretty_json, spaced_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metashell.nodes import Leaf, Node
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

    Shape: with `single` the `json` form is the one object and not an array of it. `columns` are those of a table, by default
    the keys of the first rows; csv has these keys after them.
    """
    writer = object_writer(ctx, columns, single)
    for item in items:
        writer.add(item)
    writer.close()


def object_writer(ctx: Context, columns: Sequence[str] = (), single: bool = False) -> ObjectWriter:
    """The writer for the form that was asked for; see `write_objects`."""
    match ctx.output:
        case "json":
            return SingleJson(ctx) if single else JsonArray(ctx)
        case "jsonl":
            return JsonLines(ctx)
        case "csv":
            return Csv(ctx, columns)
        case _:
            return Table(ctx, columns)


def node_object(ctx: Context, path: str, node: Node, **fields: Any) -> Object:
    """The object about a node: `path` and `type`, the fields, and how far all that is shown is certain."""
    return {"path": path, "type": node.type, **fields, **ctx.certainty()}


def leaf_object(ctx: Context, path: str, leaf: Leaf) -> Object:
    """The object about a leaf: its value, words for the codes in it, and the rest of every object about a node."""
    return node_object(ctx, path, leaf, value=leaf.value(ctx.redact), **leaf.envelope_info)


def plain_json(ctx: Context, text: str) -> str:
    """JSON text as it may go to this stdout: escaped on a terminal."""
    return terminal_json(text) if ctx.terminal else text


def json_text(ctx: Context, text: str) -> str:
    """The same, coloured too where colours are wanted; for whole values only."""
    text = plain_json(ctx, text)
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


class Rows:
    """Objects as rows: the columns are given, or are the keys of the first rows."""

    def __init__(self, ctx: Context, columns: Sequence[str]) -> None:
        self._ctx = ctx
        self._columns = list(columns)
        self._sample: list[Object] | None = []

    def add(self, item: Object) -> None:
        """Take a row; the first ones are held back until the columns are known."""
        if self._sample is None:
            self._row(self._cells(item))
            return
        self._sample.append(item)
        if len(self._sample) == TABLE_SAMPLE:
            self._flush()

    def close(self) -> None:
        """Write what was held back."""
        if self._sample is not None:
            self._flush()

    def _flush(self) -> None:
        sample = self._sample or []
        self._sample = None
        self._columns = self._all_columns(sample)
        rows = [self._cells(item) for item in sample]
        if self._columns:
            self._heading(rows)
        for row in rows:
            self._row(row)

    def _all_columns(self, sample: list[Object]) -> list[str]:
        raise NotImplementedError

    def _keys(self, sample: list[Object]) -> list[str]:
        """The keys of the rows in order, but for how far all is certain, which is the same in each."""
        constant = self._ctx.certainty()
        return list(dict.fromkeys(key for item in sample for key in item if key not in constant))

    def _cells(self, item: Object) -> list[str]:
        return [_cell(item.get(column)) for column in self._columns]

    def _heading(self, rows: list[list[str]]) -> None:
        raise NotImplementedError

    def _row(self, cells: list[str]) -> None:
        raise NotImplementedError


class Csv(Rows):
    """Comma-separated values with a heading, quoted as RFC 4180 says, lines ending in a line feed."""

    def __init__(self, ctx: Context, columns: Sequence[str]) -> None:
        import csv

        super().__init__(ctx, columns)
        self._rows = csv.writer(self, lineterminator="\n")
        self._left_out: set[str] = set()

    def write(self, text: str) -> None:
        """What the csv module writes to."""
        self._ctx.write(text)

    def close(self) -> None:
        """Write what was held back, and tell what no column was there for."""
        super().close()
        if self._left_out:
            names = ", ".join(sorted(self._left_out))
            self._ctx.complain(f"{self._ctx.command}: no column for {names}, which no early row has; -o jsonl has all", 0)

    def _all_columns(self, sample: list[Object]) -> list[str]:
        # How far all is certain stands last, in rows about nodes.
        keys = [*self._columns, *self._keys(sample), *(sample[0] if sample else ())]
        return list(dict.fromkeys(keys))

    def _cells(self, item: Object) -> list[str]:
        self._left_out.update(item.keys() - set(self._columns))
        return super()._cells(item)

    def _heading(self, rows: list[list[str]]) -> None:
        self._rows.writerow(self._columns)

    def _row(self, cells: list[str]) -> None:
        self._rows.writerow(cells)


class Table(Rows):
    """Aligned columns for people; later rows that are wider than the first ones push their neighbours."""

    def __init__(self, ctx: Context, columns: Sequence[str]) -> None:
        super().__init__(ctx, columns)
        self._widths: list[int] = []

    def _all_columns(self, sample: list[Object]) -> list[str]:
        return self._columns or self._keys(sample)

    def _heading(self, rows: list[list[str]]) -> None:
        heading = [column.upper() for column in self._columns]
        self._widths = [max(map(len, cells)) for cells in zip(heading, *rows, strict=True)]
        self._row(heading)

    def _cells(self, item: Object) -> list[str]:
        return [terminal_line(cell) for cell in super()._cells(item)]

    def _row(self, cells: list[str]) -> None:
        padded = [cell.ljust(width) for cell, width in zip(cells, self._widths, strict=True)]
        self._ctx.out.write("  ".join(padded).rstrip() + "\n")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return plain_text(value) if not isinstance(value, dict | list | tuple) else spaced_json(value)
