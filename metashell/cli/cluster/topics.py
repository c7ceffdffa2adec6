"""The commands of `metashell topics`: list, describe, create, alter and delete."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from metashell.cli.cluster.noun_tool import Work, noun_tool
from metashell.cli.connection import DRY_RUN, WAIT, YES, command, noun
from metashell.cli.tool import named_values
from metashell.codec.error_codes import TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION
from metashell.common.errors import UsageError
from metashell.common.forms import counted
from metashell.common.options import Argument, Option, flag
from metashell.common.values import uuid_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from metashell.cli.admin.topics import Done, Topic
    from metashell.metadata.checks import Health
    from metashell.metadata.image import PartitionRegistration, TopicImage


_NAMES = Argument("topics", "names of topics", "+", "TOPIC")
_CONFIG = Option(names=("--config",), metavar="KEY=VALUE", multiple=True, help="a setting of the topic")
_ASSIGNMENT = Option(
    names=("--assignment",),
    metavar="IDS,...",
    help="the brokers of each new partition, the preferred leader first: 1:2:3,2:3:1 is two partitions of three replicas",
)
_UNHEALTHY = flag("--unhealthy", help="only what is not as it should be: no leader, or replicas that are not in sync")
_FILTERS = (
    flag("--under-replicated", help="only partitions with fewer replicas in sync than there should be, as kafka-topics.sh counts them"),
    flag("--unavailable", help="only partitions whose leader is not there"),
    flag("--under-min-isr", help="only partitions without a leader, or with fewer replicas in sync than min.insync.replicas"),
    flag("--at-min-isr", help="only partitions with just min.insync.replicas in sync"),
)

LIST = command(
    "list",
    "list topics",
    """
        Shows each topic with its partitions, its replication factor, and how many of its partitions have no leader or replicas that are
        not in sync. Kafka's own topics are left out without --internal, unless they are named.

        Through controllers it reads the metadata log as an observer, which needs the right CLUSTER_ACTION.
        """,
    options=(flag("--internal", help="also Kafka's own topics, such as __consumer_offsets"), _UNHEALTHY, *_FILTERS),
    arguments=(Argument("patterns", "only topics whose names match one of these: *, ? and [a-z]", "*", "PATTERN"),),
    examples=(
        ("metashell topics list -b localhost:9092", "all topics but Kafka's own"),
        ("metashell topics list 'order*' --internal -C localhost:9093 -o json", "some of them, when no broker answers"),
        ("metashell topics list --unhealthy -b localhost:9092", "where something is wrong"),
        ("metashell topics list /var/lib/kafka", "what the metadata on a disk has, where no node runs"),
    ),
    reads=True,
)
DESCRIBE = command(
    "describe",
    "show the partitions of topics",
    """
        Shows leader, replicas, ISR and ELR of each partition, and what is not as it should be. In the ELR are replicas that left the ISR
        and have all that was acknowledged.
        """,
    options=(_UNHEALTHY, *_FILTERS),
    arguments=(_NAMES._replace(nargs="*", help="names of topics; with --unhealthy alone it looks at all"),),
    examples=(
        ("metashell topics describe orders -b localhost:9092", "the partitions of a topic"),
        ("metashell topics describe --unhealthy -b localhost:9092", "all partitions of the cluster that are not as they should be"),
        ("metashell topics describe orders payments -b localhost:9092 -o jsonl", "one object for each partition"),
    ),
    reads=True,
)
CREATE = command(
    "create",
    "make topics",
    """
        Makes topics, all alike. Partitions and replication factor are the cluster's defaults unless they are given. With --dry-run the
        cluster checks everything and makes nothing.
        """,
    options=(
        Option(names=("--partitions", "-p"), metavar="N", type="int", help="number of partitions; else num.partitions of the cluster"),
        Option(
            names=("--replication-factor", "-r"),
            metavar="N",
            type="int",
            help="number of replicas of each; else default.replication.factor of the cluster",
        ),
        _ASSIGNMENT,
        _CONFIG,
        flag("--if-not-exists", help="a topic that is there already is no error"),
        DRY_RUN,
        WAIT._replace(help="return when every partition has a leader; status 1 where that takes longer than this (300)"),
    ),
    arguments=(_NAMES,),
    examples=(
        ("metashell topics create orders -p 12 -r 3 -b localhost:9092", "a topic of 12 partitions and 3 replicas"),
        ("metashell topics create orders --config retention.ms=3600000 --dry-run -b localhost:9092", "only ask whether it could be made"),
        ("metashell topics create orders --assignment 1:2:3,2:3:1 -b localhost:9092", "two partitions on brokers of choice"),
    ),
)
ALTER = command(
    "alter",
    "add partitions to topics",
    """
        Lets topics have this many partitions in all. Partitions cannot be taken away again, and records with a key go to another
        partition than before: what relies on the order of a key's records has to be emptied first. Settings are changed by
        `metashell configs`, replicas by `metashell reassign`.
        """,
    options=(
        Option(names=("--partitions", "-p"), metavar="N", type="int", required=True, help="number of partitions in all"),
        _ASSIGNMENT,
        DRY_RUN,
        YES,
    ),
    arguments=(_NAMES,),
    examples=(("metashell topics alter orders -p 24 -b localhost:9092 --yes", "let a topic have 24 partitions"),),
)
DELETE = command(
    "delete",
    "delete topics and all of their records",
    """
        Shows what would be lost and asks first; where nobody can be asked it needs --yes. It deletes the topics that it showed: one that
        was made again under the same name meanwhile stays.

        --dry-run rehearses it on a copy of the cluster's metadata.
        """,
    options=(
        flag("--if-exists", help="a topic that is not there is no error"),
        DRY_RUN,
        YES,
        WAIT._replace(help="return when the topics are gone from the metadata; status 1 where that takes longer than this (300)"),
    ),
    arguments=(_NAMES,),
    examples=(
        ("metashell topics delete orders -b localhost:9092", "ask, then delete it"),
        ("metashell topics delete old-1 old-2 --yes -b localhost:9092", "two at once, without asking"),
    ),
)
TOPICS = noun(
    "topics", "list, describe, create, alter and delete topics", "Topics and their partitions.", (LIST, DESCRIBE, CREATE, ALTER, DELETE)
)


LIST_COLUMNS = ("topic", "partitions", "replication_factor", "offline", "under_min_isr", "under_replicated", "id")
PARTITION_COLUMNS = ("topic", "partition", "leader", "leader_epoch", "replicas", "isr", "elr", "problems")


def _list(work: Work) -> None:
    from metashell.cli.cluster.cluster_view import INTERNAL, health_of

    patterns, filters = work.values.patterns, _filters(work)
    health, errors = health_of(work, whole=bool(filters))
    work.miss(*map(str, errors))
    topics = [
        topic
        for topic in sorted(health.image.topics, key=lambda topic: topic.name)
        if (not patterns or any(fnmatchcase(topic.name, each) for each in patterns))
        and (work.values.internal or topic.name not in INTERNAL or topic.name in patterns)
    ]
    rows = [_row(topic, health) for topic in topics]
    if work.values.unhealthy:
        rows = [row for row in rows if row["offline"] or row["under_min_isr"] or row["under_replicated"]]
    if filters:
        wanted = {topic.name for topic in topics if any(_shown_by(health, topic, one, filters) for one in topic.partitions.values())}
        rows = [row for row in rows if row["topic"] in wanted]
    none = "no topic is unhealthy" if work.values.unhealthy else "no such topic" if patterns or filters else _NO_TOPICS
    work.rows(rows, LIST_COLUMNS, none=none)


_NO_TOPICS = "no topics that this user may see"


def _filters(work: Work) -> set[str]:
    """Return the chosen filters, which are those of kafka-topics.sh."""
    from metashell.metadata.checks.partitions import TOPIC_COMMAND_FILTERS

    return {name for name in TOPIC_COMMAND_FILTERS if getattr(work.values, name.replace("-", "_"))}


def _shown_by(health: Health, topic: TopicImage, partition: PartitionRegistration, filters: Collection[str]) -> bool:
    """Return whether one of the filters selects a partition, or there are no filters."""
    from metashell.metadata.checks.partitions import topic_command_filters

    active = health.judge_of(topic).active
    return not filters or not set(filters).isdisjoint(topic_command_filters(partition, health.min_isr_of(topic.name), active))


def _row(topic: TopicImage, health: Health) -> dict[str, object]:
    from metashell.cli.cluster.cluster_view import INTERNAL

    counts = health.topic_counts(topic)
    return {
        "type": "topic",
        "topic": topic.name,
        "id": uuid_text(topic.id),
        "internal": topic.name in INTERNAL,
        "partitions": topic.partition_count,
        "replication_factor": max((len(partition.replicas) for partition in topic.partitions.values()), default=0),
        "offline": counts["leaderless"] + counts["offline"],
        "under_min_isr": counts["under_min_isr"],
        "under_replicated": counts["under_replicated"],
    }


def _describe(work: Work) -> None:
    from metashell.cli.cluster.cluster_view import health_of

    filters = _filters(work)
    if not (work.values.topics or work.values.unhealthy or filters):
        raise UsageError("missing TOPIC (--unhealthy alone looks at all)", "TOPIC")
    health, errors = health_of(work, work.values.topics or None, whole=True)
    by_name = health.image.topics.by_name
    names = sorted(set(work.values.topics) or by_name)
    rows = []
    for topic in (by_name[name] for name in names if name in by_name):
        found = sorted(topic.partitions.items())
        rows += [_partition_row(health, topic, id, one) for id, one in found if _shown_by(health, topic, one, filters)]
    if work.values.unhealthy:
        rows = [row for row in rows if row["problems"]]
    if rows or not errors:
        work.rows(rows, PARTITION_COLUMNS, none="no partition is unhealthy" if work.values.unhealthy else "no such partition")
    for error in errors:
        work.failed(error, type="topic", topic=error.thing)


_PROBLEMS = ("leaderless", "offline", "under_min_isr", "under_replicated")


def _partition_row(health: Health, topic: TopicImage, id: int, partition: PartitionRegistration) -> dict[str, object]:
    from metashell.metadata.checks import BITS

    judge = health.judge_of(topic)
    bits = judge(partition)
    return {
        "type": "partition",
        "topic": topic.name,
        "topic_id": uuid_text(topic.id),
        "partition": id,
        "leader": partition.leader if partition.leader >= 0 else None,
        "leader_epoch": partition.leader_epoch,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "elr": list(partition.elr),
        "last_known_elr": list(partition.last_known_elr),
        "offline_replicas": [replica for replica in partition.replicas if replica not in judge.active],
        "min_isr": health.min_isr_of(topic.name),
        "problems": [name for name in _PROBLEMS if bits & BITS[name]],
    }


# ---- create and alter


def _create(work: Work) -> None:
    from metashell.cli.admin.topics import NewTopic, create_topics

    values = work.values
    assignment = _assignment(values.assignment)
    _refuse_rival_counts(values.partitions, values.replication_factor, assignment)
    configs = named_values("--config", values.config)
    wanted = [
        NewTopic(
            name=name,
            partitions=-1 if values.partitions is None else values.partitions,
            replication_factor=-1 if values.replication_factor is None else values.replication_factor,
            configs=dict(configs),
            assignment=assignment,
        )
        for name in dict.fromkeys(values.topics)
    ]
    with work.looking_after(lambda: _what_is_there(work, values.topics)):
        results = create_topics(work.admin, wanted, validate_only=work.is_dry)
    made = []
    for done in results:
        if done.error is None:
            _tell_created(work, done)
            made.append(done.name)
        elif values.if_not_exists and done.error.code == TOPIC_ALREADY_EXISTS:
            work.tell(f"{done.name}: exists already", type="topic", topic=done.name, result="exists already")
        else:
            work.failed(done.error, type="topic", topic=done.name)
    if values.wait is not None and made and not work.is_dry:
        work.wait("leaders of all partitions", lambda: _without_leader(work, made), values.wait)


def _what_is_there(work: Work, names: Iterable[str]) -> str:
    """Return in words which of the topics exist."""
    from metashell.cli.cluster.cluster_view import topics_named

    topics, errors = topics_named(work, names)
    words = [f"{topic.name} is there with {counted(len(topic.partitions), 'partition')}" for topic in topics]
    return ", ".join([*words, *(f"{error.thing} is not there" for error in errors)])


def _refuse_rival_counts(partitions: int | None, replication_factor: int | None, assignment: Sequence[Sequence[int]]) -> None:
    if assignment and (partitions is not None or replication_factor is not None):
        raise UsageError("--assignment says how many partitions and replicas there are: leave --partitions and --replication-factor out")
    if partitions == 0:
        raise UsageError("option --partitions: a topic has at least one", "0")
    if replication_factor == 0:
        raise UsageError("option --replication-factor: a partition has at least one replica", "0")


def _tell_created(work: Work, done: Done) -> None:
    size = ""
    if done.partitions >= 0 and done.replication_factor >= 0:
        size = f", {counted(done.partitions, 'partition')}, replication factor {done.replication_factor}"
    result = "would be created" if work.is_dry else "created"
    work.tell(
        f"{done.name}: {result}{size}",
        type="topic",
        topic=done.name,
        result=result,
        id=None if done.id is None else uuid_text(done.id),
        partitions=done.partitions if done.partitions >= 0 else None,
        replication_factor=done.replication_factor if done.replication_factor >= 0 else None,
    )


def _without_leader(work: Work, names: Sequence[str]) -> str | None:
    from metashell.cli.cluster.cluster_view import topics_named

    topics, missing = topics_named(work, names)
    count = sum(not partition.has_leader for topic in topics for partition in topic.partitions)
    if missing:
        return f"{counted(len(missing), 'topic')} not visible yet"
    return f"{counted(count, 'partition')} without a leader" if count else None


def _assignment(text: str | None) -> tuple[tuple[int, ...], ...]:
    """Parse an assignment like `1:2:3,2:3:1` into the brokers of each partition; empty for None. Errors: UsageError."""
    if text is None:
        return ()
    found = []
    for number, part in enumerate(text.split(",")):
        ids = [word.strip() for word in part.split(":")]
        if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in ids):
            raise UsageError(f"option --assignment: partition {number}: {part!r} is not ID:ID:...", part)
        if len(set(ids)) < len(ids):
            raise UsageError(f"option --assignment: partition {number}: {part!r} names a broker twice", part)
        found.append(tuple(map(int, ids)))
    return tuple(found)


def _alter(work: Work) -> None:
    from metashell.cli.admin.topics import create_partitions
    from metashell.cli.cluster.cluster_view import topics_named

    values = work.values
    names = list(dict.fromkeys(values.topics))
    assignment = _assignment(values.assignment)
    if assignment and len(names) > 1:
        raise UsageError("--assignment goes with one topic")
    topics, errors = topics_named(work, names)
    before = {topic.name: len(topic.partitions) for topic in topics}
    for error in errors:
        work.failed(error, type="topic", topic=error.thing)
    wanted = {name: values.partitions for name in before if before[name] != values.partitions}
    for name in before.keys() - wanted.keys():
        work.tell(f"{name}: has {counted(before[name], 'partition')} already", type="topic", topic=name, result="unchanged")
    if not wanted:
        return
    growing = [f"{name} from {before[name]}" for name in wanted if before[name] < values.partitions]
    if growing:
        work.confirm(
            "partitions cannot be taken away again, and new records of a key go to another partition than its older ones",
            question=f"Let {', '.join(growing)} have {counted(values.partitions, 'partition')}?",
        )
    placed = dict.fromkeys(wanted, assignment) if assignment else None
    with work.looking_after(lambda: _what_is_there(work, wanted)):
        results = create_partitions(work.admin, wanted, placed, validate_only=work.is_dry)
    for done in results:
        if done.error is not None:
            work.failed(done.error, type="topic", topic=done.name)
            continue
        result = "would have" if work.is_dry else "has"
        text = f"{done.name}: {result} {counted(done.partitions, 'partition')}, {before[done.name]} before"
        fields = {"partitions": done.partitions, "partitions_before": before[done.name]}
        work.tell(text, type="topic", topic=done.name, result="would be altered" if work.is_dry else "altered", **fields)


# ---- delete


def _delete(work: Work) -> None:
    from metashell.cli.admin.topics import delete_topics
    from metashell.cli.cluster.cluster_view import topics_named

    values = work.values
    topics, errors = topics_named(work, values.topics)
    for error in errors:
        if values.if_exists and error.code == UNKNOWN_TOPIC_OR_PARTITION:
            work.tell(f"{error.thing}: is not there", type="topic", topic=error.thing, result="is not there")
        else:
            work.failed(error, type="topic", topic=error.thing)
            if set(error.thing) & set("*?["):
                work.note("names are taken as they are: patterns are for `metashell topics list`")
    if not topics:
        return
    partitions = counted(sum(len(topic.partitions) for topic in topics), "partition")
    warnings = [f"all records of {', '.join(topic.name for topic in topics)} ({partitions}) are lost for good"]
    warnings += [f"{topic.name} is Kafka's own: the cluster does not work without what it holds" for topic in topics if topic.is_internal]
    work.confirm(*warnings, question=f"Delete {counted(len(topics), 'topic')}?")
    if work.is_dry:
        _rehearse_deletion(work, topics)
        return
    by_name = {topic.name: topic for topic in topics}
    deleted = []
    with work.looking_after(lambda: _what_is_there(work, by_name)):
        results = delete_topics(work.admin, {topic.name: topic.id for topic in topics})
    for done in results:
        if done.error is not None:
            work.failed(done.error, type="topic", topic=done.name)
        else:
            _tell_deleted(work, by_name[done.name], "deleted")
            deleted.append(by_name[done.name])
    if values.wait is not None and deleted:
        work.wait("deletion", lambda: _still_there(work, deleted), values.wait)


def _rehearse_deletion(work: Work, topics: Sequence[Topic]) -> None:
    from metashell.cli.cluster.cluster_view import refusals_of, rehearse_steps
    from metashell.rehearse.steps import DeleteTopic

    refusals = refusals_of(rehearse_steps(work, [DeleteTopic(topic.name) for topic in topics]))
    for number, topic in enumerate(topics):
        if number in refusals:
            work.failed(refusals[number], type="topic", topic=topic.name)
        else:
            _tell_deleted(work, topic, "would be deleted")


def _tell_deleted(work: Work, topic: Topic, result: str) -> None:
    count = len(topic.partitions)
    fields = {"result": result, "id": uuid_text(topic.id), "partitions": count}
    work.tell(f"{topic.name}: {result}, {counted(count, 'partition')}", type="topic", topic=topic.name, **fields)


def _still_there(work: Work, deleted: Sequence[Topic]) -> str | None:
    """Return in words the deleted topics that still exist under their ids; None if there are none."""
    from metashell.cli.cluster.cluster_view import topics_named

    ids = {topic.id for topic in deleted}
    left = [topic.name for topic in topics_named(work, [topic.name for topic in deleted])[0] if topic.id in ids]
    return f"still there: {', '.join(left)}" if left else None


main = noun_tool("topics", TOPICS, {"list": _list, "describe": _describe, "create": _create, "alter": _alter, "delete": _delete})
