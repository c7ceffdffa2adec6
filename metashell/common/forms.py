"""The forms of output of every command: text, json, jsonl, csv and table, made safe for a terminal.

    display = standard_output()                        the destination: a terminal of some width, a pipe, or a file
    display.line(text)                                 a line of text; `aligned(rows)` makes lines of columns
    display.paint("bad", text)                         text in the colour of its role, for a line or a cell
    write_objects(display, form, objects)              json, jsonl, csv or table of dicts
    write_rows(display, form, columns, rows)           the same from rows whose columns are known
    write_value(display, value)                        one JSON value, indented

- `json` is one value, an array with one item per line; `jsonl` is one object per line. Both are always valid JSON: characters that a
  terminal would obey become JSON escapes; NaN and the infinities are strings, as in Kafka's JSON; a byte of a name that is not UTF-8
  is the text `\\xe9`.
- `csv` has a heading, quotes by RFC 4180 and ends lines with a line feed. Null is the empty field, nested values are JSON. Texts are
  safe for a spreadsheet (`spreadsheet_text`); `csv-raw` leaves them as they are.
- `table` is for people: a heading in capitals, numbers aligned right, `-` for null. A row is always one line. On a terminal, columns are
  narrowed to fit, the widest first, `…` marks a cut, and those that still do not fit are named on stderr. In a pipe nothing is cut.

Items are written one by one, so memory does not grow with the output; csv and table read the first `SAMPLE` rows before they decide
on columns and widths. To start quickly, nothing here imports rich, and json, csv and unicodedata are imported where a form needs them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from types import SimpleNamespace
from typing import Any, Final, Protocol

from metashell.common.options import RawCsv
from metashell.common.terminal import (
    HEADING,
    ROLES,
    Painted,
    clear_progress_before,
    colored_json,
    may_color,
    painted,
    spreadsheet_text,
    terminal_json,
    terminal_line,
    terminal_text,
    writable,
    writable_json,
)

SAMPLE: Final = 200
"""The number of rows that decide the widths of a table's columns."""

JSON_FORMS: Final = {"json": ",\n", "jsonl": "\n"}  # the separator between objects
OBJECT_FORMS: Final = (*JSON_FORMS, "table", "csv")
"""The forms that are made from objects. Each command writes `text` and `kafka` itself."""

_GAP = "  "
_CUT = "…"
_NARROW = 8
"""No column is narrowed below this width; columns that still do not fit are left out."""
_PADDED_MAX = 200
"""The largest width that a column is padded to in a pipe: one huge value must not make every row huge."""
_INDENT = 2
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")
_LINE_WIDTH = 100


class TextSink(Protocol):
    """A destination of text."""

    def write(self, text: str, /) -> object: ...
    def flush(self) -> None: ...


class Display:
    """The destination of a command's output.

    Shape: `is_terminal` says that a person reads it, so hostile characters are escaped. `width` is the terminal's width in columns,
    None without a terminal. `note` receives remarks about the output, such as the columns that did not fit. `palette` has the colour
    of each role, used where `color` is set.
    """

    __slots__ = ("color", "is_terminal", "note", "out", "palette", "width")

    def __init__(
        self,
        out: TextSink,
        *,
        is_terminal: bool = False,
        width: int | None = None,
        color: bool = False,
        note: Callable[[str], object] | None = None,
    ) -> None:
        self.out = out
        self.is_terminal = is_terminal
        self.width = width
        self.color = color
        self.note = note or (lambda text: sys.stderr.write(terminal_line(text) + "\n"))
        self.palette: Mapping[str, str] = ROLES

    def paint(self, role: str, text: str) -> Painted:
        """Text, which may hold data, in the colour of a role: a part of a line, safe for the terminal."""
        shown = terminal_line(text) if self.is_terminal else writable(text)
        return painted(shown, self.palette.get(role, "")) if self.color else Painted(shown, shown)

    def joined(self, parts: Iterable[str], between: str = "") -> Painted:
        """Join painted parts and plain ones, which may hold data."""
        found = [part if isinstance(part, Painted) else self.paint("", part) for part in parts]
        return Painted(between.join(found), between.join([part.plain for part in found]))

    def shown(self, text: str) -> str:
        """Text, which may hold data, in a form that is safe to write here."""
        return text if type(text) is Painted else terminal_text(text) if self.is_terminal else writable(text)

    def text(self, text: str) -> None:
        """Write text that may hold data."""
        self.out.write(self.shown(text))

    def line(self, text: str) -> None:
        """Write a line of text that may hold data."""
        # This repeats `shown` instead of calling it: a listing has millions of lines.
        if not self.is_terminal:
            shown = text if text.isascii() else writable(text)
        else:
            shown = text if type(text) is Painted else terminal_text(text)
        self.out.write(shown + "\n")

    def json(self, text: str) -> str:
        """JSON text in a form that is safe to write here."""
        return terminal_json(text) if self.is_terminal else writable_json(text)

    def colored_json(self, text: str) -> str:
        """The same with colours, where the display has them. For whole values only."""
        return colored_json(self.json(text), self.palette) if self.color else self.json(text)


