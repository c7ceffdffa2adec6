"""Principals of client certificates: the subject as Kafka writes it, and ssl.principal.mapping.rules that shorten it.

The name is read from the certificate's bytes, and written as RFC 2253 has it, the last part first: Java writes the parts that RFC 2253 does
not name (such as an e-mail address) by number and as hex of their bytes.

Rules have the shape `RULE:pattern/replacement/[LU], RULE:..., DEFAULT`. The first rule whose pattern matches the whole name decides; L and
U make the result lower or upper case. Slashes and backslashes are escaped by a backslash.

Patterns are those of java.util.regex, translated for `re`. What differs and is not translated is refused: classes with classes inside or
intersections, flags inside a pattern except one (?i) at its start, properties such as p{L} except those of POSIX, and what the
escapes G, R and X stand for.

Source: KIP-371; org.apache.kafka.common.security.ssl.SslPrincipalMapper; javax.security.auth.x500.X500Principal.getName,
sun.security.x509.AVA.toRFC2253String; X.690; java.util.regex.Pattern, Matcher.appendReplacement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from metashell.common.errors import UsageError

_SHORT: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXTS: Final = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""UTF-8, printable, teletex, IA5, general and BMP texts; Java reads the bytes of them all as UTF-8."""
_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_VERSION: Final = 0xA0
_ESCAPED: Final = frozenset(',=+<>#;"\\')


class _Element(NamedTuple):
    tag: int
    content: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """The distinguished name of the subject of a certificate in DER. Errors: ValueError."""
    try:
        (outer,) = _elements(certificate)
        fields = list(_elements(next(_elements(outer.content)).content))
        # The version may be missing; then come serial number, algorithm, issuer, validity, subject.
        return distinguished_name(fields[5 if fields[0].tag == _VERSION else 4].whole)
    except (IndexError, StopIteration):
        raise ValueError("an element of the certificate is missing") from None


def distinguished_name(name: bytes) -> str:
    """A name in DER as RFC 2253 writes it. Errors: ValueError."""
    (sequence,) = _elements(name)
    parts = [each for each in _elements(sequence.content) if each.tag == _SET]
    if sequence.tag != _SEQUENCE:
        raise ValueError("the name is no sequence")
    return ",".join("+".join(map(_assertion, _elements(part.content))) for part in reversed(parts))


def _elements(data: bytes) -> Iterator[_Element]:
    """Parse a sequence of elements. Errors: ValueError."""
    at = 0
    while at < len(data):
        start = at
        if at + 2 > len(data):
            raise ValueError("an element of the certificate ends early")
        tag, size = data[at], data[at + 1]
        at += 2
        if size == 0x80:
            raise ValueError("an element of the certificate has no length")
        if size > 0x80:
            count = size - 0x80
            size, at = int.from_bytes(data[at : at + count], "big"), at + count
        if at + size > len(data):
            raise ValueError("an element of the certificate ends early")
        at += size
        yield _Element(tag, data[at - size : at], data[start:at])


def _assertion(element: _Element) -> str:
    key, value = _elements(element.content)
    number = _number(key.content)
    short = _SHORT.get(number)
    if short is None or value.tag not in _TEXTS:
        return f"{short or number}=#{value.whole.hex()}"
    return f"{short}={_escaped_value(value.content.decode('utf-8', 'replace'))}"


def _number(content: bytes) -> str:
    """An object identifier with its dots."""
    numbers, value = [], 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2) if numbers else 0
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]] if numbers else []))


def _escaped_value(value: str) -> str:
    text = "".join("\\00" if char == "\0" else f"\\{char}" if char in _ESCAPED else char for char in value)
    inner = text.strip(" \r")
    if not inner:
        return "".join(f"\\{char}" for char in text)
    begin = text.index(inner)
    end = begin + len(inner)
    return "".join(f"\\{char}" for char in text[:begin]) + inner + "".join(f"\\{char}" for char in text[end:])


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
    found = _escaped_piece(match, in_class=True)
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
    return _escaped_piece(match, in_class=False)


def _escaped_piece(match: re.Match[str], *, in_class: bool) -> str:
    """Parse a piece that begins with a backslash."""
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


_GROUP_REFERENCE = re.compile(r"\\(?P<escaped>.)?|\$(?:(?P<number>[0-9]+)|\{(?P<name>[a-zA-Z][a-zA-Z0-9]*)\})?|[^\\$]+", re.DOTALL)


