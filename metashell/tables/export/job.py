"""Export of logs to files, one table each, by a pool of processes over splits.

On this machine no table gets its final name before all of them are complete: parts are written in a work folder inside the output
directory and moved at the end. An interrupted export continues where it stopped. Memory does not depend on the input: a process holds one
chunk and the row groups that it gathers.

In an object store or HDFS a table is a folder of parts, each part whole or absent, and the manifest comes last. A worker writes the parts
of a split on its own machine and uploads them once, under final names that no other export has used there: `TABLE.FORM/part-NNNNN.FORM`.
Readers go by `_manifest.json`, which lists all files. It replaces the one before at once; only then are the files removed that it does
not name. So an earlier export stays whole until the new one is. An export that fails removes what it has uploaded. One that was killed
leaves its journal, a small file for each finished split below `_metashell/export`: the next export with the same settings takes over what
it names, and removes the rest."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TextIO

from metashell.common.errors import MetashellError, UsageError
from metashell.common.runtime import processors
from metashell.tables.dictionary import table_names
from metashell.tables.export.plan import (
    FAULTS,
    MANIFEST,
    WORK_FOLDER,
    Entry,
    ExportOptions,
    ExportReport,
    Journal,
    Progress,
    are_published,
    export_splits,
    forget_work,
    has_parts,
    part_path,
    publish,
    read_manifest,
    refuse_lake,
    require_folder,
    require_no_loss,
    split_key,
    take_over,
)
from metashell.tables.export.workers import Workers, is_large
from metashell.tables.splits import Split
from metashell.tables.stores import Store, open_store

if TYPE_CHECKING:
    from metashell.tables.export.split_writer import SplitResult


def export(options: ExportOptions, progress: Progress | None = None, planned: Callable[[int], None] | None = None) -> ExportReport:
    """Export everything; `planned` gets the number of bytes before the first is read.

    Errors: LogCorruptError for the first fault, unless faults are skipped, UsageError for what cannot be opened; then no table
    has appeared or changed. OSError where the output cannot be written; NotADirectoryError for an output that is a file.
    """
    store = open_store(options.out)
    with Workers(options.jobs or processors(), _load, partial(_prepare_worker, store)) as workers:
        if not store.is_local:
            return export_to_store(options, store, workers, progress, planned)
        options = replace(options, out=store.place)
        had_folder = require_folder(options.out)
        with store.lock("metashell export"):
            refuse_lake(store)
            _refuse_foreign(options)
            if is_large(options.paths):
                workers.start(workers.jobs)
            return _export(options, workers, progress, planned, had_folder=had_folder)


def _export(
    options: ExportOptions, workers: Workers, progress: Progress | None, planned: Callable[[int], None] | None, *, had_folder: bool
) -> ExportReport:
    work = os.path.join(options.out, WORK_FOLDER)
    is_new = not os.path.lexists(work) and not os.path.lexists(os.path.join(options.out, MANIFEST))
    splits = _plan_at_work(options, workers, work, had_folder=had_folder) if is_new and workers.are_started else [*export_splits(options)]
    if planned is not None:
        planned(sum(split.bytes for split in splits))
    keys = [split_key(split) for split in splits]
    old = read_manifest(options.out)
    if old.get("settings") == options.settings() and [entry["split"] for entry in old["splits"]] == keys and are_published(old, options):
        return ExportReport.unchanged(old["splits"])
    require_no_loss(options.out, old, options)
    os.makedirs(options.out, exist_ok=True)
    journal = Journal(work, options.settings())
    journal.open()
    report = ExportReport(split_count=len(splits))
    take_over(old, keys, journal, options)
    missing = []
    for number, (key, split) in enumerate(zip(keys, splits, strict=True)):
        entry = journal.done.get(key)
        if entry is not None and has_parts(work, entry, options.form):
            report.reused_count += 1
            if progress is not None:
                progress(split.bytes, sum(entry["rows"].values()))
        else:
            missing.append((number, split))
    # A split keeps its number even if splits before it have come since.
    taken = {entry["part"] for entry in journal.done.values()}
    numbers = (number for number in range(len(splits) + len(taken)) if number not in taken)
    tasks = [(next(numbers), split, options, work) for _, split in missing]
    for index, result in workers.results(_export_split, tasks):
        if result.error is not None:
            if not journal.done:  # nothing that the next export could take over
                workers.stop()
                forget_work(work, had_folder=had_folder)
            raise result.error
        number = missing[index][0]
        journal.add({"split": keys[number], "part": tasks[index][0], "rows": result.rows, "newer": result.newer})
        if progress is not None:
            progress(splits[number].bytes, sum(result.rows.values()))
    entries = [journal.done[key] for key in keys]
    for entry in entries:
        report.add(entry)
    publish(old, entries, report.rows, options, work, _write_empty)
    return report


def _refuse_foreign(options: ExportOptions) -> None:
    """Errors: UsageError where a file with a table's name was not written by an export: it would be replaced."""
    if os.path.lexists(os.path.join(options.out, WORK_FOLDER)):
        return  # an export was interrupted, perhaps while it moved tables
    old = read_manifest(options.out)
    settings = old.get("settings", {})
    ours = {*old.get("rows", {}), *(settings.get("tables") or ())} if settings.get("format") == options.form else set()
    for table in options.tables or table_names():
        path = os.path.join(options.out, f"{table}.{options.form}")
        if table not in ours and os.path.lexists(path):
            raise UsageError(f"{path}: is there already, and no export has written it: remove it, or name another --out", path)


