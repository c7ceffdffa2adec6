"""The files of an export: which parts an earlier export left, and the move of all of them to their final places."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from metashell.columns.export.manifest import MANIFEST, Entry, Journal, write_manifest
from metashell.columns.export.options import ExportOptions, part_path

WriteEmpty = Callable[[str, str, ExportOptions], str]
_FAULTS = "faults"


def has_parts(folder: str, entry: Entry, form: str) -> bool:
    """Whether all parts of a split are in the folder of work."""
    return all(os.path.exists(part_path(folder, table, entry["part"], form)) for table in _tables(entry))


def are_published(old: dict[str, Any], options: ExportOptions) -> bool:
    """Whether all that a finished export wrote is still there."""
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
    from shutil import rmtree

    form, out = options.form, options.out
    tables = {table for table, count in rows.items() if count} | {_FAULTS, *options.named_tables}
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
    """The tables that a split has rows in."""
    return [table for table, count in entry["rows"].items() if count]


def _published_part(table: str, entry: Entry, options: ExportOptions) -> str:
    """The path of a part of a finished export; a table of one part is a file, not a folder."""
    whole = os.path.join(options.out, f"{table}.{options.form}")
    return whole if os.path.isfile(whole) else part_path(options.out, table, entry["part"], options.form)


def _link(source: str, target: str) -> None:
    from shutil import copyfile

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
