"""Our controller behind its listener against what a real one answered and wrote: as tests/quorum/controller/test_golden.py, over sockets.

`listener_stays.tsv` names the rows that are not equal only here, and why. `make soak` runs every scenario; here a part of them does.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.quorum.controller.golden import scenarios
from tests.quorum.controller.test_golden import DIFFERS, EQUAL, STAYS, rows_of
from tests.quorum.server.listener_golden import run

pytestmark = pytest.mark.golden

ONLY_HERE = rows_of("../server/listener_stays.tsv")
# Walks are alike, and these scenarios wait for seconds.
WAITING = {"session-expiry", "elections-by-themselves", "delegation-tokens", "session-of-a-fenced-broker"}
WALKS = {f"random-{number:04}" for number in range(1, 31) if number % 5}
NAMES = [name for name in scenarios() if os.environ.get("METASHELL_SOAK") or name not in WAITING | WALKS]


@pytest.mark.parametrize("name", NAMES)
def test_every_row_of_a_scenario_is_answered_and_written_as_by_the_real_controller(name: str, tmp_path: Path) -> None:
    outcomes = list(run(name, tmp_path))

    unequal = {outcome.n: outcome for outcome in outcomes if outcome.verdict not in EQUAL}
    expected = {**STAYS.get(name, {}), **DIFFERS.get(name, {}), **ONLY_HERE.get(name, {})}
    unknown = {n: (outcome.verdict, outcome.golden, outcome.actual) for n, outcome in unequal.items() if n not in expected}

    assert not unknown
    assert set(unequal) == set(expected)
    assert len(outcomes) >= len(scenarios()[name]["rows"])
