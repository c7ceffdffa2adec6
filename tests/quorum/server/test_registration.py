"""What a controller says that gets nowhere: no leader is known, or nobody can reach the place that it advertises."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from metashell.quorum.server import registration
from metashell.quorum.server.event_queue import ServerEvent
from tests.coroutines import eventually
from tests.quorum.server.controllers import CLUSTER_ID, QUICK, Controllers
from tests.running import run_main
from tools.interop.nodes import controller_settings, free_ports, write_config


def told(controllers: Controllers, id: int, kind: str) -> list[ServerEvent]:
    return [event for event in controllers.events[id] if isinstance(event, ServerEvent) and event.kind == kind]


async def test_a_voter_alone_says_whom_it_asks_again_and_again_until_somebody_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "AFTER_S", 0.2)
    monkeypatch.setattr(registration, "AGAIN_S", 0.1)
    controllers = Controllers(tmp_path, 3)
    try:
        await controllers.start(1)
        await eventually(lambda: len(told(controllers, 1, "leaderless")) >= 2)
        others = [f"localhost:{controllers.ports[id]}" for id in (2, 3)]
        for event in told(controllers, 1, "leaderless"):
            assert event.fields["asked"] == others
            assert event.startswith("no leader for ") and event.endswith(f" s: asked {', '.join(others)}")
        await controllers.start(2)
        await controllers.start(3)
        await controllers.active()
        # A machine with much to do may depose a leader, of which nothing is told now; a report that goes on would come every 0.1 s.
        monkeypatch.setattr(registration, "AFTER_S", 3600.0)
        await eventually(lambda: controllers.running[1].leader_id >= 0)
        count = len(told(controllers, 1, "leaderless"))
        await asyncio.sleep(0.4)
        assert len(told(controllers, 1, "leaderless")) == count
    finally:
        for id in list(controllers.running):
            await controllers.kill(id)
    count = len(told(controllers, 1, "leaderless"))
    await asyncio.sleep(0.4)
    assert len(told(controllers, 1, "leaderless")) == count


async def test_a_controller_without_voters_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "AFTER_S", 0.1)
    controllers = Controllers(tmp_path, 1)
    port, other = free_ports(2)
    for id, servers in ((7, f"localhost:{port}"), (8, f"localhost:{port},localhost:{other}")):
        settings = controller_settings(id, port, tmp_path / f"node-{id}", {"controller.quorum.bootstrap.servers": servers})
        config = controllers.configs[id] = write_config(tmp_path / f"{id}.properties", settings, QUICK)
        controllers.events[id] = []
        words = ["format", "-t", CLUSTER_ID, "-c", str(config), "--no-initial-controllers"]
        assert run_main(kafka_storage, words, cwd=tmp_path).status == 0
        await controllers.start(id)
        await eventually(lambda id=id: bool(told(controllers, id, "leaderless")))
        await controllers.kill(id)
    why = "this controller knows no voters (formatted without --standalone or --initial-controllers)"
    assert told(controllers, 7, "leaderless")[0].endswith(f": the configuration names nobody else to ask; {why}")
    assert told(controllers, 8, "leaderless")[0].endswith(f": asked localhost:{other}; {why}")


async def test_a_controller_that_nobody_reaches_where_it_says_it_is_says_so_once(tmp_path: Path) -> None:
    nowhere = free_ports(1)[0]
    controllers = Controllers(tmp_path, 1, {"advertised.listeners": f"CONTROLLER://localhost:{nowhere}"})
    server = await controllers.start(1)
    try:
        await eventually(lambda: server.registration.failed >= 3)
        (event,) = told(controllers, 1, "peer")
        assert event.fields == {"host": "localhost", "port": nowhere, "reached": False}
        assert event.startswith(f"controller 1 cannot register with the active controller at localhost:{nowhere}: ")
    finally:
        await controllers.kill(1)
