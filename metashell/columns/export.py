"""Export: logs to files, a table each, by a pool of processes over splits.

Nothing stands under its final name before all of it is whole: parts are written in a folder of work inside the output directory and
moved at the end. What was finished before an interruption is not done again (see `manifest`). Memory does not depend on the
input: a process holds one chunk and the row groups that it gathers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from metashell import __version__
from metashell.columns.manifest import MANIFEST, WORK_FOLDER, Entry, Journal, read_manifest, split_key, write_manifest
from metashell.columns.splits import TARGET_BYTES, Split, iter_splits, logs_of, require_logs
from metashell.columns.workers import Workers, is_large
from metashell.errors import LogCorruptError, UsageError

if TYPE_CHECKING:
    from metashell.columns.export_split import SplitResult
    from metashell.log.kinds import LogKind

Progress = Callable[[int, int], None]
"""Called with the bytes of input that are newly done, and the rows that came of them."""
_FAULTS = "faults"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What to export, where to, and how. `tables` is None for all but `records`; `jobs` 0 for one process a core."""

    paths: tuple[str, ...]
    out: str
    form: str = "parquet"
    tables: tuple[str, ...] | None = None
    on_error: Literal["fail", "skip"] = "fail"
    jobs: int = 0
    show_secrets: bool = False
    log: LogKind | None = None
    target_bytes: int = TARGET_BYTES

    def settings(self) -> dict[str, Any]:
        """What decides the content of the output, besides the input."""
        return {
            "version": __version__,
            "format": self.form,
            "tables": None if self.tables is None else sorted(self.tables),
            "on_error": self.on_error,
            "show_secrets": self.show_secrets,
        }


@dataclass(slots=True)
class ExportReport:
    """What an export did: rows by table, splits in all and those that were done before."""

    rows: dict[str, int] = field(default_factory=dict)
    split_count: int = 0
    reused_count: int = 0
    is_unchanged: bool = False


def export(options: ExportOptions, progress: Progress | None = None, planned: Callable[[int], None] | None = None) -> ExportReport:
    """Export everything; `planned` is told how many bytes there are before the first is read.

    Errors: LogCorruptError for the first fault, unless faults are skipped, UsageError for what cannot be opened; then no table
    has appeared or changed. OSError where the output cannot be written.
    """
    _refuse_foreign(options)
    with Workers(options.jobs or len(os.sched_getaffinity(0))) as workers:
        if is_large(options.paths):
            workers.start(workers.jobs)
        return _export(options, workers, progress, planned)


def _export(options: ExportOptions, workers: Workers, progress: Progress | None, planned: Callable[[int], None] | None) -> ExportReport:
    work = os.path.join(options.out, WORK_FOLDER)
    is_new = not os.path.lexists(work) and not os.path.lexists(os.path.join(options.out, MANIFEST))
    splits = _plan_at_work(options, workers, work) if is_new and workers.are_started else list(_splits(options))
    if planned is not None:
        planned(sum(split.bytes for split in splits))
    keys = [split_key(split) for split in splits]
    old = read_manifest(options.out)
    if old.get("settings") == options.settings() and [entry["split"] for entry in old["splits"]] == keys and _is_there(old, options):
        return ExportReport(rows=old["rows"], split_count=len(splits), reused_count=len(splits), is_unchanged=True)
    os.makedirs(options.out, exist_ok=True)
    journal = Journal(work, options.settings())
    journal.open()
    report = ExportReport(split_count=len(splits))
    _take_over(old, keys, journal, options)
    missing = []
    for number, (key, split) in enumerate(zip(keys, splits, strict=True)):
        entry = journal.done.get(key)
        if entry is not None and _has_parts(work, entry, options.form):
            report.reused_count += 1
            if progress is not None:
                progress(split.bytes, sum(entry["rows"].values()))
        else:
            missing.append((number, split))
    # A split keeps the number that it was first written under, whatever has come before it since.
    taken = {entry["part"] for entry in journal.done.values()}
    numbers = (number for number in range(len(splits) + len(taken)) if number not in taken)
    tasks = [(next(numbers), split, options, work) for _, split in missing]
    for index, result in workers.results(_export_split, tasks):
        _check(result)
        number = missing[index][0]
        journal.add({"split": keys[number], "part": tasks[index][0], "rows": result.rows})
        if progress is not None:
            progress(splits[number].bytes, sum(result.rows.values()))
    entries = [journal.done[key] for key in keys]
    for entry in entries:
        for table, count in entry["rows"].items():
            report.rows[table] = report.rows.get(table, 0) + count
    _publish(old, entries, report, options, work)
    return report


def _refuse_foreign(options: ExportOptions) -> None:
    """Errors: UsageError where a table's name is taken by what no export of ours has written: it would be replaced."""
    if os.path.lexists(os.path.join(options.out, WORK_FOLDER)):
        return  # an export was interrupted, perhaps while it gave names
    from metashell.columns.names import table_names

    old = read_manifest(options.out)
    settings = old.get("settings", {})
    ours = {*old.get("rows", {}), *(settings.get("tables") or ())} if settings.get("format") == options.form else set()
    for table in options.tables or table_names():
        path = os.path.join(options.out, f"{table}.{options.form}")
        if table not in ours and os.path.lexists(path):
            raise UsageError(f"{path}: is there already, and no export has written it: remove it, or name another --out", path)


