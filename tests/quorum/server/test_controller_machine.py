"""What goes wrong in a controller itself: a decision, a task or a replay that raises, and what is too large to be written.
Sessions of brokers while the process, or only the line of events, is held up.
Snapshots that controllers make, by size and by time, and what begins from them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import NONE, POLICY_VIOLATION, STALE_BROKER_EPOCH, UNKNOWN_SERVER_ERROR
from metashell.disk.source import FileSource, open_directory
from metashell.metadata.image import ReplayError, load_image
from metashell.metadata.image.writer import image_digest
from metashell.quorum.controller import QuorumController, Request
from metashell.quorum.controller.controller import Schedule
from metashell.quorum.server.controller_machine import ControllerMachine
from metashell.quorum.server.event_queue import Pace, Steps
from tests.coroutines import eventually, run
from tests.quorum.server.controllers import QUICK, Controllers, add_broker, ask, client, create, create_at, topic_request, topics_of
from tests.seeds import shows


async def test_a_decision_that_raises_is_answered_counted_and_costs_the_leadership(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decide = QuorumController.decide_steps

    def spoilt(self: QuorumController, request: Any, *times: int) -> Any:
        if request.api_key == 19 and request.body.topics[0].name == "cursed":
            raise ZeroDivisionError("a mistake of ours")
        return decide(self, request, *times)

    async with Controllers(tmp_path) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        epoch = active.epoch
        monkeypatch.setattr(QuorumController, "decide_steps", spoilt)
        answer = (await ask(active, topic_request("cursed"), 7)).topics[0]
        assert answer.error_code == UNKNOWN_SERVER_ERROR
        assert active.machine.errors == 1
        assert any("ZeroDivisionError: a mistake of ours" in line for line in quorum.events[active.config.node.node_id])
        await eventually(lambda: any(server.is_active and server.epoch > epoch for server in quorum.running.values()))
        await create_at(quorum, "fine")


async def test_a_task_that_raises_is_counted_and_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def spoilt(self: Schedule, state: Any, now_ms: int) -> Any:
        ran.append(now_ms)
        for name in self._due:
            self._due[name] = now_ms + 300_000
        raise ZeroDivisionError("a mistake of ours")
        yield

    async with Controllers(tmp_path, 1) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        epoch = active.epoch
        monkeypatch.setattr(Schedule, "run", spoilt)
        await eventually(lambda: active.machine.errors == 1)
        assert await create(active, "fine") == NONE
        assert (active.epoch, active.is_active, len(ran)) == (epoch, True, 1)


async def test_a_replay_that_raises_ends_the_controller_and_nobody_is_told_that_it_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = QuorumController.replay_steps

    def spoilt(self: QuorumController, records: Any, base_offset: int) -> Any:
        if any(isinstance(record, messages.TopicRecord) and record.name == "cursed" for record, _ in records):
            raise ReplayError("it does not fit")
        return replay(self, records, base_offset)

    async with Controllers(tmp_path, settings=QUICK) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        monkeypatch.setattr(QuorumController, "replay_steps", spoilt)
        connection = await client(active)
        asked = asyncio.ensure_future(connection.request(topic_request("cursed"), version=7))
        error = await active.failure
        assert isinstance(error, ReplayError)
        await asyncio.wait([asked])
        assert asked.exception() is not None or asked.result().topics[0].error_code != NONE
        heir = await quorum.active(but=active.config.node.node_id)
        # It never left the process.
        assert topics_of(heir) == set()
        assert all(not server.failure.done() for server in quorum.running.values() if server is not active)


async def test_what_does_not_fit_a_batch_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    async with Controllers(tmp_path, 1) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        epoch = active.epoch
        made = messages.CreateTopicsRequest
        large = made.CreatableTopicConfig(name="leader.replication.throttled.replicas", value="1" * 30_000 + ":1")
        replicas = (made.CreatableReplicaAssignment(partition_index=0, broker_ids=(1,)),)
        topics = tuple(
            made.CreatableTopic(name=f"t{n}", num_partitions=-1, replication_factor=-1, assignments=replicas, configs=(large,))
            for n in range(300)
        )
        answer = await ask(active, made(topics=topics, timeout_ms=60_000), 7)
        assert {topic.error_code for topic in answer.topics} == {POLICY_VIOLATION}
        assert (active.is_active, active.epoch, active.machine.errors) == (True, epoch, 0)
        assert await create(active, "small") == NONE
        assert topics_of(active) == {"small"}


async def test_requests_of_a_closed_connection_that_nobody_began_are_dropped(tmp_path: Path) -> None:
    async with Controllers(tmp_path, 1) as quorum:
        active = await quorum.active()
        await add_broker(active, 1)
        queue = active.machine.queue
        hold = asyncio.Event()

        def busy() -> Any:
            while not hold.is_set():
                yield None

        queue.control(busy)
        connection = await client(active)
        asked = [asyncio.ensure_future(connection.request(topic_request(f"t{n}"), version=7)) for n in range(5)]
        await eventually(lambda: len(queue) >= 5)
        connection.close("gone")
        await eventually(lambda: len(queue) < 5)
        hold.set()
        await asyncio.gather(*asked, return_exceptions=True)
        assert await create(active, "later") == NONE
        assert topics_of(active) == {"later"}


async def test_a_living_brokers_heartbeat_waits_neither_for_a_long_event_nor_for_a_commit(tmp_path: Path) -> None:
    # No task comes meanwhile, and no heartbeat is late.
    patient = {"broker.session.timeout.ms": 600_000, "broker.heartbeat.interval.ms": 300_000, "metadata.max.idle.interval.ms": 0}
    async with Controllers(tmp_path, 1, settings=patient) as quorum:
        active = await quorum.active()
        epochs = {id: await add_broker(active, id) for id in (1, 2)}
        hold = asyncio.Event()

        def busy() -> Any:
            while not hold.is_set():
                yield None

        usual = messages.BrokerHeartbeatRequest(broker_id=1, broker_epoch=epochs[1], current_metadata_offset=1 << 40)
        connection, other, third = [await client(active) for _ in range(3)]
        for one in (connection, other, third):
            await one.request(usual, version=1)
        active.machine.queue.control(busy)
        assert not (await third.request(usual, version=1)).is_fenced
        # One that changes something takes its turn, and what its connection asks later waits for it.
        fence = messages.BrokerHeartbeatRequest(broker_id=2, broker_epoch=epochs[2], current_metadata_offset=1 << 40, want_fence=True)
        asked = [asyncio.ensure_future(connection.request(fence, version=1))]
        await eventually(lambda: len(active.machine.queue) == 1)
        asked.append(asyncio.ensure_future(connection.request(usual, version=1)))
        await eventually(lambda: len(active.machine.queue) == 2)
        wrong = messages.BrokerHeartbeatRequest(broker_id=1, broker_epoch=epochs[1] + 1, current_metadata_offset=1 << 40)
        asked.append(asyncio.ensure_future(other.request(wrong, version=1)))
        await eventually(lambda: len(active.machine.queue) == 3)
        assert not any(one.done() for one in asked)
        hold.set()
        fenced, waited, refused = await asyncio.gather(*asked)
        assert fenced.is_fenced and not waited.is_fenced and refused.error_code == STALE_BROKER_EPOCH
        # Of a broker whose registration changed and is not committed, nothing is said before that is.
        active.machine.controller.replay([(messages.FenceBrokerRecord(id=1, epoch=epochs[1]), 0)], active.log.end_offset)
        assert active.machine.controller.answer_at_once(Request(63, 1, usual)) is None


IDLE = {"metadata.max.idle.interval.ms": 50}
LEAP_MS = 600_000


class Leaping:
    """Makes the clock of a controller leap."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, machine: ControllerMachine) -> None:
        self._plain = machine.now_ms
        self._leap_ms = 0
        monkeypatch.setattr(machine, "now_ms", lambda: self._plain() + self._leap_ms)

    def leap(self) -> None:
        self._leap_ms = LEAP_MS


