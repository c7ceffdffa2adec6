"""What `metashell reassign` knows of a cluster, from its brokers, its controllers or a directory, and the files that it reads."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from metashell.errors import MetashellError, PathError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from metashell.admin.configs import Resource
    from metashell.admin.reassign import Moving, Place
    from metashell.admin.topics import Topic
    from metashell.cli.administering import Work
    from metashell.placement import BrokerState, Plan, Situation
    from metashell.placement.progress import Standing
    from metashell.placement.situation import PartitionState

STDIN = "-"


def situation(work: Work) -> Situation:
    """Brokers and partitions of the live cluster. Errors: MetashellError."""
    from metashell.cli.cluster_view import all_topics
    from metashell.placement import Situation
    from metashell.placement.of_image import situation_of

    if work.asks_controllers:
        return situation_of(work.image())
    return Situation(states_with_disks(work), tuple(_states(work, all_topics(work))))


def broker_states(work: Work) -> tuple[BrokerState, ...]:
    """The registered brokers, ordered by id. Errors: MetashellError."""
    from metashell.cli.cluster_view import brokers
    from metashell.placement import BrokerState
    from metashell.placement.of_image import brokers_of

    if work.asks_controllers:
        return brokers_of(work.image())
    return tuple(BrokerState(one.id, one.rack, one.is_fenced, one.is_leaving) for one in brokers(work))


def states_with_disks(work: Work, ids: Collection[int] | None = None) -> tuple[BrokerState, ...]:
    """The registered brokers, and of these (None: of all) what their disks say: brokers know which failed or are cordoned.

    The metadata has only who is cordoned. Errors: MetashellError.
    """
    from metashell.admin.brokers import describe_log_dirs

    states = broker_states(work)
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
    """The partitions of these topics; nothing of those that are not there. Errors: MetashellError."""
    from metashell.cli.cluster_view import topics_named
    from metashell.codec.error_codes import UNKNOWN_TOPIC_OR_PARTITION

    found, errors = topics_named(work, topics)
    for error in errors:
        if error.code != UNKNOWN_TOPIC_OR_PARTITION:
            work.miss(str(error))
    return _states(work, found)


def moves_of(work: Work) -> Mapping[Place, Moving]:
    """The moves under way, of metadata on disk those that it has. Brokers ask a controller, and where none answers nobody waits for long.

    Errors: MetashellError.
    """
    from types import SimpleNamespace

    from metashell.admin.reassign import Moving, list_reassignments
    from metashell.cli.broker_facts import QUICK_S
    from metashell.cli.named_cluster import cluster_of, open_admin

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
    from metashell.placement import PartitionState
    from metashell.values import uuid_text

    # Brokers say what replicas there are; which of them come and go, the list of moves alone.
    moves = {} if work.asks_controllers else moves_of(work)
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


def look(work: Work, plan: Plan, only: Iterable[Standing] | None = None) -> list[Standing]:
    """Each partition of the plan beside the cluster as it is now. Errors: MetashellError."""
    from metashell.placement.progress import compare

    wanted = plan.assignments if only is None else [one.wanted for one in only]
    return compare(wanted, partitions(work, sorted({one.topic for one in wanted})))


def settings(work: Work, resources: Sequence[Resource]) -> dict[Resource, Mapping[str, str] | MetashellError]:
    """What commands have set of throttles, or why that is not known; of a topic that is not there, nothing."""
    from metashell.admin.configs import describe_configs
    from metashell.admin.errors import AdminError
    from metashell.admin.throttle import FOLLOWERS, LEADERS, RATES
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
    """The plan in a file. Errors: PathError; UsageError."""
    from metashell.placement import read_plan

    return read_plan(_text(path), "standard input" if path == STDIN else path)


def read_sizes_file(path: str) -> dict[tuple[str, int], int]:
    """The sizes in a file. Errors: PathError; UsageError."""
    from metashell.placement import read_sizes

    return read_sizes(_text(path), "standard input" if path == STDIN else path)


def _text(path: str) -> str:
    if path == STDIN:
        data = sys.stdin.buffer.read()
    else:
        try:
            # Plans are as large as clusters, so nothing limits them.
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise PathError.of(path, error) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8", path) from None
