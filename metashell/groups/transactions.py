"""Transactions as far as committed offsets need them: who produces, in which epoch, and which groups are in the open one.

Kafka keeps this in `__transaction_state`, behind a coordinator of its own. Here it is in memory, so that one coordinator can be tried with
producers; a new coordinator knows no transactions, and answers as Kafka does for ids that it never saw.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Transaction:
    """Shape: `groups` is empty when none is open; `is_committed` says how the last one ended, None if none did."""

    producer_id: int
    epoch: int
    groups: set[str] = field(default_factory=set)
    is_open: bool = False
    is_committed: bool | None = None


class Transactions:
    """Shape: by transactional id."""

    def __init__(self) -> None:
        self.by_id: dict[str, Transaction] = {}
