"""The plan of an export: its parts, where they lie, and what an earlier export in the same place left.

A manifest lists the splits that an export has written, keyed by the identity and size of their files. While an export runs, its journal
lies beside the parts in a work folder, one line for each finished split; the last step of an export writes `_manifest.json` beside the
tables. Both have the same entries, so the next export of the same directory can take over what has not changed. No rows of an earlier
export are dropped without a request."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from errno import ENOTDIR
from shutil import copyfile, rmtree
from typing import TYPE_CHECKING, Any, Literal

from metashell import __version__
from metashell.common.errors import UsageError
from metashell.common.uris import is_uri, shown_uri
from metashell.disk.file_system import errors_naming
from metashell.disk.inputs import paths_of
from metashell.tables.dictionary import table_names
from metashell.tables.read_options import NewerNotes, add_notes
from metashell.tables.splits import TARGET_BYTES, Piece, Split, iter_splits, logs_of, require_logs
from metashell.tables.stores import Store
from metashell.tables.stores.store import LAKE

if TYPE_CHECKING:
    from metashell.disk.names import LogKind
    from metashell.tables.read_options import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """The input, output and form of an export. `tables` is None for all but `records`; `jobs` 0 for one process a core.

    `columns` is the form of the tables: "typed", or "raw" as the bytes hold it (see `columns.typed_tables`). With `replaces`, what an
    earlier export wrote to the same place may go.
    """

    paths: tuple[str, ...]
    out: str
    form: str = "parquet"
    tables: tuple[str, ...] | None = None
    on_error: Literal["fail", "skip"] = "fail"
    jobs: int = 0
    show_secrets: bool = False
    log: LogKind | None = None
    columns: Form = "typed"
    target_bytes: int = TARGET_BYTES
    replaces: bool = False

    def settings(self) -> dict[str, Any]:
        """Return the options that decide the content of the output, besides the input."""
        return {
            "version": __version__,
            "format": self.form,
            "tables": None if self.tables is None else sorted(self.tables),
            "on_error": self.on_error,
            "show_secrets": self.show_secrets,
            "columns": self.columns,
        }

    @property
    def named_tables(self) -> tuple[str, ...]:
        """The tables that were named: they are written even without rows, unless all were."""
        named = self.tables or ()
        return named if len(named) < len(table_names()) else ()


def part_path(folder: str, table: str, number: int, form: str) -> str:
    """Return the file of one part of a table below a folder."""
    return os.path.join(folder, f"{table}.{form}", f"part-{number:05d}.{form}")


Progress = Callable[[int, int], None]
"""Called with the bytes of input that were read since the last call, and the rows in them."""


@dataclass(slots=True)
class ExportReport:
    """The result of an export: rows by table, the number of splits, and how many of them an earlier export had done.

    `newer` is what a newer release wrote.
    """

    rows: dict[str, int] = field(default_factory=dict)
    split_count: int = 0
    reused_count: int = 0
    is_unchanged: bool = False
    newer: NewerNotes = field(default_factory=dict)

    @classmethod
    def unchanged(cls, entries: Sequence[Mapping[str, Any]]) -> ExportReport:
        """Return the report of an export that found all of its splits done."""
        report = cls(split_count=len(entries), reused_count=len(entries), is_unchanged=True)
        for entry in entries:
            report.add(entry)
        return report

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add what a manifest says of a split."""
        add_notes(self.newer, entry.get("newer", {}))
        for table, count in entry["rows"].items():
            self.rows[table] = self.rows.get(table, 0) + count


def export_splits(options: ExportOptions) -> Iterator[Split]:
    """Yield what there is to read, each file once even if named twice. Errors: UsageError, also after the last: see `require_logs`."""
    seen: set[Split] = set()
    for split in iter_splits(options.paths, options.target_bytes, log=options.log):
        if split not in seen:
            seen.add(split)
            yield split
    require_logs(logs_of(seen), options.named_tables, options.paths)


# ---- an earlier export in the same place

_LISTED_MAX = 3


def refuse_lake(store: Store, way: str = "--append") -> None:
    """Errors: UsageError where a plain export or a stream would write into a lake; `way` is what adds to one."""
    if store.files(LAKE):
        raise UsageError(f"{store.shown}: is a lake: add to it with {way}, or name another --out", "--out")


