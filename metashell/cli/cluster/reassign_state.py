"""The state of a reassignment: brokers, partitions and moves of a cluster, the throttle of a plan, and what each move waits for.

It is read through brokers or controllers, or from a directory. A move waits for a missing broker, a failed disk, a throttle, or its copy.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from metashell.cli.admin.reassign import Copy, Found, Throttle
from metashell.codec.codes import THROTTLE_RATES, THROTTLED_REPLICAS
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.forms import counted
from metashell.rehearse.placement.plan_file import Stage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from metashell.cli.admin.cluster import LogDirectory
    from metashell.cli.admin.configs import Resource
    from metashell.cli.admin.reassign import Moving, Place
    from metashell.cli.admin.topics import Topic
    from metashell.cli.cluster.noun_tool import Work
    from metashell.rehearse.placement import BrokerState, Plan, Situation
    from metashell.rehearse.placement.cluster import PartitionState
    from metashell.rehearse.placement.plan_file import MoveProgress


STDIN = "-"


def read_situation(work: Work) -> Situation:
    """Return the brokers and partitions of the cluster. Errors: MetashellError."""
    from metashell.cli.cluster.cluster_view import all_topics
    from metashell.rehearse.placement import Situation
    from metashell.rehearse.placement.cluster import situation_of

    if work.asks_controllers:
        return situation_of(work.image())
    return Situation(read_brokers_and_disks(work), tuple(_states(work, all_topics(work))))


def read_brokers(work: Work) -> tuple[BrokerState, ...]:
    """Return the registered brokers, ordered by id. Errors: MetashellError."""
    from metashell.cli.cluster.cluster_view import brokers
    from metashell.rehearse.placement import BrokerState
    from metashell.rehearse.placement.cluster import brokers_of

    if work.asks_controllers:
        return brokers_of(work.image())
    return tuple(BrokerState(one.id, one.rack, one.is_fenced, one.is_leaving) for one in brokers(work))


def read_brokers_and_disks(work: Work, ids: Collection[int] | None = None) -> tuple[BrokerState, ...]:
    """Return the registered brokers, those in `ids` (None: all) with the failed and cordoned log directories that they report.

    Through controllers, only cordoned brokers are known. Errors: MetashellError.
    """
    from metashell.cli.admin.cluster import describe_log_dirs

    states = read_brokers(work)
    if work.asks_controllers:
        return states
    asked = [one.id for one in states if not one.is_fenced and (ids is None or one.id in ids)]
    told = describe_log_dirs(work.admin, asked, {}) if asked else {}
    found = []
    for state in states:
        directories = told.get(state.id, ())
        if isinstance(directories, MetashellError):
            work.miss(f"log directories of broker {state.id}: {directories}")
            directories = ()
        failed = [f"{one.path} failed ({one.error.name})" for one in directories if one.error is not None]
        cordoned = [one.path for one in directories if one.error is None and one.is_cordoned]
        if directories and len(cordoned) == len(directories):
            state = state._replace(is_cordoned=True)
        elif directories and len(failed) + len(cordoned) == len(directories):
            words = ", ".join([*failed, *(f"{path} is cordoned" for path in cordoned)])
            state = state._replace(disk_trouble=f"has no log directory that takes replicas: {words}")
        elif failed:
            work.note_once(f"broker {state.id}: {', '.join(failed)}: replicas go to its other log directories")
        found.append(state)
    return tuple(found)


def partitions(work: Work, topics: Iterable[str]) -> list[PartitionState]:
    """Return the partitions of these topics; topics that do not exist are left out. Errors: MetashellError."""
    from metashell.cli.cluster.cluster_view import topics_named
    from metashell.codec.error_codes import UNKNOWN_TOPIC_OR_PARTITION

    found, errors = topics_named(work, topics)
    for error in errors:
        if error.code != UNKNOWN_TOPIC_OR_PARTITION:
            work.miss(str(error))
    return _states(work, found)


def read_moves(work: Work) -> Mapping[Place, Moving]:
    """Return the moves under way, of a live cluster or of metadata on disk.

    Brokers forward the request to a controller; the wait is short, in case none answers. Errors: MetashellError.
    """
    from types import SimpleNamespace

    from metashell.cli.admin.reassign import Moving, list_reassignments
    from metashell.cli.cluster.broker_facts import QUICK_S
    from metashell.cli.connection import cluster_of, open_admin

    if work.stored is not None:
        return {
            (topic.name, id): Moving(
                topic=topic.name, partition=id, replicas=one.replicas, adding=one.adding_replicas, removing=one.removing_replicas
            )
            for topic in work.image().topics
            for id, one in topic.partitions.items()
            if one.adding_replicas or one.removing_replicas
        }
    if work.asks_controllers:
        return list_reassignments(work.admin)
    named = cluster_of(work.values)
    with open_admin(SimpleNamespace(**{**vars(named), "timeout": min(named.timeout, QUICK_S)})) as quick:
        return list_reassignments(quick)


def _states(work: Work, topics: Sequence[Topic]) -> list[PartitionState]:
    from metashell.common.values import uuid_text
    from metashell.rehearse.placement import PartitionState

    # Brokers report the replicas of a partition; only the list of moves says which are being added and removed.
    moves = {} if work.asks_controllers else read_moves(work)
    found = []
    for topic in topics:
        topic_id = uuid_text(topic.id)
        for one in topic.partitions:
            move = moves.get((topic.name, one.id))
            replicas, adding, removing = (
                (one.replicas, one.adding, one.removing) if move is None else (move.replicas, move.adding, move.removing)
            )
            found.append(PartitionState(topic.name, one.id, replicas, adding, removing, topic_id, one.isr))
    return found


def compare_with_cluster(work: Work, plan: Plan, only: Iterable[MoveProgress] | None = None) -> list[MoveProgress]:
    """Compare each partition of the plan, or of `only`, with the cluster as it is now. Errors: MetashellError."""
    from metashell.rehearse.placement.plan_file import compare_plan

    wanted = plan.assignments if only is None else [one.wanted for one in only]
    return compare_plan(wanted, partitions(work, sorted({one.topic for one in wanted})))


def throttle_settings(work: Work, resources: Sequence[Resource]) -> dict[Resource, Mapping[str, str] | MetashellError]:
    """Return the dynamic settings of throttles of each resource, or the error; empty for a topic that does not exist."""
    from metashell.cli.admin.configs import describe_configs
    from metashell.cli.admin.protocol import AdminError
    from metashell.cli.admin.reassign import FOLLOWERS, LEADERS, RATES
    from metashell.codec.error_codes import UNKNOWN_TOPIC_OR_PARTITION

    if work.asks_controllers:
        configs = work.image().configs
        return {one: dict(configs.get((one.kind, one.name), {})) for one in resources}
    found: dict[Resource, Mapping[str, str] | MetashellError] = {}
    for resource, values in describe_configs(work.admin, resources, (*RATES, LEADERS, FOLLOWERS)).items():
        if not isinstance(values, MetashellError):
            found[resource] = {one.name: one.value for one in values if one.is_dynamic and one.value}
        elif isinstance(values, AdminError) and values.code == UNKNOWN_TOPIC_OR_PARTITION:
            found[resource] = {}
        else:
            found[resource] = values
    return found


def read_plan_file(path: str) -> Plan:
    """Return the plan in a file, `-` for standard input. Errors: PathError; UsageError."""
    from metashell.rehearse.placement import read_plan

    return read_plan(_text(path), "standard input" if path == STDIN else path)


def read_sizes_file(path: str) -> dict[tuple[str, int], int]:
    """Return the sizes of partitions in a file, `-` for standard input, in bytes. Errors: PathError; UsageError."""
    from metashell.rehearse.placement import read_sizes

    return read_sizes(_text(path), "standard input" if path == STDIN else path)


def _text(path: str) -> str:
    if path == STDIN:
        data = sys.stdin.buffer.read()
    else:
        try:
            # A plan grows with the cluster, so its size has no limit.
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise PathError.of(path, error) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8", path) from None


_KEYS = (*THROTTLE_RATES, *THROTTLED_REPLICAS)


def set_throttle(work: Work, plan: Plan, standings: Sequence[MoveProgress]) -> Throttle | None:
    """Set the throttle of --throttle and return it, None without the option.

    Errors: MetashellError if it could not be set everywhere; then it is removed again, and nothing is moved.
    """
    if work.values.throttle is None:
        return None
    throttle = Throttle(work.admin, partial(throttle_settings, work), work.values.throttle)
    copies = [Copy(one.wanted.topic, one.wanted.partition, one.now.goal, one.adding) for one in standings if one.now is not None]
    up = {one.id for one in read_brokers(work) if not one.is_fenced}
    found = throttle.set(copies, {id for copy in copies for id in copy.sources} - up)
    if _report_change(work, found):
        if throttle.is_set:
            clear_throttle(work, plan, throttle)
        raise MetashellError("nothing was begun: the throttle could not be set everywhere")
    return throttle


def clear_throttle(work: Work, plan: Plan, throttle: Throttle | None = None) -> Found:
    """Remove the throttle of a plan, and note what stays: settings that current moves need, and rates other than --throttle's."""
    from metashell.cli.admin.reassign import list_reassignments

    throttle = throttle or Throttle(work.admin, partial(throttle_settings, work), work.values.throttle)
    standings = compare_with_cluster(work, plan)
    # A partition that is being moved, by this plan or another, still needs its throttled replicas.
    moves = list_reassignments(work.admin)
    places = {(one.wanted.topic, one.wanted.partition) for one in standings if not _is_another(one)}
    brokers = {id for one in standings for id in _brokers(one)}
    found = throttle.clear(places - moves.keys(), brokers, {id for one in moves.values() for id in one.replicas})
    for topic, partition in sorted(places & moves.keys()):
        found.notes.append(f"{topic}:{partition}: its throttled replicas stay: it is being moved")
    is_failed = _report_change(work, found)
    if is_failed:
        work.note(f"not all is removed (with -C, brokers that are down are reached too); to go on: {how_to_clear(work)}")
    elif found.kept and work.values.throttle is None:
        work.note("rates are removed only if --throttle names them: " + how_to_clear(work))
    return found


