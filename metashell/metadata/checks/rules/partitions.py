"""Partitions: counts of the states of `metadata.checks.partitions`, settings that risk records, and hanging transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.common.values import moment_text, uuid_text
from metashell.metadata.checks.facts import IMAGE, OPEN_MAX_MS, TRANSACTIONS
from metashell.metadata.checks.model import BAD, UNUSUAL, Found, Many, check, evidence_of, settings_since
from metashell.metadata.checks.nodes import is_explained, stopped_brokers
from metashell.metadata.checks.partitions import RESOURCE_WORDS, is_online

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts
    from metashell.metadata.checks.health import Health
    from metashell.metadata.image import TopicImage


_GONE: Final = ("vanished", "fenced")
_AWAY: Final = (*_GONE, "offline_directory", "failed_directory")
_LOST: Final = (*_AWAY, "lost_records")
_SHOWN: Final = 5
_BY_STOPS: Final = frozenset(
    {"leaderless", "offline", "under_replicated", "under_min_isr", "at_min_isr", "elr", "stuck_reassignment", "not_preferred"}
)


def _partitions(facts: Facts, *, kind: str) -> Many:
    health = facts.health
    assert health is not None
    cause_of = _CAUSES.get(kind)
    stopped = stopped_brokers(facts) if kind in _BY_STOPS else frozenset()

    def partitions() -> Iterator[tuple[TopicImage, int]]:
        brokers = facts.image.cluster.brokers
        for topic, partition_id in health.partitions_of(kind):
            if not stopped or not is_explained(kind, topic.partitions[partition_id], stopped, brokers):
                yield topic, partition_id

    def names() -> Iterator[Found]:
        for topic, partition_id in partitions():
            cause, steps = ("", ()) if cause_of is None else cause_of(health, topic, partition_id)
            yield Found(health.partition_name(topic, partition_id), cause, (), steps, ("partition", topic.id, partition_id))

    return Many(sum(1 for _ in partitions()) if stopped else health.count_of(kind), names)


Cause = tuple[str, tuple[str, ...]]
"""The cause of one partition's state, and the steps to take."""


def _cause_of_racks(health: Health, topic: TopicImage, partition_id: int) -> Cause:
    racks, partition = health.racks_without(topic, partition_id), topic.partitions[partition_id]
    taken = {broker.rack for id in partition.replicas if (broker := health.image.cluster.brokers.get(id)) is not None}
    more = f" and {len(racks) - _SHOWN} more" if len(racks) > _SHOWN else ""
    whole = f"all on {taken.pop()}; " if len(taken) == 1 else ""
    return f"{whole}none on {', '.join(islice(racks, _SHOWN))}{more}", ()


def _cause_of_leaderless(health: Health, topic: TopicImage, partition_id: int) -> Cause:
    """Return which replicas could lead: one in sync, else an eligible one (KIP-966), else, with loss, the last one that was eligible."""
    partition, active = topic.partitions[partition_id], health.judge_of(topic).active
    unclean = f"metashell elect unclean {topic.name}:{partition_id} takes what there is, and loses the rest"
    for ids, words in ((partition.isr, "in sync"), (partition.elr, "eligible")):
        if not ids:
            continue
        cause, down = f"{words}: {', '.join(map(str, ids))}", [str(id) for id in ids if id not in active]
        if down:
            which = f"broker {down[0]}" if len(down) == 1 else f"one of the brokers {', '.join(down)}"
            return cause, (f"start {which}: it leads without loss; where it is lost for good, {unclean}",)
        # An active broker that may lead does lead, unless the directory of its replica is gone.
        return f"{cause}, without its directory", (f"bring that disk back and restart broker {ids[0]}, and nothing is lost; {unclean}",)
    last = partition.last_known_elr
    if not last:
        return "no replica is in sync", ()
    broker = last[0]
    if broker in active:
        step = f"broker {broker} runs and has lost its records: where its old disk is still there, start it with that; {unclean}"
    else:
        step = f"start broker {broker}, which may have the most; {unclean}"
    return f"none in sync or eligible; last: {', '.join(map(str, last))}", (step,)


