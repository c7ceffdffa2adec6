"""Facts of a live cluster as its brokers report them: partitions as an image, the quorum, and the log directories of the brokers.

Brokers know the partitions, each other and the finalized features; `Facts.told` names the checks for which that is enough. A value that
brokers do not know is left unknown: replicas, for example, have no directory that a check could judge.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

from immutables import Map

from metashell.cli.admin.cluster import describe_cluster, describe_log_dirs, describe_quorum_answer
from metashell.cli.admin.configs import Resource, describe_configs
from metashell.cli.admin.protocol import AdminError
from metashell.cli.admin.reassign import list_reassignments
from metashell.cli.admin.topics import PARTITIONS_MAX, describe_topics, list_topics, long_transactions, unseen_topics
from metashell.cli.connection import open_admin
from metashell.codec.codes import DESCRIBE_CLUSTER, TOPIC_RESOURCE
from metashell.codec.releases import KRAFT_VERSION, METADATA_VERSION
from metashell.common.errors import MetashellError
from metashell.common.values import MIGRATING_DIRECTORY, ZERO_UUID
from metashell.metadata.checks import Facts, Health
from metashell.metadata.checks.facts import OPEN_MAX_MS, BrokerAnswers, BrokerDirectory, HangingTransaction, Probe, QuorumAnswers
from metashell.metadata.checks.partitions import MIN_ISR
from metashell.metadata.checks.rules.live_quorum import is_settled, looked_twice
from metashell.metadata.image import EMPTY_IMAGE, TopicImage
from metashell.metadata.image.cluster import BrokerRegistration, ClusterImage, FeaturesImage, Listener
from metashell.metadata.image.partitions import PartitionRegistration
from metashell.metadata.image.provenance import Voter, VoterEndpoint, VoterSet
from metashell.metadata.image.topics import TopicsImage
from metashell.net.addresses import ConnectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import SimpleNamespace

    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.cluster import LogDirectory
    from metashell.cli.admin.protocol import AdminError, Node
    from metashell.cli.admin.reassign import Moving, Place
    from metashell.cli.admin.topics import Partition, Topic
    from metashell.metadata.checks import Facts, Health
    from metashell.metadata.checks.facts import BrokerAnswers, BrokerDirectory, HangingTransaction, QuorumAnswers
    from metashell.metadata.image import MetadataImage, TopicImage
    from metashell.metadata.image.cluster import BrokerRegistration
    from metashell.metadata.image.provenance import VoterSet

TOLD: Final = frozenset(
    {
        "leaderless",
        "offline",
        "under_min_isr",
        "under_replicated",
        "stuck_reassignment",
        "at_min_isr",
        "elr",
        "not_preferred",
        "reassigning",
        "racks",
        "newer_level",
        "newer_record",
        "one_replica",
        "few_state_replicas",
        "one_rack",
        "no_rack",
        "local_listener",
        "even_quorum",
        "unusable_voter_address",
        "same_voter_address",
        "voter_without_listener",
    }
)
"""The checks of an image that are valid for one built from the answers of brokers; see `FENCED_TOO`."""
FENCED_TOO: Final = frozenset({"fenced", "vanished", "unregistered_replica"})
"""The checks that are also valid if the brokers name fenced brokers, as they do from Kafka 4.0 on."""
_CHUNK: Final = 1000
_LOOK_S: Final = 0.6
"""The pause between two looks at a quorum of which a voter may just have failed."""
QUICK_S: Final = 2
"""The timeout of requests that a broker forwards to a controller: a broker without controllers waits longer than a user would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersView:
    """The topics and brokers that brokers report. `told` has the checks for which that is enough, `holes` the parts that were refused.

    `errors` has the errors of topics.
    """

    health: Health
    nodes: tuple[Node, ...]
    told: frozenset[str]
    errors: list[AdminError]
    holes: tuple[str, ...] = ()


def of_brokers(named: SimpleNamespace, lag_after_ms: int) -> Facts:
    """Return all facts that brokers report. Errors: MetashellError if no broker answers."""
    with open_admin(named) as admin, open_admin(SimpleNamespace(**{**vars(named), "timeout": _quick_s(named)})) as quick:
        admin.nodes()
        quorum = ask_through_brokers(named, lag_after_ms)
        view = view_of(admin, quick, quorum)
        answers = answers_of(quick, view)
        cluster_id = admin.cluster_id
    return Facts(
        health=view.health,
        quorum=quorum,
        brokers=answers,
        told=view.told,
        holes=(*((quorum.trouble,) if quorum.trouble else ()), *map(str, view.errors), *view.holes),
        now_ms=-1 if quorum.now_ms is None else quorum.now_ms,
        label=named.bootstrap_server,
        cluster_id=cluster_id,
    )


