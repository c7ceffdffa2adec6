"""What a typed line means: steps, each a command with its words, and where its answer goes.

    ls /image ; count / && find / -leader 3 | sort -u > found.txt    # three steps, of which the last has a pipe

`;` is followed by the next step whatever came of the one before, `&&` only if that went well. `> FILE` and `>> FILE` write the answer to a
file, `|` hands it to a command of the system, whose text goes to `/bin/sh -c` as typed, its own `>` and `|` too. `#` begins a comment.
Quotes and backslashes protect all of it; what they mean inside words is in `words`. A line that cannot be read raises before any of it is
run, with the place. Only lines that are typed or read from a script come here, never words of a command line or text from data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from metashell.shell.lines.shell_text import LineError, end_of_shell_text
from metashell.shell.lines.words import Word

__all__ = ["Line", "LineError", "Redirect", "Step", "parse_line"]

WORDS, FILE, PIPE, COMMENT = "words", "file", "pipe", "comment"
"""The word being typed at the end of a line."""
AND: Final = "&&"
THEN: Final = ";"
_SPECIAL: Final = ";&|<>"
_DEFAULT: Final = "<default>"
"""In the names of quotas, and so never a sign of files."""
_OUR_ERRORS: Final = "errors go to the terminal; redirect kafka-shell itself"
_WHERE: Final = "--where"


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file that takes the answer."""

    path: str
    append: bool
    index: int


