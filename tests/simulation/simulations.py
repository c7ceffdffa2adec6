"""The simulations of quorums, brokers and logs of groups by name, each with its seeds, profiles and planted bugs."""

from __future__ import annotations

from tests.simulation.brokers.run import BROKERS
from tests.simulation.controller.run import CONTROLLER
from tests.simulation.groups.durable import GROUP_LOGS
from tests.simulation.harness import Simulation
from tests.simulation.production.run import PRODUCTION
from tests.simulation.run import CORE

SIMULATIONS: dict[str, Simulation] = {one.name: one for one in (CORE, PRODUCTION, CONTROLLER, BROKERS, GROUP_LOGS)}