def require_no_loss(shown: str, old: dict[str, Any], options: ExportOptions) -> None:
    """Errors: UsageError where tables or inputs of the export before are not in this one, so that their rows would go.

    What Kafka has deleted since below a path that was given then and now is not counted: the export is what the path holds.
    """
    if options.replaces or not old.get("splits"):
        return
    settings = old.get("settings", {})
    lost = _lost_tables(old, settings, options) or _lost_inputs(old, options)
    if lost:
        raise UsageError(
            f"{shown}: has an export of {lost}, which this one would remove: --replace removes it, or name another --out "
            "(--append, in a folder of its own, makes a lake that keeps all)",
            "--out",
        )


def _lost_tables(old: dict[str, Any], settings: dict[str, Any], options: ExportOptions) -> str:
    had = {table for table, count in old.get("rows", {}).items() if count and table != "faults"}
    form = settings.get("format", options.form)
    if form != options.form:
        return f"{form} files" if had else ""
    wanted = set(table_names()) - {"records"} if options.tables is None else set(options.tables)
    return _listed(sorted(had - wanted))


def _lost_inputs(old: dict[str, Any], options: ExportOptions) -> str:
    given = [_place(path) for pattern in options.paths for path in paths_of(pattern)]
    return _listed(sorted(path for path in _paths(old["splits"]) if not any(_is_below(path, place) for place in given)))


def _paths(entries: Iterable[dict[str, Any]]) -> set[str]:
    """Return the paths of the files that an export has read, from the keys of its splits."""
    return {str(piece[0]) for entry in entries for piece in json.loads(entry["split"])}


def _place(path: str) -> str:
    return shown_uri(path) if is_uri(path) else os.path.abspath(path)


def _is_below(path: str, place: str) -> bool:
    base = place.partition("?")[0].rstrip("/") if is_uri(place) else place.rstrip("/")
    return path == place or path.startswith(f"{base}/")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
    return ", ".join(names[:_LISTED_MAX]) + more


# ---- the manifest

MANIFEST = "_manifest.json"
WORK_FOLDER = ".metashell-export"
JOURNAL = "journal.jsonl"
Entry = dict[str, Any]


def split_key(split: Split) -> str:
    """Return the identity of a split: ranges of files, each with its path, inode, time, size and neighbours."""
    return json.dumps([_key(piece) for piece in split.pieces])


def _key(piece: Piece) -> list[Any]:
    # What lies before and behind a file decides whether its batches follow one another.
    neighbours = [piece.begins_by, shown_uri(piece.next_path), [str(fault) for fault in piece.passed_over]]
    return [*_identity(piece), piece.size, piece.start, piece.end, piece.log, shown_uri(piece.cluster_id), *neighbours]


def _identity(piece: Piece) -> list[Any]:
    if not is_uri(piece.path):
        with suppress(OSError):
            stat = os.stat(piece.path)
            return [os.path.abspath(piece.path), stat.st_dev, stat.st_ino, stat.st_mtime_ns]
    return [shown_uri(piece.path), piece.version]


class Journal:
    """The journal of a running export; `done` maps keys of splits to their entries."""

    def __init__(self, folder: str, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.path = os.path.join(folder, JOURNAL)
        self.settings = settings
        self.done: dict[str, Entry] = {}

    def open(self) -> None:
        """Read what an interrupted export with the same settings left; what one with other settings left is removed."""
        lines = list(_json_lines(self.path))
        if not lines or lines[0] != {"settings": self.settings}:
            rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.folder, exist_ok=True)
            self._append({"settings": self.settings})
            return
        self.done = {entry["split"]: entry for entry in lines[1:]}

    def add(self, entry: Entry) -> None:
        self.done[entry["split"]] = entry
        self._append(entry)

    def _append(self, value: Any) -> None:
        with errors_naming(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(value) + "\n")


def _json_lines(path: str) -> Iterator[Any]:
    """Yield the lines of a journal up to the first incomplete one."""
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    return
    except OSError:
        return


