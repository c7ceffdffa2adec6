"""Splits a typed line into words as the line editor of Kafka's shell does, and finds where text for /bin/sh ends.

Blanks separate words. A quote at the start of a word ends at the next quote of the same kind, and both are removed; inside a word quotes
stay. A backslash is removed and the next character is taken literally, within quotes too. There are no empty words. An open quote ends
with the line, which our own shell refuses.

Text for `/bin/sh -c` ends at the first `;` or `&&` that /bin/sh itself would see, and is passed on as typed. Quotes, backslashes,
`$(..)`, backticks, groups, `${..}` and `while .. done` and the like keep their contents together. A line that leaves one open is
refused. Every error that points at a place in a text is a `CaretError`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from metashell.common.errors import UsageError
from metashell.common.forms import text_width
from metashell.common.terminal import terminal_line

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
        """Return the words if the line ends here."""
        return [*self.words, self.current] if self.current else self.words


class Word:
    """A word that is being read; `quote` is the open quote in it, and `quote_index` its place."""

    __slots__ = ("quote", "quote_index", "text", "whole")

    def __init__(self) -> None:
        self.text = ""
        self.quote = ""
        self.quote_index = 0
        self.whole = False
        """Whether the quotes enclose the whole word, so that they are removed."""

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
    """Return the words of a line.

    Source: org.jline.reader.impl.DefaultParser, its behaviour on lines fed to Kafka's shell.
    """
    return split_partial(line).all_words


def split_partial(line: str) -> PartialLine:
    """Return the words of a line whose end is the cursor."""
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
    """Return the text with backslashes where the shell would otherwise split it, remove a character, or see another command."""
    return _NEEDS_QUOTING.sub(lambda match: "\\" + match[0], text)


_SHOWN_MAX: Final = 70


class CaretError(UsageError):
    """A text that cannot be read; `excerpt` is the text around the fault, with a caret below it at `index`."""

    def __init__(self, message: str, text: str, index: int) -> None:
        super().__init__(message, text)
        self.index = index
        shift = max(0, index - _SHOWN_MAX // 2) if len(text) > _SHOWN_MAX else 0
        before = terminal_line(text[shift:index])
        self.excerpt = (before + terminal_line(text[index : shift + _SHOWN_MAX]), " " * text_width(before) + "^")


_WORD: Final = re.compile(r"[^\s;&|<>()'\"`$\\#]+")
_OPENS: Final = {"while": "done", "until": "done", "for": "done", "if": "fi", "case": "esac", "{": "}"}
_LEADS: Final = frozenset(("do", "then", "else", "elif", "!", "time", *_OPENS)) - {"for", "case"}
"""Words after which another command begins."""


class LineError(CaretError):
    """A line that cannot be read; the caret marks the place."""


def end_of_shell_text(line: str, start: int) -> int:
    """Return where the text that begins at `start` ends; it may end with a comment. Errors: LineError."""
    return _Scan(line, start).end()


class _Scan:
    """A scan of a line; `open` are the expected closing words, each with the place of its opening."""

    def __init__(self, line: str, start: int) -> None:
        self.line = line
        self.at = start
        self.open: list[tuple[str, int]] = []
        self.is_command = True
        """Whether a command may begin here; otherwise `while` is an argument."""

    def end(self) -> int:
        line = self.line
        while self.at < len(line):
            char = line[self.at]
            if not self.open and (char == ";" or line.startswith("&&", self.at)):
                return self.at
            self._step(char)
        if self.open:
            closing, opened = self.open[-1]
            raise LineError(f"{closing} is missing: opened here", line, opened)
        return len(line)

    def _step(self, char: str) -> None:
        line, at = self.line, self.at
        if char.isspace():
            self.at += 1
        elif char == "#":
            # A comment begins only here, since a # inside a word is part of it.
            self.at = len(line)
        elif char in ";|&(<>":
            self._operator(char)
        elif char == ")":
            self._close_parenthesis()
        elif found := (_WORD.match(line, at) if char not in "'\"`$\\" else None):
            self._word(found[0])
        else:
            self.at = self._past_quoted(at)
            self._rest_of_word()

    def _operator(self, char: str) -> None:
        line, at = self.line, self.at
        if line.startswith("<<", at):
            raise LineError("<< needs lines after this one, and there are none", line, at)
        if char in "<>":
            self.at += 2 if line[at + 1 : at + 2] in ("<", ">", "&", "|") else 1
            return
        if char == "&" and not self.open and not line.startswith("&&", at):
            raise LineError("a pipe cannot run in the background", line, at)
        if char == "(":
            self.open.append((")", at))
        self.at += 2 if line.startswith((";;", "&&", "||"), at) else 1
        self.is_command = True

    def _close_parenthesis(self) -> None:
        if self.open and self.open[-1][0] == ")":
            self.open.pop()
            self.is_command = False
        elif self.open and self.open[-1][0] == "esac":
            self.is_command = True  # after a pattern of `case`
        else:
            raise LineError("nothing is open that this closes", self.line, self.at)
        self.at += 1

    def _word(self, word: str) -> None:
        at, self.at = self.at, self.at + len(word)
        if self._continues():
            self._rest_of_word()
        elif self.is_command and word in _OPENS:
            self.open.append((_OPENS[word], at))
            self.is_command = word in _LEADS
        elif self.is_command and self.open and word == self.open[-1][0]:
            self.open.pop()
            self.is_command = False
        else:
            self.is_command = self.is_command and word in _LEADS

    def _continues(self) -> bool:
        char = self.line[self.at : self.at + 1]
        return bool(char) and char in "'\"`$\\#"

    def _rest_of_word(self) -> None:
        self.is_command = False
        line = self.line
        while self.at < len(line):
            if found := _WORD.match(line, self.at):
                self.at = found.end()
            elif line[self.at] == "#":
                self.at += 1
            elif self._continues():
                self.at = self._past_quoted(self.at)
            else:
                return

    def _past_quoted(self, at: int) -> int:
        """Return the index after the construct that a quote, a backslash or a dollar begins at `at`."""
        line, char = self.line, self.line[at]
        if char == "\\":
            if at + 1 == len(line):
                raise LineError("nothing follows the backslash", line, at)
            return at + 2
        if char == "'":
            return self._found("'", at + 1, at) + 1
        if char == '"':
            return self._past_double(at)
        if char == "`":
            end = at + 1
            while end < len(line) and line[end] != "`":
                end += 2 if line[end] == "\\" else 1
            if end >= len(line):
                raise LineError("` is missing: opened here", line, at)
            return end + 1
        if line.startswith("$(", at):
            inner = _Scan(line, at + 2)
            inner.open.append((")", at))
            while inner.open:
                if inner.at >= len(line):
                    raise LineError(") is missing: opened here", line, at)
                inner._step(line[inner.at])
            return inner.at
        if line.startswith("${", at):
            return self._past_braces(at)
        return at + 1

    def _past_double(self, at: int) -> int:
        line, end = self.line, at + 1
        while end < len(line) and line[end] != '"':
            end = self._past_quoted(end) if line[end] in "\\`$" else end + 1
        if end >= len(line):
            raise LineError('" is missing: opened here', line, at)
        return end + 1

    def _past_braces(self, at: int) -> int:
        line, end = self.line, at + 2
        while end < len(line) and line[end] != "}":
            end = self._past_quoted(end) if line[end] in "\\`$'\"" else end + 1
        if end >= len(line):
            raise LineError("} is missing: opened here", line, at)
        return end + 1

    def _found(self, text: str, start: int, opened: int) -> int:
        index = self.line.find(text, start)
        if index < 0:
            raise LineError(f"{text} is missing: opened here", self.line, opened)
        return index
