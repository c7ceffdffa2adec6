"""Log directories of small clusters, written by our own writers: sound ones, and what changes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, LEADER_CHANGE
from metashell.codec.registry import message_type
from metashell.common.values import uuid_text
from metashell.disk.names import META_PROPERTIES, METADATA_DIRECTORY, segment_name
from tests.inspect.verify.making import control, data_batch, metadata_value

CLUSTER = "QUJDREVGR0hJSktMTU5PUA"
TOPIC = bytes(range(1, 17))
OTHER_TOPIC = bytes(range(101, 117))
T0 = 1_760_000_000_000


def disk(node: int, number: int = 1) -> bytes:
    """The directory.id of a node's directory."""
    return bytes([node, number] * 8)


def broker(id: int, *, host: str = "", directories: Sequence[bytes] | None = None, **fields: Any) -> bytes:
    message = message_type("metadata", "RegisterBrokerRecord")
    place = message.structs["BrokerEndpoint"](name="PLAINTEXT", host=host or f"kafka-{id}.example.net", port=9092, security_protocol=0)
    levels = (("metadata.version", 7, fields.pop("high", 30)), ("kraft.version", 0, 1))
    features = tuple(
        message.structs["BrokerFeature"](name=name, min_supported_version=low, max_supported_version=high) for name, low, high in levels
    )
    usual = {"incarnation_id": disk(id, 9), "broker_epoch": 5, "fenced": False, "log_dirs": tuple(directories or (disk(id),))}
    return metadata_value("RegisterBrokerRecord", 3, broker_id=id, end_points=(place,), features=features, **{**usual, **fields})


def controller(id: int, high: int = 30) -> bytes:
    message = message_type("metadata", "RegisterControllerRecord")
    place = message.structs["ControllerEndpoint"](name="CONTROLLER", host=f"controller-{id}.example.net", port=9093, security_protocol=0)
    levels = (("metadata.version", 7, high), ("kraft.version", 0, 1))
    features = tuple(
        message.structs["ControllerFeature"](name=name, min_supported_version=low, max_supported_version=high) for name, low, high in levels
    )
    return metadata_value("RegisterControllerRecord", controller_id=id, incarnation_id=disk(id, 8), end_points=(place,), features=features)


def topic(name: str = "orders", id: bytes = TOPIC) -> bytes:
    return metadata_value("TopicRecord", name=name, topic_id=id)


def partition(id: int, replicas: Sequence[int], *, topic: bytes = TOPIC, directories: Sequence[bytes] = (), **fields: Any) -> bytes:
    usual = {"isr": tuple(replicas), "leader": replicas[0], "directories": tuple(directories or map(disk, replicas))}
    return metadata_value("PartitionRecord", 1, topic_id=topic, partition_id=id, replicas=tuple(replicas), **{**usual, **fields})


def change(id: int, **fields: Any) -> bytes:
    return metadata_value("PartitionChangeRecord", topic_id=fields.pop("topic", TOPIC), partition_id=id, **fields)


def stop(id: int, *, fenced: bool = True) -> list[bytes]:
    """What the controller writes when a broker is shut down in order."""
    return [
        metadata_value("BrokerRegistrationChangeRecord", 1, broker_id=id, broker_epoch=5, in_controlled_shutdown=1),
        *([metadata_value("BrokerRegistrationChangeRecord", 1, broker_id=id, broker_epoch=5, fenced=1)] if fenced else []),
    ]


def fence(id: int) -> bytes:
    """What it writes when a broker is silent."""
    return metadata_value("BrokerRegistrationChangeRecord", 1, broker_id=id, broker_epoch=5, fenced=1)


def setting(type: int, name: str, key: str, value: str | None) -> bytes:
    return metadata_value("ConfigRecord", resource_type=type, resource_name=name, name=key, value=value)


def voters(*who: tuple[int, str, int], ids: Mapping[int, bytes] | None = None) -> Any:
    """A voter set: ids, each with host and port."""
    message = message_type("control", "VotersRecord")
    return message.cls(
        voters=tuple(
            message.structs["Voter"](
                voter_id=id,
                voter_directory_id=(ids or {}).get(id, disk(id)),
                endpoints=(message.structs["Endpoint"](name="CONTROLLER", host=host, port=port),),
            )
            for id, host, port in who
        )
    )