def standard_output(*, no_color: bool = False, note: Callable[[str], object] | None = None) -> Display:
    """The display for standard output."""
    out: TextSink = sys.stdout
    is_terminal = sys.stdout.isatty()
    if sys.stderr.isatty():
        out = clear_progress_before(sys.stdout)
    color = is_terminal and not no_color and may_color()
    return Display(out, is_terminal=is_terminal, width=terminal_width() if is_terminal else None, color=color, note=note)


def terminal_width() -> int:
    """The columns of the terminal at standard output: COLUMNS, else what the terminal reports, else 80."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
    except (OSError, ValueError):
        return 80


# --- answers ------------------------------------------------------------------------------------------------------------


def write_objects(
    display: Display,
    form: str,
    items: Iterable[Mapping[str, Any] | str],
    *,
    columns: Sequence[str] = (),
    constant: Iterable[str] = (),
    single: bool = False,
) -> None:
    """Write objects as json, jsonl, csv or table.

    Shape: with `single`, the json form is the object itself instead of an array. `columns` are the columns of a table, by default the
    keys of the first rows; csv adds the other keys after them. Keys in `constant` have the same value in each object: a table leaves
    them out, and csv has them last.
    """
    if form in JSON_FORMS:
        writer = JsonWriter(display, form, single=single)
        for item in items:
            writer.add(item)
        writer.close()
        return
    rest: Iterator[Any] = iter(items)
    sample = list(islice(rest, SAMPLE))
    last = tuple(constant)
    keys = dict.fromkeys(key for item in sample for key in item if key not in last)
    if form == "csv":
        names = list(dict.fromkeys((*columns, *keys, *(key for item in sample[:1] for key in item))))
    else:
        names = list(columns or keys)
    if not names:
        return
    left_out: set[str] = set()
    write_rows(display, form, names, _as_rows(chain(sample, rest), names, left_out))
    if left_out and form == "csv":
        display.note(f"no column for {', '.join(sorted(left_out))}, which no early row has; -o jsonl has all")


def _as_rows(items: Iterable[Mapping[str, Any]], names: list[str], left_out: set[str]) -> Iterator[list[Any]]:
    known = set(names)
    for item in items:
        left_out.update(item.keys() - known)
        yield [item.get(name) for name in names]


def write_rows(display: Display, form: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows under known columns. Where two have the same name, csv and table show both, and JSON calls the later one `name_1`."""
    if form in JSON_FORMS:
        keys = _distinct(columns)
        write_objects(display, form, (dict(zip(keys, row, strict=True)) for row in rows))
    elif form == "csv":
        _write_csv(display, columns, rows, str if isinstance(form, RawCsv) else spreadsheet_text)
    else:
        rest = iter(rows)
        table = Table(display, columns, sample := list(islice(rest, SAMPLE)))
        for row in chain(sample, rest):
            table.row(row)
        table.close()


def _distinct(columns: Sequence[str]) -> list[str]:
    keys: dict[str, None] = {}
    for name in columns:
        key, count = name, 0
        while key in keys:
            count += 1
            key = f"{name}_{count}"
        keys[key] = None
    return list(keys)


def write_value(display: Display, value: object) -> None:
    """Write one value as indented JSON."""
    display.out.write(_pretty(display, value) + "\n")


def _pretty(display: Display, value: object) -> str:
    return display.colored_json(pretty_json(value, min(display.width or _LINE_WIDTH, _LINE_WIDTH)))


class JsonWriter:
    """Writes json or jsonl: call `add` for each object, then `close`. `add` also takes a text: objects that are JSON already."""

    def __init__(self, display: Display, form: str, *, single: bool = False) -> None:
        self._display = display
        is_array = form == "json" and not single
        self._is_pretty = form == "json" and single
        self._before, self._between = ("[\n", JSON_FORMS[form]) if is_array else ("", "")
        self._after = "" if is_array else "\n"
        self._end, self._end_of_some = ("[]\n", "\n]\n") if is_array else ("", "")

    def add(self, item: object) -> None:
        display = self._display
        text = _pretty(display, item) if self._is_pretty else display.colored_json(item if isinstance(item, str) else compact_json(item))
        display.out.write(self._before + text + self._after)
        self._before, self._end = self._between, self._end_of_some

    def close(self) -> None:
        self._display.out.write(self._end)


