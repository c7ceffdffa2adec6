"""Small clusters with a log behind them: records in order, each a second after the one before, and what the checks find."""

from __future__ import annotations

from typing import Any

from metashell.codec.batch_writer import CONTROL_TYPE_NAMES, KRAFT_VOTERS, LEADER_CHANGE
from metashell.codec.registry import message_type
from metashell.metadata.checks import Facts, Found, Health, judge
from metashell.metadata.checks.facts import LogDirectory, LogEvent, MetadataLog
from metashell.metadata.image import ImageLoader, MetadataImage
from metashell.metadata.image.provenance import Leader
from tests.metadata.image.batches import batch, control_batch, record

START_MS = 1_760_000_000_000
_NAMES = {
    "RegisterBrokerRecord": "REGISTER_BROKER_RECORD",
    "UnregisterBrokerRecord": "UNREGISTER_BROKER_RECORD",
    "RegisterControllerRecord": "REGISTER_CONTROLLER_RECORD",
    "ConfigRecord": "CONFIG_RECORD",
    "ZkMigrationStateRecord": "ZK_MIGRATION_STATE_RECORD",
    "VotersRecord": CONTROL_TYPE_NAMES[KRAFT_VOTERS],
    "LeaderChangeMessage": CONTROL_TYPE_NAMES[LEADER_CHANGE],
}
_CONTROL = {"VotersRecord": KRAFT_VOTERS, "LeaderChangeMessage": LEADER_CHANGE}


def facts_of(*bodies: Any, seconds: float = 1, later_s: float = 0, **fields: Any) -> Facts:
    """The facts of a log that holds these records, one an offset and `seconds` apart; its end is `later_s` after the last."""
    loader, events = ImageLoader(), []
    for offset, body in enumerate(bodies):
        name = type(body).__name__
        loader.load_batch(
            control_batch((_CONTROL[name], body), base_offset=offset) if name in _CONTROL else batch(body, base_offset=offset)
        )
        time = START_MS + int(offset * seconds * 1000)
        if name in _NAMES:
            events.append(LogEvent(offset, 1, time, _NAMES[name], body))
    image: MetadataImage = loader.image()
    assert not image.faults, image.faults
    if image.leader is None:
        image = image._replace(leader=Leader(1, 1, ()))
    now = START_MS + int((max(len(bodies) - 1, 0) * seconds + later_s) * 1000)
    log = MetadataLog(path="log", image=image)
    known = {"health": Health(image), "events": tuple(events), "now_ms": now, "directories": (LogDirectory(path="d", metadata=log),)}
    return Facts(**{**known, **fields})


def found(facts: Facts, id: str) -> list[Found]:
    """What one check finds; it must have run."""
    verdict = judge(facts, {id})
    assert verdict.ran == 1, verdict.not_run
    return [one for finding in verdict.findings for one in finding]


def told(facts: Facts, id: str) -> list[tuple[str, str]]:
    """The names and causes."""
    return [(one.name, one.cause) for one in found(facts, id)]


def level(name: str, number: int) -> Any:
    return record("FeatureLevelRecord", name=name, feature_level=number)


def controller(id: int, high: int = 30, host: str = "", port: int = 9093, **fields: Any) -> Any:
    """A controller that supports metadata.version 7 to `high`."""
    structs = message_type("metadata", "RegisterControllerRecord").structs
    feature = structs["ControllerFeature"](name="metadata.version", min_supported_version=7, max_supported_version=high)
    place = structs["ControllerEndpoint"](name="CONTROLLER", host=host or f"node-{id}", port=port, security_protocol=0)
    usual = {"incarnation_id": bytes([id] * 16), "end_points": (place,), "features": (feature,)}
    return record("RegisterControllerRecord", controller_id=id, **{**usual, **fields})


def broker(id: int, high: int = 30, at: tuple[str, int] | None = None, process: int = 0, disks: tuple[int, ...] = (), **fields: Any) -> Any:
    """A broker that supports metadata.version 7 to `high`; `process` tells one start from another, `disks` its directories."""
    structs = message_type("metadata", "RegisterBrokerRecord").structs
    feature = structs["BrokerFeature"](name="metadata.version", min_supported_version=7, max_supported_version=high)
    host, port = at or (f"node-{id}", 9092)
    place = structs["BrokerEndpoint"](name="PLAINTEXT", host=host, port=port, security_protocol=0)
    directories = tuple(bytes([disk] * 16) for disk in disks or (id,))
    usual = {"incarnation_id": bytes([id, process] * 8), "broker_epoch": 5, "fenced": False, "log_dirs": directories, "rack": None}
    return record("RegisterBrokerRecord", broker_id=id, **{**usual, "end_points": (place,), "features": (feature,), **fields})


def voters(**places: str) -> Any:
    """A voter set: `n1="node-1:9093"`."""
    message = message_type("control", "VotersRecord")
    made = []
    for name, place in places.items():
        host, _, port = place.rpartition(":")
        endpoints = (message.structs["Endpoint"](name="CONTROLLER", host=host, port=int(port)),) if place else ()
        made.append(message.structs["Voter"](voter_id=int(name[1:]), voter_directory_id=bytes([9] * 16), endpoints=endpoints))
    return message.cls(voters=tuple(made))


def leader(id: int, ids: tuple[int, ...], granting: tuple[int, ...] = ()) -> Any:
    message = message_type("control", "LeaderChangeMessage")
    voter = message.structs["Voter"]
    return message.cls(
        leader_id=id, voters=tuple(voter(voter_id=one) for one in ids), granting_voters=tuple(voter(voter_id=one) for one in granting)
    )


def topic(name: str, number: int = 0) -> Any:
    return record("TopicRecord", name=name, topic_id=bytes([100 + number] * 16))


def partition(id: int, replicas: tuple[int, ...], number: int = 0, **fields: Any) -> Any:
    """A sound partition of the topic with that number."""
    usual = {"replicas": replicas, "isr": replicas, "leader": replicas[0], "directories": tuple(bytes([one] * 16) for one in replicas)}
    return record("PartitionRecord", partition_id=id, topic_id=bytes([100 + number] * 16), **{**usual, **fields})


def setting(type: int, name: str, key: str, value: str) -> Any:
    return record("ConfigRecord", resource_type=type, resource_name=name, name=key, value=value)


TOPIC, BROKER = 2, 4
