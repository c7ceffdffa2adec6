"""The proof, outside of the metadata directory, that a node has acknowledged records: the file `acknowledged` beside meta.properties.

Who loses the metadata directory, or gets an older copy of it back, has forgotten its votes and its records, and does not know that: an
empty log and no quorum-state are what a new node has. Elected by its vote, a leader may lack what was committed. So a lower bound of what
this directory id has done is kept in another directory:

- `epoch`: it has voted or acknowledged in no later epoch. It is exact: each epoch is on disk here, too, before any message of it leaves
  (`reach_epoch`, after the write of quorum-state). So it is never ahead of a sound quorum-state.
- `hasRecords`: it has said that it has records. It is on disk before the first such message (`reach_end`).
- `offset`: all before it was committed, and is in this log. No leader may ever truncate that, whoever ran on the directory.

A loss is certain where the log is empty and has had records, where it ends before `offset`, or where quorum-state is of an epoch before
`epoch` (`find_loss`). A healthy log is never taken for one that lost something. Not after Kafka has run on the directory, which ignores the
file: epochs and committed offsets only grow. Not after a truncation: what a leader cuts was not committed. One case is not certain, and
counts as a loss: the log is empty because a leader has cut all of it, which is possible only while nothing was ever committed here. When we
run, `hasRecords` is taken back before such a cut.

How often it is written: once an epoch, once for the first record, and then when the committed offset has doubled or grown by
`OFFSET_STEP`, at the end, and at most once a minute. Each is a file that is replaced, with two syncs. Nobody waits for an offset.

Shape: one line of JSON, for one directory id. Of another id, it speaks of a former life of the directory, and says nothing."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

from metashell.common.errors import LogCorruptError
from metashell.common.values import ZERO_UUID, uuid_from_text, uuid_text
from metashell.disk.file_system import Disk, replace_file
from metashell.disk.names import ACKNOWLEDGED, META_PROPERTIES
from metashell.disk.properties import json_object, read_meta_properties, read_text_file

OFFSET_STEP: Final = 1024
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What a directory id has done at least; see the module."""

    directory_id: bytes
    epoch: int = 0
    offset: int = 0
    has_records: bool = False


def read_acknowledged(log_directory: str) -> Acknowledged | None:
    """The proof in a log directory; None without one. Errors: LogCorruptError for one that cannot be read; OSError."""
    path = os.path.join(log_directory, ACKNOWLEDGED)
    try:
        data = read_text_file(path)
    except FileNotFoundError:
        return None
    try:
        fields = json_object(data)
        version, epoch, offset, has_records = (fields.get(name) for name in ("version", "epoch", "offset", "hasRecords"))
        if version != _VERSION or type(epoch) is not int or type(offset) is not int or type(has_records) is not bool:
            raise ValueError(f"is no proof of version {_VERSION}")
        return Acknowledged(uuid_from_text(str(fields.get("directoryId"))), epoch, offset, has_records)
    except ValueError as error:
        raise LogCorruptError(path, 0, str(error)) from error


def write_acknowledged(disk: Disk, log_directory: str, proof: Acknowledged) -> None:
    """Replace the proof; durable on return."""
    fields = {
        "version": _VERSION,
        "directoryId": uuid_text(proof.directory_id),
        "epoch": proof.epoch,
        "offset": proof.offset,
        "hasRecords": proof.has_records,
    }
    replace_file(disk, os.path.join(log_directory, ACKNOWLEDGED), json.dumps(fields, separators=(",", ":")).encode() + b"\n")


def directory_id_of(log_directory: str) -> bytes | None:
    """The id of a formatted directory; None where meta.properties does not name one."""
    try:
        found = read_meta_properties(os.path.join(log_directory, META_PROPERTIES)).directory_id
    except (OSError, LogCorruptError):
        return None
    return None if found == ZERO_UUID else found


