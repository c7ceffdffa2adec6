"""What of a node is bad or unusual, by field, for whoever shows it in colours.

Nothing is judged here: health says what is wrong and how bad that is, and this only knows which fields show it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from metashell.forms import pretty_json, spaced_json
from metashell.nodes.field_names import spellings
from metashell.nodes.topics import PartitionNode

if TYPE_CHECKING:
    from metashell.nodes import Node
    from metashell.shell.context import Context

    Roles = dict[str, str]

_OF_PARTITIONS: Final = {
    "state": ("leaderless", "under_min_isr", "under_replicated"),
    "leader": ("leaderless", "offline", "unclean", "not_preferred"),
    "isr": ("under_min_isr", "under_replicated", "at_min_isr"),
    "replicas": ("unregistered_replica", "racks"),
    "directories": ("offline_directory", "unassigned_directory", "cordoned_directory"),
    "addingReplicas": ("stuck_reassignment", "reassigning"),
    "removingReplicas": ("stuck_reassignment", "reassigning"),
    "eligibleLeaderReplicas": ("elr",),
    "lastKnownElr": ("elr",),
    "leaderRecoveryState": ("unclean",),
}
"""The kinds of trouble that a field shows, the worst first."""
_TOPIC_COUNTS: Final = ("leaderless", "under_replicated", "reassigning")
_WIDTH: Final = 100
_FIELD: Final = re.compile(r'  ("(\w+)": .*)')


def roles_of(ctx: Context, node: Node) -> Roles:
    """The fields of a node that show trouble, each with the role of its colour; none where nothing is coloured."""
    if not ctx.display.color:
        return {}
    from metashell.checks import all_checks

    severities = {one.id: one.severity for one in all_checks()}
    if isinstance(node, PartitionNode):
        return _of_partition(ctx, node, severities)
    if node.type == "topic":
        return {name: severities[name] for name in _TOPIC_COUNTS}
    value = node.value() if node.type == "broker" and not node.is_directory else None  # type: ignore[attr-defined]
    if not isinstance(value, dict):
        return {}
    if value["fenced"]:
        return dict.fromkeys(("state", "fenced", "fenced_since"), severities["fenced"])
    return dict.fromkeys(("state", "inControlledShutdown"), severities["shutting_down"]) if value["inControlledShutdown"] else {}


def _of_partition(ctx: Context, node: PartitionNode, severities: dict[str, str]) -> Roles:
    from metashell.checks.partitions import BITS

    topic, number = node.place
    bits = ctx.health.judge_of(topic)(topic.partitions[number])
    kept = {name: value for name, value in node.value().items() if value} if bits else {}  # type: ignore[union-attr]
    found: Roles = {}
    for field, kinds in _OF_PARTITIONS.items():
        kind = next((kind for kind in kinds if bits & BITS[kind]), None)
        # An empty list of replicas that are added says nothing; an empty ISR does.
        if kind is not None and (field in kept or field in ("state", "leader", "isr")):
            # `cat` shows Kafka's names, `ls -l` ours.
            found |= dict.fromkeys(spellings(field), severities[kind])
    return found


def painted_fields(ctx: Context, texts: dict[str, str], roles: Roles) -> str:
    """`name=text` words on one line."""
    paint = ctx.display.paint
    return ctx.display.joined((paint(roles.get(name, ""), f"{name}={text}") for name, text in texts.items()), " ")


def painted_line(ctx: Context, lead: str, value: dict[str, Any], roles: Roles) -> str:
    """`lead: {..}` with the value as JSON on one line."""
    display = ctx.display
    fields = (display.paint(roles.get(name, ""), f"{spaced_json(name)}: {spaced_json(item)}") for name, item in value.items())
    return display.joined((f"{lead}: {{", display.joined(fields, ", "), "}"))


def write_painted(ctx: Context, value: dict[str, Any], roles: Roles) -> None:
    """Write a value as indented JSON; a field with a role has its colour as a whole."""
    display = ctx.display
    for line in pretty_json(value, min(display.width or _WIDTH, _WIDTH)).split("\n"):
        found = _FIELD.fullmatch(line)
        role = roles.get(found[2]) if found is not None else None
        shown = display.colored_json(line) if found is None or role is None else f"  {display.paint(role, found[1])}"
        display.out.write(f"{shown}\n")
