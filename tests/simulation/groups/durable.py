"""A group coordinator whose process dies at any step on its disk: what it acknowledged is there in its next life, and nothing is half.

Clients commit, join, leave and run transactions over several groups; the log of groups is the real one, on a disk that notes every step
(`tests.recording_files`), with small segments that are cleaned all the time. After a step that chance picks the machine stops, what may be
left of its disk is drawn, and the log is opened again. Each partition must hold what some number of its batches come to, at least all
those that were acknowledged. A transaction counts in all of its groups or in none.

Rules: G1 AcknowledgedSurvives, G2 NothingHalf, G3 TransactionsAreWhole, G4 SizeFollowsState.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final

from metashell.codec import messages
from metashell.codec.codes import CONSUMER_GROUP_HEARTBEAT
from metashell.common.errors import LogCorruptError
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard, Written
from metashell.groups.coordinator.replay import make_state, replay
from metashell.groups.decision import Place
from metashell.groups.log.group_log import GroupFlush, GroupLog, group_of
from metashell.groups.state import Settings, State
from metashell.groups.topics import KnownTopics, Topic
from tests.groups.coordinator.offset_requests import begin, commit, commit_in_transaction, delete_group, delete_offset, end
from tests.groups.driven import Driven
from tests.recording_files import ModelledDisk, RecordingDisk, write_tree
from tests.simulation.disk_log import scratch_folder
from tests.simulation.groups.durable_bugs import BUGS
from tests.simulation.harness import Simulation
from tests.simulation.plan import Plan
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.trace import Trace

TOPIC_ID: Final = b"t" * 16
PARTITIONS: Final = 3
CLEAN_MIN: Final = 1_500
GROUPS: Final = ("a", "b", "c", "d")
MODERN: Final = ("m", "n")
TXN: Final = "t2"
TOPICS: Final = KnownTopics([Topic(b"1" * 16, "t1", ((),) * 3), Topic(b"2" * 16, TXN, ((),) * 2_000)], 1)


class Crashed(Exception):
    """The machine has stopped."""


@dataclass(slots=True, kw_only=True)
class Options(Plan):
    """Shape: `crash_every` is the mean number of steps on the disk between two crashes, 0 for none; the rest are parts of all acts."""

    crash_every: int = 0
    clean_part: float = 0.15
    flush_part: float = 0.3
    retention_ms: int = 86_400_000


def draw(seed: int, profile: str | None) -> Options:
    random = Random(seed)
    return Options(
        seed,
        crash_every=int(20 * 20 ** random.random()),
        clean_part=0.3 * random.random(),
        flush_part=0.1 + 0.5 * random.random(),
        retention_ms=random.choice((0, 2_000, 86_400_000)),
    )


class StoppingDisk(RecordingDisk):
    """The recorded disk; `left` steps from now the machine stops."""

    left = -1

    def _note(self, name: str, path: str, other: Any = None) -> None:
        super()._note(name, path, other)
        if self.left >= 0:
            self.left -= 1
            if self.left < 0:
                raise Crashed


@dataclass(slots=True)
class Transaction:
    """`groups` have its offset at `key`; `told` is what its client asked for, `is_sure` whether it was acknowledged."""

    key: tuple[str, int]
    groups: tuple[str, ...]
    told: bool | None = None
    is_sure: bool = False
    is_begun: bool = False
    """Whether its client has the answers to its commits: before that, it does not end it."""


class Life(Driven):
    """A process: a coordinator and its log."""

    def __init__(self, world: Durable, log: GroupLog) -> None:
        self.world, self.log = world, log
        self.settings, self.topics, self.chance = Settings(initial_rebalance_delay_ms=0), TOPICS, world.producers
        self.now_ms, self.answers, self.tickets = world.now, {}, 0
        self.shard = Shard(GroupCoordinator(self.settings, self.chance, TOPICS, log.state), now_ms=self.now_ms, append=self._append)  # type: ignore[assignment]

    def _append(self, batch: Written) -> list[Written]:
        ends = {partition: log.end_offset for partition, log in self.log._logs.items()}
        try:
            parts = self.log.append(batch)
        except Crashed:
            # Any of its parts may be on disk by now.
            for partition in range(PARTITIONS):
                records = tuple(record for record in batch.records if self.log.partition_of(group_of(record)) == partition)
                if records:
                    part = batch._replace(records=records, partition=partition, base_offset=ends.get(partition, 0))
                    self.world.written[partition].append(part)
            raise
        for part in parts:
            self.world.written[part.partition].append(part)
        return parts


class Durable:
    """The world. `written` are the batches of each partition since the first life, `acknowledged` how many of them are."""

    def __init__(self, options: Options, trace: Trace | None = None) -> None:
        self.options, self.trace = options, trace
        self.random = Random(options.seed)
        self.producers: Any = Driven().chance
        self.now, self.events = 1_000_000, 0
        self.until_ms, self.stop = 1 << 62, lambda *about: None
        self.counts: Counter[str] = Counter()
        self.written: dict[int, list[Written]] = {partition: [] for partition in range(PARTITIONS)}
        self.acknowledged = dict.fromkeys(range(PARTITIONS), 0)
        self.transactions: list[Transaction] = []
        self.running: tuple[Transaction, tuple[int, int]] | None = None
        self.held: list[Callable[[], None]] = []
        self.flight: tuple[GroupFlush, dict[int, int], list[Callable[[], None]]] | None = None
        self.members: dict[tuple[str, str], int] = {}
        self.folder = scratch_folder()
        self.lives = 0
        self.log: GroupLog | None = None
        self.life: Life | None = None

    def push(self, until_ms: int, stop: Callable[..., None], first: object, second: object) -> None:
        """Call `stop` at the first act after that time."""
        self.until_ms, self.stop = until_ms, stop

    def close(self) -> None:
        self._drop_log()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- lives

    def start(self, tree: dict[str, bytes | None]) -> None:
        """Begin a life on what is left; its recovery may be interrupted too."""
        self.lives += 1
        place = self.folder / str(self.lives)
        place.mkdir()
        write_tree(tree, place)
        self.disk = StoppingDisk(place)
        self.model = ModelledDisk(place)
        self._light_fuse()
        try:
            self.log = GroupLog.open(str(place), TOPIC_ID, PARTITIONS, self.disk, **self._sizes())
        except LogCorruptError as error:
            raise Violation("G1 AcknowledgedSurvives", f"refuses what a crash has left: {error}") from None
        self.life = Life(self, self.log)

    def _sizes(self) -> dict[str, int]:
        sizes = {"segment_size": 3_000, "index_size": 240, "clean_size_min": CLEAN_MIN}
        return {**sizes, "delete_retention_ms": self.options.retention_ms}

    def _light_fuse(self) -> None:
        every = self.options.crash_every
        self.disk.left = -1 if not every else int(self.random.expovariate(1 / every))

    def crash(self) -> None:
        """Take what may be left, and open it, until an opening is not interrupted."""
        while True:
            self.counts["crashes"] += 1
            self.disk.left = -1
            for step in self.disk.steps:
                self.model.follow(step)
            states = list(self.model.samples(self.random, 2))
            tree = self.random.choice(states)
            if self.trace is not None:
                self.trace.note(self, f"crash: {sorted(tree)}")  # type: ignore[arg-type]
            self._drop_log()
            try:
                self.start(tree)
                break
            except Crashed:
                self.counts["interrupted openings"] += 1
        self._check()
        self.held.clear()
        self.flight = self.running = None
        self.members.clear()

    def _drop_log(self) -> None:
        """Give the descriptors back of a process that died."""
        self.log = None
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}").startswith(f"{self.folder}/"):
                    os.close(int(name))

    # ---- what was written, and what must be there

    def _check(self) -> None:
        log = self.log
        assert log is not None
        for partition, batches in self.written.items():
            content = contents(log.state, lambda group, here=partition: log.partition_of(group) == here)
            low = self.acknowledged[partition]
            fits = [count for count in range(len(batches), -1, -1) if contents(replayed(batches[:count])) == content]
            if not fits:
                raise Violation("G2 NothingHalf", f"partition {partition} holds {content}, which no number of its batches comes to")
            if fits[0] < low:
                raise Violation("G1 AcknowledgedSurvives", f"partition {partition} has {fits[0]} of {low} acknowledged batches")
            del batches[fits[0] :]
            self.acknowledged[partition] = fits[0]
        for transaction in self.transactions:
            self._check_transaction(log, transaction)
        self.transactions = [one for one in self.transactions if one.told]

    def _check_transaction(self, log: GroupLog, one: Transaction) -> None:
        have = [group for group in one.groups if one.key in log.state.offsets.get(group, {})]
        if have and len(have) < len(one.groups):
            raise Violation("G3 TransactionsAreWhole", f"{one.key} of {one.groups} is committed in {have} only")
        if one.is_sure and bool(have) != one.told:
            raise Violation("G1 AcknowledgedSurvives", f"the end of the transaction of {one.key} was acknowledged as {one.told}")
        if have and not one.told:
            raise Violation("G3 TransactionsAreWhole", f"{one.key} is committed, and nobody asked for that")
        one.told, one.is_sure = bool(have), True

    # ---- what happens

    def act(self) -> None:
        """One act of a client, the clock or the driver."""
        self.events += 1
        if self.now > self.until_ms:
            self.stop(self, None, None)
        options, random, life = self.options, self.random, self.life
        assert life is not None
        draw = random.random()
        self.now += int(200 * random.random())
        life.wait(self.now - life.now_ms)
        if draw < options.clean_part:
            self._clean()
        elif draw < options.clean_part + options.flush_part:
            self._flush()
        elif draw < 0.985:
            self._client(life)
            self._settle()
        else:
            self._close()

    def _client(self, life: Life) -> None:
        random, draw = self.random, self.random.random()
        group = random.choice(GROUPS)
        if draw < 0.45:
            commit(life, group, {("t1", random.randrange(3)): random.randrange(1_000)})
            self.counts["commits"] += 1
        elif draw < 0.53:
            delete_offset(life, group, ("t1", random.randrange(3)))
        elif draw < 0.57:
            delete_group(life, group)
        elif draw < 0.75:
            self._heartbeat(life)
        else:
            self._transact(life)

    def _heartbeat(self, life: Life) -> None:
        key = self.random.choice(MODERN), self.random.choice("xyz")
        epoch = self.members.get(key, 0)
        if epoch and self.random.random() < 0.2:
            epoch = -1
        body = messages.ConsumerGroupHeartbeatRequest(
            group_id=key[0],
            member_id=key[1],
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if epoch == 0 else -1,
            subscribed_topic_names=("t1",) if epoch == 0 else None,
            topic_partitions=() if epoch == 0 else None,
        )
        answer = life.answers[life.ask(CONSUMER_GROUP_HEARTBEAT, 1, body)]
        self.members[key] = max(answer.member_epoch, 0) if answer.error_code == 0 else 0

    def _transact(self, life: Life) -> None:
        if self.running is None:
            groups = tuple(self.random.sample(GROUPS, 2))
            one = Transaction((TXN, len(self.transactions) + self.events), tuple(f"x{group}" for group in groups))
            producer = begin(life, f"tx-{self.random.randrange(3)}-{self.lives}")
            self.transactions.append(one)
            self.running = one, producer
            name = self._name_of(life, producer)
            for group in one.groups:
                commit_in_transaction(life, name, producer, group, {one.key: 1})

            def begun() -> None:
                one.is_begun = True

            self.held.append(begun)
            return
        one, producer = self.running
        if not one.is_begun:
            return
        self.running = None
        one.told = self.random.random() < 0.7
        end(life, self._name_of(life, producer), producer, one.told)
        self.counts["transactions"] += 1

        def acknowledged() -> None:
            one.is_sure = True

        self.held.append(acknowledged)

    def _name_of(self, life: Life, producer: tuple[int, int]) -> str:
        known = life.shard.coordinator.context.transactions.by_id
        return next(name for name, one in known.items() if one.producer_id == producer[0])

    # ---- the driver, as groups.server.machine does it

    def _settle(self) -> None:
        """Answers leave at once where all is durable."""
        assert self.log is not None
        if self.log.is_flushed and self.flight is None:
            self._acknowledge({partition: len(batches) for partition, batches in self.written.items()}, self.held)
            self.held = []

    def _acknowledge(self, counts: dict[int, int], answers: list[Callable[[], None]]) -> None:
        self.acknowledged.update(counts)
        for answered in answers:
            answered()

    def _flush(self) -> None:
        log = self.log
        assert log is not None
        if self.flight is None:
            counts = {partition: len(batches) for partition, batches in self.written.items()}
            self.flight, self.held = (log.begin_flush(), counts, self.held), []
            return
        flush, counts, answers = self.flight
        flush.sync()
        log.finish_flush(flush)
        self.flight = None
        self._acknowledge(counts, answers)

    def _clean(self) -> None:
        assert self.log is not None
        found = self.log.take_cleaning(self.now)
        if found is None:
            return
        log, cleaning = found
        cleaning.carry_out()
        log.finish_cleaning(cleaning)
        self.counts["cleanings"] += 1
        left = sum(segment.size for segment in cleaning.made)
        if self.options.retention_ms == 0 and left > 12_000:
            raise Violation("G4 SizeFollowsState", f"{left} bytes are left of a cleaning")

    def _close(self) -> None:
        """The process ends and another begins."""
        if self.flight is not None:
            self._flush()
        assert self.log is not None
        self.log.close()
        self._acknowledge({partition: len(batches) for partition, batches in self.written.items()}, self.held)
        self.held = []
        self.counts["restarts"] += 1
        self.disk.left = -1
        self.crash()


def replayed(batches: list[Written]) -> State:
    """What batches come to, but for the ends of transactions."""
    state = make_state()
    for batch in batches:
        producer_id = -1 if batch.producer is None else batch.producer.id
        for offset, record in enumerate(batch.records, batch.base_offset):
            replay(state, record, Place(offset, batch.timestamp_ms, producer_id))
    return state


def contents(state: State, is_here: Callable[[str], bool] = lambda group: True) -> dict[str, Any]:
    """What a state says of groups, for comparison: offsets but those of transactions, epochs, members and what they have."""
    found: dict[str, Any] = {}
    for group_id, group in state.groups.items():
        if is_here(group_id) and not group_id.startswith("x"):
            members = getattr(group, "members", {})
            shown = {id: str(member) for id, member in sorted(members.items())} if group.type == "consumer" else len(members)
            targets = sorted(map(str, getattr(group, "targets", {}).items()))
            found[group_id] = group.type, getattr(group, "epoch", 0), getattr(group, "assignment_epoch", 0), shown, targets
    for group_id, offsets in state.offsets.items():
        if offsets and is_here(group_id) and not group_id.startswith("x"):
            found[f"{group_id} offsets"] = sorted((key, one.offset, one.record_offset) for key, one in offsets.items())
    return found


def build(options: Options, trace: Trace | None = None) -> Durable:
    return Durable(options, trace)


def play(world: Durable, events: int) -> None:
    """Act until there were enough events, with a crash wherever one is drawn, and one at the end."""
    with suppress(Crashed):
        world.start({})
    if world.life is None:
        world.crash()
    while world.events < events:
        try:
            world.act()
        except Crashed:
            world.crash()
    world.crash()


GROUP_LOGS: Final = Simulation("groups", draw, build, play, 250, BUGS)
