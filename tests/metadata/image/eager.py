"""A plain model of the metadata image: dicts of decoded values, replayed one record at a time.

It is written from the specification (controller.md 10 and 8) and shares no code with `metashell.metadata.image`, which it judges.
"""

from __future__ import annotations

import copy
from typing import Any

MIGRATING = bytes(16)


class Refused(Exception):
    """A record that does not apply."""


class EagerModel:
    """The state that a history comes to; `fault_count` counts what did not apply, or applied with a doubt."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {
            "mv": None,
            "levels": {},
            "zk": 0,
            "brokers": {},
            "controllers": {},
            "topics": {},
            "names": {},
            "configs": {},
            "quotas": {},
            "producer_ids": (-1, -1, -1),
            "acls": {},
            "scram": {},
            "tokens": {},
        }
        self.saved: dict[str, Any] | None = None
        self.fault_count = 0

    def visible(self) -> dict[str, Any]:
        """What an image shows: an open transaction does not."""
        return self.state if self.saved is None else self.saved

    def replay(self, record: Any) -> None:
        try:
            getattr(self, "on_" + type(record).__name__)(record)
        except Refused:
            self.fault_count += 1

    def _topic(self, topic_id: bytes) -> dict[str, Any]:
        if topic_id not in self.state["topics"]:
            raise Refused
        return self.state["topics"][topic_id]

    # ---- transactions

    def on_BeginTransactionRecord(self, record: Any) -> None:  # noqa: N802
        if self.saved is not None:
            raise Refused
        self.saved = copy.deepcopy(self.state)

    def on_EndTransactionRecord(self, record: Any) -> None:  # noqa: N802
        if self.saved is None:
            raise Refused
        self.saved = None

    def on_AbortTransactionRecord(self, record: Any) -> None:  # noqa: N802
        if self.saved is None:
            raise Refused
        self.state, self.saved = self.saved, None

    # ---- topics

    def on_TopicRecord(self, record: Any) -> None:  # noqa: N802
        taken_id = self.state["topics"].pop(record.topic_id, None)
        taken_name = self.state["names"].get(record.name)
        if taken_id is not None and self.state["names"].get(taken_id["name"]) == record.topic_id:
            del self.state["names"][taken_id["name"]]
        self.state["topics"][record.topic_id] = {"name": record.name, "partitions": {}}
        self.state["names"][record.name] = record.topic_id
        if taken_id is not None or taken_name is not None:
            self.fault_count += 1

    def on_RemoveTopicRecord(self, record: Any) -> None:  # noqa: N802
        topic = self._topic(record.topic_id)
        del self.state["topics"][record.topic_id]
        if self.state["names"].get(topic["name"]) == record.topic_id:
            del self.state["names"][topic["name"]]
        self.state["configs"].pop((2, topic["name"]), None)

    def on_PartitionRecord(self, record: Any) -> None:  # noqa: N802
        topic = self._topic(record.topic_id)
        replicas = list(record.replicas)
        directories = list(record.directories) or [MIGRATING] * len(replicas)
        if len(directories) != len(replicas) or record.leader_recovery_state not in (0, 1):
            raise Refused
        topic["partitions"][record.partition_id] = {
            "replicas": replicas,
            "directories": directories,
            "isr": list(record.isr),
            "removing_replicas": list(record.removing_replicas),
            "adding_replicas": list(record.adding_replicas),
            "elr": list(record.eligible_leader_replicas or []),
            "last_known_elr": list(record.last_known_elr or []),
            "leader": record.leader,
            "leader_recovery_state": record.leader_recovery_state,
            "leader_epoch": record.leader_epoch,
            "partition_epoch": record.partition_epoch,
        }

    def on_PartitionChangeRecord(self, record: Any) -> None:  # noqa: N802
        topic = self._topic(record.topic_id)
        old = topic["partitions"].get(record.partition_id)
        if old is None or record.leader_recovery_state not in (-1, 0, 1):
            raise Refused
        if record.replicas is not None and record.directories and len(record.replicas) != len(record.directories):
            raise Refused
        new = dict(old)
        names = {"eligible_leader_replicas": "elr", "last_known_elr": "last_known_elr"}
        names |= {name: name for name in ("isr", "replicas", "removing_replicas", "adding_replicas", "directories")}
        for field, key in names.items():
            if getattr(record, field) is not None:
                new[key] = list(getattr(record, field))
        if set(new["directories"]) <= {MIGRATING}:
            new["directories"] = [MIGRATING] * len(new["replicas"])
        if len(new["directories"]) != len(new["replicas"]):
            raise Refused
        if record.leader != -2:
            new["leader"] = record.leader
            new["leader_epoch"] += 1
        if record.leader_recovery_state != -1:
            new["leader_recovery_state"] = record.leader_recovery_state
        new["partition_epoch"] += 1
        topic["partitions"][record.partition_id] = new

    def on_ClearElrRecord(self, record: Any) -> None:  # noqa: N802
        if not record.topic_name:
            chosen = list(self.state["topics"].values())
        elif record.topic_name in self.state["names"]:
            chosen = [self.state["topics"][self.state["names"][record.topic_name]]]
        else:
            raise Refused
        for topic in chosen:
            for id, partition in topic["partitions"].items():
                if partition["elr"] or partition["last_known_elr"]:
                    epoch = partition["partition_epoch"] + 1
                    topic["partitions"][id] = {**partition, "elr": [], "last_known_elr": [], "partition_epoch": epoch}

    # ---- nodes

    def on_RegisterBrokerRecord(self, record: Any) -> None:  # noqa: N802
        self.state["brokers"][record.broker_id] = {
            "epoch": record.broker_epoch,
            "incarnation_id": record.incarnation_id,
            "listeners": {e.name: (e.host, e.port, e.security_protocol) for e in record.end_points},
            "features": {f.name: (f.min_supported_version, f.max_supported_version) for f in record.features},
            "rack": record.rack,
            "fenced": record.fenced,
            "shutdown": record.in_controlled_shutdown,
            "zk": record.is_migrating_zk_broker,
            "directories": sorted(record.log_dirs),
            "cordoned": None if record.cordoned_log_dirs is None else list(record.cordoned_log_dirs),
        }

    def _broker(self, id: int, epoch: int) -> dict[str, Any]:
        broker = self.state["brokers"].get(id)
        if broker is None or broker["epoch"] != epoch:
            raise Refused
        return broker

    def on_UnregisterBrokerRecord(self, record: Any) -> None:  # noqa: N802
        if self.state["brokers"].pop(record.broker_id, None) is None:
            raise Refused

    def on_FenceBrokerRecord(self, record: Any) -> None:  # noqa: N802
        self._broker(record.id, record.epoch)["fenced"] = True

    def on_UnfenceBrokerRecord(self, record: Any) -> None:  # noqa: N802
        self._broker(record.id, record.epoch)["fenced"] = False

    def on_BrokerRegistrationChangeRecord(self, record: Any) -> None:  # noqa: N802
        if record.fenced not in (-1, 0, 1) or record.in_controlled_shutdown not in (0, 1):
            raise Refused
        broker = self._broker(record.broker_id, record.broker_epoch)
        if record.fenced:
            broker["fenced"] = record.fenced == 1
        if record.in_controlled_shutdown:
            broker["shutdown"] = True
        if record.log_dirs:
            broker["directories"] = sorted(record.log_dirs)
        if record.cordoned_log_dirs is not None:
            broker["cordoned"] = list(record.cordoned_log_dirs)

    def on_RegisterControllerRecord(self, record: Any) -> None:  # noqa: N802
        self.state["controllers"][record.controller_id] = (record.incarnation_id, record.zk_migration_ready)

    # ---- the rest

    def on_FeatureLevelRecord(self, record: Any) -> None:  # noqa: N802
        if record.name == "metadata.version":
            if record.feature_level < 1:
                raise Refused
            self.state["mv"] = record.feature_level
        elif record.name != "kraft.version":
            self.state["levels"].pop(record.name, None)
            if record.feature_level:
                self.state["levels"][record.name] = record.feature_level

    def on_ZkMigrationStateRecord(self, record: Any) -> None:  # noqa: N802
        self.state["zk"] = record.zk_migration_state

    def on_ConfigRecord(self, record: Any) -> None:  # noqa: N802
        values = self.state["configs"].setdefault((record.resource_type, record.resource_name), {})
        values.pop(record.name, None)
        if record.value is not None:
            values[record.name] = record.value
        if not values:
            del self.state["configs"][record.resource_type, record.resource_name]

    def on_ClientQuotaRecord(self, record: Any) -> None:  # noqa: N802
        entity = frozenset({part.entity_type: part.entity_name for part in record.entity}.items())
        values = self.state["quotas"].setdefault(entity, {})
        values.pop(record.key, None)
        if not record.remove:
            values[record.key] = record.value
        if not values:
            del self.state["quotas"][entity]

    def on_ProducerIdsRecord(self, record: Any) -> None:  # noqa: N802
        self.state["producer_ids"] = (record.next_producer_id, record.broker_id, record.broker_epoch)

    def on_AccessControlEntryRecord(self, record: Any) -> None:  # noqa: N802
        self.state["acls"][record.id] = (
            *(record.resource_type, record.resource_name, record.pattern_type, record.principal),
            *(record.host, record.operation, record.permission_type),
        )

    def on_RemoveAccessControlEntryRecord(self, record: Any) -> None:  # noqa: N802
        if self.state["acls"].pop(record.id, None) is None:
            raise Refused

    def on_UserScramCredentialRecord(self, record: Any) -> None:  # noqa: N802
        keys = record.salt, record.stored_key, record.server_key, record.iterations
        self.state["scram"][record.mechanism, record.name] = keys

    def on_RemoveUserScramCredentialRecord(self, record: Any) -> None:  # noqa: N802
        if self.state["scram"].pop((record.mechanism, record.name), None) is None:
            raise Refused

    def on_DelegationTokenRecord(self, record: Any) -> None:  # noqa: N802
        self.state["tokens"][record.token_id] = (
            *(record.owner, record.requester, tuple(record.renewers)),
            *(record.issue_timestamp, record.max_timestamp, record.expiration_timestamp),
        )

    def on_RemoveDelegationTokenRecord(self, record: Any) -> None:  # noqa: N802
        if self.state["tokens"].pop(record.token_id, None) is None:
            raise Refused

    def on_NoOpRecord(self, record: Any) -> None:  # noqa: N802
        pass


def plain(image: Any) -> dict[str, Any]:
    """An image in the model's form, every partition looked at."""
    return {
        "mv": image.features.metadata_version,
        "levels": dict(image.features.levels),
        "zk": image.features.zk_migration_state,
        "brokers": {id: _plain_broker(broker) for id, broker in image.cluster.brokers.items()},
        "controllers": {id: (c.incarnation_id, c.zk_migration_ready) for id, c in image.cluster.controllers.items()},
        "topics": {id: {"name": topic.name, "partitions": plain_partitions(topic)} for id, topic in image.topics.by_id.items()},
        "names": {name: topic.id for name, topic in image.topics.by_name.items()},
        "configs": {resource: dict(values) for resource, values in image.configs.items()},
        "quotas": {frozenset(entity): dict(values) for entity, values in image.client_quotas.items()},
        "producer_ids": tuple(image.producer_ids),
        "acls": {id: tuple(acl) for id, acl in image.acls.by_id.items()},
        "scram": {(m, user): tuple(c) for m, users in image.scram.items() for user, c in users.items()},
        "tokens": {id: tuple(token)[:-1] for id, token in image.delegation_tokens.items()},
    }


def _plain_broker(broker: Any) -> dict[str, Any]:
    return {
        "epoch": broker.epoch,
        "incarnation_id": broker.incarnation_id,
        "listeners": {listener.name: tuple(listener[1:]) for listener in broker.listeners},
        "features": dict(broker.supported_features),
        "rack": broker.rack,
        "fenced": broker.fenced,
        "shutdown": broker.in_controlled_shutdown,
        "zk": broker.is_migrating_zk_broker,
        "directories": sorted(broker.directories),
        "cordoned": None if broker.cordoned_directories is None else list(broker.cordoned_directories),
    }


def plain_partitions(topic: Any) -> dict[int, dict[str, Any]]:
    """A topic's partitions as the model has them."""
    return {
        id: {name: list(item) if isinstance(item, tuple) else item for name, item in partition._asdict().items()}
        for id, partition in topic.partitions.items()
    }
