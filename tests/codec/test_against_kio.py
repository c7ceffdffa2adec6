"""Every request and response in every version, against an independent library (kio) that knows nothing of our schemas."""

from __future__ import annotations

import dataclasses
import datetime
import io
import random
import re
import uuid
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from metashell.codec.dispatch import REQUESTS, RESPONSES
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import FieldSchema, StructSchema
from tests.codec.values import ValueMaker

# Kafka 4.4 has them; this release of kio does not. `tests/tools/test_release.py` compares them with Kafka's own definitions.
UNKNOWN_TO_KIO = frozenset(
    f"{name}{part} {version}"
    for name, version in (
        ("ApiVersions", 5),
        ("TxnOffsetCommit", 6),
        ("DeleteGroups", 3),
        ("StreamsGroupHeartbeat", 1),
        ("StreamsGroupDescribe", 1),
        ("StreamsGroupTopologyDescriptionUpdate", 0),
        ("UnregisterController", 0),
    )
    for part in ("Request", "Response")
)


@cache
def kio_versions(message: MessageType) -> frozenset[int]:
    """The versions of a message that kio has. Its modules, one for each, take seconds to import: here only their names are read."""
    try:
        [folder] = import_module(f"kio.schema.{kio_name(message)}").__path__
    except ModuleNotFoundError:
        return frozenset()
    return frozenset(int(path.parent.name[1:]) for path in Path(folder).glob(f"v*/{message.kind}.py"))


def kio_entity(message: MessageType, version: int) -> type:
    """Kio's class of a message in a version."""
    entity = getattr(import_module(f"kio.schema.{kio_name(message)}.v{version}.{message.kind}"), message.name)
    assert (entity.__type__.name, entity.__version__) == (message.kind, version)
    assert isinstance(entity, type)
    return entity


def kio_name(message: MessageType) -> str:
    """The package of a message: `ApiVersionsRequest` and its response are in `api_versions`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"(Request|Response)$", "", message.name)).lower()


OURS = [
    (message_type(family, name), version)
    for family, names in (("request", REQUESTS), ("response", RESPONSES))
    for name in names.values()
    for version in range(message_type(family, name).versions[0], message_type(family, name).versions[1] + 1)
]


class KioValues(ValueMaker):
    """Values that kio takes as well: known error codes, times and spans within Python's range."""

    def integer(self, field: FieldSchema) -> int:
        if field.type == "int16" and field.name.endswith("ErrorCode"):
            return self.chance.choice((-1, 0, 1, 3, 41, 74))
        if field.type == "int64":
            return self.chance.choice((0, 1, 1_760_000_000_000, 4_000_000_000_123))
        if field.name.endswith(("Ms", "TimeMs", "timeoutMs")):
            return self.chance.choice((0, 1, 1500, 30_000))
        return super().integer(field)


def test_kio_has_the_messages_that_we_compare() -> None:
    assert {f"{message.name} {version}" for message, version in OURS if version not in kio_versions(message)} == UNKNOWN_TO_KIO
    assert len(OURS) - len(UNKNOWN_TO_KIO) > 500


@pytest.mark.parametrize(
    ("message", "version"),
    [
        pytest.param(message, version, marks=[pytest.mark.slow] * (version != message.versions[1]))
        for message, version in OURS
        if f"{message.name} {version}" not in UNKNOWN_TO_KIO
    ],
    ids=lambda part: part.name if isinstance(part, MessageType) else str(part),
)
@given(seed=st.integers(min_value=0, max_value=(1 << 64) - 1))
def test_kio_reads_what_we_write_and_writes_the_same(message: MessageType, version: int, seed: int) -> None:
    value = KioValues(message, version, random.Random(seed)).message_value(unknown_tags=False)
    raw = message.write(value, version)
    entity = kio_entity(message, version)
    theirs, size = entity_reader(entity)(raw, 0)
    assert size == len(raw)
    assert_same(message, message.schema, value, theirs, version)
    buffer = io.BytesIO()
    entity_writer(entity)(buffer, theirs)
    assert message.read(buffer.getvalue(), version) == value


def assert_same(message: MessageType, struct: StructSchema, ours: Any, theirs: Any, version: int) -> None:
    fields = struct.at(version)
    values = [getattr(theirs, field.name) for field in dataclasses.fields(theirs)]
    assert len(fields) == len(values), (struct.name, fields, theirs)
    for field, other in zip(fields, values, strict=True):
        mine = getattr(ours, field.attribute)
        if field.is_array and mine is not None:
            assert len(mine) == len(other), field.name
            for left, right in zip(mine, other, strict=True):
                assert_same_scalar(message, field, left, right, version)
        else:
            assert_same_scalar(message, field, mine, other, version)


def assert_same_scalar(message: MessageType, field: FieldSchema, mine: Any, other: Any, version: int) -> None:
    if field.is_struct and mine is not None:
        assert_same(message, message.schema.structs[field.type], mine, other, version)
        return
    if mine is None:
        assert other is None, field.name
        return
    if field.type == "uuid":
        other = bytes(16) if other is None else other.bytes if isinstance(other, uuid.UUID) else other
    elif isinstance(other, datetime.timedelta):
        other = other // datetime.timedelta(milliseconds=1)
    elif isinstance(other, datetime.datetime):
        other = round(other.timestamp() * 1000)
    elif field.type == "int64" and other is None:
        other = -1
    elif isinstance(other, (memoryview, bytearray)):
        other = bytes(other)
    assert mine == other, (field.name, mine, other)
