"""Features that are upgraded through a quorum: kraft.version, which raft writes, beside records of the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import INVALID_UPDATE_VERSION, NONE, NOT_CONTROLLER
from metashell.metadata.image import ReplayError
from metashell.quorum.controller import QuorumController
from tests.quorum.server.controllers import QUICK, Controllers, add_broker, ask, create, topics_of
from tests.quorum.server.quorum import eventually, run


def upgrade(name: str, level: int, *, version: int = 2, validate_only: bool = False) -> Any:
    made = messages.UpdateFeaturesRequest
    update = made.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=1)
    return made(feature_updates=(update,), validate_only=validate_only, timeout_ms=10_000)


@pytest.mark.slow
def test_kraft_version_is_upgraded_once_every_voter_has_told_its_directory(tmp_path: Path) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, settings=QUICK, dynamic=False) as quorum:
            everyone = list(quorum.running.values())
            assert {server.node.kraft_version for server in everyone} == {0}
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

    run(main)


def test_a_standby_that_cannot_replay_ends_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = QuorumController.replay_steps

    async def main() -> None:
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

    run(main)
