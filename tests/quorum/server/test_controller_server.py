"""Quorums of controllers: who is active, what is lost and what is not when one dies, is deposed or makes a mistake.
What formatting left for the first leader of a cluster: either layout, static and dynamic, and nothing of it afterwards.
Features that are upgraded through a quorum: kraft.version, which raft writes, beside records of the controller.
A process that is a controller looks for garbage in small pieces."""

from __future__ import annotations

import asyncio
import gc
import socket
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import INVALID_UPDATE_VERSION, NONE, NOT_CONTROLLER
from metashell.common.errors import MetashellError
from metashell.disk.directory import first_records_file
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.source import open_source
from metashell.metadata.image import ReplayError, load_image
from metashell.quorum.controller import QuorumController
from metashell.quorum.server import controller_server
from metashell.quorum.server.controller_server import ControllerServer, Garbage
from metashell.quorum.server.event_queue import LoopHold
from tests.coroutines import eventually, run
from tests.quorum.server.controllers import QUICK, Controllers, add_broker, ask, client, create, create_at, topic_request, topics_of
from tests.seeds import shows


@shows("KIP-631/one-log", "KIP-631/client-access")
@pytest.mark.parametrize("dynamic", [True, False])
async def test_every_controller_registers_and_has_what_was_created(tmp_path: Path, dynamic: bool) -> None:
    async with Controllers(tmp_path, dynamic=dynamic) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        assert await create(active, "a") == NONE
        everyone = list(quorum.running.values())
        await eventually(lambda: all(topics_of(server) == {"a"} for server in everyone))
        await eventually(lambda: all(set(server.image.cluster.controllers) == {1, 2, 3} for server in everyone))
        assert sum(server.is_active for server in everyone) == 1
        standby = next(server for server in everyone if not server.is_active)
        refused = (await ask(standby, topic_request("b"), 7)).topics[0]
        assert refused.error_code == NOT_CONTROLLER
        assert refused.error_message == f"The active controller appears to be node {active.config.node.node_id}."
        described = await ask(standby, messages.DescribeClusterRequest(endpoint_type=2), 2)
        assert (described.controller_id, len(described.brokers)) == (active.config.node.node_id, 3)


@shows("KIP-631/active-controller", "KIP-631/failover")
async def test_a_standby_takes_over_when_the_active_controller_dies(tmp_path: Path) -> None:
    async with Controllers(tmp_path, settings=QUICK) as quorum:
        await add_broker(await quorum.active(), 1)
        active = await create_at(quorum, "before")
        id = active.config.node.node_id
        await quorum.kill(id)
        heir = await quorum.active(but=id)
        assert topics_of(heir) == {"before"}
        await create_at(quorum, "after", but=id)
        back = await quorum.start(id)
        await eventually(lambda: topics_of(back) == {"before", "after"})


async def test_a_controller_that_is_stopped_hands_its_leadership_over(tmp_path: Path) -> None:
    async with Controllers(tmp_path) as quorum:
        active = await quorum.active()
        id = active.config.node.node_id
        await asyncio.wait_for(quorum.stop(id), 120)
        assert (await quorum.active(but=id)).epoch > 0


@shows("KIP-631/uncommitted")
async def test_what_a_deposed_leader_has_not_committed_is_answered_not_controller(tmp_path: Path) -> None:
    async with Controllers(tmp_path, settings=QUICK) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        id = active.config.node.node_id
        for other in [other for other in quorum.running if other != id]:
            await quorum.kill(other)
        connection = await client(active)
        asked = [asyncio.ensure_future(connection.request(topic_request(f"lost-{n}"), version=7)) for n in range(3)]
        await eventually(lambda: active.machine.waiting == 3)
        answers = await asyncio.gather(*asked)
        assert {answer.topics[0].error_code for answer in answers} == {NOT_CONTROLLER}
        assert not active.is_active
        assert topics_of(active) == set()
        for other in [other for other in quorum.ports if other != id]:
            await quorum.start(other)
        await create_at(quorum, "kept")


async def test_a_sole_controller_never_acknowledges_what_a_resignation_lost(tmp_path: Path) -> None:
    """Raft announces no loss of leadership in between, and gives the same offsets again."""
    async with Controllers(tmp_path, 1) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        # Nothing that is prepared from now on leaves by itself.
        active.node.role.accumulator.linger_ms = 10_000  # type: ignore[union-attr]
        connection = await client(active)
        asked = [asyncio.ensure_future(connection.request(topic_request(f"lost-{n}"), version=7)) for n in range(3)]
        await eventually(lambda: active.machine.waiting >= 3)
        epoch = active.epoch
        active.replica.driver.resign(active.node.epoch)
        answers = await asyncio.gather(*asked)
        assert {answer.topics[0].error_code for answer in answers} == {NOT_CONTROLLER}
        await eventually(lambda: active.is_active and active.epoch > epoch)
        assert await create(active, "lost-1") == NONE
        assert topics_of(active) == {"lost-1"}


