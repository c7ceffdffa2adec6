"""The tests of `find`, and the paths that records touched since an offset (`-changed-since`, `-newer`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from metashell.common.errors import UsageError
from metashell.common.options import Option
from metashell.metadata.checks import BITS, all_checks
from metashell.metadata.checks.partitions import is_under_replicated
from metashell.metadata.history import Timeline, parse_moment
from metashell.metadata.history.touched import target_of
from metashell.metadata.nodes.places import paths_of
from metashell.shell.node_fields import (
    BROKER,
    EARLY_NAMES,
    PARTITION,
    PARTITION_NAMES,
    ROW_FIELDS,
    TOPIC,
    USUAL,
    Subject,
    racks_of,
    row_name,
)
from metashell.shell.past import history_of, life_of, now_ms, usual_path
from metashell.shell.paths import absolute_components, fits

if TYPE_CHECKING:
    import re

    from metashell.metadata.checks import EarlyRow
    from metashell.metadata.image import PartitionRegistration
    from metashell.shell.context import Context
    from metashell.shell.expressions import Where


Row: TypeAlias = "PartitionRegistration | EarlyRow"
RowTest = Callable[[Row, int], bool]
"""A test of a partition and its BITS."""

TYPES: Final = (
    *("d", "f", "topic", "partition", "broker", "controller", "config"),
    *("acl", "quota", "scram", "token", "group", "member", "offset"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Predicate:
    """One test.

    Shape: `row` decides for partitions, and `of_node` then for all other nodes; without `row`, `of_node` decides for every node. With
    `types`, the test is false for all other types. `is_early` says that `row` reads only EARLY_NAMES, and `has_bits` that it reads the
    bits; `bit` is the bit if nothing else matters. `of_counts` decides, if it can, only by the numbers of replicas, in-sync replicas,
    and replicas being added and removed. `is_type` decides by the type and by whether the node is a directory.
    """

    of_node: Callable[[Subject], bool] | None = None
    row: RowTest | None = None
    types: frozenset[str] | None = None
    is_early: bool = True
    has_bits: bool = False
    bit: int = 0
    of_counts: Callable[[EarlyRow], bool | None] | None = None
    is_type: Callable[[str, bool], bool] | None = None

    def holds(self, subject: Subject) -> bool:
        """Return whether the test holds for a node."""
        known = self.of_type(subject.type, subject.node.is_directory)
        if known is not None:
            return known
        if self.row is not None and subject.partition is not None:
            return self.row(subject.partition, subject.bits if self.has_bits else 0)
        return self.of_node is not None and self.of_node(subject)

    def of_type(self, type: str, is_directory: bool) -> bool | None:
        """Return the answer if the type of a node decides it, else None."""
        if self.is_type is not None:
            return self.is_type(type, is_directory)
        return False if self.types is not None and type not in self.types else None


class Kind(NamedTuple):
    """A test by its name in `find`: its declaration, and the function that makes it from its word, which is empty for a flag."""

    option: Option
    make: Callable[[Context, Any], Predicate]


_PARTITIONS: Final = frozenset({PARTITION})


def _of_type(ctx: Context, word: str) -> Predicate:
    if word in ("d", "f"):
        return Predicate(is_type=lambda type, is_directory: is_directory is (word == "d"))
    return Predicate(is_type=lambda type, is_directory: type == word)


def _leader(ctx: Context, id: int) -> Predicate:
    return Predicate(row=lambda partition, bits: partition.leader == id, types=_PARTITIONS)


def _replica(ctx: Context, id: int) -> Predicate:
    return Predicate(row=lambda partition, bits: id in partition.replicas, types=_PARTITIONS)


def _isr_below(ctx: Context, count: int) -> Predicate:
    return Predicate(
        row=lambda partition, bits: len(partition.isr) < count, types=_PARTITIONS, of_counts=lambda partition: len(partition.isr) < count
    )


def _rack(ctx: Context, rack: str) -> Predicate:
    return Predicate(
        row=lambda partition, bits: rack in racks_of(ctx.image, partition.replicas),
        of_node=lambda subject: subject.field("rack") == (True, rack),
        types=frozenset({PARTITION, BROKER}),
    )


def _is_behind(partition: EarlyRow) -> bool:
    return is_under_replicated(partition.isr, partition.replicas, partition.adding_replicas)


def _unless_all_in_sync(partition: EarlyRow) -> bool | None:
    return False if len(partition.isr) >= len(partition.replicas) else None


_BY_COUNTS: Final[dict[int, Callable[[EarlyRow], bool | None]]] = {
    BITS["under_replicated"]: _is_behind,
    BITS["under_min_isr"]: _unless_all_in_sync,
    BITS["at_min_isr"]: _unless_all_in_sync,
    BITS["reassigning"]: lambda partition: bool(partition.adding_replicas or partition.removing_replicas),
}


def _state(bit: int) -> Callable[[Context, Any], Predicate]:
    return lambda ctx, _: Predicate(
        row=lambda partition, bits: bits & bit != 0, types=_PARTITIONS, has_bits=True, bit=bit, of_counts=_BY_COUNTS.get(bit)
    )


def _broker_state(state: str) -> Callable[[Context, Any], Predicate]:
    return lambda ctx, _: Predicate(of_node=lambda subject: subject.field("state") == (True, state), types=frozenset({BROKER}))


def _config(ctx: Context, word: str) -> Predicate:
    key, equals, value = word.partition("=")

    def holds(subject: Subject) -> bool:
        return any(fits(key, name) and (not equals or fits(value, found)) for name, found in subject.settings.items())

    return Predicate(of_node=holds, types=frozenset({TOPIC, BROKER, "dir"}))


def _changed(ctx: Context, moment: str) -> Predicate:
    return _touched(ctx, touched_since(ctx, history_of(ctx).offset_of(parse_moment(moment, now_ms()))))


def _newer(ctx: Context, path: str) -> Predicate:
    return _touched(ctx, touched_since(ctx, last_change(ctx, path) + 1))


def _touched(ctx: Context, paths: frozenset[str]) -> Predicate:
    return Predicate(of_node=lambda subject: subject.path in paths)


class Names:
    """The names in expressions: those that were looked up, and those that some node had."""

    def __init__(self) -> None:
        self.asked: dict[str, None] = {}
        self.seen: set[str] = set()


def where_predicate(ctx: Context, where: Where, names: Names) -> Predicate:
    """Return an expression as a test."""

    def of_node(subject: Subject) -> bool:
        def look_up(name: str) -> Any:
            names.asked[name] = None
            is_there, value = subject.field(name)
            if is_there:
                names.seen.add(name)
            if name == where.bare and value is not None and not isinstance(value, bool) and row_name(name) not in BITS:
                raise UsageError(f"--where: {name} alone is no condition; quote the expression: --where '{name} > 50'", name)
            return value

        return where.holds(look_up)

    known = {name: row_name(name) for name in where.names}
    if not known or not USUAL.issuperset(known.values()) or (where.bare is not None and known[where.bare] not in BITS):
        return Predicate(of_node=of_node)

    def row(partition: Row, bits: int) -> bool:
        def look_up(asked: str) -> Any:
            name = known[asked]
            if name in BITS:
                return bool(bits & BITS[name])
            return racks_of(ctx.image, partition.replicas) if name == "racks" else ROW_FIELDS[name](partition)

        # An earlier test may fail before this name is looked up, but the partition has it all the same.
        names.seen.update(PARTITION_NAMES, known)
        return where.holds(look_up)

    is_early = all(name not in ROW_FIELDS or name in EARLY_NAMES for name in known.values())
    return Predicate(of_node=of_node, row=row, is_early=is_early, has_bits=not BITS.keys().isdisjoint(known.values()))


def _option(name: str, help: str, metavar: str = "", **more: Any) -> Option:
    dashed = (f"-{name}", f"--{more.pop('long', name)}")
    if not metavar:
        return Option(names=dashed, help=help, type="flag")
    return Option(names=dashed, help=help, metavar=metavar, multiple=True, **more)


_WORDS: Final = {one.id: f"one of the {one.words}" for one in all_checks()}


def _name(ctx: Context, glob: str) -> Predicate:
    return Predicate(lambda subject: fits(glob, subject.node.name))


def _path(ctx: Context, glob: str) -> Predicate:
    return Predicate(lambda subject: fits(glob, subject.path))


def _regex(ctx: Context, pattern: re.Pattern[str]) -> Predicate:
    return Predicate(lambda subject: pattern.fullmatch(subject.path) is not None)


_TOUCHED: Final = "a record touched it, or something below it,"
_SETTING: Final = "a topic, broker or resource that has a setting of its own; both may be patterns"
_KINDS: Final = (
    Kind(_option("name", "the last component fits the pattern", "GLOB"), _name),
    Kind(_option("path", "the whole path fits the pattern", "GLOB", long="path-glob"), _path),
    Kind(_option("regex", "the whole path fits the expression", "REGEX", type="regex"), _regex),
    Kind(_option("type", "the node is one of these", "TYPE", type="choice", choices=TYPES), _of_type),
    Kind(_option("leader", "a partition that broker ID leads; -1: nobody", "ID", type="integer", kind="broker"), _leader),
    Kind(_option("replica", "a partition with a replica on broker ID", "ID", type="integer", kind="broker"), _replica),
    Kind(_option("rack", "a partition with a replica in rack NAME, or a broker there", "NAME", kind="rack"), _rack),
    Kind(_option("isr-lt", "a partition with fewer than N replicas in sync", "N", type="int"), _isr_below),
    *(Kind(_option(name.replace("_", "-"), _WORDS[name]), _state(bit)) for name, bit in BITS.items()),
    Kind(_option("fenced", _WORDS["fenced"]), _broker_state("fenced")),
    Kind(_option("shutting-down", _WORDS["shutting_down"]), _broker_state("shutting_down")),
    Kind(_option("config", _SETTING, "KEY[=VALUE]", long="with-config", kind="config-key"), _config),
    Kind(_option("changed-since", f"{_TOUCHED} since an offset, a time, or a time ago such as 10m", "MOMENT", kind="moment"), _changed),
    Kind(_option("newer", f"{_TOUCHED} after the last one that touched PATH", "PATH", kind="node"), _newer),
)
TESTS: Final = {name: kind for kind in _KINDS for name in kind.option.names}
"""The tests by each of their names."""
TEST_OPTIONS: Final = tuple(kind.option for kind in _KINDS)


def touched_since(ctx: Context, offset: int) -> frozenset[str]:
    """Return the paths that records from `offset` on touched, and all paths above them, up to the current image.

    The leaves of a created topic are among them. If the log begins later, a note on stderr says so.
    """
    story = Timeline(history_of(ctx), target_of(["image"]), since=offset)
    found: set[str] = set()
    end = ctx.image.provenance.end_offset
    for touch in story:
        if touch.origin.offset >= end:
            break
        if touch.origin.offset < offset or (touch.origin.record == "CLEAR_ELR_RECORD" and touch.before.has_same_metadata(touch.after)):
            continue
        for place in touch.places:
            for path in paths_of(tuple(place), touch.after, touch.before):
                below = ((*path, "id"), (*path, "name")) if place[0] == "topic" else ()
                for touched in (path, *below):
                    found.update("/" + "/".join(touched[:depth]) for depth in range(1, len(touched) + 1))
    if offset < story.start:
        ctx.complain(f"{ctx.command}: the log begins at offset {story.start}: earlier changes are unknown", 0)
    for fault in story.faults:
        ctx.complain(f"{ctx.command}: {fault}", 1)
    return frozenset(found)


def last_change(ctx: Context, path: str) -> int:
    """Return the offset of the last record that touched a path, or the offset before the log if there is none.

    Errors: UsageError for a path that does not name a single node below /image.
    """
    matches = list(ctx.matches(path))
    if len(matches) != 1:
        raise UsageError(f"-newer: {path}: {'more than one node' if matches else 'no such path'}", path)
    components = usual_path(absolute_components(matches[0].path, ctx.cwd))
    if components[:1] != ["image"] or components[1:2] in (["provenance"], ["faults"]):
        raise UsageError(f"-newer: {path}: no records: it works below /image", path)
    life = life_of(ctx, components)
    return life.start - 1 if life.changed is None else life.changed.offset
