"""What replay could not apply, and the error that says so."""

from typing import NamedTuple

from metashell.errors import MetashellError


class Fault(NamedTuple):
    """One thing in the input that is not in the image, or is there with a doubt.

    Shape: `offset` is the log offset of the record (of the snapshot's own numbering inside a checkpoint), `position` the
    byte of its batch in `file`; -1 where there is none. `record_type` is Kafka's upper-case name, empty for a fault of
    the file or the batch.
    """

    file: str
    offset: int
    position: int
    record_type: str
    reason: str

    def __str__(self) -> str:
        words = [self.file] if self.file else []
        if self.offset >= 0:
            words.append(f"offset {self.offset}")
        elif self.position >= 0:
            words.append(f"byte {self.position}")
        words.append(f"{self.record_type}: {self.reason}" if self.record_type else self.reason)
        return ": ".join(words)


class Newer(NamedTuple):
    """Records that were applied, and of which something is newer than what is known here; what that says is not in the image.

    Shape: `record_count` records of a type and version, the first of them at `offset`. `known` is the newest known version where theirs is
    newer, else None; `tags` are the numbers of their tagged fields that are not known. `stops_kafka` says that a server which knows no more
    than this does not start on them, where it does on others.
    """

    record_type: str
    version: int
    known: int | None
    tags: tuple[int, ...]
    stops_kafka: bool
    offset: int = -1
    record_count: int = 1

    @property
    def what(self) -> str:
        """What is newer, for a person: `version 9 (0 is known), tagged field 9`."""
        parts = [] if self.known is None else [f"version {self.version} ({self.known} is known)"]
        if self.tags:
            parts.append(f"tagged field{'s' if len(self.tags) > 1 else ''} {', '.join(map(str, self.tags))}")
        return ", ".join(parts)

    def __str__(self) -> str:
        records = "1 record" if self.record_count == 1 else f"{self.record_count} records"
        return f"{self.record_type}: {self.what}: {records}, the first at offset {self.offset}"


class ReplayError(MetashellError):
    """A record that does not fit the image it is replayed on.

    `applied` says whether it changed the image all the same: a level that is newer than ours, for example, is kept.
    """

    def __init__(self, message: str, *, applied: bool = False) -> None:
        super().__init__(message)
        self.applied = applied
