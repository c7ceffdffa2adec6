"""Regular expressions of java.util.regex, as Kafka's properties hold them.

They are translated for `re`. What differs and is not translated is refused: classes with classes inside or intersections, flags inside a
pattern but for one (?i) at its start, properties (\\p{L}) but for those of POSIX, and the anchors \\G, \\R and \\X.

Source: java.util.regex.Pattern, Matcher.appendReplacement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LINE_ENDS: Final = r"\n\r\x85\u2028\u2029"
ANY: Final = f"[^{_LINE_ENDS}]"
"""A dot of Java."""
LAST_END: Final = rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z)"
"""A dollar mark of Java: the end, or before the last line's end."""
_POSIX: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
_SETS: Final = {"h": r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000", "v": rf"\x0b\f{_LINE_ENDS}"}
_PIECE = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\0(?P<octal>[0-3][0-7]{2}|[0-7]{1,2})|\\x\{(?P<point>[0-9a-fA-F]+)\}|\\c(?P<control>.)"
    r"|\\(?P<not>[pP])(?:\{(?:Is)?(?P<property>\w+)\}|(?P<letter>\w))|\\k<(?P<back>[a-zA-Z][a-zA-Z0-9]*)>|\\(?P<escape>.)"
    r"|\(\?<(?P<name>[a-zA-Z][a-zA-Z0-9]*)>|(?P<repeat>\{[0-9]+(?:,[0-9]*)?\})|(?P<other>.)",
    re.DOTALL,
)
_SAME: Final = frozenset("AbBdDsSwWtnrfa123456789xu")


class JavaPatternError(ValueError):
    """A pattern that is malformed, or that cannot be translated; the message is one line."""


