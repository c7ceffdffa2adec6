"""What matters most about a node, for `ls -l`: a few fields, and those about trouble only if there is some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.forms import plain_text, spaced_json
from metashell.nodes import Directory, Leaf
from metashell.shell.health import is_under_replicated, topic_health
from metashell.values import uuid_from_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from metashell.nodes import Node
    from metashell.shell.context import Context

Fields = dict[str, Any]
_TEXT_LIMIT = 100


def summarize(ctx: Context, node: Node) -> Fields:
    """The fields of a node's line, in snake_case; empty fields are left out."""
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
    return {"value": value} if maker is None else maker(value, node.envelope_info)


def summary_text(fields: Fields) -> str:
    """The fields as `name=value` words; long values are cut."""
    if fields.keys() == {"value"}:
        return value_text(fields["value"])
    return " ".join(f"{name}={value_text(value)}" for name, value in fields.items())


def value_text(value: Any) -> str:
    """One value in few characters, `1,2,3` for a list of scalars."""
    return _short(_word(value))


def _word(value: Any) -> str:
    if isinstance(value, list | tuple) and not any(isinstance(item, dict | list | tuple) for item in value):
        return ",".join(map(plain_text, value)) or "-"
    text = plain_text(value)
    return spaced_json(text) if not text or "\n" in text else text


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_LIMIT else f"{text[: _TEXT_LIMIT - 3]}..."


def _topic(ctx: Context, node: Node) -> Fields:
    info = node.envelope_info
    fields = {"partitions": info["partition_count"]}
    topic = ctx.image.topics.by_id.get(uuid_from_text(info["topic_id"]))
    if topic is not None:
        fields |= {name: count for name, count in topic_health(topic).items() if count}
    return fields | {"id": info["topic_id"]}


def _partition(value: Any, info: Fields) -> Fields:
    fields = _picked(value, "leader", "isr", "replicas")
    if value["leader"] < 0:
        fields["state"] = "leaderless"
    elif is_under_replicated(value["isr"], value["replicas"], value["addingReplicas"]):
        fields["state"] = "under_replicated"
    optional = ("eligibleLeaderReplicas", "lastKnownElr", "addingReplicas", "removingReplicas")
    return fields | {name: value[name] for name in optional if value[name]}


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