def _splits(options: ExportOptions) -> Iterator[Split]:
    """What there is to read, each file once, however often it is named. Errors: UsageError, at the end too: see `require_logs`."""
    seen: set[Split] = set()
    for split in iter_splits(options.paths, options.target_bytes, log=options.log):
        if split not in seen:
            seen.add(split)
            yield split
    require_logs(logs_of(seen), _named(options), options.paths)


def _plan_at_work(options: ExportOptions, workers: Workers, work: str) -> list[Split]:
    """The splits of an export that has nothing to take over: the workers have each as soon as it is known."""
    splits: list[Split] = []
    has_out = os.path.lexists(options.out)
    try:
        for split in _splits(options):
            if not splits:
                Journal(work, options.settings()).open()
            workers.submit(_export_split, len(splits), split, options, work)
            splits.append(split)
    except UsageError:
        # A path that is not there: as if nothing had been begun.
        from shutil import rmtree

        workers.stop()
        rmtree(work if has_out else options.out, ignore_errors=True)
        raise
    return splits


def _export_split(number: int, split: Split, options: ExportOptions, folder: str) -> SplitResult:
    from metashell.columns.export_split import export_split

    return export_split(number, split, options, folder)


def _check(result: SplitResult) -> None:
    """Errors: LogCorruptError and UsageError of a split that failed."""
    if result.fault is not None:
        raise LogCorruptError(*result.fault)
    if result.usage_error is not None:
        raise UsageError(result.usage_error)


def _part(folder: str, table: str, entry: Entry, form: str) -> str:
    return os.path.join(folder, f"{table}.{form}", f"part-{entry['part']:05d}.{form}")


def _has_parts(folder: str, entry: Entry, form: str) -> bool:
    return all(os.path.exists(_part(folder, table, entry, form)) for table, count in entry["rows"].items() if count)


def _published_part(out: str, table: str, entry: Entry, form: str) -> str:
    """Where a part of a finished export lies: a table of one part is a file."""
    whole = os.path.join(out, f"{table}.{form}")
    return whole if os.path.isfile(whole) else _part(out, table, entry, form)


def _is_there(old: dict[str, Any], options: ExportOptions) -> bool:
    return all(
        os.path.exists(_published_part(options.out, table, entry, options.form))
        for entry in old["splits"]
        for table, count in entry["rows"].items()
        if count
    )


def _take_over(old: dict[str, Any], keys: list[str], journal: Journal, options: ExportOptions) -> None:
    """Use again what a finished export of the same settings wrote for splits that are wanted now too."""
    if old.get("settings") != options.settings():
        return
    wanted = set(keys)
    for entry in old["splits"]:
        if entry["split"] not in wanted or entry["split"] in journal.done:
            continue
        tables = [table for table, count in entry["rows"].items() if count]
        sources = {table: _published_part(options.out, table, entry, options.form) for table in tables}
        if not all(os.path.exists(source) for source in sources.values()):
            continue
        for table, source in sources.items():
            target = _part(journal.folder, table, entry, options.form)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _link(source, target)
        journal.add(entry)


def _link(source: str, target: str) -> None:
    from shutil import copyfile

    if os.path.exists(target):
        os.unlink(target)
    try:
        os.link(source, target)
    except OSError:
        copyfile(source, target)


def _publish(old: dict[str, Any], entries: list[Entry], report: ExportReport, options: ExportOptions, work: str) -> None:
    """Move the tables to where they belong; tables of an earlier export that have no rows now go."""
    from shutil import rmtree

    form, out = options.form, options.out
    tables = {table for table, count in report.rows.items() if count} | {_FAULTS, *_named(options)}
    earlier_form = old.get("settings", {}).get("format", form)
    manifest = os.path.join(out, MANIFEST)
    if os.path.exists(manifest):
        os.unlink(manifest)
    for table in sorted(tables):
        parts = [_part(work, table, entry, form) for entry in entries if entry["rows"].get(table)]
        whole = os.path.join(out, f"{table}.{form}")
        if not parts:
            from metashell.columns.empty import write_empty

            parts = [write_empty(work, table, options)]
        _drop_others(os.path.dirname(parts[0]), set(parts))
        _move_away(whole, os.path.join(work, f"old-{table}"))
        os.replace(parts[0] if len(parts) == 1 else os.path.dirname(parts[0]), whole)
    for table in {*old.get("rows", {}), *(old.get("settings", {}).get("tables") or ())}:
        if table not in tables or earlier_form != form:
            _move_away(os.path.join(out, f"{table}.{earlier_form}"), os.path.join(work, f"old-{table}-{earlier_form}"))
    write_manifest(out, {"settings": options.settings(), "rows": report.rows, "splits": entries})
    rmtree(work, ignore_errors=True)


def _named(options: ExportOptions) -> tuple[str, ...]:
    """The tables that were asked for by name: they are there even without rows, unless all were."""
    from metashell.columns.names import table_names

    named = options.tables or ()
    return named if len(named) < len(table_names()) else ()


def _drop_others(folder: str, kept: set[str]) -> None:
    """Remove parts of splits that are no more, and what a killed process left half written."""
    for name in os.listdir(folder):
        if os.path.join(folder, name) not in kept:
            os.unlink(os.path.join(folder, name))


def _move_away(path: str, target: str) -> None:
    if os.path.lexists(path):
        os.replace(path, target)
