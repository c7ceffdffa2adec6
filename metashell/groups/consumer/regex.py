"""Parses the syntax of RE2/J. Captures and the preference among matches do not change a full match, and are ignored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from unicodedata import category

from metashell.common.errors import MetashellError

CHAR: Final = "char"
ASSERT: Final = "assert"
EMPTY: Final = "empty"

MISSING_BRACKET: Final = "missing closing ]"
MISSING_PAREN: Final = "missing closing )"
MISSING_ARGUMENT: Final = "missing argument to repetition operator"
INVALID_CLASS_RANGE: Final = "invalid character class range"
INVALID_ESCAPE: Final = "invalid escape sequence"
INVALID_NAME: Final = "invalid named capture"
DUPLICATE_NAME: Final = "duplicate capture group name"
INVALID_PERL: Final = "invalid or unsupported Perl syntax"
INVALID_REPEAT: Final = "invalid nested repetition operator"
INVALID_COUNT: Final = "invalid repeat count"
TRAILING_BACKSLASH: Final = "trailing backslash at end of expression"
INTERNAL: Final = "regexp/syntax: internal error"

TOO_LARGE: Final = "expression is too large"
TOO_DEEP: Final = "expression nests too deeply"
"""The deepest nesting. RE2/J has no such bound; deeper patterns overflow its stack."""

MOST_REPEATS: Final = 1000
_DEEPEST: Final = 100
_LONGEST_COUNT: Final = 8
_WORD: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_PERL: Final = {"d": frozenset("0123456789"), "w": _WORD, "s": frozenset("\t\n\f\r ")}
_ESCAPES: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_LETTERS: Final = frozenset(char for char in _WORD if char.isalpha())
_POSIX: Final = {
    "alnum": _WORD - {"_"},
    "alpha": _LETTERS,
    "ascii": frozenset(map(chr, range(128))),
    "blank": frozenset("\t "),
    "cntrl": frozenset([*map(chr, range(32)), "\x7f"]),
    "digit": _PERL["d"],
    "graph": _PUNCTUATION | _WORD,
    "lower": frozenset(char for char in _LETTERS if char.islower()),
    "print": _PUNCTUATION | _WORD | {" "},
    "punct": _PUNCTUATION,
    "space": frozenset("\t\n\v\f\r "),
    "upper": frozenset(char for char in _LETTERS if char.isupper()),
    "word": _WORD,
    "xdigit": frozenset("0123456789abcdefABCDEF"),
}
_CATEGORIES: Final = frozenset(
    [
        "C",
        "Cc",
        "Cf",
        "Co",
        "Cs",
        "L",
        "Ll",
        "Lm",
        "Lo",
        "Lt",
        "Lu",
        "M",
        "Mc",
        "Me",
        "Mn",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Pe",
        "Pf",
        "Pi",
        "Po",
        "Ps",
        "S",
        "Sc",
        "Sk",
        "Sm",
        "So",
        "Z",
        "Zl",
        "Zp",
        "Zs",
    ]
)

Takes = Callable[[str], bool]


class RegexSyntaxError(MetashellError):
    """Reports an invalid pattern in RE2/J's words."""


@dataclass(frozen=True, slots=True)
class RegexNode:
    """Shape: `kind` is char, assert, empty, sequence, choice or repeat; `most` is None for no upper bound."""

    kind: str
    takes: Takes = lambda char: False
    holds: Callable[[str, str], bool] = lambda before, after: True
    parts: tuple[RegexNode, ...] = ()
    least: int = 0
    most: int | None = None


@dataclass(slots=True)
class Flags:
    """`i` ignores case, `s` lets a dot match a line feed, `m` lets `^` and `$` match at each line."""

    i: bool = False
    s: bool = False
    m: bool = False

    def copy(self) -> Flags:
        return Flags(self.i, self.s, self.m)


