"""An answer as files (Parquet, CSV, JSON and HTML), and on standard output as a table or in a form for programs.

Each file appears under its name only when it is complete. CSV and JSON are made a column at a time: an answer may have a million rows,
and its texts and lists repeat, so `common.forms` writes each distinct one once. A test compares the text with what `common.forms` writes
row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from metashell.common.errors import UsageError
from metashell.common.forms import Display, compact_json, counted, write_objects, write_rows
from metashell.common.terminal import HEADING, UNUSUAL, update_progress
from metashell.disk.directory import log_name_of
from metashell.tables.columns.typed_arrays import list_codes
from metashell.tables.reports.catalog import (
    CLUSTER,
    Report,
    cell_text,
    datetime_text,
    plain_rows,
    python_rows,
    short_name,
    shown_columns,
    unix_ms,
)
from metashell.tables.reports.charts import as_ms
from metashell.tables.reports.page import INDEX, Judged, ending_column, is_open, open_words, render_index, render_page
from metashell.tables.schemas import with_spark_metadata

if TYPE_CHECKING:
    from metashell.tables.stores import Store


def left_out(fault_count: int) -> str:
    """Return the note about faults that were skipped."""
    return f"left out: {counted(fault_count, 'corrupt or unknown place')}"


def notes_on(fault_count: int, *, show_secrets: bool) -> tuple[str, ...]:
    """Return the notes on how the input was read."""
    notes = []
    if fault_count:
        notes.append(f"{left_out(fault_count).capitalize()}.")
    if show_secrets:
        notes.append("Secrets were asked for and are not redacted.")
    return tuple(notes)


def left_out_lines(reports: Sequence[Report]) -> list[str]:
    """Return a line for each missing log, with the reports that cannot be answered without it."""
    logs = dict.fromkeys(report.log for report in reports)
    return [
        f"left out, no {log_name_of(log).removeprefix('the ')} here: {', '.join(r.name for r in reports if r.log == log)}" for log in logs
    ]


def write_answer(
    report: Report,
    answer: pa.Table,
    store: Store,
    forms: Sequence[str],
    *,
    sources: str,
    notes: tuple[str, ...] = (),
    has_index: bool = False,
) -> list[str]:
    """Write `NAME.FORM` for each form and give the paths or URIs. Errors: MetashellError, with the file's name."""
    written = []
    for form in forms:
        name = f"{report.name}.{form}"
        update_progress(f"writing {name}")
        with store.create(name, durable=True) as file:
            file.writelines(answer_parts(report, answer, form, sources=sources, notes=notes, has_index=has_index))
        written.append(store.shown_name(name))
    return written


def write_index(
    store: Store,
    answers: Mapping[str, pa.Table],
    left_out: Sequence[Report],
    judged: Judged,
    *,
    sources: str,
    notes: tuple[str, ...] = (),
    fault_count: int = 0,
) -> str:
    """Write the page over the reports in a folder and give its path or URI. Errors: MetashellError, with the file's name."""
    page = render_index(answers, left_out, judged, sources=sources, notes=notes, fault_count=fault_count)
    store.put(INDEX, page.encode(), durable=True)
    return store.shown_name(INDEX)


def answer_parts(
    report: Report, answer: pa.Table, form: str, *, sources: str, notes: tuple[str, ...] = (), has_index: bool = False
) -> Iterator[bytes]:
    """Yield an answer in a form, piece by piece, with what a reader must know of it where the form has room for that."""
    if form == "html":
        return iter([render_page(report, answer, sources=sources, notes=notes, has_index=has_index).encode()])
    answer = answer.replace_schema_metadata({"notes": " ".join(notes)}) if notes else answer
    return csv_parts(answer, form) if form == "csv" else WRITERS[form](answer)


def parquet_parts(answer: pa.Table) -> Iterator[bytes]:
    """Yield a whole file of Parquet."""
    sink = pa.BufferOutputStream()
    parquet.write_table(answer.cast(with_spark_metadata(answer.schema)), sink, compression="zstd")
    yield sink.getvalue().to_pybytes()


# ---- standard output

TABLE: Final = "table"
_OBJECTS: Final = ("json", "jsonl")
TEXT_FORMS: Final = (TABLE, "csv", *_OBJECTS)
"""The forms that are printed here; the other forms are files."""
Answers = Sequence[tuple[Report, "pa.Table"]]


def chosen_form(forms: Sequence[str], *, of_several: bool) -> str:
    """Return the one form in which answers go to standard output. Errors: UsageError where it takes a directory."""
    if len(set(forms)) > 1:
        raise UsageError(f"standard output takes one form, not {' and '.join(dict.fromkeys(forms))}; --out DIR writes several", "--format")
    form = forms[0] if forms else TABLE
    if of_several and form not in (TABLE, *_OBJECTS):
        raise UsageError(f"{form} holds one report: name one, or write all with --out DIR", "--format")
    return form


def print_answers(display: Display, answers: Answers, form: str) -> None:
    """Write answers in one of `TEXT_FORMS`. In JSON each row of several reports says which it is from."""
    if form == "csv":
        ((_, answer),) = answers
        write_rows(display, form, answer.column_names, plain_rows(answer, datetime_text))
        return
    if form in _OBJECTS:
        write_objects(display, form, _objects(answers))
        return
    for number, (report, answer) in enumerate(answers):
        if number:
            display.line("")
        _print_table(display, report, answer)