def _write_csv(display: Display, columns: Sequence[str], rows: Iterable[Sequence[Any]], safe: Callable[[str], str]) -> None:
    import csv

    writer = csv.writer(SimpleNamespace(write=display.text), lineterminator="\n")
    writer.writerow(map(safe, columns))
    writer.writerows([csv_cell(value, safe) for value in row] for row in rows)


def csv_cell(value: Any, safe: Callable[[str], str] = spreadsheet_text) -> Any:
    """A value as one CSV field: null is empty, lists and objects are JSON; `safe` is for texts, `str` to leave them."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(value)
    return "" if value is None else safe(value if isinstance(value, str) else compact_json(value))


class Table:
    """Aligned columns for people. The first rows decide the widths.

    Shape: on a terminal no line is wider than the terminal; in a pipe a value wider than its column shifts the rest of its line.
    """

    def __init__(self, display: Display, columns: Sequence[str], sample: Sequence[Sequence[Any]]) -> None:
        self._display = display
        self._columns = columns
        heads = [terminal_line(column.upper()) for column in columns]
        widths = [max(text_width(head), 1) for head in heads]
        for row in sample:
            widths = [max(width, text_width(_table_cell(value))) for width, value in zip(widths, row, strict=True)]
        samples = [[row[index] for row in sample if row[index] is not None] for index in range(len(columns))]
        self._to_the_right = [bool(values) and all(map(_is_number, values)) for values in samples]
        # A number or time with its end cut off would be another number, so only other columns are narrowed.
        whole = [index for index, values in enumerate(samples) if self._to_the_right[index] or (values and all(map(_is_time, values)))]
        if display.width is None:
            self._widths = [min(width, _PADDED_MAX) for width in widths]
        else:
            self._widths = fitted(widths, display.width, whole)
        shown = len(self._widths)
        if display.width is not None and shown == len(columns) and not self._to_the_right[-1]:
            # Rows after the sample may be wider: the last column gets the rest of the line.
            self._widths[-1] = display.width - sum(self._widths[:-1]) - len(_GAP) * (shown - 1)
        self._write(heads[:shown], is_heading=True)

    def row(self, values: Sequence[Any]) -> None:
        """Write one row."""
        self._write([_table_cell(value) for value in values[: len(self._widths)]])

    def close(self) -> None:
        """Name the columns that did not fit."""
        _note_no_room(self._display, self._columns[len(self._widths) :])

    def _write(self, cells: list[str], *, is_heading: bool = False) -> None:
        display = self._display
        if display.width is not None:
            cells = [_cut(cell, width) for cell, width in zip(cells, self._widths, strict=False)]
        parts = [
            padded(cell, width, to_the_right=right) for cell, width, right in zip(cells, self._widths, self._to_the_right, strict=False)
        ]
        line = _GAP.join(parts).rstrip()
        display.out.write((display.paint(HEADING, line) if is_heading else line) + "\n")


def _table_cell(value: Any) -> str:
    if type(value) is Painted:
        return value
    return "-" if value is None else terminal_line(plain_text(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def padded(text: str, width: int, *, own: int | None = None, to_the_right: bool = False) -> str:
    """The text, padded with blanks to `width` columns; `own` is the text's width where the caller knows it."""
    blanks = " " * (width - (text_width(text) if own is None else own))
    shown = blanks + text if to_the_right else text + blanks
    return Painted(shown, blanks + text.plain if to_the_right else text.plain + blanks) if type(text) is Painted else shown


def _cut(text: str, width: int) -> str:
    """The text, cut with a mark to exactly this width where it is wider.

    A path keeps its end, because the paths of one column usually begin alike.
    """
    if text_width(text) <= width:
        return text
    if type(text) is Painted:
        return painted(_cut(text.plain, width), text.sgr)
    is_path = text.startswith("/")
    kept, left = "", width - 1
    for char in reversed(text) if is_path else text:
        left -= text_width(char)
        if left < 0:
            left += text_width(char)
            break
        kept = char + kept if is_path else kept + char
    return (_CUT + kept if is_path else kept + _CUT) + " " * left


