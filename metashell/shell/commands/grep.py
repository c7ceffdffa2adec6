"""The command grep: lines of leaves that match a POSIX or a Python expression."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from metashell.common.forms import OBJECT_FORMS
from metashell.common.options import Argument, flag
from metashell.common.terminal import KEY, UNUSUAL
from metashell.common.values import uuid_text
from metashell.metadata.checks import PartitionSurvey
from metashell.metadata.nodes import Leaf
from metashell.metadata.nodes.names import sorted_names
from metashell.metadata.nodes.topics import PartitionNode, TopicNode, partition_value
from metashell.shell.commands import NODE_PATH, make_command
from metashell.shell.context import IS_DIRECTORY, STATUS_FAILED
from metashell.shell.output import kafka_leaf_text, node_object, value_lines, write_answer, write_objects
from metashell.shell.paths import HERE, descend
from metashell.shell.words import CaretError

if TYPE_CHECKING:
    from metashell.metadata.image import PartitionRegistration, TopicImage
    from metashell.metadata.nodes import Directory, Node


if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator
    from types import SimpleNamespace

    from metashell.shell.context import Context

    Matches = Callable[[str], bool]


GREP_HELP: Final = """grep - print the lines of leaves that match an expression

SYNOPSIS
    grep [-i] [-v] [-r] [-l] [-c] [-n] [-E] EXPRESSION [PATH...]

DESCRIPTION
    Searches the text that `cat` prints of each leaf, with its secrets hidden, line by line. Directories are searched with -r; without PATH
    the working directory is. A topic is searched under its name. The path stands before each line unless PATH is one leaf.

    EXPRESSION is a POSIX basic regular expression: . * [ ] ^ and $ are special, + ? | ( ) { } only after a backslash. With -E it is a
    Python expression. At the prompt a backslash quotes too, so type it twice there.

    -v prints the lines that do not match instead. -l prints the paths of the leaves that have a line to print, -c how many such lines
    each of them has; for a PATH that is one leaf also 0.

    The status is 0 if a line was found, 1 if none was, and 2 for an expression that cannot be read.

EXAMPLES
    >> grep -r "8640*$" /image/configs
    /image/configs/TOPIC:orders/retention.ms:86400000
    >> grep -n rack /image/cluster/brokers/4
    23:  "rack": "rack-a",
    >> grep -rl -E 'rack-[ab]' /image/cluster
    /image/cluster/brokers/4
    /image/cluster/brokers/5
    >> grep -rc rack /image/cluster
    /image/cluster/brokers/4:1
    /image/cluster/brokers/5:1
    /image/cluster/brokers/6:1
