"""The classes of all messages, by name: `from metashell.codec.messages import TopicRecord`.

A class is compiled at its first use. Its structs are its attributes: `RegisterBrokerRecord.BrokerEndpoint`. Type checkers read
`messages.pyi`, which is generated from the same schemas.
"""

from __future__ import annotations

from typing import Any

from metashell.codec.registry import message_type

FAMILIES = ("metadata", "control", "data", "remote_log", "offsets", "transactions", "share", "header", "request", "response")
"""The families that are searched for a name. That of KIP-631 is left out, because it reuses names."""


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for family in FAMILIES:
            try:
                found = globals()[name] = message_type(family, name).cls
            except KeyError:
                continue
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
