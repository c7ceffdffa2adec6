"""Rules of Java that show in answers and records: regular expressions that java.util.regex takes, numbers, and the order of hash tables.

`is_java_pattern` says whether java.util.regex.Pattern takes an expression; its grammar is not Python's. Nothing is matched here.
What follows a flag `x`, which lets comments in, and the names of Unicode's scripts, blocks and characters are not looked at.

Source: java.util.regex.Pattern of JDK 17: sequence, atom, closure, group0, clazz, range, escape; java.lang.Integer.parseInt;
org.apache.kafka.timeline.BaseHashTable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NoReturn

_FLAGS: Final = frozenset("imsducxU")
_BOUNDARIES: Final = frozenset("ABGRXZz")
_CLASSES: Final = frozenset("DdHhSsVvWw")
_LITERAL: Final = frozenset("aefnrt")
_REPETITION_MAX: Final = (1 << 31) - 1
_FAMILY_NAMES: Final = (
    "Cn Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf L M N Z C P S LC LD L1 all ASCII",
    "Alnum Alpha Blank Cntrl Digit Graph Lower Print Punct Space Upper XDigit javaLowerCase javaUpperCase javaAlphabetic javaIdeographic",
    "javaTitleCase javaDigit javaDefined javaLetter javaLetterOrDigit javaJavaIdentifierStart javaJavaIdentifierPart javaSpaceChar",
    "javaUnicodeIdentifierStart javaUnicodeIdentifierPart javaIdentifierIgnorable javaWhitespace javaISOControl javaMirrored",
)
_FAMILIES: Final = frozenset(name for line in _FAMILY_NAMES for name in line.split(" "))
_DEPTH_MAX: Final = 200
"""Groups and classes in one another; Java's own stack ends some way above."""


class _PatternError(Exception):
    """The expression does not compile."""


class _CommentsError(Exception):
    """A flag lets comments in: what follows is not looked at."""


def is_java_pattern(text: str) -> bool:
    """Whether `Pattern.compile(text)` gives a pattern."""
    try:
        _Parser(_without_quotes(text)).parse()
    except _PatternError:
        return False
    except _CommentsError:
        return True
    return True


def _without_quotes(text: str) -> str:
    r"""The text with letters in place of what stands between `\Q` and `\E`, where nothing has a meaning."""
    at = _quote_start(text, 0)
    if at < 0:
        return text
    made = []
    begin = 0
    while at >= 0:
        end = text.find("\\E", at + 2)
        made += [text[begin:at], "q" * ((len(text) if end < 0 else end) - at - 2)]
        begin = len(text) if end < 0 else end + 2
        at = _quote_start(text, begin)
    return "".join(made) + text[begin:]


