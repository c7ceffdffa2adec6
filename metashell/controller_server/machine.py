"""The state machine of a controller: the log to the controller, and its decisions to the log.

This module imports asyncio, so it is itself imported inside functions.
Source: org.apache.kafka.controller.QuorumController, org.apache.kafka.image.publisher.SnapshotGenerator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from metashell.codec.batches import RecordBatch
from metashell.controller import QuorumController, Request
from metashell.ids import Epoch, NodeId
from metashell.server.state_machine import SnapshotToMake
from metashell.values import OffsetAndEpoch

Answer = Callable[[Any], None]
"""Takes the response's object; None where raft has to answer."""


class ControllerMachine:
    """A `StateMachine` (metashell.server.state_machine) around a `QuorumController`.

    `errors` counts decisions and tasks that raised unforeseen, `claims` how often this controller became the active one.
    """

    controller: QuorumController

    def ask(self, request: Request, connection: object, answer: Answer) -> None:
        """Decide about a request when its turn comes; `answer` is called when the answer is stable, or when there can be none."""
        raise NotImplementedError

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        """See StateMachine."""
        raise NotImplementedError

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
        """See StateMachine."""
        raise NotImplementedError

    def handle_leader_change(self, leader_id: NodeId, epoch: Epoch) -> None:
        """See StateMachine."""
        raise NotImplementedError

    def begin_shutdown(self) -> None:
        """See StateMachine."""
        raise NotImplementedError
