"""Assumptions as words."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from metashell.cli.cluster.rehearse import REHEARSE
from metashell.common.errors import UsageError
from metashell.rehearse.assumptions import WORDS, parse_assumption, parse_assumptions, shown_assumptions
from metashell.rehearse.steps import Assumptions


def test_names_stand_for_fields_and_names_with_dots_for_settings() -> None:
    changed = parse_assumptions(Assumptions(), {"boot": "18s", "copy-rate": "100M/s", "voters": "3,1", "min.insync.replicas": "2"})
    assert (changed.boot_ms, changed.copy_rate, changed.voters) == (18_000, 100 << 20, (1, 3))
    assert dict(changed.settings) == {"min.insync.replicas": "2"}


def test_a_setting_that_is_an_assumption_too_is_taken_as_this() -> None:
    assert parse_assumption(Assumptions(), "broker.session.timeout.ms", "18000") == Assumptions(session_timeout_ms=18_000)


def test_each_field_has_a_name() -> None:
    assert [word.field for word in WORDS.values()] + ["settings", "read"] == [item.name for item in fields(Assumptions)]


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("copy-rat", "1", "copy-rat: not an assumption (did you mean copy-rate?)"),
        ("xyz", "1", "xyz: not an assumption (known: session-timeout, "),
        ("copy-rate", "0", "copy-rate: '0': nothing would ever be copied"),
        ("copy-rate", "fast", "copy-rate: 'fast' is not a size"),
        ("replica-lag", "0", "replica-lag: '0' is not a time"),
        ("down", "30", "down: '30' is not a time"),
        ("min.insync.replica", "1", "min.insync.replica: not a setting of a server (did you mean min.insync.replicas?)"),
        ("voters", "a", "voters: 'a' is not a whole number"),
    ],
)
def test_a_wrong_one_is_refused_by_its_name(name: str, value: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_assumption(Assumptions(), name, value)
    assert str(caught.value).startswith(fault)


def test_help_lists_each_with_its_default() -> None:
    lines = dict(REHEARSE.epilog)["ASSUMPTIONS"].split("\n")
    listed = {line.split()[0]: line for line in lines if re.match("[a-z-]+  ", line)}
    assert list(listed) == list(WORDS)
    for name, value, is_default, where in shown_assumptions(Assumptions()):
        assert is_default
        assert not where
        assert name == "voters" or f"  {value} " in listed[name], name
        assert listed[name].endswith(WORDS[name].help)
