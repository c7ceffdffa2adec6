"""What `info` finds in the log directories of a node.

Source: kafka.tools.StorageTool.infoCommand of 4.3.1.
"""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, NamedTuple

from metashell.log.meta_properties import META_PROPERTIES, MetaProperties
from metashell.log.names import BOOTSTRAP_CHECKPOINT
from metashell.storage.ensemble import ASIDE_SUFFIX, PREPARED, read_meta
from metashell.storage.plan import FIRST_CHECKPOINT, has_log

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROBLEMS = {
    "missing": "{path} does not exist",
    "not_a_directory": "{path} is not a directory",
    "not_formatted": "{path} is not formatted.",
    "unreadable": f"Error loading {{path}}/{META_PROPERTIES}: {{reason}}",
}
_LEFTOVERS = (PREPARED, *(name + suffix for name in (BOOTSTRAP_CHECKPOINT, FIRST_CHECKPOINT) for suffix in (ASIDE_SUFFIX, "")))


class DirectoryInfo(NamedTuple):
    """One directory: `state` is formatted, not_formatted, missing, not_a_directory or unreadable.

    `explanation` is what our format adds: what an interrupted format left, or why a file cannot be read.
    """

    path: str
    state: str
    meta: MetaProperties | None = None
    explanation: str = ""


class StorageInfo(NamedTuple):
    """The report; `problems` are Kafka's sentences in the order of its own discovery."""

    directories: tuple[DirectoryInfo, ...]
    problems: tuple[str, ...]

    @property
    def found(self) -> tuple[str, ...]:
        return tuple(d.path for d in self.directories if d.state not in ("missing", "not_a_directory"))

    @property
    def meta(self) -> MetaProperties | None:
        """The first readable meta.properties."""
        return next((d.meta for d in self.directories if d.meta is not None), None)

    @property
    def explanations(self) -> tuple[str, ...]:
        return tuple(f"{d.path}: {d.explanation}" for d in self.directories if d.explanation)


def read_info(directories: Iterable[str]) -> StorageInfo:
    """The report on directories, which are looked at in the order of their names."""
    found = [_look_at(_java_path(path)) for path in sorted(directories)]
    problems: list[str] = []
    first: MetaProperties | None = None
    for directory in found:
        problems += _problems_of(directory, first)
        first = first or directory.meta
    if first is not None and first.version == 0:
        problems.append(
            "The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are formatted for legacy mode."
        )
    return StorageInfo(directories=tuple(found), problems=tuple(problems))


def _look_at(path: str) -> DirectoryInfo:
    if not os.path.isdir(path):
        state = "not_a_directory" if os.path.exists(path) else "missing"
        dangling = "" if os.path.exists(path) or not os.path.islink(path) else "a symbolic link to nothing"
        return DirectoryInfo(path=path, state=state, explanation=dangling)
    match read_meta(path):
        case None:
            return DirectoryInfo(path=path, state="not_formatted", explanation=_leftovers(path))
        case str(reason):
            return DirectoryInfo(path=path, state="unreadable", explanation=reason)
        case meta:
            return DirectoryInfo(path=path, state="formatted", meta=meta)


def _leftovers(path: str) -> str:
    left = [name for name in _LEFTOVERS if os.path.exists(os.path.join(path, name))]
    if not left or (left == [FIRST_CHECKPOINT] and has_log(path)):
        return ""
    return f"an interrupted format left {', '.join(left)}; format again to finish it"


def _problems_of(directory: DirectoryInfo, first: MetaProperties | None) -> list[str]:
    if directory.meta is None:
        return [_PROBLEMS[directory.state].format(path=directory.path, reason=directory.explanation)]
    if first is None:
        return []
    if first.cluster_id != directory.meta.cluster_id:
        return ["Mismatched cluster IDs between storage directories."]
    if first.node_id != directory.meta.node_id:
        return ["Mismatched node IDs between storage directories."]
    return []


def _java_path(path: str) -> str:
    """The path as java.nio.file.Path prints it: no doubled and no trailing slashes."""
    while "//" in path:
        path = path.replace("//", "/")
    return path.rstrip("/") if path != posixpath.sep else path