async def test_a_process_that_stood_still_lets_sessions_last_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Controllers(tmp_path, 1, settings=IDLE) as quorum:
        active = await quorum.active()
        epoch = await add_broker(active, 1)
        heartbeats = active.machine.controller.state.heartbeats
        heard_ms = heartbeats.contacted_ms(1, epoch)
        assert heard_ms is not None
        Leaping(monkeypatch, active.machine).leap()
        await eventually(lambda: heartbeats.contacted_ms(1, epoch) != heard_ms)
        assert (heartbeats.contacted_ms(1, epoch) or 0) - heard_ms >= LEAP_MS - 1000


async def test_a_line_that_is_late_prolongs_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Controllers(tmp_path, 1, settings=IDLE) as quorum:
        active = await quorum.active()
        epoch = await add_broker(active, 1)
        machine = active.machine
        heartbeats = machine.controller.state.heartbeats
        clock = Leaping(monkeypatch, machine)
        heard_ms = heartbeats.contacted_ms(1, epoch)
        is_held, is_begun = True, False

        def long() -> Steps:
            nonlocal is_begun
            is_begun = True
            while is_held:
                yield Pace.REST

        machine.queue.control(long)
        await eventually(lambda: is_begun and len(machine.queue) > 0)  # a task is due, and waits for its turn
        done = machine.queue.started
        clock.leap()
        is_held = False
        await eventually(lambda: machine.queue.started > done and not len(machine.queue))
        await asyncio.sleep(0)
        assert heartbeats.contacted_ms(1, epoch) == heard_ms


