"""Histories for twins: fake brokers, admins and other controllers ask a real controller and ours, and each answer has to be the same.

A hypothesis state machine: it shrinks a history that differs, and prints the requests that are left with both answers. A difference is an
exception of a class of its own for each kind, so that hypothesis tells them apart and shrinks each.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import rule

from metashell.codec.registry import message_type
from metashell.common.values import uuid_text
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.controller import ROUTES
from metashell.quorum.controller.settings import ConfigKey
from tests.interop.real_controllers import CLUSTER_ID
from tests.interop.twin_contents import (
    ANY_SETTING,
    BROKERS,
    ENTITY,
    FEATURES,
    HOSTS,
    LOST,
    ODD_VALUES,
    QUOTA,
    RAFT,
    REPLICAS,
    RESOURCES,
    TOPIC_CONFIG,
    TOPICS,
    UNASSIGNED,
    USER,
    VALUES,
    value_of,
)
from tests.interop.twin_history import TwinHistory, directories, own_uuid
from tests.quorum.controller.canon import NODE
from tests.quorum.controller.random_requests import RandomRequests


class TwinMachine(TwinHistory):
    """All that brokers, admins and controllers ask, at random."""

    @rule(data=st.data(), broker=st.sampled_from(BROKERS), is_new=st.integers(0, 3))
    def register(self, data: st.DataObject, broker: int, is_new: int) -> None:
        draw = data.draw
        if is_new:
            self.lives[broker] += 1
        fields = self.registration(broker)
        fields["previousBrokerEpoch"] = draw(st.sampled_from([-1, self.broker_epoch(broker), 3]))
        if draw(st.integers(0, 5)) == 5:
            fields["logDirs"] = draw(
                st.sampled_from([directories(broker)[:1], directories(1 + broker % 4), [], [LOST], directories(broker)[::-1]])
            )
        if draw(st.integers(0, 9)) == 9:
            fields["features"] = fields["features"][draw(st.integers(0, 7)) :]
        self.request(draw, "BrokerRegistration", fields)

    @rule(data=st.data(), broker=st.sampled_from(BROKERS))
    def heartbeat(self, data: st.DataObject, broker: int) -> None:
        draw = data.draw
        fields = self.beat(broker)
        what = draw(st.integers(0, 15))
        if what == 15:
            fields["wantFence"] = fields["wantShutDown"] = True
        elif what >= 13:
            fields["wantFence"] = True
        elif what >= 11:
            fields["wantShutDown"] = True
        elif what == 10:
            fields["currentMetadataOffset"] -= draw(st.sampled_from([1, 2, 5, 100]))
        elif what == 9:
            fields["offlineLogDirs"] = draw(st.lists(st.sampled_from([*directories(broker), own_uuid("?")]), max_size=3))
        elif what == 8:
            fields["cordonedLogDirs"] = draw(st.lists(st.sampled_from([*directories(broker), own_uuid("?")]), max_size=3))
        elif what == 7:
            fields["brokerEpoch"] += draw(st.sampled_from([1, -1]))
        self.request(draw, "BrokerHeartbeat", fields)

    @rule(data=st.data())
    def heal(self, data: st.DataObject) -> None:
        """Bring back every broker that is away."""
        for broker in BROKERS:
            known = self.image.cluster.brokers.get(broker)
            if known is not None and known.fenced:
                if known.in_controlled_shutdown:
                    self.lives[broker] += 1
                    self.ask("UnregisterBroker", 0, {"brokerId": broker})
                    self.ask("BrokerRegistration", 3, self.registration(broker))
                self.ask("BrokerHeartbeat", 1, self.beat(broker))

    @rule(data=st.data(), broker=st.sampled_from((*BROKERS, 99, -1)))
    def unregister(self, data: st.DataObject, broker: int) -> None:
        if data.draw(st.integers(0, 2)) == 0:
            self.request(data.draw, "UnregisterBroker", {"brokerId": broker})

    @rule(data=st.data(), id=st.sampled_from((3001, NODE, 1)))
    def register_controller(self, data: st.DataObject, id: int) -> None:
        features = self.registration(1)["features"]
        listeners = [{"name": "CONTROLLER", "host": "c", "port": 9, "securityProtocol": 0}]
        fields = {"controllerId": id, "incarnationId": own_uuid(f"c{id}"), "features": features, "listeners": listeners}
        if data.draw(st.booleans()):
            fields["features"] = []
        if id != NODE:
            self.request(data.draw, "ControllerRegistration", fields)

    @rule(data=st.data(), id=st.sampled_from((3001, NODE, 1, 99)))
    def unregister_controller(self, data: st.DataObject, id: int) -> None:
        self.request(data.draw, "UnregisterController", {"controllerId": id})

    @rule(fenced=st.lists(st.sampled_from(BROKERS), max_size=3))
    def restart(self, fenced: list[int]) -> None:
        assert self.twins is not None
        if not fenced or self.is_over:
            return
        for broker in fenced:
            if broker in self.image.cluster.brokers:
                self.ask("BrokerHeartbeat", 1, {**self.beat(broker), "wantFence": True})
        note("restart")
        self.check(self.twins.restart())

    # --- topics

    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        draw = data.draw
        topics = []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
            name = draw(st.sampled_from([*TOPICS, *TOPICS, "v_w", "bad name", ".", "__cluster_metadata"]))
            assignments = [
                {"partitionIndex": at, "brokerIds": ids} for at, ids in enumerate(draw(st.lists(REPLICAS, min_size=1, max_size=3)))
            ]
            topics.append(self.topic(name, assignments, draw(st.lists(TOPIC_CONFIG, max_size=2))))
        self.request(draw, "CreateTopics", {"topics": topics, "timeoutMs": 60000, "validateOnly": draw(st.integers(0, 9)) == 9})

    @rule(data=st.data(), name=st.sampled_from(TOPICS), count=st.integers(-1, 4), factor=st.integers(-1, 4))
    def create_anywhere(self, data: st.DataObject, name: str, count: int, factor: int) -> None:
        topic = {**self.topic(name, (), data.draw(st.lists(TOPIC_CONFIG, max_size=1))), "numPartitions": count, "replicationFactor": factor}
        self.request(data.draw, "CreateTopics", {"topics": [topic], "timeoutMs": 60000}, low=4)

    @rule(data=st.data(), names=st.lists(st.sampled_from((*TOPICS, "nope")), min_size=1, max_size=2))
    def delete(self, data: st.DataObject, names: list[str]) -> None:
        draw = data.draw
        if draw(st.booleans()):
            return
        ids = [uuid_text(self.image.topics.by_name[name].id) for name in names if name in self.image.topics.by_name]
        if ids and draw(st.booleans()):
            topics: list[dict[str, Any]] = [
                {"name": None, "topicId": id} for id in (*ids, *draw(st.lists(st.just(own_uuid("gone")), max_size=1)))
            ]
        else:
            topics = [{"name": name} for name in names]
        self.request(draw, "DeleteTopics", {"topics": topics, "topicNames": names, "timeoutMs": 60000})

    @rule(data=st.data(), name=st.sampled_from((*TOPICS, *TOPICS, "nope")))
    def grow(self, data: st.DataObject, name: str) -> None:
        draw = data.draw
        topic = self.image.topics.by_name.get(name)
        count = topic.partition_count if topic is not None else 1
        more = draw(st.sampled_from([1, 1, 2, 0, -1]))
        lists = None if draw(st.integers(0, 5)) == 5 else [{"brokerIds": draw(REPLICAS)} for _ in range(max(1, more))]
        form = {"name": name, "count": count + more, "assignments": lists}
        self.request(draw, "CreatePartitions", {"topics": [form], "timeoutMs": 60000, "validateOnly": draw(st.integers(0, 9)) == 9})

    # --- partitions

    @rule(data=st.data())
    def alter_isr(self, data: st.DataObject) -> None:
        """A leader about some of its partitions."""
        draw = data.draw
        led = [found for found in self.partitions if found[2].leader >= 0]
        if not led:
            return
        leader = draw(st.sampled_from(sorted({partition.leader for _, _, partition in led})))
        mine = [found for found in led if found[2].leader == leader]
        chosen = draw(st.lists(st.sampled_from(range(len(mine))), min_size=1, max_size=3))
        topics: dict[str, list[dict[str, Any]]] = {}
        for at in chosen:
            topic, index, partition = mine[at]
            kept = draw(st.lists(st.sampled_from(partition.replicas), unique=True, max_size=len(partition.replicas)))
            isr = [id for id in partition.replicas if id == leader or id in kept]
            form = {
                "partitionIndex": index,
                "leaderEpoch": partition.leader_epoch + draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1, -1])),
                "partitionEpoch": partition.partition_epoch + draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1, -1])),
                "leaderRecoveryState": draw(st.sampled_from([0, 0, 0, 1])),
                "newIsr": isr,
                "newIsrWithEpochs": [{"brokerId": id, "brokerEpoch": self.broker_epoch(id)} for id in isr],
            }
            topics.setdefault(uuid_text(topic.id), []).append(form)
        forms = [{"topicId": id, "partitions": parts} for id, parts in topics.items()]
        self.request(draw, "AlterPartition", {"brokerId": leader, "brokerEpoch": self.broker_epoch(leader), "topics": forms})

    @rule(data=st.data())
    def reassign(self, data: st.DataObject) -> None:
        draw = data.draw
        if not (found := self.partitions):
            return
        topics: dict[str, list[dict[str, Any]]] = {}
        for at in draw(st.lists(st.sampled_from(range(len(found))), min_size=1, max_size=2)):
            topic, index, _ = found[at]
            goal = None if draw(st.integers(0, 3)) == 3 else draw(REPLICAS)
            topics.setdefault(topic.name, []).append({"partitionIndex": index, "replicas": goal})
        forms = [{"name": name, "partitions": parts} for name, parts in topics.items()]
        allows = draw(st.integers(0, 5)) != 5
        self.request(draw, "AlterPartitionReassignments", {"topics": forms, "timeoutMs": 60000, "allowReplicationFactorChange": allows})

    @rule(data=st.data())
    def list_moves(self, data: st.DataObject) -> None:
        names = data.draw(st.one_of(st.none(), st.lists(st.sampled_from((*TOPICS, "nope")), max_size=2)))
        topics = None if names is None else [{"name": name, "partitionIndexes": [0, 1, 9]} for name in names]
        self.request(data.draw, "ListPartitionReassignments", {"topics": topics, "timeoutMs": 60000})

    @rule(data=st.data(), kind=st.sampled_from([0, 0, 1, 1, 2]))
    def elect(self, data: st.DataObject, kind: int) -> None:
        draw = data.draw
        names = draw(st.one_of(st.none(), st.lists(st.sampled_from((*TOPICS, "nope")), min_size=1, max_size=2)))
        asked = None if names is None else [{"topic": name, "partitions": draw(st.lists(st.integers(0, 2), max_size=3))} for name in names]
        self.request(draw, "ElectLeaders", {"electionType": kind, "topicPartitions": asked, "timeoutMs": 60000})

    @rule(data=st.data(), broker=st.sampled_from(BROKERS))
    def assign_directories(self, data: st.DataObject, broker: int) -> None:
        draw = data.draw
        if not (found := self.partitions):
            return
        moves = []
        for directory in draw(
            st.lists(st.sampled_from([*directories(broker), *directories(broker), LOST, UNASSIGNED, own_uuid("?")]), min_size=1, max_size=2)
        ):
            at = draw(st.sampled_from(range(len(found))))
            topics = [{"topicId": uuid_text(found[at][0].id), "partitions": [{"partitionIndex": found[at][1]}]}]
            if draw(st.integers(0, 9)) == 9:
                topics.append({"topicId": own_uuid("nope"), "partitions": [{"partitionIndex": 0}]})
            moves.append({"id": directory, "topics": topics})
        self.request(draw, "AssignReplicasToDirs", {"brokerId": broker, "brokerEpoch": self.broker_epoch(broker), "directories": moves})

    # --- configs and the rest

    @rule(data=st.data())
    def configure(self, data: st.DataObject) -> None:
        draw = data.draw
        resources = []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
            kind, name, keys = draw(st.sampled_from(RESOURCES))
            changes = [
                {
                    "name": key,
                    "configOperation": draw(st.sampled_from([0, 0, 0, 1, 2, 3])),
                    "value": draw(st.sampled_from(VALUES.get(key, ODD_VALUES))),
                }
                for key in draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2))
            ]
            resources.append({"resourceType": kind, "resourceName": name, "configs": changes})
        api = draw(st.sampled_from(["IncrementalAlterConfigs", "IncrementalAlterConfigs", "AlterConfigs"]))
        self.request(draw, api, {"resources": resources, "validateOnly": draw(st.integers(0, 9)) == 9})

    @rule(data=st.data(), chosen=st.lists(ANY_SETTING, min_size=1, max_size=3))
    def configure_anything(self, data: st.DataObject, chosen: list[tuple[tuple[int, str], ConfigKey]]) -> None:
        """Every setting that Kafka knows, with values of its type."""
        kind, name = chosen[0][0]
        changes = [{"name": key.name, "configOperation": 0, "value": data.draw(value_of(key))} for place, key in chosen if place[0] == kind]
        if kind == 2 and self.image.topics.by_name:
            name = data.draw(st.sampled_from(sorted(self.image.topics.by_name)))
        self.ask("IncrementalAlterConfigs", 1, {"resources": [{"resourceType": kind, "resourceName": name, "configs": changes}]})

    @rule(data=st.data(), user=st.sampled_from(["alice", None]), client=st.sampled_from(["golden", None, "other", "-"]))
    def limit_mutations(self, data: st.DataObject, user: str | None, client: str | None) -> None:
        """A quota that is used up at once, or never; what is then asked as its user."""
        draw = data.draw
        entity = [{"entityType": "user", "entityName": user}]
        if client != "-":
            entity = [*entity[: draw(st.integers(0, 1))], {"entityType": "client-id", "entityName": client}]
        ops = [{"key": "controller_mutation_rate", "value": draw(st.sampled_from([0.001, 1e9])), "remove": draw(st.integers(0, 3)) == 3}]
        self.ask("AlterClientQuotas", 1, {"entries": [{"entity": entity, "ops": ops}]})
        for _ in range(draw(st.integers(1, 3))):
            name = draw(st.sampled_from(TOPICS))
            what = draw(st.integers(0, 2))
            count = self.image.topics.by_name[name].partition_count if name in self.image.topics.by_name else 0
            if what == 0:
                topics = [self.topic(name, [{"partitionIndex": 0, "brokerIds": [draw(st.sampled_from(BROKERS))]}])]
                fields: dict[str, Any] = {"topics": topics, "validateOnly": draw(st.integers(0, 4)) == 4}
            elif what == 1:
                fields = {"topics": [{"name": name}, {"name": "u"}], "topicNames": [name, "u"]}
            else:
                fields = {
                    "topics": [{"name": name, "count": count + 1, "assignments": [{"brokerIds": draw(REPLICAS)}]}],
                    "validateOnly": False,
                }
            api = ("CreateTopics", "DeleteTopics", "CreatePartitions")[what]
            version = draw(st.sampled_from([(7, 5), (6, 4), (3, 2)][what]))
            self.ask(api, version, {**fields, "timeoutMs": 60000}, principal=draw(st.sampled_from(["alice", "alice", "bob"])))

    @rule(data=st.data(), chosen=st.lists(st.integers(0, 99), min_size=1, max_size=2))
    def describe_configs(self, data: st.DataObject, chosen: list[int]) -> None:
        draw = data.draw
        resources = []
        for at in chosen:
            kind, name, keys = RESOURCES[at % len(RESOURCES)]
            named = draw(st.one_of(st.none(), st.lists(st.sampled_from(keys), max_size=2)))
            resources.append({"resourceType": kind, "resourceName": name, "configurationKeys": named})
        flags = {"includeSynonyms": draw(st.booleans()), "includeDocumentation": draw(st.booleans())}
        self.request(draw, "DescribeConfigs", {"resources": resources, **flags})

    @rule(data=st.data(), entries=st.integers(1, 2))
    def quotas(self, data: st.DataObject, entries: int) -> None:
        draw = data.draw
        forms = []
        for _ in range(entries):
            entity = [{"entityType": kind, "entityName": name} for kind, name in draw(st.lists(ENTITY, min_size=1, max_size=2))]
            ops = [{"key": key, "value": value, "remove": gone} for key, value, gone in draw(st.lists(QUOTA, min_size=1, max_size=2))]
            forms.append({"entity": entity, "ops": ops})
        self.request(draw, "AlterClientQuotas", {"entries": forms, "validateOnly": draw(st.integers(0, 9)) == 9})

    @rule(data=st.data())
    def scram(self, data: st.DataObject) -> None:
        draw = data.draw
        gone = [{"name": name, "mechanism": mechanism} for name, mechanism in draw(st.lists(USER, max_size=2))]
        made = [
            {
                "name": name,
                "mechanism": mechanism,
                "iterations": draw(st.sampled_from([4096, 8192, 16384, 16385, 1])),
                "salt": "c2FsdA==",
                "saltedPassword": "cHBwcHBwcHA=",
            }
            for name, mechanism in draw(st.lists(USER, max_size=2))
        ]
        self.request(draw, "AlterUserScramCredentials", {"deletions": gone, "upsertions": made})

    @rule(data=st.data())
    def create_acls(self, data: st.DataObject) -> None:
        draw = data.draw
        made = []
        for _ in range(draw(st.integers(1, 3))):
            kind, name = draw(
                st.sampled_from(
                    [(2, "t"), (2, "*"), (2, "v"), (3, "g"), (4, "kafka-cluster"), (4, "x"), (5, "tx"), (6, "tok"), (7, "User:bob")]
                )
            )
            made.append(
                {
                    "resourceType": kind,
                    "resourceName": name,
                    "resourcePatternType": draw(st.sampled_from([3, 3, 4, 2, 1, 0, 5])),
                    "principal": draw(st.sampled_from(["User:alice", "User:bob", "User:*", "alice", ""])),
                    "host": draw(st.sampled_from(HOSTS)),
                    "operation": draw(st.sampled_from([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1, 15])),
                    "permissionType": draw(st.sampled_from([3, 3, 3, 2, 1])),
                }
            )
        self.request(draw, "CreateAcls", {"creations": made}, low=1)

    @rule(data=st.data(), api=st.sampled_from(["DescribeAcls", "DeleteAcls"]))
    def filter_acls(self, data: st.DataObject, api: str) -> None:
        draw = data.draw
        kind = draw(st.sampled_from([1, 2, 3, 4, 0, 9]))
        name = draw(st.sampled_from([None, "t", "tt", "*", "kafka-cluster", "v"]))
        pattern = draw(st.sampled_from([1, 2, 3, 4, 0, 9]))
        common = {"operation": draw(st.sampled_from([1, 3, 8, 0, 20])), "permissionType": draw(st.sampled_from([1, 2, 3, 0]))}
        who = {
            "principalFilter": draw(st.sampled_from([None, "User:alice"])),
            "hostFilter": draw(st.sampled_from([None, "*", "127.0.0.0/8"])),
        }
        filter = {"resourceTypeFilter": kind, "resourceNameFilter": name, "patternTypeFilter": pattern, **who, **common}
        self.request(draw, api, {"filters": [filter, *([filter] if draw(st.integers(0, 4)) == 4 else [])], **filter}, low=1)

    @rule(data=st.data(), broker=st.sampled_from((*BROKERS, 99)))
    def producer_ids(self, data: st.DataObject, broker: int) -> None:
        self.request(data.draw, "AllocateProducerIds", {"brokerId": broker, "brokerEpoch": self.broker_epoch(broker)})

    @rule(data=st.data())
    def features(self, data: st.DataObject) -> None:
        draw = data.draw
        updates = []
        for name in draw(st.lists(st.sampled_from(FEATURES), min_size=1, max_size=2)):
            level = draw(st.sampled_from([1, 0, 2, self.level, self.level + 1, self.level - 1, 33, 30, 17, 23, 14]))
            kind = draw(st.sampled_from([1, 2, 3, 1, 0]))
            updates.append({"feature": name, "maxVersionLevel": level, "upgradeType": kind, "allowDowngrade": kind != 1})
        self.request(draw, "UpdateFeatures", {"featureUpdates": updates, "timeoutMs": 60000, "validateOnly": draw(st.integers(0, 3)) == 3})

    @rule(data=st.data(), renewers=st.lists(st.sampled_from([("User", "alice"), ("User", "bob"), ("Group", "g")]), max_size=2))
    def create_token(self, data: st.DataObject, renewers: list[tuple[str, str]]) -> None:
        draw = data.draw
        owner = draw(st.sampled_from([None, None, "alice", "bob"]))
        fields = {
            "ownerPrincipalType": None if owner is None else "User",
            "ownerPrincipalName": owner,
            "renewers": [{"principalType": kind, "principalName": name} for kind, name in renewers],
            "maxLifetimeMs": draw(st.sampled_from([-1, 600000, 0, -2])),
        }
        if draw(st.integers(0, 3)) == 3:
            self.request(draw, "CreateDelegationToken", fields, low=1)
        else:
            self.ask("CreateDelegationToken", 3, fields, principal=draw(st.sampled_from(["alice", "bob"])))

    @rule(data=st.data(), api=st.sampled_from(["RenewDelegationToken", "ExpireDelegationToken"]))
    def use_token(self, data: st.DataObject, api: str) -> None:
        assert self.twins is not None
        draw = data.draw
        tokens = sorted(self.twins.hmacs())
        fields = {
            "hmac": draw(st.sampled_from([*tokens, "bm8="])),
            "renewPeriodMs": 600000,
            "expiryTimePeriodMs": draw(st.sampled_from([600000, -1, 0])),
        }
        self.ask(api, 2, fields, principal=draw(st.sampled_from(["alice", "bob"])))

    @rule(data=st.data(), api=st.sampled_from(["DescribeCluster", "ApiVersions"]))
    def read(self, data: st.DataObject, api: str) -> None:
        fields = {"endpointType": data.draw(st.sampled_from([2, 1])), "clientSoftwareName": "twins", "clientSoftwareVersion": "1"}
        self.request(data.draw, api, {**fields, "includeClusterAuthorizedOperations": data.draw(st.booleans())})

    @rule(seed=st.integers(0, 1 << 32))
    def anything(self, seed: int) -> None:
        """A request of any API, of random contents."""
        assert self.twins is not None
        drawn = RandomRequests(self.twins.ours.controller, random.Random(seed), CLUSTER_ID).draw()
        api = APIS[drawn.api_key].name
        if api not in RAFT and drawn.api_key in ROUTES:
            fields = message_type("request", f"{api}Request").to_json_value(drawn.body, drawn.version)
            for period in ("timeoutMs", "maxLifetimeMs", "renewPeriodMs", "expiryTimePeriodMs"):
                # What is neither long nor over already is a race, and so is a quota that fills up again.
                if 0 < fields.get(period, 0) < 60000:
                    fields[period] = 60000
            for entry in fields.get("entries", ()):
                for op in entry.get("ops", ()):
                    if op["key"] == "controller_mutation_rate" and 0 < op["value"] < 1e6:
                        op["value"] = 0.001
            self.ask(api, drawn.version, fields, **({"principal": "bob"} if drawn.is_forwarded else {}))

    # What happens more often than the rest.
    beats = heartbeat
    alters = alter_isr
    alters_again = alter_isr
    creates = create
    reassigns = reassign
    elects = elect
    configures = configure
