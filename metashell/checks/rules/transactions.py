"""Transactions that hang: nobody ends them, and readers of committed records wait behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metashell.amounts import moment_text
from metashell.checks.facts import TRANSACTIONS
from metashell.checks.model import BAD, Found
from metashell.checks.registry import check

if TYPE_CHECKING:
    from metashell.checks.facts import Facts


@check(
    "transactions.hanging_transaction",
    BAD,
    "transactions that hold back what readers of committed records may see",
    TRANSACTIONS,
    endangers="consumers with isolation.level=read_committed wait, and the log is not compacted or deleted from there on",
    source="KIP-664",
    example="orders/0 (producer 1000, epoch 0, open since 2026-11-27T00:23:13Z)",
)
def hanging_transaction(facts: Facts) -> Iterator[Found]:
    seen = set()
    for broker in facts.brokers:
        for one in broker.transactions or ():
            # Each replica tells of it.
            if (key := (one.topic, one.partition, one.producer_id)) in seen:
                continue
            seen.add(key)
            tool, place = "kafka-transactions.sh --bootstrap-server ADDRESS", f"--topic {one.topic} --partition {one.partition}"
            step = f"{tool} describe-producers {place} shows where it starts; {tool} abort {place} --start-offset OFFSET ends it"
            coordinator = f", coordinator {one.coordinator}" if one.coordinator else ""
            since = moment_text(one.started_ms)
            cause = f"producer {one.producer_id}, epoch {one.producer_epoch}{coordinator}, open since {since}"
            yield Found(f"{one.topic}/{one.partition}", cause, steps=(step,))
