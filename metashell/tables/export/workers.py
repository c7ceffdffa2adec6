"""The processes of an export: started before there is work for them, with everything loaded that they need.
Each writes the tables of a split, each to a file."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import pyarrow as pa

from metashell.common.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.common.forms import compact_json, csv_cell
from metashell.common.options import RawCsv
from metashell.common.terminal import spreadsheet_text
from metashell.common.uris import is_uri
from metashell.disk.file_system import errors_naming
from metashell.tables import do_without_pandas
from metashell.tables.columns.reader import read_split
from metashell.tables.columns.record_tables import marked_schema
from metashell.tables.columns.typed_arrays import file_batch, file_schema, plain_type, row_values, shaped_batch, shaped_schema
from metashell.tables.columns.typed_tables import schema_of, typed_table
from metashell.tables.export.parquet import ParquetTable, table_of
from metashell.tables.export.plan import ExportOptions, part_path
from metashell.tables.read_options import NewerNotes, ReadOptions, note_newer
from metashell.tables.schemas import FAULTS, PLACE, commented
from metashell.tables.splits import Split

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.process import BaseProcess


EARLY_BYTES = 64 << 20
"""For an input of this size processes start before the plan is made."""
_FORKED_TOO = frozenset(("jemalloc_bg_thd",))
"""Threads that a forked process starts again by itself: that of pyarrow's allocator, which runs as soon as pyarrow is imported."""