def java_replace_all(pattern: re.Pattern[str], replacement: str, text: str) -> str:
    """Return text.replaceAll(pattern, replacement) as Java computes it. Errors: ValueError for a replacement that names no group."""
    found, position, end = [], 0, 0
    while position <= len(text) and (match := pattern.search(text, position)) is not None:
        found += [text[end : match.start()], _expanded(match, replacement)]
        end = match.end()
        position = end + (match.start() == end)
    return "".join([*found, text[end:]])


def _expanded(match: re.Match[str], replacement: str) -> str:
    out = []
    for piece in _GROUP_REFERENCE.finditer(replacement):
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


MAPPING_RULES_KEY: Final = "ssl.principal.mapping.rules"
DEFAULT_RULES: Final = "DEFAULT"

_TEXT: Final = rf"(?:\\{ANY}|[^\\/])*"
_RULE: Final = rf"(?P<default>DEFAULT)|RULE:(?P<pattern>{_TEXT})/(?P<replacement>{_TEXT})/(?P<letters>[LU]?){ANY}*?|{ANY}*?"
_SPLITTER = re.compile(rf"\s*(?P<rule>{_RULE})\s*(?:,\s*|{LAST_END})", re.ASCII)
_PARSER = re.compile(_RULE, re.ASCII)
_REFERENCE = re.compile(r"\$([0-9]+)")
_JAVA_BLANKS: Final = "".join(map(chr, range(33)))


class NoMatchingRuleError(ValueError):
    """A name that no rule takes."""


class Rule(NamedTuple):
    """One rule; without a pattern it is DEFAULT. `letters` is L, U or empty."""

    pattern: re.Pattern[str] | None = None
    source: str = ""
    replacement: str = ""
    letters: str = ""

    def apply(self, name: str) -> str | None:
        """Return the name that the rule makes of `name`, None where it does not match.

        Errors: ValueError for a replacement that names no group.
        """
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        made = java_replace_all(self.pattern, _literal_references(self.replacement, self.pattern.groups), name)
        return made.lower() if self.letters == "L" else made.upper() if self.letters == "U" else made

    def __str__(self) -> str:
        if self.pattern is None:
            return "DEFAULT"
        return f"RULE:{self.source}/{self.replacement}" + (f"/{self.letters}" if self.letters else "")


class PrincipalRules:
    """The rules of one listener. Errors: UsageError for rules that Kafka refuses, in its words."""

    def __init__(self, text: str = DEFAULT_RULES) -> None:
        self.rules = tuple(_parsed(_split(text)))

    def name_of(self, distinguished_name: str) -> str:
        """The name of the principal. Errors: ValueError where no rule matches, or the one that does is wrong."""
        for rule in self.rules:
            if (made := rule.apply(distinguished_name)) is not None:
                return made
        raise NoMatchingRuleError(f"No rules apply to {distinguished_name}, rules [{', '.join(map(str, self.rules))}]")


def _split(text: str) -> Iterator[str]:
    text = text.strip(_JAVA_BLANKS)
    position = 0
    while position <= len(text) and (match := _SPLITTER.search(text, position)) is not None:
        yield match["rule"]
        position = match.end() + (match.end() == match.start())


def _parsed(texts: Iterator[str]) -> Iterator[Rule]:
    for text in texts:
        match = _PARSER.match(text)
        assert match is not None, "the last alternative takes everything"
        if match.end() != len(text):
            raise UsageError(f"Invalid rule: `{text}`, unmatched substring: `{text[match.end() :]}`", MAPPING_RULES_KEY)
        if match["default"]:
            yield Rule()
        elif match["pattern"] is not None:
            try:
                pattern = java_pattern(match["pattern"])
            except JavaPatternError as error:
                raise UsageError(f"{MAPPING_RULES_KEY}: {error}", MAPPING_RULES_KEY) from None
            yield Rule(pattern, match["pattern"], match["replacement"], match["letters"])


def _literal_references(replacement: str, group_count: int) -> str:
    """The replacement with `$9` as text where the pattern has fewer groups; one whose pattern has none is left as it is.

    Kafka looks for references in the text before the first change, and changes at those places: after one change the next is one character
    too early. That is kept.
    """
    if group_count == 0:
        return replacement
    value = replacement
    for match in _REFERENCE.finditer(replacement):
        digits = match[1]
        if digits.startswith("0"):
            continue
        group = int(digits)
        while group > group_count and group >= 10:
            group //= 10
        if group > group_count:
            at = match.start(1) - 1
            value = f"{value[:at]}\\{value[at:]}"
    return value
