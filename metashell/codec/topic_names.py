"""Which names a topic may have. Source: org.apache.kafka.common.internals.Topic.validate."""

from __future__ import annotations

import re
from typing import Final

NAME_LENGTH_MAX: Final = 249
METADATA_TOPIC: Final = "__cluster_metadata"
_LEGAL = re.compile(r"[a-zA-Z0-9._-]*")


def fault_of_name(name: str) -> str | None:
    """Why a topic cannot have this name, None if it can."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > NAME_LENGTH_MAX:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    if not _LEGAL.fullmatch(name):
        return f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
