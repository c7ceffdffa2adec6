"""Finds the single brokers, racks and controllers that a cluster cannot lose, and renders them as text and rows.

Why not one rehearsal for each loss? That takes minutes for a large cluster; this is one pass over its partitions. A partition that keeps
enough replicas in sync without a broker is skipped. Every other one goes through the controller's own procedure for a partition
(`quorum/controller/partition_change.py`), once for each lost broker, in the order of their ids. So the answers are those of
rehearsals of `kill-broker` and `lose-rack`, which the tests compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from metashell.common.forms import aligned, counted
from metashell.common.values import UNASSIGNED_DIRECTORY
from metashell.metadata.checks import Health
from metashell.metadata.checks.partitions import PartitionJudge, is_leaderless, is_online, is_under_min_isr
from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from metashell.metadata.image.partitions import fold_changes
from metashell.quorum.controller.config_checks import PartitionRules
from metashell.quorum.controller.decision import elr_enabled, metadata_level_of
from metashell.quorum.controller.partition_change import Election, PartitionChange, without
from metashell.quorum.controller.settings import Settings
from metashell.rehearse.quorum import dead_voters, known_voters
from metashell.rehearse.render_text import BROKERS_MAX, numbers_text
from metashell.rehearse.steps import Assumptions, static_min_isr

EXAMPLES_MAX: Final = 3
BROKER: Final = "broker"
RACK: Final = "rack"
CONTROLLER: Final = "controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The damage if one thing is lost, beyond the faults that the cluster has already.

    Shape: `kind` is broker, rack or controller. `offline`, `unclean` and `under_min_isr` count partitions that are fine now and then have
    no leader; or a leader that was not in sync, so that records are lost; or too few replicas in sync for acks=all. Each partition counts
    once, for the worst of these. `leaders` counts partitions that change their leader; `examples` names a few, the worst first. `brokers`
    and `voters` are lost; `keeps_quorum` says whether a majority of voters is left, None if no voter is lost or none are known.
    """

    kind: str
    name: str
    brokers: tuple[int, ...] = ()
    voters: tuple[int, ...] = ()
    offline: int = 0
    unclean: int = 0
    under_min_isr: int = 0
    leaders: int = 0
    examples: tuple[str, ...] = ()
    keeps_quorum: bool | None = None

    @property
    def can_be_lost(self) -> bool:
        """Return whether all online partitions stay online, and no committed record is lost."""
        return not self.offline and not self.unclean and self.keeps_quorum is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleFailures:
    """The present state of the cluster, and the damage of each loss.

    Shape: `losses` are ordered by kind and name; `quorum` has the ids of the voters, empty if the image names none. `faults` counts
    records that could not be applied, so that the image differs from the cluster.
    """

    faults: int
    partitions: int
    offline: int
    under_min_isr: int
    dead_brokers: tuple[int, ...]
    quorum: tuple[int, ...]
    brokers_without_rack: tuple[int, ...]
    losses: tuple[Loss, ...] = field(default=())

    @property
    def fatal(self) -> tuple[Loss, ...]:
        """The things that this cluster cannot lose."""
        return tuple(loss for loss in self.losses if not loss.can_be_lost)


class _Group(NamedTuple):
    kind: str
    name: str
    brokers: frozenset[int]


class _Tally:
    """The counts of one loss during the pass over the partitions."""

    __slots__ = ("examples", "leaders", "offline", "unclean", "under_min_isr")

    def __init__(self) -> None:
        self.offline = self.unclean = self.under_min_isr = self.leaders = 0
        self.examples: tuple[list[str], ...] = ([], [], [])

    def keep(self, gravity: int, topic: TopicImage, partition_id: int) -> None:
        if len(self.examples[gravity]) < EXAMPLES_MAX:
            self.examples[gravity].append(f"{topic.name}-{partition_id}")


