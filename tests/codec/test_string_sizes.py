"""Strings above 32 767 bytes are refused in every version, as Kafka's readers refuse them, however their length is written."""

from __future__ import annotations

import pytest

from metashell.codec.messages import ConsumerGroupHeartbeatRequest
from metashell.codec.registry import message_type
from metashell.codec.schema import STRING_MAX
from metashell.common.errors import DecodeError

HEARTBEAT = message_type("request", "ConsumerGroupHeartbeatRequest")


@pytest.mark.parametrize("field", ["member_id", "subscribed_topic_names"])
def test_a_compact_string_may_be_as_long_as_a_plain_one(field: str) -> None:
    for size, is_legal in ((STRING_MAX, True), (STRING_MAX + 1, False), (3 << 20, False)):
        text = "m" * size
        body = ConsumerGroupHeartbeatRequest(**{field: (text,) if field.endswith("names") else text})
        raw = HEARTBEAT.write(body, 1)
        readers = [
            lambda raw: HEARTBEAT.read(raw, 1),
            lambda raw: HEARTBEAT.plain_read(raw, 1, 0, len(raw)),
            lambda raw: HEARTBEAT.bounded_reader(1)(raw, 0, len(raw), [1000])[0],
            lambda raw: HEARTBEAT.json(raw, 1),
        ]
        for read in readers:
            if is_legal:
                assert read(raw)
            else:
                with pytest.raises(DecodeError):
                    read(raw)


def test_the_fault_names_the_field() -> None:
    raw = HEARTBEAT.write(ConsumerGroupHeartbeatRequest(member_id="m" * 40_000), 1)
    with pytest.raises(DecodeError, match=r"MemberId.*40000 bytes, at most 32767"):
        HEARTBEAT.read(raw, 1)