def fitted(widths: Sequence[int], limit: int, whole: Collection[int] = ()) -> list[int]:
    """The widths of columns on a terminal of `limit` columns. Where they do not fit, the widest are narrowed first.

    Shape: columns in `whole` are not narrowed. The result has fewer columns where even narrow ones do not fit; each width is 1 or more.
    """
    least = [width if index in whole else min(width, _NARROW) for index, width in enumerate(widths)]
    gap = len(_GAP)
    shown = len(widths)
    while shown > 1 and sum(least[:shown]) + gap * (shown - 1) > limit:
        shown -= 1
    left = max(limit - gap * (shown - 1), 1)
    found = [0] * shown
    # Narrow columns get what they need; the rest of their equal share goes to the wider ones.
    for rank, index in enumerate(sorted(range(shown), key=lambda index: (index not in whole, widths[index]))):
        share = left if index in whole else left // (shown - rank)
        found[index] = min(widths[index], max(share, 1))
        left -= found[index]
    return found


# --- text ---------------------------------------------------------------------------------------------------------------


def aligned(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> Iterator[str]:
    """A line per row, with cells in columns two blanks apart. Columns in `right` are aligned right; cells may be painted."""
    cells = [[cell if type(cell) is Painted else terminal_line(cell) for cell in row] for row in rows]
    count = max(map(len, cells), default=0)
    widths = [max(text_width(row[index]) for row in cells if index < len(row)) for index in range(count)]
    to_the_right = frozenset(right)
    for row in cells:
        line = _GAP.join(padded(cell, widths[index], to_the_right=index in to_the_right) for index, cell in enumerate(row)).rstrip()
        if any(type(cell) is Painted for cell in row):
            yield Painted(line, _GAP.join(getattr(cell, "plain", cell) for cell in row))
        else:
            yield line


def write_aligned(display: Display, rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> None:
    """Write a heading and rows as `aligned` lays them out. A terminal gets the columns that fit as a whole, and the names of the others."""
    shown = len(rows[0])
    if display.width is not None:
        shown = len(fitted([max(map(text_width, column)) for column in zip(*rows, strict=True)], display.width, range(shown)))
    for line in aligned([row[:shown] for row in rows], right=right):
        display.line(line)
    _note_no_room(display, rows[0][shown:])


def _note_no_room(display: Display, missing: Sequence[str]) -> None:
    if missing:
        names = ", ".join(missing)
        display.note(f"no room for {counted(len(missing), 'column')} ({names}): -o jsonl has all, and a pipe or file takes any width")


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 directory` or `2 directories`; without a `plural`, the noun gets an s."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def text_width(text: str) -> int:
    """The columns that the text takes on a terminal: two for a wide East Asian character, none for a combining one or for colours."""
    if type(text) is Painted:
        text = text.plain
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(char) in ("Mn", "Me") else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def plain_text(value: Any) -> str:
    """A scalar as people write it (text without quotes, `true`, `null`); other values as JSON on one line."""
    if type(value) is int:
        return str(value)
    value = _finite(value) if isinstance(value, float) else value
    return value if isinstance(value, str) else spaced_json(value)


# --- JSON ---------------------------------------------------------------------------------------------------------------


def compact_json(value: object) -> str:
    """JSON for programs, without blanks."""
    return _encoded(value, ",", ":")


def spaced_json(value: object) -> str:
    """JSON on one line for people."""
    return _encoded(value, ", ", ": ")


def _encoded(value: object, between: str, after_key: str) -> str:
    encode = _encoder(between, after_key)
    try:
        return encode(value)
    except ValueError:  # NaN or an infinity, which are rare: only then is the value walked
        return encode(_finite(value))


@cache
def _encoder(between: str, after_key: str) -> Callable[[object], str]:
    from json import JSONEncoder

    return JSONEncoder(ensure_ascii=False, separators=(between, after_key), check_circular=False, allow_nan=False).encode


def _finite(value: Any) -> Any:
    """The value with NaN and the infinities as strings: JSON lacks them, and Kafka's JSON writes them so."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def pretty_json(value: Any, width: int = _LINE_WIDTH, indent: int = 0, key: str = "") -> str:
    """Indented JSON. An array or object without nesting stays on one line if it fits in `width` characters.

    Shape: `key` is the text before the value on its line.
    """
    if not isinstance(value, dict | list | tuple) or not value:
        return key + spaced_json(value)
    items = value.values() if isinstance(value, dict) else value
    is_flat = not any(isinstance(item, dict | list | tuple) and item for item in items)
    # The outermost object always has a line per field, so that a record reads as a list of its fields.
    if is_flat and (indent or not isinstance(value, dict)):
        line = key + spaced_json(value)
        if indent + len(line) < width:
            return line
    deeper = indent + _INDENT
    if isinstance(value, dict):
        opening, closing = "{}"
        parts = [pretty_json(item, width, deeper, f"{spaced_json(name)}: ") for name, item in value.items()]
    else:
        opening, closing = "[]"
        parts = [pretty_json(item, width, deeper) for item in value]
    inner = " " * deeper
    return f"{key}{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{closing}"
