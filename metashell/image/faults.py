"""What replay could not apply, and the error that says so."""

from typing import NamedTuple

from metashell.errors import MetashellError


class Fault(NamedTuple):
    """One thing in the input that is not in the image, or is there with a doubt.

    Shape: `offset` is the log offset of the record (of the snapshot's own numbering inside a checkpoint), `position` the
    byte of its batch in `file`; -1 where there is none. `record_type` is Kafka's upper-case name, empty for a fault of
    the file or the batch. `newer` names the part that is newer than what is known (`record type 30`, `TOPIC_RECORD version 1`), so that
    nothing is damaged; it is empty for every other fault. `is_whole` says of such a record that all of it was read and applied.
    `record_count` is more than 1 where one stands for all records of its kind, of which it is the first.
    """

    file: str
    offset: int
    position: int
    record_type: str
    reason: str
    newer: str = ""
    is_whole: bool = False
    record_count: int = 1

    def __str__(self) -> str:
        words = [self.file] if self.file else []
        if self.offset >= 0:
            words.append(f"offset {self.offset}")
        elif self.position >= 0:
            words.append(f"byte {self.position}")
        words.append(f"{self.record_type}: {self.reason}" if self.record_type else self.reason)
        return ": ".join(words)


class ReplayError(MetashellError):
    """A record that does not fit the image it is replayed on.

    `applied` says whether it changed the image all the same: a level that is newer than ours, for example, is kept.
    """

    def __init__(self, message: str, *, applied: bool = False) -> None:
        super().__init__(message)
        self.applied = applied
