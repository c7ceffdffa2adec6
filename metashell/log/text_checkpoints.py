"""The text checkpoints: a version, a number of entries, and one entry a line.

`leader-epoch-checkpoint` has lines of epoch and start offset; the offset checkpoints (`recovery-point-offset-checkpoint`,
`replication-offset-checkpoint`, `log-start-offset-checkpoint`) of topic, partition and offset. `partition.metadata` is a
small file of its own form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from metashell.codec.redaction import shown_text
from metashell.errors import LogCorruptError
from metashell.log.text_files import read_text_file
from metashell.values import uuid_from_text, uuid_text

_VERSION = 0
_NUMBER = re.compile(r"-?\d{1,19}", re.ASCII)
_EPOCH_LINE = re.compile(r"(-?\d{1,10})\s+(-?\d{1,19})", re.ASCII)
_OFFSET_LINE = re.compile(r"(\S+)\s+(\d{1,10})\s+(-?\d{1,19})", re.ASCII)
_TOPIC_ID_LINE = re.compile(r"topic_id:\s*(\S+)")


@dataclass(frozen=True, slots=True)
class EpochEntry:
    """An epoch, and the first offset that was written in it."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    topic: str
    partition: int
    offset: int


def read_leader_epochs(path: str) -> tuple[EpochEntry, ...]:
    """The entries of a leader-epoch-checkpoint, in the file's order.

    Errors: FileNotFoundError; LogCorruptError for another version, number of entries, or form of a line.
    """
    return tuple(EpochEntry(int(match[1]), int(match[2])) for match in _entries(path, _EPOCH_LINE))


def format_leader_epochs(entries: Sequence[tuple[int, int]]) -> bytes:
    """The bytes of a leader-epoch-checkpoint with these epochs and start offsets."""
    return "".join(f"{line}\n" for line in (_VERSION, len(entries), *(f"{epoch} {start}" for epoch, start in entries))).encode()


def format_topic_id(topic_id: bytes) -> bytes:
    """The bytes of a partition.metadata; no line end follows the last line."""
    return f"version: {_VERSION}\ntopic_id: {uuid_text(topic_id)}".encode()


def read_partition_offsets(path: str) -> tuple[PartitionOffset, ...]:
    """The entries of an offset checkpoint, in the file's order.

    Errors: as `read_leader_epochs`.
    """
    return tuple(PartitionOffset(match[1], int(match[2]), int(match[3])) for match in _entries(path, _OFFSET_LINE))


def read_topic_id(path: str) -> bytes:
    """The topic id that a partition.metadata holds.

    Errors: FileNotFoundError; LogCorruptError for another version or no topic id.
    """
    lines = [line for _, line in _lines(path)]
    match = _TOPIC_ID_LINE.fullmatch(lines[1]) if len(lines) > 1 and lines[0] == f"version: {_VERSION}" else None
    if match is None:
        raise LogCorruptError(path, 0, "is no partition metadata of version 0")
    try:
        return uuid_from_text(match[1])
    except ValueError as error:
        raise LogCorruptError(path, 0, str(error)) from error


def _entries(path: str, form: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The lines of entries, none for an empty file; Kafka's words for what may be wrong (CheckpointFile)."""
    lines = list(_lines(path))
    if not lines:
        return
    version = _number(path, lines, 0)
    if version != _VERSION:
        raise LogCorruptError(path, 0, f"Unrecognised version of the checkpoint file: {version}")
    expected = _number(path, lines, 1)
    if len(lines) - 2 != expected:
        raise LogCorruptError(path, lines[1][0], f"Expected {expected} entries in checkpoint file, but found only {len(lines) - 2}")
    for offset, line in lines[2:]:
        match = form.fullmatch(line)
        if match is None:
            _malformed(path, offset, line)
        yield match


def _number(path: str, lines: list[tuple[int, str]], index: int) -> int:
    if index >= len(lines):
        raise LogCorruptError(path, 0, "checkpoint file is cut off")
    offset, line = lines[index]
    if not _NUMBER.fullmatch(line):
        _malformed(path, offset, line)
    return int(line)


def _malformed(path: str, offset: int, line: str) -> NoReturn:
    raise LogCorruptError(path, offset, f"Malformed line in checkpoint file: {shown_text(line)}")


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, each with its byte offset; malformed UTF-8 is replaced."""
    offset = 0
    for raw in read_text_file(path).split(b"\n"):
        line = raw.decode("utf-8", "replace").strip()
        if line:
            yield offset, line
        offset += len(raw) + 1
