"""The names of files in a log directory, and what a file is when its name does not say.

A segment is `%020d.log`, named by its base offset; a checkpoint `%020d-%010d.checkpoint`, named by its end offset
(exclusive) and epoch. Kafka marks files that it is writing or removing by a further suffix; people compress them.
"""

import os
from typing import Final, Literal, NamedTuple

from metashell.codec.batches import RecordBatch
from metashell.log.packing import COMPRESSED_SUFFIXES
from metashell.values import BOOTSTRAP_SNAPSHOT_ID, OffsetAndEpoch

FileKind = Literal["segment", "checkpoint", "bootstrap"]

METADATA_DIRECTORY = "__cluster_metadata-0"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
"""In a log directory that a release before 4.4 formatted: the records that the first leader writes into the log."""
QUORUM_STATE = "quorum-state"
META_PROPERTIES = "meta.properties"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
RECOVERY_POINT = "recovery-point"
"""Ours: how far the log is known to be durable. Kafka ignores it, as it does the next one and what ends in DAMAGED_SUFFIX and a number."""
DAMAGED = "damaged"
"""Ours: this replica has no vote until its log is whole again."""
DAMAGED_SUFFIX = ".damaged-"

SNAPSHOT_HEADER_TYPE = 3
SNAPSHOT_FOOTER_TYPE = 4

OTHER_FILES: Final = {
    ".index": "an offset index",
    ".timeindex": "a time index",
    ".txnindex": "an index of aborted transactions",
    ".snapshot": "a producer snapshot",
    LEADER_EPOCH_CHECKPOINT: "the leader epochs of a log",
    "recovery-point-offset-checkpoint": "the recovery points of a log directory",
    "replication-offset-checkpoint": "the high watermarks of a log directory",
    "log-start-offset-checkpoint": "the log starts of a log directory",
    "cleaner-offset-checkpoint": "the cleaner's offsets of a log directory",
    PARTITION_METADATA: "the topic id of a partition",
    QUORUM_STATE: "the election state of a node",
    META_PROPERTIES: "the identity of a log directory",
}
"""Other files beside logs, by suffix or name."""

_STATES = {"log": ("deleted", "swap", "cleaned"), "checkpoint": ("deleted", "part")}
_OFFSET_LIMIT = 1 << 63


class LogFileName(NamedTuple):
    """The meaning of a file's name: its kind, where it lies in the log, and whether it is in use.

    `state` is empty for a file in use, else `deleted`, `swap`, `cleaned` or `part`.
    """

    kind: FileKind
    base_offset: int | None = None
    snapshot_id: OffsetAndEpoch | None = None
    state: str = ""
    is_compressed: bool = False

    @property
    def is_in_use(self) -> bool:
        return not self.state and not self.is_compressed


def parse_name(name: str) -> LogFileName | None:
    """Parse the name of a segment or checkpoint; None for any other name."""
    stem, *suffixes = name.split(".")
    is_compressed = suffixes[-1:] != [] and suffixes[-1] in COMPRESSED_SUFFIXES
    if is_compressed:
        suffixes.pop()
    if not suffixes or suffixes[0] not in _STATES:
        return None
    kind, *states = suffixes
    if len(states) > 1 or not all(state in _STATES[kind] for state in states):
        return None
    parse = _segment if kind == "log" else _checkpoint
    return parse(stem, "".join(states), is_compressed)


def other_file(path: str) -> str | None:
    """Describe a file that is no log and no checkpoint by its name; None for any other name."""
    return OTHER_FILES.get(os.path.basename(path)) or OTHER_FILES.get(os.path.splitext(path)[1])


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020d}.log"


def checkpoint_name(snapshot_id: OffsetAndEpoch) -> str:
    return f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}.checkpoint"


BOOTSTRAP_SNAPSHOT: Final = checkpoint_name(BOOTSTRAP_SNAPSHOT_ID)
"""In a metadata directory: the first voters of a dynamic quorum and, from 4.4 on, the records that the first leader writes into the log."""


def index_name(base_offset: int) -> str:
    return f"{base_offset:020d}.index"


def time_index_name(base_offset: int) -> str:
    return f"{base_offset:020d}.timeindex"


def classify(name: str, first_batch: RecordBatch | None) -> FileKind:
    """Checkpoint or segment: by the name where that decides, else by what the file starts with.

    Only a checkpoint starts with a SnapshotHeader control record; a file of another beginning is taken for a segment.
    """
    parsed = parse_name(name)
    if parsed is not None:
        return parsed.kind
    if first_batch is not None and first_batch.first_control_type() == SNAPSHOT_HEADER_TYPE:
        return "checkpoint"
    return "segment"


def _segment(stem: str, state: str, is_compressed: bool) -> LogFileName | None:
    if not _is_number(stem, 20) or int(stem) >= _OFFSET_LIMIT:
        return None
    return LogFileName("segment", int(stem), None, state, is_compressed)


def _checkpoint(stem: str, state: str, is_compressed: bool) -> LogFileName | None:
    if stem == "bootstrap":
        return LogFileName("bootstrap", None, None, state, is_compressed)
    # A third part is the random number of a file that is being written.
    offset, epoch, *_ = (*stem.split("-"), "")
    if not _is_number(offset, 20) or not _is_number(epoch, 10) or int(offset) >= _OFFSET_LIMIT:
        return None
    return LogFileName("checkpoint", None, OffsetAndEpoch(int(offset), int(epoch)), state, is_compressed)


def _is_number(text: str, digits: int) -> bool:
    return len(text) == digits and text.isascii() and text.isdigit()
