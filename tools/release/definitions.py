"""Kafka's message definitions as texts in the notation of metashell/codec/schemas.

A definition is JSON in Kafka's jars. Where they have only the generated classes (records of the metadata log and of remote storage),
`Facts.java` prints the layout of each version; those texts have no `entity`, no `ignorable` and no `key`.
Source: org.apache.kafka.message.MessageSpec, FieldSpec and StructSpec.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from tools.release.lines import Line, schema_text

_WORDS: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*')
_COORDINATOR_KINDS: Final = {"offsets", "share", "transactions"}


def definition(text: str) -> dict[str, Any] | None:
    """The JSON of a definition; None for a message that the release has no version of any more."""
    read: dict[str, Any] = json.loads(_WORDS.sub(lambda found: found[0] if found[0].startswith('"') else "", text))
    return None if read["validVersions"] == "none" else read


def json_schema(read: Mapping[str, Any], family: str) -> str:
    """The text of a definition. `family` is the folder of its schema."""
    kind = read["type"]
    if family in _COORDINATOR_KINDS and kind == "data":  # 3.9 and older
        kind = "coordinator-key" if read["name"].endswith("Key") else "coordinator-value"
    head = [kind, read["name"]]
    if "apiKey" in read:
        head += ["key", str(read["apiKey"])]
    head += ["versions", read["validVersions"], "flexible", read["flexibleVersions"]]
    if read.get("latestVersionUnstable"):
        head.append("latest-unstable")
    if listeners := [name for name in read.get("listeners", ()) if name != "zkBroker"]:
        head += ["listeners", ",".join(listeners)]
    lines = [_json_line(field) for field in read["fields"]]
    for struct in read.get("commonStructs", ()):
        lines.append(Line(["struct", struct["name"], struct["versions"]], [_json_line(field) for field in struct["fields"]]))
    return schema_text(Line(head, lines))


def _json_line(field: Mapping[str, Any]) -> Line:
    words = [field["name"], field["type"], field.get("versions") or field["taggedVersions"]]
    for word, name in (("nullable", "nullableVersions"), ("tag", "tag"), ("default", "default")):
        # Kafka's generator takes a default that is JSON's null, and not the text, for none.
        if field.get(name) not in (None, "none"):
            words += [word, _text(field[name])]
            if word == "tag":
                words.append(field["taggedVersions"])
    words += [word for word, name in (("key", "mapKey"), ("ignorable", "ignorable")) if field.get(name)]
    for word, name in (("flexible", "flexibleVersions"), ("entity", "entityType")):
        if name in field:
            words += [word, field[name]]
    if field.get("zeroCopy"):
        words.append("zerocopy")
    return Line(words, [_json_line(inner) for inner in field.get("fields", ())])


def _text(value: object) -> str:
    if isinstance(value, bool):
        return json.dumps(value)
    return '""' if value == "" else str(value)


class _ClassField:
    """One field as the layouts of a class name it, with the versions that have it and those in which it may be null."""

    def __init__(self, name: str, type_name: str, tag: str, default: str) -> None:
        self.name, self.type_name, self.tag, self.default = name, type_name, tag, default
        self.versions: list[int] = []
        self.nullable: list[int] = []
        self.fields: list[_ClassField] = []


def class_schema(rows: list[list[str]], kind: str) -> str:
    """The text of a message from the rows that `Facts.java` prints for it: `message`, then `field` and `flexible` of each version."""
    _, class_name, key, low, high = rows[0]
    top = _ClassField("", "", "", "")
    flexible: list[int] = []
    # The newest version first: it has most of the fields, and fields of older ones find their place among them.
    for version in range(int(high), int(low) - 1, -1):
        # For each depth, the field that is open and the place behind it in its struct.
        path, places = [top], [0]
        for word, at, depth, *rest in rows[1:]:
            if int(at) != version:
                continue
            if word == "flexible":
                flexible += [version] * (depth == "0")
                continue
            del path[int(depth) + 1 :], places[int(depth) + 1 :]
            name, type_name, nullable, tag, default = rest
            fields = path[-1].fields
            field = next((one for one in fields if one.name == name), None)
            if field is None:
                field = _ClassField(name, type_name, tag, default)
                fields.insert(places[-1], field)
            places[-1] = fields.index(field) + 1
            field.versions.append(version)
            field.nullable += [version] * (nullable == "true")
            path.append(field)
            places.append(0)
    head = [kind, class_name.rpartition(".")[2]]
    if key != "-1":
        head += ["key", key]
    span = range(int(low), int(high) + 1)
    head += ["versions", low if low == high else f"{low}-{high}", "flexible", _span(flexible, span) if flexible else "none"]
    return schema_text(Line(head, [_class_line(field, span) for field in top.fields]))


def _class_line(field: _ClassField, span: range) -> Line:
    words = [field.name[0].upper() + field.name[1:], field.type_name, _span(field.versions, span)]
    if field.nullable:
        words += ["nullable", _span(field.nullable, span)]
    if field.tag:
        words += ["tag", field.tag, _span(field.versions, span)]
    if field.default:
        words += ["default", field.default]
    return Line(words, [_class_line(inner, span) for inner in field.fields])


def _span(versions: list[int], span: range) -> str:
    low, high = min(versions), max(versions)
    return f"{low}+" if high == span[-1] else str(low) if low == high else f"{low}-{high}"
