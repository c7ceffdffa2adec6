"""What an earlier export wrote in the same place: nothing of it goes unless it was said that it may."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from metashell.codec.uris import is_uri, shown_uri
from metashell.columns.export.options import ExportOptions
from metashell.columns.names import table_names
from metashell.errors import UsageError
from metashell.log.inputs import paths_of
from metashell.stores import Store

LAKE = "_metashell/format.json"
"""What marks a lake (`columns/lake`)."""
_BEGUN = "_metashell/pending"
"""What marks one whose first export was interrupted."""
_LISTED_MAX = 3


def refuse_lake(store: Store, way: str = "--append") -> None:
    """Errors: UsageError where a plain export or a stream would write into a lake; `way` is what adds to one."""
    if store.read(LAKE) is not None or store.files(_BEGUN):
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
    """The paths of the files that an export has read, from the keys of its splits."""
    return {str(piece[0]) for entry in entries for piece in json.loads(entry["split"])}


def _place(path: str) -> str:
    return shown_uri(path) if is_uri(path) else os.path.abspath(path)


def _is_below(path: str, place: str) -> bool:
    base = place.partition("?")[0].rstrip("/") if is_uri(place) else place.rstrip("/")
    return path == place or path.startswith(f"{base}/")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
    return ", ".join(names[:_LISTED_MAX]) + more