def _throttle_settings(work: Work) -> tuple[dict[Resource, Mapping[str, str]], dict[Resource, MetashellError]]:
    """Return the settings of throttles of all brokers and topics, and the errors of those that cannot be read. Errors: MetashellError."""
    from metashell.cli.admin.configs import Resource
    from metashell.cli.cluster.cluster_view import all_topics
    from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE

    if work.asks_controllers:
        resources = [Resource(kind, name) for kind, name in work.image().configs if kind in (BROKER_RESOURCE, TOPIC_RESOURCE)]
    else:
        resources = [Resource(BROKER_RESOURCE, name) for name in ("", *(str(one.id) for one in read_brokers(work)))]
        resources += [Resource(TOPIC_RESOURCE, topic.name) for topic in all_topics(work)]
    found: dict[Resource, Mapping[str, str]] = {}
    errors = {}
    for resource, values in throttle_settings(work, resources).items():
        if isinstance(values, MetashellError):
            errors[resource] = values
        elif set_here := {name: value for name, value in values.items() if name in _KEYS}:
            found[resource] = set_here
    return found, errors


def clear_all_throttles(work: Work) -> None:
    """Remove every replication throttle of the cluster, and report each; if a partition is being moved, none is removed."""
    from metashell.cli.admin.reassign import clear_all, list_reassignments

    moves = list_reassignments(work.admin)
    if moves:
        work.fail(f"the throttles stay: {len(moves)} partitions are being moved")
        return
    present, unread = _throttle_settings(work)
    for resource, error in [*sorted(clear_all(work.admin, present).items()), *unread.items()]:
        fields: dict[str, object] = {"type": "throttle", "resource": str(resource), "was": dict(present.get(resource, {}))}
        if error is not None:
            work.failed(error, **fields)
            continue
        was = ", ".join(f"{name}={value}" for name, value in sorted(present[resource].items()))
        work.tell(f"{resource}: {was} removed", **fields, result="removed")
    if not present and not unread:
        work.tell("no throttle is set", type="throttle", result="unchanged")


