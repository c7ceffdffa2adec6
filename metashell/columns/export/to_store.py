"""Export into an object store or HDFS: tables as folders of parts, each part whole or absent, and the manifest last.

A worker writes the parts of a split on its own machine and uploads them, once, under their final names, which no other export has
used there: `TABLE.FORM/part-NNNNN.FORM`. Readers go by `_manifest.json`, which lists all files. It comes last and replaces the one
before at once; only then the files that it does not name are removed. So an earlier export stays whole until the new one is.

An export that fails removes what it has uploaded. One that was killed leaves its journal, a small file for each finished split below
`_metashell/export`: the next export with the same settings takes over what it names, and removes the rest.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from metashell.columns.export.earlier import refuse_lake, require_no_loss
from metashell.columns.export.manifest import MANIFEST, Entry, split_key
from metashell.columns.export.options import ExportOptions, part_path
from metashell.columns.export.plan import ExportReport, Progress, export_splits
from metashell.columns.export.workers import Workers, is_large
from metashell.columns.inputs.splits import Split
from metashell.columns.names import table_names
from metashell.errors import MetashellError, UsageError
from metashell.stores import Store, open_store

if TYPE_CHECKING:
    from metashell.columns.export.split import SplitResult

JOURNAL: Final = "_metashell/export"
_SETTINGS: Final = f"{JOURNAL}/settings.json"
_FAULTS: Final = "faults"


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
            # The first error is the one to tell; what stays is removed by the next export.
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
        """Tables without rows that were asked for, so that their columns can be found."""
        from metashell.columns.export.split import write_empty

        for table in sorted({_FAULTS, *self.options.named_tables}):
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
    from metashell.columns.export.split import export_split

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
    """A store that a worker opens once: its connections are worth keeping."""
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