def _plan_at_work(options: ExportOptions, workers: Workers, work: str, *, had_folder: bool) -> list[Split]:
    """Return the splits of an export into an empty folder: the workers get each as soon as it is known."""
    splits: list[Split] = []
    try:
        for split in export_splits(options):
            if not splits:
                Journal(work, options.settings()).open()
            workers.submit(_export_split, len(splits), split, options, work)
            splits.append(split)
    except UsageError:
        # A path that does not exist: leave no trace.
        workers.stop()
        forget_work(work, had_folder=had_folder)
        raise
    return splits


def _export_split(number: int, split: Split, options: ExportOptions, folder: str) -> SplitResult:
    from metashell.tables.export.split_writer import export_split

    return export_split(number, split, options, folder)


def _write_empty(folder: str, table: str, options: ExportOptions) -> str:
    from metashell.tables.export.split_writer import write_empty

    return write_empty(folder, table, options)


def _load() -> None:
    """Import what a process of an export needs."""
    import metashell.tables.export.parquet
    import metashell.tables.export.workers  # noqa: F401


def _prepare_worker(store: Store) -> None:
    from metashell.tables.export.split_writer import prepare_worker

    prepare_worker(is_local=store.is_local)


# ---- into a store

JOURNAL: Final = "_metashell/export"
_SETTINGS: Final = f"{JOURNAL}/settings.json"


def export_to_store(
    options: ExportOptions, store: Store, workers: Workers, progress: Progress | None, planned: Callable[[int], None] | None
) -> ExportReport:
    """Export everything. Errors: as `export`; MetashellError where the store fails, before anything is read if it can be known."""
    if is_large(options.paths):
        workers.start(workers.jobs)
    splits = list(export_splits(options))
    if planned is not None:
        planned(sum(split.bytes for split in splits))
    # Before the store is opened: its threads would be missing in a fork.
    workers.start(len(splits))
    store.require_writable()
    with store.lock("metashell export") as held, TemporaryDirectory(prefix="metashell-export-") as work:
        refuse_lake(store)
        run = _Run(options, store, work, splits)
        if run.is_unchanged():
            return ExportReport.unchanged(run.old["splits"])
        run.refuse_foreign()
        require_no_loss(store.shown, run.old, options)
        run.begin()
        try:
            report = run.write(workers, progress)
            held.require()
            run.publish(report)
        except BaseException:
            workers.stop()
            # The first error is reported; the next export removes what is left.
            with suppress(MetashellError):
                run.undo()
            raise
        run.tidy()
        return report


