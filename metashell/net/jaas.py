"""The value of sasl.jaas.config: one login module with its options.

Shape: `org.apache.kafka...ScramLoginModule required username="alice" password="pa\\"ss" key='v';`
Nothing of a value is ever repeated in an error, because it may be a part of a password.

Source: org.apache.kafka.common.security.JaasConfig, JaasContext; java.io.StreamTokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from metashell.errors import UsageError

FLAGS: Final = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")

_TOKEN = re.compile(
    r"""(?P<skip>[\x00-\x20]+|//[^\r\n]*|/\*.*?\*/)|(?P<quoted>"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')"""
    r"""|(?P<word>[A-Za-z_$\x80-\U0010ffff][\w.$-]*)|(?P<mark>[=;])""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROLS = {"a": "\x07", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class LoginModule(NamedTuple):
    """The name of a login module's class, and its options."""

    name: str
    options: Mapping[str, str]

    @property
    def short_name(self) -> str:
        """The class without its package."""
        return self.name.rpartition(".")[2]


class _Token(NamedTuple):
    kind: str
    text: str


def parse_jaas(text: str, key: str = "sasl.jaas.config") -> LoginModule:
    """The one login module that a value describes.

    Errors: UsageError with `key` and what is wrong, without the value.
    """
    tokens = list(_tokens(text, key))
    if len(tokens) < 2 or tokens[0].kind != "word":
        raise UsageError(f"{key}: no login module", key)
    if tokens[1].text.upper() not in FLAGS:
        raise UsageError(f"{key}: the word after the login module is none of {', '.join(flag.lower() for flag in FLAGS)}", key)
    options: dict[str, str] = {}
    position = 2
    while position < len(tokens) and tokens[position] != _Token("mark", ";"):
        name, equals, value = (tokens[position : position + 3] + [_Token("end", "")] * 3)[:3]
        if name.kind == "mark" or equals != _Token("mark", "="):
            raise UsageError(f"{key}: option {len(options) + 1} is not NAME=VALUE", key)
        if value.kind not in ("word", "quoted"):
            raise UsageError(f"{key}: option {len(options) + 1} has no value (one that does not begin with a letter needs quotes)", key)
        options[name.text] = value.text
        position += 3
    if position == len(tokens):
        raise UsageError(f"{key}: no semicolon at the end", key)
    if position + 1 < len(tokens):
        raise UsageError(f"{key}: more than one login module", key)
    return LoginModule(tokens[0].text, options)


def _tokens(text: str, key: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            what = "a quotation mark is not closed" if text[position] in "\"'" else "a character that needs quotes"
            raise UsageError(f"{key}: character {position + 1}: {what}", key)
        position = match.end()
        if match.lastgroup == "quoted":
            yield _Token("quoted", _ESCAPE.sub(_unescaped, match[0][1:-1]))
        elif match.lastgroup != "skip":
            yield _Token(match.lastgroup or "", match[0])


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape, 8)) if escape[0] in "01234567" else _CONTROLS.get(escape, escape)
