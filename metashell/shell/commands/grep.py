"""The command `grep`: print the lines of leaves that match an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from metashell.colors import KEY, UNUSUAL
from metashell.forms import OBJECT_FORMS
from metashell.nodes import Leaf
from metashell.options import Argument
from metashell.options.spec import flag
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.context import IS_DIRECTORY, STATUS_FAILED
from metashell.shell.output import kafka_leaf_text, node_object, value_lines, write_answer, write_objects
from metashell.shell.paths import HERE
from metashell.shell.search.grepping import PartitionGrep, compile_search, entered_topics
from metashell.shell.search.walk import descend

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
"""A line that matches: the path, the leaf, the number of the line from 1 on, and the line."""


def run_grep(ctx: Context, args: SimpleNamespace) -> None:
    """Print the lines that match, or with -l the paths of leaves that have one, with -c how many."""
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
        _tell_status(ctx, has_found=total > 0)

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
    _tell_status(ctx, has_found=has_found)


def _tell_status(ctx: Context, *, has_found: bool) -> None:
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
    """The line, with what matches painted."""
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