"""


Hit = tuple[str, Leaf, int, str]
"""A matching line: the path, the leaf, the number of the line from 1, and the line."""


def run_grep(ctx: Context, args: SimpleNamespace) -> None:
    """Print the matching lines; with -l the paths of leaves that have one, with -c the number of matches per leaf."""
    pattern = compile_search(args.pattern, is_extended=args.extended, ignores_case=args.ignore_case)
    matches = _unmatched(pattern) if args.invert_match else _matched(pattern)
    if args.count and not args.files:
        _write_counts(ctx, args, matches)
        return
    hits = _hits(ctx, args, matches)
    if ctx.output in OBJECT_FORMS:
        columns = ("path",) if args.files else ("path", "line", "text")
        write_objects(ctx, (_object(ctx, args, hit) for hit in hits), columns=columns)
    else:
        for hit in hits:
            ctx.line(_line(ctx, args, hit, pattern))


def _matched(pattern: re.Pattern[str]) -> Matches:
    return lambda line: pattern.search(line) is not None


def _unmatched(pattern: re.Pattern[str]) -> Matches:
    return lambda line: pattern.search(line) is None


def _write_counts(ctx: Context, args: SimpleNamespace, matches: Matches) -> None:
    is_single = _is_one_leaf(ctx, args)

    def counts() -> Iterator[tuple[str, Leaf, int]]:
        total = 0
        for path, leaf in _leaves(ctx, args, matches):
            count = sum(map(matches, _lines_of(ctx, leaf)))
            total += count
            if count or is_single:
                yield path, leaf, count
        _set_status(ctx, has_found=total > 0)

    objects = (node_object(ctx, path, leaf, lines=count) for path, leaf, count in counts())
    lines = (str(count) if is_single else f"{path}:{count}" for path, _, count in counts())
    write_answer(ctx, objects, lines, columns=("path", "lines"))


def _hits(ctx: Context, args: SimpleNamespace, matches: Matches) -> Iterator[Hit]:
    has_found = False
    for path, leaf in _leaves(ctx, args, matches):
        for number, line in enumerate(_lines_of(ctx, leaf), 1):
            if matches(line):
                has_found = True
                yield path, leaf, number, line
                if args.files:
                    break
    _set_status(ctx, has_found=has_found)


def _set_status(ctx: Context, *, has_found: bool) -> None:
    if not has_found:
        ctx.status = max(ctx.status, STATUS_FAILED)


def _is_one_leaf(ctx: Context, args: SimpleNamespace) -> bool:
    return ctx.is_single(args.path) and not args.recursive


def _lines_of(ctx: Context, leaf: Leaf) -> list[str]:
    return kafka_leaf_text(ctx, leaf).splitlines() if ctx.output == "kafka" else value_lines(leaf.value(ctx.redact))


def _leaves(ctx: Context, args: SimpleNamespace, matches: Matches) -> Iterator[tuple[str, Leaf]]:
    enter = None if ctx.output == "kafka" else entered_topics(PartitionGrep(matches))
    for path, _, node in ctx.resolve(args.path or (HERE,), as_starts=args.recursive):
        if not isinstance(node, Leaf) and not args.recursive and args.path:
            ctx.fail(path, IS_DIRECTORY)
            continue
        for below, found, _ in descend(path, node, each_once=True, enter=enter):
            if isinstance(found, Leaf):
                yield below, found


def _line(ctx: Context, args: SimpleNamespace, hit: Hit, pattern: re.Pattern[str]) -> str:
    path, _, number, line = hit
    if args.files:
        return path
    display = ctx.display
    parts = [] if _is_one_leaf(ctx, args) else [display.paint(KEY, path), ":"]
    parts += [f"{number}:"] if args.line_number else []
    return display.joined([*parts, *([line] if args.invert_match else _marked(ctx, line, pattern))])


def _marked(ctx: Context, line: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield the line in pieces, with the matches painted."""
    at = 0
    for found in pattern.finditer(line) if ctx.display.color else ():
        yield line[at : found.start()]
        yield ctx.display.paint(UNUSUAL, found[0])
        at = found.end()
    yield line[at:]


def _object(ctx: Context, args: SimpleNamespace, hit: Hit) -> dict[str, Any]:
    path, leaf, number, line = hit
    return node_object(ctx, path, leaf, **({} if args.files else {"line": number, "text": line}))


GREP_COMMAND = make_command(
    run_grep,
    GREP_HELP,
    options=(
        flag("-i", "--ignore-case", help="capitals and small letters are alike"),
        flag("-v", "--invert-match", help="the lines that do not match"),
        flag("-r", "-R", "--recursive", help="search all leaves below directories"),
        flag("-l", "--files", help="only the paths of leaves that have a match"),
        flag("-c", "--count", help="only how many lines of each leaf match"),
        flag("-n", "--line-number", help="the number of each line before it"),
        flag("-E", "--extended", help="the expression is one of Python"),
    ),
    arguments=(
        Argument(name="pattern", metavar="EXPRESSION", help="what to look for"),
        Argument(name="path", nargs="*", kind=NODE_PATH, help="where to look, by default here"),
    ),
)


_SWAPPED: Final = "+?|(){}"
"""Characters that are plain in a basic expression and special after a backslash; in Python it is the reverse."""
_MEANINGS: Final = {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "`": r"\A", "'": r"\Z"}
_CLASSES: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}
_VARYING: Final = ("partitionId", "topicId", "leaderEpoch", "partitionEpoch")


def compile_search(text: str, *, is_extended: bool, ignores_case: bool) -> re.Pattern[str]:
    """Return the compiled expression. Errors: CaretError."""
    pieces, places = ([text], [0]) if is_extended else _basic(text)
    source = "".join(pieces)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(source, re.IGNORECASE if ignores_case else 0)
        except re.error as error:
            index = min(error.pos or 0, len(source))
            raise CaretError(error.msg, text, index if is_extended else _place(pieces, places, index)) from None
        except (OverflowError, RecursionError):
            raise CaretError("the expression is too large", text, 0) from None


def _place(pieces: list[str], places: list[int], index: int) -> int:
    """Return where in the basic expression the piece begins that contains an index of its translation."""
    end = 0
    for piece, place in zip(pieces, places, strict=True):
        end += len(piece)
        if index < end:
            return place
    return places[-1] if places else 0