def _objects(answers: Answers) -> Iterator[dict[str, Any]]:
    """Yield a row of each answer as JSON has it: times are Unix milliseconds."""
    for report, answer in answers:
        name = {"report": report.name} if len(answers) > 1 else {}
        yield from ({**name, **dict(zip(answer.column_names, row, strict=True))} for row in plain_rows(answer, unix_ms))


def _print_table(display: Display, report: Report, answer: pa.Table) -> None:
    names = shown_columns(answer)
    clusters = [] if CLUSTER in names else answer.column(CLUSTER).slice(0, 1).to_pylist()
    title = ", ".join((report.title, *(f"cluster {cluster}" for cluster in clusters if cluster)))
    display.line(display.paint(HEADING, title))
    if not answer.num_rows:
        display.line("no rows")
        return
    write_rows(display, TABLE, list(map(short_name, names)), _rows(display, report, names, python_rows(answer)))
    if words := open_words(report, answer):
        display.line(words)


def _rows(display: Display, report: Report, names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Any]]:
    for row in rows:
        cells = [_cell(name, row[name]) for name in names]
        if report.open is not None:
            how = ending_column(report, row) or None
            cells[names.index(report.open[0])] = display.paint(UNUSUAL, how) if how and is_open(report, row) else how
        yield cells


def _cell(name: str, value: Any) -> Any:
    """Return a cell: numbers without a unit stay numbers, which stand to the right."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and short_name(name) == name):
        return value
    return cell_text(name, value)


# ---- CSV and JSON, a column at a time

SLICE_ROWS: Final = 1 << 15
"""Rows that are text at one time."""
_YEAR_1000_MS: Final = -30_610_224_000_000
CellText = Callable[[Any], str]


def json_parts(answer: pa.Table) -> Iterator[bytes]:
    """Yield one array of objects, a row a line; times are Unix milliseconds, as in all JSON of ours."""
    if not answer.num_rows:
        yield b"[]\n"
        return
    keys = [f"{',' if number else '{'}{compact_json(name)}:" for number, name in enumerate(answer.column_names)]
    yield b"[\n"
    left = answer.num_rows
    for batch in _slices(answer):
        left -= batch.num_rows
        texts = _columns(batch, _json_text, "null", _ms_texts)
        rows = _joined([part for key, column in zip(keys, texts, strict=True) for part in (key, column)], "},\n")
        yield rows if left else rows[:-2] + b"\n]\n"


def csv_parts(answer: pa.Table, form: str = "csv") -> Iterator[bytes]:
    """Yield a heading and a line a row; times are text in UTC. `form` says whether cells are left as they are."""
    yield _csv(form, answer.column_names, []).encode()

    def text(value: object) -> str:
        # What stands before the comma of a line of two.
        return _csv(form, ["", ""], [[value, 0]])[len(",\n") : -len(",0\n")]

    for batch in _slices(answer):
        parts: list[Any] = []
        for column in _columns(batch, text, "", _time_texts):
            parts += [",", column] if parts else [column]
        yield _joined(parts, "\n")


WRITERS: Final[dict[str, Callable[[pa.Table], Iterator[bytes]]]] = {"parquet": parquet_parts, "csv": csv_parts, "json": json_parts}


def _slices(answer: pa.Table) -> Iterator[pa.RecordBatch]:
    for at in range(0, answer.num_rows, SLICE_ROWS):
        yield answer.slice(at, SLICE_ROWS).combine_chunks().to_batches()[0]


def _columns(batch: pa.RecordBatch, text: CellText, null: str, times: Callable[[pa.Array], pa.Array]) -> list[pa.Array]:
    """Return each column as the texts of its cells."""
    return [_texts(column, text, times).fill_null(null) for column in batch.columns]


def _texts(column: pa.Array, text: CellText, times: Callable[[pa.Array], pa.Array]) -> pa.Array:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_timestamp(kind):
        return times(column)
    if pa.types.is_list(kind):
        codes, distinct = list_codes(column)
        indices = pa.array(codes, mask=codes < 0)
    else:
        encoded = column.dictionary_encode()
        indices, distinct = encoded.indices, encoded.dictionary
    return pa.array([text(value) for value in distinct.to_pylist()], pa.string()).take(indices)


def _json_text(value: object) -> str:
    return Display(StringIO()).json(compact_json(value))


def _csv(form: str, columns: list[str], rows: list[list[Any]]) -> str:
    out = StringIO()
    write_rows(Display(out), form, columns, rows)
    return out.getvalue()


def _ms_texts(times: pa.Array) -> pa.Array:
    return as_ms(times).cast(pa.string())


def _time_texts(times: pa.Array) -> pa.Array:
    ms = as_ms(times)
    if (compute.min(ms).as_py() or 0) < _YEAR_1000_MS:
        return pa.array([None if time is None else datetime_text(time) for time in times.to_pylist()], pa.string())
    texts = ms.cast(pa.timestamp("ms")).cast(pa.string())
    return compute.binary_join_element_wise(compute.replace_substring(texts, " ", "T"), "Z", "")


def _joined(parts: list[Any], end: str) -> bytes:
    """Return the parts of each row one after the other, and the rows likewise."""
    rows = compute.binary_join_element_wise(*parts, end, "")
    first, last = rows.offset, rows.offset + len(rows)
    offsets = np.frombuffer(rows.buffers()[1], np.int32, last + 1)
    data: bytes = rows.buffers()[2].slice(int(offsets[first]), int(offsets[last] - offsets[first])).to_pybytes()
    return data
