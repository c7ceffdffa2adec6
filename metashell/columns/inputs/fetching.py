"""Metadata logs of a store as files of this machine, for what reads whole logs by seeking: the state at their end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import quote

from metashell.codec.uris import below, is_uri, place_and_query, shown_uri
from metashell.log.inputs import find_logs
from metashell.log.kinds import METADATA
from metashell.log.names import META_PROPERTIES, PARTITION_METADATA, QUORUM_STATE, parse_name

_SMALL = frozenset((META_PROPERTIES, PARTITION_METADATA, QUORUM_STATE))


class Fetched(NamedTuple):
    """Paths of this machine; `uris` says what was fetched to where."""

    paths: list[str]
    uris: dict[str, str]

    def shown(self, text: str) -> str:
        """A text that names where a file was found, not where it was fetched to. A path in it ends at a space or a colon."""
        for folder in self.uris:
            text = re.sub(re.escape(folder) + r"(?:/[^\s:,()]*)?", lambda match: self.shown_path(match[0]), text)
        return text

    def shown_path(self, path: str) -> str:
        """The URI of a file or folder that was fetched, any other path as it is."""
        for folder, uri in self.uris.items():
            if path == folder or path.startswith(f"{folder}/"):
                return below(uri, quote(path[len(folder) + 1 :]))
        return path


@contextmanager
def fetched(paths: Sequence[str]) -> Iterator[Fetched]:
    """The paths, with a copy of its metadata logs in place of each URI, for as long as the block runs.

    Errors: PathError where a store fails or has nothing there, or a copy cannot be written.
    """
    if not any(map(is_uri, paths)):
        yield Fetched(list(paths), {})
        return
    with TemporaryDirectory(prefix="metashell-logs-") as work:
        found = Fetched([], {})
        for number, path in enumerate(paths):
            if not is_uri(path):
                found.paths.append(path)
                continue
            above = os.path.join(work, str(number))
            copy = _fetch(path, above)
            found.paths.append(copy)
            place, query = place_and_query(shown_uri(path))
            found.uris[copy] = place.rstrip("/") + query
        yield found


def _fetch(uri: str, above: str) -> str:
    """Copy what lies at a URI to a place of the same name below `above`, and what stands above it and tells its cluster."""
    from metashell.columns.inputs.remote import remote_input

    tree, top, is_folder = remote_input(uri)
    copy = os.path.join(above, tree.name(top))
    if tree.read(tree.parent(top), META_PROPERTIES) is not None:
        tree.fetch(tree.parent(top), META_PROPERTIES, above)
    if not is_folder:
        tree.fetch(tree.parent(top), tree.name(top), above)
        return copy
    os.makedirs(copy, exist_ok=True)
    wanted = {log.directory for log in find_logs(top, tree) if log.kind in (METADATA, None)}
    for folder, names in tree.walk(top):
        target = os.path.join(copy, os.path.relpath(folder, top))
        for name in names:
            if name in _SMALL or (tree.place(folder) in wanted and parse_name(name) is not None):
                tree.fetch(folder, name, target)
    return copy