def _basic(text: str) -> tuple[list[str], list[int]]:
    """Return a POSIX basic expression as pieces of a Python expression, and the index in the text where each begins."""
    pieces: list[str] = []
    places: list[int] = []
    at = 0
    is_start = True
    while at < len(text):
        places.append(at)
        char, following = text[at], text[at + 1 : at + 2]
        was_start, is_start = is_start, False
        if char == "\\" and following:
            at += 2
            is_start = following in "(|"
            pieces.append(following if following in _SWAPPED else _escaped(following))
            continue
        if char == "[":
            found, at = _bracket(text, at)
            pieces.append(found)
            continue
        at += 1
        if char in _SWAPPED or (char == "*" and was_start):
            pieces.append("\\" + char)
        elif char == "^":
            is_start = was_start
            pieces.append(char if was_start else r"\^")
        elif char == "$":
            is_end = at == len(text) or text[at : at + 2] in (r"\)", r"\|")
            pieces.append(r"\Z" if is_end else r"\$")
        else:
            pieces.append(char)
    return pieces, places


def _escaped(char: str) -> str:
    """Return a character after a backslash: with its meaning in GNU grep if it has one, else as itself."""
    if char in _MEANINGS:
        return _MEANINGS[char]
    if char in "123456789":
        return f"(?:\\{char})"
    return f"\\{char}" if char in "wWsSbB" else re.escape(char)


def _bracket(text: str, start: int) -> tuple[str, int]:
    """Return a bracket expression in Python's syntax, where a backslash is special, and the index after it."""
    at = start + 1
    sign = "^" if text[at : at + 1] == "^" else ""
    at += len(sign)
    found = ""
    while at < len(text):
        char = text[at]
        named = re.compile(r"\[:(\w+):\]").match(text, at)
        if named is not None and named[1] in _CLASSES:
            found += _CLASSES[named[1]]
            at = named.end()
        elif char == "]" and found:
            return f"[{sign}{found}]", at + 1
        else:
            found += char if char in "-" or char.isalnum() else "\\" + char
            at += 1
    raise CaretError("unterminated character set", text, start)


class PartitionGrep:
    """A search for partitions of topics that have a matching line in `cat`.

    It decodes only partitions that differ in more than epochs. Four lines can differ between partitions that are otherwise alike; it
    makes those lines on its own.
    """

    def __init__(self, matches: Callable[[str], bool]) -> None:
        self._matches = matches
        self._survey = PartitionSurvey(self._has_match)
        self._lines = _Lines(matches)

    def nodes(self, node: TopicNode) -> Iterator[Node]:
        """Yield the partitions with a match in order, and the topic's leaves, which are not examined."""
        topic = node.topic
        for name in sorted_names(map(str, self._numbers(topic))):
            yield PartitionNode(name, topic, int(name))
        yield from node.facts()

    def _numbers(self, topic: TopicImage) -> list[int]:
        id_line = f'  "topicId": "{uuid_text(topic.id)}",'
        told = self._survey.with_epochs(topic)
        if self._matches(id_line):
            return list(told.ids)
        lines = self._lines
        return [
            id
            for id, leader_epoch, partition_epoch, has_match in zip(
                told.ids, told.leader_epochs, told.partition_epochs, told.answers, strict=True
            )
            if has_match or lines["partitionId", id] or lines["leaderEpoch", leader_epoch] or lines["partitionEpoch", partition_epoch]
        ]

    def _has_match(self, partition: PartitionRegistration) -> bool:
        lines = value_lines(partition_value(partition, bytes(16), 0))
        return any(self._matches(line) for line in lines if not line.startswith(_STARTS))


_STARTS: Final = tuple(f'  "{name}": ' for name in _VARYING)
_REMEMBERED_MAX: Final = 1 << 16


class _Lines(dict[tuple[str, int], bool]):
    """A cache of whether the line of a number matches, by field name and number."""

    def __init__(self, matches: Callable[[str], bool]) -> None:
        super().__init__()
        self._matches = matches

    def __missing__(self, field: tuple[str, int]) -> bool:
        if len(self) >= _REMEMBERED_MAX:
            self.clear()
        name, number = field
        found = self[field] = self._matches(f'  "{name}": {number},')
        return found


def entered_topics(grep: PartitionGrep) -> Callable[[Directory], Iterator[Node] | None]:
    """Return a function for `descend` that yields the children of a topic that a walk enters."""

    def enter(directory: Directory) -> Iterator[Node] | None:
        is_plain = isinstance(directory, TopicNode) and not directory.has_directories
        return grep.nodes(directory) if is_plain and isinstance(directory, TopicNode) else None

    return enter
