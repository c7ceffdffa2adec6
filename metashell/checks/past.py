"""Since when something is as it is, from the rare records of the log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from metashell.checks.model import Evidence

if TYPE_CHECKING:
    from metashell.checks.facts import LogEvent

Setting = tuple[int, str, str]
"""Resource type, resource name and key of a setting."""


def evidence_of(event: LogEvent) -> tuple[Evidence, ...]:
    return (Evidence("", event.offset, event.timestamp_ms),)


def settings_since(events: Iterable[LogEvent]) -> dict[Setting, LogEvent]:
    """The record since which each setting has had its value; a record that says the same again changes nothing."""
    found: dict[Setting, LogEvent] = {}
    for event in events:
        if event.name == "CONFIG_RECORD":
            record: Any = event.record
            key = record.resource_type, record.resource_name, record.name
            if key not in found or found[key].record.value != record.value:
                found[key] = event
    return found


def last_of(events: Iterable[LogEvent], name: str, **fields: object) -> LogEvent | None:
    """The last record of a type with these fields."""
    found = None
    for event in events:
        if event.name == name and all(getattr(event.record, field) == value for field, value in fields.items()):
            found = event
    return found
