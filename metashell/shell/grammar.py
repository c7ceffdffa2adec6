"""The grammar of a typed line: steps, each a command with its words, and where its answer goes.

    ls /image ; count / && find / -leader 3 | sort -u > found.txt    # three steps, of which the last has a pipe

After `;` the next step runs in any case, after `&&` only if the previous one succeeded. `> FILE` and `>> FILE` write the answer to a
file, `|` hands it to a command of the system, whose text goes to `/bin/sh -c` as typed, its own `>` and `|` too. `#` begins a comment.
Quotes and backslashes protect all of it; `words` says what they mean inside words. A line that cannot be read raises before any of it
runs, with the place. Only lines that are typed or read from a script come here, never words of a command line or text from data.

The first word of a step may be an alias from the settings, which stands for one step:

    [aliases]
    ll = "ls -l"                                # further words follow it: ll -R /image
    behind = "find / -under-replicated | head"  # takes no words: they would have to go into the text of /bin/sh

`!!`, `!12`, `!-2` and `!prefix` at the start of a line repeat earlier lines, as in bash. Lines are remembered by the rules of Kafka's
line editor, except that none is kept that sets a secret."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os.path import expanduser
from typing import TYPE_CHECKING, Final

from metashell.codec.codes import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.common.errors import UsageError
from metashell.shell.words import LineError, Word, end_of_shell_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


__all__ = ["Line", "LineError", "Redirect", "Step", "parse_line"]

WORDS, FILE, PIPE, COMMENT = "words", "file", "pipe", "comment"
"""Parts of a line that may be at its end while it is typed."""
AND: Final = "&&"
THEN: Final = ";"
_SPECIAL: Final = ";&|<>"
_DEFAULT: Final = "<default>"
"""A part of the names of quotas, so its `<` and `>` never redirect."""
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
    """A command and the destination of its answer. Shape: `starts` and `ends` are the places of its words, `pipe` is text for /bin/sh."""

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
    """A line that is still being typed: the part at its end (words, a file after `>`, a pipe or a comment), and where that begins.

    Shape: `words` are the finished words of the last step, which begins at `step_start`. `current` is the word at the end, empty after a
    blank. `start` is where that word, or the text for /bin/sh, begins.
    """

    place: str
    words: list[str]
    current: str
    start: int
    step_start: int
    is_open: bool


def parse_line(line: str) -> Line:
    """Return the steps of a line. Errors: LineError."""
    parser = _Parser(line)
    parser.run()
    parser.finish()
    return Line(parser.steps)


def unfinished(line: str) -> Unfinished:
    """Return the unfinished part at the end of a line; errors before it are ignored."""
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
        """For a file whose name is still to come: whether to append, and where its sign stands."""

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
        """Return whether the > belongs to an unquoted expression of --where."""
        words, starts, ends = self.step.words, self.step.starts, self.step.ends
        word = self.line[starts[-1] : ends[-1]] if words else ""
        value = word if words[-2:-1] == [_WHERE] else word.removeprefix(f"{_WHERE}=")
        return (value != word or words[-2:-1] == [_WHERE]) and value.replace(".", "_").isidentifier()

    def _check_file(self) -> None:
        """Raise LineError if the name of a file is still to come."""
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


_KEPT: Final = frozenset(("alter", "at", "create", "delete", "elect", "exit", "quit", "rm", "set", "unregister", "unset"))
"""Names that a settings file must not redefine: they change the cluster or the moment that is shown, or end the shell."""

_TIME: Final = "time"


def check_alias(name: str, text: str) -> None:
    """Raise UsageError for a name that must keep its meaning, and for a text that is not one command."""
    if name in _KEPT:
        raise UsageError(f"{name} means the same everywhere, and cannot be an alias")
    try:
        steps = parse_line(text).steps
    except LineError as error:
        raise UsageError(f"{text!r}: {error}") from None
    if len(steps) != 1:
        raise UsageError(f"{text!r}: an alias is one command")


def with_aliases(line: Line, aliases: Mapping[str, str], typed: str) -> Line:
    """Return the line with its aliases expanded, each once.

    Errors: LineError at a word that follows an alias with a pipe or a file, and at a second pipe or file.
    """
    return Line([_expanded(step, aliases, typed) for step in line.steps]) if aliases else line


def _expanded(step: Step, aliases: Mapping[str, str], typed: str) -> Step:
    at = 1 if step.words[0] == _TIME and len(step.words) > 1 else 0
    name = step.words[at]
    text = aliases.get(name)
    # A quoted word stands for itself.
    if text is None or typed[step.starts[at] : step.ends[at]] != name:
        return step
    (meant,) = parse_line(text).steps
    after = at + 1
    if meant.pipe is not None or meant.redirect is not None:
        if len(step.words) > after:
            raise LineError(f"{name} takes no words: its answer goes to another program or a file", typed, step.starts[after])
        if step.pipe is not None or step.redirect is not None:
            raise LineError(f"the answer of {name} already goes to a program or a file: it stands for {text}", typed, step.starts[at])
    # Keep the places of the typed words, so that errors point there.
    count = len(meant.words)
    return Step(
        step.connector,
        [*step.words[:at], *meant.words, *step.words[after:]],
        [*step.starts[:at], *[step.starts[at]] * count, *step.starts[after:]],
        [*step.ends[:at], *[step.ends[at]] * count, *step.ends[after:]],
        meant.redirect or step.redirect,
        meant.pipe if meant.pipe is not None else step.pipe,
    )


_EVENT = re.compile(r"!(?:(!)|(-?)([0-9]+)|([^\s!;&|<>=(]+))")


def expand_recall(line: str, history: Sequence[str]) -> str:
    """Return the line with a recall in its first word expanded; a ! elsewhere is literal. Errors: LineError if there is no such line.

    Shape: numbers are those of `history`, from 0; `!-2` is the line before the last one.
    """
    start = len(line) - len(line.lstrip())
    found = _EVENT.match(line, start)
    if found is None:
        return line
    last, minus, number, prefix = found.groups()
    if last:
        event = history[-1] if history else None
    elif number:
        index = len(history) - int(number[:9]) if minus else int(number[:9])
        event = history[index] if 0 <= index < len(history) else None
    else:
        event = next((earlier for earlier in reversed(history) if earlier.startswith(prefix)), None)
    if event is None:
        raise LineError(f"{found[0]}: no such line in the history", line, start)
    return line[:start] + event + line[found.end() :]


_QUOTAS = re.compile("quota", re.IGNORECASE)
_OTHER_THAN_BROKERS = re.compile("topic|group|metrics", re.IGNORECASE)
_SETS = re.compile(r"\bset\b")
_BETWEEN = re.compile(r"[\s;&|]+")
_COMMENT = re.compile(r"(?:^|[\s;&|])#+")
_GIVEN_KEY = re.compile(r"([\w.-]+)[+-]?\s*=")


def remember_line(history: list[str], line: str, aliases: Mapping[str, str] | None = None) -> None:
    """Add a typed line, stripped, unless it begins with a blank, is empty, repeats the line before, or sets a secret."""
    text = line.strip()
    if text and not line.startswith(" ") and history[-1:] != [text] and not sets_secret(text, aliases):
        history.append(text)


def sets_secret(line: str, aliases: Mapping[str, str] | None = None) -> bool:
    """Return whether a line may give a value to a secret key, in any of its steps or in a comment.

    Shape: if a verb is misspelt or nothing can be parsed, the key of a password with a value is enough.
    """
    return any(_part_sets_secret(part, aliases or {}) for part in dict.fromkeys((line, *_COMMENT.split(line))))


def _part_sets_secret(line: str, aliases: Mapping[str, str]) -> bool:
    typed = set(_BETWEEN.split(line))
    may_set = bool(_SETS.search(line)) or any(name in typed and _SETS.search(text) for name, text in aliases.items())
    if not may_set and "=" not in line:
        return False
    from metashell.codec.redaction import is_password_key

    if any(map(is_password_key, _GIVEN_KEY.findall(line))):
        return True
    try:
        steps = with_aliases(parse_line(line), aliases, line).steps
    except LineError:
        # The line cannot be read, so assume that it sets a secret.
        return may_set
    return any(_step_sets_secret(step.words) for step in steps)


def _step_sets_secret(words: Sequence[str]) -> bool:
    from metashell.codec.redaction import is_sensitive_config

    name, *rest = words[1:] if words[0] == "time" and len(words) > 1 else words
    path, *settings = [word for word in rest if not word.startswith("-")] or [""]
    if _QUOTAS.search(path):
        return False
    # The path may be relative to any directory, and every key that is unknown for a kind of resource counts as secret.
    kinds = (TOPIC_RESOURCE, GROUP_RESOURCE, CLIENT_METRICS_RESOURCE) if _OTHER_THAN_BROKERS.search(path) else (BROKER_RESOURCE,)
    if name == "set":
        keys = [word.partition("=")[0].rstrip("+-") for word in settings if "=" in word]
        if len(keys) < len(settings):
            keys.append(path.rpartition("/")[2])
    elif name in ("alter", "create"):
        keys = [word.removeprefix("--config=").partition("=")[0] for word in rest if "=" in word]
    else:
        return False
    return any(all(is_sensitive_config(kind, key) for kind in kinds) for key in keys)