def left_throttle_lines(work: Work) -> list[str]:
    """Return the finding about throttles that are set while no partition is being moved; empty if there are none."""
    from metashell.metadata.checks.model import CHECKS
    from metashell.metadata.checks.rules.lint import throttle_words, throttled

    try:
        present, unread = _throttle_settings(work)
    except MetashellError as error:
        work.miss(f"throttles of replication: {error}")
        return []
    if unread:
        work.miss(f"throttles of replication on {', '.join(map(str, unread))}: {next(iter(unread.values()))}")
    found = throttled({(one.kind, one.name): values for one, values in present.items()})
    if not found:
        return []
    check = CHECKS["left_throttles"]
    what, time = throttle_words(found)
    return [f"{check.severity}: {check.words}: {what}; {time}", f"next: {check.step}"]


def _is_another(one: MoveProgress) -> bool:
    """Return whether the topic was deleted and created again: then its settings are not those of the plan."""
    return one.now is not None and bool(one.wanted.topic_id and one.now.topic_id) and one.wanted.topic_id != one.now.topic_id


def _brokers(one: MoveProgress) -> set[int]:
    """Return the brokers on which `apply` may have set a rate for this move."""
    now = one.now.replicas if one.now is not None and one.stage is not Stage.CHANGED else ()
    return {*one.wanted.replicas, *(one.wanted.before or ()), *now}