def _cause_of_stuck(health: Health, topic: TopicImage, partition_id: int) -> Cause:
    waits = health.waits_for(topic, partition_id)
    return f"waits for {', '.join(waits)}" if waits else "takes too long", ()


def _cause_of_offline_directory(health: Health, topic: TopicImage, partition_id: int) -> Cause:
    partition = topic.partitions[partition_id]
    brokers = health.image.cluster.brokers
    places = zip(partition.replicas, partition.directories, strict=True)
    lost = [f"broker {id}, {uuid_text(where)}" for id, where in places if id in brokers and not is_online(where, brokers[id])]
    return "; ".join(lost), ()


_CAUSES: Final[Mapping[str, Callable[[Health, TopicImage, int], Cause]]] = {
    "racks": _cause_of_racks,
    "leaderless": _cause_of_leaderless,
    "stuck_reassignment": _cause_of_stuck,
    "offline_directory": _cause_of_offline_directory,
}


def _rule(id: str, severity: str, words: str, *, follows: tuple[str, ...] = (), endangers: str = "", step: str = "") -> None:
    check(f"partitions.{id}", severity, words, IMAGE, follows=follows, endangers=endangers, step=step)(partial(_partitions, kind=id))


_START: Final = "start the brokers that hold its replicas"
_rule(
    "leaderless",
    BAD,
    "partitions without a leader",
    follows=_LOST,
    endangers="nobody can read or write them",
    step=f"{_START}; where they are lost for good: metashell elect unclean TOPIC:ID, which loses what only they had",
)
_rule(
    "offline",
    BAD,
    "partitions whose leader is fenced or not registered",
    follows=_AWAY,
    endangers="nobody can read or write them",
    step=_START,
)
_rule(
    "under_min_isr",
    BAD,
    "partitions with fewer replicas in sync than min.insync.replicas: writes with acks=all fail",
    follows=_AWAY,
    endangers="producers with acks=all are refused",
    step="start the brokers whose replicas are not in sync",
)
_rule(
    "under_replicated",
    BAD,
    "partitions with fewer replicas in sync than replicas",
    follows=_AWAY,
    endangers="fewer copies than configured are left when the next broker fails",
    step="start the brokers whose replicas are not in sync, or find out what keeps them behind (disk, network, throttles)",
)
_rule(
    "unclean",
    BAD,
    "partitions whose leader was elected uncleanly and has not recovered",
    endangers="records that only the former leader had are lost",
    step="keep the former replicas' disks until the topic's owners know what is missing",
)
_rule(
    "stuck_reassignment",
    BAD,
    "reassignments to a broker that is fenced or not registered, or to a directory that failed, or that last too long",
    follows=_GONE,
    endangers="the move never ends, and the next ones wait",
    step="start the broker it moves to, or end it: metashell reassign cancel",
)
_rule(
    "unregistered_replica",
    BAD,
    "partitions with a replica on a broker that is not registered",
    follows=("vanished",),
    endangers="that replica never comes back by itself",
    step="start the broker again under its id, or move its replicas: metashell reassign plan --off ID",
)
_rule(
    "offline_directory",
    BAD,
    "partitions with a replica in a directory that its broker does not have online",
    follows=("failed_directory",),
    endangers="that replica is not served until the disk is back",
    step="metashell brokers describe ID shows its directories; mend the disk and restart the broker",
)
_rule("at_min_isr", UNUSUAL, "partitions that lack replicas and have just min.insync.replicas in sync", follows=_AWAY)
_rule("elr", UNUSUAL, "partitions with eligible or last known leader replicas", follows=_AWAY)
_rule("not_preferred", UNUSUAL, "partitions not led by their preferred replica", follows=_AWAY, step="metashell elect preferred --all")
_rule("reassigning", UNUSUAL, "partitions that are being reassigned")
_rule("unassigned_directory", UNUSUAL, "partitions with a replica that has no directory yet")
_rule("cordoned_directory", UNUSUAL, "partitions with a replica in a cordoned directory")
_rule("racks", UNUSUAL, "partitions on fewer racks than they could be on")


