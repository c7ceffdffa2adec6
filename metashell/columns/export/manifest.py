"""What an export has written: its splits, keyed by the identity and size of their files.

While an export runs, its journal lies beside the parts in a folder of its own, a line for each finished split; the last thing
an export does is to write `_manifest.json` beside the tables. Both have the same entries, so that the next export of the same
directory can take over what has not changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from metashell.codec.uris import is_uri, shown_uri
from metashell.columns.inputs.splits import Piece, Split
from metashell.log.outputs import naming

MANIFEST = "_manifest.json"
WORK_FOLDER = ".metashell-export"
JOURNAL = "journal.jsonl"
Entry = dict[str, Any]


def split_key(split: Split) -> str:
    """The identity of a split: ranges of files, each with its path, inode, time, size and neighbours."""
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
            from shutil import rmtree

            rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.folder, exist_ok=True)
            self._append({"settings": self.settings})
            return
        self.done = {entry["split"]: entry for entry in lines[1:]}

    def add(self, entry: Entry) -> None:
        self.done[entry["split"]] = entry
        self._append(entry)

    def _append(self, value: Any) -> None:
        with naming(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(value) + "\n")


def _json_lines(path: str) -> Iterator[Any]:
    """The lines of a journal up to the first incomplete one."""
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
    """The manifest of a finished export, empty without one."""
    try:
        with open(os.path.join(out, MANIFEST), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and "splits" in found and "settings" in found else {}


def write_manifest(out: str, manifest: dict[str, Any]) -> None:
    path = os.path.join(out, MANIFEST)
    with naming(path):
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.write("\n")
        os.replace(path + ".part", path)
