"""A plain export on Spark: for each table a folder of Parquet files, `TABLE.parquet/part-NNNNN-RUN.parquet`.

The driver plans. Tasks decode their splits and write whole columns by the code of `metashell export`, so that no row goes through the JVM,
whose own writer is several times slower than the decoding. All of it goes to a folder of work below the output, `_spark-reports`, which
readers of tables ignore, and each attempt of a task has a folder of its own: of what a failed, repeated, speculative or late attempt wrote
nothing is used. Once all tasks are done the driver moves their files to their places, and `_SUCCESS` comes last, with the counts of rows.
On a file system a table's folder appears whole, by one rename; in an object store file by file.

An export that fails leaves nothing. One that is killed leaves the folder of work, which the next one removes, and no `_SUCCESS`: before the
moves no table is there. An overwrite moves the old tables away only when all new files are written."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from json import dumps
from shutil import rmtree
from socket import gethostname
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

from metashell.common.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.tables.dictionary import table_names
from metashell.tables.export.plan import FAULTS, MANIFEST, ExportOptions, ExportReport, part_path, refuse_lake
from metashell.tables.export.split_writer import export_split, write_empty
from metashell.tables.read_options import NewerNotes
from metashell.tables.splits import Split, logs_of, require_logs
from metashell.tables.stores import Store, open_store
from spark_reports.session import run_tasks
from spark_reports.source import balanced_splits, begin_task

SUCCESS: Final = "_SUCCESS"
WORK: Final = "_spark-reports"
_FORM: Final = "parquet"
_FILE: Final = re.compile(r"\w+\.parquet/part-\d{5,}-[0-9a-f]{8}\.parquet")
_COUNTS: Final = "rows"


@dataclass(slots=True)
class ExportedSplit:
    """The files that a task wrote, by name with their sizes; the rows by table; what a newer release wrote; or the error that ended it."""

    files: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    newer: NewerNotes = field(default_factory=dict)
    error: MetashellError | None = None


def export_plain(spark: Any, options: ExportOptions, *, overwrites: bool, split_bytes: int = 0) -> ExportReport:
    """Write the tables of all logs, in tasks of `split_bytes` each; where that is 0, so that there is work for all cores.

    Patterns in paths are spelled out already. Errors: LogCorruptError for a fault, unless they are skipped; UsageError where something is
    there already; MetashellError where a task failed for another reason, or the store. Then the output is as it was.
    """
    store = open_store(options.out, sources=options.paths)
    splits = list(dict.fromkeys(balanced_splits(options.paths, split_bytes, options.log)))
    require_logs(logs_of(splits), options.named_tables, options.paths)
    had_folder = not store.is_local or os.path.isdir(store.place)
    try:
        with store.lock("spark-reports export") as held:
            old = refuse_other_output(store, overwrites=overwrites)
            store.remove_below(WORK)
            export = _Export(spark.sparkContext, store, options, f"{WORK}/{uuid4().hex}")
            try:
                report = export.write(splits)
                held.require()
            except (Exception, KeyboardInterrupt):
                with suppress(MetashellError):
                    store.remove_below(WORK)
                raise
            # An error from here on leaves the folder of work, which has what is not in its place.
            export.publish(old, report)
            store.remove_below(WORK)
    except (Exception, KeyboardInterrupt):
        if not had_folder:
            # The lock and the work were all that was in it.
            with suppress(OSError):
                if not store.files():
                    rmtree(store.place)
        raise
    return report


def refuse_other_output(store: Store, *, overwrites: bool) -> list[str]:
    """Return the files of an earlier export of ours, which an overwrite replaces.

    Errors: UsageError for a lake, for tables that no export of Spark has written, and for any unless it `overwrites`.
    """
    refuse_lake(store, "--mode append")
    names = [file.name for file in store.files()]
    tables = {f"{table}.{_FORM}" for table in table_names()}
    there = [name for name in names if name.partition("/")[0] in tables or name == SUCCESS]
    if MANIFEST in names:
        raise UsageError(f"{store.shown}: has an export of metashell: name another --out", "--out")
    ours = [name for name in there if _FILE.fullmatch(name) or name == SUCCESS]
    said_whole = store.read(SUCCESS) if SUCCESS in names else b""
    is_ours = _COUNTS.encode() in (said_whole or b"") or any(name.startswith(f"{WORK}/") for name in names)
    if there and not overwrites:
        said = "--mode overwrite writes it anew, --mode append makes a lake of its own"
        raise UsageError(f"{store.shown}: has tables already: {said}; or name another --out", "--out")
    if there and (len(ours) < len(there) or not is_ours):
        other = next(name for name in there if not is_ours or name not in ours)
        raise UsageError(
            f"{store.shown_name(other)}: is there already, and no export has written it: remove it, or name another --out", "--out"
        )
    return ours


@dataclass(frozen=True, slots=True)
class _Export:
    """An export into a store that is locked; `work` is its folder below it."""

    context: Any
    store: Store
    options: ExportOptions
    work: str

    def write(self, splits: list[Split]) -> _Written:
        """Have tasks write all splits. Errors: the first error of a task; MetashellError for files that are on another machine."""
        going = f"{self.work}/going"
        self.store.put(going, b"\n")
        is_apart = not self.context.master.startswith("local")
        found = run_tasks(self.context, ExportTask(self.store.place, self.options, self.work, going, is_apart), list(enumerate(splits)))
        for result in found:
            if result is not None and result.error is not None:
                raise result.error
        report = _Written(split_count=len(splits))
        for result in found:
            if result is None:
                raise MetashellError(f"{self.store.shown_name(going)}: is gone: a task found a fault, and was lost before it could say it")
            report.add({"rows": result.rows, "newer": result.newer})
            report.files.update(result.files)
        self._add_empty(report)
        there = self.store.sizes(report.files)
        for name, size in report.files.items():
            if there.get(name) != size:
                raise MetashellError(
                    f"{self.store.shown_name(name)}: is not there, although a task has written it: {self.store.shown} lies on another "
                    "machine for it: name an --out that all machines share"
                )
        return report

    def _add_empty(self, report: _Written) -> None:
        """Write the named tables that have no rows, so that their columns can be found."""
        with TemporaryDirectory(prefix="spark-reports-") as folder:
            for table in sorted({FAULTS, *self.options.named_tables}):
                if not report.rows.get(table):
                    path = write_empty(folder, table, self.options)
                    name = part_path(f"{self.work}/empty", table, 0, _FORM)
                    report.files[name] = os.stat(path).st_size
                    self.store.put_file(name, path)

    def publish(self, old: list[str], report: _Written) -> None:
        """Give all files their places, those of the export before gone."""
        store, run = self.store, self.work.rpartition("/")[2][:8]
        top = f"{self.work}/whole/" if store.is_local else ""
        moves = [(name, f"{top}{_with_run('/'.join(name.split('/')[-2:]), run)}", size) for name, size in sorted(report.files.items())]
        if store.is_local:
            store.move_all(moves)
        store.remove(SUCCESS)
        if store.is_local:
            for folder in sorted({name.partition("/")[0] for name in old if name != SUCCESS}):
                store.move(folder, f"{self.work}/old/{folder}")
            for folder in sorted({target.split("/")[-2] for _, target, _ in moves}):
                store.move(f"{top}{folder}", folder)
        else:
            store.remove_all(name for name in old if name != SUCCESS)
            store.move_all(moves)
        store.put(SUCCESS, f"{dumps({_COUNTS: report.rows}, sort_keys=True)}\n".encode())


def _with_run(name: str, run: str) -> str:
    return f"{name.removesuffix(f'.{_FORM}')}-{run}.{_FORM}"


@dataclass(slots=True)
class _Written(ExportReport):
    """A report, and the files of work with their sizes."""

    files: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExportTask:
    """The work of a task on its split; it travels to the executor.

    A fault in a file is a result, not an exception: Spark would try again, and stop other tasks while they write. The file `going` says
    that results are wanted: whoever finds a fault, or ends the export, removes it, and tasks that begin later do nothing.
    With `names_host` an error about a file says on which machine.
    """

    place: str
    options: ExportOptions
    work: str
    going: str
    names_host: bool = False

    def __call__(self, numbered: tuple[int, Split]) -> ExportedSplit | None:
        begin_task()
        number, split = numbered
        store = open_store(self.place)
        if store.read(self.going) is None:
            return None
        result = self._export(store, number, split, f"{self.work}/{uuid4().hex}")
        if result.error is not None:
            if self.names_host and not isinstance(result.error, LogCorruptError):
                # A machine may have no file of that name, or another one.
                result.error = PathError(f"{result.error} (on {gethostname()})")
            with suppress(MetashellError):
                store.remove(self.going)
        return result

    def _export(self, store: Store, number: int, split: Split, attempt: str) -> ExportedSplit:
        if store.is_local:
            return self._written(number, split, os.path.join(store.place, attempt), attempt)
        with TemporaryDirectory(prefix="spark-reports-") as folder:
            result = self._written(number, split, folder, attempt)
            try:
                store.put_files([(name, os.path.join(folder, *name.split("/")[-2:])) for name in result.files])
            except MetashellError as error:
                result.error = error
            return result

    def _written(self, number: int, split: Split, folder: str, attempt: str) -> ExportedSplit:
        done = export_split(number, split, self.options, folder)
        if done.error is not None:
            return ExportedSplit(error=done.error)
        tables = [table for table, count in done.rows.items() if count]
        files = {part_path(attempt, table, number, _FORM): os.stat(part_path(folder, table, number, _FORM)).st_size for table in tables}
        return ExportedSplit(files, done.rows, done.newer)
