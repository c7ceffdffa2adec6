"""A production world whose replicas are controllers: what their answers rest on is looked at when they leave."""

from __future__ import annotations

from asyncio import events
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.net.accepted_connection import ServerRequest
from metashell.quorum.controller import Decision, QuorumController, Request
from metashell.quorum.controller.controller import ROUTES
from tests.simulation.bugs import Patch
from tests.simulation.controller.callers import Told
from tests.simulation.controller.ledger import Ledger
from tests.simulation.controller.options import ControllerOptions
from tests.simulation.controller.replica import ControllerProcess
from tests.simulation.production.replica import Process
from tests.simulation.production.world import ProductionHost, ProductionWorld
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from metashell.quorum.raft.roles import Role
    from tests.simulation.controller.clients import Clients
    from tests.simulation.history import Entry, History
    from tests.simulation.host import Host
    from tests.simulation.trace import Trace

RULE = "A1 AnswerAfterCommit"


class Basis(NamedTuple):
    """What a decision rests on: all before `end_offset`, its own records among them, in the epoch that was led; -1 on a standby."""

    answer: Any
    epoch: int
    end_offset: int
    records: int


class ControllerWorld(ProductionWorld):
    """One run of one seed. `tellings` are, by client, how its last answer came to be; `led_at` is when each epoch had its leader."""

    options: ControllerOptions
    work: Clients  # type: ignore[assignment]

    def __init__(self, options: ControllerOptions, history: History, trace: Trace | None = None) -> None:
        super().__init__(options, history, trace)
        self.ledger = Ledger(history)
        self.tellings: dict[str, Told] = {}
        self.led_at: dict[int, int] = {}
        self.bases: dict[int, Basis] = {}
        self._ticks = 0

    def new_process(self, host: ProductionHost) -> Process:
        return ControllerProcess(self, host)

    def tick(self) -> int:
        """A moment: later than all that were asked for before."""
        self._ticks += 1
        return self._ticks

    def enter_roles(self, host: Host, role: Role) -> None:
        super().enter_roles(host, role)
        if role.name == "leader":
            self.led_at.setdefault(role.epoch, self.tick())
            self.hosts[host.index].last_prepared = -1

    def superseded_at(self, epoch: int) -> int:
        """When a leader of a later epoch was there; a moment that is to come for none."""
        return min((at for led, at in self.led_at.items() if led > epoch), default=1 << 62)

    # What is looked at in the server

    def patches(self) -> list[Patch]:
        """Layers above the controller and above its answers."""
        decide, respond, written = QuorumController.decide_steps, ServerRequest.respond, QuorumController.written

        def decided(controller: QuorumController, request: Request, now_ms: int, wall_ms: int | None = None) -> Any:
            state = controller.state
            epoch, end_offset = state.claim_epoch, state.next_write_offset
            route = ROUTES.get(request.api_key)
            if route is not None and not route.is_write:
                # It reads what is stable.
                end_offset = state.stable_offset + 1
            found = decide(controller, request, now_ms, wall_ms)
            if isinstance(found, Decision):
                return self._note(found, epoch, end_offset)
            return steps(found, epoch, end_offset)

        def steps(made: Any, epoch: int, end_offset: int) -> Any:
            return self._note((yield from made), epoch, end_offset)

        def has_written(controller: QuorumController, decision: Decision) -> int:
            basis = self.bases.get(id(decision.answer))
            if basis is not None:
                # Raft may have put batches of its own between those of the controller.
                last = self._here().last_prepared
                self.bases[id(decision.answer)] = basis._replace(end_offset=max(basis.end_offset, last + 1))
            return written(controller, decision)

        def responded(request: ServerRequest, message: Any) -> None:
            self._answers(request, message)
            respond(request, message)

        return [
            (QuorumController, "decide_steps", decided),
            (QuorumController, "written", has_written),
            (ServerRequest, "respond", responded),
        ]

    def _here(self) -> ProductionHost:
        """The host whose process runs just now."""
        loop: Any = events._get_running_loop()
        return self.hosts[loop.index]

    def _note(self, decision: Decision, epoch: int, end_offset: int) -> Decision:
        if decision.answer is not None:
            count = len(decision.records)
            self.bases[id(decision.answer)] = Basis(decision.answer, epoch, end_offset + count, count)
        return decision

    def _answers(self, request: ServerRequest, message: Any) -> None:
        basis = self.bases.pop(id(message), None)
        if basis is None or basis.answer is not message:
            return
        client_id = request.header.client_id
        if client_id is not None:
            self.tellings[client_id] = Told(basis.epoch, basis.records > 0)
        if basis.epoch >= 0 and not request.cancelled and not self.options.is_black_box:
            self.checked(self._check_basis, self._here().name, basis)

    def _check_basis(self, name: str, basis: Basis) -> None:
        """All that an answer rests on is committed, outside of any transaction, and is what its controller wrote or found."""
        self.ledger.follow()
        what = f"{name} answers in epoch {basis.epoch} {basis.answer}, which rests on all before {basis.end_offset}"
        if basis.end_offset > self.ledger.stable_end:
            raise Violation(RULE, f"{what}: of that {self.ledger.stable_end} are committed and stable")
        entry: Entry | None = self.history.tip
        while entry is not None and entry.base >= basis.end_offset:
            entry = entry.prev
        assert entry is not None
        if entry.epoch > basis.epoch or (basis.records and entry.epoch != basis.epoch):
            raise Violation(RULE, f"{what}: what is committed there is {entry}")
