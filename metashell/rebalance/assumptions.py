"""What a simulation assumes, as words: `session-timeout=10s`, `rate=100`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metashell.amounts import duration_ms
from metashell.errors import UsageError
from metashell.options.values import choice, whole_number
from metashell.rebalance.plan import ASSUMPTIONS, Plan

_ZERO_IS_FINE = frozenset({"callback", "join-gap", "commit", "metadata", "rate"})


def assume(plan: Plan, named: Mapping[str, str]) -> Plan:
    """The plan with other assumptions. Errors: UsageError for an unknown name, or a value that cannot be meant."""
    for name, text in named.items():
        try:
            plan = replace(plan, **_field(choice(name, tuple(ASSUMPTIONS)), text))
        except UsageError as error:
            raise UsageError(f"option --assume: {error}", error.argument) from None
    return plan


def _field(name: str, text: str) -> dict[str, Any]:
    value = whole_number(text) if name == "rate" else duration_ms(text)
    if not value and name not in _ZERO_IS_FINE:
        raise UsageError(f"{text!r}: {name} cannot be nothing", text)
    if name == "rate":
        return {"rate": value}
    if name == "latency":
        return {"latency_ms": (1, value)}
    return {f"{name.replace('-', '_')}_ms": value}
