"""One seed of the controller's worlds: as the production worlds, with controllers, brokers and their clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE
from metashell.quorum.controller import controller, decision
from metashell.quorum.controller.controller import PeriodicTask
from metashell.quorum.controller.decision import Decision, Steps, TaskResult, config_record
from metashell.quorum.controller.state import State
from tests.simulation.bugs import Patch
from tests.simulation.controller.clients import Clients
from tests.simulation.controller.options import ControllerOptions, draw
from tests.simulation.controller.planted import BUGS
from tests.simulation.controller.world import ControllerWorld
from tests.simulation.harness import Simulation
from tests.simulation.production.loop import system
from tests.simulation.production.run import play
from tests.simulation.quorum import fill, first_history

if TYPE_CHECKING:
    from metashell.quorum.controller.settings import Settings
    from tests.simulation.trace import Trace

EVENTS = 8_000
"""The least that a run has."""


def build(options: ControllerOptions, trace: Trace | None = None) -> ControllerWorld:
    """A world in which all controllers are about to start."""
    world = ControllerWorld(options, first_history(options), trace)
    world.work = Clients(world)
    fill(world)
    return world


def patches(world: ControllerWorld) -> list[Patch]:
    """What is looked at in the controllers, and what the options ask for."""
    return [*system(), *world.patches(), *smaller(world.options), *more_tasks(world.options)]


def smaller(options: ControllerOptions) -> list[Patch]:
    """Batches as small as the options ask for, so that there are decisions of several."""

    def batches(made: Decision) -> Iterable[object]:
        if made.atomic:
            return original(made)
        records, size = made.records, options.batch_records
        return iter([records[start : start + size] for start in range(0, len(records), size)])

    original = decision.Decision.batches
    return [(decision.Decision, "batches", batches)]


KEY = "log.flush.interval.messages"
"""What is written in transactions, and by nobody else."""


class Transactions:
    """Metadata transactions that stay open for a while: the log allows them, and no decision but a new cluster's first uses any today.

    A periodic task: one step begins a transaction, the next one ends or aborts it; what others write meanwhile is in it."""

    def __init__(self) -> None:
        self._count = 0

    def step(self, state: State, now_ms: int) -> Steps[TaskResult]:
        yield
        self._count += 1
        if state.tip.before_transaction is None:
            begin = (messages.BeginTransactionRecord(name="simulation"), 0)
            return Decision(None, [begin, config_record(BROKER_RESOURCE, "", KEY, str(self._count))]), False
        return Decision(None, [(messages.EndTransactionRecord(), 0)]), False


def more_tasks(options: ControllerOptions) -> list[Patch]:
    """A periodic task that writes in metadata transactions."""
    if not options.transaction_every:
        return []

    def tasks(settings: Settings) -> list[PeriodicTask]:
        return [*original(settings), PeriodicTask("transactions", options.transaction_every, Transactions().step)]

    original = controller._periodic_tasks
    return [(controller, "_periodic_tasks", tasks)]


CONTROLLER = Simulation("controller", draw, build, play, EVENTS, BUGS, patches)
run = CONTROLLER.run
