"""Twins: the same random requests to a real controller of Kafka and to ours, with the same answers and the same records.

A failure prints the shrunk history, and what the real one answered. `make soak` runs more histories, with new seeds.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.interop.real_controllers import RealControllers
from tests.interop.twin_machine import TwinMachine
from tests.interop.twin_pair import InProcess, Make, OverListener
from tests.quorum.controller.golden import Outcome

pytestmark = pytest.mark.slow

IS_SOAK = bool(os.environ.get("METASHELL_SOAK"))
FACTOR = 20 if IS_SOAK else 1
STEPS = 50


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> RealControllers:
    return RealControllers(tmp_path_factory.mktemp("real"))


@pytest.mark.parametrize(("make", "histories"), [(InProcess, 30), (OverListener, 10)])
def test_random_histories_are_answered_and_written_alike(pool: RealControllers, make: Make, histories: int) -> None:
    verdicts: Counter[str] = Counter()
    apis: Counter[str] = Counter()

    class Machine(TwinMachine):
        def check(self, outcome: Outcome) -> None:
            verdicts[outcome.verdict] += 1
            apis[outcome.api] += 1
            super().check(outcome)

    Machine.pool, Machine.make = pool, staticmethod(make)
    if IS_SOAK:
        seed(int(os.environ.get("METASHELL_SEED", "0")))(Machine)
    # Without `explain`, which would run a failing history many times more.
    phases = [Phase.generate, Phase.shrink]
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=histories * FACTOR,
            stateful_step_count=STEPS,
            derandomize=not IS_SOAK,
            deadline=None,
            database=None,
            phases=phases,
            print_blob=IS_SOAK,
            suppress_health_check=list(HealthCheck),
        ),
    )

    assert verdicts["equal"] > histories * 20
    assert len(apis) > 20, apis
