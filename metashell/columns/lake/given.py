"""What the files of one run hold of each log, to name the two of them that contradict each other.

A lake may lack all of it: then it is not the lake that a file differs from, and `--replace` cannot help.
"""

from __future__ import annotations

from metashell.columns.lake.coverage import Coverage
from metashell.columns.lake.identity import shown_path
from metashell.columns.lake.ledger import Anchor, LogKey, LogState
from metashell.errors import UsageError

_ONE = "give only one of them"


class Given:
    """The files that were planned so far, with the offsets that each gave, and the id of the disk or topic that it lies in."""

    def __init__(self) -> None:
        self._files: dict[LogKey, list[tuple[str, Coverage, str]]] = {}

    def add(self, key: LogKey, path: str, found: LogState) -> None:
        self._files.setdefault(key, []).append((path, found.offsets, found.directory))

    def at(self, key: LogKey, offset: int) -> str:
        """A file that gave an offset, as messages name it; empty where none did."""
        return next((shown_path(path) for path, offsets, _ in self._files.get(key, ()) if offsets.has(offset, offset + 1)), "")

    def before(self, key: LogKey, offset: int) -> str:
        """The file that gave the last offsets before one, as messages name it; empty where none did."""
        found = [(offsets.end, path) for path, offsets, _ in self._files.get(key, ()) if offsets and offsets.end <= offset]
        return shown_path(max(found)[1]) if found else ""

    def elsewhere(self, key: LogKey, directory: str) -> tuple[str, str]:
        """A file that lies in a disk or topic of another id, and that id; empty where there is none."""
        found = self._files.get(key, ()) if directory else ()
        return next(((shown_path(path), other) for path, _, other in found if other not in ("", directory)), ("", ""))


def differs(path: str, batch: Anchor, other: str, epoch: int | None, newer: int | None) -> UsageError:
    """The error for a batch that is not the one that another file of the run has at its offset; `epoch` is the one that this has.

    `newer` is a newer one that it has before that offset.
    """
    there = other or "another of the files here"
    if newer is not None:
        why = (
            f"epoch {batch.epoch}, and {there} has epoch {newer} before it: one of the two was cut off and written anew, where the higher "
            "epoch is the newer, or they are two logs"
        )
    elif epoch is None or epoch < 0 or batch.epoch in (-1, epoch):
        why = f"another batch than {there} has there: one of the two is damaged, was cut off and written anew, or is another log"
    else:
        why = (
            f"epoch {batch.epoch}, and {there} has epoch {epoch} there: one of the two was cut off and written anew, where the higher "
            "epoch is the newer, or they are two logs"
        )
    return UsageError(f"{shown_path(path)}: offset {batch.base}: {why}: {_ONE}", path)


def other_topic(path: str, topic_id: str, other: str, other_id: str) -> UsageError:
    """The error for a log of another topic than another file of the run."""
    return UsageError(
        f"{shown_path(path)}: topic id {topic_id}, and {other} has topic id {other_id}: the topic was created anew between them: {_ONE}",
        path,
    )


def other_disk(path: str, directory: str, other: str, other_id: str) -> UsageError:
    """The error for a log of another disk than another file of the run, where no batch shows that it is the same one."""
    return UsageError(
        f"{shown_path(path)}: directory.id {directory}, and {other} has directory.id {other_id}, and nothing shows that both have the same "
        f"log: {_ONE}, or both with --replace",
        path,
    )


def part_of_packed(path: str, other: str) -> UsageError:
    """The error for a compressed file of which another file of the run has a part."""
    return UsageError(f"{shown_path(path)}: {other} has a part of it, and a compressed file is read as a whole: unpack it, or {_ONE}", path)