def parse(pattern: str) -> RegexNode:
    """Return the tree of a pattern. Errors: RegexSyntaxError."""
    return _Parser(pattern).whole()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.depth = 0
        self.names: set[str] = set()
        self.flags = Flags()

    def whole(self) -> RegexNode:
        node = self.choice()
        if self.at < len(self.text):
            raise RegexSyntaxError(INTERNAL)  # RE2/J's word for an unmatched closing bracket
        return node

    def choice(self) -> RegexNode:
        parts = [self.sequence()]
        while self.accept("|"):
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else RegexNode("choice", parts=tuple(parts))

    def sequence(self) -> RegexNode:
        parts: list[RegexNode] = []
        was_repeat = False
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            counts = self.repetition()
            if counts is None:
                parts += self.one()
                was_repeat = False
                continue
            if was_repeat:
                raise RegexSyntaxError(INVALID_REPEAT)
            if not parts:
                raise RegexSyntaxError(MISSING_ARGUMENT)
            self.accept("?")
            parts[-1] = _repeated(parts[-1], *counts)
            was_repeat = True
        return RegexNode(EMPTY) if not parts else parts[0] if len(parts) == 1 else RegexNode("sequence", parts=tuple(parts))

    def repetition(self) -> tuple[int, int | None] | None:
        """Parse a repetition and return its counts. A brace that is no count is a literal."""
        char = self.text[self.at]
        if char in "*+?":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        if char != "{":
            return None
        end = self.text.find("}", self.at)
        least, comma, most = self.text[self.at + 1 : max(end, 0)].partition(",")
        if end < 0 or not _is_count(least) or (most and not _is_count(most)):
            return None
        self.at = end + 1
        if len(least) > _LONGEST_COUNT or len(most) > _LONGEST_COUNT:
            raise RegexSyntaxError(INVALID_COUNT)
        low = int(least)
        high = low if not comma else int(most) if most else None
        if low > MOST_REPEATS or (high is not None and (high > MOST_REPEATS or low > high)):
            raise RegexSyntaxError(INVALID_COUNT)
        return low, high

    def one(self) -> list[RegexNode]:
        """Parse one atom; a quotation is a sequence."""
        char = self.text[self.at]
        self.at += 1
        flags = self.flags
        match char:
            case "(":
                return self.group()
            case "[":
                self.at -= 1
                return [_char(self.char_class())]
            case ".":
                return [_char((lambda char: True) if flags.s else (lambda char: char != "\n"))]
            case "^":
                return [_look((lambda before, after: before in ("", "\n")) if flags.m else (lambda before, after: before == ""))]
            case "$":
                return [_look((lambda before, after: after in ("", "\n")) if flags.m else (lambda before, after: after == ""))]
            case "\\":
                return self.escape()
        return [_char(self.literal(char))]

    def group(self) -> list[RegexNode]:
        outer = self.flags.copy()
        if self.text.startswith("?", self.at):
            self.at += 1
            named = next((prefix for prefix in ("P<", "<") if self.text.startswith(prefix, self.at)), None)
            if named is not None:
                self.name(named)
            elif not self.set_flags():
                return [RegexNode(EMPTY)]
        self.depth += 1
        if self.depth > _DEEPEST:
            raise RegexSyntaxError(TOO_DEEP)
        node = self.choice()
        self.depth -= 1
        if not self.accept(")"):
            raise RegexSyntaxError(MISSING_PAREN)
        self.flags = outer
        return [node]

    def name(self, prefix: str) -> None:
        end = self.text.find(">", self.at)
        name = self.text[self.at + len(prefix) : max(end, 0)]
        if end < 0 or not name or not set(name) <= _WORD:
            raise RegexSyntaxError(INVALID_NAME)
        if name in self.names:
            raise RegexSyntaxError(DUPLICATE_NAME)
        self.names.add(name)
        self.at = end + 1

    def set_flags(self) -> bool:
        """Parse the flags of `(?i-s:`. Returns whether a group follows, which `(?i)` does not have."""
        new, value, has_letter = self.flags.copy(), True, False
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char in "ims":
                setattr(new, char, value)
                has_letter = True
            elif char == "U":
                has_letter = True
            elif char == "-" and value:
                value, has_letter = False, False
            elif char in ":)" and (value or has_letter):
                self.flags = new
                return char == ":"
            else:
                break
        raise RegexSyntaxError(INVALID_PERL)

    def escape(self) -> list[RegexNode]:
        following = self.text[self.at : self.at + 1]
        looks: dict[str, Callable[[str, str], bool]] = {
            "A": lambda before, after: before == "",
            "z": lambda before, after: after == "",
            "b": lambda before, after: (before in _WORD) != (after in _WORD),
            "B": lambda before, after: (before in _WORD) == (after in _WORD),
        }
        if following in looks:
            self.at += 1
            return [_look(looks[following])]
        if following == "Q":
            end = self.text.find("\\E", self.at + 1)
            quoted = self.text[self.at + 1 : end if end >= 0 else None]
            self.at = len(self.text) if end < 0 else end + 2
            return [_char(self.literal(char)) for char in quoted]
        takes = self.named_class()
        return [_char(takes if takes is not None else self.literal(self.escaped()))]

    def named_class(self) -> Takes | None:
        """Parse a class after a backslash, of Perl or of Unicode."""
        letter = self.text[self.at : self.at + 1]
        if letter and letter.lower() in _PERL:
            self.at += 1
            return _members(_PERL[letter.lower()], letter.isupper())
        return self.unicode_class(letter == "P") if letter in ("p", "P") else None

    def unicode_class(self, is_negated: bool) -> Takes:
        self.at += 1
        if self.text.startswith("{", self.at):
            end = self.text.find("}", self.at)
            if end < 0:
                raise RegexSyntaxError(INVALID_CLASS_RANGE)
            name = self.text[self.at + 1 : end]
            self.at = end + 1
        else:
            name = self.text[self.at : self.at + 1]
            self.at += 1
        if name.startswith("^"):
            name, is_negated = name[1:], not is_negated
        if name == "Any":
            return lambda char: not is_negated
        if name == "Latin":
            return _members(_LETTERS, is_negated)  # of the characters that topic names may have
        if name not in _CATEGORIES:
            raise RegexSyntaxError(INVALID_CLASS_RANGE)
        return lambda char: category(char).startswith(name) != is_negated

    def escaped(self) -> str:
        """Parse an escape after its backslash, and return its character."""
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if not char:
            raise RegexSyntaxError(TRAILING_BACKSLASH)
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "x":
            return self.hexadecimal()
        if char in "01234567":
            return self.octal(char)
        if not (char.isascii() and char.isalnum()):
            return char
        raise RegexSyntaxError(INVALID_ESCAPE)

    def octal(self, digits: str) -> str:
        # One digit other than 0 would be a back reference, which RE2 does not have.
        if digits != "0" and self.text[self.at : self.at + 1] not in tuple("01234567"):
            raise RegexSyntaxError(INVALID_ESCAPE)
        while len(digits) < 3 and self.text[self.at : self.at + 1] in tuple("01234567"):
            digits += self.text[self.at]
            self.at += 1
        return chr(int(digits, 8))

    def hexadecimal(self) -> str:
        if self.text.startswith("{", self.at):
            end = self.text.find("}", self.at)
            digits, self.at = self.text[self.at + 1 : max(end, 0)], end + 1
        else:
            digits = self.text[self.at : self.at + 2]
            self.at += 2
            digits = digits if len(digits) == 2 else ""
        if not digits or not set(digits) <= _POSIX["xdigit"] or int(digits, 16) > 0x10FFFF:
            raise RegexSyntaxError(INVALID_ESCAPE)
        return chr(int(digits, 16))

    def char_class(self) -> Takes:
        self.at += 1
        is_negated = self.accept("^")
        parts: list[Takes] = []
        is_first = True
        while is_first or not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise RegexSyntaxError(MISSING_BRACKET)
            is_first = False
            named = self.bracketed_class()
            parts.append(named if named is not None else self.range_of())
        self.at += 1
        return lambda char: any(takes(char) for takes in parts) != is_negated

    def bracketed_class(self) -> Takes | None:
        """Parse `[:alpha:]`, `\\d` or `\\pL` inside brackets."""
        if self.text.startswith("[:", self.at):
            end = self.text.find(":]", self.at + 2)
            if end >= 0:
                name = self.text[self.at + 2 : end]
                is_negated, name = name.startswith("^"), name.removeprefix("^")
                if name not in _POSIX:
                    raise RegexSyntaxError(INVALID_CLASS_RANGE)
                self.at = end + 2
                return _members(_POSIX[name], is_negated)
        if self.text.startswith("\\", self.at):
            self.at += 1
            named = self.named_class()
            if named is None:
                self.at -= 1
            return named
        return None

    def range_of(self) -> Takes:
        low = self.class_char()
        high = low
        if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
            self.at += 1
            high = self.class_char()
            if high < low:
                raise RegexSyntaxError(INVALID_CLASS_RANGE)
        if self.flags.i:
            return lambda char: any(low <= one <= high for one in (char, char.lower(), char.upper()))
        return lambda char: low <= char <= high

    def class_char(self) -> str:
        if self.at >= len(self.text):
            raise RegexSyntaxError(MISSING_BRACKET)
        char = self.text[self.at]
        self.at += 1
        return self.escaped() if char == "\\" else char

    def literal(self, char: str) -> Takes:
        if self.flags.i:
            both = {char, char.lower(), char.upper()}
            return lambda other: other in both
        return lambda other: other == char

    def accept(self, char: str) -> bool:
        if self.text.startswith(char, self.at):
            self.at += len(char)
            return True
        return False


def _char(takes: Takes) -> RegexNode:
    return RegexNode(CHAR, takes=takes)


def _look(holds: Callable[[str, str], bool]) -> RegexNode:
    return RegexNode(ASSERT, holds=holds)


def _members(chars: frozenset[str], is_negated: bool) -> Takes:
    return lambda char: (char in chars) != is_negated


def _is_count(text: str) -> bool:
    """Return whether a text is digits without a leading zero."""
    return text.isascii() and text.isdigit() and (text == "0" or not text.startswith("0"))


def _repeated(node: RegexNode, least: int, most: int | None) -> RegexNode:
    return RegexNode("repeat", parts=(node,), least=least, most=most)