@dataclass(slots=True)
class _Run:
    """An export into a store that is locked."""

    options: ExportOptions
    store: Store
    work: str
    splits: list[Split]
    old: Entry = field(init=False)
    there: dict[str, int] = field(init=False)
    """The files that were there at the start, with their sizes."""
    done: dict[str, Entry] = field(init=False, default_factory=dict)
    new: dict[str, int] = field(init=False, default_factory=dict)
    """The files of the new manifest, with their sizes."""
    is_published: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.old = _manifest(self.store.read(MANIFEST))
        self.there = {file.name: file.size for file in self.store.files()}

    def is_unchanged(self) -> bool:
        keys = [split_key(split) for split in self.splits]
        entries = self.old["splits"]
        same = self.old["settings"] == self.options.settings() and [entry["split"] for entry in entries] == keys
        return same and _SETTINGS not in self.there and all(self.there.get(name) == size for name, size in self.old["files"].items())

    def refuse_foreign(self) -> None:
        """Errors: UsageError where a file with a table's name was not written by an export: it would be mixed with ours."""
        if _SETTINGS in self.there:
            return  # an export was killed here
        own = tuple(f"{table}.{self.options.form}" for table in self.options.tables or table_names())
        for name in self.there:
            if name.split("/")[0] in own and name not in self.old["files"]:
                shown = self.store.shown_name(name)
                raise UsageError(f"{shown}: is there already, and no export has written it: remove it, or name another --out", shown)

    def begin(self) -> None:
        """Take over what is done, from the last export or one that was killed, and say that there is one now."""
        wanted = {split_key(split) for split in self.splits}
        found = list(self.old["splits"]) if self.old["settings"] == self.options.settings() else []
        if _SETTINGS in self.there and _json(self.store.read(_SETTINGS)) == self.options.settings():
            found += [_json(self.store.read(name)) for name in self.there if name.startswith(f"{JOURNAL}/part-")]
        for entry in found:
            if entry.get("split") in wanted and all(self.there.get(name) == size for name, size in entry["files"].items()):
                self.done[entry["split"]] = entry
        self.store.put(_SETTINGS, _text(self.options.settings()))

    def write(self, workers: Workers, progress: Progress | None) -> ExportReport:
        """Write and upload every part that is missing."""
        report = ExportReport(split_count=len(self.splits))
        taken = {int(match[1]) for name in self.there if (match := _PART.search(name))}
        first = max(taken, default=-1) + 1
        tasks: list[tuple[int, Split, ExportOptions, Store, str]] = []
        for split in self.splits:
            entry = self.done.get(split_key(split))
            if entry is None:
                tasks.append((first + len(tasks), split, self.options, self.store, self.work))
                continue
            report.reused_count += 1
            if progress is not None:
                progress(split.bytes, sum(entry["rows"].values()))
        for index, result in workers.results(_export_part, tasks):
            if result.error is not None:
                raise result.error
            number, split = tasks[index][:2]
            entry = {"split": split_key(split), "part": number, "rows": result.rows, "newer": result.newer, "files": result.files}
            self.done[entry["split"]] = entry
            if len(tasks) > 1:
                self.store.put(f"{JOURNAL}/part-{number:05d}.json", _text(entry))
            if progress is not None:
                progress(split.bytes, sum(result.rows.values()))
        for split in self.splits:
            entry = self.done[split_key(split)]
            report.add(entry)
            self.new |= entry["files"]
        self._add_empty(report.rows, first + len(tasks))
        return report

    def _add_empty(self, rows: dict[str, int], number: int) -> None:
        """Write named tables that have no rows, so that their columns can be found."""
        from metashell.tables.export.split_writer import write_empty

        for table in sorted({FAULTS, *self.options.named_tables}):
            if not rows.get(table):
                path = write_empty(self.work, table, self.options)
                name = part_path("", table, number, self.options.form)
                self.new[name] = os.stat(path).st_size
                self.store.put_file(name, path)

    def publish(self, report: ExportReport) -> None:
        """Give the tables their manifest: from now on they are what is there."""
        entries = [self.done[split_key(split)] for split in self.splits]
        settings = self.options.settings()
        self.store.put(MANIFEST, _text({"settings": settings, "rows": report.rows, "splits": entries, "files": self.new}))
        self.is_published = True

    def tidy(self) -> None:
        """Remove what the new manifest does not name, of ours."""
        self._remove_others(set(self.new))

    def undo(self) -> None:
        """Remove what the old manifest does not name, of ours; twice, since the last request of a worker that was killed may come late."""
        if not self.is_published:
            self._remove_others(set(self.old["files"]))
            self._remove_others(set(self.old["files"]))

    def _remove_others(self, kept: set[str]) -> None:
        """Remove the parts that are not kept; a table's folder as a whole where nothing else is in it, so that no empty one stays."""
        tables = set(table_names())
        folders: dict[str, list[str]] = {}
        for file in self.store.files():
            folder = file.name.partition("/")[0]
            if folder.partition(".")[0] in tables:
                folders.setdefault(folder, []).append(file.name)
        single = []
        for folder, names in folders.items():
            ours = [name for name in names if _PART.fullmatch(name) and name not in kept]
            if len(ours) == len(names):
                self.store.remove_below(folder)
            else:
                single += ours
        self.store.remove_all(single)
        self.store.remove_below(JOURNAL)


