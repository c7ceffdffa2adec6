"""Our controller against what a real one answered and wrote, row by row; see tests/golden/controller/README.md.

Two tables say which rows are not equal, and why: those where the real controller halts, hangs up or resigns because of what one client
sent and ours refuses and stays (`golden_stays.tsv`), and those that are not right yet, or where the real one goes on otherwise because of a
fault of its own (`golden_differs.tsv`). A row that becomes equal has to leave its table.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.codec.releases import NEWEST_RELEASE
from tests.quorum.controller.golden import run, scenarios

FOLDER = Path(__file__).parent
EQUAL = ("equal", "order", "varies")


def rows_of(table: str) -> dict[str, dict[int, str]]:
    """Scenario to row to reason."""
    rows: dict[str, dict[int, str]] = {}
    for line in (FOLDER / table).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            scenario, row, reason = line.split("\t")
            rows.setdefault(scenario, {})[int(row)] = reason
    return rows


STAYS = rows_of("golden_stays.tsv")
DIFFERS = rows_of("golden_differs.tsv")


@pytest.mark.parametrize("name", list(scenarios()))
def test_every_row_of_a_scenario_is_answered_and_written_as_by_the_real_controller(name: str) -> None:
    outcomes = list(run(name))

    stays = {outcome.n for outcome in outcomes if outcome.verdict == "stays"}
    differs = {outcome.n: (outcome.golden, outcome.actual) for outcome in outcomes if outcome.verdict in ("different", "message")}
    unknown = {n: both for n, both in differs.items() if n not in DIFFERS.get(name, {})}

    assert not unknown
    assert set(differs) == set(DIFFERS.get(name, {}))
    assert stays == set(STAYS.get(name, {}))


def test_the_tables_give_a_reason_for_every_row() -> None:
    reasons = [reason for table in (STAYS, DIFFERS) for rows in table.values() for reason in rows.values()]

    assert all(len(reason) > 10 for reason in reasons)


def test_nearly_all_rows_bind() -> None:
    rows = sum(len(scenario["rows"]) for scenario in scenarios().values())
    differing = sum(len(found) for found in DIFFERS.values())

    assert rows > 9500
    assert {scenario["kafka"] for scenario in scenarios().values()} == {NEWEST_RELEASE.patch}
    assert differing < rows / 500
