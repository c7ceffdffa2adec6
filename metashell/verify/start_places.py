"""Where to look: the log directories that a path means, and what in each is the metadata log."""

from __future__ import annotations

import os
from typing import NamedTuple

from metashell.errors import PathError, UsageError
from metashell.log.inputs import log_folder
from metashell.log.kinds import METADATA
from metashell.log.names import BOOTSTRAP_CHECKPOINT, META_PROPERTIES, METADATA_DIRECTORY
from metashell.log.properties import parse_properties
from metashell.log.text_files import read_text_file
from metashell.verify.partition import partition_name

_DEPTH_MAX = 3
"""Of log directories; the metadata directories in them lie one deeper."""


class Place(NamedTuple):
    """A log directory, the metadata directory in it, which need not be there, and what a server reads besides and is not judged."""

    log_directory: str
    directory: str
    not_judged: tuple[str, ...]


def find_places(path: str) -> list[Place]:
    """The log directories at or below a path that hold a metadata log, or would get one.

    Errors: UsageError where there is none; OSError.
    """
    found = _below(path, _DEPTH_MAX)
    if not found:
        raise UsageError(f"{path}: no log directory with a metadata log here", path)
    # Of the log directories of one server, which lie side by side, only one has the metadata log.
    with_log = [place for place in found if os.path.isdir(place.directory)]
    without = [place for place in found if place not in with_log]
    return [place._replace(not_judged=(*place.not_judged, *_beside(place, without))) for place in with_log] or found


def _beside(place: Place, others: list[Place]) -> list[str]:
    folder = os.path.dirname(os.path.abspath(place.log_directory))
    return [other.log_directory for other in others if os.path.dirname(os.path.abspath(other.log_directory)) == folder]


def _below(path: str, depth: int) -> list[Place]:
    if os.path.exists(path) and not os.path.isdir(path):
        raise UsageError(f"{path}: not a directory: a server starts on a log directory", path)
    names = os.listdir(path)
    if os.path.basename(os.path.abspath(path)) == METADATA_DIRECTORY or _is_metadata(path, names):
        above = (
            os.path.dirname(os.path.abspath(path)) if os.path.isabs(path) else os.path.dirname(path.rstrip("/")) or os.path.join(path, "..")
        )
        return [Place(above, path, ())]
    if META_PROPERTIES in names or METADATA_DIRECTORY in names or BOOTSTRAP_CHECKPOINT in names:
        directory = os.path.join(path, METADATA_DIRECTORY)
        below = (os.path.join(path, name) for name in sorted(names) if name != METADATA_DIRECTORY)
        return [Place(path, directory, tuple(place for place in below if os.path.isdir(place) and partition_name(place) is not None))]
    if depth == 0:
        return []
    folders = [os.path.join(path, name) for name in sorted(names)]
    return [place for folder in folders if os.path.isdir(folder) for place in _below(folder, depth - 1)]


def _is_metadata(path: str, names: list[str]) -> bool:
    """Whether a directory of any name holds a metadata log, by the rule of every command."""
    if META_PROPERTIES in names:
        return False  # a log directory: what it loads lies below it
    found = log_folder(path)
    return found is not None and found.kind == METADATA


def node_id_of(config: str) -> int:
    """The node of a server's configuration. Errors: UsageError."""
    try:
        values = parse_properties(read_text_file(config))
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise PathError(f"{config}: {reason}", config) from error
    text = values.get("node.id", values.get("broker.id"))
    if text is None or not text.strip().isdecimal():
        raise UsageError(f"{config}: has no node.id", config)
    return int(text)
