"""Answers of commands in the requested form: objects about nodes, leaves as text, and the summary of a node for `ls -l`.

A summary has a few fields, and fields about trouble only if there is some."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from metashell.common import forms
from metashell.common.errors import UsageError
from metashell.common.forms import plain_text, pretty_json, spaced_json, write_value
from metashell.common.options import did_you_mean
from metashell.metadata.nodes import Directory, Leaf
from metashell.metadata.nodes.names import spellings
from metashell.metadata.nodes.topics import TopicNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from metashell.metadata.nodes import Node
    from metashell.shell.context import Context


Object = dict[str, Any]


def write_objects(ctx: Context, items: Iterable[Object | str], *, columns: Sequence[str] = (), single: bool = False) -> None:
    """Write the objects of an answer; see `forms.write_objects`. Each has the same `certain_to` and `end_offset`."""
    forms.write_objects(ctx.display, ctx.output, items, columns=columns, constant=ctx.certainty(), single=single)


def write_answer(ctx: Context, objects: Iterable[Object], lines: Iterable[str], **shape: Any) -> None:
    """Write an answer in the requested form, from objects or from lines; only one of the two is read."""
    if ctx.output in forms.OBJECT_FORMS:
        write_objects(ctx, objects, **shape)
        return
    for line in lines:
        ctx.line(line)


def node_object(ctx: Context, path: str, node: Node, **fields: Any) -> Object:
    """Return the object about a node: `path` and `type`, the fields, and how far the image is committed."""
    return {"path": path, "type": node.type, **fields, **ctx.certainty()}


def leaf_object(ctx: Context, path: str, leaf: Leaf) -> Object:
    """Return the object about a leaf: its value, names for the codes in it, and the fields of every object about a node."""
    return node_object(ctx, path, leaf, value=leaf.value(ctx.redact), **leaf.envelope_info)


def write_leaf(ctx: Context, leaf: Leaf) -> None:
    """Write a leaf as `cat` shows it: plain for scalars, indented JSON for records, or Kafka's text with `-o kafka`."""
    if ctx.output == "kafka":
        ctx.line(kafka_leaf_text(ctx, leaf))
        return
    value = leaf.value(ctx.redact)
    if isinstance(value, dict) and ctx.display.color:
        from metashell.shell.listing import roles_of, write_painted

        write_painted(ctx, value, roles_of(ctx, leaf))
    elif isinstance(value, dict | list | tuple):
        write_value(ctx.display, value)
    else:
        ctx.line(plain_text(value))


def value_lines(value: object) -> list[str]:
    """Return the lines of a leaf's value as `cat` prints it into a pipe."""
    return (pretty_json(value) if isinstance(value, dict | list | tuple) else plain_text(value)).split("\n")


def kafka_leaf_text(ctx: Context, leaf: Leaf) -> str:
    """Return Kafka's text of a leaf; in our own voice its secrets are hidden."""
    return leaf.kafka_text(ctx.redact and not ctx.speaks_kafka)


Fields = dict[str, Any]
_TEXT_LIMIT = 100
_ASKED_MAX = 1000
_NAMED_MAX = 20
_BEFORE_DIFFERENCE = 24
_OPTIONAL = {
    "eligible_leader_replicas": "eligibleLeaderReplicas",
    "last_known_elr": "lastKnownElr",
    "adding_replicas": "addingReplicas",
    "removing_replicas": "removingReplicas",
}
"""Fields of a partition that are shown if they are not empty: our name and Kafka's."""
_TOPIC_STATES = ("leaderless", "under_replicated", "reassigning")


def summarize(ctx: Context, node: Node) -> Fields:
    """Return the fields of a node's line in snake_case, without empty ones."""
    if node.type == "topic":
        return _topic(ctx, node)
    if node.type == "group":
        return _picked(node.envelope_info, "group_type", "state")
    if isinstance(node, Directory):
        return {} if node.type in _MAKERS else {"entries": node.child_count()}
    assert isinstance(node, Leaf)
    value = node.value(ctx.redact)
    if value is None:
        return {}
    maker = _MAKERS.get(node.type)
    if maker is None:
        return {"value": value}
    fields = maker(value, node.envelope_info)
    return _with_since(ctx, node.name, fields) if fields.get("state") == "fenced" else fields


def listed_field(fields: Fields, name: str) -> Any:
    """Return the value of a field by any spelling of its name; None if it is missing."""
    return next((fields[each] for each in spellings(name) if each in fields), None)


def unknown_field(ctx: Context, option: str, field: str, nodes: Iterable[Node], more: Iterable[str] = ()) -> UsageError:
    """Return the error for a field that no node has, with the fields of the first node, and `more`."""
    known = dict.fromkeys(more)
    for node in islice(nodes, _ASKED_MAX):
        known.update(dict.fromkeys(summarize(ctx, node)))
        value = node.value(ctx.redact) if isinstance(node, Leaf) else None
        known.update(dict.fromkeys(value if isinstance(value, dict) and more else ()))
    names = ", ".join(list(known)[:_NAMED_MAX]) + (", ..." if len(known) > _NAMED_MAX else "")
    hint = did_you_mean(field, list(known)) or (f"; there is {names}" if known else "")
    return UsageError(f"{option}: no node here has a field {field!r}{hint}", field)


