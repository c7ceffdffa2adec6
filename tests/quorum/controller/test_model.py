"""Random histories, and after each decision what must hold: of partitions, of standbys, of snapshots, of steps, of lost leadership.

METASHELL_SEED begins with other seeds; METASHELL_SOAK makes the histories longer.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from struct import pack

import pytest

from metashell.codec import messages
from metashell.codec.batches import RecordBatch
from metashell.codec.registry import message_type
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image import ImageLoader, MetadataImage, PartitionRegistration
from metashell.metadata.image.provenance import VersionedRecord
from metashell.metadata.image.writer import write_image
from metashell.quorum.controller import Decision, QuorumController, Request, Steps, decision, elections, hints, replicas, topic_creation
from metashell.quorum.controller import elections as bulk
from metashell.quorum.controller import state as state_module
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.decision import elr_enabled, finish_steps
from metashell.quorum.controller.hints import PREFIXED
from metashell.quorum.controller.state import NO_OP, State
from tests.metadata.image.batches import batch_of_values, value
from tests.quick import quick
from tests.quorum.controller.cluster import CLUSTER_ID, Cluster
from tests.quorum.controller.random_requests import RandomRequests

SEED = int(os.environ.get("METASHELL_SEED", "0"))
STEPS = 4000 if os.environ.get("METASHELL_SOAK") else 400
Key = tuple[bytes, int]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rests nearly everywhere, so that all of them are taken."""
    for module in (decision, bulk, elections, replicas, topic_creation, state_module):
        monkeypatch.setattr(module, "PIECE", 1)
    monkeypatch.setattr(state_module, "_REPLAY_PIECE", 2)
    monkeypatch.setattr(state_module, "_SPECIAL_MIN", 0)
    monkeypatch.setattr(hints, "_PIECE", 1)
    monkeypatch.setattr(hints, "_RECLAIMED", 1)
    monkeypatch.setattr(hints, "_GONE_MIN", 0)


def prepared(seed: int) -> Cluster:
    """A cluster with brokers and topics, of one of several kinds."""
    level, elr = ((30, 1), (30, 0), (25, 0), (21, 0), (7, 0))[seed % 5]
    config = {"delegation.token.secret.key": "secret"} if seed % 2 else {}
    cluster = Cluster(config, level=level, elr=elr, seed=seed)
    cluster.register(1, 2, 3)
    cluster.create("t", (1, 2, 3), (2, 3, 1), (3, 1, 2))
    cluster.create("u", (1,))
    return cluster


def enveloped(request: Request) -> Request:
    """A request as a broker hands it on for its client."""
    message = message_type("request", f"{APIS[request.api_key].name}Request")
    header = pack(">hhih", request.api_key, request.version, 7, 1) + b"c" + b"\0" * message.flexible(request.version)
    principal = b"\0\0\5User" + bytes((len(request.principal) - 4,)) + request.principal[5:].encode() + b"\0\0"
    data = header + message.write(request.body, request.version)
    body = messages.EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=b"\x7f\0\0\1")
    return Request(58, 0, body)


