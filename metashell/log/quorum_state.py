"""`quorum-state`: a node's election state, one line of JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from metashell.errors import LogCorruptError
from metashell.log.atomic_file import replace_file
from metashell.log.disk import Disk
from metashell.log.text_files import json_object, read_text_file
from metashell.values import ZERO_UUID, uuid_from_text, uuid_text

NO_NODE = -1
SUPPORTED_VERSIONS = (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """Leader and vote of the newest epoch the node knows; -1 is nobody, and no vote has the zero directory id.

    Fields of version 0 that Kafka writes and never reads are left out, except the voters.
    """

    leader_epoch: int = 0
    leader_id: int = NO_NODE
    voted_id: int = NO_NODE
    voted_directory_id: bytes = ZERO_UUID
    current_voters: tuple[int, ...] = ()
    data_version: int = 0


def read_quorum_state(path: str) -> QuorumState:
    """The election state at `path`; a missing file is epoch 0, no leader, no vote.

    Errors: LogCorruptError for what is no such JSON, or of a version that is not 0 or 1.
    Source: org.apache.kafka.raft.FileQuorumStateStore.
    """
    try:
        data = read_text_file(path)
    except FileNotFoundError:
        return QuorumState()
    try:
        return _parse(json_object(data))
    except ValueError as error:
        raise LogCorruptError(path, 0, str(error)) from error


def quorum_state_fields(data: bytes) -> dict[str, Any]:
    """The fields as they stand in a quorum-state that `read_quorum_state` accepts. Errors: ValueError."""
    fields = json_object(data)
    _parse(fields)
    return fields


def format_quorum_state(state: QuorumState) -> bytes:
    """The bytes that Kafka writes for `state.data_version`, which is 1 from kraft.version 1 on.

    Version 0 has no directory id of the vote, version 1 no voters.
    """
    fields: dict[str, object]
    match state.data_version:
        case 0:
            fields = {
                "clusterId": "",
                "leaderId": state.leader_id,
                "leaderEpoch": state.leader_epoch,
                "votedId": state.voted_id,
                "appliedOffset": 0,
                "currentVoters": [{"voterId": voter} for voter in state.current_voters],
            }
        case 1:
            fields = {
                "leaderId": state.leader_id,
                "leaderEpoch": state.leader_epoch,
                "votedId": state.voted_id,
                "votedDirectoryId": uuid_text(state.voted_directory_id),
            }
        case other:
            raise ValueError(f"data_version {other} is not known")
    return json.dumps(fields | {"data_version": state.data_version}, separators=(",", ":")).encode()


def write_quorum_state(path: str, state: QuorumState, disk: Disk | None = None) -> None:
    """Replace the file at `path` in one step; durable on return.

    Errors: OSError, after which the old or the new state may be on disk: the writer must stop.
    Source: org.apache.kafka.raft.FileQuorumStateStore.
    """
    replace_file(disk or Disk(), path, format_quorum_state(state))


def _parse(fields: dict[str, Any]) -> QuorumState:
    version = _integer(fields, "data_version")
    if version not in SUPPORTED_VERSIONS:
        raise ValueError(f"data_version {version} is not known")
    directory_id = fields.get("votedDirectoryId")
    if not isinstance(directory_id, str | None):
        raise ValueError(f"votedDirectoryId {directory_id!r} is not a text")
    voters = fields.get("currentVoters") or []
    if not isinstance(voters, list) or not all(isinstance(voter, dict) for voter in voters):
        raise ValueError("currentVoters is not a list of objects")
    return QuorumState(
        leader_epoch=_integer(fields, "leaderEpoch", NO_NODE),
        leader_id=_integer(fields, "leaderId", NO_NODE),
        voted_id=_integer(fields, "votedId", NO_NODE),
        voted_directory_id=ZERO_UUID if directory_id is None else uuid_from_text(directory_id),
        current_voters=tuple(_integer(voter, "voterId") for voter in voters),
        data_version=version,
    )


def _integer(fields: dict[str, Any], name: str, default: int | None = None) -> int:
    value = fields.get(name, default)
    if value is None and name not in fields:
        raise ValueError(f"{name} is missing")
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} {value!r} is not a number")
    return value
