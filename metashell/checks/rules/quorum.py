"""The quorum: its voters against registrations, and what its leader says of each replica."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from metashell.amounts import duration_text
from metashell.checks.facts import IMAGE, QUORUM
from metashell.checks.model import BAD, Found
from metashell.checks.registry import check
from metashell.codec.metadata_version import REGISTER_CONTROLLER_LEVEL
from metashell.forms import counted

if TYPE_CHECKING:
    from metashell.checks.facts import Facts, Replica


@check(
    "quorum.unregistered_voter",
    BAD,
    "voters without a registration as controller",
    IMAGE,
    endangers="features cannot be upgraded, and the voter may not run",
    step="start the controller; one that is gone for good: metashell quorum remove-controller",
)
def unregistered_voter(facts: Facts) -> Iterator[Found]:
    assert facts.health is not None
    image = facts.image
    if not image.is_as_formatted and (image.features.metadata_version or 0) >= REGISTER_CONTROLLER_LEVEL:
        missing = (id for id in sorted(facts.health.voters()) if id not in image.cluster.controllers)
        yield from (Found(str(id), key=("voter", id)) for id in missing)


@check(
    "quorum.lagging",
    BAD,
    "replicas of the metadata that have not had all of it for too long",
    QUORUM,
    follows=("unreachable_voter", "silent_voter", "stale_controller"),
    step="look whether the node runs and reaches the leader",
    of_a_part=True,
)
def lagging(facts: Facts) -> Iterator[Found]:
    quorum = facts.quorum
    assert quorum is not None
    leader = next((voter for voter in quorum.voters if voter.id == quorum.leader_id), None)
    if leader is None:
        return
    fenced = _told_as_fenced(facts)
    for role, replicas in (("voter", quorum.voters), ("observer", quorum.observers)):
        for replica in sorted(replicas):
            caught_up, now = replica.last_caught_up_ms, leader.last_fetch_ms
            behind_ms = None if caught_up is None or now is None else max(0, now - caught_up)
            if (
                replica.id == leader.id
                or (role == "observer" and replica.id in fenced)
                or (behind_ms is not None and behind_ms <= quorum.lag_after_ms)
            ):
                continue
            if role == "observer" and _has_new_disk(replica, quorum.observers):
                continue
            ago = "never had everything" if behind_ms is None else f"had everything {duration_text(behind_ms)} ago"
            lag = counted(leader.log_end_offset - replica.log_end_offset, "record")
            yield Found(f"{role} {replica.id}: it is {lag} behind, {ago}", key=(role, replica.id))


def _told_as_fenced(facts: Facts) -> frozenset[int]:
    """The brokers of which `fenced` tells: that they fetch no metadata says the same once more."""
    if facts.health is None or (facts.told is not None and "fenced" not in facts.told):
        return frozenset()
    return frozenset(id for id, broker in facts.image.cluster.brokers.items() if broker.fenced)


def _has_new_disk(former: Replica, observers: Iterable[Replica]) -> bool:
    """Whether a node came back with another directory id: the leader tells of the former one for five minutes more (LeaderState)."""
    since = former.last_fetch_ms or 0
    newer = (one for one in observers if one.id == former.id and one.directory_id != former.directory_id)
    return any((one.last_fetch_ms or 0) > since for one in newer)
