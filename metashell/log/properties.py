"""Java properties files, read and written as `java.util.Properties` does."""

import re
from collections.abc import Iterator, Mapping

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "": ""}


def parse_properties(data: bytes) -> dict[str, str]:
    """The keys and values in a properties file; of a repeated key the last value.

    Shape: ISO 8859-1 with \\uXXXX escapes, `#` and `!` comments, lines continued by a backslash at their end.
    Errors: ValueError for a \\u that no four hexadecimal digits follow.
    Source: java.util.Properties.load.
    """
    values = {}
    for line in _logical_lines(data.decode("latin-1")):
        match = _KEY.fullmatch(line)
        assert match is not None
        values[_unescape(match[1])] = _unescape(match[2])
    return values


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without leading blanks and comments, continued ones joined."""
    if text.endswith(("\r", "\n")) and not text.endswith("\r\n"):
        text = text[:-1]  # to Java a last line is the same with and without its end
    pending = ""
    goes_on = False
    for natural in _LINE_END.split(text):
        line = natural.lstrip(_BLANKS)
        goes_on = False
        if not pending and (not line or line[0] in "#!"):
            continue
        line = pending + line
        goes_on = _ends_in_odd_backslashes(line)
        pending = line[:-1] if goes_on else ""
        if line and not goes_on:
            yield line
    if goes_on:  # the file ends in a backslash; Java takes that line even when nothing else is on it
        yield pending


def _ends_in_odd_backslashes(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    if escape == "u":
        raise ValueError("malformed \\uxxxx encoding")
    return _CONTROLS.get(escape, escape)


_WRITTEN_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "=": "\\=", ":": "\\:", "#": "\\#", "!": "\\!"}
)


def format_properties(values: Mapping[str, str], *, date: str) -> bytes:
    """The bytes of a properties file: an empty comment, one with the date, then the values in the order given.

    Shape: UTF-8, nothing escaped but what would be read as something else, as java.util.Properties.store does with a writer.
    Readers take the bytes for ISO 8859-1, so what is not ASCII comes back as other characters: Kafka's own trait, kept.
    """
    lines = ["#", f"#{date}", *(f"{_escaped(key, True)}={_escaped(value, False)}" for key, value in values.items())]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _escaped(text: str, is_key: bool) -> str:
    escaped = text.translate(_WRITTEN_ESCAPES)
    if is_key:
        return escaped.replace(" ", "\\ ")
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
