"""Events as lines: what an operator reads, and what programs do."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from metashell.codec import messages
from metashell.metadata.image import EMPTY_IMAGE, BrokerRegistration, MetadataDelta, MetadataImage
from metashell.quorum.server.endpoint import ClusterEvents, EventLog, broker_changes
from metashell.quorum.server.event_queue import ServerEvent
from tests.coroutines import eventually
from tests.quorum.server.controllers import Controllers, add_broker, ask


def lines(form: str, *events: str) -> list[str]:
    stream = io.StringIO()
    log = EventLog(form, stream, lambda: 1_700_000_000.25)
    for event in events:
        log.event(event)
    return stream.getvalue().splitlines()


def test_text_is_one_line_with_its_time_and_nothing_that_a_terminal_obeys() -> None:
    assert lines("text", "it leads", "evil\x1b[2J\nname") == [
        "2023-11-14T22:13:20.250Z it leads",
        "2023-11-14T22:13:20.250Z evil\\x1b[2J\\nname",
    ]


def test_json_has_stable_keys_and_a_plain_line_is_a_note() -> None:
    found = [json.loads(line) for line in lines("json", ServerEvent("it leads", "active", epoch=3), "anything")]
    assert found == [
        {"time": "2023-11-14T22:13:20.250Z", "event": "active", "message": "it leads", "epoch": 3},
        {"time": "2023-11-14T22:13:20.250Z", "event": "note", "message": "anything"},
    ]


def test_a_reader_that_is_gone_ends_nothing() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    EventLog("text", Gone()).event("anything")


async def test_brokers_controllers_and_snapshots_are_told_when_they_change(tmp_path: Path) -> None:
    settings = {"metadata.log.max.record.bytes.between.snapshots": 1_000}
    async with Controllers(tmp_path, 1, settings) as controllers:
        server = await controllers.active()
        told: list[Any] = []
        watching = ClusterEvents(server, told.append)
        await eventually(lambda: server.machine.is_caught_up)
        epoch = await add_broker(server, 7)
        beat = messages.BrokerHeartbeatRequest(broker_id=7, broker_epoch=epoch, current_metadata_offset=99, want_fence=True)
        await ask(server, beat)
        await ask(server, messages.UnregisterBrokerRequest(broker_id=7))
        for number in range(20):
            await add_broker(server, 100 + number)
        await eventually(lambda: any(event.kind == "snapshot" for event in told))
        of_seven = [event.fields for event in told if event.fields.get("broker_id") == 7]
        expected = ["registered", "unfenced", "fenced", "unregistered"]
        assert of_seven == [{"broker_id": 7, "broker_epoch": epoch, "change": change} for change in expected]
        watching.close()
        count = len(told)
        await add_broker(server, 8)
        assert len(told) == count


def test_a_new_life_of_a_broker_is_registered_before_it_is_unfenced() -> None:
    def broker(incarnation: bytes, *, fenced: bool, leaving: bool = False) -> BrokerRegistration:
        return BrokerRegistration(id=1, epoch=5, incarnation_id=incarnation, fenced=fenced, in_controlled_shutdown=leaving)

    old, new = b"1" * 16, b"2" * 16
    assert broker_changes(broker(old, fenced=False), broker(new, fenced=False)) == ["registered", "unfenced"]
    assert broker_changes(broker(old, fenced=False), broker(new, fenced=True)) == ["registered"]
    assert broker_changes(broker(old, fenced=False), broker(old, fenced=False, leaving=True)) == ["in controlled shutdown"]
    assert broker_changes(None, broker(old, fenced=True)) == ["registered"]
    assert broker_changes(broker(old, fenced=True), None) == ["unregistered"]


def image_of(*records: Any, on: MetadataImage = EMPTY_IMAGE) -> MetadataImage:
    delta = MetadataDelta(on)
    for record in records:
        delta.replay(record)
    return delta.apply()


def test_each_change_of_a_controller_and_of_a_feature_is_told_once() -> None:
    level, controller = messages.FeatureLevelRecord, messages.RegisterControllerRecord
    begun = image_of(
        level(name="metadata.version", feature_level=30),
        level(name="group.version", feature_level=1),
        controller(controller_id=1, incarnation_id=b"a" * 16),
    )
    told: list[Any] = []
    machine = SimpleNamespace(is_caught_up=False)
    feed = SimpleNamespace(snapshots_made=0)
    server: Any = SimpleNamespace(
        image=begun, machine=machine, replica=SimpleNamespace(feed=feed), watch=lambda look: lambda: None, log=SimpleNamespace()
    )
    events = ClusterEvents(server, told.append)

    def look(image: MetadataImage) -> list[str]:
        server.image = image
        told.clear()
        events._look()
        return [str(event) for event in told]

    assert look(image_of()) == [], "the log was not read to its end"
    machine.is_caught_up = True
    assert look(begun) == look(begun) == [], "what it begins with is no change"
    raised = image_of(level(name="metadata.version", feature_level=33), level(name="share.version", feature_level=1), on=begun)
    assert look(raised) == ["metadata.version is at level 33", "share.version is at level 1"]
    assert next(event.fields for event in told) == {"feature": "metadata.version", "level": 33}
    again = image_of(
        level(name="group.version", feature_level=0),
        controller(controller_id=1, incarnation_id=b"b" * 16),
        controller(controller_id=2, incarnation_id=b"c" * 16),
        on=raised,
    )
    assert look(again) == ["controller 1 is registered", "controller 2 is registered", "group.version is at level 0"]
    same = image_of(controller(controller_id=2, incarnation_id=b"c" * 16, zk_migration_ready=True), on=again)
    assert look(same) == []
    assert look(image_of(messages.UnregisterControllerRecord(controller_id=2), on=same)) == ["controller 2 is unregistered"]
