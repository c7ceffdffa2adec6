"""The small files that a server reads when it starts, by the rules of Kafka's readers where these differ from ours.

Source: MetaPropertiesEnsemble, PropertiesUtils, PartitionMetadataFile, CheckpointFile, FileQuorumStateStore and the generated
QuorumStateDataJsonConverter, BootstrapDirectory; each rule seen in real 4.3.1.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import TypeVar

from metashell.codec.frame import FrameError, UnknownRecord, read_metadata_record
from metashell.codec.metadata_version import METADATA_VERSION
from metashell.errors import DecodeError, LogCorruptError
from metashell.log.files import RegularFile, open_regular
from metashell.log.quorum_state import QuorumState
from metashell.log.text_checkpoints import read_leader_epochs
from metashell.log.text_files import json_object, read_text_file
from metashell.values import METADATA_TOPIC_ID, ZERO_UUID, uuid_from_text, uuid_text
from metashell.verify.start.batches import BadLengthError, placed_batches, read_placed
from metashell.verify.start.epochs import EpochCache
from metashell.verify.start.verdict import Ends

T = TypeVar("T")

_VERSION_LINE = re.compile(r"version: \+?([0-9]{1,9})", re.ASCII)
_TOPIC_LINE = re.compile(r"topic_id: (\S+)", re.ASCII)


def read_bootstrap(path: str) -> dict[str, int] | None:
    """The feature levels of a bootstrap checkpoint, None where there is none.

    It is read at each start, without its checksums, and has to name a metadata.version. Errors: Ends.
    """
    if not os.path.lexists(path):
        return None
    if not os.path.isfile(path):
        raise Ends(path, "is not a regular file")
    try:
        with open_regular(path) as file:
            levels = _levels(file)
    except (BadLengthError, DecodeError, FrameError) as error:
        raise Ends(path, str(error)) from None
    if METADATA_VERSION not in levels:
        raise Ends(path, "has no record of a metadata.version")
    return levels


def _levels(file: RegularFile) -> dict[str, int]:
    """Every record is read, those that set no level too."""
    levels = {}
    for placed in placed_batches(file):
        batch = read_placed(file, placed)
        for record in batch.records():
            value = record.value or b""
            if batch.header.is_control:
                continue
            found = read_metadata_record(value, 0, len(value))
            if isinstance(found.body, UnknownRecord):
                raise DecodeError(f"offset {record.offset}: {found.fault}")
            if found.type_name == "FEATURE_LEVEL_RECORD":
                levels[found.body.name] = found.body.feature_level
    return levels


def read_epochs(path: str) -> EpochCache:
    """The leader epoch cache as it is loaded. Errors: Ends."""
    cache = EpochCache()
    if os.path.lexists(path) and _read(path, read_text_file).strip() != b"0":  # a version alone is no entries
        for entry in _read(path, read_leader_epochs):
            cache.assign(entry.epoch, entry.start_offset, path)
    return cache


def check_topic_id(path: str) -> None:
    """A partition.metadata: two lines, of which more may follow. Errors: Ends."""
    if not os.path.lexists(path):
        return
    lines = _read(path, read_text_file).decode("utf-8", "replace").split("\n")
    version = _VERSION_LINE.fullmatch(lines[0].rstrip("\r"))
    topic = _TOPIC_LINE.fullmatch(lines[1].rstrip("\r")) if len(lines) > 1 else None
    if version is None or topic is None:
        raise Ends(path, "is not partition metadata")
    try:
        topic_id = uuid_from_text(topic[1])
    except ValueError as error:
        raise Ends(path, str(error)) from None
    if topic_id == ZERO_UUID:
        raise Ends(path, "its topic id is zero")
    if topic_id != METADATA_TOPIC_ID:
        raise Ends(path, f"topic id {uuid_text(topic_id)} is not that of the metadata log")


def read_election(path: str) -> QuorumState | None:
    """A quorum-state, None where there is none: one JSON value in the first line, in which every field of its version has to be.

    Errors: Ends.
    """
    if not os.path.lexists(path):
        return None
    line = _read(path, read_text_file).split(b"\n")[0]
    try:
        fields = json_object(line, ignores_rest=True)
    except ValueError as error:
        raise Ends(path, str(error)) from None
    version = fields.get("data_version")
    if version is None:
        raise Ends(path, "data_version is missing")
    if isinstance(version, dict | list) or version not in _MANDATORY:
        raise Ends(path, f"data_version {version} is not known")
    for name, holds in _MANDATORY[version].items():
        if name not in fields:
            raise Ends(path, f"{name} is missing, which version {version} requires")
        if not holds(fields[name]):
            raise Ends(path, f"{name} {json.dumps(fields[name])[:80]} has the wrong type")
    directory_id = fields["votedDirectoryId"] if version else None
    return QuorumState(
        leader_epoch=fields["leaderEpoch"],
        leader_id=fields["leaderId"],
        voted_id=fields["votedId"],
        voted_directory_id=ZERO_UUID if directory_id is None else uuid_from_text(directory_id),
        data_version=version,
    )


def _is_int32(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 1 << 31


def _is_int64(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def _is_uuid(value: object) -> bool:
    try:
        uuid_from_text(str(value))
    except ValueError:
        return False
    return isinstance(value, str)


def _are_voters(value: object) -> bool:
    # The schema lets them be null, and Kafka ends over that all the same.
    return isinstance(value, list) and all(isinstance(voter, dict) and _is_int32(voter.get("voterId")) for voter in value)


_MANDATORY: dict[int, dict[str, Callable[[object], bool]]] = {
    0: {
        "clusterId": lambda value: isinstance(value, str),
        "leaderId": _is_int32,
        "leaderEpoch": _is_int32,
        "votedId": _is_int32,
        "appliedOffset": _is_int64,
        "currentVoters": _are_voters,
    },
    1: {"leaderId": _is_int32, "leaderEpoch": _is_int32, "votedId": _is_int32, "votedDirectoryId": _is_uuid},
}


def _read(path: str, read: Callable[[str], T]) -> T:
    if not os.path.isfile(path):
        raise Ends(path, "is not a regular file")
    try:
        return read(path)
    except LogCorruptError as error:
        raise Ends(path, error.reason) from None
    except OSError as error:
        raise Ends(path, error.strerror or str(error)) from None
