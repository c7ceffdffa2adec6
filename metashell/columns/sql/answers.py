"""Answers to queries as text: aligned columns for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import json
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from metashell.columns.texts import csv_value
from metashell.escape import terminal_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.columns.sql.query import Answer

_SAMPLE_ROWS = 1000
"""Rows that the columns of text are measured by; what comes later may be wider."""


def write_answer(answer: Answer, form: str, out: TextIO, *, is_terminal: bool = False) -> None:
    """Write all rows in a form: `text` and `table` are aligned, `json` is one array, `jsonl` an object a line, `csv` has a head."""
    match form:
        case "json":
            opening = "[\n"
            for row in answer.rows:
                out.write(opening + _object(answer, row, is_terminal))
                opening = ",\n"
            out.write("[]\n" if opening == "[\n" else "\n]\n")
        case "jsonl":
            for row in answer.rows:
                out.write(_object(answer, row, is_terminal) + "\n")
        case "csv":
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow([_safe(name, is_terminal) for name in answer.columns])
            writer.writerows([_safe(csv_value(value), is_terminal) for value in row] for row in answer.rows)
        case "table":
            _write_table(answer, out, is_terminal)
        case _:
            _write_text(answer, out, is_terminal)


def _object(answer: Answer, row: list[Any], is_terminal: bool) -> str:
    return json.dumps(dict(zip(answer.columns, row, strict=True)), ensure_ascii=is_terminal, separators=(",", ":"))


def _safe(value: Any, is_terminal: bool) -> Any:
    return terminal_line(value) if is_terminal and isinstance(value, str) else value


def _cell(value: Any) -> str:
    return "-" if value is None else terminal_line(str(csv_value(value)))


def _write_text(answer: Answer, out: TextIO, is_terminal: bool) -> None:
    sample = [[_cell(value) for value in row] for row in islice(answer.rows, _SAMPLE_ROWS)]
    heads = [terminal_line(name) for name in answer.columns]
    widths = [max(map(len, column)) for column in zip(heads, *sample, strict=True)]
    rest: Iterator[list[str]] = ([_cell(value) for value in row] for row in answer.rows)
    out.write(_line(heads, widths))
    for rows in (sample, rest):
        for row in rows:
            out.write(_line(row, widths))


def _write_table(answer: Answer, out: TextIO, is_terminal: bool) -> None:
    """Columns between rules; as many rows as there are are held."""
    rows = [[_cell(value) for value in row] for row in answer.rows]
    heads = [terminal_line(name) for name in answer.columns]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    rule = "+".join("-" * (width + 2) for width in widths)
    out.write("|".join(f" {head:<{width}} " for head, width in zip(heads, widths, strict=True)).rstrip() + "\n" + rule + "\n")
    for row in rows:
        out.write("|".join(f" {cell:<{width}} " for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")


def _line(cells: list[str], widths: list[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip() + "\n"
