"""Voters whose disk lost what they had acknowledged: none of it is lost to the quorum, and nobody is elected without it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from metashell.common.errors import LogCorruptError
from metashell.disk.names import METADATA_DIRECTORY, segment_name
from tests.coroutines import eventually
from tests.quorum.server.test_on_disk import Place, topic
from tools.interop.voter import Voter, start_voter

pytestmark = pytest.mark.slow

NO_SNAPSHOTS: dict[str, object] = {"metadata.log.max.record.bytes.between.snapshots": 20_000_000}
ASKED = 40
"""Requests after which a voter that could be elected would have been."""


def metadata(place: Place, id: int) -> Path:
    return place.folder / f"node-{id}" / METADATA_DIRECTORY


def damage(place: Place, id: int) -> None:
    """Flip one bit in the second half of a log that is closed, with whole batches behind it."""
    path = metadata(place, id) / segment_name(0)
    data = bytearray(path.read_bytes())
    data[data.index(b"topic-21")] ^= 1
    path.write_bytes(data)


def requests_of(voter: Voter) -> int:
    return voter.server.counters["CONTROLLER.requests"]


async def append_topics(place: Place, first: int, last: int) -> None:
    leader = await place.leader()
    for number in range(first, last):
        await leader.server.append([topic(number)])


async def start_saying(place: Place, id: int, said: list[str]) -> Voter:
    place.voters[id] = await start_voter(str(place.configs[id]), may_stand=True, on_event=said.append)
    return place.voters[id]


async def test_a_damaged_voter_elects_nobody_without_what_it_lost_and_votes_again_when_it_has_it(tmp_path: Path) -> None:
    place = Place(tmp_path, NO_SNAPSHOTS, dynamic=False)
    try:
        for id in place.configs:
            await place.start(id)
        await append_topics(place, 0, 20)
        leader = next(id for id in place.configs if place.leads(id))
        late, damaged = (id for id in place.configs if id != leader)
        await place.stop(late)
        # Committed by the leader and the one whose disk will lose it.
        await append_topics(place, 20, 40)
        names = {f"topic-{number}" for number in range(40)}
        await place.stop(damaged)
        await place.stop(leader)
        damage(place, damaged)
        before = (metadata(place, damaged) / segment_name(0)).read_bytes()

        said: list[str] = []
        voter = await start_saying(place, damaged, said)
        assert said[0].startswith("this replica has no vote until its log reaches offset ")
        assert f"{segment_name(0)}: byte " in said[0] and "CRC-32C" in said[0]
        assert any(line.startswith("recovery: ") and f"kept as {segment_name(0)}.damaged-1" in line for line in said)
        assert (metadata(place, damaged) / f"{segment_name(0)}.damaged-1").read_bytes() == before
        await place.start(late)
        await eventually(lambda: requests_of(voter) > ASKED)
        assert voter.server.node.recovering is not None and not any(place.leads(id) for id in place.voters)

        # Also over a restart.
        await place.stop(damaged)
        voter = await start_saying(place, damaged, said)
        assert voter.server.node.recovering is not None
        await place.start(leader)
        await eventually(lambda: place.topics_at(damaged) == names)
        await eventually(lambda: any(line.startswith("the log is whole again") for line in said))
        assert voter.server.node.recovering is None and not (metadata(place, damaged) / "damaged").exists()

        # It has a vote again: with the late one it is a majority, and has all that was committed.
        await eventually(lambda: place.topics_at(late) == names)
        await place.stop(leader)
        await append_topics(place, 40, 41)
        await eventually(lambda: place.topics_at(damaged) == place.topics_at(late) == names | {"topic-40"})
    finally:
        await place.stop_all()


async def test_a_voter_without_its_quorum_state_does_not_start_unless_the_loss_is_accepted(tmp_path: Path) -> None:
    place = Place(tmp_path, {}, dynamic=False)
    try:
        for id in place.configs:
            await place.start(id)
        await append_topics(place, 0, 3)
        await eventually(lambda: all(len(place.topics_at(id)) == 3 for id in place.configs))
        await place.stop(1)
        state = metadata(place, 1) / "quorum-state"
        whole = state.read_bytes()
        for change in (
            state.unlink,
            lambda: state.write_bytes(whole[:9]),
            lambda: state.write_bytes(b'{"leaderEpoch":0,"data_version":0}'),
        ):
            change()
            with pytest.raises(LogCorruptError, match=r"quorum-state: offset \d+: .*; metashell storage repair .*.*--accept-loss"):
                await start_voter(str(place.configs[1]), may_stand=True)
        place.voters[1] = await start_voter(str(place.configs[1]), may_stand=True, accept_loss=True)
        await append_topics(place, 3, 4)
        await eventually(lambda: len(place.topics_at(1)) == 4)
    finally:
        await place.stop_all()


async def test_a_sole_voter_with_a_damaged_log_ends_with_one_line_unless_the_loss_is_accepted(tmp_path: Path) -> None:
    place = Place(tmp_path, NO_SNAPSHOTS, dynamic=False)
    config = place.configs[1]
    text = [line for line in config.read_text().splitlines() if not line.startswith("controller.quorum.voters")]
    address = next(line for line in text if line.startswith("listeners=")).partition("://")[2]
    config.write_text("\n".join([*text, f"controller.quorum.voters=1@{address}"]) + "\n")
    await place.start(1)
    await append_topics(place, 0, 40)
    await place.stop(1)
    damage(place, 1)
    words = [sys.executable, "-m", "tools.interop.voter", "--may-stand", str(config)]
    for extra, is_told in (([], True), ([], True), (["--accept-loss", "-v"], False)):
        process = await asyncio.create_subprocess_exec(*words, *extra, stderr=asyncio.subprocess.PIPE, env=dict(os.environ))
        assert process.stderr is not None
        if is_told:
            said = await process.stderr.read()
            assert await process.wait() == 1 and said.count(b"\n") == 1
            assert b"CRC-32C" in said and b"this is the only voter" in said and b"--accept-loss" in said
        else:
            while b"leader epoch=" not in await process.stderr.readline():
                pass
            process.send_signal(signal.SIGTERM)
            await process.stderr.read()
            assert await process.wait() == 0
    assert (metadata(place, 1) / f"{segment_name(0)}.damaged-1").exists()


@pytest.mark.parametrize(
    ("dynamic", "what"), [(True, "all"), (False, "all"), (True, "all but quorum-state"), (False, "all but quorum-state")]
)
async def test_a_voter_whose_metadata_directory_is_gone_elects_nobody_without_what_it_acknowledged(
    tmp_path: Path, dynamic: bool, what: str
) -> None:
    place = Place(tmp_path, NO_SNAPSHOTS, dynamic=dynamic)
    try:
        for id in place.configs:
            await place.start(id)
        await append_topics(place, 0, 3)
        await eventually(lambda: all(len(place.topics_at(id)) == 3 for id in place.configs))
        leader = next(id for id in place.configs if place.leads(id))
        late, lost = (id for id in place.configs if id != leader)
        await place.stop(late)
        # Committed by the leader and the one whose directory will be gone.
        await append_topics(place, 3, 6)
        names = {f"topic-{number}" for number in range(6)}
        await place.stop(lost)
        await place.stop(leader)
        directory = metadata(place, lost)
        state = (directory / "quorum-state").read_bytes()
        shutil.rmtree(directory)
        if what != "all":
            directory.mkdir()
            (directory / "quorum-state").write_bytes(state)

        said: list[str] = []
        voter = await start_saying(place, lost, said)
        (line,) = [line for line in said if "has no vote" in line]
        assert line.startswith("this replica has no vote until a leader of epoch ")
        assert "the metadata log is empty; acknowledged says that this directory has acknowledged records" in line
        await place.start(late)
        await eventually(lambda: requests_of(voter) > ASKED)
        assert voter.server.node.recovering is not None and not any(place.leads(id) for id in place.voters)
        # Also over a restart.
        await place.stop(lost)
        voter = await start_saying(place, lost, said)
        assert voter.server.node.recovering is not None
        await place.start(leader)
        await eventually(lambda: place.topics_at(lost) == place.topics_at(late) == names)
        await eventually(lambda: any(line.startswith("the log is whole again") for line in said))
        # It has a vote again: with the late one it is a majority, and has all that was committed.
        assert voter.server.node.recovering is None
        gone = next(id for id in place.configs if place.leads(id))
        await place.stop(gone)
        await append_topics(place, 6, 7)
        left = list(place.voters)
        await eventually(lambda: all(place.topics_at(id) == names | {"topic-6"} for id in left))
    finally:
        await place.stop_all()
