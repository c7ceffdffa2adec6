"""Transactions as far as committed offsets need them: who produces, in which epoch, and which groups are in the open one.

Kafka keeps this in `__transaction_state`, behind a coordinator of its own. Here it is in memory, so that one coordinator can be tried with
producers; a new coordinator knows no transactions, and answers as Kafka does for ids that it never saw.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

EXPIRATION_MS: Final = 7 * 86_400_000
"""transactional.id.expiration.ms as Kafka has it by default."""
_CHECK_MS: Final = 3_600_000


@dataclass(slots=True)
class Transaction:
    """Shape: `groups` is empty when none is open; `is_committed` says how the last one ended, None if none did. Units: `used_ms`."""

    producer_id: int
    epoch: int
    groups: set[str] = field(default_factory=set)
    is_open: bool = False
    is_committed: bool | None = None
    used_ms: int = 0


class Transactions:
    """Shape: by transactional id."""

    def __init__(self) -> None:
        self.by_id: dict[str, Transaction] = {}
        self._looked_ms = 0

    def forget(self, now_ms: int) -> None:
        """Let ids go that nobody used for long and that have nothing open; they are looked through once an hour at most."""
        if now_ms - self._looked_ms < _CHECK_MS:
            return
        self._looked_ms = now_ms
        for id in [id for id, known in self.by_id.items() if not known.is_open and known.used_ms + EXPIRATION_MS <= now_ms]:
            del self.by_id[id]
