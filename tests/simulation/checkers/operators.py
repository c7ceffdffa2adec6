"""What an operator may believe (V6): NONE to AddRaftVoter or RemoveRaftVoter means that the change is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.error_codes import NONE
from metashell.quorum.raft.messages import AddRaftVoterRequest, RemoveRaftVoterRequest
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World


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