class _Survey:
    """One pass over the partitions of an image."""

    def __init__(self, image: MetadataImage, assumptions: Assumptions) -> None:
        self.image = image
        self.health = Health(image, static_min_isr=static_min_isr(assumptions))
        self.brokers = image.cluster.brokers
        self.active = frozenset(id for id, broker in self.brokers.items() if not broker.fenced and not broker.in_controlled_shutdown)
        self.rules = PartitionRules(Settings(dict(assumptions.settings), "", -1), image.configs)
        self.level = metadata_level_of(image)
        self.elr_enabled = elr_enabled(image)
        self.groups = _groups(image, self.active)
        self.groups_of: dict[int, list[int]] = {}
        for number, group in enumerate(self.groups):
            for id in group.brokers:
                self.groups_of.setdefault(id, []).append(number)
        self.tallies = [_Tally() for _ in self.groups]
        self._capped: int | None = None

    def count_partitions(self) -> None:
        # Sorted by name, so that examples do not depend on hashes.
        for topic in sorted(self.image.topics, key=lambda topic: topic.name):
            judge = self.health.judge_of(topic)
            self._capped = None
            for partition_id, partition in topic.partitions.pairs():
                # A partition that is offline now cannot be lost.
                if partition.leader in judge.active:
                    self._note(topic, partition_id, partition, judge)

    def _note(self, topic: TopicImage, partition_id: int, partition: PartitionRegistration, judge: PartitionJudge) -> None:
        replicas, min_isr = partition.replicas, judge.min_isr(partition.leader)
        touched: dict[int, int] = {}
        for id in partition.isr:
            for number in self.groups_of.get(id, ()):
                touched[number] = touched.get(number, 0) + 1
        for number, count in touched.items():
            tally = self.tallies[number]
            lost = self.groups[number].brokers
            left = partition.isr[count:]
            if left and not is_under_min_isr(left, replicas, min_isr) and self.active.issuperset(partition.isr):
                tally.leaders += partition.leader in lost
                continue
            after, is_unclean = self._after(topic, partition_id, partition, sorted(lost))
            if is_leaderless(after):
                tally.offline += 1
                tally.keep(0, topic, partition_id)
                continue
            tally.leaders += after.leader != partition.leader
            if is_unclean:
                tally.unclean += 1
                tally.keep(1, topic, partition_id)
            elif is_under_min_isr(after.isr, replicas, judge.min_isr(after.leader)) and not is_under_min_isr(
                partition.isr, replicas, min_isr
            ):
                tally.under_min_isr += 1
                tally.keep(2, topic, partition_id)

    def _after(
        self, topic: TopicImage, partition_id: int, partition: PartitionRegistration, lost: Iterable[int]
    ) -> tuple[PartitionRegistration, bool]:
        """The partition after the controller has fenced each broker in turn, and whether a leader may have lacked records."""
        gone: set[int] = set()
        is_unclean = False
        for id in lost:
            gone.add(id)
            if id not in partition.isr:
                continue
            change = PartitionChange(
                partition,
                topic.id,
                partition_id,
                is_acceptable=lambda replica, partition=partition: self._may_lead(replica, gone, partition),  # type: ignore[misc]
                level=self.level,
                min_isr=self._cap(topic),
                elr_enabled=self.elr_enabled,
                default_directory=lambda _: UNASSIGNED_DIRECTORY,
            )
            change.isr = without(partition.isr, id)
            if self.rules.allows_unclean(topic.name):
                change.election = Election.UNCLEAN
            record = change.record()
            if record is not None:
                is_unclean |= record.leader >= 0 and record.leader not in (*partition.isr, *partition.elr)
                partition = fold_changes(partition, [record])
        return partition, is_unclean

    def _cap(self, topic: TopicImage) -> int:
        """min.insync.replicas as the controller applies it: at most the number of replicas of the topic's first partition."""
        if self._capped is None:
            min_isr = self._capped = self.rules.min_isr(topic.name)
            if min_isr > 1 and 0 in (*topic.overlay, *(index := topic.scan())):
                self._capped = min(min_isr, len(topic.read(0, index).replicas))
        return self._capped

    def _may_lead(self, id: int, gone: Collection[int], partition: PartitionRegistration) -> bool:
        if id in gone or id not in self.active or id not in partition.replicas:
            return False
        return is_online(partition.directories[partition.replicas.index(id)], self.brokers[id])


