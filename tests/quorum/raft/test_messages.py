"""What a message says where its sender says nothing: no error, nobody, nothing known, as the defaults of Kafka's schemas."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass

import pytest

from metashell.common.values import ZERO_UUID
from metashell.quorum.raft import messages
from metashell.quorum.raft.messages import FetchRequest

CLASSES = [
    value
    for value in vars(messages).values()
    if is_dataclass(value) and value.__module__ == messages.__name__ and value is not messages.RaftConfig
]
DEFAULTS = [
    pytest.param(cls, field, id=f"{cls.__name__}.{field.name}") for cls in CLASSES for field in fields(cls) if field.default is not MISSING
]

NOTHING = {
    "top_error": 0,
    "error": 0,
    "message": None,
    "leader_id": -1,
    "leader_endpoint": None,
    "epoch": -1,
    "granted": False,
    "pre_vote": False,
    "high_watermark": -1,
    "log_start_offset": -1,
    "log_end_offset": -1,
    "last_fetch_timestamp": -1,
    "last_caught_up_timestamp": -1,
    "directory_id": ZERO_UUID,
    "diverging": None,
    "snapshot_id": None,
    "records": b"",
    "size": 0,
    "position": 0,
    "kraft_versions": None,
    "candidates": (),
    "voters": (),
    "observers": (),
    "nodes": (),
    "unknown": (),
    # What is well-formed, asks for the metadata partition, and waits for the commit, unless it says otherwise.
    "shape_ok": True,
    "is_known_partition": True,
    "partitions": (("__cluster_metadata", 0),),
    "ack_when_committed": True,
}


@pytest.mark.parametrize(("cls", "field"), DEFAULTS)
def test_a_field_that_is_not_given_says_nothing(cls: type, field: Field[object]) -> None:
    if (cls, field.name) == (FetchRequest, "high_watermark"):
        # KIP-1166: who does not know the field is not woken by a high watermark, so it claims the highest.
        assert field.default == 9_223_372_036_854_775_807
    else:
        assert field.default == NOTHING[field.name]
