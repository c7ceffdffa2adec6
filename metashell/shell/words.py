"""Splits a typed line into words as the line editor of Kafka's shell does, and finds where text for /bin/sh ends.

Blanks separate words. A quote at the start of a word ends at the next quote of the same kind, and both are removed; inside a word quotes
stay. A backslash is removed and the next character is taken literally, within quotes too. There are no empty words. An open quote ends
with the line, which our own shell refuses.

Text for `/bin/sh -c` ends at the first `;` or `&&` that /bin/sh itself would see, and is passed on as typed. Quotes, backslashes,
`$(..)`, backticks, groups, `${..}` and `while .. done` and the like keep their contents together. A line that leaves one open is
refused. Every error that points at a place in a text is a `CaretError`.

Names similar to the typed text are matches for completion, and tell the path that a mistyped one probably meant. Names that begin with the
text come first, then those that contain it, then those that have its characters in order. A list of a hundred thousand names is searched as
one text, which is made once and kept while the list lives: a Python loop over the names would take longer than the gap between two keys.
Only the first `LOOKED_AT` hits are ranked, so an answer costs the same however many hits there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.common.errors import UsageError
from metashell.common.forms import text_width
from metashell.common.terminal import terminal_line
from metashell.metadata.nodes import Directory
from metashell.shell.paths import child_path, has_wildcards, quote_glob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.metadata.nodes import Node


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


LOOKED_AT: Final = 2000
"""The most hits that are ranked."""
SUBSTRING_MIN: Final = 2
SUBSEQUENCE_MIN: Final = 3
"""The fewest characters for a search in order; fewer characters are in nearly every name."""
_LISTS_KEPT = 4
_BOUNDARIES = "-_./ :("

_texts: dict[int, tuple[Sequence[str], str, str]] = {}
"""The text of each list by its identity, as it is and in lower case. The list is kept too, so that no other list gets its identity."""


def matching(word: str, names: Sequence[str], limit: int, with_prefix: Callable[[str, int], list[str]] | None = None) -> list[str]:
    """Return up to `limit` names that match a word, best first; `with_prefix` returns those that begin with it, if it has a faster way."""
    found = with_prefix(word, limit) if with_prefix is not None else [name for name in names if name.startswith(word)][:limit]
    if len(word) >= SUBSTRING_MIN and len(found) < limit:
        taken = set(found)
        hits = [name for name in _containing(word, names) if name not in taken]
        if not hits and not found and len(word) >= SUBSEQUENCE_MIN:
            hits = _in_order(word, names)
        found += hits[: limit - len(found)]
    return found


def fitting(pattern: re.Pattern[str], literal: str, names: Sequence[str], limit: int) -> list[str]:
    """Return the first `limit` names that a pattern matches as a whole; `literal` is a text that each of them contains."""
    text = _kept(names)[1]
    if literal not in text:
        return []
    whole = re.compile(f"(?m)^(?:{pattern.pattern})$")
    lines = _lines(text, (match.start() for match in islice(whole.finditer(text), limit)))
    return [names[line] for line, _ in lines]


def text_of(names: Sequence[str]) -> str:
    """Return the names in lower case, one per line."""
    return _kept(names)[2]


def _kept(names: Sequence[str]) -> tuple[Sequence[str], str, str]:
    kept = _texts.get(id(names))
    if kept is None:
        if len(_texts) >= _LISTS_KEPT:
            _texts.clear()
        # Names of the tree have no line breaks; those of other lists must not shift the lines.
        text = "\n".join(name.replace("\n", " ") for name in names)
        kept = _texts[id(names)] = (names, text, text.lower())
    return kept


def _containing(word: str, names: Sequence[str]) -> list[str]:
    """Return the names that contain the word. Names where it begins a part of the name come first."""
    wanted = word.lower()
    hits: list[tuple[bool, int, str]] = []
    text = text_of(names)
    for line, at in _lines(text, _finds(text, wanted)):
        is_begun = at == 0 or text[at - 1] in _BOUNDARIES or text[at - 1] == "\n"
        hits.append((not is_begun, line, names[line]))
    return [name for _, _, name in sorted(hits)]


def _in_order(word: str, names: Sequence[str]) -> list[str]:
    """Return the names that have the word's characters in order. Those where they are closest come first."""
    wanted = word.lower()
    # Each class excludes the next character, so that there is only one way to match and no backtracking.
    first, rest = wanted[0], wanted[1:]
    pattern = f"(?m)^[^{re.escape(first)}\n]*" + f"({re.escape(first)}" + "".join(f"[^{re.escape(c)}\n]*{re.escape(c)}" for c in rest) + ")"
    text = text_of(names)
    found = ((match.start(1), match.end(1) - match.start(1)) for match in re.finditer(pattern, text))
    spans: dict[int, int] = {}

    def starts() -> Iterator[int]:
        for at, length in found:
            spans[at] = length
            yield at

    hits = [(spans[at], line, names[line]) for line, at in _lines(text, starts())]
    return [name for _, _, name in sorted(hits)]