def view_of(
    admin: Admin, quick: Admin, quorum: QuorumAnswers | None = None, *, names: Iterable[str] | None = None, whole: bool = False
) -> BrokersView:
    """Return all topics, or the named ones, and the brokers.

    `quick` is the client for requests that brokers forward to a controller. `whole`: also read min.insync.replicas of topics whose
    replicas are all in sync. Errors: MetashellError if no broker answers.
    """
    from metashell.cli.admin.session import FENCED_FROM

    names_fenced = admin.ranges().get(DESCRIBE_CLUSTER, (0, 0))[1] >= FENCED_FROM
    nodes = describe_cluster(admin, fenced=names_fenced).nodes
    topics, errors = list_topics(admin) if names is None else describe_topics(admin, sorted(set(names)))
    holes = unseen_topics(admin, {topic.name for topic in topics}) if names is None else []
    behind = [topic for topic in topics if any(len(one.isr) < len(one.replicas) or not one.has_leader for one in topic.partitions)]
    moves: Mapping[Place, Moving] = {}
    # If all replicas of every partition are in sync, no move is waiting for a copy.
    if behind and quorum is not None and quorum.leader_id is None and "AUTHORIZATION_FAILED" not in quorum.trouble:
        holes.append("reassignments: brokers ask a controller for them, and none answers")
    elif behind:
        try:
            moves = list_reassignments(quick)
        except MetashellError as error:
            holes.append(f"reassignments: {error}")
    if behind and names is None:
        # Only DescribeTopicPartitions returns the ELR, and it costs more than Metadata.
        better = {topic.name: topic for topic in describe_topics(admin, [topic.name for topic in behind])[0]}
        topics = [better.get(topic.name, topic) for topic in topics]
    min_isr, refused = min_isr_of(admin, [topic.name for topic in (topics if whole else behind)])
    holes += [f"min.insync.replicas: {words}" for words in refused]
    image = _image(admin, nodes, topics, moves, min_isr, names_fenced=names_fenced)
    if quorum is not None:
        image = image._replace(voters=_voter_set(quorum))
    voters = [] if quorum is None else [voter.id for voter in quorum.voters]
    told = TOLD | FENCED_TOO if names_fenced else TOLD
    return BrokersView(
        health=Health(image, voter_ids=lambda: voters), nodes=nodes, told=told, errors=errors, holes=tuple(dict.fromkeys(holes))
    )


