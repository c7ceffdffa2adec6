"""Histories for twins: fake brokers, admins and other controllers ask a real controller and ours, and each answer has to be the same.

A hypothesis state machine: it shrinks a history that differs, and prints the requests that are left with both answers. A difference is an
exception of a class of its own for each kind, so that hypothesis tells them apart and shrinks each.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from metashell.codec.metadata_version import metadata_version_name
from metashell.codec.registry import message_type
from metashell.controller.apis import APIS
from metashell.controller.routes import ROUTES
from metashell.image import MetadataImage
from metashell.values import uuid_text
from tests.controller.canon import NODE
from tests.controller.golden import Outcome
from tests.controller.random_requests import RandomRequests
from tests.interop.real_controllers import CLUSTER_ID, Format, RealControllers
from tests.interop.twin_pair import EQUAL, Twins, told
from tests.interop.twin_spoiling import spoil

Draw = Callable[[Any], Any]
T = TypeVar("T")
BROKERS = (1, 2, 3, 4)
TOPICS = ("t", "u", "v.w", "x-y")
UNASSIGNED, LOST = uuid_text(bytes(15) + b"\x01"), uuid_text(bytes(15) + b"\x02")
SECRET = {"delegation.token.secret.key": "secret"}
RAFT = {"DescribeQuorum", "AddRaftVoter", "RemoveRaftVoter"}
KINDS: tuple[tuple[Format, dict[str, str]], ...] = (
    (Format(), {}),
    (Format(features=("eligible.leader.replicas.version=0",)), {}),
    (Format("4.0-IV3", ("eligible.leader.replicas.version=1",)), {}),
    (Format("3.9-IV0", is_static=True), {}),
    (Format("3.3-IV3", is_static=True), {}),
    (Format("3.7-IV1", is_static=True), {}),
    (Format("4.2-IV1"), {"min.insync.replicas": "2", "default.replication.factor": "2", "num.partitions": "2"}),
    (Format(), {"unclean.leader.election.enable": "true", "delete.topic.enable": "false"}),
    (Format("3.6-IV2", is_static=True), {}),
    (Format("4.1-IV1"), {"allow.everyone.if.no.acl.found": "true"}),
)
"""What directories are formatted for, and how controllers are configured."""
SETTINGS = {"controller.quorum.election.timeout.ms": "100", "controller.quorum.election.backoff.max.ms": "50", **SECRET}


class Difference(AssertionError):
    """The two controllers answered or wrote something else."""


@functools.cache
def difference(signature: str) -> type[Difference]:
    """The class of one kind of difference."""
    return type(signature, (Difference,), {})


def signature_of(outcome: Outcome) -> str:
    """What kind of difference a row has: its API, and which codes the two gave."""
    name = outcome.api
    left, right = outcome.golden, outcome.actual
    parts = [key for key in left if left[key] != right[key]]
    return "_".join([name, outcome.verdict, *parts, *_codes(left, right)])


def _codes(left: Any, right: Any) -> list[str]:
    def all_codes(value: Any) -> set[int]:
        if isinstance(value, dict):
            own = {value["errorCode"]} if isinstance(value.get("errorCode"), int) else set()
            return own.union(*map(all_codes, value.values()))
        return set().union(*map(all_codes, value)) if isinstance(value, list) else set()

    kafkas, ours = all_codes(left["response"]), all_codes(right["response"])
    return [f"kafka{sorted(kafkas - ours)}", f"ours{sorted(ours - kafkas)}"] if kafkas != ours else []


def own_uuid(text: str) -> str:
    """A uuid of the history's own, by name."""
    raw = bytearray(hashlib.sha256(text.encode()).digest()[:16])
    raw[0] &= 0x7F
    return uuid_text(bytes(raw))


