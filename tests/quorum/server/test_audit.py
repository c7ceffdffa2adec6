"""The audit log, and the clients that are told once: over real listeners, and by themselves."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path
from typing import Any

from metashell.codec import messages
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, NONE, TOPIC_AUTHORIZATION_FAILED
from metashell.metadata.image import EMPTY_IMAGE
from metashell.net.frames import encode_request
from metashell.quorum.controller import Request
from metashell.quorum.server.audit import Audit, ToldClients, is_change, items_of, refusals_of
from metashell.quorum.server.config import load_config
from metashell.quorum.server.controller_server import ControllerServer
from metashell.quorum.server.event_queue import ServerEvent
from tests.coroutines import eventually
from tests.quorum.server.controllers import Formatted, ask

ALTER = messages.IncrementalAlterConfigsRequest
CREATE = messages.CreateTopicsRequest
CREATED = messages.CreateTopicsResponse


class Entries:
    """What an audit log wrote, on a clock of the test's."""

    def __init__(self) -> None:
        self.lines: list[ServerEvent] = []
        self.now_s = 0.0
        self.audit = Audit(self.lines.append, lambda: self.now_s)

    @property
    def told(self) -> list[tuple[object, object]]:
        return [(line.fields["result"], line.fields["resource"]) for line in self.lines]


def create(*names: str, principal: str = "User:eve", host: str = "10.0.0.1") -> Request:
    return Request(19, 7, CREATE(topics=tuple(CREATE.CreatableTopic(name=name) for name in names)), principal=principal, host=host)


def created(**codes: int) -> Any:
    return CREATED(topics=tuple(CREATED.CreatableTopicResult(name=name, error_code=code) for name, code in codes.items()))


def test_an_applied_change_has_an_entry_for_each_resource_when_it_is_committed() -> None:
    entries = Entries()
    entries.audit.written(create("a", "b", "c"), created(a=NONE, b=36, c=NONE), 9)
    entries.audit.committed(8)
    assert entries.lines == []
    entries.audit.committed(9)
    assert entries.told == [("applied", "Topic:a"), ("applied", "Topic:c")]
    assert entries.lines[0] == "audit: result=applied principal=User:eve address=10.0.0.1 api=CreateTopics resource=Topic:a"
    assert entries.lines[0].fields["api"] == "CreateTopics"


def test_what_was_written_when_leadership_ended_may_be_committed_or_not() -> None:
    entries = Entries()
    entries.audit.written(create("a"), created(a=NONE), 9)
    entries.audit.leadership_ended()
    entries.audit.committed(100)
    assert entries.told == [("unknown", "Topic:a")]


def test_refusals_of_one_sender_and_api_are_one_entry_a_minute_and_applied_changes_are_never_left_out() -> None:
    entries = Entries()
    for number in range(1000):
        entries.audit.refused(create("a"), (f"Topic:{each}" for each in range(8)))
        entries.audit.written(create("x"), created(x=NONE), number)
    entries.audit.committed(1000)
    entries.now_s = 61.0
    entries.audit.refused(create("a"), ["Topic:a"])
    refused = [line.fields for line in entries.lines if line.fields["result"] == "refused"]
    assert [(fields["resource"], fields.get("more_resources"), fields.get("left_out")) for fields in refused] == [
        ("Topic:0 Topic:1 Topic:2 Topic:3 Topic:4", 3, None),
        ("Topic:a", None, 999),
    ]
    assert len(entries.lines) == 1002
    for number in range(5000):
        entries.audit.refused(create("a", host=f"10.0.{number // 250}.{number % 250}"), ["Topic:a"])
    assert len(entries.audit._refused) <= 1000


def test_items_are_what_a_request_was_about() -> None:
    answer = created(a=TOPIC_AUTHORIZATION_FAILED, b=NONE)
    assert list(items_of(create("a", "b"), answer)) == [("Topic:a", TOPIC_AUTHORIZATION_FAILED), ("Topic:b", NONE)]
    assert list(refusals_of(create("a", "b"), answer)) == ["Topic:a"]
    vote = Request(52, 2, messages.VoteRequest())
    assert list(refusals_of(vote, messages.VoteResponse(error_code=CLUSTER_AUTHORIZATION_FAILED))) == ["Cluster:kafka-cluster"]
    fence = Request(64, 0, messages.UnregisterBrokerRequest(broker_id=3))
    assert list(items_of(fence, messages.UnregisterBrokerResponse())) == [("Broker:3", NONE)]
    assert is_change(19) and is_change(80) and not is_change(63) and not is_change(32)


