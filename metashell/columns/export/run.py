"""Export: logs to files, a table each, by a pool of processes over splits.

No table gets its final name before all of them are complete: parts are written in a folder of work inside the output directory and
moved at the end. An interrupted export continues where it stopped (see `manifest`). Memory does not depend on the
input: a process holds one chunk and the row groups that it gathers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from metashell.columns.export.earlier import refuse_lake, require_no_loss
from metashell.columns.export.manifest import MANIFEST, WORK_FOLDER, Journal, read_manifest, split_key
from metashell.columns.export.options import ExportOptions
from metashell.columns.export.plan import ExportReport, Progress, export_splits
from metashell.columns.export.publish import are_published, has_parts, publish, take_over
from metashell.columns.export.workers import Workers, is_large
from metashell.columns.folders import forget_work, require_folder
from metashell.columns.inputs.splits import Split
from metashell.columns.names import table_names
from metashell.errors import UsageError
from metashell.stores import Store, open_store
from metashell.system import processors

if TYPE_CHECKING:
    from metashell.columns.export.split import SplitResult


def export(options: ExportOptions, progress: Progress | None = None, planned: Callable[[int], None] | None = None) -> ExportReport:
    """Export everything; `planned` gets the number of bytes before the first is read.

    Errors: LogCorruptError for the first fault, unless faults are skipped, UsageError for what cannot be opened; then no table
    has appeared or changed. OSError where the output cannot be written; NotADirectoryError for an output that is a file.
    """
    store = open_store(options.out)
    with Workers(options.jobs or processors(), _load, partial(_prepare_worker, store)) as workers:
        if not store.is_local:
            from metashell.columns.export.to_store import export_to_store

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
    """The splits of an export into an empty folder: the workers get each as soon as it is known."""
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
    from metashell.columns.export.split import export_split

    return export_split(number, split, options, folder)


def _write_empty(folder: str, table: str, options: ExportOptions) -> str:
    from metashell.columns.export.split import write_empty

    return write_empty(folder, table, options)


def _load() -> None:
    """Import what a process of an export needs."""
    import metashell.columns.export.parquet
    import metashell.columns.export.split  # noqa: F401


def _prepare_worker(store: Store) -> None:
    from metashell.columns.export.split import prepare_worker

    prepare_worker(is_local=store.is_local)
