"""Finds where a command of the system ends within a typed line: at the first `;` or `&&` that /bin/sh itself would see there.

Everything before that is text for `/bin/sh -c`, as typed; nothing here changes it. Quotes, backslashes, `$(..)`, backticks, groups,
`${..}` and `while .. done` and their kind keep what is inside together. What is not closed is refused rather than guessed.
"""

from __future__ import annotations

import re
from typing import Final

from metashell.shell.carets import CaretError

_WORD: Final = re.compile(r"[^\s;&|<>()'\"`$\\#]+")
_OPENS: Final = {"while": "done", "until": "done", "for": "done", "if": "fi", "case": "esac", "{": "}"}
_LEADS: Final = frozenset(("do", "then", "else", "elif", "!", "time", *_OPENS)) - {"for", "case"}
"""Words after which another command begins."""


class LineError(CaretError):
    """A line that cannot be read; the caret stands at the place."""


def end_of_shell_text(line: str, start: int) -> int:
    """Where the text that begins at `start` ends; it may end with a comment. Errors: LineError."""
    return _Scan(line, start).end()


class _Scan:
    """One look along a line; `open` are the ends that are waited for, with where each was opened."""

    def __init__(self, line: str, start: int) -> None:
        self.line = line
        self.at = start
        self.open: list[tuple[str, int]] = []
        self.is_command = True
        """Whether a command may begin here, so that `while` is no argument."""

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
            # A comment: only here, since words take a # inside of them.
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
            self.is_command = True  # after a pattern
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
        """The index after what a quote, a backslash or a dollar at `at` begins."""
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