@dataclass(slots=True)
class Step:
    """A command and where its answer goes. Shape: `starts` and `ends` are the places of its words, `pipe` is text for /bin/sh."""

    connector: str
    words: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    redirect: Redirect | None = None
    pipe: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """The steps of a line, none if it is empty or a comment."""

    steps: list[Step]


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A line as far as it is typed: what is being typed (words, a file after `>`, a pipe or a comment), and where that begins.

    Shape: `words` are the finished ones of the last step, which begins at `step_start`; `current` is the word at the end, empty after a
    blank. `start` is where that word begins, or the text for /bin/sh.
    """

    place: str
    words: list[str]
    current: str
    start: int
    step_start: int
    is_open: bool


def parse_line(line: str) -> Line:
    """The steps of a line. Errors: LineError."""
    parser = _Parser(line)
    parser.run()
    parser.finish()
    return Line(parser.steps)


def unfinished(line: str) -> Unfinished:
    """The word being typed at the end of a line; errors before it are ignored."""
    parser = _Parser(line, is_finished=False)
    place = COMMENT
    try:
        parser.run()
        place = parser.place
    except LineError:
        place = PIPE if parser.place == PIPE else COMMENT
    word = parser.word if place in (WORDS, FILE) else None
    start = len(line) if word is None else parser.word_start
    if place == PIPE:
        start = parser.pipe_start
    is_open = word is not None and bool(word.quote)
    return Unfinished(place, list(parser.step.words), "" if word is None else word.text, start, parser.step_start, is_open)


class _Parser:
    def __init__(self, line: str, *, is_finished: bool = True) -> None:
        self.line = line
        self.is_finished = is_finished
        self.steps: list[Step] = []
        self.step = Step("")
        self.word: Word | None = None
        self.word_start = 0
        self.place = WORDS
        self.pipe_start = 0
        self.step_start = 0
        self._file: tuple[bool, int] | None = None
        """Whether it is appended to, and where its sign stands, of a file whose name is to come."""

    def run(self) -> None:
        line, at = self.line, 0
        while at < len(line):
            char = line[at]
            word = self.word
            if char == "\\":
                at = self._escaped(at)
            elif word is not None and word.quote:
                word.take(char)
                at += 1
            elif char.isspace():
                self._end_word(at)
                at += 1
            elif char == "#" and word is None:
                self.place = COMMENT
                return
            elif line.startswith(_DEFAULT, at):
                self._begun(at).text += _DEFAULT
                at += len(_DEFAULT)
            elif char in _SPECIAL:
                at = self._special(at)
            else:
                self._begun(at).take(char)
                at += 1

    def finish(self) -> None:
        if self.word is not None and self.word.quote:
            raise LineError("unclosed quote", self.line, self.word.quote_index)
        self._end_word(len(self.line))
        self._end_step(len(self.line), "")

    def _begun(self, at: int) -> Word:
        if self.word is None:
            self.word, self.word_start = Word(), at
        if self.word.quote == "":
            self.word.quote_index = at
        return self.word

    def _escaped(self, at: int) -> int:
        word = self._begun(at)
        if at + 1 < len(self.line):
            word.text += self.line[at + 1]
        elif self.is_finished:
            raise LineError("nothing follows the backslash", self.line, at)
        return at + 2

    def _end_word(self, at: int) -> None:
        word, self.word = self.word, None
        # As everywhere in the shell, there are no empty words.
        if word is None or not word.text:
            return
        if self._file is None:
            self.step.words.append(word.text)
            self.step.starts.append(self.word_start)
            self.step.ends.append(at)
            return
        append, sign_at = self._file
        if self.step.redirect is not None:
            raise LineError("an answer can go to one file only", self.line, sign_at)
        path = word.text
        if self.line.startswith("~/", self.word_start):
            from os.path import expanduser

            path = expanduser(path)
        self.step.redirect = Redirect(path, append, sign_at)
        self._file = None
        self.place = WORDS

    def _special(self, at: int) -> int:
        line = self.line
        char = line[at]
        if char == ">" and self.word is not None and line[self.word_start : at].isdecimal():
            raise LineError(_OUR_ERRORS, line, self.word_start)
        self._end_word(at)
        if char == "<":
            raise LineError("commands read no standard input; quote a name that holds <", line, at)
        if char == ">":
            return self._to_file(at)
        if line.startswith("||", at):
            raise LineError("|| is not supported; && and ; are", line, at)
        if line.startswith("|&", at):
            raise LineError(_OUR_ERRORS, line, at)
        if char == "|":
            return self._to_pipe(at)
        connector = AND if line.startswith(AND, at) else char
        if connector == "&":
            raise LineError(_OUR_ERRORS if line.startswith("&>", at) else "commands cannot run in the background here", line, at)
        self._end_step(at, connector)
        return at + len(connector)

    def _to_file(self, at: int) -> int:
        line = self.line
        if line.startswith(">&", at):
            raise LineError(_OUR_ERRORS, line, at)
        if self._cuts_expression():
            raise LineError("quote the expression: --where 'partitions > 50'", line, at)
        self._check_file()
        append = line.startswith(">>", at)
        self._file = (append, at)
        self.place = FILE
        return at + (2 if append else 1)

    def _cuts_expression(self) -> bool:
        """Whether the > belongs to an unquoted expression of --where."""
        words, starts, ends = self.step.words, self.step.starts, self.step.ends
        word = self.line[starts[-1] : ends[-1]] if words else ""
        value = word if words[-2:-1] == [_WHERE] else word.removeprefix(f"{_WHERE}=")
        return (value != word or words[-2:-1] == [_WHERE]) and value.replace(".", "_").isidentifier()

    def _check_file(self) -> None:
        """Errors: LineError where the name of a file is still to come."""
        if self._file is not None and self.is_finished:
            raise LineError(f"a file name is missing after {'>>' if self._file[0] else '>'}", self.line, self._file[1])
        self._file = None

    def _to_pipe(self, at: int) -> int:
        line, step = self.line, self.step
        self._check_file()
        self.place = PIPE
        self.pipe_start = at + 1
        if not step.words:
            raise LineError("a command is missing before |", line, at)
        if step.redirect is not None:
            raise LineError("the answer goes either to a file or into a pipe", line, at)
        end = end_of_shell_text(line, at + 1)
        text = line[at + 1 : end]
        if not text.strip() or text.lstrip().startswith("#"):
            if self.is_finished:
                raise LineError("a command of the system is missing after |", line, at)
            return len(line)
        step.pipe = text.strip()
        if end < len(line):
            self.place = WORDS
        return end

    def _end_step(self, at: int, connector: str) -> None:
        line, step = self.line, self.step
        self._check_file()
        if not step.words and step.redirect is not None:
            raise LineError("a command is missing before >", line, step.redirect.index)
        if step.words:
            self.steps.append(step)
        elif connector:
            raise LineError(f"a command is missing before {connector}", line, at)
        elif step.connector == AND and self.is_finished:
            raise LineError("a command is missing after &&", line, self.step_start - len(AND))
        self.step = Step(connector)
        self.place = WORDS
        self.step_start = at + len(connector)
