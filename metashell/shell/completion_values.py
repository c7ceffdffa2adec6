"""Values of an option or argument by its declared kind, each with a description, and paths of the tree.

Kinds: broker, rack, config-key, record-type, health, count-field, moment, source, expression. Moments are times at which the source has
records, and offsets of its checkpoints. The last component of a path is completed; the others are looked up. If one of them is a
pattern, the matching paths are returned."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.metadata_records import RECORD_TYPE_NAMES
from metashell.codec.redaction import is_sensitive_config
from metashell.common.errors import MetashellError
from metashell.common.forms import counted
from metashell.common.values import moment_text
from metashell.metadata.checks import PARTITION_GROUPS, all_checks
from metashell.metadata.nodes import Directory
from metashell.shell.commands import MOMENT
from metashell.shell.past import now_ms
from metashell.shell.paths import (
    DEEP,
    Match,
    absolute_components,
    compile_component,
    compile_kafka_component,
    expand_path,
    has_wildcards,
    quote_glob,
)
from metashell.shell.words import fitting, matching

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metashell.metadata.image.cluster import BrokerRegistration
    from metashell.metadata.nodes import Node
    from metashell.shell.context import Context, KeyGuide


_MINUTE_MS: Final = 60_000
_AGES: Final = (("10m", "ten minutes", 10 * _MINUTE_MS), ("1h", "an hour", 60 * _MINUTE_MS), ("1d", "a day", 1440 * _MINUTE_MS))
_STARTS_MAX: Final = 4
"""The most checkpoints that are opened, beginning with the newest."""


def moments(ctx: Context) -> Mapping[str, str]:
    """Return words for moments, each with a description.

    Shape: a time ago is offered if there are newer records. If the log ended before it, the time is counted back from the newest record.
    """
    position = (ctx.present or ctx.image).provenance
    newest, now = position.timestamp_ms, now_ms()
    starts = _starts(ctx)
    oldest = starts[0][1] if starts else newest
    found = {"end": "the newest state"}
    if newest >= 0 and newest <= now - _AGES[0][2]:
        found[moment_text(newest)] = "the newest record"
    for word, about, age in _AGES:
        if newest > now - age:
            found[f"-{word}"] = f"{about} ago"
        elif oldest < newest - age:
            found[moment_text(newest - age)] = f"{about} before the newest record"
    found[str(position.end_offset)] = "the end offset of what is shown"
    for offset, time in reversed(starts):
        what = "a checkpoint" if offset else "the beginning"
        found.setdefault(str(offset), f"{what}, {moment_text(time)}")
    return found


def _starts(ctx: Context) -> list[tuple[int, int]]:
    """Return the offsets at which an image can begin, each with the time of its first record; none for a quorum, which would have to be
    asked.
    """
    if ctx.past is None or (ctx.feed is not None and ctx.feed.is_live):
        return []
    try:
        return ctx.past().times(_STARTS_MAX)
    except (MetashellError, OSError):
        return []


CONFIG_KEY: Final = "config-key"
META_MAX: Final = 100
"""The longest description of a value; a menu has no room for more."""
_NODES_MAX: Final = 20
"""The most nodes of a directory whose fields are looked at."""


def values_of(ctx: Context, kind: str) -> Mapping[str, str]:
    """Return the values of a kind in order, each with a description; none for an unknown kind."""
    maker = _MAKERS.get(kind)
    return {} if maker is None else maker(ctx)


def about_broker(broker: BrokerRegistration) -> str:
    """Return a description of a broker: `b1:9092 rack-a fenced`."""
    words = [f"{listener.host}:{listener.port}" for listener in broker.listeners[:1]]
    words += [broker.rack] if broker.rack else []
    words += ["fenced"] if broker.fenced else ["shutting down"] if broker.in_controlled_shutdown else []
    return " ".join(words)


def about_key(guide: KeyGuide) -> str:
    """Return the default of a setting and the first sentence of its documentation."""
    default, documentation, _ = guide
    sentence = " ".join((documentation or "").split(". ")[0].replace("<code>", "").replace("</code>", "").split())
    shown = "" if default is None else f"[{default}] "
    return cut(f"{shown}{sentence}")


def allowed_values(ctx: Context, key: str) -> Mapping[str, str]:
    """Return the words that Kafka accepts as the value of a setting; none if it accepts any number or text."""
    guide = None if ctx.config_guide is None else ctx.config_guide(None).get(key)
    if guide is None:
        return {}
    return {word: "the default" if word == guide[0] else "allowed" for word in guide[2]}


def values_set(ctx: Context, key: str) -> Mapping[str, str]:
    """Return the values that a setting has here, most frequent first, without secrets."""
    found = Counter(values[key] for (type, _), values in ctx.image.configs.items() if key in values and not is_sensitive_config(type, key))
    return {value: f"set here, {counted(count, 'time')}" for value, count in found.most_common(_NODES_MAX)}


def listed_fields(ctx: Context, targets: Sequence[str]) -> Mapping[str, str]:
    """Return the fields of nodes in the named directories, or in the working directory, each with an example value."""
    from metashell.shell.output import summarize, value_text

    found: dict[str, str] = {}
    for target in targets or (ctx.cwd,):
        match = next(iter(ctx.matches(target)), None)
        if match is None or not isinstance(match.node, Directory):
            continue
        for node in islice(match.node.iter_children(), _NODES_MAX):
            for name, value in summarize(ctx, node).items():
                found.setdefault(name, cut(f"such as {value_text(value)}"))
    return found | {"type": "what a node is"}


def cut(text: str) -> str:
    """Return the text, cut to the room of a menu."""
    return text if len(text) <= META_MAX else f"{text[: META_MAX - 1]}…"


def _brokers(ctx: Context) -> Mapping[str, str]:
    return {str(id): about_broker(broker) for id, broker in sorted(ctx.image.cluster.brokers.items())}


def _racks(ctx: Context) -> Mapping[str, str]:
    racks = Counter(broker.rack for broker in ctx.image.cluster.brokers.values() if broker.rack is not None)
    return {rack: counted(count, "broker") for rack, count in sorted(racks.items())}


def _config_keys(ctx: Context) -> Mapping[str, str]:
    """Return the keys that Kafka knows and those that are set here, for any resource, topics first."""
    known = {} if ctx.config_guide is None else {key: about_key(found) for key, found in ctx.config_guide(None).items()}
    set_here = {key: "set here" for values in ctx.image.configs.values() for key in values if key not in known}
    return {**known, **dict(sorted(set_here.items()))}


def _record_types(ctx: Context) -> Mapping[str, str]:
    return {name: f"type {key}" for key, name in sorted(RECORD_TYPE_NAMES.items())}


def _health(ctx: Context) -> Mapping[str, str]:
    return {one.id: f"{one.severity}: {cut(one.words)}" for one in all_checks()}


def _count_fields(ctx: Context) -> Mapping[str, str]:
    about = {
        "leader": "partitions by the id of their leader",
        "broker": "replicas by broker",
        "rack": "replicas by rack",
        "state": "partitions by the worst that is wrong with them",
        "topic": "partitions by topic",
    }
    fields = sorted(PARTITION_GROUPS, key=lambda name: (name not in about, name))
    return {name: about.get(name, "partitions by this field") for name in fields} | {"type": "nodes by what they are"}


def _fields(ctx: Context) -> Mapping[str, str]:
    from metashell.shell.conditions import FIELDS

    return FIELDS


def _sources(ctx: Context) -> Mapping[str, str]:
    return {f"@{name}": cut(text) for name, text in sorted(ctx.settings.sources.items())}


_MAKERS: Final[Mapping[str, Callable[[Context], Mapping[str, str]]]] = {
    "broker": _brokers,
    "rack": _racks,
    CONFIG_KEY: _config_keys,
    "record-type": _record_types,
    "health": _health,
    "count-field": _count_fields,
    MOMENT: moments,
    "source": _sources,
    "expression": _fields,
}


_LARGE: Final = 1000
_LITERALS: Final = re.compile(r"[*?]")
_BROKERS = ["image", "cluster", "brokers"]


class TreePath(NamedTuple):
    """A path as typed, its text in a menu, the text that follows it on the line (`ending`), and a description."""

    typed: str
    shown: str
    ending: str
    about: str


def paths_like(ctx: Context, typed: str, limit: int, *, is_loose: bool) -> list[TreePath]:
    """Return up to `limit` paths that complete a typed one; with `is_loose` also those that contain the typed text."""
    found = _named_like(ctx, typed, limit, is_loose=is_loose)
    if is_loose and has_wildcards(typed) and len(found) < limit:
        taken = {path.typed for path in found}
        fitting = (_path_of(ctx, match, typed) for match in _matches(ctx, typed, limit - len(found)))
        found += [path for path in fitting if path.typed not in taken]
    return found


def _named_like(ctx: Context, typed: str, limit: int, *, is_loose: bool) -> list[TreePath]:
    head, slash, word = typed.rpartition("/")
    components = absolute_components(head + slash or ".", ctx.cwd)
    directory = _look_up(ctx.root, components)
    if not isinstance(directory, Directory):
        return []
    if is_loose and not has_wildcards(word):
        names = matching(word, directory.child_names(), limit, directory.names_with_prefix)
    else:
        names = directory.names_with_prefix(word, limit)
    found = []
    for name in names:
        child = directory.child(name)
        if child is not None:
            ending = "/" if child.is_directory else " "
            spelled = name if ctx.speaks_kafka else quote_glob(name)
            found.append(TreePath(head + slash + spelled, name + ending.strip(), ending, _about(ctx, components, child)))
    return found


def pattern_matches(ctx: Context, typed: str, limit: int) -> list[str]:
    """Return up to `limit` paths that a typed pattern matches, as words of a line; none if it is not a pattern."""
    if not has_wildcards(typed) or DEEP in typed.split("/"):
        return []
    found = [_path_of(ctx, match, typed) for match in _matches(ctx, typed, limit)]
    return [path.typed + ("/" if path.ending == "/" and len(found) == 1 else "") for path in found]


def _matches(ctx: Context, typed: str, limit: int) -> list[Match]:
    """Return the paths that a pattern matches, else those that begin with a match."""
    if DEEP in typed.split("/"):
        return []
    for pattern in (typed,) if typed.endswith("*") else (typed, f"{typed}*"):
        found = _children_that_fit(ctx, pattern, limit)
        if found is None:
            found = list(islice(expand_path(ctx.root, absolute_components(pattern, ctx.cwd)), limit))
        if found:
            return found
    return []


def _children_that_fit(ctx: Context, typed: str, limit: int) -> list[Match] | None:
    """Return the result of `expand_path` for a pattern in the last component of a large directory, where that is too slow; else None."""
    head, slash, word = typed.rpartition("/")
    components = absolute_components(head + slash or ".", ctx.cwd)
    pattern, kafkas = compile_component(word), compile_kafka_component(word)
    directory = None if has_wildcards(head) else _look_up(ctx.root, components)
    # If our rules and Kafka's differ, both have to be tried.
    if pattern is None or kafkas is None or pattern.pattern != kafkas.pattern or not isinstance(directory, Directory):
        return None
    names = directory.child_names()
    if len(names) < _LARGE:
        return None
    literal = max(_LITERALS.split(word), key=len)
    above = "/" + "".join(f"{component}/" for component in components)
    found = ((name, directory.child(name)) for name in fitting(pattern, "" if "\\" in word or "{" in word else literal, names, limit))
    return [Match(above + name, name, child) for name, child in found if child is not None]


def _path_of(ctx: Context, match: Match, typed: str) -> TreePath:
    """Return a match as a path relative to where the typed one begins."""
    path = "/".join(map(quote_glob, match.path.split("/")))
    here = ctx.cwd.rstrip("/") + "/"
    if not typed.startswith("/") and ".." not in typed.split("/") and path.startswith(here):
        path = path[len(here) :]
    ending = "/" if match.node.is_directory else " "
    return TreePath(path, path + ending.strip(), ending, match.node.type)


def _about(ctx: Context, components: Sequence[str], node: Node) -> str:
    """Return a short description of a node that costs no more than reading the node."""
    if node.type == "topic" and (count := node.envelope_info.get("partition_count")) is not None:
        return f"topic, {counted(count, 'partition')}"
    if components == _BROKERS and node.name.isdigit() and (broker := ctx.image.cluster.brokers.get(int(node.name))) is not None:
        return f"broker {about_broker(broker)}"
    return node.type


def _look_up(node: Node, components: Sequence[str]) -> Node | None:
    for component in components:
        if not isinstance(node, Directory):
            return None
        child = node.child(component)
        if child is None:
            return None
        node = child
    return node