# ---- elections and transactions


UNCLEAN: Final = "unclean.leader.election.enable"


@check(
    "leader_elections.unclean_allowed",
    UNUSUAL,
    "topics, brokers or a cluster that allow unclean leader elections",
    IMAGE,
    endangers="if no replica in sync is left, acknowledged records are lost without anyone being asked",
    step="metashell configs unset RESOURCE unclean.leader.election.enable, unless the owners of the records want it so",
    source="unclean.leader.election.enable, KIP-106",
    example="topic:orders (offset 40, 2026-11-27T00:27:20Z)",
)
def unclean_allowed(facts: Facts) -> Iterator[Found]:
    since = settings_since(facts.events)
    for (type, name), config in sorted(facts.image.configs.items()):
        if type in RESOURCE_WORDS and config.get(UNCLEAN, "").strip().lower() == "true":
            resource = f"{RESOURCE_WORDS[type]}:{name or 'default'}"
            event = since.get((type, name, UNCLEAN))
            yield Found(resource, "", () if event is None else evidence_of(event))


@check(
    "leader_elections.min_isr_at_factor",
    UNUSUAL,
    "topics that need all of their replicas in sync: writes with acks=all stop with the first broker that fails",
    IMAGE,
    endangers="one broker that restarts is enough, and producers with acks=all are refused",
    step="metashell configs set topic:TOPIC min.insync.replicas=N with less than it has replicas, or give it one more",
    source="min.insync.replicas, org.apache.kafka.server.config.ServerConfigs",
    example="orders (min.insync.replicas 3, 3 replicas)",
)
def min_isr_at_factor(facts: Facts) -> Iterator[Found]:
    """Topics of one replica are those of `one_replica`."""
    assert facts.health is not None
    for topic, factor in facts.health.needing_all():
        min_isr = facts.health.min_isr_of(topic.name)
        yield Found(topic.name, f"min.insync.replicas {min_isr}, {factor} replicas", key=("topic", topic.id))


@check(
    "transactions.hanging_transaction",
    BAD,
    "transactions that stop consumers with isolation.level=read_committed",
    TRANSACTIONS,
    endangers="these consumers wait at the first record of the transaction, and the log is not compacted or deleted from there on",
    source="KIP-664",
    example="orders/0 (producer 1000, epoch 0, open from offset 4 since 2026-11-27T00:23:13Z)",
)
def hanging_transaction(facts: Facts) -> Iterator[Found]:
    """Brokers report those that are open for too long; on the disk all open ones are found, and the newest record is the time of now."""
    told = [one for broker in facts.brokers for one in broker.transactions or ()]
    if facts.has_transactions_on_disk:
        kept = [one for directory in facts.directories for one in directory.transactions or ()]
        # Logs of partitions may lie there without a metadata log.
        now_ms = max((facts.now_ms, *(one.seen_ms for one in kept)))
        told += [one for one in kept if now_ms - one.started_ms >= OPEN_MAX_MS]
    seen = set()
    for one in told:
        # Each replica reports it.
        if (key := (one.topic, one.partition, one.producer_id)) in seen:
            continue
        seen.add(key)
        tool, place = "kafka-transactions.sh --bootstrap-server ADDRESS", f"--topic {one.topic} --partition {one.partition}"
        if one.start_offset < 0:
            step = f"{tool} describe-producers {place} shows where it starts; {tool} abort {place} --start-offset OFFSET ends it"
        else:
            step = f"{tool} abort {place} --start-offset {one.start_offset} ends it"
        coordinator = f", coordinator {one.coordinator}" if one.coordinator else ""
        since = moment_text(one.started_ms)
        start = f" from offset {one.start_offset}" if one.start_offset >= 0 else ""
        cause = f"producer {one.producer_id}, epoch {one.producer_epoch}{coordinator}, open{start} since {since}"
        yield Found(f"{one.topic}/{one.partition}", cause, steps=(step,))
