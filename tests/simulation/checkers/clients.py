"""The clients' own record of what was acknowledged to them (L6), held at the end against every log that is left; and what an operator may
believe (V6): NONE to AddRaftVoter or RemoveRaftVoter means that the change is committed.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from metashell.codec.error_codes import NONE
from metashell.quorum.raft.messages import AddRaftVoterRequest, RemoveRaftVoterRequest
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World


class Record:
    """What clients know: the values that they appended, by the offset of the first, once the leader called them committed."""

    __slots__ = ("acknowledged",)

    def __init__(self) -> None:
        self.acknowledged: dict[int, tuple[int, list[bytes]]] = {}

    def note(self, host: Host, offset: int) -> None:
        """A leader's high watermark reached `offset`: whoever appended before it has its answer."""
        pending = host.pending_acks
        while pending and pending[0][1] < offset:
            first, last, values = pending.pop(0)
            known = self.acknowledged.setdefault(first, (last, values))
            if known != (last, values):
                raise Violation("L6 AckedDurable", f"{host.name} acknowledges {values} at {first}, where {known[1]} were acknowledged")


def check_logs(world: World, hosts: list[Host]) -> None:
    """All that was acknowledged lies in the logs of `hosts` where its client was told, or before a snapshot that the log starts with.

    To be asked when all running replicas have everything.
    """
    for host in hosts:
        check_log(world, host)


def check_log(world: World, host: Host) -> None:
    log = host.log
    for first, (last, values) in world.record.acknowledged.items():
        if last < log.start_offset:
            continue
        index = bisect_right(log.ends, first)
        entry = log.entries[index] if index < len(log.entries) else None
        if entry is None or not entry.base <= first <= last < entry.end or not all(value in entry.data for value in values):
            raise Violation("L6 AckedDurable", f"{host.name} lacks what was acknowledged at {first} to {last}: it has {entry} there")


def check_answer(world: World, host: Host, request: Any, response: Any) -> None:
    """An answer is about to leave `host`."""
    if response.error != NONE:
        return
    key = request.voter_id, request.directory_id
    committed = world.history.tip.voters
    if request.__class__ is RemoveRaftVoterRequest and key in committed:
        raise Violation("V6", f"{host.name} says that voter {key[0]} is removed; committed voters are {ids(committed)}")
    if request.__class__ is AddRaftVoterRequest and key not in committed:
        if request.ack_when_committed:
            raise Violation("V6", f"{host.name} says that voter {key[0]} is added; committed voters are {ids(committed)}")
        if key not in host.log.tail.voters:
            raise Violation("V6", f"{host.name} says that voter {key[0]} is added; its log has voters {ids(host.log.tail.voters)}")


def ids(voters: frozenset[tuple[int, bytes]]) -> list[int]:
    return sorted(id for id, _ in voters)
