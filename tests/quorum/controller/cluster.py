"""A controller that leads a quorum of its own, for tests: what it decides is committed at once."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from metashell.codec import messages
from metashell.codec.registry import message_type
from metashell.codec.releases import ELR_FEATURE, METADATA_VERSION, NEWEST_RELEASE
from metashell.metadata.image import Voter, VoterSet
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller import Decision, QuorumController, Request, Settings
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.decision import SUPPORTED_FEATURES, feature_level_record
from metashell.quorum.controller.settings import NO_POLICIES, Policies

CLUSTER_ID = "a-cluster"
NEWEST = NEWEST_RELEASE.newest_level
NODE = 3000
_CONFIG = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:ANONYMOUS"}


class Cluster:
    """A controller, its log, and requests to it."""

    def __init__(
        self,
        config: Mapping[str, str] = {},
        *,
        level: int = NEWEST,
        elr: int = 1,
        seed: int = 1,
        policies: Policies = NO_POLICIES,
    ) -> None:
        self.settings = Settings({**_CONFIG, **config}, CLUSTER_ID, NODE, policies)
        self.log: list[tuple[int, list[VersionedRecord]]] = []
        self.end_offset = 0
        self.now_ms = 0
        self.life = 1
        self.chance = random.Random(seed)
        bootstrap = [feature_level_record(METADATA_VERSION, level), *([feature_level_record(ELR_FEATURE, elr)] if elr else [])]
        self.controller = QuorumController(self.settings, self.chance, bootstrap)
        self.controller.state.set_quorum(VoterSet(0, (Voter(NODE, bytes(16)),)), 1)
        self.write(self.controller.claim(1, 0, 0))

    @property
    def state(self) -> Any:
        return self.controller.state

    def write(self, decision: Decision, *, commit: bool = True) -> Any:
        """Append what a decision says; its answer."""
        for batch in decision.batches():
            # As they come back from a log.
            read = [(_through_bytes(record, version), version) for record, version in batch]
            self.controller.replay(read, self.end_offset)
            self.log.append((self.end_offset, read))
            self.end_offset += len(batch)
            if commit:
                self.controller.commit(self.end_offset - 1)
        self.controller.written(decision)
        return decision.answer

    def decide(self, key: int, version: int, body: Any, **how: Any) -> Decision:
        return self.controller.decide(Request(key, version, body, received_ms=self.now_ms, **how), self.now_ms)

    def ask(self, key: int, version: int, body: Any, **how: Any) -> Any:
        """Decide, write, and give the answer, which its version can hold."""
        decision = self.decide(key, version, body, **how)
        self.write(decision)
        if decision.answer is not None:
            name = f"{APIS[key].name}Response"
            message_type("response", name).write(decision.answer, version)
        return decision.answer

    def register(self, *ids: int, rack: str | None = None) -> None:
        """Register brokers with two directories each, and unfence them."""
        for id in ids:
            assert self.try_register(id, rack=rack).error_code == 0
            assert not self.beat(id).is_fenced

    def try_register(self, id: int, *, rack: str | None = None) -> Any:
        """Register a broker, in the life that `life` numbers; the answer."""
        made = messages.BrokerRegistrationRequest
        body = made(
            broker_id=id,
            cluster_id=CLUSTER_ID,
            incarnation_id=bytes([1, id, *self.life.to_bytes(6, "big")]) * 2,
            listeners=(made.Listener(name="PLAINTEXT", host="h", port=9092),),
            features=tuple(
                made.Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in SUPPORTED_FEATURES.items()
            ),
            rack=rack,
            log_dirs=(bytes([2, id]) * 8, bytes([3, id]) * 8),
        )
        return self.ask(62, 4, body)

    def beat(self, id: int, *, want_fence: bool = False, want_shut_down: bool = False) -> Any:
        broker = self.state.image.cluster.brokers[id]
        body = messages.BrokerHeartbeatRequest(
            broker_id=id,
            broker_epoch=broker.epoch,
            current_metadata_offset=self.end_offset - 1,
            want_fence=want_fence,
            want_shut_down=want_shut_down,
        )
        return self.ask(63, 2, body)

    def create(self, name: str, *replicas: tuple[int, ...]) -> bytes:
        """A topic whose partitions have these replicas; its id."""
        answer = self.try_create(name, *replicas)
        assert answer.topics[0].error_code == 0, answer
        return bytes(answer.topics[0].topic_id)

    def try_create(self, name: str, *replicas: tuple[int, ...]) -> Any:
        made = messages.CreateTopicsRequest
        assignments = tuple(made.CreatableReplicaAssignment(partition_index=at, broker_ids=ids) for at, ids in enumerate(replicas))
        topic = made.CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)
        return self.ask(19, 7, made(topics=(topic,), timeout_ms=1000))

    def heal(self, *names: str) -> None:
        """Bring back brokers and topics that random requests took away, so that there is something left to ask for."""
        # Long enough for every session to be over, so that new lives are welcome.
        self.now_ms += 20_000
        for id in (1, 2, 3):
            broker = self.state.image.cluster.brokers.get(id)
            if broker is None or broker.in_controlled_shutdown:
                self.life += 1
                self.try_register(id)
            if id in self.state.image.cluster.brokers:
                self.beat(id)
        for name in names or ("t",):
            if name not in self.state.image.topics.by_name:
                self.try_create(name, (1, 2, 3), (2, 3, 1))

    def wait_to(self, now_ms: int) -> list[VersionedRecord]:
        """Everything that periodic tasks do until then; the records that they write."""
        written: list[VersionedRecord] = []
        while (due_ms := self.controller.next_due_ms()) is not None and due_ms <= now_ms:
            self.now_ms = max(self.now_ms, due_ms)
            decision = self.controller.run_due(due_ms)
            if decision is not None:
                self.write(decision)
                written += decision.records
        self.now_ms = now_ms
        return written

    def standby(self) -> QuorumController:
        """Another controller that followed the same log."""
        follower = QuorumController(self.settings, self.chance)
        follower.state.set_quorum(VoterSet(0, (Voter(NODE, bytes(16)),)), 1)
        for base_offset, batch in self.log:
            follower.replay(batch, base_offset)
            follower.commit(base_offset + len(batch) - 1)
        return follower


def _through_bytes(record: Any, version: int) -> Any:
    message = message_type("metadata", type(record).__name__)
    return message.read(message.write(record, version), version)