def read_manifest(out: str) -> dict[str, Any]:
    """Return the manifest of a finished export, empty without one."""
    try:
        with open(os.path.join(out, MANIFEST), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and "splits" in found and "settings" in found else {}


def write_manifest(out: str, manifest: dict[str, Any]) -> None:
    path = os.path.join(out, MANIFEST)
    with errors_naming(path):
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.write("\n")
        os.replace(path + ".part", path)


# ---- parts and their final places

WriteEmpty = Callable[[str, str, ExportOptions], str]
FAULTS = "faults"


def has_parts(folder: str, entry: Entry, form: str) -> bool:
    """Return whether all parts of a split are in the folder of work."""
    return all(os.path.exists(part_path(folder, table, entry["part"], form)) for table in _tables(entry))


def are_published(old: dict[str, Any], options: ExportOptions) -> bool:
    """Return whether all that a finished export wrote is still there."""
    return all(os.path.exists(_published_part(table, entry, options)) for entry in old["splits"] for table in _tables(entry))


def take_over(old: dict[str, Any], keys: list[str], journal: Journal, options: ExportOptions) -> None:
    """Link the parts that a finished export with the same settings wrote for the same splits."""
    if old.get("settings") != options.settings():
        return
    wanted = set(keys)
    for entry in old["splits"]:
        if entry["split"] not in wanted or entry["split"] in journal.done:
            continue
        sources = {table: _published_part(table, entry, options) for table in _tables(entry)}
        if not all(os.path.exists(source) for source in sources.values()):
            continue
        for table, source in sources.items():
            target = part_path(journal.folder, table, entry["part"], options.form)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _link(source, target)
        journal.add(entry)


def publish(
    old: dict[str, Any], entries: list[Entry], rows: dict[str, int], options: ExportOptions, work: str, write_empty: WriteEmpty
) -> None:
    """Move the tables to their final places; tables of an earlier export that have no rows now are removed.

    `write_empty` writes a table without rows into the folder of work. It is passed in, since it needs pyarrow.
    """
    form, out = options.form, options.out
    tables = {table for table, count in rows.items() if count} | {FAULTS, *options.named_tables}
    earlier_form = old.get("settings", {}).get("format", form)
    manifest = os.path.join(out, MANIFEST)
    if os.path.exists(manifest):
        os.unlink(manifest)
    for table in sorted(tables):
        parts = [part_path(work, table, entry["part"], form) for entry in entries if entry["rows"].get(table)]
        whole = os.path.join(out, f"{table}.{form}")
        if not parts:
            parts = [write_empty(work, table, options)]
        _drop_others(os.path.dirname(parts[0]), set(parts))
        _move_away(whole, os.path.join(work, f"old-{table}"))
        os.replace(parts[0] if len(parts) == 1 else os.path.dirname(parts[0]), whole)
    for table in {*old.get("rows", {}), *(old.get("settings", {}).get("tables") or ())}:
        if table not in tables or earlier_form != form:
            _move_away(os.path.join(out, f"{table}.{earlier_form}"), os.path.join(work, f"old-{table}-{earlier_form}"))
    write_manifest(out, {"settings": options.settings(), "rows": rows, "splits": entries})
    rmtree(work, ignore_errors=True)


def _tables(entry: Entry) -> list[str]:
    """Return the tables that a split has rows in."""
    return [table for table, count in entry["rows"].items() if count]


def _published_part(table: str, entry: Entry, options: ExportOptions) -> str:
    """Return the path of a part of a finished export; a table of one part is a file, not a folder."""
    whole = os.path.join(options.out, f"{table}.{options.form}")
    return whole if os.path.isfile(whole) else part_path(options.out, table, entry["part"], options.form)


def _link(source: str, target: str) -> None:
    if os.path.exists(target):
        os.unlink(target)
    try:
        os.link(source, target)
    except OSError:
        copyfile(source, target)


def _drop_others(folder: str, kept: set[str]) -> None:
    """Remove parts of splits that are gone, and files that a killed process left incomplete."""
    for name in os.listdir(folder):
        if os.path.join(folder, name) not in kept:
            os.unlink(os.path.join(folder, name))


def _move_away(path: str, target: str) -> None:
    if os.path.lexists(path):
        os.replace(path, target)


def require_folder(path: str) -> bool:
    """Return whether there is a directory of that name already. Errors: NotADirectoryError for anything else that has the name."""
    if not os.path.lexists(path):
        return False
    if not os.path.isdir(path):
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), path)
    return True


def forget_work(work: str, *, had_folder: bool) -> None:
    """Remove a folder of work, and the one that it lies in if this run made it and nothing else is there."""
    rmtree(work, ignore_errors=True)
    if not had_folder:
        with suppress(OSError):
            os.rmdir(os.path.dirname(work))
