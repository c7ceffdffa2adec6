"""Logs and snapshots that real controllers wrote: taken whole, and their control records name the voters that Kafka's tool printed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.common.values import OffsetAndEpoch, uuid_text
from metashell.quorum.raft.appending import check_fetched
from metashell.quorum.raft.partition_state import PartitionState, SnapshotCheck
from metashell.quorum.raft.voters import ControlValue, LeaderChange, VoterSet
from tests.golden_cases import REPOSITORY, json_lines
from tests.quorum.raft.made import NO_VOTERS

COMMITTED = REPOSITORY / "tests" / "golden"
LAST_EPOCH = (1 << 31) - 1

DIRECTORIES = sorted(
    path
    for path in COMMITTED.glob("**/__cluster_metadata-0")
    if any(path.glob("*.log")) and "damage" not in path.parts and "handmade" not in path.parts
)


def names(path: Path) -> str:
    return str(path.relative_to(COMMITTED))


def replay(directory: Path, end: int | None = None) -> tuple[PartitionState, list[tuple[int, ControlValue]]]:
    """The state of a log before `end`, and its control records; its bootstrap snapshot is loaded first."""
    state = PartitionState(NO_VOTERS)
    bootstrap = directory / "00000000000000000000-0000000000.checkpoint"
    if bootstrap.exists():
        head = SnapshotCheck()
        head.feed(bootstrap.read_bytes())
        assert head.is_complete
        state.load_snapshot(0, head.kraft_version, head.voters)
    segments = sorted(directory.glob("*.log"))
    position, epoch, controls = int(segments[0].name[:20]), 0, []
    for segment in segments:
        data = segment.read_bytes()
        checked = check_fetched(data, position, epoch, LAST_EPOCH)
        assert checked.fault is None and checked.data == data, f"{segment}: {checked.fault}"
        position, epoch = checked.end_offset, checked.last_epoch
        controls += checked.controls
    for offset, value in controls:
        if end is None or offset < end:
            state.apply(offset, value)
    return state, controls


@pytest.mark.parametrize("directory", DIRECTORIES, ids=names)
def test_a_real_log_is_taken_whole_and_each_epoch_begins_with_its_leader(directory: Path):
    state, controls = replay(directory)
    assert state.doubtful_changes == 0
    changes = [value for _, value in controls if isinstance(value, LeaderChange)]
    assert changes and all(change.leader_id in change.granting for change in changes)
    assert all(set(change.granting) <= set(change.voters) for change in changes)


@pytest.mark.parametrize("directory", DIRECTORIES, ids=names)
def test_the_directory_ids_of_the_voters_are_those_of_the_nodes_own_files(directory: Path):
    state, _ = replay(directory)
    properties = (
        dict(re.findall(r"(?m)^([\w.]+)=(.*)$", (directory.parent / "meta.properties").read_text())) if _has_properties(directory) else {}
    )
    own = state.voters.voters.get(int(properties.get("node.id", -1)))
    if own is not None:
        assert uuid_text(own.key.directory_id) == properties["directory.id"]
    assert (state.kraft_version > 0) == (len(state.voters) > 0)


def _has_properties(directory: Path) -> bool:
    return (directory.parent / "meta.properties").exists()


def test_logs_of_static_and_of_dynamic_quorums_are_among_them():
    levels = {replay(directory)[0].kraft_version for directory in DIRECTORIES}
    assert levels == {0, 1}


SNAPSHOTS = sorted(
    path for path in COMMITTED.glob("**/__cluster_metadata-0/*.checkpoint") if "damage" not in path.parts and "handmade" not in path.parts
)


@pytest.mark.parametrize("path", SNAPSHOTS, ids=names)
def test_a_real_snapshot_is_complete_and_names_the_voters_that_its_log_has_there(path: Path):
    data = path.read_bytes()
    whole, pieces = SnapshotCheck(), SnapshotCheck()
    whole.feed(data)
    for position in range(0, len(data), 97):
        pieces.feed(data[position : position + 97])
    assert whole.fault is None and whole.is_complete and pieces.is_complete
    assert (pieces.voters, pieces.kraft_version, pieces.next_offset) == (whole.voters, whole.kraft_version, whole.next_offset)
    end = int(path.name[:20])
    first_segment = min((int(log.name[:20]) for log in path.parent.glob("*.log")), default=None)
    if end and first_segment == 0:
        state, _ = replay(path.parent, end)
        assert (state.voters if len(state.voters) else None) == whole.voters
        assert state.kraft_version == (whole.kraft_version or 0)


def described(root: Path) -> Iterator[tuple[OffsetAndEpoch, list[dict[str, object]]]]:
    """(high watermark and epoch, voters) of each `kafka-metadata-quorum describe --status`."""
    for case in json_lines(root, "online"):
        if case["argv"][0] == "quorum" and case["argv"][-1] == "--status" and case["rc"] == 0:
            lines = dict(re.findall(r"(\w+): +(.*)", case["stdout"]["text"]))
            yield OffsetAndEpoch(int(lines["HighWatermark"]), int(lines["LeaderEpoch"])), json.loads(lines["CurrentVoters"])


def printed(voters: VoterSet) -> list[dict[str, object]]:
    """A voter set as Kafka's tool prints it."""
    return [
        {
            "id": voter.key.id,
            "directoryId": uuid_text(voter.key.directory_id),
            "endpoints": [f"{name}://{host}:{port}" for name, (host, port) in voter.endpoints.items()],
        }
        for voter in voters.voters.values()
    ]


@pytest.mark.golden
@pytest.mark.parametrize("cluster", ["4.3.1/main", "4.3.1/default", "3.9.2/default"])
def test_the_voters_at_a_high_watermark_are_those_that_kafkas_tool_printed_then(golden: Path, cluster: str):
    answers = list(described(golden / cluster))
    assert answers
    directory = max(
        (golden / cluster / "data").glob("*/*/*/__cluster_metadata-0"),
        key=lambda path: sum(log.stat().st_size for log in path.glob("*.log")),
    )
    for position, voters in answers:
        state, _ = replay(directory, position.offset)
        assert printed(state.voters) == voters
