"""Quorums of controllers: who is active, what is lost and what is not when one dies, is deposed or makes a mistake."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import NONE, NOT_CONTROLLER
from tests.quorum.server.controllers import QUICK, Controllers, add_broker, ask, client, create, create_at, topic_request, topics_of
from tests.quorum.server.quorum import eventually, run
from tests.seeds import shows


@shows("KIP-631/one-log", "KIP-631/client-access")
@pytest.mark.parametrize("dynamic", [True, False])
def test_every_controller_registers_and_has_what_was_created(tmp_path: Path, dynamic: bool) -> None:
    async def main() -> None:
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

    run(main)


@shows("KIP-631/active-controller", "KIP-631/failover")
def test_a_standby_takes_over_when_the_active_controller_dies(tmp_path: Path) -> None:
    async def main() -> None:
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

    run(main)


def test_a_controller_that_is_stopped_hands_its_leadership_over(tmp_path: Path) -> None:
    async def main() -> None:
        async with Controllers(tmp_path) as quorum:
            active = await quorum.active()
            id = active.config.node.node_id
            await asyncio.wait_for(quorum.stop(id), 10)
            assert (await quorum.active(but=id)).epoch > 0

    run(main)


@shows("KIP-631/uncommitted")
def test_what_a_deposed_leader_has_not_committed_is_answered_not_controller(tmp_path: Path) -> None:
    async def main() -> None:
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

    run(main)


def test_a_sole_controller_never_acknowledges_what_a_resignation_lost(tmp_path: Path) -> None:
    """Raft announces no loss of leadership in between, and gives the same offsets again."""

    async def main() -> None:
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

    run(main)
