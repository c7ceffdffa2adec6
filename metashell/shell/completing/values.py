"""What an option or argument may be, by the kind that it declares, each value with what it is.

broker  rack  config-key  record-type  health  count-field  moment  source  expression
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.shell.command import MOMENT
from metashell.shell.completing.moments import moments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metashell.image.cluster import BrokerRegistration
    from metashell.shell.context import Context, KeyGuide

CONFIG_KEY: Final = "config-key"
META_MAX: Final = 100
"""Longer texts beside a value are cut: a menu has no room for them."""
_NODES_MAX: Final = 20
"""So many nodes of a directory are looked at for their fields."""


def values_of(ctx: Context, kind: str) -> Mapping[str, str]:
    """The values of a kind, in order, each with a description; none for an unknown kind."""
    maker = _MAKERS.get(kind)
    return {} if maker is None else maker(ctx)


def about_broker(broker: BrokerRegistration) -> str:
    """`b1:9092 rack-a fenced`."""
    words = [f"{listener.host}:{listener.port}" for listener in broker.listeners[:1]]
    words += [broker.rack] if broker.rack else []
    words += ["fenced"] if broker.fenced else ["shutting down"] if broker.in_controlled_shutdown else []
    return " ".join(words)


def about_key(guide: KeyGuide) -> str:
    """The default of a setting, and the first sentence about it."""
    default, documentation, _ = guide
    sentence = " ".join((documentation or "").split(". ")[0].replace("<code>", "").replace("</code>", "").split())
    shown = "" if default is None else f"[{default}] "
    return cut(f"{shown}{sentence}")


def allowed_values(ctx: Context, key: str) -> Mapping[str, str]:
    """The words that Kafka takes as the value of a setting; nothing where it takes any number or text."""
    guide = None if ctx.config_guide is None else ctx.config_guide(None).get(key)
    if guide is None:
        return {}
    return {word: "the default" if word == guide[0] else "allowed" for word in guide[2]}


def values_set(ctx: Context, key: str) -> Mapping[str, str]:
    """The values that a setting has here, the most frequent first; no secrets."""
    from metashell.codec.redaction import is_sensitive_config
    from metashell.forms import counted

    found = Counter(values[key] for (type, _), values in ctx.image.configs.items() if key in values and not is_sensitive_config(type, key))
    return {value: f"set here, {counted(count, 'time')}" for value, count in found.most_common(_NODES_MAX)}


def listed_fields(ctx: Context, targets: Sequence[str]) -> Mapping[str, str]:
    """The fields of what lies in the directories that are named, or in the working directory, each with a value that there is."""
    from metashell.nodes import Directory
    from metashell.shell.summary import summarize, value_text

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
    """The text, or as much of it as a menu has room for."""
    return text if len(text) <= META_MAX else f"{text[: META_MAX - 1]}…"


def _brokers(ctx: Context) -> Mapping[str, str]:
    return {str(id): about_broker(broker) for id, broker in sorted(ctx.image.cluster.brokers.items())}


def _racks(ctx: Context) -> Mapping[str, str]:
    from metashell.forms import counted

    racks = Counter(broker.rack for broker in ctx.image.cluster.brokers.values() if broker.rack is not None)
    return {rack: counted(count, "broker") for rack, count in sorted(racks.items())}


def _config_keys(ctx: Context) -> Mapping[str, str]:
    """The keys that Kafka knows, and those that are set here: of any resource, topics first."""
    known = {} if ctx.config_guide is None else {key: about_key(found) for key, found in ctx.config_guide(None).items()}
    set_here = {key: "set here" for values in ctx.image.configs.values() for key in values if key not in known}
    return {**known, **dict(sorted(set_here.items()))}


def _record_types(ctx: Context) -> Mapping[str, str]:
    from metashell.codec.frame import RECORD_TYPE_NAMES

    return {name: f"type {key}" for key, name in sorted(RECORD_TYPE_NAMES.items())}


def _health(ctx: Context) -> Mapping[str, str]:
    from metashell.checks import all_checks

    return {one.id: f"{one.severity}: {cut(one.words)}" for one in all_checks()}


def _count_fields(ctx: Context) -> Mapping[str, str]:
    from metashell.checks import PARTITION_GROUPS

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
    from metashell.shell.search.conditions import FIELDS

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