def _quote_start(text: str, at: int) -> int:
    while at < len(text) - 1:
        if text[at] == "\\":
            if text[at + 1] == "Q":
                return at
            at += 1
        at += 1
    return -1


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._names: set[str] = set()
        self._behind = 0

    def parse(self) -> None:
        self._expression()
        if self._at < len(self._text):
            self._fail()

    def _fail(self) -> NoReturn:
        raise _PatternError

    def _peek(self) -> str:
        """The next letter, empty at the end."""
        return self._text[self._at : self._at + 1]

    def _read(self) -> str:
        letter = self._peek()
        self._at += 1
        return letter

    def _expression(self) -> None:
        """Alternatives."""
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            self._fail()
        self._sequence()
        while self._peek() == "|":
            self._at += 1
            self._sequence()
        self._depth -= 1

    def _sequence(self) -> None:
        while (letter := self._peek()) and letter not in "|)":
            if letter == "(":
                self._group()
                continue
            if letter in "?*+":
                self._fail()
            if letter == "[":
                self._class()
            elif letter == "\\":
                self._escape(in_class=False)
            elif letter != "{":
                # A brace repeats nothing, which may be repeated.
                self._at += 1
            self._closure()

    def _closure(self) -> None:
        """A quantifier, if there is one."""
        letter = self._peek()
        if not letter or letter not in "?*+{":
            return
        self._at += 1
        if letter == "{":
            self._count()
        if (following := self._peek()) and following in "?+":
            self._at += 1

    def _count(self) -> None:
        low = high = self._number()
        if self._peek() == ",":
            self._at += 1
            if self._peek() != "}":
                high = self._number()
        if self._read() != "}" or high < low:
            self._fail()

    def _number(self) -> int:
        start = self._at
        while self._peek() and self._peek() in "0123456789":
            self._at += 1
        digits = self._text[start : self._at].lstrip("0") or self._text[start : self._at][:1]
        if not digits or len(digits) > len(str(_REPETITION_MAX)) or int(digits) > _REPETITION_MAX:
            self._fail()
        return int(digits)

    def _group(self) -> None:
        self._at += 1
        is_behind = False
        if self._peek() == "?":
            self._at += 1
            letter = self._read()
            if letter == "<":
                if self._peek() and self._peek() in "=!":
                    self._at += 1
                    is_behind = True
                else:
                    self._new_name()
            elif not letter or letter not in ":=!>":
                self._at -= 1
                if not self._flags():
                    return
        self._behind += is_behind
        self._expression()
        self._behind -= is_behind
        if self._read() != ")":
            self._fail()
        self._closure()

    def _new_name(self) -> None:
        name = self._name()
        if name in self._names:
            self._fail()
        self._names.add(name)

    def _name(self) -> str:
        start = self._at
        while (letter := self._peek()) and letter.isascii() and letter.isalnum():
            self._at += 1
        name = self._text[start : self._at]
        if not name or not name[0].isalpha() or self._read() != ">":
            self._fail()
        return name

    def _flags(self) -> bool:
        """Flags in a group; whether the group goes on after them."""
        is_off = False
        while (letter := self._read()) and (letter in _FLAGS or (letter == "-" and not is_off)):
            is_off = is_off or letter == "-"
            if letter == "x" and not is_off:
                raise _CommentsError
        if letter == ")":
            return False
        if letter != ":":
            self._fail()
        return True

    def _class(self) -> None:
        """A class of characters, from its bracket to the one that ends it."""
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            self._fail()
        self._at += 1
        if self._peek() == "^":
            self._at += 1
        has_any = False
        while True:
            letter = self._peek()
            if not letter:
                self._fail()
            if letter == "]" and has_any:
                self._at += 1
                break
            if letter == "[":
                self._class()
            elif self._text.startswith("&&", self._at):
                self._intersection(has_any)
            else:
                self._range()
            has_any = True
        self._depth -= 1

    def _intersection(self, has_left: bool) -> None:
        self._at += 2
        has_right = False
        while (letter := self._peek()) and letter not in "]&":
            if letter == "[":
                self._class()
            else:
                while (letter := self._peek()) and letter not in "][" and not self._text.startswith("&&", self._at):
                    self._range()
            has_right = True
        if not (has_left or has_right):
            self._fail()

    def _range(self) -> None:
        start = self._one()
        if start is None or self._peek() != "-":
            return
        following = self._text[self._at + 1 : self._at + 2]
        if following in ("[", "]"):
            return
        self._at += 1
        if not self._peek():
            self._fail()
        end = self._one()
        if end is None or end < start:
            self._fail()

    def _one(self) -> int | None:
        """One character of a class, None for a class of them."""
        if self._peek() != "\\":
            return ord(self._read())
        value = self._escape(in_class=True)
        return value if value >= 0 else None

    def _escape(self, *, in_class: bool) -> int:
        """The number of the character that an escape stands for, `_MANY` for what is not one character."""
        self._at += 1
        letter = self._read()
        if not letter:
            self._fail()
        if letter in "pP":
            self._family()
            return _MANY
        if letter in _CLASSES:
            return _MANY
        if letter in _LITERAL:
            return ord({"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}[letter])
        match letter:
            case "0":
                return self._octal()
            case "x":
                return self._hexadecimal()
            case "u":
                return self._digits(4)
            case "c":
                return ord(self._read() or self._fail()) ^ 64
            case "N":
                self._braced()
                return 0
        if letter.isascii() and letter.isalnum():
            if in_class:
                self._fail()
            self._outside(letter)
            return _MANY
        return ord(letter)

    def _outside(self, letter: str) -> None:
        """Escapes that only stand outside of classes."""
        if letter == "b" and self._text.startswith("{g", self._at):
            if not self._text.startswith("{g}", self._at):
                self._fail()
            self._at += 3
        elif letter == "k":
            if self._read() != "<" or self._name() not in self._names:
                self._fail()
        elif letter not in _BOUNDARIES and letter not in "b123456789":
            self._fail()
        if self._behind and letter in "k123456789":
            # Looking back needs to know how far.
            self._fail()

    def _family(self) -> None:
        if self._peek() != "{":
            name = self._read()
        else:
            name = self._braced()
            if "=" in name or name.startswith(("In", "Is")):
                return
        if name not in _FAMILIES:
            self._fail()

    def _braced(self) -> str:
        end = self._text.find("}", self._at)
        if self._peek() != "{" or end < self._at + 2:
            self._fail()
        name = self._text[self._at + 1 : end]
        self._at = end + 1
        return name

    def _octal(self) -> int:
        digits = ""
        while len(digits) < (3 if digits[:1] <= "3" else 2) and self._peek() and self._peek() in "01234567":
            digits += self._read()
        if not digits:
            self._fail()
        return int(digits, 8)

    def _hexadecimal(self) -> int:
        if self._peek() != "{":
            return self._digits(2)
        digits = self._braced()
        if not all(letter in _HEX for letter in digits) or int(digits, 16) > 0x10FFFF:
            self._fail()
        return int(digits, 16)

    def _digits(self, count: int) -> int:
        digits = self._text[self._at : self._at + count]
        if len(digits) < count or not all(letter in _HEX for letter in digits):
            self._fail()
        self._at += count
        return int(digits, 16)


_HEX: Final = frozenset("0123456789abcdefABCDEF")
_MANY: Final = -1


def parse_java_int(text: str) -> int | None:
    """Parse as Integer.parseInt does: decimal, with or without a sign, within 32 bits. None for all else."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return None
    # More digits than these are zeros in front, or too many.
    if len(text.lstrip("+-0")) > 10:
        return None
    number = int(text)
    return number if -(1 << 31) <= number < 1 << 31 else None


_FIBONACCI = 0x9E3779B97F4A7C15


def timeline_order(ids: Sequence[int], *, was_changed: bool = False) -> tuple[int, ...]:
    """Ids as a TimelineHashMap that got them in this order iterates.

    They lie in a table of a power of two slots, by Fibonacci hashing; it doubles when one more would be too many, also when the one is
    not new but changes what is there. A slot is read from its end.
    Source: org.apache.kafka.timeline.BaseHashTable, SnapshottableHashTable.
    """
    bits = 1
    while (len(ids) + was_changed) * 3 / 4 > 1 << bits:
        bits += 1
    slots: dict[int, list[int]] = {}
    for id in ids:
        slots.setdefault((id * _FIBONACCI & (1 << 64) - 1) >> (64 - bits), []).append(id)
    return tuple(id for slot in sorted(slots) for id in reversed(slots[slot]))
