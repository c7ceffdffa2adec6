"""An answer as files: Parquet, CSV, JSON and the page; each appears under its name only when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from io import StringIO
from typing import TYPE_CHECKING, Final

from metashell.forms import Display, counted, write_rows
from metashell.log.identity import name_of
from metashell.reports.catalog import Report
from metashell.reports.index import render_index
from metashell.reports.page import INDEX, render_page
from metashell.reports.today import Judged
from metashell.reports.words import plain_rows, time_text, unix_ms

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.stores import Store


def left_out(fault_count: int) -> str:
    """What a reader must know of faults that were skipped."""
    return f"left out: {counted(fault_count, 'corrupt or unknown place')}"


def notes_on(fault_count: int, *, show_secrets: bool) -> tuple[str, ...]:
    """What a reader must know of how the input was read."""
    notes = []
    if fault_count:
        notes.append(f"{left_out(fault_count).capitalize()}.")
    if show_secrets:
        notes.append("Secrets were asked for and are not redacted.")
    return tuple(notes)


def left_out_lines(reports: Sequence[Report]) -> list[str]:
    """What to say of reports that nothing here can answer, a line for each log that is missing."""
    logs = dict.fromkeys(report.log for report in reports)
    return [f"left out, no {name_of(log).removeprefix('the ')} here: {', '.join(r.name for r in reports if r.log == log)}" for log in logs]


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
        store.put(name, answer_bytes(report, answer, form, sources=sources, notes=notes, has_index=has_index), durable=True)
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


def answer_bytes(
    report: Report, answer: pa.Table, form: str, *, sources: str, notes: tuple[str, ...] = (), has_index: bool = False
) -> bytes:
    """An answer in a form, with what a reader must know of it where the form has room for that."""
    if form == "html":
        return render_page(report, answer, sources=sources, notes=notes, has_index=has_index).encode()
    return WRITERS[form](answer.replace_schema_metadata({"notes": " ".join(notes)}) if notes else answer)


def as_parquet(answer: pa.Table) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(answer, sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def as_csv(answer: pa.Table) -> bytes:
    """CSV; times are text in UTC."""
    return _text("csv", answer, time_text)


def as_json(answer: pa.Table) -> bytes:
    """One array of objects, a row a line; times are Unix milliseconds, as in all JSON of ours."""
    return _text("json", answer, unix_ms)


def _text(form: str, answer: pa.Table, convert: Callable[[datetime], object]) -> bytes:
    out = StringIO()
    write_rows(Display(out), form, answer.column_names, plain_rows(answer, convert))
    return out.getvalue().encode()


WRITERS: Final[dict[str, Callable[[pa.Table], bytes]]] = {"parquet": as_parquet, "csv": as_csv, "json": as_json}
FORMS: Final = ("parquet", "csv", "json", "html")