def min_isr_of(admin: Admin, topics: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Return the min.insync.replicas in force for each topic that the cluster reports it for, and the errors of the other topics."""
    found: dict[str, int] = {}
    refused: dict[str, None] = {}
    resources = [Resource(TOPIC_RESOURCE, name) for name in topics]
    for start in range(0, len(resources), _CHUNK):
        for resource, settings in describe_configs(admin, resources[start : start + _CHUNK], (MIN_ISR,)).items():
            if isinstance(settings, MetashellError):
                refused[str(settings)] = None
            else:
                found.update((resource.name, int(one.value)) for one in settings if one.name == MIN_ISR and one.value is not None)
    return found, list(refused)


def ask_through_brokers(named: SimpleNamespace, lag_after_ms: int) -> QuorumAnswers:
    """Return the quorum as brokers report it, or the trouble if they cannot. If something looks wrong, it looks twice."""

    from metashell.quorum.observer.probes import described

    timed = SimpleNamespace(**{**vars(named), "timeout": _quick_s(named)})
    try:
        with open_admin(timed) as admin:
            answers = QuorumAnswers(**described(describe_quorum_answer(admin)))
            if not is_settled(answers):
                time.sleep(_LOOK_S)
                answers = looked_twice(answers, QuorumAnswers(**described(describe_quorum_answer(admin))))
            return replace(answers, lag_after_ms=lag_after_ms)
    except AdminError as error:
        return QuorumAnswers(trouble=f"the quorum: {error}", lag_after_ms=lag_after_ms)
    except ConnectError as error:
        # A broker without controllers waits for them. Whether the broker itself answers, the other requests find out.
        late = f"no controller has answered it within {timed.timeout} s"
        reasons = {str(address): late if "no answer within" in str(reason) else reason for address, reason in error.attempts}
        probes = tuple(Probe(address, "no_controller", f"broker: {reason}", source="typed") for address, reason in reasons.items())
        return QuorumAnswers(probes=probes, lag_after_ms=lag_after_ms)


def _quick_s(named: SimpleNamespace) -> int:
    return min(named.timeout or QUICK_S, QUICK_S)


# ---- the image


def _image(
    admin: Admin,
    nodes: Sequence[Node],
    topics: Sequence[Topic],
    moves: Mapping[Place, Moving],
    min_isr: Mapping[str, int],
    *,
    names_fenced: bool,
) -> MetadataImage:
    brokers = {node.id: _registration(node) for node in nodes}
    if not names_fenced:
        # A replica's broker that is not named is fenced or unregistered; these brokers do not say which.
        named = {id for topic in topics for partition in topic.partitions for id in partition.replicas}
        brokers |= {id: _registration_of(id, is_fenced=True) for id in named - brokers.keys()}
    images = [_topic(topic, moves) for topic in topics]
    levels = dict(admin.features().finalized)
    features = FeaturesImage(levels.pop(METADATA_VERSION, None), levels.pop(KRAFT_VERSION, 0), Map(levels))
    return EMPTY_IMAGE._replace(
        features=features,
        cluster=ClusterImage(Map(brokers)),
        topics=TopicsImage({topic.id: topic for topic in images}, {topic.name: topic for topic in images}),
        configs=Map({(TOPIC_RESOURCE, name): Map({MIN_ISR: str(value)}) for name, value in min_isr.items()}),
        provenance=EMPTY_IMAGE.provenance._replace(source_kind="brokers"),
    )


def _voter_set(quorum: QuorumAnswers) -> VoterSet | None:
    """Return the voters that the leader reports; None if they have no directory ids, because they are configured statically."""
    voters = []
    for one in quorum.voters:
        if one.directory_id is None:
            return None
        endpoints = tuple(VoterEndpoint(place.name, place.host, place.port) for place in one.endpoints)
        voters.append(Voter(one.id, one.directory_id, endpoints))
    return VoterSet(-1, tuple(voters)) if voters and all(voter.endpoints for voter in voters) else None


def _registration(node: Node) -> BrokerRegistration:
    listener = Listener("advertised", node.address.host, node.address.port, 0)
    return _registration_of(node.id, is_fenced=node.is_fenced)._replace(rack=node.rack, listeners=(listener,))


def _registration_of(id: int, *, is_fenced: bool) -> BrokerRegistration:
    return BrokerRegistration(id=id, epoch=-1, incarnation_id=ZERO_UUID, fenced=is_fenced)


def _topic(topic: Topic, moves: Mapping[Place, Moving]) -> TopicImage:
    def registration(partition: Partition) -> PartitionRegistration:
        move = moves.get((topic.name, partition.id))
        return PartitionRegistration(
            replicas=partition.replicas,
            # Kafka's value for a directory that is not known.
            directories=(MIGRATING_DIRECTORY,) * len(partition.replicas),
            isr=partition.isr,
            removing_replicas=() if move is None else move.removing,
            adding_replicas=() if move is None else move.adding,
            elr=partition.elr or (),
            last_known_elr=partition.last_known_elr or (),
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
        )

    return TopicImage(topic.name, topic.id, overlay=Map({one.id: (registration(one),) for one in topic.partitions}))


# ---- the answers of each broker


def answers_of(quick: Admin, view: BrokersView) -> tuple[BrokerAnswers, ...]:
    """Return the answers of each broker that is not fenced: whether it answers, its log directories, and its hanging transactions."""
    active = {node.id: node for node in view.nodes if not node.is_fenced}
    found = []
    transactions = _transactions(quick, view)
    for id, told in sorted(describe_log_dirs(quick, sorted(active)).items()):
        address, open_ones = str(active[id].address), transactions.get(id)
        if isinstance(told, AdminError):
            found.append(BrokerAnswers(id=id, probe=Probe(address, "forbidden", str(told), id=id), transactions=open_ones))
        elif isinstance(told, MetashellError):
            words = str(told).removeprefix(f"{address}: ")
            found.append(BrokerAnswers(id=id, probe=Probe(address, "silent", words, id=id)))
        else:
            directories = tuple(map(_directory, told))
            probe = Probe(address, "answers", id=id)
            found.append(BrokerAnswers(id=id, probe=probe, directories=directories, transactions=open_ones))
    return tuple(found)


def _transactions(quick: Admin, view: BrokersView) -> dict[int, tuple[HangingTransaction, ...]]:
    """Return the transactions that have been open for too long, by the leader of their partition; without leaders that do not answer."""
    image = view.health.image
    active = {node.id for node in view.nodes if not node.is_fenced}
    if image.topics.partition_count > PARTITIONS_MAX:
        return {}
    led: dict[int, dict[str, list[int]]] = {}
    for topic, id, partition in image.topics.iter_partitions():
        if partition.leader in active:
            led.setdefault(partition.leader, {}).setdefault(topic.name, []).append(id)
    told = long_transactions(quick, led, int(time.time() * 1000) - OPEN_MAX_MS)
    return {
        broker: tuple(
            HangingTransaction(
                one.topic,
                one.partition,
                one.producer_id,
                one.producer_epoch,
                one.started_ms,
                f"{one.transactional_id} is {one.state}" if one.state else "has no such transaction",
                one.start_offset,
            )
            for one in answer
        )
        for broker, answer in told.items()
        if not isinstance(answer, MetashellError)
    }


def _directory(told: LogDirectory) -> BrokerDirectory:
    return BrokerDirectory(
        told.path,
        "" if told.error is None else told.error.name,
        told.size,
        _known(told.total),
        _known(told.usable),
        told.is_cordoned,
    )


def _known(size: int) -> int | None:
    return None if size < 0 else size