_PART: Final = re.compile(r"\w+\.(?:parquet|arrow|csv|jsonl)/part-(\d{5,})\.\w+")


def _export_part(number: int, split: Split, options: ExportOptions, store: Store, work: str) -> SplitResult:
    """In a worker: the parts of a split, written here and then uploaded."""
    from metashell.tables.export.split_writer import export_split

    with TemporaryDirectory(prefix="part-", dir=work) as folder:
        result = export_split(number, split, options, folder)
        if result.error is None:
            names = [part_path("", table, number, options.form) for table, count in result.rows.items() if count]
            result.files = {name: os.stat(os.path.join(folder, name)).st_size for name in names}
            try:
                _opened(store.place).put_files([(name, os.path.join(folder, name)) for name in names])
            except MetashellError as error:
                result.error = error
    return result


@cache
def _opened(place: str) -> Store:
    """Return a store that a worker opens once: its connections are worth keeping."""
    return open_store(place)


def _manifest(data: bytes | None) -> Entry:
    found = _json(data)
    return found if {"settings", "rows", "splits", "files"} <= found.keys() else {"settings": {}, "rows": {}, "splits": [], "files": {}}


def _json(data: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(data or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: dict[str, Any]) -> bytes:
    return f"{json.dumps(value, indent=1)}\n".encode()


# ---- progress


class ProgressBar:
    """Takes how many bytes there are and how many are done; shows nothing without a bar."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar
        self._task: Any = None
        self._rows = 0

    def start(self, total_bytes: int) -> None:
        if self._bar is not None:
            self._task = self._bar.add_task("export", total=max(total_bytes, 1), rate="")
            self._bar.start()

    def advance(self, done_bytes: int, rows: int) -> None:
        if self._bar is None:
            return
        self._rows += rows
        task = self._bar.tasks[self._task]
        elapsed = task.elapsed or 0.0
        rate = f"{self._rows / elapsed:,.0f} rows/s" if elapsed > 0 else ""
        self._bar.update(self._task, advance=done_bytes, rate=rate)


@contextmanager
def progress_bar(out: TextIO, *, is_shown: bool) -> Iterator[ProgressBar]:
    """A bar for as long as the block runs."""
    if not is_shown:
        yield ProgressBar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), DownloadColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(file=out), transient=True)
    try:
        yield ProgressBar(bar)
    finally:
        bar.stop()