def how_to_clear(work: Work) -> str:
    """Return the command that removes the throttle of a plan."""
    from shlex import quote

    rate = "RATE" if work.values.throttle is None else work.values.throttle
    return f"`metashell reassign status {quote(work.values.plan)} --clear-throttle --throttle {rate}`"


def _report_change(work: Work, found: Found) -> bool:
    """Report the result of a change of throttles; return whether anything failed."""
    for note in found.notes:
        work.note(note)
    for resource, error in found.errors.items():
        work.failed(error, type="throttle", resource=str(resource))
    return bool(found.errors)


_RATES: Final = {"follower": "follower.replication.throttled.rate", "leader": "leader.replication.throttled.rate"}
_REPLICAS: Final = {"follower": "follower.replication.throttled.replicas", "leader": "leader.replication.throttled.replicas"}
_ALL: Final = "*"
_COPIES: Final = "broker {} copies (-b says how much is left)"


def read_waits(work: Work, adding: Mapping[Place, Collection[int]]) -> dict[Place, list[str]]:
    """Return in words what each move waits for; `adding` has the replicas that each move adds. Errors: MetashellError."""
    from metashell.cli.cluster.cluster_view import names_fenced, topics_named

    if not adding:
        return {}
    found, _ = topics_named(work, {topic for topic, _ in adding})
    partitions = {(topic.name, one.id): one for topic in found for one in topic.partitions}
    leaders = {place: one.leader for place, one in partitions.items() if one.has_leader}
    brokers = {one.id: one for one in read_brokers(work)}
    gone = "is not registered" if names_fenced(work) else "is fenced or not registered"
    copied = {place: [id for id in ids if place not in partitions or id not in partitions[place].isr] for place, ids in adding.items()}
    disks = _disks(work, copied, brokers)
    rates = _rates(work, copied, leaders)
    waits: dict[Place, list[str]] = {}
    for place, ids in copied.items():
        words = ["it has no leader to copy from"] if ids and place in partitions and place not in leaders else []
        for id in ids:
            trouble = brokers[id].trouble if id in brokers else gone
            words += [f"broker {id} {trouble}"] if trouble else _copying(work, place, id, disks.get(id))
        waits[place] = words + (rates.words(place, leaders.get(place), ids) if ids else [])
    return waits


# ---- disks


def _disks(
    work: Work, copied: Mapping[Place, Collection[int]], brokers: Mapping[int, BrokerState]
) -> Mapping[int, tuple[LogDirectory, ...] | MetashellError]:
    """Return the log directories of the brokers that copy, restricted to these partitions; empty through controllers."""
    from metashell.cli.admin.cluster import describe_log_dirs

    ids = sorted({id for many in copied.values() for id in many if id in brokers and not brokers[id].is_fenced})
    if work.asks_controllers or not ids:
        return {}
    only: dict[str, list[int]] = {}
    for topic, id in copied:
        only.setdefault(topic, []).append(id)
    return describe_log_dirs(work.admin, ids, only)


