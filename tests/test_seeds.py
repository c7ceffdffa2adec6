"""docs/seeds.md says what the rules, the marks on tests and the simulation say today, and names what there is."""

from __future__ import annotations

import pytest

from tests.seeds import shows
from tests.simulation.brokers.costs import LEASE_MS, cut_from_controllers, measure, table
from tests.test_internals import resolve
from tools import gen_seeds
from tools.generated import ROOT

PAGE = (ROOT / gen_seeds.PAGE).read_text(encoding="utf-8")
RULES = [rule for document in gen_seeds.documents() for section in document.sections for rule in section.rules]


def test_the_page_is_what_would_be_generated() -> None:
    """All but the table, which takes half a minute: `python -m tools.gen_seeds` makes both."""
    assert gen_seeds.text(gen_seeds.measured_in(PAGE)) == PAGE, "python -m tools.gen_seeds"


@pytest.mark.slow
@shows("KIP-343/self-fencing")
def test_the_first_rows_of_the_table_are_what_is_measured_now() -> None:
    measured = table([measure(cut_from_controllers, lease_ms) for lease_ms in (0, LEASE_MS)])
    assert gen_seeds.measured_in(PAGE).startswith(measured), "python -m tools.gen_seeds"


def test_every_mark_on_a_test_names_a_rule() -> None:
    assert set(gen_seeds.marks()) <= {rule.id for rule in RULES}


def test_every_rule_is_shown_by_a_test_or_kafka_of_today_has_another() -> None:
    shown = gen_seeds.marks()
    assert [rule.id for rule in RULES if rule.id not in shown and not rule.today] == []
    assert len(RULES) > 70 and sum(rule.id in shown for rule in RULES) > 60


@pytest.mark.parametrize("name", sorted({name for rule in RULES for name in rule.built}))
def test_what_a_rule_says_to_be_built_in_is_there(name: str) -> None:
    assert resolve(name) is not None
