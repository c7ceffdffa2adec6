"""The classes of all messages, by name: `from metashell.codec.messages import TopicRecord`.

A class is compiled when it is first named. Its structs hang below it: `RegisterBrokerRecord.BrokerEndpoint`. The types
that checkers see stand in `messages.pyi`, made from the same schema texts.
"""

from __future__ import annotations

from typing import Any

from metashell.codec.registry import message_type

FAMILIES = ("metadata", "control", "data", "remote_log", "offsets", "transactions", "share", "header", "request", "response")
"""Where a name is looked for; KIP-631's own forms reuse names and are not among them."""


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for family in FAMILIES:
            try:
                found = globals()[name] = message_type(family, name).cls
            except KeyError:
                continue
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