def known(*ids: int) -> Any:
    return voters(*((id, f"controller-{id}.example.net", 9093) for id in ids))


@dataclass(kw_only=True)
class Disk:
    """A directory of a node with a metadata log. `records` follow after what a cluster begins with; control records are messages.

    Shape: `voter_set` None is a static quorum (kraft.version 0). `folders` are the directories of partitions, each with its topic id, None
    for no partition.metadata. `note` is the quorum-state, where it is not that of a sound follower.
    """

    node: int = 1
    voter_ids: Sequence[int] = (1,)
    voter_set: Any = None
    brokers: Sequence[int] = (1,)
    records: Sequence[Any] = ()
    epoch: int = 1
    level: int = 25
    controllers: Sequence[int] | None = None
    registrations: Sequence[bytes] | None = None
    folders: Mapping[str, bytes | None] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)
    directory_id: bytes | None = None

    def write(self, at: Path) -> Path:
        place = at / METADATA_DIRECTORY
        place.mkdir(parents=True)
        (at / META_PROPERTIES).write_text(properties(self.node, self.directory_id or disk(self.node)))
        (place / segment_name(0)).write_bytes(b"".join(self._batches()))
        static = {"currentVoters": [{"voterId": id} for id in self.voter_ids], "data_version": 0}
        dynamic = {"votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA", "data_version": 1}
        usual = {"leaderId": self.voter_ids[0], "leaderEpoch": self.epoch, "votedId": -1}
        note = {**usual, **(static | {"clusterId": "", "appliedOffset": 0} if self.voter_set is None else dynamic), **self.note}
        (place / "quorum-state").write_text(json.dumps(note))
        (place / "leader-epoch-checkpoint").write_text(f"0\n1\n{self.epoch} 0\n")
        for name, id in self.folders.items():
            folder = at / name
            folder.mkdir()
            (folder / "leader-epoch-checkpoint").write_text("0\n0\n")
            if id is not None:
                (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(id)}")
        return at

    def _batches(self) -> list[bytes]:
        message = message_type("control", "LeaderChangeMessage")
        who = tuple(message.structs["Voter"](voter_id=id) for id in self.voter_ids)
        parts = [control(0, (LEADER_CHANGE, message.cls(leader_id=self.voter_ids[0], voters=who)), epoch=self.epoch)]
        begin: list[Any] = []
        if self.voter_set is not None:
            begin = [message_type("control", "KRaftVersionRecord").cls(k_raft_version=1), self.voter_set]
        begin.append(metadata_value("FeatureLevelRecord", name="metadata.version", feature_level=self.level))
        begin += map(controller, self.voter_ids if self.controllers is None else self.controllers)
        begin += map(broker, self.brokers) if self.registrations is None else self.registrations
        for offset, body in enumerate([*begin, *self.records], 1):
            if isinstance(body, bytes):
                parts.append(data_batch(offset, [body], epoch=self.epoch))
            else:
                type = KRAFT_VOTERS if hasattr(body, "voters") else KRAFT_VERSION_RECORD
                parts.append(control(offset, (type, body), epoch=self.epoch))
        return parts


def properties(node: int, directory_id: bytes) -> str:
    return f"version=1\ncluster.id={CLUSTER}\nnode.id={node}\ndirectory.id={uuid_text(directory_id)}\n"


def configuration(at: Path, node: int = 1, *, roles: str = "broker,controller", more: str = "", directories: str = "d1") -> Path:
    """A server.properties beside the directories."""
    listeners = {"broker,controller": "PLAINTEXT://:9092,CONTROLLER://:9093", "controller": "CONTROLLER://:9093"}.get(
        roles, "PLAINTEXT://:9092"
    )
    told = [f"PLAINTEXT://kafka-{node}.example.net:9092"] if "broker" in roles else []
    told += [f"CONTROLLER://controller-{node}.example.net:9093"] if "controller" in roles else []
    lines = [
        f"process.roles={roles}",
        f"node.id={node}",
        "controller.listener.names=CONTROLLER",
        f"listeners={listeners}",
        f"advertised.listeners={','.join(told)}",
        f"log.dirs={directories}",
        more,
    ]
    file = at / "server.properties"
    file.write_text("\n".join(lines) + "\n")
    return file
