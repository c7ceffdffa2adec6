"""Splitting a typed line in words, as the line editor of Kafka's shell does it.

Blanks separate. A quote at the start of a word runs to the next quote of the same kind and both go; inside a word they stay.
A backslash goes and what follows it stands for itself, within quotes too. Empty words do not exist; an open quote at the end is closed.
"""

from __future__ import annotations

_QUOTES = "'\""


class _Word:
    __slots__ = ("quote", "text", "whole")

    def __init__(self) -> None:
        self.text = ""
        self.quote = ""
        self.whole = False
        """Whether the quotes around the word are to go."""


def split_line(line: str) -> list[str]:
    """The words of a line.

    Source: org.jline.reader.impl.DefaultParser 3.30, its behaviour on lines fed to Kafka's shell.
    """
    words, _ = split_partial(line)
    return words


def split_partial(line: str) -> tuple[list[str], str]:
    """The words of a line, and where it ends inside a word or quote, what was typed of that one (else an empty text)."""
    words: list[str] = []
    word = _Word()
    escaped = False
    for char in line:
        if escaped:
            word.text += char
            escaped = False
        elif char == "\\":
            escaped = True
        elif not word.quote and char.isspace():
            if word.text:
                words.append(word.text)
            word = _Word()
        else:
            _take(word, char)
    if word.text:
        words.append(word.text)
    return words, word.text


def _take(word: _Word, char: str) -> None:
    if word.quote:
        if char != word.quote:
            word.text += char
            return
        if not word.whole:
            word.text += char
        word.quote, word.whole = "", False
    elif char in _QUOTES:
        word.quote, word.whole = char, not word.text
        word.text += "" if word.whole else char
    else:
        word.text += char