def _with_since(ctx: Context, id: str, fields: Fields) -> Fields:
    """Return the fields of a fenced broker with the time since it is fenced, if that is known."""
    from metashell.shell.past import fenced_times

    since = fenced_times(ctx).get(int(id))
    return fields if since is None else {"state": fields["state"], "fenced_since": since, **fields}


def summary_text(fields: Fields) -> str:
    """Return the fields as `name=value` words; long values are cut."""
    if fields.keys() == {"value"}:
        return value_text(fields["value"])
    return " ".join(f"{name}={value_text(value)}" for name, value in fields.items())


def value_text(value: Any) -> str:
    """Return one value as a short text, `1,2,3` for a list of scalars."""
    return _short(_word(value))


def value_texts(one: Any, other: Any) -> tuple[str, str]:
    """Return two different values as short texts. If the texts begin alike, they start shortly before the difference."""
    words = tuple(map(_word, _apart(one, other)))
    texts = _short(words[0]), _short(words[1])
    if texts[0] != texts[1]:
        return texts
    common = next((index for index, (was, now) in enumerate(zip(*words, strict=False)) if was != now), min(map(len, words)))
    start = max(common - _BEFORE_DIFFERENCE, 0)
    return _short(f"...{words[0][start:]}"), _short(f"...{words[1][start:]}")


def _apart(one: Any, other: Any) -> tuple[Any, Any]:
    """Return the difference between two lists of objects: their first fields, which are ids or names, else the objects that differ."""
    lists = [value for value in (one, other) if value is not None]
    if not lists or not all(isinstance(value, list) and all(isinstance(item, dict) and item for item in value) for value in lists):
        return one, other
    if len(lists) == 1:
        names_only = [next(iter(item.values())) for item in lists[0]]
        return (None, names_only) if one is None else (names_only, None)
    names = [[next(iter(item.values())) for item in value] for value in (one, other)]
    if names[0] != names[1]:
        return names[0], names[1]
    return [item for item in one if item not in other], [item for item in other if item not in one]


def full_text(value: Any) -> str:
    """Return one value as its whole text, `1,2,3` for a list of scalars."""
    return _word(value)


def _word(value: Any) -> str:
    if isinstance(value, list | tuple) and not any(isinstance(item, dict | list | tuple) for item in value):
        return ",".join(map(plain_text, value)) or "-"
    text = plain_text(value)
    return spaced_json(text) if not text or "\n" in text else text


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_LIMIT else f"{text[: _TEXT_LIMIT - 3]}..."


def _topic(ctx: Context, node: Node) -> Fields:
    # The partitions are judged first, which also counts them.
    counts = ctx.health.topic_counts(node.topic) if isinstance(node, TopicNode) else {}
    info = node.envelope_info
    states = {name: counts[name] for name in _TOPIC_STATES if counts.get(name)}
    return {"partitions": info["partition_count"], **states, "id": info["topic_id"]}


def _partition(value: Any, info: Fields) -> Fields:
    from metashell.metadata.checks.partitions import is_under_replicated

    fields = _picked(value, "leader", "isr", "replicas")
    if value["leader"] < 0:
        fields["state"] = "leaderless"
    elif is_under_replicated(value["isr"], value["replicas"], value["addingReplicas"]):
        fields["state"] = "under_replicated"
    return fields | {name: value[kafka] for name, kafka in _OPTIONAL.items() if value[kafka]}


def _broker(value: Any, info: Fields) -> Fields:
    state = "fenced" if value["fenced"] else "shutting_down" if value["inControlledShutdown"] else "active"
    rack = {} if value["rack"] is None else {"rack": value["rack"]}
    return {"state": state, **rack, "epoch": value["brokerEpoch"], **info}


def _acl(value: Any, info: Fields) -> Fields:
    return {
        "permission": info["permission_type"],
        **_picked(value, "principal", "host"),
        "operation": info["operation"],
        "resource": f"{info['resource_type']}:{value['resourceName']}",
        "pattern": info["pattern_type"],
    }


def _picked(value: Any, *names: str) -> Fields:
    return {name: value[name] for name in names}


_MAKERS: dict[str, Callable[[Any, Fields], Fields]] = {
    "partition": _partition,
    "broker": _broker,
    "controller": lambda value, info: info,
    "acl": _acl,
    "scram": lambda value, info: _picked(value, "iterations"),
    "token": lambda value, info: {"owner": value["owner"], "expiration_timestamp": value["expirationTimestamp"]},
    "provenance": lambda value, info: _picked(value, "offset", "epoch", "certain_to", "end_offset", "faults"),
    "voters": lambda value, info: {"ids": [voter["voterId"] for voter in value["voters"]]},
    "faults": lambda value, info: {"entries": len(value)},
}
