"""Throttles of moves where brokers do not answer, with settings that the test holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from metashell.cli.admin import reassign as module
from metashell.cli.admin.client import Admin
from metashell.cli.admin.configs import Change, Operation, Resource
from metashell.cli.admin.reassign import FOLLOWERS, LEADERS, RATES, Copy, Throttle
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
            entries = [entry for entry in held.pop(one.name, "").split(",") if entry]
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
