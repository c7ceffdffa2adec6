"""Requests and answers that take long: the loop is given back in between, and what others ask is answered in their turn."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import NONE
from metashell.quorum.server.apis import LARGE, is_large
from tests.quorum.server.controllers import Controllers, add_broker, ask, beat, create, topics_of

COUNT = 2000


@pytest.mark.slow
async def test_a_large_answer_is_what_a_small_one_is_and_others_go_on_meanwhile(tmp_path: Path) -> None:
    async with Controllers(tmp_path, 1) as quorum:
        active = await quorum.active()
        epoch = await add_broker(active, 1)
        made = messages.CreateTopicsRequest
        replicas = (made.CreatableReplicaAssignment(partition_index=0, broker_ids=(1,)),)
        topics = tuple(
            made.CreatableTopic(name=f"t{n}", num_partitions=-1, replication_factor=-1, assignments=replicas) for n in range(COUNT)
        )
        asked = asyncio.ensure_future(ask(active, made(topics=topics, timeout_ms=60_000), 7))
        turns = 0
        while not asked.done():
            assert (await beat(active, 1, epoch)).error_code == NONE
            turns += 1
        assert turns > 1
        answer = await asked
        assert is_large(answer) and not is_large(answer.topics[0])
        assert {topic.error_code for topic in answer.topics} == {NONE}
        assert {topic.name for topic in answer.topics} == topics_of(active) and len(answer.topics) == COUNT > LARGE
        assert await create(active, "later") == NONE