def find_loss(proof: Acknowledged, end_offset: int, last_epoch: int, quorum_epoch: int | None) -> str | None:
    """The reason why a log that ends so has lost something; None if nothing shows that.

    `last_epoch` is that of its last batch or snapshot, `quorum_epoch` that of quorum-state, None without a readable one.
    """
    if end_offset == 0 and proof.has_records:
        return f"the metadata log is empty; {ACKNOWLEDGED} says that this directory has acknowledged records, up to epoch {proof.epoch}"
    if end_offset == 0 and quorum_epoch is None and proof.epoch > 0:
        return f"quorum-state and the metadata log are gone; {ACKNOWLEDGED} says that this directory took part in epoch {proof.epoch}"
    if end_offset < proof.offset:
        return f"the log ends at offset {end_offset}; {ACKNOWLEDGED} says that it had all before offset {proof.offset}, which is committed"
    if quorum_epoch is not None and last_epoch <= quorum_epoch < proof.epoch:
        return f"quorum-state is of epoch {quorum_epoch}; {ACKNOWLEDGED} says that this directory took part in epoch {proof.epoch}"
    return None


class AcknowledgedFile:
    """The proof of a directory that is in use. Any thread may call it. Errors of all writes: OSError, after which the caller stops.

    `found` is the proof as the start found it, None for none or another id's; `trouble` says why there was one that cannot be read.
    """

    def __init__(self, disk: Disk, log_directory: str, directory_id: bytes) -> None:
        self._disk = disk
        self._log_directory = log_directory
        self._lock = Lock()
        self.trouble = ""
        found: Acknowledged | None = None
        try:
            found = read_acknowledged(log_directory)
        except LogCorruptError as error:
            self.trouble = error.reason
        self.found = found if found is not None and found.directory_id == directory_id else None
        self._known = self.found or Acknowledged(directory_id)
        self._is_on_disk = self.found is not None
        self._committed = self._known.offset

    @property
    def epoch(self) -> int:
        return self._known.epoch

    def find_loss(self, end_offset: int, last_epoch: int, quorum_epoch: int | None) -> str | None:
        """As the function; a proof that cannot be read is one of an empty log."""
        if self.trouble and end_offset == 0:
            return f"the metadata log is empty, and {ACKNOWLEDGED} cannot be read: {self.trouble}"
        return None if self.found is None else find_loss(self.found, end_offset, last_epoch, quorum_epoch)

    def begin(self, epoch: int, offset: int, end_offset: int, *, is_reset: bool) -> None:
        """Take in what the start has found: the epoch, an offset that is committed, and where the log ends.

        With `is_reset` that is all there is: what is missing was accepted as lost.
        """
        known = Acknowledged(self._known.directory_id, self._known.epoch) if is_reset else self._known
        self._committed = max(known.offset, offset)
        self._write(
            replace(
                known,
                epoch=max(known.epoch, epoch),
                offset=max(known.offset, offset),
                has_records=known.has_records or end_offset > 0,
            )
        )

    def reach_epoch(self, epoch: int) -> None:
        """An epoch is in quorum-state; durable on return."""
        if epoch > self._known.epoch:
            self._write(epoch=epoch)

    def reach_end(self, end_offset: int) -> None:
        """The log is durable up to an offset, and others are about to hear that; durable on return, the first time."""
        if end_offset > 0 and not self._known.has_records:
            self._write(has_records=True)
        elif self._committed >= min(2 * self._known.offset, self._known.offset + OFFSET_STEP) and self._committed > self._known.offset:
            self._write()

    def note_committed(self, offset: int) -> None:
        """All before an offset is committed and in this log. It is written with a flush that finds it far enough, and now and then."""
        if offset > self._committed:
            self._committed = offset

    def write_committed(self) -> None:
        """Write the committed offset, if it has grown."""
        if self._committed > self._known.offset:
            self._write()

    def empty(self) -> None:
        """A leader is about to cut all of the log: it was never committed. Durable on return."""
        if self._known.has_records and not self._known.offset:
            self._write(has_records=False)

    def _write(self, proof: Acknowledged | None = None, *, epoch: int = 0, has_records: bool | None = None) -> None:
        with self._lock:
            known = self._known if proof is None else proof
            new = replace(
                known,
                epoch=max(known.epoch, epoch),
                offset=max(known.offset, min(self._committed, 1 << 62) if proof is None else known.offset),
                has_records=known.has_records if has_records is None else has_records,
            )
            if new != self._known or not self._is_on_disk:
                write_acknowledged(self._disk, self._log_directory, new)
            self._known = new
            self._is_on_disk = True
