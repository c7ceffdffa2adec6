"""One seed of the controller's worlds: as the production worlds, with controllers, brokers and their clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from metashell.quorum.controller import controller, decision
from metashell.quorum.controller.controller import PeriodicTask
from metashell.quorum.controller.decision import Decision
from tests.simulation.controller.clients import Clients
from tests.simulation.controller.options import ControllerOptions, draw
from tests.simulation.controller.transactions import Transactions
from tests.simulation.controller.world import ControllerWorld
from tests.simulation.planted import Patch, patched
from tests.simulation.production.run import fill, first_history, run_world
from tests.simulation.run import Result

if TYPE_CHECKING:
    from metashell.quorum.controller.settings import Settings
    from tests.simulation.trace import Trace

EVENTS = 8_000
"""The least that a run has."""


def run(
    seed: int,
    *,
    without: Iterable[str] = (),
    events: int = EVENTS,
    trace: Trace | None = None,
    options: ControllerOptions | None = None,
    profile: str | None = None,
) -> Result:
    """Run a seed. `without` names options that are to have their plain value; what a rule finds ends the run."""
    options = (options or draw(seed, profile)).without(without)
    world = ControllerWorld(options, first_history(options), trace)
    world.work = Clients(world)
    fill(world)
    with patched([*world.patches(), *smaller(options), *more_tasks(options)]):
        return run_world(world, events)


def smaller(options: ControllerOptions) -> list[Patch]:
    """Batches as small as the options ask for, so that there are decisions of several."""

    def batches(made: Decision) -> Iterable[object]:
        if made.atomic:
            return original(made)
        records, size = made.records, options.batch_records
        return iter([records[start : start + size] for start in range(0, len(records), size)])

    original = decision.Decision.batches
    return [(decision.Decision, "batches", batches)]


def more_tasks(options: ControllerOptions) -> list[Patch]:
    """A periodic task that writes in metadata transactions."""
    if not options.transaction_every:
        return []

    def tasks(settings: Settings) -> list[PeriodicTask]:
        return [*original(settings), PeriodicTask("transactions", options.transaction_every, Transactions().step)]

    original = controller._periodic_tasks
    return [(controller, "_periodic_tasks", tasks)]
