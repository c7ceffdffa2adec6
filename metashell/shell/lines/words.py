"""Splits a typed line into words as the line editor of Kafka's shell does.

Blanks separate words. A quote at the start of a word ends at the next quote of the same kind, and both are removed; inside a word
quotes stay. A backslash is removed and the next character is taken literally, within quotes too. There are no empty words; an open
quote ends with the line, which our own shell refuses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_QUOTES = "'\""
_NEEDS_QUOTING = re.compile(r"[\s'\"\\;&|<>#!()]")


@dataclass(frozen=True, slots=True)
class PartialLine:
    """An unfinished line: the finished words, the last one (empty after a blank), where that begins, and whether a quote is open in it."""

    words: list[str]
    current: str
    start: int
    is_open: bool = False

    @property
    def all_words(self) -> list[str]:
        """The words if the line ends here."""
        return [*self.words, self.current] if self.current else self.words


class Word:
    """A word that is being read; `quote` is the one that is open in it, which `quote_index` is the place of."""

    __slots__ = ("quote", "quote_index", "text", "whole")

    def __init__(self) -> None:
        self.text = ""
        self.quote = ""
        self.quote_index = 0
        self.whole = False
        """Whether the quotes are around the whole word, so that they are removed."""

    def take(self, char: str) -> None:
        """Add a character that is neither an unquoted blank nor escaped."""
        if self.quote:
            if char != self.quote:
                self.text += char
                return
            if not self.whole:
                self.text += char
            self.quote, self.whole = "", False
        elif char in _QUOTES:
            self.quote, self.whole = char, not self.text
            self.text += "" if self.whole else char
        else:
            self.text += char


def split_line(line: str) -> list[str]:
    """The words of a line.

    Source: org.jline.reader.impl.DefaultParser, its behaviour on lines fed to Kafka's shell.
    """
    return split_partial(line).all_words


def split_partial(line: str) -> PartialLine:
    """The words of a line whose end is the cursor."""
    words: list[str] = []
    word, start, escaped = Word(), 0, False
    for index, char in enumerate(line):
        if escaped:
            word.text += char
            escaped = False
        elif char == "\\":
            escaped = True
        elif not word.quote and char.isspace():
            if word.text:
                words.append(word.text)
            word, start = Word(), index + 1
        else:
            word.take(char)
    return PartialLine(words, word.text, start, bool(word.quote))


def quote_word(text: str) -> str:
    """The text with backslashes where the shell would otherwise split it, take something away, or see another command in it."""
    return _NEEDS_QUOTING.sub(lambda match: "\\" + match[0], text)
