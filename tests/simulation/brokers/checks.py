"""What must hold after every event, whoever dies and whatever is cut.

- H1: a heartbeat comes to what the table of controller.md 12 says. Its rows are counted.
- R1: nobody registers with an id whose session lasts; epochs of brokers only grow.
- F1: a fenced broker leads nothing and is in no ISR (without ELR the last member stays in one that nobody leads); nor does one that leaves.
- F2: a silent broker is fenced soon after its session is over, and not before that.
- P1: no two brokers lead in one leader epoch, by the log of the controllers; P2: no two take records in one.
- D1: what was acknowledged with acks=all is on every member of the ISR and the ELR that kept its disk, and so on who is elected from them.
- D2: what consumers read at an offset never changes.
- L1: with a lease, nobody serves as leader once the controllers may have fenced it for its silence.

D1 and D2 end for a partition whose members of ISR and ELR are all gone: their power failed before records were on disk, their brokers were
unregistered, or somebody was elected who is in neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.error_codes import DUPLICATE_BROKER_REGISTRATION, NONE
from metashell.metadata.image import MetadataImage, PartitionRegistration
from metashell.quorum.controller import Decision, Request
from tests.simulation.brokers import heartbeat_table
from tests.simulation.brokers.quorum import HEARTBEAT, Controller
from tests.simulation.brokers.replica import NOBODY, Key, Record, Replica

if TYPE_CHECKING:
    from tests.simulation.brokers.broker import Broker
    from tests.simulation.brokers.cluster import Cluster

REGISTRATION = 62
RECOVERING = 1


class History:
    """What was promised about one partition."""

    def __init__(self) -> None:
        self.acked: dict[int, Record] = {}
        self.acked_by_one: list[tuple[int, Record]] = []
        self.read: dict[int, Record] = {}
        self.leaders: dict[int, int] = {}
        self.writers: dict[int, int] = {}
        self.members: tuple[int, ...] = ()
        self.lost: dict[int, int] = {}
        self.silenced: set[int] = set()
        self.leader = NOBODY
        self.leader_epoch = -1
        self.is_excused = False


class Checks:
    """The checkers; each is told what happens where it happens."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.world = cluster.world
        self.partitions: dict[Key, History] = {}
        self._epochs: dict[int, int] = {}
        self._looked: MetadataImage | None = None
        self._heard_ms: dict[tuple[int, int], int] = {}
        self._claimed_ms = 0
        self._silenced: dict[int, None] = {}
        self.is_black_box = cluster.options.is_black_box

    def history(self, key: Key) -> History:
        found = self.partitions.get(key)
        if found is None:
            found = self.partitions[key] = History()
        return found

    # Controllers

    def before(self, controller: Controller, request: Request) -> Any:
        if not controller.is_active or self.is_black_box:
            return None
        state = controller.controller.state
        now = self.world.now
        if request.api_key == HEARTBEAT:
            return heartbeat_table.expect(controller.controller, request, now, self.world.options.heartbeat_interval_ms)
        if request.api_key == REGISTRATION:
            known = state.image.cluster.brokers.get(request.body.broker_id)
            if known is None or known.incarnation_id == request.body.incarnation_id:
                return NONE
            at = state.heartbeats._contacts.get((known.id, known.epoch))
            lives = at is not None and at + self.world.options.session_timeout_ms >= now
            return DUPLICATE_BROKER_REGISTRATION if lives else NONE
        return None

    def after(self, controller: Controller, request: Request, decision: Decision, expected: Any) -> None:
        if expected is None:
            return
        if request.api_key == HEARTBEAT:
            wrong = heartbeat_table.fault(expected, decision, request.body)
            if wrong is not None:
                self.world.fail("H1 HeartbeatTable", f"broker {request.body.broker_id}: {wrong}")
            elif expected.row:
                self.world.counts[f"row {heartbeat_table.ROWS[expected.row - 1]}"] += 1
            else:
                self.world.counts[f"heartbeats refused: {expected.refused}"] += 1
        elif decision.answer.error_code != expected:
            self.world.fail("R1 OneLifeAtATime", f"registration of {request.body.broker_id}: {decision.answer.error_code}, not {expected}")

    def heard(self, controller: Controller, request: Request) -> None:
        """A request reached a controller."""
        if request.api_key == HEARTBEAT and self.cluster.quorum.leader is controller:
            self._heard_ms[request.body.broker_id, request.body.broker_epoch] = self.world.now

    def claimed(self) -> None:
        """Another controller leads."""
        self._claimed_ms = self.world.now
        self._silenced.clear()

    def decided_alone(self, controller: Controller, decision: Decision) -> None:
        """A periodic task of a controller came to something."""
        if self.cluster.quorum.leader is not controller:
            return
        for record, _ in decision.records:
            if type(record).__name__ == "BrokerRegistrationChangeRecord":
                self._silenced[record.broker_id] = None
                heard = max(self._heard_ms.get((record.broker_id, record.broker_epoch), 0), self._claimed_ms)
                if self.world.now <= heard + self.world.options.session_timeout_ms and not self.is_black_box:
                    self.world.fail("F2 SilentIsFenced", f"broker {record.broker_id} is fenced and was heard of at {heard}")

    def look(self, controller: Controller) -> None:
        """After each decision of an active controller, also one that nobody follows any more."""
        image = controller.controller.state.image
        if image is not self._looked and not self.is_black_box:
            self._looked = image
            self._check_fenced(image)

    def committed(self, image: MetadataImage) -> None:
        """After each batch that is committed."""
        self._check_epochs(image)
        silenced = [id for id in self._silenced if (broker := image.cluster.brokers.get(id)) is not None and broker.fenced]
        for id in silenced:
            del self._silenced[id]
        for name in self.cluster.topic_names:
            topic = image.topics.by_name.get(name)
            if topic is not None:
                for number, partition in topic.partitions.items():
                    self._follow((name, number), partition, silenced)

    def _check_epochs(self, image: MetadataImage) -> None:
        for id, broker in image.cluster.brokers.items():
            if broker.epoch < self._epochs.get(id, -1):
                self.world.fail("R1 OneLifeAtATime", f"broker {id} has epoch {broker.epoch} after {self._epochs[id]}")
            self._epochs[id] = broker.epoch

    def _check_fenced(self, image: MetadataImage) -> None:
        brokers = image.cluster.brokers
        idle = {id for id, broker in brokers.items() if broker.fenced or broker.in_controlled_shutdown}
        for topic in image.topics:
            for number, partition in topic.partitions.items():
                leader = partition.leader
                if leader != NOBODY and (leader in idle or leader not in brokers):
                    self.world.fail(
                        "F1 FencedLeadsNothing",
                        f"{topic.name}-{number}: {short(partition)} is led by a broker that is fenced, leaves or is gone",
                    )
                if leader != NOBODY or self.world.options.has_elr:
                    wrong = [id for id in partition.isr if id in idle or id not in brokers]
                    if wrong:
                        self.world.fail(
                            "F1 FencedLeadsNothing",
                            f"{topic.name}-{number}: {short(partition)} has {wrong} in sync, fenced, leaving or gone",
                        )

    def sweep(self) -> None:
        """Now and then: whoever is silent for long is fenced (F2)."""
        leader = self.cluster.quorum.leader
        options = self.world.options
        if leader is None or not leader.is_active or self.is_black_box:
            return
        late = self.world.now - options.session_timeout_ms * 2
        image = leader.controller.state.image
        for id, broker in image.cluster.brokers.items():
            if not broker.fenced and max(self._heard_ms.get((id, broker.epoch), 0), self._claimed_ms) < late:
                self.world.fail("F2 SilentIsFenced", f"broker {id} of epoch {broker.epoch} is silent and not fenced")

    # Partitions

    def _follow(self, key: Key, partition: PartitionRegistration, silenced: list[int]) -> None:
        history = self.history(key)
        if partition.leader != NOBODY:
            led = history.leaders.setdefault(partition.leader_epoch, partition.leader)
            if led != partition.leader:
                self.world.fail("P1 OneLeaderAnEpoch", f"{key}: {led} and {partition.leader} lead in epoch {partition.leader_epoch}")
        before = history.members
        # Who is no replica any more may still be named as eligible, and is elected by nobody.
        history.members = (*partition.isr, *(id for id in partition.elr if id in partition.replicas))
        if partition.leader_epoch != history.leader_epoch:
            is_unclean = partition.leader_recovery_state == RECOVERING and partition.leader not in before
            if is_unclean and history.leader_epoch >= 0:
                self.world.counts["unclean elections"] += 1
                history.is_excused = True
                if not self.world.options.has_elr and not self.world.options.allows_unclean:
                    self.world.fail("D1 AcknowledgedSurvives", f"{key}: {partition.leader} is elected and was not in sync: {before}")
            if history.leader in silenced:
                history.silenced.add(history.leader_epoch)
            history.leader_epoch, history.leader = partition.leader_epoch, partition.leader
        self._check_members(key, history, history.members)

    def _check_members(self, key: Key, history: History, ids: tuple[int, ...]) -> None:
        """Every member has everything, or nobody has to have anything any more."""
        if history.is_excused:
            return
        if not any(self._is_whole(history, id) for id in history.members):
            history.is_excused = True
            self.world.counts["partitions without a member that has everything"] += 1
            return
        for id in ids:
            if self._is_whole(history, id):
                self._check_member(key, history, id)

    def _check_member(self, key: Key, history: History, id: int) -> None:
        replica = self.cluster.brokers[id].replicas.get(key)
        log = replica.log if replica is not None else []
        end = len(log)
        for offset in reversed(history.acked):
            if offset >= end or log[offset] != history.acked[offset]:
                self.world.fail(
                    "D1 AcknowledgedSurvives",
                    f"{key}: broker {id} is one of {history.members} and lacks {history.acked[offset]} at {offset}, its log ends at {end}",
                )
                return
            if end - offset > 40:
                return

    def leads(self, broker: Broker, replica: Replica) -> None:
        """A broker takes up the leadership of an epoch."""
        history = self.history(replica.key)
        if not history.is_excused and self._is_whole(history, broker.id) and history.leader_epoch == replica.epoch:
            self._check_whole(replica, history)
        self.world.counts["leaderships"] += 1

    def _check_whole(self, replica: Replica, history: History) -> None:
        for offset, record in history.acked.items():
            if offset >= replica.end or replica.log[offset] != record:
                self.world.fail("D1 AcknowledgedSurvives", f"{replica.key}: the leader of epoch {replica.epoch} lacks {record} at {offset}")
                return

    def truncated(self, broker: Broker, replica: Replica, before: int) -> None:
        history = self.history(replica.key)
        self.world.counts["truncations"] += 1
        if not history.is_excused and broker.id in history.members and self._is_whole(history, broker.id):
            self._check_member(replica.key, history, broker.id)

    def lost(self, broker: Broker, replica: Replica) -> None:
        """The end of a log is no longer on its disk: nothing can be asked of the broker until it is a member anew."""
        history = self.history(replica.key)
        history.lost[broker.id] = len(broker.incarnations)
        if broker.id in history.members:
            self._check_members(replica.key, history, ())

    def _is_whole(self, history: History, id: int) -> bool:
        """Whether a broker has all that it had when it registered; the controllers cannot know of what was lost since."""
        lives = history.lost.get(id)
        registered = self.cluster.quorum.image.cluster.brokers.get(id)
        if lives is None or registered is None:
            return lives is None
        return registered.incarnation_id not in self.cluster.brokers[id].incarnations[:lives]

    def accepts(self, broker: Broker, replica: Replica) -> None:
        history = self.history(replica.key)
        writer = history.writers.setdefault(replica.epoch, broker.id)
        if writer != broker.id:
            self.world.fail("P2 OneWriterAnEpoch", f"{replica.key}: {writer} and {broker.id} take records in epoch {replica.epoch}")
        self._check_lease(broker, replica, history, "a write")

    def acked_by_all(self, broker: Broker, replica: Replica, offset: int, record: Record) -> None:
        history = self.history(replica.key)
        self.world.counts["acknowledged with acks=all"] += 1
        if history.is_excused:
            return
        known = history.acked.get(offset)
        if known is not None and known != record:
            self.world.fail("D1 AcknowledgedSurvives", f"{replica.key}: {record} is acknowledged at {offset}, where {known} was")
        # In order of offsets: leaders acknowledge in that order, and a later one begins where an earlier one ended.
        history.acked[offset] = record
        self._check_members(replica.key, history, history.members)

    def acked_by_one(self, broker: Broker, replica: Replica, offset: int, record: Record) -> None:
        history = self.history(replica.key)
        history.acked_by_one.append((offset, record))
        if history.leader_epoch > replica.epoch:
            self.world.counts["stale writes"] += 1

    def serves(self, broker: Broker, replica: Replica, offset: int, records: tuple[Record, ...]) -> None:
        """A consumer is answered."""
        history = self.history(replica.key)
        if history.leader_epoch > replica.epoch:
            self.world.counts["stale reads"] += 1
        self._check_lease(broker, replica, history, "a read")
        if history.is_excused:
            return
        for at, record in enumerate(records, offset):
            if history.read.setdefault(at, record) != record:
                self.world.fail("D2 ReadsDoNotChange", f"{replica.key}: {record} is read at {at}, where {history.read[at]} was")
                return

    def advanced(self, broker: Broker, replica: Replica) -> None:
        self.world.counts["high watermarks moved"] += 1

    def _check_lease(self, broker: Broker, replica: Replica, history: History, what: str) -> None:
        """L1: while a broker serves on its lease, nobody has taken its leadership away for its silence."""
        if self.world.options.lease_ms and replica.epoch in history.silenced:
            self.world.fail("L1 LeaseEndsBeforeFencing", f"{replica.key}: {what} at broker {broker.id} in epoch {replica.epoch}")

    # At the end

    def at_rest(self) -> None:
        """Nothing fails any more, and time has passed: everybody is back, and everything that was promised is there."""
        image = self.cluster.quorum.image
        for id in self.cluster.brokers:
            broker = image.cluster.brokers.get(id)
            if broker is None or broker.fenced or broker.in_controlled_shutdown:
                self.world.fail("V1 EverybodyComesBack", f"broker {id} is {broker}")
        for key in self.cluster.keys:
            partition = image.topics.by_name[key[0]].partitions[key[1]]
            history = self.history(key)
            if partition.leader == NOBODY:
                if not history.is_excused:
                    self.world.fail("V2 EverythingIsLed", f"{key}: nobody leads {short(partition)}")
                continue
            if set(partition.isr) != set(partition.replicas):
                self.world.fail("V3 EverybodyCatchesUp", f"{key}: {short(partition)}")
            log = self.cluster.brokers[partition.leader].replicas[key].log
            for offset, record in history.acked.items():
                if offset >= len(log) or log[offset] != record:
                    self.world.counts["acks=all writes that were lost"] += 1
                    if history.is_excused:
                        continue
                    self.world.fail("D1 AcknowledgedSurvives", f"{key}: {record} is gone from {offset}")
            lost = sum(offset >= len(log) or log[offset] != record for offset, record in history.acked_by_one)
            self.world.counts["acks=1 writes that were lost"] += lost


def short(partition: PartitionRegistration) -> str:
    """A partition without its directories, which all look alike."""
    return str(partition._replace(directories=()))