def _groups(image: MetadataImage, active: Collection[int]) -> list[_Group]:
    """The possible losses: each active broker, and each rack that has one."""
    found = [_Group(BROKER, str(id), frozenset((id,))) for id in sorted(active)]
    racks: dict[str, set[int]] = {}
    for broker in image.cluster.brokers.values():
        if broker.rack is not None and broker.id in active:
            racks.setdefault(broker.rack, set()).add(broker.id)
    return found + [_Group(RACK, rack, frozenset(ids)) for rack, ids in sorted(racks.items())]


def find_single_failures(image: MetadataImage, assumptions: Assumptions | None = None) -> SingleFailures:
    """Find the damage of each single loss."""
    assumptions = assumptions or Assumptions()
    survey = _Survey(image, assumptions)
    survey.count_partitions()
    brokers, counts = image.cluster.brokers, survey.health.counts()
    quorum = tuple(sorted(known_voters(image) or assumptions.voters))
    dead = dead_voters(image, quorum)
    losses = [_loss(group, tally, quorum, dead) for group, tally in zip(survey.groups, survey.tallies, strict=True)]
    losses += [Loss(kind=CONTROLLER, name=str(id), voters=(id,), keeps_quorum=_keeps_quorum(quorum, dead, (id,))) for id in quorum]
    return SingleFailures(
        faults=len(image.faults),
        partitions=counts["partitions"],
        offline=counts["leaderless"] + counts["offline"],
        under_min_isr=counts["under_min_isr"],
        dead_brokers=tuple(sorted(id for id in brokers if id not in survey.active)),
        quorum=quorum,
        brokers_without_rack=tuple(sorted(id for id, broker in brokers.items() if broker.rack is None)),
        losses=tuple(losses),
    )


def _keeps_quorum(quorum: Sequence[int], dead: Collection[int], lost: Collection[int]) -> bool | None:
    """Return whether a majority is left; None if no living voter is lost."""
    living = [id for id in quorum if id not in dead]
    left = sum(id not in lost for id in living)
    return None if left == len(living) else left > len(quorum) // 2


def _loss(group: _Group, tally: _Tally, quorum: Sequence[int], dead: Collection[int]) -> Loss:
    return Loss(
        kind=group.kind,
        name=group.name,
        brokers=tuple(sorted(group.brokers)),
        voters=tuple(id for id in quorum if id in group.brokers),
        offline=tally.offline,
        unclean=tally.unclean,
        under_min_isr=tally.under_min_isr,
        leaders=tally.leaders,
        examples=tuple(name for names in tally.examples for name in names)[:EXAMPLES_MAX],
        keeps_quorum=_keeps_quorum(quorum, dead, group.brokers),
    )


_KINDS = (BROKER, RACK, CONTROLLER)


def single_failures_line(standing: SingleFailures) -> str:
    """The verdict in one line."""
    grave = []
    if standing.offline:
        grave.append(f"{counted(standing.offline, 'partition is', 'partitions are')} offline now")
    if not _has_brokers(standing):
        grave.append("no broker is alive in this image")
    if standing.fatal:
        grave.append(f"this cluster cannot lose {_named(standing.fatal)}")
    if standing.faults:
        grave.append(f"{counted(standing.faults, 'record')} of the metadata could not be applied, so this is not what the cluster has")
    if grave:
        return f"NOT SAFE: {'; '.join(grave)}"
    refused = [loss for loss in standing.losses if loss.under_min_isr]
    end = f"; without {_named(refused)} some partitions refuse writes with acks=all" if refused else ""
    return f"SAFE: any single {_any_of(standing)} can be lost{end}"


def single_failures_status(standing: SingleFailures) -> int:
    """The exit status: 0 if everything is online and stays so whatever single thing is lost."""
    return int(bool(standing.fatal or standing.offline or standing.faults or not _has_brokers(standing)))


def _has_brokers(standing: SingleFailures) -> bool:
    return any(loss.kind == BROKER for loss in standing.losses)


def _named(losses: Sequence[Loss]) -> str:
    """`brokers 1-3, rack a and controller 7`."""
    parts = []
    for kind in _KINDS:
        names = [loss.name for loss in losses if loss.kind == kind]
        if names:
            shown = ", ".join(names) if kind == RACK else numbers_text(map(int, names)).replace(",", ", ")
            parts.append(f"{kind}{'s' if len(names) > 1 else ''} {shown}")
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + f" and {parts[-1]}"


