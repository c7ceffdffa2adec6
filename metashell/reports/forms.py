"""An answer as files: Parquet, CSV, JSON and the page; each appears under its name only when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from metashell.forms import counted
from metashell.log.identity import name_of
from metashell.progress import tell
from metashell.reports.catalog import Report
from metashell.reports.index import render_index
from metashell.reports.page import INDEX, render_page
from metashell.reports.today import Judged

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
        tell(f"writing {name}")
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
    """An answer in a form, piece by piece, with what a reader must know of it where the form has room for that."""
    if form == "html":
        return iter([render_page(report, answer, sources=sources, notes=notes, has_index=has_index).encode()])
    return WRITERS[form](answer.replace_schema_metadata({"notes": " ".join(notes)}) if notes else answer)


def as_parquet(answer: pa.Table) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    from metashell.columns.meanings.comments import with_spark_metadata

    sink = pa.BufferOutputStream()
    parquet.write_table(answer.cast(with_spark_metadata(answer.schema)), sink, compression="zstd")
    yield sink.getvalue().to_pybytes()


def as_csv(answer: pa.Table) -> Iterator[bytes]:
    """CSV; times are text in UTC."""
    from metashell.reports.columnar import csv_parts

    return csv_parts(answer)


def as_json(answer: pa.Table) -> Iterator[bytes]:
    """One array of objects, a row a line; times are Unix milliseconds, as in all JSON of ours."""
    from metashell.reports.columnar import json_parts

    return json_parts(answer)


WRITERS: Final[dict[str, Callable[[pa.Table], Iterator[bytes]]]] = {"parquet": as_parquet, "csv": as_csv, "json": as_json}
FORMS: Final = ("parquet", "csv", "json", "html")