class Watched:
    """A cluster whose leader is asked at random, and what is held against each of its decisions."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(SEED + seed)
        self.cluster = prepared(seed)
        self.requests = RandomRequests(self.cluster.controller, self.chance, CLUSTER_ID)
        self.leaders: dict[tuple[bytes, int, int], int] = {}
        self.had_elr = False
        self.asked: set[int] = set()

    @property
    def state(self) -> State:
        return self.cluster.controller.state

    def turn(self, number: int) -> list[VersionedRecord]:
        """Ask something, or let time pass; the records that were written."""
        cluster, chance = self.cluster, self.chance
        first = len(cluster.log)
        some_background(cluster.controller, chance)
        if number % 20 == 0:
            cluster.heal()
        elif chance.random() < 0.1:
            cluster.wait_to(cluster.now_ms + chance.choice((10, 1000, 9500, 300_000)))
        else:
            request = self.requests.draw()
            self.asked.add(request.api_key)
            if chance.random() < 0.1 and APIS[request.api_key].is_forwarded:
                request = enveloped(request)
            cluster.ask(*request[:3], principal=request.principal, is_forwarded=request.is_forwarded)
            cluster.now_ms += chance.choice((0, 1, 100))
        written = [record for _, batch in cluster.log[first:] for record in batch]
        self.check_partitions(written)
        return written

    def check_partitions(self, written: Sequence[VersionedRecord]) -> None:
        """What holds of every partition that may have changed."""
        names = {type(record).__name__ for record, _ in written}
        self.had_elr = self.had_elr or elr_enabled(self.state.image)
        keys: Iterator[Key] = (
            (record.topic_id, record.partition_id)
            for record, _ in written
            if type(record).__name__ in ("PartitionRecord", "PartitionChangeRecord")
        )
        if names - {"PartitionRecord", "PartitionChangeRecord", "ConfigRecord", "NoOpRecord"}:
            keys = ((topic.id, index) for topic, index, _ in self.state.image.topics.iter_partitions())
        for topic_id, index in keys:
            partition = self.state.partition(topic_id, index)
            if partition is not None:
                self.check(topic_id, index, partition)

    def check(self, topic_id: bytes, index: int, partition: PartitionRegistration) -> None:
        where = topic_id.hex(), index, partition
        assert self.leaders.setdefault((topic_id, index, partition.leader_epoch), partition.leader) == partition.leader, where
        assert len(set(partition.isr)) == len(partition.isr), where
        assert len(set(partition.replicas)) == len(partition.replicas), where
        assert set(partition.isr) <= set(partition.replicas), where
        assert not set(partition.isr) & set(partition.elr), where
        # A request that moves a partition twice may leave removed replicas named as such, as on a real controller.
        assert len(partition.directories) == len(partition.replicas), where
        assert partition.leader >= 0 or partition.leader == -1, where
        if partition.leader >= 0:
            broker = self.state.image.cluster.brokers.get(partition.leader)
            assert partition.leader in partition.isr, where
            assert broker is not None, where
            assert not broker.fenced, (where, broker)
        elif not self.had_elr:
            # With eligible leader replicas the last one in sync leaves too; where the feature is switched off again, it stays so.
            assert partition.isr, where


def same(one: MetadataImage, other: MetadataImage) -> bool:
    """Whether two images are equal, also where a quota is no number, which is not equal to itself."""
    return one.has_same_metadata(other) or repr(list(write_image(one))) == repr(list(write_image(other)))


def check_hints(state: State) -> None:
    """Hints name everything that they are asked for, and in no view too little."""
    found = state.hints
    of_broker = {id: set(found.of_broker(id)) for id in range(10)}
    for view in (state.tip, state.committed):
        for topic, index, partition in view.image.topics.iter_partitions():
            key = topic.id, index
            for id in {*partition.replicas, *partition.isr, *partition.elr}:
                assert key in of_broker[id]
            assert partition.leader != -1 or key in found.leaderless
            assert partition.leader == partition.replicas[0] or key in found.unpreferred
            assert not (partition.adding_replicas or partition.removing_replicas) or key in found.reassigning
            assert not (partition.elr or partition.last_known_elr) or key in found.eligible
        acls = view.image.acls
        for acl in acls.by_id.values():
            assert acl in list(state.acl_hints.at(acls, acl.resource_type, acl.pattern_type, acl.resource_name))
            if acl.pattern_type == PREFIXED:
                assert acl in list(state.acl_hints.prefixed(acls, acl.resource_type, acl.resource_name + "x"))


def check_same(state: State, other: State) -> None:
    """Two controllers on the same log, of which one may lead: all of what a decision reads is the same."""
    for left, right in ((state.tip, other.tip), (state.committed, other.committed)):
        assert same(left.image, right.image)
        assert left.registration_offsets == right.registration_offsets
        assert (left.before_transaction is None) == (right.before_transaction is None)
    assert (state.committed_offset, state.stable_offset) == (other.committed_offset, other.stable_offset)


def some_background(controller: QuorumController, chance: random.Random) -> None:
    """Background work that is begun, and left before its end or not."""
    background = controller.background_steps()
    if background is not None:
        for _ in range(chance.choice((0, 1, 3, 100))):
            next(background, None)
        background.close()


def follow(controller: QuorumController, base_offset: int, batch: Sequence[VersionedRecord], chance: random.Random) -> None:
    """Replay and commit a batch as a standby does, with some background work before and after."""
    for _ in range(2):
        some_background(controller, chance)
        if batch:
            finish_steps(controller.replay_steps(batch, base_offset))
            controller.commit(base_offset + len(batch) - 1)
            batch = ()


def snapshot_of(image: MetadataImage, offset: int) -> MetadataImage:
    """An image as the bytes of its snapshot give it."""
    loader = ImageLoader(snapshot_id=OffsetAndEpoch(offset + 1, 1))
    values = [value(record, version) for record, version in write_image(image)]
    for start in range(0, len(values), 7):
        loader.load_snapshot_batch(batch_of_values(values[start : start + 7], start))
    loaded = loader.finish()
    assert not loaded.faults
    return loaded


@pytest.mark.parametrize("seed", quick(range(5), 2))
def test_a_standby_has_all_that_the_leader_has_after_each_decision(seed: int) -> None:
    watched = Watched(seed)
    cluster, chance = watched.cluster, watched.chance
    standby = cluster.standby()
    from_snapshot: QuorumController | None = None
    loader = ImageLoader()
    for base_offset, batch in cluster.log:
        loader.load_batch(as_bytes(base_offset, batch))
    for number in range(STEPS):
        done = len(cluster.log)
        watched.turn(number)
        for base_offset, batch in cluster.log[done:]:
            loader.load_batch(as_bytes(base_offset, batch))
            follow(standby, base_offset, batch, chance)
            if from_snapshot is not None:
                follow(from_snapshot, base_offset, batch, chance)
        check_same(cluster.state, standby.state)
        if number % 7 == 0:
            assert same(loader.image(), cluster.controller.image)
            check_hints(cluster.state)
            check_hints(standby.state)
        if chance.random() < 0.05:
            if from_snapshot is not None:
                assert same(from_snapshot.image, cluster.controller.image)
                check_hints(from_snapshot.state)
            offset = cluster.controller.stable_offset
            from_snapshot = QuorumController(cluster.settings, chance)
            finish_steps(from_snapshot.load_steps(snapshot_of(cluster.controller.image, offset), offset))
            assert same(from_snapshot.image, cluster.controller.image)
    assert not loader.faults


def as_bytes(base_offset: int, batch: Sequence[VersionedRecord]) -> RecordBatch:
    return batch_of_values([value(record, version) for record, version in batch], base_offset)


class Undecided(Exception):
    """A decision that was dropped half way."""


def in_steps(work: Decision | Steps[Decision], controller: QuorumController, chance: random.Random, now_ms: int) -> Decision:
    """A decision with heartbeats that arrive between its steps, now and then dropped half way."""
    if isinstance(work, Decision):
        return work
    is_dropped = chance.random() < 0.2
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if is_dropped and chance.random() < 0.3:
            raise Undecided
        brokers = controller.state.image.cluster.brokers
        if brokers:
            broker = brokers[chance.choice(sorted(brokers))]
            beat = messages.BrokerHeartbeatRequest(broker_id=broker.id, broker_epoch=broker.epoch)
            controller.contact(Request(63, 2, beat, received_ms=now_ms), now_ms)


@pytest.mark.parametrize("seed", range(5))
def test_a_decision_in_steps_is_the_decision_made_at_once(seed: int) -> None:
    watched = Watched(seed)
    cluster = watched.cluster
    twin = prepared(seed)
    chance = random.Random(seed)
    for number in range(STEPS):
        if number % 20 == 0:
            cluster.heal()
            twin.heal()
        request = watched.requests.draw()._replace(received_ms=cluster.now_ms)
        cluster.chance.seed(number)
        decision = cluster.controller.decide(request, cluster.now_ms)
        while True:
            twin.chance.seed(number)
            try:
                other = in_steps(twin.controller.decide_steps(request, twin.now_ms), twin.controller, chance, twin.now_ms)
                break
            except Undecided:
                continue
        assert repr(other.records) == repr(decision.records)  # for one number is not equal to itself
        assert (other.atomic, other.leaving_broker, other.kraft_version) == decision[2:5] and repr(other.asked) == repr(decision.asked)
        if not may_throttle(cluster):
            assert repr(other.answer) == repr(decision.answer)
        cluster.write(decision)
        twin.write(other)
        cluster.now_ms += 10
        twin.now_ms += 10
    check_same(cluster.state, twin.state)


def may_throttle(cluster: Cluster) -> bool:
    """Whether a decision that was dropped and made again has charged a client twice."""
    return any("controller_mutation_rate" in values for values in cluster.controller.image.client_quotas.values())


@pytest.mark.parametrize("seed", range(5))
def test_what_was_not_committed_is_gone_with_leadership_and_whoever_leads_next_goes_on(seed: int) -> None:
    """Three controllers on one log; what one writes is committed in parts, and the others lead after it."""
    watched = Watched(seed)
    cluster, chance = watched.cluster, watched.chance
    controllers = [cluster.controller, cluster.standby(), cluster.standby()]
    epoch = 1
    for turn in range(STEPS // 10):
        leader = cluster.controller
        requests = RandomRequests(leader, chance, CLUSTER_ID)
        committed = leader.image
        kept: list[tuple[int, list[VersionedRecord]]] = []
        first = len(cluster.log)
        for _ in range(chance.randint(0, 5)):
            request = requests.draw()
            cluster.write(cluster.decide(*request[:3]), commit=False)
            # What is swept meanwhile is still needed where it is not committed after all.
            some_background(leader, chance)
            due = leader.run_due(cluster.now_ms) if chance.random() < 0.3 else None
            if due is not None:
                cluster.write(due, commit=False)
            check_hints(leader.state)
        pending = cluster.log[first:]
        kept = pending[: chance.randint(0, len(pending))]
        if kept:
            base_offset, batch = kept[-1]
            leader.commit(base_offset + len(batch) - 1)
        else:
            assert leader.image is committed
        was = leader.image
        leader.renounce()
        assert leader.image is was
        assert leader.state.tip is leader.state.committed
        del cluster.log[first + len(kept) :]
        cluster.end_offset = kept[-1][0] + len(kept[-1][1]) if kept else pending[0][0] if pending else cluster.end_offset
        for other in controllers:
            if other is not leader:
                for base_offset, batch in kept:
                    follow(other, base_offset, batch, chance)
        cluster.controller = chance.choice(controllers)
        epoch += 1
        cluster.now_ms += 100
        cluster.write(finish_steps(cluster.controller.claim_steps(epoch, cluster.end_offset, cluster.now_ms)))
        if turn % 5 == 0:
            cluster.heal()
        for other in controllers:
            if other is not cluster.controller:
                for base_offset, batch in cluster.log[first + len(kept) :]:
                    follow(other, base_offset, batch, chance)
        for other in controllers:
            check_same(cluster.state, other.state)
            check_hints(other.state)


@pytest.mark.parametrize("seed", quick(range(5), 2))
def test_a_transaction_shows_when_it_has_ended_or_never(seed: int) -> None:
    """Metadata transactions around random batches, as another controller may write them."""
    watched = Watched(seed)
    cluster, chance = watched.cluster, watched.chance
    for number in range(STEPS // 4):
        watched.turn(number)
    controller = QuorumController(cluster.settings, chance)
    loader = ImageLoader()
    offset = 0

    def write(batch: list[VersionedRecord]) -> None:
        nonlocal offset
        follow(controller, offset, batch, chance)
        loader.load_batch(as_bytes(offset, batch))
        offset += len(batch)

    batches = [[one for one in batch if "Transaction" not in type(one[0]).__name__] for _, batch in cluster.log]
    done = 0
    while done < len(batches):
        if chance.random() < 0.8:
            write(batches[done] or [NO_OP])
            done += 1
        else:
            before, stable_offset = controller.image, controller.stable_offset
            inside = batches[done : done + chance.randint(0, 4)]
            write([(messages.BeginTransactionRecord(name="t"), 0), *(inside[0] if inside else ())])
            for batch in inside[1:]:
                write(batch or [NO_OP])
            assert controller.image is before
            assert controller.stable_offset == stable_offset
            if chance.random() < 0.5:
                write([(messages.AbortTransactionRecord(reason="r"), 0)])
                assert controller.image is before
            else:
                write([NO_OP, (messages.EndTransactionRecord(), 0)])
                done += len(inside)
            assert controller.stable_offset == offset - 1
        assert same(loader.image(), controller.image)
        check_hints(controller.state)
    assert not loader.faults
    assert same(controller.image, cluster.controller.image)
