"""What a move of a replica waits for: a broker that is gone, a failed disk, a throttle, or only the records that are left to copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError
from metashell.forms import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from metashell.admin.brokers import LogDirectory
    from metashell.admin.configs import Resource
    from metashell.admin.reassign import Place
    from metashell.cli.administering import Work
    from metashell.placement import BrokerState

_RATES: Final = {"follower": "follower.replication.throttled.rate", "leader": "leader.replication.throttled.rate"}
_REPLICAS: Final = {"follower": "follower.replication.throttled.replicas", "leader": "leader.replication.throttled.replicas"}
_ALL: Final = "*"
_COPIES: Final = "broker {} copies (-b says how much is left)"


def waits_of(work: Work, adding: Mapping[Place, Collection[int]]) -> dict[Place, list[str]]:
    """What each move waits for, in words; `adding` are the replicas that each adds. Errors: MetashellError."""
    from metashell.cli.cluster_view import names_fenced, topics_named
    from metashell.cli.reassign_view import broker_states

    if not adding:
        return {}
    found, _ = topics_named(work, {topic for topic, _ in adding})
    partitions = {(topic.name, one.id): one for topic in found for one in topic.partitions}
    leaders = {place: one.leader for place, one in partitions.items() if one.has_leader}
    brokers = {one.id: one for one in broker_states(work)}
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
    """The log directories of the brokers that copy, with these partitions; nothing through controllers."""
    from metashell.admin.brokers import describe_log_dirs

    ids = sorted({id for many in copied.values() for id in many if id in brokers and not brokers[id].is_fenced})
    if work.asks_controllers or not ids:
        return {}
    only: dict[str, list[int]] = {}
    for topic, id in copied:
        only.setdefault(topic, []).append(id)
    return describe_log_dirs(work.admin, ids, only)


def _copying(work: Work, place: Place, id: int, told: tuple[LogDirectory, ...] | MetashellError | None) -> list[str]:
    """How far the copy on a broker that runs is."""
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
    """Whether the replica is in a directory that its broker does not have online, as the metadata has it."""
    from metashell.values import LOST_DIRECTORY, MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY, uuid_text

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
    """What is set of throttles, of brokers and of topics."""

    def __init__(self, brokers: Mapping[str, Mapping[str, str]], topics: Mapping[str, Mapping[str, str]]) -> None:
        self._brokers = brokers
        self._topics = topics

    def words(self, place: Place, leader: int | None, ids: Iterable[int]) -> list[str]:
        """The throttles that hold for the copies of a partition: on its leader and on those that copy."""
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
    from metashell.admin.configs import Resource
    from metashell.cli.reassign_view import settings
    from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE

    ids = {id for many in copied.values() for id in many}
    ids |= {leaders[place] for place in copied if place in leaders}
    resources = [Resource(BROKER_RESOURCE, name) for name in ("", *map(str, sorted(ids)))]
    resources += [Resource(TOPIC_RESOURCE, name) for name in sorted({topic for topic, _ in copied})]
    found: dict[Resource, Mapping[str, str]] = {}
    for resource, values in settings(work, resources).items():
        if isinstance(values, MetashellError):
            work.miss(f"whether {resource} is throttled: {values}")
        else:
            found[resource] = values
    return _Rates(
        {resource.name: values for resource, values in found.items() if resource.kind == BROKER_RESOURCE},
        {resource.name: values for resource, values in found.items() if resource.kind == TOPIC_RESOURCE},
    )
