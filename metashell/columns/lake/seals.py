"""Whether the files that tasks have read are those that were planned: what a log lost in between must not count as read.

A running node cuts its log, and cleans it; a dump is copied anew. A piece carries when its file was written and which batches it begins and
ends with. A file that has been appended to since, or that is gone after it was read, is no change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from metashell.codec.uris import is_uri, shown_uri
from metashell.columns.inputs.files import open_input
from metashell.columns.inputs.splits import Piece
from metashell.columns.lake.headers import batch_at
from metashell.columns.lake.ledger import Anchor
from metashell.errors import MetashellError, PathError
from metashell.log.files import OpenFile
from metashell.log.inputs import InputFile

Batches = tuple[tuple[int, Anchor], ...]
"""Where batches start in a file, and what tells each from others."""


def version_of(file: InputFile, opened: OpenFile | None = None) -> str:
    """What changes when a file does; empty where nothing says it. To be asked before the file is looked into."""
    if isinstance(found := getattr(opened, "version", None), str):
        return found
    return _version_now(file.path) or ""


def change_of(pieces: Iterable[Piece]) -> MetashellError | None:
    """The error of the first file that is not what it was when it was planned. Ask after its rows were read."""
    seen = set()
    for piece in pieces:
        key = piece.path, piece.seal
        if key in seen:
            continue
        seen.add(key)
        try:
            if _is_changed(piece):
                return MetashellError(f"{shown_uri(piece.path)}: was changed while it was read, so nothing is added: try it again")
        except MetashellError as error:
            return error
    return None


def _is_changed(piece: Piece) -> bool:
    version, batches = piece.seal
    if not version and not batches:
        return False
    now = _version_now(piece.path)
    if now is None or (now == version and now):
        return False
    try:
        with open_input(piece.path, strict=True) as opened:
            return not batches or any((batch_at(opened, position) or ((),))[0] != batch for position, batch in batches)
    except PathError:
        return False  # it went just now


def _version_now(path: str) -> str | None:
    """None where there is no such file any more."""
    if is_uri(path):
        from metashell.columns.inputs.remote import version_now

        return version_now(path)
    try:
        found = os.stat(path)
    except OSError:
        return None
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"
