"""What the coordinator decides: records, answers, and what somebody else has to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from metashell.errors import MetashellError
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request


class Producer(NamedTuple):
    """Who wrote a batch that belongs to a transaction."""

    id: int
    epoch: int


class CreateTopics(NamedTuple):
    """Internal topics that a streams group needs: name -> (partitions, replication factor, configs)."""

    topics: dict[str, tuple[int, int, tuple[tuple[str, str], ...]]]


class InitializeShareState(NamedTuple):
    """Share partitions whose state the share coordinator has to begin: topic id -> partitions."""

    group_id: str
    partitions: dict[bytes, tuple[int, ...]]


class DeleteShareState(NamedTuple):
    """Share partitions whose state the share coordinator has to delete: topic id -> partitions."""

    group_id: str
    partitions: dict[bytes, tuple[int, ...]]


Effect = CreateTopics | InitializeShareState | DeleteShareState


@dataclass(slots=True)
class Decision:
    """Records of one atomic batch, in order, and what is answered once they are written.

    Shape: `producer` for a transactional batch. `marker` ends that producer's transaction: True commits, False aborts; it has no records.
    `replays` is False where the coordinator's state is already what the records say: a classic group knows more than its record, which
    would replace it. `dropped` are tickets of earlier requests that are never answered. `request` is what was decided. `on_failure` gives
    what happens instead when the batch could not be written, by error code and time; without it the request is answered with the error,
    and the other answers stay.
    """

    records: list[Record] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    producer: Producer | None = None
    marker: bool | None = None
    replays: bool = True
    dropped: list[int] = field(default_factory=list)
    request: Request | None = None
    on_failure: Callable[[int, int], Decision] | None = None


class GroupError(MetashellError):
    """Why a request, or one part of it, is refused: an error code and the message that a client shows."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(message or "")
        self.code = code
        self.message = message
