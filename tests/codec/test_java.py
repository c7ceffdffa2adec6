"""The forms of values in JSON text."""

from __future__ import annotations

import pytest

from metashell.codec.java import STRING_MEMO_LIMIT, StringTexts, double_json, java_double, string_text
from metashell.codec.json_text import MEMO_LIMIT, ListTexts
from metashell.codec.primitives import kafka_text
from metashell.codec.registry import message_type


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10.0, "10.0"),
        (1.5e7, "1.5E7"),
        (9999999.0, "9999999.0"),
        (1e-4, "1.0E-4"),
        (0.001, "0.001"),
        (123456.789, "123456.789"),
        (12345678.9, "1.23456789E7"),
        (-0.0, "-0.0"),
        (-2.5, "-2.5"),
        (1e21, "1.0E21"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_look_as_java_prints_them(value: float, text: str) -> None:
    assert java_double(value) == text


def test_doubles_without_a_number_are_quoted_in_json() -> None:
    assert double_json(float("-inf")) == '"-Infinity"'


def test_strings_are_escaped_as_jackson_does() -> None:
    assert string_text('a"b\\c/d') == '"a\\"b\\\\c/d"'
    assert string_text("\b\t\n\f\r\x00\x1f") == '"\\b\\t\\n\\f\\r\\u0000\\u001F"'
    assert string_text("é\u2028\x7f") == '"é\u2028\x7f"'
    assert string_text("not an escape: \\u001f") == '"not an escape: \\\\u001f"'


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\xed\xa0\x80", "\ufffd"),
        (b"\xed\xa0", "\ufffd"),
        (b"\xed\xbf\xbfx", "\ufffdx"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\xe2\x82", "\ufffd"),
        (b"ok \xc3\xa9", "ok é"),
        (b"\xed\xa0x", "\ufffdx"),
        (b"\xed\x9f\xbf", "\ud7ff"),
    ],
)
def test_malformed_utf_8_is_replaced_as_the_jdk_does(raw: bytes, text: str) -> None:
    assert kafka_text(raw) == text


def test_memos_stay_bounded() -> None:
    strings = StringTexts()
    for number in range(STRING_MEMO_LIMIT + 10):
        strings[str(number).encode()]
    assert len(strings) <= STRING_MEMO_LIMIT
    lists = ListTexts("i")
    for number in range(MEMO_LIMIT + 10):
        lists[number.to_bytes(4, "big")]
    assert len(lists) <= MEMO_LIMIT
    assert len(StringTexts()) == 0
    long = b"x" * 1000
    assert strings[long] and long not in strings


def test_the_length_of_a_long_array_of_bytes_is_not_taken_for_one_byte() -> None:
    # Found by damaged bytes: 0x80 0x01 is the length of 127 elements, not of 127 with an element 1.
    message = message_type("request", "ShareAcknowledgeRequest")
    batch = message.structs["AcknowledgementBatch"](acknowledge_types=tuple(range(127)))
    partition = message.structs["AcknowledgePartition"](acknowledgement_batches=(batch,))
    value = message.cls(topics=(message.structs["AcknowledgeTopic"](partitions=(partition,)),))
    assert message.json(message.write(value, 1), 1) == message.object_json(value, 1)
