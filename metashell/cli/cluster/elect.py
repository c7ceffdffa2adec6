"""The command line of `metashell elect`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from metashell.cli.admin.protocol import AdminError
from metashell.cli.cluster.noun_tool import Work, noun_tool
from metashell.cli.connection import DRY_RUN, YES, command, noun
from metashell.common.errors import UsageError
from metashell.common.forms import counted
from metashell.common.options import Argument, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from metashell.cli.admin.topics import ElectionType, Partition, Topic


_PARTITIONS = Argument("partitions", "orders (all of its partitions), orders:0 or orders:0,3,7", "*", "TOPIC[:IDS]")
PREFERRED = command(
    "preferred",
    "let the preferred replicas lead",
    """
        Lets the first replica of each partition lead again where it is in sync and does not lead. Nothing is lost; clients of these
        partitions look for the new leader once. --dry-run rehearses it on a copy of the cluster's metadata.
        """,
    options=(flag("--all", help="all partitions that need it"), DRY_RUN),
    arguments=(_PARTITIONS,),
    examples=(
        ("metashell elect preferred --all -b localhost:9092", "after brokers were restarted"),
        ("metashell elect preferred orders:0 -b localhost:9092", "one partition"),
    ),
)
UNCLEAN = command(
    "unclean",
    "let a replica lead that is not in sync",
    """
        For partitions without a leader whose in-sync replicas do not come back: one that is alive leads, and every record that it does
        not have is lost for good, also acknowledged ones. It shows the partitions and asks first. --dry-run rehearses it on a copy of the
        cluster's metadata.
        """,
    options=(
        flag("--all", help="all partitions without a leader"),
        flag("--force", help="with --all, also where topics could not be seen"),
        DRY_RUN,
        YES,
    ),
    arguments=(_PARTITIONS,),
    examples=(("metashell elect unclean orders:3 -b localhost:9092", "give up what the lost replicas had"),),
)
ELECT = noun("elect", "let partitions have another leader", "Elections of partition leaders.", (PREFERRED, UNCLEAN))


CHUNK: Final = 1000
"""The partitions in one request: a controller refuses a request that would write more than 10 000 records."""
SHOWN: Final = 20
SEEN_S: Final = 1.0
"""The longest wait for new leaders: a broker learns of them a moment after the election."""
Place = tuple[str, int]


def _preferred(work: Work) -> None:
    from metashell.cli.admin.topics import ElectionType

    needed = _needed(work, lambda partition: not partition.is_led_by_preferred)
    if needed and work.values.all:
        needed = _electable(work, needed)
    elif needed is not None and not needed:
        _tell_none(work, "every preferred replica leads already")
    if needed:
        _elect(work, ElectionType.PREFERRED, needed)


def _electable(work: Work, needed: dict[Place, Partition]) -> dict[Place, Partition]:
    """Return the partitions whose preferred replica can lead; report the number of the others, which are not tried."""
    found = {place: partition for place, partition in needed.items() if partition.replicas[0] in partition.isr}
    if left := len(needed) - len(found):
        work.fail(f"{counted(left, 'partition')} left as before: the preferred replica is not in sync (metashell topics describe shows it)")
    return found


def _unclean(work: Work) -> None:
    from metashell.cli.admin.topics import ElectionType

    needed = _needed(work, lambda partition: not partition.has_leader)
    if not needed:
        if needed is not None:
            _tell_none(work, "every partition has a leader: nothing has to be given up")
        return
    for (topic, id), partition in list(needed.items()):
        if set(partition.replicas) <= set(partition.offline):
            work.fail(
                f"{topic}:{id}: none of its replicas is alive: start one of the brokers {', '.join(map(str, partition.replicas))} first"
            )
            del needed[topic, id]
    if not needed:
        return
    places = [f"{topic}:{id}" for topic, id in needed]
    listed = ", ".join(places[:SHOWN]) + (f" and {len(places) - SHOWN} more" if len(places) > SHOWN else "")
    work.confirm(
        f"every record that the replica which will lead does not have is lost for good, also acknowledged ones: {listed}",
        question=f"Hold an unclean election of {counted(len(places), 'partition')}?",
    )
    # A leader may have come back while the question was open: those partitions keep it.
    still = _needed(work, lambda partition: not partition.has_leader) or {}
    _elect(work, ElectionType.UNCLEAN, {place: partition for place, partition in needed.items() if place in still})


def _tell_none(work: Work, text: str) -> None:
    """Tell a person that there is nothing to do, which is a success; the other output formats give an empty list."""
    if work.form in ("text", "table"):
        work.note(text)


def _needed(work: Work, is_needed: Callable[[Partition], bool]) -> dict[Place, Partition] | None:
    """Return the named partitions that need an election; None if none of the named topics exists. Errors: UsageError; MetashellError."""
    from metashell.cli.cluster.cluster_view import all_topics, topics_named

    named = parse_partitions(work.values.partitions)
    if bool(named) == work.values.all:
        raise UsageError("--all and names of partitions exclude each other" if named else "name partitions (orders:0), or give --all")
    if not named:
        return _choose(all_topics(work), {}, is_needed)
    topics, errors = topics_named(work, named)
    for error in errors:
        name, dash, number = error.thing.rpartition("-")
        if dash and number.isdigit():
            work.fail(f"{error.thing}: there is no such topic; a partition is written {name}:{number}")
        else:
            work.failed(error, type="partition", topic=error.thing)
    for topic in topics:
        ids = {partition.id for partition in topic.partitions}
        for id in sorted((named[topic.name] or set()) - ids):
            work.fail(f"{topic.name}:{id}: there is no such partition (the topic has {len(ids)})")
    return _choose(topics, named, is_needed) if topics else None


def _choose(topics: Sequence[Topic], named: dict[str, set[int] | None], is_needed: Callable[[Partition], bool]) -> dict[Place, Partition]:
    return {
        (topic.name, partition.id): partition
        for topic in topics
        for partition in topic.partitions
        if is_needed(partition) and ((ids := named.get(topic.name)) is None or partition.id in ids)
    }


def parse_partitions(words: Sequence[str]) -> dict[str, set[int] | None]:
    """Parse words like `orders`, `orders:0`, `orders:0,3`. Return the partitions by topic, None for all of them. Errors: UsageError."""
    found: dict[str, set[int] | None] = {}
    for word in words:
        name, colon, ids = word.partition(":")
        numbers = ids.split(",")
        if not name or (colon and not all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers)):
            raise UsageError(f"{word!r} is not TOPIC, TOPIC:0 or TOPIC:0,3", word)
        before = found.get(name, set())
        found[name] = None if not colon or before is None else before | set(map(int, numbers))
    return found


def _elect(work: Work, kind: ElectionType, needed: dict[Place, Partition]) -> None:
    from metashell.cli.admin.topics import ElectionType, elect_leaders

    if work.is_dry:
        _rehearse(work, kind, needed)
        return
    count = 0
    for chunk in _chunks(sorted(needed)):
        by_topic: dict[str, list[int]] = {}
        for topic, id in chunk:
            by_topic.setdefault(topic, []).append(id)
        with work.looking_after(lambda: "`metashell topics describe` shows who leads"):
            results = elect_leaders(work.admin, kind, by_topic)
        leaders = {} if kind is ElectionType.PREFERRED else _new_leaders(work, by_topic)
        for elected in results:
            place = elected.topic, elected.partition
            before = needed[place]
            fields: dict[str, object] = {"type": "partition", "topic": elected.topic, "partition": elected.partition}
            if elected.error is not None:
                work.failed(elected.error, **fields)
            elif not elected.is_needed:
                work.tell(f"{elected.topic}:{elected.partition}: no election was needed any more", **fields, result="not needed")
            else:
                leader = before.replicas[0] if kind is ElectionType.PREFERRED else leaders.get(place)
                text = f"{elected.topic}:{elected.partition}: elected"
                text += f", {_who(leader)} leads, {_who(before.leader)} before" if leader is not None else ""
                work.tell(text, **fields, result="elected", leader=leader, leader_before=before.leader if before.has_leader else None)
        count += len(chunk)
        if count < len(needed):
            work.progress(f"{count} of {len(needed)} partitions")


def _new_leaders(work: Work, topics: Iterable[str]) -> dict[Place, int]:
    """Wait for the leaders to show, and return them: the answer of an unclean election does not name the winner."""

    from metashell.cli.cluster.cluster_view import topics_named

    ends_at = time.monotonic() + SEEN_S
    while True:
        partitions = {(topic.name, one.id): one for topic in topics_named(work, topics)[0] for one in topic.partitions}
        found = {place: one.leader for place, one in partitions.items() if one.has_leader}
        if len(found) == len(partitions) or time.monotonic() > ends_at:
            return found
        time.sleep(SEEN_S / 20)


def _who(id: int) -> str:
    return f"broker {id}" if id >= 0 else "nobody"


def _rehearse(work: Work, kind: ElectionType, needed: dict[Place, Partition]) -> None:
    """Hold the elections on a copy of the metadata, and report their results."""
    from metashell.cli.admin.topics import ElectionType
    from metashell.cli.cluster.cluster_view import rehearse_steps
    from metashell.rehearse.steps import Elect

    outcome = rehearse_steps(work, [Elect(partitions=tuple(sorted(needed)), unclean=kind is ElectionType.UNCLEAN)])
    refused = {refusal.thing: refusal for refusal in outcome.steps[0].refusals}
    for (topic, id), partition in sorted(needed.items()):
        fields: dict[str, object] = {"type": "partition", "topic": topic, "partition": id}
        refusal = refused.get(f"{topic}-{id}")
        if refusal is not None:
            work.failed(AdminError(refusal.code, refusal.message, f"{topic}:{id}"), **fields)
            continue
        there = outcome.after.topics.by_name.get(topic)
        after = None if there is None else there.partitions.get(id)
        leader = -1 if after is None else after.leader
        text = f"{topic}:{id}: {_who(leader)} would lead, {_who(partition.leader)} leads now"
        before = partition.leader if partition.has_leader else None
        work.tell(text, **fields, result="would be elected", leader=leader if leader >= 0 else None, leader_before=before)


def _chunks(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    for start in range(0, len(places), CHUNK):
        yield places[start : start + CHUNK]


main = noun_tool("elect", ELECT, {"preferred": _preferred, "unclean": _unclean})
