"""A plan and a scenario become an outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from metashell.rebalance.outcome import Outcome
from metashell.rebalance.plan import Plan
from metashell.rebalance.scenarios import Scenario
from metashell.rebalance.world import World


def simulate(plan: Plan, scenario: Scenario) -> Outcome:
    """Play a scenario with its own settings on top of the plan's."""
    sets: dict[str, Any] = dict(scenario.sets)
    world = World(replace(plan, **sets))
    world.watch.expects_failures = scenario.expects_failures
    return world.run(scenario.name, scenario.steps, is_warm=scenario.is_warm)