class TwinMachine(RuleBasedStateMachine):
    """One history on a fresh pair; `pool` is set by who runs it."""

    pool: ClassVar[RealControllers]
    ignored: ClassVar[Callable[[Outcome], bool]] = staticmethod(lambda outcome: False)
    make: ClassVar[Callable[[RealControllers, Format, dict[str, str]], Twins]] = Twins

    def __init__(self) -> None:
        super().__init__()
        self.twins: Twins | None = None
        self.lives = dict.fromkeys(BROKERS, 0)
        self.is_over = False

    @initialize(kind=st.sampled_from(KINDS), brokers=st.integers(0, len(BROKERS)), topics=st.integers(0, 2))
    def begin(self, kind: tuple[Format, dict[str, str]], brokers: int, topics: int) -> None:
        note(f"--- {kind}")
        type(self).count_history()
        self.twins = self.make(self.pool, kind[0], {**SETTINGS, **kind[1]})
        self.check(self.twins.outcomes[0])
        for broker in BROKERS[:brokers]:
            self.ask("BrokerRegistration", min(4, 3 if self.level < 30 else 4), self.registration(broker))
            self.ask("BrokerHeartbeat", 1, self.beat(broker))
        for name in TOPICS[:topics] if brokers else ():
            assignments = [{"partitionIndex": at, "brokerIds": _turned(BROKERS[:brokers], at)[:3]} for at in range(2)]
            self.ask("CreateTopics", 7, {"topics": [self.topic(name, assignments)], "timeoutMs": 60000})

    @classmethod
    def count_history(cls) -> None:
        """For who counts."""

    def teardown(self) -> None:
        if self.twins is not None:
            self.twins.close()

    # --- what there is

    @property
    def image(self) -> MetadataImage:
        assert self.twins is not None
        return self.twins.process.controller.image

    @property
    def level(self) -> int:
        assert self.twins is not None
        return self.twins.process.controller.state.level

    @property
    def partitions(self) -> list[tuple[Any, int, Any]]:
        """(topic, index, partition), in order of names."""
        return sorted(self.image.topics.iter_partitions(), key=lambda found: (found[0].name, found[1]))

    def broker_epoch(self, broker: int) -> int:
        known = self.image.cluster.brokers.get(broker)
        return 0 if known is None else known.epoch

    # --- asking

    def ask(self, api: str, version: int, fields: dict[str, Any], **how: Any) -> Any:
        """Send a request to both; Kafka's answer. Errors: Difference."""
        assert self.twins is not None
        if self.is_over:
            return None
        message = message_type("request", f"{api}Request")
        fields = _known(message, message.schema, fields, version)
        is_placed = _places(api, fields)
        if is_placed and any(broker.in_controlled_shutdown for broker in self.image.cluster.brokers.values()):
            # Such a broker may be picked or not, and is then no leader.
            return None
        outcome = self.twins.send(api, version, fields, is_placed=is_placed, **how)
        note(f"{api} v{version} {fields} {how or ''} -> {outcome.golden['response']}")
        self.check(outcome)
        if is_placed:
            self._delete_placed(outcome)
        self.is_over = self.is_over or self.twins.has_ended
        return outcome.golden["response"]

    def check(self, outcome: Outcome) -> None:
        if outcome.verdict in EQUAL:
            return
        if not self.ignored(outcome):
            raise difference(signature_of(outcome))(told(outcome))
        # From here on the two may differ everywhere.
        self.is_over = outcome.golden["records"] != outcome.actual["records"]

    def _delete_placed(self, outcome: Outcome) -> None:
        """Replicas placed at random differ: their topics go at once."""
        ids = {record["data"]["topicId"] for record in outcome.actual["records"] if record["type"] == "PARTITION_RECORD"}
        assert self.twins is not None
        for topic in list(self.image.topics):
            if self.twins.canon_name(topic.id) in ids:
                self.ask("DeleteTopics", 6, {"topics": [{"name": topic.name}], "timeoutMs": 60000})
                if topic.name in self.image.topics.by_name:
                    # Deletion is switched off.
                    self.is_over = True

    def request(self, draw: Draw, api: str, fields: dict[str, Any], *, low: int = 0) -> Any:
        """Send a request of some version, now and then spoilt, now and then for somebody else."""
        route = APIS[message_type("request", f"{api}Request").key]
        newest = min(route.high, 3 if api == "BrokerRegistration" and self.level < 30 else route.high)
        version = newest - draw(st.sampled_from([0, 0, 0, 1, 2, 3])) % (newest - max(low, route.low) + 1)
        how: dict[str, Any] = {}
        roll = draw(st.integers(0, 19))
        if roll >= 16:
            fields = spoil(
                draw,
                api,
                version,
                _known(message_type("request", f"{api}Request"), message_type("request", f"{api}Request").schema, fields, version),
            )
        elif roll >= 14:
            how["principal"] = draw(st.sampled_from(["alice", "bob", "ANONYMOUS"]))
        return self.ask(api, version, fields, **how)

    # --- brokers

    def registration(self, broker: int) -> dict[str, Any]:
        ranges = {
            "metadata.version": (7, max(30, self.level)),
            "group.version": (0, 1),
            "transaction.version": (0, 2),
            "kraft.version": (0, 1),
        }
        ranges |= {"eligible.leader.replicas.version": (0, 1), "share.version": (0, 2), "streams.version": (0, 1)}
        return {
            "brokerId": broker,
            "clusterId": CLUSTER_ID,
            "incarnationId": own_uuid(f"incarnation-{broker}-{self.lives[broker]}"),
            "listeners": [{"name": "PLAINTEXT", "host": f"b{broker}", "port": 9092, "securityProtocol": 0}],
            "features": [{"name": name, "minSupportedVersion": low, "maxSupportedVersion": high} for name, (low, high) in ranges.items()],
            "rack": "ab"[broker % 2] if broker < 4 else None,
            "logDirs": directories(broker),
            "previousBrokerEpoch": -1,
        }

    def beat(self, broker: int) -> dict[str, Any]:
        assert self.twins is not None
        return {
            "brokerId": broker,
            "brokerEpoch": self.broker_epoch(broker),
            "currentMetadataOffset": self.twins.process.end_offset - 1,
        }

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

    @rule(fenced=st.lists(st.sampled_from(BROKERS), max_size=3))
    def restart(self, fenced: list[int]) -> None:
        assert self.twins is not None
        if len(fenced) < 2 or self.is_over:
            return
        for broker in fenced:
            if broker in self.image.cluster.brokers:
                self.ask("BrokerHeartbeat", 1, {**self.beat(broker), "wantFence": True})
        note("restart")
        self.check(self.twins.restart())

    # --- topics

    def topic(self, name: str, assignments: Sequence[dict[str, Any]], configs: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        return {"name": name, "numPartitions": -1, "replicationFactor": -1, "assignments": list(assignments), "configs": list(configs)}

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
                    "host": draw(st.sampled_from(["*", "127.0.0.1", "10.0.0.1"])),
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
        who = {"principalFilter": draw(st.sampled_from([None, "User:alice"])), "hostFilter": draw(st.sampled_from([None, "*"]))}
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
            level = draw(st.sampled_from([1, 0, 2, self.level, self.level + 1, self.level - 1, 30, 17, 23, 14]))
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
        drawn = RandomRequests(self.twins.process.controller, random.Random(seed), CLUSTER_ID).draw()
        api = APIS[drawn.api_key].name
        if api not in RAFT and drawn.api_key in ROUTES:
            fields = message_type("request", f"{api}Request").to_json_value(drawn.body, drawn.version)
            self.ask(api, drawn.version, fields, **({"principal": "bob"} if drawn.is_forwarded else {}))

    # What happens more often than the rest.
    beats = heartbeat
    alters = alter_isr
    alters_again = alter_isr
    creates = create
    reassigns = reassign
    elects = elect
    configures = configure


def directories(broker: int) -> list[str]:
    """The log directories of a broker, as many as its id, at most two."""
    return [own_uuid(f"dir-{broker}-{at}") for at in range(min(broker, 2))]


def _turned(ids: Sequence[int], count: int) -> list[int]:
    return [*ids[count % len(ids) :], *ids[: count % len(ids)]]


def _known(message: Any, struct: Any, fields: dict[str, Any], version: int) -> dict[str, Any]:
    """The fields that a version has."""
    known = {field.json_name: field for field in struct.at(version)}
    made = {}
    for name, value in fields.items():
        field = known.get(name)
        if field is None:
            continue
        if field.is_struct and value is not None:
            inner = message.schema.structs[field.type]
            value = [_known(message, inner, item, version) for item in value] if field.is_array else _known(message, inner, value, version)
        made[name] = value
    return made


def _places(api: str, fields: dict[str, Any]) -> bool:
    """Whether the controller is to choose replicas."""
    if api == "CreateTopics":
        return any(not topic.get("assignments") for topic in fields.get("topics", ()))
    return api == "CreatePartitions" and any(topic.get("assignments") is None for topic in fields.get("topics", ()))


REPLICAS = st.one_of(
    st.permutations(BROKERS).flatmap(lambda ids: st.integers(1, 3).map(lambda count: list(ids[:count]))),
    st.permutations(BROKERS).flatmap(lambda ids: st.integers(2, 3).map(lambda count: list(ids[:count]))),
    st.permutations(BROKERS[:3]).map(list),
    st.sampled_from([[], [99], [1, 1], [-1], [2, 1, 4, 3]]),
)
VALUES = {
    "min.insync.replicas": ["1", "2", "3", "0", None, "x"],
    "unclean.leader.election.enable": ["true", "false", None, "TRUE", "no"],
    "retention.ms": ["1", "-1", "9", None, "-2", "1e3"],
    "cleanup.policy": ["compact", "delete", "compact,delete", "", None, "burn"],
    "interval.ms": ["1000", "99", "100", None, "3600001"],
    "match": ["client_id=x.*", "client_id=[", "what", None],
    "consumer.session.timeout.ms": ["45000", "1", "60000", None],
    "num.io.threads": ["1", "0", "9", None],
}
ODD_VALUES = ["1", "", None, "true", "x", "compact", " 1 "]
TOPIC_KEYS = ["min.insync.replicas", "unclean.leader.election.enable", "retention.ms", "cleanup.policy", "nope", "compression.type"]
BROKER_KEYS = [
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "num.io.threads",
    "log.cleanup.policy",
    "nope",
    "log.retention.ms",
    "broker.id",
]
METRICS_KEYS = ["interval.ms", "match", "metrics", "nope"]
GROUP_KEYS = [
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "share.auto.offset.reset",
    "streams.num.standby.replicas",
    "nope",
]
RESOURCES: list[tuple[int, str, list[str]]] = [
    *((2, name, TOPIC_KEYS) for name in (*TOPICS, "nope", "")),
    *((4, name, BROKER_KEYS) for name in ("", "1", "2", str(NODE), "99", "x")),
    *((16, name, METRICS_KEYS) for name in ("m", "")),
    *((32, name, GROUP_KEYS) for name in ("g", "")),
    (8, "1", ["org.apache.kafka", "nope"]),
    (3, "g", ["x"]),
]
TOPIC_CONFIG = st.sampled_from(TOPIC_KEYS[:4]).flatmap(
    lambda key: st.sampled_from(VALUES[key]).map(lambda value: {"name": key, "value": value})
)
ENTITY = st.sampled_from(
    [
        *((kind, name) for kind in ("user", "client-id") for name in ("a", None, "")),
        ("ip", "10.0.0.1"),
        ("ip", None),
        ("ip", "?"),
        ("group", "g"),
    ]
)
QUOTA = st.tuples(
    st.sampled_from(["producer_byte_rate", "consumer_byte_rate", "request_percentage", "connection_creation_rate", "nope"]),
    st.sampled_from([1.0, 2.5, 0.0, -1.0, 100.0]),
    st.sampled_from([False, False, True]),
)
USER = st.tuples(st.sampled_from(["a", "b", ""]), st.sampled_from([1, 2, 0, 3]))
FEATURES = [
    "metadata.version",
    "metadata.version",
    "group.version",
    "transaction.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
    "kraft.version",
    "nope",
]
LEVEL_NAMES = {level: metadata_version_name(level) for level in range(7, 31)}