def java_pattern(text: str) -> re.Pattern[str]:
    """A pattern that matches what Java's Pattern.compile(text) does. Errors: JavaPatternError."""
    flags = re.ASCII
    body = text
    if text.startswith("(?i)"):
        flags |= re.IGNORECASE
        body = text[4:]
    translated = "".join(_pieces(body))
    try:
        return re.compile(translated, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise JavaPatternError(f"{text!r} is no regular expression: {getattr(error, 'msg', 'it is too large')}") from None


def _pieces(text: str) -> Iterator[str]:
    in_class = ""
    may_repeat = False
    for match in _PIECE.finditer(text):
        kind, piece = match.lastgroup or "", match[0]
        if in_class:
            translated = _in_class(match, is_first=in_class != "[...")
            in_class = "" if piece == "]" and in_class == "[..." else "[^" if piece == "^" and in_class == "[" else "[..."
        elif piece == "[":
            in_class, translated = "[", "["
        elif kind == "repeat":
            if not may_repeat:
                raise JavaPatternError(f"{text!r} is no regular expression: nothing to repeat")
            translated = piece
        else:
            translated = _outside(match)
        may_repeat = not in_class and piece not in ("(", "|") and kind != "name"
        yield translated
    if in_class:
        raise JavaPatternError(f"{text!r} is no regular expression: a character class is not closed")


def _in_class(match: re.Match[str], *, is_first: bool) -> str:
    piece = match[0]
    if piece in ("[", "&"):
        if piece == "[" or match.string.startswith("&&", match.start()) or match.string[: match.start()].endswith("&"):
            raise JavaPatternError(f"{match.string!r}: a class in a class, or an intersection, is not supported")
        return piece
    if match["other"] or match["repeat"]:
        return "\\]" if piece == "]" and is_first else re.sub("--|~~|\\|\\|", "", piece)
    if match["name"]:
        raise JavaPatternError(f"{match.string!r}: {piece!r} in a class is not supported")
    found = _escaped(match, in_class=True)
    return found


def _outside(match: re.Match[str]) -> str:
    piece = match[0]
    if match["name"]:
        return f"(?P<{match['name']}>"
    if match["other"]:
        if piece == "{":
            raise JavaPatternError(f"{match.string!r} is no regular expression: nothing to repeat")
        if match.string.startswith("(?", match.start()) and not re.match(r"\(\?(?:[:=!>]|<[=!])", match.string[match.start() :]):
            raise JavaPatternError(f"{match.string!r}: flags inside are not supported")
        return {".": ANY, "$": LAST_END}.get(piece, piece)
    return _escaped(match, in_class=False)


def _escaped(match: re.Match[str], *, in_class: bool) -> str:
    """What begins with a backslash."""
    text = match.string
    if match["quoted"] is not None:
        return re.escape(match["quoted"])
    if match["octal"]:
        return re.escape(chr(int(match["octal"], 8)))
    if match["point"]:
        point = int(match["point"], 16)
        if point > 0x10FFFF:
            raise JavaPatternError(f"{text!r} is no regular expression: a code point is too large")
        return re.escape(chr(point))
    if match["control"]:
        return re.escape(chr(ord(match["control"]) ^ 64))
    if match["not"]:
        chars = _POSIX.get(match["property"] or "")
        if chars is None or (in_class and match["not"] == "P"):
            raise JavaPatternError(f"{text!r}: {match[0]} is not supported")
        return chars if in_class else f"[{'^' if match['not'] == 'P' else ''}{chars}]"
    if match["back"]:
        return f"(?P={match['back']})"
    return _letter(match["escape"], text, in_class=in_class)


def _letter(letter: str, text: str, *, in_class: bool) -> str:
    if letter in _SETS:
        return _SETS[letter] if in_class else f"[{_SETS[letter]}]"
    if letter in ("H", "V") and not in_class:
        return f"[^{_SETS[letter.lower()]}]"
    if letter == "e":
        return r"\x1b"
    if letter in ("z", "Z") and not in_class:
        return r"\Z" if letter == "z" else LAST_END
    if letter in _SAME or not (letter.isascii() and letter.isalnum()):
        return "\\" + letter if letter.isascii() else letter
    raise JavaPatternError(f"{text!r}: \\{letter} is not supported")


_REFERENCE = re.compile(r"\\(?P<escaped>.)?|\$(?:(?P<number>[0-9]+)|\{(?P<name>[a-zA-Z][a-zA-Z0-9]*)\})?|[^\\$]+", re.DOTALL)


def java_replace_all(pattern: re.Pattern[str], replacement: str, text: str) -> str:
    """What text.replaceAll(pattern, replacement) gives in Java. Errors: ValueError for a replacement that names no group."""
    found, position, end = [], 0, 0
    while position <= len(text) and (match := pattern.search(text, position)) is not None:
        found += [text[end : match.start()], _expanded(match, replacement)]
        end = match.end()
        position = end + (match.start() == end)
    return "".join([*found, text[end:]])


def _expanded(match: re.Match[str], replacement: str) -> str:
    out = []
    for piece in _REFERENCE.finditer(replacement):
        if piece["number"]:
            out.append(_numbered(match, piece["number"]))
        elif piece["name"]:
            if piece["name"] not in match.re.groupindex:
                raise ValueError(f"No group with name {{{piece['name']}}}")
            out.append(match[piece["name"]] or "")
        elif piece[0][0] == "\\":
            if piece["escaped"] is None:
                raise ValueError("character to be escaped is missing")
            out.append(piece["escaped"])
        elif piece[0] == "$":
            raise ValueError("Illegal group reference")
        else:
            out.append(piece[0])
    return "".join(out)


def _numbered(match: re.Match[str], digits: str) -> str:
    """The group that digits behind a dollar mean: as many of them as there is such a group; the rest is text."""
    group, used = int(digits[0]), 1
    if group > match.re.groups:
        raise ValueError(f"No group {group}")
    while used < len(digits) and group * 10 + int(digits[used]) <= match.re.groups:
        group, used = group * 10 + int(digits[used]), used + 1
    return (match[group] or "") + digits[used:]
