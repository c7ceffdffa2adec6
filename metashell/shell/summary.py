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
    maker = _MAKERS.get(node.type)
    if maker is not None:
        return maker(ctx, node)
    if isinstance(node, Directory):
        return {"entries": node.child_count()}
    assert isinstance(node, Leaf)
    value = node.value(ctx.redact)
    return {} if value is None else {"value": value}


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


def _record(ctx: Context, node: Node) -> dict[str, Any]:
    assert isinstance(node, Leaf)
    value = node.value(ctx.redact)
    assert isinstance(value, dict)
    return value


def _topic(ctx: Context, node: Node) -> Fields:
    info = node.envelope_info
    fields = {"partitions": info["partition_count"]}
    topic = ctx.image.topics.by_id.get(uuid_from_text(info["topic_id"]))
    if topic is not None:
        health = topic_health(topic)
        fields |= {name: count for name, count in health.items() if count}
    return fields | {"id": info["topic_id"]}


def _partition(ctx: Context, node: Node) -> Fields:
    if not isinstance(node, Leaf):
        return {}
    value = _record(ctx, node)
    fields = {name: value[name] for name in ("leader", "isr", "replicas")}
    if value["leader"] < 0:
        fields["state"] = "leaderless"
    elif is_under_replicated(value["isr"], value["replicas"], value["addingReplicas"]):
        fields["state"] = "under_replicated"
    optional = ("eligibleLeaderReplicas", "lastKnownElr", "addingReplicas", "removingReplicas")
    return fields | {name: value[name] for name in optional if value[name]}


def _broker(ctx: Context, node: Node) -> Fields:
    if not isinstance(node, Leaf):
        return {}
    value = _record(ctx, node)
    state = "fenced" if value["fenced"] else "shutting_down" if value["inControlledShutdown"] else "active"
    fields: Fields = {"state": state}
    if value["rack"] is not None:
        fields["rack"] = value["rack"]
    return fields | {"epoch": value["brokerEpoch"], **node.envelope_info}


def _controller(ctx: Context, node: Node) -> Fields:
    return dict(node.envelope_info)


def _acl(ctx: Context, node: Node) -> Fields:
    value, words = _record(ctx, node), node.envelope_info
    return {
        "permission": words["permission_type"],
        "principal": value["principal"],
        "host": value["host"],
        "operation": words["operation"],
        "resource": f"{words['resource_type']}:{value['resourceName']}",
        "pattern": words["pattern_type"],
    }


def _scram(ctx: Context, node: Node) -> Fields:
    return {"iterations": _record(ctx, node)["iterations"]}


def _token(ctx: Context, node: Node) -> Fields:
    value = _record(ctx, node)
    return {"owner": value["owner"], "expiration_timestamp": value["expirationTimestamp"]}


def _provenance(ctx: Context, node: Node) -> Fields:
    value = _record(ctx, node)
    return {name: value[name] for name in ("offset", "epoch", "certain_to", "end_offset", "faults")}


def _voters(ctx: Context, node: Node) -> Fields:
    assert isinstance(node, Leaf)
    value = node.value(ctx.redact)
    return {"ids": [voter["voterId"] for voter in value["voters"]]} if isinstance(value, dict) else {}


def _faults(ctx: Context, node: Node) -> Fields:
    assert isinstance(node, Leaf)
    value = node.value(ctx.redact)
    assert isinstance(value, list)
    return {"entries": len(value)}


_MAKERS: dict[str, Callable[[Context, Node], Fields]] = {
    "topic": _topic,
    "partition": _partition,
    "broker": _broker,
    "controller": _controller,
    "acl": _acl,
    "scram": _scram,
    "token": _token,
    "provenance": _provenance,
    "voters": _voters,
    "faults": _faults,
}
