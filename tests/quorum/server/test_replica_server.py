"""Three replicas of ours over loopback: they elect, replicate, and live on when one of them ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from metashell.net.addresses import Address
from metashell.net.transport import connect
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.wire import decode_response, encode_request
from tests.coroutines import eventually
from tests.quorum.server.quorum import CLUSTER_ID, Quorum, append


async def test_three_elect_a_leader_and_commit_what_it_appends(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        offsets = [await leader.running.append([b"a", b"b"]), await leader.running.append([b"c"])]
        assert offsets == sorted(offsets)
        for member in quorum.members.values():
            await eventually(lambda member=member: member.machine.values == [b"a", b"b", b"c"])
            await eventually(lambda member=member: member.machine.leaders[-1:] == [(leader.id, leader.running.node.epoch)])


async def test_each_may_stop_and_come_back_and_all_have_everything(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        values = []
        for member in quorum.members.values():
            for crash in (False, True):
                values.append(f"before {member.id} {crash}".encode())
                await append(quorum, values[-1])
                await quorum.restart(member, crash=crash)
        values.append(b"after")
        await append(quorum, values[-1])
        for member in quorum.members.values():
            await eventually(lambda member=member: member.machine.values[-1:] == [b"after"])
            # A value may be there twice: a leader that ended may have committed what it could not tell.
            assert list(dict.fromkeys(member.machine.values)) == values


async def test_a_leader_that_stops_gracefully_hands_over_before_it_ends(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        epoch = leader.running.node.epoch
        await leader.running.stop()
        assert leader.machine.is_shut_down
        assert leader.running.failure.result() is None
        following = await quorum.leader(but=leader)
        assert following.running.node.epoch > epoch
        await following.running.append([b"x"])


async def test_describe_quorum_is_answered(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        await leader.running.append([b"x"])
        connection = await connect(Address("127.0.0.1", leader.port))
        answer = await connection.request(encode_request(flat.DescribeQuorumRequest(), 2), version=2)
        described = decode_response(55, 2, answer)
        assert isinstance(described, flat.DescribeQuorumResponse)
        assert (described.error, described.leader_id, described.epoch) == (0, leader.id, leader.running.node.epoch)
        assert {state.id for state in described.voters} == {1, 2, 3}
        assert described.high_watermark > 0
        connection.close()


async def test_another_clusters_request_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        epoch = leader.running.node.epoch
        connection = await connect(Address("127.0.0.1", leader.port))
        vote = flat.VoteRequest("another", leader.id, leader.key.directory_id, epoch + 5, 2, bytes(16), 0, 0)
        answer = decode_response(52, 2, await connection.request(encode_request(vote, 2), version=2))
        assert isinstance(answer, flat.VoteResponse)
        assert answer.top_error == 104
        assert leader.running.node.epoch == epoch
        connection.close()


async def test_a_parked_fetch_of_a_connection_that_ends_is_forgotten(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        await leader.running.append([b"x"])
        node = leader.running.node
        connection = await connect(Address("127.0.0.1", leader.port))
        inbound = leader.running.inbound
        before = leader.running.inbound.waiting
        fetch = flat.FetchRequest(
            CLUSTER_ID, -1, bytes(16), node.epoch, node.log_end_offset, node.epoch, 100_000, 1000, node.high_watermark
        )
        asking = asyncio.ensure_future(connection.request(encode_request(fetch, 18), version=18))
        await eventually(lambda: any(r.request.max_wait_ms == 100_000 for r in node.parked))
        connection.close()
        await asyncio.gather(asking, return_exceptions=True)
        await eventually(lambda: not any(r.request.max_wait_ms == 100_000 for r in node.parked))
        assert inbound.waiting <= before + 3


@pytest.mark.slow
async def test_a_voter_that_never_stands_lets_the_others_stand_when_the_leader_is_gone(tmp_path: Path) -> None:
    quorum = Quorum(tmp_path)
    quiet = quorum.members[3]
    quiet.settings = {"may_stand": False}
    async with quorum:
        leader = await quorum.leader()
        await leader.running.append([b"x"])
        await eventually(lambda: quiet.machine.values == [b"x"])
        await leader.running.kill()
        following = await quorum.leader(but=leader)
        assert following is not quiet
        await following.running.append([b"y"])
