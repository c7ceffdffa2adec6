"""Throttles of moves where brokers do not answer, with settings that the test holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from metashell.cli.admin import reassign as module
from metashell.cli.admin.client import Admin
from metashell.cli.admin.configs import Change, Operation, Resource
from metashell.cli.admin.reassign import FOLLOWERS, LEADERS, RATES, Copy, Found, Throttle
from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.common.errors import MetashellError

ORDERS = Resource(TOPIC_RESOURCE, "orders")
COPIES = [Copy("orders", 0, (1, 2), (3,))]


def broker(id: int) -> Resource:
    return Resource(BROKER_RESOURCE, str(id))


class Settings:
    """The settings of a cluster; those in `silent` cannot be read, those in `refused` cannot be changed."""

    def __init__(self) -> None:
        self.held: dict[Resource, dict[str, str]] = {}
        self.silent: set[Resource] = set()
        self.refused: set[Resource] = set()

    def values(self, resources: Sequence[Resource]) -> Mapping[Resource, Mapping[str, str] | MetashellError]:
        return {one: dict(self.held.get(one, {})) for one in resources if one not in self.silent}

    def alter(self, admin: Admin, changes: Mapping[Resource, Sequence[Change]]) -> dict[Resource, MetashellError | None]:
        return {resource: self._alter(resource, made) for resource, made in changes.items()}

    def _alter(self, resource: Resource, made: Sequence[Change]) -> MetashellError | None:
        if resource in self.refused | self.silent:
            return MetashellError(f"{resource}: down")
        held = self.held.setdefault(resource, {})
        for one in made:
            entries = [entry.strip() for entry in held.pop(one.name, "").split(",") if entry]
            changed = (one.value or "").split(",")
            if one.operation is Operation.SET:
                held[one.name] = one.value or ""
            elif one.operation is Operation.APPEND:
                held[one.name] = ",".join([*entries, *changed])
            elif one.operation is Operation.SUBTRACT:
                held[one.name] = ",".join(entry for entry in entries if entry not in changed)
        if not held:
            del self.held[resource]
        return None

    def throttle(self, rate: int | None = 1000) -> Throttle:
        return Throttle(cast("Admin", None), self.values, rate)


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    found = Settings()
    monkeypatch.setattr(module, "alter_configs", found.alter)
    return found


@pytest.mark.parametrize("how", ["silent", "refused"])
def test_a_broker_that_fails_is_told_and_found_again(settings: Settings, how: str) -> None:
    settings.throttle().set(COPIES)
    getattr(settings, how).add(broker(3))
    # Nothing but the lists says which brokers took part.
    found = settings.throttle().clear([("orders", 0)], (), ())
    assert list(found.errors) == [broker(3)]
    assert settings.held == {broker(3): dict.fromkeys(RATES, "1000"), ORDERS: {FOLLOWERS: "0:3"}}
    getattr(settings, how).clear()
    assert not settings.throttle().clear([("orders", 0)], (), ()).errors
    assert settings.held == {}


def test_only_the_rate_that_is_named_is_removed(settings: Settings) -> None:
    settings.held[broker(1)] = dict.fromkeys(RATES, "50000000")
    assert settings.throttle().set(COPIES).notes == ["broker:1 keeps the throttle that it has: 50000000 bytes/s"]
    unnamed = settings.throttle(None).clear([("orders", 0)], (1, 2, 3), ())
    assert unnamed.kept == (1, 2, 3) and ORDERS not in settings.held and len(settings.held) == 3
    named = settings.throttle().clear([("orders", 0)], (1, 2, 3), ())
    assert named.notes == ["a rate of 50000000 bytes/s stays: broker:1"] and named.kept == (1,)
    assert settings.held == {broker(1): dict.fromkeys(RATES, "50000000")}


def test_rates_are_found_without_entries_in_lists(settings: Settings) -> None:
    settings.held[ORDERS] = {LEADERS: "*", FOLLOWERS: "*"}
    throttle = settings.throttle()
    throttle.set(COPIES)
    assert len(settings.held) == 4
    throttle.clear([("orders", 0)], (), ())
    assert settings.held == {ORDERS: {LEADERS: "*", FOLLOWERS: "*"}}


def test_brokers_that_other_moves_need_keep_the_rate(settings: Settings) -> None:
    settings.throttle().set(COPIES)
    found = settings.throttle().clear([("orders", 0)], (), (3,))
    assert found.notes == ["the rate stays, for other moves need it: broker:3"]
    assert settings.held == {broker(3): dict.fromkeys(RATES, "1000")}


def test_a_source_that_is_down_is_left_out(settings: Settings) -> None:
    settings.silent.add(broker(2))
    throttle = settings.throttle()
    found = throttle.set(COPIES, down=(2,))
    assert not found.errors and found.notes == ["down, so without a throttle: broker:2"]
    assert settings.held[ORDERS] == {LEADERS: "0:1", FOLLOWERS: "0:3"}
    assert not throttle.clear([("orders", 0)], (1, 2, 3), ()).errors
    assert settings.held == {}


def test_nothing_is_set_where_a_broker_cannot_be_read(settings: Settings) -> None:
    settings.silent.add(broker(3))
    throttle = settings.throttle()
    assert list(throttle.set(COPIES).errors) == [broker(3)]
    assert settings.held == {} and not throttle.is_set


def test_a_throttle_is_of_exactly_the_copies(settings: Settings) -> None:
    """Each source and target has the rate, and each replica stands in the list of its side, those of before included."""
    settings.held[ORDERS] = {LEADERS: "7:9, 0:1", "retention.ms": "5"}
    copies = [Copy("orders", 0, (1, 2), (3,)), Copy("orders", 1, (2,), ()), Copy("pay", 5, (4,), (1, 5))]
    throttle = settings.throttle()
    assert not throttle.is_set
    assert throttle.set(copies) == Found({}, [])
    assert throttle.is_set
    assert settings.held == {
        **{broker(id): dict.fromkeys(RATES, "1000") for id in (1, 2, 3, 4, 5)},
        ORDERS: {LEADERS: "7:9,0:1,0:2", FOLLOWERS: "0:3", "retention.ms": "5"},
        Resource(TOPIC_RESOURCE, "pay"): {LEADERS: "5:4", FOLLOWERS: "5:1,5:5"},
    }
    # A second time there is nothing to add.
    before = {resource: dict(held) for resource, held in settings.held.items()}
    assert settings.throttle().set(copies) == Found({}, []) and settings.held == before
    assert throttle.clear([("orders", 0), ("pay", 5)], (), ()) == Found({}, [])
    assert settings.held == {ORDERS: {LEADERS: "7:9", "retention.ms": "5"}} and not throttle.is_set


def test_nothing_is_throttled_where_nothing_is_copied(settings: Settings) -> None:
    throttle = settings.throttle()
    assert throttle.set([Copy("orders", 0, (1, 2), ())]) == Found({}, [])
    assert settings.held == {} and not throttle.is_set


@pytest.mark.parametrize("name", [LEADERS, FOLLOWERS])
def test_a_list_of_all_replicas_is_not_added_to(settings: Settings, name: str) -> None:
    """An entry beside `*` would stay in the list for ever, or make it one that Kafka cannot read."""
    settings.held[ORDERS] = {name: "*"}
    throttle = settings.throttle()
    throttle.set(COPIES)
    other = {LEADERS: {FOLLOWERS: "0:3"}, FOLLOWERS: {LEADERS: "0:1,0:2"}}[name]
    assert settings.held[ORDERS] == {name: "*", **other}
    throttle.clear([("orders", 0)], (), ())
    assert settings.held == {ORDERS: {name: "*"}}


def test_each_rate_is_set_where_it_is_missing(settings: Settings) -> None:
    settings.held[broker(1)] = {RATES[0]: "50", RATES[1]: "60"}
    settings.held[broker(2)] = {RATES[0]: "1000"}
    assert settings.throttle().set(COPIES).notes == ["broker:1 keeps the throttle that it has: 50, 60 bytes/s"]
    assert settings.held[broker(1)] == {**dict.fromkeys(RATES, "1000"), RATES[0]: "50", RATES[1]: "60"}
    assert settings.held[broker(2)] == dict.fromkeys(RATES, "1000")


def test_a_target_that_is_down_is_throttled_all_the_same(settings: Settings) -> None:
    # It copies as soon as it is back.
    found = settings.throttle().set([Copy("orders", 0, (1, 2), (3,)), Copy("orders", 1, (3,), (1,))], down=(3, 2))
    assert found.notes == ["down, so without a throttle: broker:2"]
    assert settings.held[ORDERS] == {LEADERS: "0:1,1:3", FOLLOWERS: "0:3,1:1"}
    assert broker(3) in settings.held and broker(2) not in settings.held


def test_what_was_just_set_counts_before_it_can_be_read(settings: Settings) -> None:
    """The metadata log that settings are read from may lag behind: what it does not show yet is removed all the same."""
    throttle = settings.throttle()
    throttle.set(COPIES)
    shown, settings.values = settings.held, lambda resources: {one: {} for one in resources}  # type: ignore[method-assign]
    late = Throttle(cast("Admin", None), settings.values, 1000)
    assert late.clear([("orders", 0)], (1, 2, 3), ()) == Found({}, []) and shown
    throttle._values = settings.values
    assert throttle.clear([("orders", 0)], (), ()) == Found({}, [])
    assert settings.held == {}


def test_the_entries_of_other_partitions_stay(settings: Settings) -> None:
    settings.held[ORDERS] = {LEADERS: "0:1,1:1,10:1", FOLLOWERS: "0:x,1:4"}
    settings.held[broker(4)] = dict.fromkeys(RATES, "1000")
    throttle = settings.throttle()
    assert throttle.clear([("orders", 1)], (), ()) == Found({}, [])
    assert settings.held == {ORDERS: {LEADERS: "0:1,10:1", FOLLOWERS: "0:x"}}


def test_topics_that_cannot_be_read_keep_the_throttle_for_the_next_time(settings: Settings) -> None:
    throttle = settings.throttle()
    throttle.set(COPIES)
    settings.silent.add(ORDERS)
    assert list(throttle.clear([("orders", 0)], (), ()).errors) == [ORDERS]
    assert throttle.is_set and list(settings.held) == [ORDERS]
    settings.silent.clear()
    assert throttle.clear([("orders", 0)], (), ()) == Found({}, []) and settings.held == {}
    assert list(settings.throttle().set([*COPIES, Copy("nope", 0, (1,), (2,))]).errors) == []