async def test_a_sole_controller_that_is_elected_again_leads_again_and_one_that_has_ended_registers_no_more(tmp_path: Path) -> None:
    async with Controllers(tmp_path, 1) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        assert await create(active, "before") == NONE
        assert (active.machine.claims, active.machine.waiting) == (1, 0)
        active.replica.driver.resign(active.node.epoch)
        await eventually(lambda: active.machine.claims == 2 and active.is_active)
        assert active.machine.controller.state.claim_epoch == active.node.epoch == active.epoch > 1
        assert await create(active, "after") == NONE
        await eventually(lambda: active.registration._task is None)
        await quorum.stop(1)
        assert active.registration._is_closed and active.failure.result() is None
        active.registration.look()
        assert active.registration._task is None


async def test_a_start_that_fails_lets_the_directory_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quorum = Controllers(tmp_path, 1)
    closed: list[str] = []
    close = MetadataLog.close
    monkeypatch.setattr(MetadataLog, "close", lambda log: closed.append(log.directory) or close(log))  # type: ignore[func-returns-value]
    with socket.create_server(("localhost", quorum.ports[1])), pytest.raises((OSError, MetashellError), match="use"):
        await quorum.start(1)
    assert len(closed) == 1 and not quorum.running
    active = await quorum.start(1)
    await eventually(lambda: active.is_active)
    await quorum.kill(1)


USER = ("-S", "SCRAM-SHA-256=[name=alice,password=secret]", "-r", "4.2", "-f", "group.version=0")
FIRST = Path("__cluster_metadata-0", "00000000000000000000-0000000000.checkpoint")
LEVELS = {"metadata.version": 29, "transaction.version": 2, "eligible.leader.replicas.version": 1, "share.version": 1, "streams.version": 1}


def levels_of(server: ControllerServer) -> dict[str, int]:
    features = server.image.features
    return {"metadata.version": features.metadata_version or 0, **features.levels}


def users_of(server: ControllerServer) -> set[str]:
    return {name for users in server.image.scram.values() for name in users}


def removal_of_alice() -> Any:
    made = messages.AlterUserScramCredentialsRequest
    return made(deletions=(made.ScramCredentialDeletion(name="alice", mechanism=1),), upsertions=())


@pytest.mark.parametrize("layout", ["4.4", "4.3"])
@pytest.mark.parametrize("dynamic", [True, False])
def test_the_first_leader_writes_them_and_they_count_no_longer_after_that(layout: str, dynamic: bool, tmp_path: Path) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, dynamic=dynamic, words=(*USER, "--layout", layout)) as quorum:
            active = await quorum.active()
            for server in quorum.running.values():
                await eventually(lambda server=server: users_of(server) == {"alice"})
                assert levels_of(server) == LEVELS
                assert server.machine.loads == 0, "nothing was taken for a snapshot"
            answer = await ask(active, removal_of_alice())
            assert [result.error_code for result in answer.results] == [NONE]
            for id in list(quorum.running):
                await quorum.stop(id)
            for id in quorum.ports:
                await quorum.start(id)
            for server in quorum.running.values():
                await eventually(lambda server=server: levels_of(server) == LEVELS and not users_of(server))

    run(main)
    with open_source(str(tmp_path / "node-1")) as source:
        assert not any(load_image(source).scram.values())


async def test_the_bootstrap_snapshot_counts_where_an_older_format_left_a_file(tmp_path: Path) -> None:
    """As 4.4.0 does it."""
    (tmp_path / "older").mkdir()
    (tmp_path / "newer").mkdir()
    older = Controllers(tmp_path / "older", 1, dynamic=False, words=(*USER, "--layout", "4.3"))
    newer = Controllers(tmp_path / "newer", 1, dynamic=False)
    directory = tmp_path / "newer" / "node-1"
    (directory / "bootstrap.checkpoint").write_bytes((tmp_path / "older" / "node-1" / "bootstrap.checkpoint").read_bytes())
    assert first_records_file(str(directory)) == str(directory / FIRST)
    async with newer as quorum:
        active = await quorum.active()
        assert active.image.features.metadata_version == 33 and not users_of(active)
    assert older.configs


