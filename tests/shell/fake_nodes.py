"""A small tree and image that need no file: nested dicts are directories, what else stands in them are leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from types import SimpleNamespace
from typing import Any

from metashell.common.forms import Display
from metashell.metadata.image import FeaturesImage
from metashell.metadata.nodes.names import sorted_names
from metashell.metadata.nodes.node import Directory, Leaf, Node
from metashell.shell.context import Context

TREE: dict[str, Any] = {
    "image": {
        "empty": {},
        "features": {"metadataVersion": "4.3-IV0"},
        "brokers": {str(id): {"$leaf": {"brokerId": id, "rack": None, "ports": [id, id + 1]}} for id in (1, 2, 10)},
        "topics": {"byName": {name: {"0": "zero", "1": "one", "id": f"id-{name}", "name": name} for name in ("a b", "orders", "other")}},
        "secret": {"$leaf": "s3cr3t", "$redacted": "[redacted]"},
    },
    "local": {"version": "4.3.1"},
}


class FakeDirectory(Directory):
    """A directory over a dict; `broken` names are listed and have no node."""

    def __init__(self, name: str, content: Mapping[str, Any], type: str = "dir") -> None:
        super().__init__(name, type)
        self.content = content
        self.asked: list[str] = []

    def child_names(self) -> Sequence[str]:
        return sorted_names(self.content)

    def child(self, name: str) -> Node | None:
        self.asked.append(name)
        value = self.content.get(name)
        if value is None:
            return None
        if isinstance(value, dict) and "$leaf" not in value:
            return FakeDirectory(name, value, "topic" if "id" in value else "dir")
        return FakeLeaf(name, value)


class FakeLeaf(Leaf):
    """A leaf with a value, and another one for those who must not see it."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(name)
        self._open = value["$leaf"] if isinstance(value, dict) else value
        self._redacted = value.get("$redacted", self._open) if isinstance(value, dict) else value

    def value(self, redact: bool = True) -> Any:
        return self._redacted if redact else self._open

    def kafka_text(self, redact: bool = False) -> str:
        return f"<{self.value(redact)}>" if not isinstance(self._open, str) else str(self.value(redact))


def fake_image(**provenance: Any) -> Any:
    """An image with nothing but a provenance: committed to 100 of 120."""
    values = {"offset": 119, "epoch": 3, "certain_to": 100, "end_offset": 120, "timestamp_ms": 0, "source_kind": "directory"} | provenance
    return SimpleNamespace(provenance=SimpleNamespace(**values), faults=(), unread=(), features=FeaturesImage())


def fake_context(tree: Mapping[str, Any] = TREE, **fields: Any) -> Context:
    """A context over a tree whose streams are texts: `printed(ctx)` and `complaints(ctx)` give them."""
    names = {"terminal": "is_terminal", "width": "width", "color": "color"}
    traits = {trait: fields.pop(name) for name, trait in names.items() if name in fields}
    display = Display(fields.pop("out", StringIO()), **traits)
    values: dict[str, Any] = {"image": fake_image(), "source_label": "demo", "display": display, "err": StringIO()} | fields
    if values.get("voice") == "kafka":
        values.setdefault("output", "kafka")
    return Context(root=FakeDirectory("", tree), **values)


def printed(ctx: Context) -> str:
    """What went to stdout since the last call."""
    assert isinstance(ctx.out, StringIO)
    text = ctx.out.getvalue()
    ctx.out.seek(0)
    ctx.out.truncate()
    return text


def complaints(ctx: Context) -> str:
    """What went to stderr since the last call."""
    assert isinstance(ctx.err, StringIO)
    text = ctx.err.getvalue()
    ctx.err.seek(0)
    ctx.err.truncate()
    return text