def _finds(text: str, wanted: str) -> Iterator[int]:
    """Yield where the text contains `wanted`, once per line."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        end = text.find("\n", at)
        at = text.find(wanted, end) if end >= 0 else -1


def _lines(text: str, places: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Yield the line number and the place of the first places."""
    line = before = 0
    for count, at in enumerate(places):
        if count == LOOKED_AT:
            return
        line += text.count("\n", before, at)
        before = at
        yield line, at


_FEW: Final = 2000
"""The most names that are compared with difflib; in a longer list only common beginnings and ends are compared."""
_FOLDERS_MAX: Final = 20
_EDITS: Final = 2


def nearest_path(root: Node, components: Sequence[str]) -> str | None:
    """Return an existing path, ready to be typed, in which the first wrong name is replaced or found one directory further down."""
    if any(map(has_wildcards, components)):
        return None
    node, path = root, "/"
    for index, name in enumerate(components):
        if not isinstance(node, Directory):
            return None
        child = node.child(name)
        if child is None:
            return _mended(node, path, name, components[index + 1 :])
        node, path = child, child_path(path, quote_glob(name))
    return None


def _mended(directory: Directory, path: str, name: str, rest: Sequence[str]) -> str | None:
    names = directory.child_names()
    near = nearest_name(name, names)
    child = None if near is None else directory.child(near)
    if child is not None and near is not None:
        found = child_path(path, quote_glob(near))
        return _continued(child, found, rest) or found
    # `topics/orders` means `topics/byName/orders`.
    for between in names[:_FOLDERS_MAX] if len(names) <= _FOLDERS_MAX else ():
        folder = directory.child(between)
        if isinstance(folder, Directory) and (child := folder.child(name)) is not None:
            found = child_path(child_path(path, quote_glob(between)), quote_glob(name))
            return _continued(child, found, rest) or found
    return None


def _continued(node: Node, path: str, rest: Sequence[str]) -> str | None:
    for name in rest:
        child = node.child(name) if isinstance(node, Directory) else None
        if child is None:
            return None
        node, path = child, child_path(path, quote_glob(name))
    return path


def nearest_name(word: str, names: Sequence[str]) -> str | None:
    """Return the name most similar to a word, or None if none is similar."""
    wanted = word.casefold()
    if len(names) <= _FEW:
        from difflib import get_close_matches

        same = next((name for name in names if name.casefold() == wanted), None)
        return same or next(iter(get_close_matches(word, names, n=1)), None)
    return _by_its_ends(word, wanted, names)


def _by_its_ends(word: str, wanted: str, names: Iterable[str]) -> str | None:
    best, best_shared = None, max(len(word) - _EDITS, len(word) // 2 + 1) - 1
    for name in names:
        if abs(len(name) - len(word)) <= _EDITS:
            if name.casefold() == wanted:
                return name
            shared = _shared(word, name)
            if shared > best_shared:
                best, best_shared = name, shared
    return best


def _shared(one: str, other: str) -> int:
    """Return how many characters two words share at their beginnings and ends."""
    least = min(len(one), len(other))
    start = 0
    while start < least and one[start] == other[start]:
        start += 1
    end = 0
    while end < least - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return start + end