def _any_of(standing: SingleFailures) -> str:
    kinds = [kind for kind in _KINDS if any(loss.kind == kind for loss in standing.losses)]
    return kinds[0] if len(kinds) == 1 else ", ".join(kinds[:-1]) + f" or {kinds[-1]}"


def single_failures_lines(standing: SingleFailures, label: str) -> Iterator[str]:
    """The whole answer as lines; `label` is the source of the image."""
    yield single_failures_line(standing)
    head = ["WITHOUT", "OFFLINE", "UNCLEAN", "UNDER MIN ISR", "NEW LEADERS", "QUORUM", "SUCH AS"]
    shown = _shown(standing.losses)
    if shown:
        yield ""
        yield from aligned([head, *map(_cells, shown)], right=(1, 2, 3, 4))
    if len(shown) < len(standing.losses):
        yield f"{counted(len(standing.losses) - len(shown), 'broker')} more, of which less is lost: -o table has all"
    yield ""
    yield from now_lines(standing)
    yield label


def _shown(losses: Sequence[Loss]) -> list[Loss]:
    """All losses; of many brokers only the worst."""
    brokers = [loss for loss in losses if loss.kind == BROKER]
    costly = sorted(brokers, key=lambda loss: (-loss.offline, -loss.unclean, loss.keeps_quorum is not False, -loss.under_min_isr))
    left_out = {loss.name for loss in costly[BROKERS_MAX:]}
    return [loss for loss in losses if loss.kind != BROKER or loss.name not in left_out]


def _cells(loss: Loss) -> list[str]:
    return [
        f"{loss.kind} {loss.name}",
        *(_count(loss, count) for count in (loss.offline, loss.unclean, loss.under_min_isr, loss.leaders)),
        "-" if loss.keeps_quorum is None else "kept" if loss.keeps_quorum else "LOST",
        loss.examples[0] if loss.examples else "",
    ]


def _count(loss: Loss, count: int) -> str:
    return "-" if loss.kind == CONTROLLER else str(count)


def now_lines(standing: SingleFailures) -> Iterator[str]:
    """The present state of the cluster."""
    parts = [counted(standing.partitions, "partition")]
    parts.append(f"{standing.offline} offline" if standing.offline else "none offline")
    parts.append(f"{standing.under_min_isr} under min ISR" if standing.under_min_isr else "none under min ISR")
    if standing.dead_brokers:
        parts.append(f"fenced or leaving: {_numbered('broker', standing.dead_brokers)}")
    yield f"now: {', '.join(parts)}"
    if not standing.quorum:
        yield "the metadata names no voters: whether a controller can be lost is not known (--assume voters=1,2,3)"
    else:
        yield f"taken to be alive, for no metadata says so: {_numbered('controller', standing.quorum)}"
    if standing.brokers_without_rack:
        yield f"in no rack: {_numbered('broker', standing.brokers_without_rack)}"


def _numbered(noun: str, ids: Sequence[int]) -> str:
    return f"{noun}{'s' if len(ids) > 1 else ''} {numbers_text(ids).replace(',', ', ')}"


def single_failures_value(standing: SingleFailures) -> dict[str, Any]:
    """The whole answer as one JSON object."""
    return {
        "type": "standing",
        "status": single_failures_status(standing),
        "safe": single_failures_status(standing) == 0,
        "verdict": single_failures_line(standing),
        "faults": standing.faults,
        "partitions": standing.partitions,
        "offline": standing.offline,
        "under_min_isr": standing.under_min_isr,
        "dead_brokers": list(standing.dead_brokers),
        "brokers_without_rack": list(standing.brokers_without_rack),
        "voters": list(standing.quorum),
        "losses": [loss_row(loss) for loss in standing.losses],
    }


def loss_row(loss: Loss) -> dict[str, Any]:
    """One loss as a JSON object."""
    return {
        "type": "loss",
        "kind": loss.kind,
        "name": loss.name,
        "can_be_lost": loss.can_be_lost,
        "offline": loss.offline,
        "unclean": loss.unclean,
        "under_min_isr": loss.under_min_isr,
        "new_leaders": loss.leaders,
        "keeps_quorum": loss.keeps_quorum,
        "brokers": list(loss.brokers),
        "voters": list(loss.voters),
        "examples": list(loss.examples),
    }
