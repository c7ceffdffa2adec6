"""How well a record fits each of the logs that we know."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from metashell.codec.batches import Record, RecordBatch
from metashell.codec.dispatch import REMOTE_LOG_TYPES
from metashell.codec.frame import FRAME_VERSION, metadata_message, read_frame
from metashell.codec.plain import plain_check
from metashell.codec.registry import message_type
from metashell.errors import DecodeError
from metashell.log.kinds import DATA, METADATA, OFFSETS, REMOTE_LOG, SHARE, TRANSACTIONS, LogKind

if TYPE_CHECKING:
    from metashell.codec.coordinator import CoordinatorLog

Judge = Callable[[RecordBatch, Record], int]

DECODES: Final = 3
MAY_BE: Final = 1
IS_NOT: Final = 0


def _judge_metadata(batch: RecordBatch, record: Record) -> int:
    if record.key is not None or batch.header.producer_id >= 0 or batch.header.magic != 2:
        return IS_NOT
    value = record.value or b""
    try:
        frame = read_frame(value, 0, len(value))
        message = metadata_message(frame.type_id, frame.family)
        if message is None:
            return MAY_BE if frame.family == METADATA else IS_NOT
        plain_check(message.schema, frame.version, value, frame.body_start, len(value))
    except DecodeError:
        return IS_NOT
    return DECODES


def _judge_remote_log(batch: RecordBatch, record: Record) -> int:
    value = record.value or b""
    try:
        frame = read_frame(value, 0, len(value))
        name = REMOTE_LOG_TYPES.get(frame.type_id)
        if name is None or frame.frame_version != FRAME_VERSION:
            return IS_NOT
        plain_check(message_type("remote_log", name).schema, frame.version, value, frame.body_start, len(value))
    except DecodeError:
        return IS_NOT
    return DECODES


def _coordinator_judge(log: "CoordinatorLog") -> Judge:
    from metashell.codec.coordinator import PREFIX_SIZE, int16_at

    def judge(batch: RecordBatch, record: Record) -> int:
        key, value = record.key, record.value
        message = log.key_message(int16_at(key, 0)) if key is not None and len(key) >= PREFIX_SIZE else None
        if key is None or message is None:
            return IS_NOT
        try:
            plain_check(message.schema, 0, key, PREFIX_SIZE, len(key))
        except DecodeError:
            return IS_NOT
        body = log.value_message(int16_at(key, 0))
        if value is None or body is None:
            return DECODES
        try:
            plain_check(body.schema, int16_at(value, 0), value, PREFIX_SIZE, len(value))
        except DecodeError:
            return DECODES - 1  # a dialect, or a version of later days
        return DECODES

    return judge


@cache
def _judges() -> dict[LogKind, Judge]:
    # Imported here: a start that meets nothing but a metadata log needs no messages of coordinators.
    from metashell.codec.coordinator import COORDINATOR_LOGS

    return {
        METADATA: _judge_metadata,
        OFFSETS: _coordinator_judge(COORDINATOR_LOGS[OFFSETS]),
        TRANSACTIONS: _coordinator_judge(COORDINATOR_LOGS[TRANSACTIONS]),
        SHARE: _coordinator_judge(COORDINATOR_LOGS[SHARE]),
        REMOTE_LOG: _judge_remote_log,
    }


def kind_of_records(records: Sequence[tuple[RecordBatch, Record]]) -> LogKind | None:
    """The log whose records these are if half of them decode as its, DATA if none could be of a log that we know, else None."""
    scores: dict[LogKind, list[int]] = {}
    for kind, judge in _judges().items():
        scores[kind] = [judge(batch, record) for batch, record in records]
        if min(scores[kind]) == DECODES:
            break  # No other log fits better, and its messages need not be loaded.
    best = max(scores, key=lambda kind: sum(scores[kind]))
    decoded = sum(score >= DECODES - 1 for score in scores[best])
    if decoded and 2 * decoded >= len(records):
        return best
    return None if sum(scores[best]) else DATA
