"""Metadata transactions that stay open for a while: the log allows them, and no decision but a new cluster's first uses any today."""

from __future__ import annotations

from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE
from metashell.quorum.controller import Decision
from metashell.quorum.controller.decision import Steps, TaskResult, config_record
from metashell.quorum.controller.state import State

KEY = "log.flush.interval.messages"
"""What is written in transactions, and by nobody else."""


class Transactions:
    """A periodic task: one step begins a transaction, the next one ends or aborts it; what others write meanwhile is in it."""

    def __init__(self) -> None:
        self._count = 0

    def step(self, state: State, now_ms: int) -> Steps[TaskResult]:
        yield
        self._count += 1
        if state.tip.before_transaction is None:
            begin = (messages.BeginTransactionRecord(name="simulation"), 0)
            return Decision(None, [begin, config_record(BROKER_RESOURCE, "", KEY, str(self._count))]), False
        return Decision(None, [(messages.EndTransactionRecord(), 0)]), False