class Workers:
    """At most `jobs` processes. Errors of tasks are theirs; MetashellError when a process is gone.

    `load` imports what tasks need, `prepare` is what each process does before its first task.
    """

    def __init__(self, jobs: int, load: Callable[[], object], prepare: Callable[[], object]) -> None:
        self.jobs = jobs
        self._load = load
        self._prepare = prepare
        self._pool: ProcessPoolExecutor | None = None
        self._futures: dict[Future[Any], int] = {}
        self._processes: list[BaseProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop(is_hasty=error is not None)

    def stop(self, *, is_hasty: bool = True) -> None:
        """End the processes; in haste without waiting for running tasks."""
        if self._pool is None:
            return
        if is_hasty:
            for process in self._processes:
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None

    def start(self, count: int) -> None:
        """Start processes, unless they are running: one a task, but no more than `jobs`."""
        if self._pool is not None or min(self.jobs, count) <= 1:
            return
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import active_children, get_context

        others = set(active_children())
        context = get_context(self._start_method())
        # This process handles Ctrl-C; the ones that it starts ignore it.
        with _ignoring_interrupts():
            self._pool = ProcessPoolExecutor(min(self.jobs, count), mp_context=context, initializer=_begin, initargs=(self._prepare,))
            for _ in range(min(self.jobs, count)):
                self._pool.submit(_ready)
            self._processes = [process for process in active_children() if process not in others]

    def _start_method(self) -> str:
        """Return how processes start. A fork is quick and shares loaded modules; a spawned process takes 0.7 s of CPU time to load them.

        A fork is safe unless pyarrow has been used before: its threads, and those of a store's client, would be missing.
        """
        if "pyarrow" in sys.modules and _has_threads():
            return "spawn"
        self._load()
        return "fork"

    @property
    def are_started(self) -> bool:
        return self._pool is not None

    def submit(self, work: Callable[..., Any], *task: Any) -> None:
        """Run a task in one of the processes, which must have been started. Tasks are numbered from 0 as they come."""
        assert self._pool is not None
        with _ignoring_interrupts():
            self._futures[self._pool.submit(work, *task)] = len(self._futures)

    def results(self, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Yield the results of `work(*task)` with the number of the task, as they come; without processes the tasks run here, in order.

        If tasks were submitted already, they are these.
        """
        self.start(len(tasks))
        if self._pool is None:
            yield from ((number, work(*task)) for number, task in enumerate(tasks))
            return
        from concurrent.futures import as_completed
        from concurrent.futures.process import BrokenProcessPool

        try:
            if not self._futures:
                for task in tasks:
                    self.submit(work, *task)
            futures, self._futures = self._futures, {}
            assert len(futures) == len(tasks)
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise MetashellError("a process of the export ended unexpectedly: out of memory?") from None


def _has_threads() -> bool:
    """Return whether this process has threads that a fork would lack; assumed if the system does not tell."""
    try:
        for thread in os.listdir("/proc/self/task"):
            if int(thread) != os.getpid():
                with open(f"/proc/self/task/{thread}/comm", encoding="utf-8", errors="replace") as file:
                    if file.read().strip() not in _FORKED_TOO:
                        return True
    except OSError:
        return True
    return False


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    unblocked = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, unblocked)


def _begin(prepare: Callable[[], object]) -> None:
    """Start a process: watch its parent, and prepare its work."""
    Thread(target=_end_with_parent, daemon=True).start()
    prepare()


def _end_with_parent() -> None:
    """End this process when its parent ends: it would wait for ever, and keep a killed parent's standard output open."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _ready() -> None:
    """Do nothing. As a task it makes the pool start a process."""


def is_large(paths: Sequence[str]) -> bool:
    """Return whether the files below some paths are large enough together to start processes before anything is planned.

    So is what lies in a store: once its client is there, with its threads, processes would have to load everything anew.
    """
    total = 0
    for path in paths:
        if is_uri(path):
            return True
        names = (os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files) if os.path.isdir(path) else (path,)
        for name in names:
            try:
                total += os.stat(name).st_size
            except OSError:
                continue  # planning reports it
            if total >= EARLY_BYTES:
                return True
    return False


_HELD_BYTES_MAX = 128 << 20
_STORE_THREADS = 8
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Numbers of malloc.h."""


@dataclass(slots=True)
class SplitResult:
    """The result of a split: rows by table, or the error that ended it; in a store also its files and their sizes.

    `newer` is what a newer release wrote.
    """

    rows: dict[str, int] = field(default_factory=dict)
    newer: NewerNotes = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    error: MetashellError | None = None


def prepare_worker(*, is_local: bool) -> None:
    """In a process of its own: one thread, since there is a process for each core; more where they wait for a store."""
    do_without_pandas()
    pa.set_cpu_count(1)
    # It keeps memory that was used before; pyarrow's own gives it back and gets it anew, a twentieth of the time of an export.
    pa.set_memory_pool(pa.system_memory_pool())
    _keep_memory()
    pa.set_io_thread_count(1 if is_local else _STORE_THREADS)


def _keep_memory() -> None:
    """Let glibc keep what is freed, which each chunk needs anew: to get it from the system, page by page, takes a thirtieth of the time."""
    import ctypes

    with suppress(AttributeError, OSError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 256 << 20)
        # Threads that upload take what the one that writes has freed.
        mallopt(_M_ARENA_MAX, 1)


def export_split(number: int, split: Split, options: ExportOptions, folder: str) -> SplitResult:
    """Write the tables of a split below `folder`; never raises for what files hold."""
    result = SplitResult()
    parts: dict[str, PartFile] = {}
    reading = ReadOptions(tables=options.tables, on_error=options.on_error, show_secrets=options.show_secrets, joins_files=True)
    try:
        for table, batch in read_split(split, reading):
            note_newer(result.newer, table, batch)
            part = parts.get(table)
            if part is None:
                schema = marked_schema(commented(table, schema_of(table, options.columns)), show_secrets=options.show_secrets)
                made = partial(typed_rows, table) if options.columns == "typed" else table_of
                part = parts[table] = PartFile(part_path(folder, table, number, options.form), schema, options.form, made)
            part.add(batch)
            if sum(one.held_bytes for one in parts.values()) > _HELD_BYTES_MAX:
                for one in parts.values():
                    one.flush()
        for part in parts.values():
            part.finish()
    except (LogCorruptError, UsageError) as error:
        for part in parts.values():
            part.drop()
        result.error = error
    result.rows = {table: part.rows for table, part in parts.items()}
    result.rows.setdefault(FAULTS, 0)
    return result


def typed_rows(table: str, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Return the typed form of raw batches."""
    return typed_table(table, table_of(batches).to_batches())


def write_empty(folder: str, table: str, options: ExportOptions) -> str:
    """Write a table without rows below `folder`, so that its columns can be found; returns its path."""
    path = part_path(folder, table, 0, options.form)
    schema = marked_schema(commented(table, schema_of(table, options.columns)), show_secrets=options.show_secrets)
    PartFile(path, schema, options.form).finish()
    return path


# ---- files of a table

_GROUP_ROWS = 1 << 18
_GROUP_BYTES = 48 << 20
"""The size at which a row group is written. Twice that saves 2 % of the output and costs a process 40 MiB; half costs 5 % of the time."""


_PLACE = [name for name, _ in PLACE]
Made = Callable[[Sequence[pa.RecordBatch]], pa.Table]


class TableWriter(Protocol):
    """Takes the rows of one row group after another; `close` completes the file."""

    def write(self, rows: pa.Table) -> None: ...
    def close(self) -> None: ...


class PartFile:
    """One table of one split: gathers batches to row groups, and writes them under another name first.

    `made` makes of the batches of a row group what is written.
    """

    def __init__(self, path: str, schema: pa.Schema, form: str, made: Made = table_of) -> None:
        self.path = path
        self._made = made
        self.rows = 0
        # With the process id: a process of a killed export may live for a moment longer.
        self._unfinished = f"{path}.{os.getpid()}.part"
        with errors_naming(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            writer = partial(_Csv, safe=str) if isinstance(form, RawCsv) else FORMATS[form]
            self._writer = writer(self._unfinished, schema)
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self.held_bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self._held.append(batch)
        self._held_rows += batch.num_rows
        # The texts of place are parts of what all batches of a file share.
        self.held_bytes += batch.drop_columns(_PLACE).get_total_buffer_size()
        if self._held_rows >= _GROUP_ROWS or self.held_bytes >= _GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._held:
            with errors_naming(self.path):
                self._writer.write(self._made(self._held))
            self._held, self._held_rows, self.held_bytes = [], 0, 0

    def finish(self) -> None:
        """Write what is left, and give the file its name."""
        self.flush()
        with errors_naming(self.path):
            self._writer.close()
            os.replace(self._unfinished, self.path)

    def drop(self) -> None:
        """Close and remove an unfinished file; on a full disk closing fails, too."""
        with suppress(OSError, PathError):
            self._writer.close()
        with suppress(OSError):
            os.unlink(self._unfinished)


class _Arrow:
    def __init__(self, path: str, schema: pa.Schema) -> None:
        from pyarrow.ipc import new_file

        # In such a file a column has one dictionary for all batches.
        self._schema = file_schema(shaped_schema(schema, plain_type))
        self._writer = new_file(path, self._schema)

    def write(self, rows: pa.Table) -> None:
        for batch in rows.combine_chunks().to_batches():
            self._writer.write_batch(shaped_batch(file_batch(batch), self._schema))

    def close(self) -> None:
        self._writer.close()


class _JsonLines:
    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115 - open until close
        self._names = schema.names

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches():
            self._file.writelines(f"{compact_json(dict(zip(self._names, row, strict=True)))}\n" for row in row_values(batch))

    def close(self) -> None:
        self._file.close()


class _Csv:
    """CSV by RFC 4180: lists and structs as JSON text, null as an empty field."""

    def __init__(self, path: str, schema: pa.Schema, safe: Callable[[str], str] = spreadsheet_text) -> None:
        self._file = open(path, "w", encoding="utf-8", newline="")  # noqa: SIM115 - open until close
        self._cell = partial(csv_cell, safe=safe)
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(map(safe, schema.names))

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches():
            self._writer.writerows(map(self._cell, row) for row in row_values(batch))

    def close(self) -> None:
        self._file.close()


def _parquet(path: str, schema: pa.Schema) -> TableWriter:
    return ParquetTable(path, schema)


FORMATS: dict[str, Callable[[str, pa.Schema], TableWriter]] = {
    "parquet": _parquet,
    "arrow": _Arrow,
    "csv": _Csv,
    "jsonl": _JsonLines,
}