SMALL = {"metadata.log.max.record.bytes.between.snapshots": 2000}
OFTEN = {"metadata.log.max.snapshot.interval.ms": 300, "metadata.max.idle.interval.ms": 50}


def snapshots(folder: Path, id: int) -> list[Path]:
    return sorted(path for path in (folder / f"node-{id}").rglob("*.checkpoint") if not path.name.startswith(("0" * 20, "bootstrap")))


@shows("KIP-631/snapshots")
async def test_every_controller_makes_snapshots_by_size_and_begins_from_them(tmp_path: Path) -> None:
    async with Controllers(tmp_path, settings={**SMALL, **QUICK}) as quorum:
        await add_broker(await quorum.active(), 1)
        names = {f"t{n}" for n in range(60)}
        for name in sorted(names):
            await create_at(quorum, name)
        await eventually(lambda: all(snapshots(tmp_path, id) for id in quorum.ports))
        standby = next(id for id in quorum.running if not quorum.running[id].is_active)
        await quorum.kill(standby)
        back = await quorum.start(standby)
        await eventually(lambda: topics_of(back) == names)
        assert back.machine.loads == 1
        # It can lead from there.
        dead = (await quorum.active(but=standby)).config.node.node_id
        await quorum.kill(dead)
        heir = await create_at(quorum, "later", but=dead)
        assert topics_of(heir) == {*names, "later"}


@shows("KIP-631/snapshots")
def test_a_snapshot_by_time_holds_what_the_log_holds(tmp_path: Path) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, 1, settings=OFTEN) as quorum:
            active = await quorum.active()
            await add_broker(active, 1)
            assert await create(active, "a") == NONE
            await eventually(lambda: len(snapshots(tmp_path, 1)) > 1)
            await quorum.stop(1)

    run(main)
    newest = snapshots(tmp_path, 1)[-1]
    end = int(newest.name[:20])
    with FileSource(str(newest)) as source:
        of_snapshot = load_image(source)
    for path in snapshots(tmp_path, 1):
        path.unlink()
    with open_directory(str(tmp_path / "node-1")) as source:
        of_log = load_image(source, end_offset=end)
    assert set(of_snapshot.topics.by_name) == {"a"}
    assert image_digest(of_snapshot) == image_digest(of_log)
