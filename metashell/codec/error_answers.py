"""The answer that refuses a request, from the schemas of both: the error, and where the answer repeats what was asked, each part with it.

An answer with an error code of its own says no more, but for the APIs in `REPEATED_TOO`. One without repeats the request's first array:
each entry of its first array of structs stands for one entry there, and has its fields of the same name, the error, and entries of its own
in the same way. Where the request has bare names or numbers, an entry's first field of that type takes it: `GroupsNames` "a" becomes
`Results` {GroupId "a", ErrorCode}. What comes twice is refused twice, but for the APIs in `ONCE`. What to fill in is found once for each
API and version, since a request may ask for many thousand things.
Source: the getErrorResponse methods of org.apache.kafka.common.requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from metashell.codec.registry import message_type
from metashell.codec.schema import FieldSchema, StructSchema

REPEATED_TOO: Final = frozenset(("AlterPartitionReassignments", "ElectLeaders", "ListPartitionReassignments"))
ONCE: Final = frozenset(("DeleteGroups",))
_CODES: Final = ("error_code", "partition_error_code")
_SAME: Final = {"partition": "partition_index", "index": "partition_index"}
_VALUES: Final[Mapping[str, Mapping[str, Any]]] = {
    "CreateTopics": {"num_partitions": -1, "replication_factor": -1},
    "DeleteGroups": {"error_message": None},
    "ExpireDelegationToken": {"expiry_timestamp_ms": -1},
    "Fetch": {"high_watermark": -1, "records": b""},
    "FindCoordinator": {"node_id": -1, "host": "", "port": -1},
    "InitProducerId": {"producer_id": -1, "producer_epoch": -1},
    "JoinGroup": {"protocol_name": None},
    "ListOffsets": {"timestamp": -1, "offset": -1},
    "OffsetFetch": {"committed_offset": -1, "metadata": ""},
    "OffsetForLeaderEpoch": {"leader_epoch": -1},
    "Produce": {"base_offset": -1},
    "RenewDelegationToken": {"expiry_timestamp_ms": -1},
}
"""Values of Kafka's error answers that are no schema's default. Null is for the versions that have it."""


def error_answer(name: str, body: Any, version: int, code: int, message: str | None = None) -> Any:
    """Return the response object that refuses a request of an API, as `OffsetCommit`. Errors: KeyError for an unknown name."""
    return _filled(_plan(name, version), body, code, message)


def error_entries(name: str, version: int, entries: Iterable[Any], code: int) -> tuple[str, tuple[Any, ...]]:
    """Return the parts of a refusal that stand for some entries of the request's array, and the attribute of the answer that has them."""
    plan = _plan(name, version)
    assert plan.entries is not None, "the answer has such entries"
    each = plan.entries
    return plan.own, tuple(_filled(each, entry, code, None) for entry in entries)


class _Plan(NamedTuple):
    """How one struct of an answer is filled. Shape: attributes; `copied` are (own, the entry's), `bare` takes an entry without fields.

    `entries` fills an item of the attribute `own` for each of the entry's attribute `asked`, where the answer `repeats` them.
    """

    make: Any
    codes: tuple[str, ...]
    messages: tuple[str, ...]
    values: tuple[tuple[str, Any], ...]
    copied: tuple[tuple[str, str], ...]
    bare: str
    entries: _Plan | None
    own: str
    asked: str
    repeats: bool
    is_once: bool


def _filled(plan: _Plan, entry: Any, code: int, message: str | None) -> Any:
    made = plan.make()
    for name in plan.codes:
        setattr(made, name, code)
    for name in plan.messages:
        setattr(made, name, message)
    for name, value in plan.values:
        setattr(made, name, value)
    for name, source in plan.copied:
        setattr(made, name, getattr(entry, source))
    if plan.bare:
        setattr(made, plan.bare, entry)
    if plan.repeats and plan.entries is not None:
        asked = getattr(entry, plan.asked) or ()
        each = plan.entries
        setattr(made, plan.own, tuple(_filled(each, one, code, message) for one in (dict.fromkeys(asked) if plan.is_once else asked)))
    return made


@cache
def _plan(name: str, version: int) -> _Plan:
    asked, made = message_type("request", name + "Request"), message_type("response", name + "Response")

    def plan(schema: StructSchema, make: Any, source: FieldSchema | None) -> _Plan:
        """`source` is the request's array of which an entry is answered, None for the whole request."""
        fields = schema.untagged(version)
        entry = asked.schema if source is None else asked.schema.structs.get(source.type)
        values = {
            field.attribute: value
            for field in fields
            if (value := _VALUES.get(name, {}).get(field.attribute, _UNSET)) is not _UNSET
            and (value is not None or version in field.nullable)
        }
        codes = tuple(field.attribute for field in fields if field.attribute in _CODES)
        plain = [field for field in fields if not field.is_array and field.attribute not in (*codes, *values, "error_message")]
        known = {} if entry is None or source is None else {_same(field): field for field in entry.at(version)}
        bare = ""
        if entry is None:
            assert source is not None
            bare = next((field.attribute for field in plain if field.type == source.type), "")
        target = next((field for field in fields if field.is_array and field.is_struct), None)
        wanted = None if entry is None else next((field for field in entry.untagged(version) if field.is_array), None)
        entries = None
        if target is not None and wanted is not None:
            entries = plan(made.schema.structs[target.type], made.structs[target.type], wanted)
        return _Plan(
            make=make,
            codes=codes,
            messages=tuple(field.attribute for field in fields if field.attribute == "error_message" and field.attribute not in values),
            values=tuple(values.items()),
            copied=tuple(
                (field.attribute, one.attribute)
                for field in plain
                if (one := known.get(_same(field))) is not None and one.type == field.type and not one.is_array
            ),
            bare=bare,
            entries=entries,
            own="" if target is None else target.attribute,
            asked="" if wanted is None else wanted.attribute,
            repeats=not codes or name in REPEATED_TOO,
            is_once=name in ONCE,
        )

    return plan(made.schema, made.cls, None)


_UNSET: Final = object()


def _same(field: FieldSchema) -> str:
    """A field's name, one for all names of a partition's number."""
    return _SAME.get(field.attribute, field.attribute)
