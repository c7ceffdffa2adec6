"""Assumptions as text, and settings read from servers."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from metashell.cli.cluster.rehearse import REHEARSE
from metashell.common.errors import UsageError
from metashell.rehearse.assumptions import (
    NAMES,
    WORDS,
    Statics,
    differences,
    parse_assumption,
    parse_assumptions,
    shown_assumptions,
    with_statics,
)
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.steps import Assumptions, KillBroker, static_min_isr
from tests.rehearse.small_images import partition, small_image


def test_names_stand_for_fields_and_names_with_dots_for_settings() -> None:
    changed = parse_assumptions(Assumptions(), {"boot": "18s", "copy-rate": "100M/s", "voters": "3,1", "min.insync.replicas": "2"})
    assert (changed.boot_ms, changed.copy_rate, changed.voters) == (18_000, 100 << 20, (1, 3))
    assert dict(changed.settings) == {"min.insync.replicas": "2"}


def test_a_setting_that_is_an_assumption_too_is_taken_as_this() -> None:
    assert parse_assumption(Assumptions(), "broker.session.timeout.ms", "18000") == Assumptions(session_timeout_ms=18_000)


def test_yes_and_no_are_words() -> None:
    for word, value in (("yes", True), ("no", False)):
        changed = parse_assumption(Assumptions(), "lagging-catch-up", word)
        assert changed.lagging_catch_up is value
        assert [one.value for one in shown_assumptions(changed) if one.name == "lagging-catch-up"] == [word]


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
        ("lagging-catch-up", "true", "lagging-catch-up: 'true': yes or no"),
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


# ---- settings of servers are read where they are known, and said to be read

CONTROLLER = Statics("c.properties", frozenset({"controller"}), {"broker.session.timeout.ms": "18000", "min.insync.replicas": "1"})
BROKER = Statics(
    "b.properties", frozenset({"broker"}), {"min.insync.replicas": "2", "broker.session.timeout.ms": "7", "replica.lag.time.max.ms": "5000"}
)


def test_each_setting_comes_from_who_goes_by_it() -> None:
    found = with_statics(Assumptions(), [BROKER, CONTROLLER])
    assert (found.session_timeout_ms, found.replica_lag_ms, static_min_isr(found)) == (18_000, 5000, 2)
    where = {one.name: one.where for one in shown_assumptions(found)}
    assert where["session-timeout"] == "c.properties"
    assert where["replica-lag"] == where["min.insync.replicas"] == "b.properties"
    # What a server does not set has Kafka's default: that is known then too, not assumed.
    assert (found.heartbeat_interval_ms, where["heartbeat-interval"]) == (2000, "b.properties")
    assert (found.quorum_failover_ms, where["quorum-failover"]) == (3000, "c.properties")
    assert not where["boot"]


def test_the_time_without_a_leader_is_that_of_a_fetch_and_an_election() -> None:
    values = {"controller.quorum.fetch.timeout.ms": "5000", "controller.quorum.election.timeout.ms": "1500"}
    assert with_statics(Assumptions(), [CONTROLLER._replace(values=values)]).quorum_failover_ms == 6500


def test_a_broker_does_not_say_what_controllers_go_by_nor_the_reverse() -> None:
    found = with_statics(Assumptions(), [BROKER])
    assert (found.session_timeout_ms, found.replica_lag_ms) == (Assumptions().session_timeout_ms, 5000)
    assert {one.name for one in shown_assumptions(found) if one.where} == {"heartbeat-interval", "replica-lag", "min.insync.replicas"}
    found = with_statics(Assumptions(), [CONTROLLER])
    assert {one.name for one in shown_assumptions(found) if one.where} == {"session-timeout", "quorum-failover"}


def test_without_servers_everything_is_assumed() -> None:
    assert with_statics(Assumptions(), []) == Assumptions()


def test_what_is_asked_for_counts_more_than_what_was_read() -> None:
    found = parse_assumption(with_statics(Assumptions(), [CONTROLLER]), "session-timeout", "3s")
    [one] = [one for one in shown_assumptions(found) if one.name == "session-timeout"]
    assert (one.value, one.where) == ("3 s", "")


def test_servers_that_do_not_agree_are_reported() -> None:
    other = CONTROLLER._replace(where="d.properties", values={})
    assert differences([CONTROLLER, other]) == ["broker.session.timeout.ms differs: 18000 in c.properties, 9000 in d.properties"]
    # What only brokers go by, a controller may have otherwise, and the reverse.
    assert not differences([CONTROLLER, BROKER])


def test_a_value_that_is_no_number_names_its_file() -> None:
    with pytest.raises(UsageError, match=r"c\.properties: broker\.session\.timeout\.ms"):
        with_statics(Assumptions(), [CONTROLLER._replace(values={"broker.session.timeout.ms": "soon"})])


def test_all_names_are_settings_of_brokers() -> None:
    from metashell.quorum.controller.settings import config_keys

    assert set(NAMES) <= set(config_keys("broker"))


def test_a_session_that_was_read_is_the_one_that_ends() -> None:
    image = small_image({1: None, 2: None}, {"t": [partition(1, 2)]})
    outcome = rehearse_change(image, [KillBroker(1)], with_statics(Assumptions(), [CONTROLLER]))
    [fenced] = [event.at_ms for event in outcome.events if "fences" in event.text]
    assert 16_000 <= fenced <= 20_100
