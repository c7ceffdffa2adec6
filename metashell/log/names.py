"""The names of files in a log directory, and what a file is when its name does not say.

A segment is `%020d.log`, named by its base offset; a checkpoint `%020d-%010d.checkpoint`, named by its end offset
(exclusive) and epoch. Kafka marks files that it is writing or removing by a further suffix; people compress them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from metashell.codec.batches import RecordBatch
from metashell.values import OffsetAndEpoch

FileKind = Literal["segment", "checkpoint", "bootstrap"]

METADATA_DIRECTORY = "__cluster_metadata-0"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
QUORUM_STATE = "quorum-state"
META_PROPERTIES = "meta.properties"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

SNAPSHOT_HEADER_TYPE = 3
SNAPSHOT_FOOTER_TYPE = 4

_SEGMENT = re.compile(r"(\d{20})\.log(?P<state>\.deleted|\.swap|\.cleaned)?(?P<gz>\.gz)?", re.ASCII)
_CHECKPOINT = re.compile(r"(\d{20})-(\d{10})(?:-[^.]*)?\.checkpoint(?P<state>\.deleted|\.part)?(?P<gz>\.gz)?", re.ASCII)
_BOOTSTRAP = re.compile(r"bootstrap\.checkpoint(?P<state>)(?P<gz>\.gz)?")
_OFFSET_LIMIT = 1 << 63


@dataclass(frozen=True, slots=True)
class LogFileName:
    """What a file's name says: its kind, where it lies in the log, and whether it is in use.

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
    """What the name of a segment or checkpoint says, None for any other name."""
    if match := _SEGMENT.fullmatch(name):
        base_offset = int(match[1])
        return LogFileName("segment", base_offset, None, *_marks(match)) if base_offset < _OFFSET_LIMIT else None
    if match := _CHECKPOINT.fullmatch(name):
        snapshot_id = OffsetAndEpoch(int(match[1]), int(match[2]))
        return LogFileName("checkpoint", None, snapshot_id, *_marks(match))
    if match := _BOOTSTRAP.fullmatch(name):
        return LogFileName("bootstrap", None, None, *_marks(match))
    return None


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020d}.log"


def checkpoint_name(snapshot_id: OffsetAndEpoch) -> str:
    return f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}.checkpoint"


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


def _marks(match: re.Match[str]) -> tuple[str, bool]:
    return (match["state"] or "")[1:], match["gz"] is not None
