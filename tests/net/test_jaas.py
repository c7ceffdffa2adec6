"""The value of sasl.jaas.config."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import UsageError
from metashell.net.security import parse_jaas

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f'{SCRAM} required username="alice" password="a b";', {"username": "alice", "password": "a b"}),
        (f"{SCRAM} REQUIRED username='al\"ice' password=word;", {"username": 'al"ice', "password": "word"}),
        (f'{SCRAM} sufficient\n  password="a\\"b\\\\c\\n\\101;="\n;', {"password": 'a"b\\c\nA;='}),
        (f"{SCRAM} optional;", {}),
        (f'{SCRAM} required "user_bob"="b" user_al-ice="a" ; // done', {"user_bob": "b", "user_al-ice": "a"}),
        (f'/* mine */ {SCRAM} required a="/* no */";', {"a": "/* no */"}),
        (f'{SCRAM} required a="1" a="2";', {"a": "2"}),
        (f'{SCRAM} required a="";', {"a": ""}),
    ],
)
def test_a_module_has_a_flag_and_options(text: str, options: dict[str, str]) -> None:
    module = parse_jaas(text)
    assert (module.name, module.short_name, module.options) == (SCRAM, "ScramLoginModule", options)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no login module"),
        (f"{SCRAM}", "no login module"),
        (f"{SCRAM} maybe a='secret';", "none of required"),
        (f"{SCRAM} required a='secret'", "no semicolon at the end"),
        (f"{SCRAM} required a='secret'; {SCRAM} required;", "more than one login module"),
        (f"{SCRAM} required a=12345;", "character"),
        (f"{SCRAM} required a='secret;", "a quotation mark is not closed"),
        (f"{SCRAM} required a 'secret';", "option 1 is not NAME=VALUE"),
        (f"{SCRAM} required a='secret' b=;", "option 2 has no value"),
        (f"{SCRAM} required a=", "no value"),
        (f"{SCRAM} required =a;", "option 1 is not NAME=VALUE"),
        (f"{SCRAM} required a=secret!;", "a character that needs quotes"),
    ],
)
def test_a_fault_is_told_without_the_value(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_jaas(text, "some.key")
    message = str(caught.value)
    assert message.startswith("some.key: ") and told in message
    assert "secret" not in message and "12345" not in message


@given(st.text())
def test_any_value_comes_back_from_its_quotes(value: str) -> None:
    escaped = "".join({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}.get(char, char) for char in value)
    assert parse_jaas(f'{SCRAM} required v="{escaped}";').options == {"v": value}


@given(st.text(alphabet="ab=;\"'\\/* \n-.$", max_size=60))
def test_no_text_makes_it_raise_anything_else(text: str) -> None:
    for candidate in (text, f"{SCRAM} required {text}"):
        try:
            parse_jaas(candidate)
        except UsageError as error:
            assert "\n" not in str(error)