def _copying(work: Work, place: Place, id: int, told: tuple[LogDirectory, ...] | MetashellError | None) -> list[str]:
    """Return the progress of the copy on a running broker, in words."""
    if told is None:
        return _directory_in_metadata(work, place, id) if work.asks_controllers else []
    if isinstance(told, MetashellError):
        work.miss(f"log directories of broker {id}: {told}")
        return []
    for directory in told:
        if place in directory.lags:
            lag = directory.lags[place]
            left = counted(lag, "record") if lag > 0 else "no record"
            return [f"broker {id} has {left} left to copy{'' if lag > 0 else ', and its leader has not taken it into the ISR yet'}"]
    failed = [f"{one.path} ({one.error.name})" for one in told if one.error is not None]
    cordoned = [one.path for one in told if one.error is None and one.is_cordoned]
    if failed:
        return [f"broker {id} has failed log directories: {', '.join(failed)}"]
    if told and len(cordoned) == len(told):
        return [f"broker {id} is cordoned: {', '.join(cordoned)}"]
    return [f"broker {id} has not begun to copy"]


def _directory_in_metadata(work: Work, place: Place, id: int) -> list[str]:
    """Return the progress of a copy as far as the metadata shows it: whether the replica's directory is online."""
    from metashell.common.values import LOST_DIRECTORY, MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY, uuid_text

    image = work.image()
    topic, broker = image.topics.by_name.get(place[0]), image.cluster.brokers.get(id)
    partition = None if topic is None else topic.partitions.get(place[1])
    if partition is None or broker is None:
        return []
    directory = dict(zip(partition.replicas, partition.directories, strict=True)).get(id, UNASSIGNED_DIRECTORY)
    if directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY):
        return [_COPIES.format(id)]
    if directory == LOST_DIRECTORY or (broker.directories and directory not in broker.directories):
        return [f"the directory of broker {id} that it is in is not online ({uuid_text(directory)})"]
    return [_COPIES.format(id)]


# ---- throttles


class _Rates:
    """The settings of throttles of brokers and topics."""

    def __init__(self, brokers: Mapping[str, Mapping[str, str]], topics: Mapping[str, Mapping[str, str]]) -> None:
        self._brokers = brokers
        self._topics = topics

    def words(self, place: Place, leader: int | None, ids: Iterable[int]) -> list[str]:
        """Return the throttles of a partition's copies in words: on its leader, and on the brokers that copy."""
        topic, partition = place
        found: dict[str, list[str]] = {}
        for role, brokers in (("leader", [] if leader is None else [leader]), ("follower", list(ids))):
            listed = self._topics.get(topic, {}).get(_REPLICAS[role], "").split(",")
            for id in brokers:
                rate = self._brokers.get(str(id), {}).get(_RATES[role]) or self._brokers.get("", {}).get(_RATES[role])
                if rate is not None and (_ALL in listed or f"{partition}:{id}" in listed):
                    found.setdefault(rate, []).append(f"{id} ({role})")
        return [f"throttle of {rate} bytes/s on broker {' and '.join(brokers)}" for rate, brokers in found.items()]


def _rates(work: Work, copied: Mapping[Place, Collection[int]], leaders: Mapping[Place, int]) -> _Rates:
    from metashell.cli.admin.configs import Resource
    from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE

    ids = {id for many in copied.values() for id in many}
    ids |= {leaders[place] for place in copied if place in leaders}
    resources = [Resource(BROKER_RESOURCE, name) for name in ("", *map(str, sorted(ids)))]
    resources += [Resource(TOPIC_RESOURCE, name) for name in sorted({topic for topic, _ in copied})]
    found: dict[Resource, Mapping[str, str]] = {}
    for resource, values in throttle_settings(work, resources).items():
        if isinstance(values, MetashellError):
            work.miss(f"whether {resource} is throttled: {values}")
        else:
            found[resource] = values
    return _Rates(
        {resource.name: values for resource, values in found.items() if resource.kind == BROKER_RESOURCE},
        {resource.name: values for resource, values in found.items() if resource.kind == TOPIC_RESOURCE},
    )
