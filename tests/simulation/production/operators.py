"""Operators, who add and remove voters over connections of their own, from a machine that nothing ever happens to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.error_codes import NONE
from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.transport import ConnectionFailedError, connect
from metashell.quorum.raft.messages import AddRaftVoterRequest, RemoveRaftVoterRequest, Request
from metashell.quorum.raft.wire import OURS, api_key_of, decode_response, encode_request
from tests.simulation.network import Flight
from tests.simulation.production.sasl import sasl_client
from tests.simulation.violation import Violation
from tests.simulation.work import Work

if TYPE_CHECKING:
    from tests.simulation.history import Entry, Key
    from tests.simulation.host import Host
    from tests.simulation.production.world import ProductionWorld

OPERATOR = -1
"""The index of the operators' machine, which is none of the hosts."""
NAME = "operator"
PATIENCE_S = 3.0


class AskedWork(Work):
    """The clients of a world whose operators ask over the network."""

    world: ProductionWorld

    def lost(self, host: Host) -> None:
        """Clients of a process that is no more hear nothing."""

    def ask(self, host: Host, request: Request) -> int:
        """Let an operator ask for something."""
        self.number += 1
        self.asked[self.number] = Flight(None, 0, self.number, 0, request, host)
        self.world.note(f"operator: asks {host.name} for {request}")
        self.world.operator.start(ask(self.world, self.number, host, request))
        return self.number


async def ask(world: ProductionWorld, number: int, host: Host, request: Request) -> None:
    """Ask a replica for something and note what it says, if it does."""
    connection = None
    try:
        sasl = sasl_client() if world.options.has_sasl else None
        core = ClientConnection(client_id=NAME, sasl=sasl, ranges=OURS)
        connection = await connect(Address(*host.endpoint), core=core, timeout_s=PATIENCE_S)
        key = api_key_of(request)
        version = connection.versions[key]
        answer = await connection.request(encode_request(request, version), version=version, timeout_s=PATIENCE_S)
        response: Any = decode_response(key, version, answer)
        world.note(f"operator: {host.name} answers {response}")
        world.counts[f"{request.__class__.__name__} answered with {response.error}"] += 1
        if response.error == NONE:
            world.checked(check_done, world, host, request)
    except ConnectionFailedError as error:
        world.note(f"operator: {host.name} gives no answer: {error}")
    finally:
        if connection is not None:
            connection.close()
        del world.work.asked[number]


def check_done(world: ProductionWorld, host: Host, request: Request) -> None:
    """What an operator was told is done is committed."""
    entry: Entry | None = world.history.tip
    if isinstance(request, AddRaftVoterRequest) and request.ack_when_committed:
        key: Key = request.voter_id, request.directory_id
        while entry is not None and key not in entry.voters:
            entry = entry.prev
    elif isinstance(request, RemoveRaftVoterRequest):
        key = request.voter_id, request.directory_id
        while entry is not None and key in entry.voters:
            entry = entry.prev
    if entry is None:
        raise Violation("V6 AnswersHold", f"{host.name} tells an operator that {request} is done, and it is not committed")