def test_a_formatted_directory_shows_what_its_cluster_begins_with_and_a_log_shows_itself(tmp_path: Path) -> None:
    quorum = Controllers(tmp_path, 1, dynamic=False, words=(*USER, "--layout", "4.4"))
    directory = tmp_path / "node-1"
    with open_source(str(directory)) as source:
        image = load_image(source)
    assert {name for users in image.scram.values() for name in users} == {"alice"}
    assert (image.features.metadata_version, image.provenance.offset, image.provenance.certain_to) == (29, -1, None)

    async def main() -> None:
        # As 4.3.1 starts on it: without the records.
        (directory / FIRST).rename(tmp_path / FIRST.name)
        async with quorum:
            await quorum.active()
        (tmp_path / FIRST.name).rename(directory / FIRST)

    run(main)
    with open_source(str(directory)) as source:
        image = load_image(source)
    assert image.features.metadata_version == 33 and not any(image.scram.values())


def upgrade(name: str, level: int, *, version: int = 2, validate_only: bool = False) -> Any:
    made = messages.UpdateFeaturesRequest
    update = made.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=1)
    return made(feature_updates=(update,), validate_only=validate_only, timeout_ms=10_000)


@pytest.mark.slow
async def test_kraft_version_is_upgraded_once_every_voter_has_told_its_directory(tmp_path: Path) -> None:
    async with Controllers(tmp_path, settings=QUICK, dynamic=False) as quorum:
        everyone = list(quorum.running.values())
        assert {server.node.kraft_version for server in everyone} == {0}
        first = await quorum.active()
        # So that the level and the epoch are two numbers.
        first.replica.driver.resign(first.node.epoch)
        await eventually(lambda: all(server.node.epoch >= 2 for server in everyone))
        code = INVALID_UPDATE_VERSION
        while code != NONE:
            assert code in (INVALID_UPDATE_VERSION, NOT_CONTROLLER)
            active = await quorum.active()
            code = (await ask(active, upgrade("kraft.version", 1), 2)).error_code
        # It is committed when that is said.
        assert active.image.features.kraft_version == 1
        await eventually(lambda: {server.node.kraft_version for server in everyone} == {1})
        await eventually(lambda: all(server.image.features.kraft_version == 1 for server in everyone))
        for server in everyone:
            voters = server.image.voters
            assert voters is not None and {voter.id: any(voter.directory_id) for voter in voters.voters} == {1: True, 2: True, 3: True}
        again = await ask(await quorum.active(), upgrade("kraft.version", 1), 2)
        assert again.error_code in (NONE, NOT_CONTROLLER)
        back = await ask(await quorum.active(), upgrade("kraft.version", 0), 2)
        assert back.error_code in (INVALID_UPDATE_VERSION, NOT_CONTROLLER)


async def test_a_standby_that_cannot_replay_ends_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = QuorumController.replay_steps
    async with Controllers(tmp_path) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        victim = next(server for server in quorum.running.values() if server is not active)

        def spoilt(self: QuorumController, records: Any, base_offset: int) -> Any:
            if self is victim.machine.controller and any(isinstance(record, messages.TopicRecord) for record, _ in records):
                raise ReplayError("it does not fit")
            return replay(self, records, base_offset)

        monkeypatch.setattr(QuorumController, "replay_steps", spoilt)
        assert await create(active, "a") == NONE
        assert isinstance(await victim.failure, ReplayError)
        assert await create(active, "b") == NONE
        assert topics_of(active) == {"a", "b"} and topics_of(victim) == set()


class Cycle:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def plain_collector() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    assert gc.get_threshold() == thresholds
    gc.unfreeze()


def collections() -> list[int]:
    """How often each generation was looked at."""
    return [one["collections"] for one in gc.get_stats()]


async def test_cycles_are_found_while_they_are_young_and_the_old_are_left_alone() -> None:
    collecting = Garbage(LoopHold())
    try:
        before = collections()
        gone = weakref.ref(Cycle())
        kept = [[n] for n in range(20 * controller_server.YOUNG)]
        after = collections()
        assert gone() is None and kept
        assert after[0] > before[0] and after[1] > before[1] and after[2] == before[2]
    finally:
        collecting.close()


async def test_everything_is_looked_at_where_that_is_a_small_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    held = LoopHold()
    collecting = Garbage(held)
    try:
        before = collections()
        collecting.collect()
        assert collections()[2] == before[2] + 1 and held.longest_s > 0
        monkeypatch.setattr(controller_server, "ALL_MAX", -1)
        collecting.collect()
        assert collections()[2] == before[2] + 1
    finally:
        collecting.close()


async def test_what_is_too_much_is_counted_once_and_then_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    held = LoopHold()
    collecting = Garbage(held)
    try:
        image = [[n] for n in range(3000)]
        gc.collect()
        frozen, before = gc.get_freeze_count(), collections()
        monkeypatch.setattr(controller_server, "ALL_MAX", 2000)
        collecting.collect()
        assert collections()[2] == before[2] and held.longest_s > 0
        assert gc.get_freeze_count() - frozen >= len(image)
        collecting.collect()
        assert collections()[2] == before[2] + 1
    finally:
        collecting.close()
