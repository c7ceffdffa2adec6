"""Properties that hold for every message in every version: one text, three products, all equal."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from os import listdir
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.code_writer import Shared
from metashell.codec.compiler import TooManyValuesError
from metashell.codec.registry import SCHEMA_FOLDER, MessageType, message_names, message_type
from metashell.codec.schema import TrailingBytesError, plain_check
from metashell.common.errors import DecodeError
from tests.codec.values import ValueMaker, versions_of

FAMILIES = sorted(name for name in listdir(SCHEMA_FOLDER) if "." not in name)
MESSAGES = [message_type(family, name) for family in FAMILIES for name in message_names(family)]
SEEDS = st.integers(min_value=0, max_value=(1 << 64) - 1)

FEWER = settings(max_examples=max(3, settings().max_examples // 3))
"""Each example is written in every version, and each of 300 messages has its own."""

every_message = pytest.mark.parametrize("message", MESSAGES, ids=lambda message: f"{message.family}-{message.name}")


@every_message
def test_one_example_of_every_version_holds_every_property(message: MessageType) -> None:
    reads_back_equal(message, 1)
    is_refused_when_cut(message, 1)
    is_read_alike_when_damaged(message, 1)


@pytest.mark.slow
@every_message
@FEWER
@given(seed=SEEDS)
def test_what_is_written_reads_back_equal_by_every_product(message: MessageType, seed: int) -> None:
    reads_back_equal(message, seed)


def reads_back_equal(message: MessageType, seed: int) -> None:
    for version in versions_of(message):
        value = ValueMaker(message, version, random.Random(seed + version)).message_value()
        raw = message.write(value, version)
        assert _in_steps(message, value, version) == raw
        assert message.read(raw, version) == value
        assert message.plain_read(raw, version, 0, len(raw)) == value
        assert message.bounded_reader(version)(raw + b"\x05", 0, len(raw) + 1, [10_000]) == (value, len(raw))
        assert message.write(message.read(raw, version), version) == raw
        text = message.json(raw, version)
        assert text == message.object_json(value, version)
        assert json.loads(text) == message.to_json_value(value, version)
        # Within a larger buffer, and a second time, when memos are warm.
        assert message.read(b"\xff" + raw + b"\x00\x07", version, 1, 1 + len(raw)) == value
        assert message.json(b"\xff" + raw + b"\x00\x07", version, 1, 1 + len(raw)) == text


def _in_steps(message: MessageType, value: Any, version: int) -> bytearray:
    made: list[bytearray] = []

    def keep() -> Iterator[None]:
        made.append((yield from message.write_steps(value, version)))

    for _ in keep():
        pass
    return made[0]


def test_a_large_message_is_written_with_rests() -> None:
    message = message_type("response", "DeleteTopicsResponse")
    result = message.cls.DeletableTopicResult
    value = message.cls(responses=tuple(result(name=str(number)) for number in range(1000)))

    steps = message.write_steps(value, 6)

    assert sum(1 for _ in steps) >= 1000 // 64


@pytest.mark.slow
@every_message
@FEWER
@given(seed=SEEDS)
def test_every_truncation_is_a_decode_error(message: MessageType, seed: int) -> None:
    is_refused_when_cut(message, seed)


def is_refused_when_cut(message: MessageType, seed: int) -> None:
    chance = random.Random(seed)
    for version in versions_of(message):
        raw = message.write(ValueMaker(message, version, chance).message_value(), version)
        cuts = range(len(raw)) if len(raw) <= 24 else sorted(chance.sample(range(len(raw)), 12))
        for cut in cuts:
            assert_refused(message, raw[:cut], version, 0, cut)
            # The bytes that follow in a batch must not be taken for the missing ones.
            assert_refused(message, raw, version, 0, cut)


@pytest.mark.slow
@every_message
def test_every_single_truncation_of_one_example_is_a_decode_error(message: MessageType) -> None:
    for version in versions_of(message):
        raw = message.write(ValueMaker(message, version, random.Random(version)).message_value(), version)
        for cut in range(min(len(raw), 400)):
            assert_refused(message, raw[:cut], version, 0, cut)


def assert_refused(message: MessageType, raw: bytes, version: int, start: int, end: int) -> None:
    for read in (message.read, message.json):
        with pytest.raises(DecodeError):
            got: Any = read(raw, version, start, end)
            pytest.fail(f"{message.name} {version}: {raw.hex()} [{start}:{end}] gave {got!r}")


def test_a_bounded_reader_makes_no_more_values_than_it_may() -> None:
    message = message_type("request", "CreateTopicsRequest")
    structs = message.structs
    topics = tuple(structs["CreatableTopic"](configs=(structs["CreatableTopicConfig"](),) * 3) for _ in range(20))
    raw = message.write(message.cls(topics=topics), 7)
    each = 1 + len(message.schema.structs["CreatableTopic"].fields) + 3 * (1 + len(message.schema.structs["CreatableTopicConfig"].fields))
    left = [1000]
    message.bounded_reader(7)(raw, 0, len(raw), left)
    assert left == [1000 - 20 * each]
    with pytest.raises(TooManyValuesError):
        message.bounded_reader(7)(raw, 0, len(raw), [20 * each - 1])


def test_unknown_tags_are_counted_as_values() -> None:
    message = message_type("request", "CreateTopicsRequest")
    raw = message.write(message.cls(), 7)[:-1] + b"\xd0\x86\x03" + b"\x7f\0" * 50_000
    assert len(message.read(raw, 7).unknown_tags) == 50_000
    with pytest.raises(TooManyValuesError):
        message.bounded_reader(7)(raw, 0, len(raw), [49_999])


def test_what_is_shared_is_written_as_anything_else() -> None:
    message = message_type("response", "CreateTopicsResponse")
    structs = message.structs
    configs = [structs["CreatableTopicConfigs"](name=name, value=None) for name in "abc"]
    shared = Shared(configs)
    for version in (5, 7, 5, 7):
        one = message.cls(topics=(structs["CreatableTopicResult"](name="t", configs=tuple(configs)),) * 2)
        other = message.cls(topics=(structs["CreatableTopicResult"](name="t", configs=shared),) * 2)
        assert message.write(other, version) == message.write(one, version)
    assert len(shared.made) == 2 and one == other


@every_message
def test_bytes_left_over_are_counted(message: MessageType) -> None:
    version = message.versions[1]
    raw = message.write(message.cls(), version)
    with pytest.raises(TrailingBytesError) as caught:
        message.read(raw + b"\x01\x02\x03", version)
    assert caught.value.left_over == 3


@pytest.mark.parametrize("name", message_names("metadata"))
def test_metadata_records_above_the_newest_version_have_the_newest_layout(name: str) -> None:
    message = message_type("metadata", name)
    newest = message.versions[1]
    value = ValueMaker(message, newest, random.Random(1)).message_value()
    raw = message.write(value, newest)
    assert message.read(raw, newest + 5) == value
    assert message.json(raw, newest + 5) == message.json(raw, newest)


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except DecodeError:
        return DecodeError


@pytest.mark.slow
@every_message
@FEWER
@given(seed=SEEDS)
def test_the_compiled_and_the_plain_reading_of_damaged_bytes_agree(message: MessageType, seed: int) -> None:
    is_read_alike_when_damaged(message, seed)


def is_read_alike_when_damaged(message: MessageType, seed: int) -> None:
    chance = random.Random(seed)
    version = chance.choice(versions_of(message))
    raw = bytearray(message.write(ValueMaker(message, version, chance).message_value(), version))
    for _ in range(chance.randint(1, 4)):
        if raw:
            raw[chance.randrange(len(raw))] = chance.choice((0, 1, 2, 127, 128, 255, chance.randrange(256)))
    damaged = bytes(raw)
    expected = outcome(lambda: message.plain_read(damaged, version, 0, len(damaged)))
    assert repr(outcome(lambda: message.read(damaged, version))) == repr(expected)
    bounded = outcome(lambda: message.bounded_reader(version)(damaged, 0, len(damaged), [1_000_000])[0])
    if expected is not DecodeError:
        assert repr(bounded) == repr(expected)
    checked = outcome(lambda: plain_check(message.schema, version, damaged, 0, len(damaged)))
    assert (checked is DecodeError) == (expected is DecodeError)
    text = outcome(lambda: message.json(damaged, version))
    assert text == (DecodeError if expected is DecodeError else message.object_json(expected, version))