def test_a_client_is_told_once_and_many_clients_share_a_rate() -> None:
    lines: list[str] = []
    now_s = 0.0
    told = ToldClients(lines.append, lambda: EMPTY_IMAGE, lambda: now_s)
    for _ in range(1841):
        told.asks_for_unserved("User:ANONYMOUS", "10.0.0.1", 3)
        told.is_refused("User:eve", "10.0.0.2", 19)
    assert lines == [
        "User:ANONYMOUS at 10.0.0.1 asks for Metadata, which a controller does not serve: no broker is registered (bootstrap.servers)",
        "User:eve at 10.0.0.2 is refused CreateTopics: no ACL allows it (the audit log has each API and resource)",
    ]
    told.is_malformed("", "10.0.0.3", "the peer sent a frame of 9999 bytes, the limit is 8")
    assert lines.pop() == "10.0.0.3 does not keep to the protocol: the peer sent a frame of 9999 bytes, the limit is 8"
    for number in range(5000):
        told.fails_to_log_in(f"10.1.{number // 250}.{number % 250}", "authentication failed: x")
    assert len(lines) == 19
    now_s = 61.0
    told.fails_to_log_in("10.2.0.1", "authentication failed: x")
    assert lines[19:] == ["4983 more clients were refused", "10.2.0.1 cannot log in: authentication failed: x"]
    assert len(told._told) <= 1000


async def test_a_controller_tells_who_changed_what_and_who_asks_wrongly_once(tmp_path: Path) -> None:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    place = Formatted(tmp_path, 1, settings)
    events: list[str] = []
    audit: list[str] = []
    server = ControllerServer(load_config(str(place.configs[1])), events.append, audit.append)
    await server.start()
    try:
        await eventually(lambda: server.is_active and server.machine.is_caught_up)
        body = ALTER(
            resources=(
                ALTER.AlterConfigsResource(
                    resource_type=4, resource_name="", configs=(ALTER.AlterableConfig(name="x", config_operation=0, value="y"),)
                ),
            )
        )
        assert (await ask(server, body)).responses[0].error_code == NONE
        entry = "audit: result=applied principal=User:ANONYMOUS address=127.0.0.1 api=IncrementalAlterConfigs resource=Broker:"
        await eventually(lambda: entry in audit)
        for _ in range(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.ports["CONTROLLER"])
            writer.write(struct.pack(">ihhih", 14, 3, 9, 1, -1) + b"\0" * 4)
            assert await reader.read() == b""
            writer.close()
        told = [line for line in events if "asks for" in line]
        assert told == [
            "User:ANONYMOUS at 127.0.0.1 asks for Metadata, which a controller does not serve: no broker is registered (bootstrap.servers)"
        ]
    finally:
        await server.kill()


async def test_a_client_that_sees_that_it_is_at_the_wrong_place_is_told_of_too(tmp_path: Path) -> None:
    """Kafka's clients ask for versions, miss Metadata among them, and go."""
    place = Formatted(tmp_path, 1)
    events: list[str] = []
    server = ControllerServer(load_config(str(place.configs[1])), events.append)
    await server.start()
    try:
        versions = messages.ApiVersionsRequest(client_software_name="apache-kafka-java", client_software_version="4.4.0")
        for _ in range(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.ports["CONTROLLER"])
            writer.write(encode_request(versions, 4, 1, "adminclient-1"))
            await reader.readexactly(4)
            writer.close()
        await eventually(lambda: any("asks for versions" in line for line in events))
        (line,) = [line for line in events if "asks for versions" in line]
        assert line == (
            "User:ANONYMOUS at 127.0.0.1 asks for versions and leaves: a client of brokers finds nothing at a controller: no broker is "
            "registered (bootstrap.servers)"
        )
    finally:
        await server.kill()
