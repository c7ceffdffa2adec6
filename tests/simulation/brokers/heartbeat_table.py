"""The table of controller.md 12, read a second time: what a heartbeat has to come to, and which of its rows it was."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from metashell.codec.error_codes import NONE, REQUEST_TIMED_OUT, STALE_BROKER_EPOCH
from metashell.metadata.image import MetadataImage
from metashell.quorum.controller import Decision, QuorumController, Request

FENCED, UNFENCED, LEAVING, GONE = "FENCED", "UNFENCED", "CONTROLLED_SHUTDOWN", "SHUTDOWN_NOW"

ROWS: Final = (
    "1 FENCED, shut down -> SHUTDOWN_NOW",
    "2 FENCED, caught up -> UNFENCED",
    "3 FENCED, offset too low -> FENCED",
    "4 FENCED, wants fence -> FENCED",
    "5 UNFENCED, shut down and fence -> SHUTDOWN_NOW",
    "6 UNFENCED, wants fence -> FENCED",
    "7 UNFENCED, shut down, leads -> CONTROLLED_SHUTDOWN",
    "8 UNFENCED, shut down, leads none -> SHUTDOWN_NOW",
    "9 UNFENCED -> UNFENCED",
    "10 CONTROLLED_SHUTDOWN, leads -> CONTROLLED_SHUTDOWN",
    "11 CONTROLLED_SHUTDOWN, everybody knows -> SHUTDOWN_NOW",
    "12 CONTROLLED_SHUTDOWN, not everybody knows -> CONTROLLED_SHUTDOWN",
)
"""The rows in the order of the table."""


class Expected(NamedTuple):
    """What a heartbeat has to come to: a row of the table, or an error; `refused` is 0 where it is taken."""

    row: int
    mode: str
    is_caught_up: bool
    refused: int


def leads(image: MetadataImage, id: int) -> bool:
    """By a walk over all partitions; the controller has hints for it."""
    return any(partition.leader == id for topic in image.topics for partition in topic.partitions.values())


def expect(controller: QuorumController, request: Request, now_ms: int, interval_ms: int) -> Expected:
    """Read the row off the state before the heartbeat is decided."""
    state, body = controller.state, request.body
    if now_ms - request.received_ms > interval_ms // 2:
        return Expected(0, "", False, REQUEST_TIMED_OUT)
    broker = state.image.cluster.brokers.get(body.broker_id)
    if broker is None or broker.epoch != body.broker_epoch:
        return Expected(0, "", False, STALE_BROKER_EPOCH)
    is_caught_up = body.current_metadata_offset >= state.tip.registration_offsets[body.broker_id]
    row, mode = _row(state, body, broker.fenced, is_caught_up)
    return Expected(row, mode, is_caught_up, NONE)


def _row(state: Any, body: Any, is_fenced: bool, is_caught_up: bool) -> tuple[int, str]:
    beats = state.heartbeats._beats
    own = beats[body.broker_id]
    if is_fenced:
        if body.want_shut_down:
            return 1, GONE
        if body.want_fence:
            return 4, FENCED
        return (2, UNFENCED) if is_caught_up else (3, FENCED)
    is_leading = leads(state.image, body.broker_id)
    if own.shutdown_offset < 0:
        if body.want_fence:
            return (5, GONE) if body.want_shut_down else (6, FENCED)
        if not body.want_shut_down:
            return 9, UNFENCED
        return (7, LEAVING) if is_leading else (8, GONE)
    if is_leading:
        return 10, LEAVING
    brokers = state.image.cluster.brokers
    others = [beat for id, beat in beats.items() if id in brokers and not brokers[id].fenced and beat.shutdown_offset < 0]
    return (11, GONE) if all(beat.metadata_offset >= own.shutdown_offset for beat in others) else (12, LEAVING)


def fault(expected: Expected, decision: Decision, body: Any) -> str | None:
    """What is wrong with a decision, None if nothing is."""
    answer = decision.answer
    if answer.error_code != expected.refused:
        return f"error {answer.error_code}, not {expected.refused}"
    if expected.refused:
        return None if not decision.records else "a refused heartbeat writes"
    told = answer.is_fenced, answer.should_shut_down, answer.is_caught_up
    wanted = expected.mode in (FENCED, GONE), expected.mode == GONE, expected.is_caught_up
    if told != wanted:
        return f"row {ROWS[expected.row - 1]}: told (fenced, shut down, caught up) {told}, not {wanted}"
    changes = [record for record, _ in decision.records if type(record).__name__ == "BrokerRegistrationChangeRecord"]
    fences = [record.fenced for record in changes if record.broker_id == body.broker_id and record.fenced]
    row = expected.row
    should = [1] if row in (1, 5, 6, 8, 11) else [-1] if row == 2 else []
    return None if fences == should else f"row {ROWS[row - 1]}: fencing records {fences}, not {should}"
