"""The data dictionary: the names of all tables, the meaning of their columns, and the words for codes.

`meanings/tables.tsv` has a line for each table, `meanings/fields.tsv` one for each fact about a column: its unit, since when the field
exists, and its meaning, special values first. A fact that many tables share stands there once.

A line of `fields.tsv` is about `TABLE:COLUMN` or, without a table, about every column of that name; both may have `*`. A field of a
struct has the names of all structs around it, `end_points.port`, and a line about `port` applies to it too. Of several lines that fit,
one with a table wins over one without, one without `*` over one with, then the longer name, then the earlier line. A line with `=` has
the meaning of the next line that fits. `topic_id_text` beside `topic_id` and `operation_name` beside `operation` have no lines of their
own.

Names, types and examples are in `listed.tsv` and the reports in `reports.tsv`, which `python -m tools.gen_dictionary` makes from the
schemas and from real logs. Every column has a meaning, which a test holds. Reading the dictionary needs neither numpy nor pyarrow."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple

from metashell.codec.codes import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    CONFIG_TYPES,
    FENCING_CHANGES,
    RECOVERY_STATES,
    SCRAM_MECHANISMS,
    SECURITY_PROTOCOLS,
    SHUTDOWN_CHANGES,
    ZK_MIGRATION_STATES,
)
from metashell.codec.coordinator import CONSUMER_STATES, COORDINATOR_LOGS, DELIVERY_STATES, STREAMS_STATES, TRANSACTION_STATES
from metashell.codec.dispatch import METADATA_TYPES, REMOTE_LOG_TYPES
from metashell.codec.record_text import DELETE_STATES, SEGMENT_STATES
from metashell.codec.schema import snake_case
from metashell.disk.names import KNOWN_LOGS, METADATA, OFFSETS, LogKind

# ---- names of tables

COMMON_TABLES = ("records", "control", "batches", "faults")
CLUSTER_TABLES = ("topics", "partitions", "brokers", "controllers", "configs", "acls", "quotas", "features", "voters", "sources")
"""The tables of the current state of a cluster's metadata."""
GROUP_TABLES = ("group_offsets",)
"""Those of the current state of its groups."""
STATE_TABLES = (*CLUSTER_TABLES, *GROUP_TABLES)
"""The tables of the current state; all others are of events."""
OUTCOME_TABLES = ("legacy_offset_commit", "offset_commit")
"""The tables whose rows may be those of transactions."""


def table_names() -> list[str]:
    """Return the tables of events: those that every log has, then those of each log."""
    return [*COMMON_TABLES, *_logs_of_tables()]


def log_of_table(table: str) -> LogKind | None:
    """Return the log whose records a table holds, None for those that every log has."""
    if table in STATE_TABLES:
        return OFFSETS if table in GROUP_TABLES else METADATA
    return _logs_of_tables().get(table)


@cache
def _logs_of_tables() -> dict[str, LogKind]:
    return {name: log for log in KNOWN_LOGS for name in record_tables(log).values()}


def record_tables(log: str) -> dict[int, str]:
    """Return the names of the tables of one kind of log by record type."""
    if log in COORDINATOR_LOGS:
        coordinator = COORDINATOR_LOGS[log]
        return {type_id: key_table_name(name) for type_id, name in coordinator.keys.items() if type_id in coordinator.values}
    names = METADATA_TYPES if log == METADATA else REMOTE_LOG_TYPES
    return {type_id: record_table_name(name) for type_id, name in names.items()}


def record_table_name(message: str) -> str:
    """Return the table of a record's name: `partition_change` for `PartitionChangeRecord`."""
    return snake_case(message.removesuffix("Record"))


def key_table_name(message: str) -> str:
    """Return the table of a key's name: `offset_commit` for `OffsetCommitKey`."""
    return snake_case(message.removesuffix("Key"))


# ---- the listed tables and columns

LISTED: Final = "listed.tsv"
REPORTS: Final = "reports.tsv"
EVENTS: Final = "events"
STATE: Final = "state"
REPORT: Final = "report"
Kind = Literal["events", "state", "report"]
_NONE: Final = "-"


class ListedTable(NamedTuple):
    """One table. `log` is the kind of log that it is made from, None for those of all logs; `since` is the metadata.version that first
    wrote its records or, for the coordinators' logs, the release of Kafka; None where that says nothing."""

    name: str
    kind: Kind
    log: str | None
    since: str | None
    holds: str


class ListedColumn(NamedTuple):
    """One column, or the field of a struct, whose name is then `COLUMN.FIELD`. `example` is JSON text from a real log, None without one."""

    table: str
    name: str
    type: str
    unit: str | None
    since: str | None
    example: str | None
    meaning: str


@cache
def listed_tables() -> dict[str, ListedTable]:
    """Return all tables by name: those of the state, those of events, and the answers of reports."""
    found = {}
    for name, since, holds in dictionary_rows("tables.tsv"):
        first = since.partition(" ")[0]
        kind: Kind = STATE if name in STATE_TABLES else EVENTS
        log = log_of_table(name)
        found[name] = ListedTable(name, kind, log, None if first == _NONE else first, holds)
    for name, read, holds in dictionary_rows(REPORTS):
        found[name] = ListedTable(name, REPORT, read, None, holds)
    order = (STATE, EVENTS, REPORT)
    return dict(sorted(found.items(), key=lambda item: order.index(item[1].kind)))


@cache
def listed_columns() -> dict[str, list[ListedColumn]]:
    """Return the columns of each table, in order; the fields of a struct follow it."""
    lines: dict[str, list[list[str]]] = {}
    for table, *line in dictionary_rows(LISTED):
        lines.setdefault(table, []).append(line)
    return {table: _columns(table, of_table) for table, of_table in lines.items()}


def _columns(table: str, lines: list[list[str]]) -> list[ListedColumn]:
    beside: dict[str, set[str]] = {}
    for name, *_ in lines:
        struct, _, last = name.rpartition(".")
        beside.setdefault(struct, set()).add(last)
    found = []
    for name, kind, since, example in lines:
        meaning = meaning_of(table, name, beside[name.rpartition(".")[0]])
        assert meaning is not None, f"{table}.{name} has no meaning"
        unit = None if meaning.unit == _NONE else meaning.unit
        found.append(ListedColumn(table, name, kind, unit, since or None, example or None, meaning.whole))
    return found


# ---- the meaning of a column

COMPANIONS: Final = {
    "_text": "{} as text, as Kafka and all our output show it: base64url, 22 characters",
    "_name": "the word for {}",
}
"""By the ending of the name; `{}` is the column that it goes with."""


class Meaning(NamedTuple):
    """The meaning of a column. `unit` is NO_UNIT or TIME without one; `codes` are the words for its numbers; `since` as in `Field`."""

    unit: str
    since: str
    text: str
    codes: dict[int, str]

    @property
    def whole(self) -> str:
        """The text with the words for all codes."""
        words = ", ".join(f"{code} {word}" for code, word in sorted(self.codes.items()))
        return f"{self.text} ({words})" if words else self.text

    @property
    def comment(self) -> str:
        """All of it in a line, for schemas."""
        return self.whole if self.unit in (NO_UNIT, TIME) else f"{self.whole} ({self.unit})"


def meaning_of(table: str, path: str, siblings: Collection[str]) -> Meaning | None:
    """Return the meaning of a column, or of a field of a struct, whose neighbours have the names `siblings`; None where it has none."""
    if (line := field_of(table, path)) is not None:
        words = CODES.get(table, {}).get(path)
        return Meaning(line.unit, line.since, line.meaning, {} if words is None else words.words)
    base = base_of(path, siblings)
    if base is None or (beside := field_of(table, base)) is None:
        return None
    return Meaning(NO_UNIT, beside.since, COMPANIONS[path.removeprefix(base)].format(base.rpartition(".")[2]), {})


def base_of(path: str, siblings: Collection[str]) -> str | None:
    """Return the path of the column that a companion goes with; None for any other column."""
    name = path.rpartition(".")[2]
    found = (ending for ending in COMPANIONS if name.endswith(ending) and name.removesuffix(ending) in siblings)
    ending = next(found, None)
    return None if ending is None else path.removesuffix(ending)


# ---- the lines of fields.tsv

NO_UNIT: Final = "-"
SAME: Final = "="
TIME: Final = "UTC"
"""Stands where others have a unit: the column is a time."""


class Field(NamedTuple):
    """One line: `since` is empty where the version of the record says it, and `@TABLE.COLUMN` where another column does."""

    pattern: str
    unit: str
    since: str
    meaning: str


class _Fields(NamedTuple):
    scoped: dict[str, Field]
    globs: tuple[Field, ...]
    shared: dict[str, Field]


@cache
def field_of(table: str, path: str) -> Field | None:
    """Return the meaning of a column of a table, None where no line has it. `path` is `end_points.port` for a field of a struct."""
    lines = lines_about(table, path)
    if not lines:
        return None
    first, last = lines[0], lines[-1]
    unit = last.unit if first.unit == SAME else first.unit
    return first._replace(unit=unit, meaning=last.meaning if first.meaning == SAME else first.meaning)


def lines_about(table: str, path: str) -> list[Field]:
    """Return the lines that say what a column is: one or, where that has `=`, those up to one without."""
    found = []
    for line in _fitting(table, path):
        found.append(line)
        if SAME not in (line.unit, line.meaning):
            break
    return found


def _fitting(table: str, path: str) -> Iterator[Field]:
    """Yield the lines that are about a column, the nearest first."""
    lines = _fields()
    place = f"{table}:{path}"
    if place in lines.scoped:
        yield lines.scoped[place]
    yield from (line for line in lines.globs if fnmatchcase(place, line.pattern))
    yield from (lines.shared[name] for name in _endings(path) if name in lines.shared)


def _endings(path: str) -> Iterator[str]:
    """Yield the endings of a path, the longest first: `a.b.c`, `b.c`, `c`."""
    while path:
        yield path
        path = path.partition(".")[2]


def all_fields() -> list[Field]:
    """Every line, in order."""
    lines = _fields()
    return [*lines.scoped.values(), *lines.globs, *lines.shared.values()]


@cache
def _fields() -> _Fields:
    lines = [Field(*line) for line in dictionary_rows("fields.tsv")]
    scoped = {line.pattern: line for line in lines if ":" in line.pattern and "*" not in line.pattern}
    shared = {line.pattern: line for line in lines if ":" not in line.pattern}
    return _Fields(scoped, tuple(line for line in lines if "*" in line.pattern), shared)


def dictionary_rows(name: str) -> list[list[str]]:
    """Return the lines of one of the dictionary's files, without its heading."""
    text = (files("metashell.tables") / "meanings" / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()[1:]]


# ---- words for codes


class Words(NamedTuple):
    """The words for codes; `unsaid` is the code that stands for no statement, such as -1 for "as it was"."""

    words: dict[int, str]
    unsaid: int | None = None


def _numbered(words: tuple[str, ...]) -> Words:
    return Words(dict(enumerate(words)))


_RESOURCES: Final = {"resource_type": Words(ACL_RESOURCE_TYPES), "pattern_type": Words(ACL_PATTERN_TYPES)}
_ACL: Final = {**_RESOURCES, "operation": Words(ACL_OPERATIONS), "permission_type": Words(ACL_PERMISSION_TYPES)}
_END_POINTS: Final = {"end_points.security_protocol": Words(SECURITY_PROTOCOLS)}
_SCRAM: Final = {"mechanism": Words(SCRAM_MECHANISMS)}
_DELIVERY: Final = {"state_batches.delivery_state": Words(DELIVERY_STATES)}
_SEGMENT: Final = {"remote_log_segment_state": _numbered(SEGMENT_STATES)}

CODES: Final[dict[str, dict[str, Words]]] = {
    "register_broker": _END_POINTS,
    "register_controller": _END_POINTS,
    "config": {"resource_type": Words(CONFIG_TYPES)},
    "access_control": _ACL,
    "access_control_entry": _ACL,
    "partition": {"leader_recovery_state": Words(RECOVERY_STATES)},
    "partition_change": {"leader_recovery_state": Words(RECOVERY_STATES, unsaid=-1)},
    "broker_registration_change": {"fenced": Words(FENCING_CHANGES), "in_controlled_shutdown": Words(SHUTDOWN_CHANGES)},
    "user_scram_credential": _SCRAM,
    "remove_user_scram_credential": _SCRAM,
    "zk_migration_state": {"zk_migration_state": Words(ZK_MIGRATION_STATES)},
    "consumer_group_current_member_assignment": {"state": Words(CONSUMER_STATES)},
    "share_group_current_member_assignment": {"state": Words(CONSUMER_STATES)},
    "streams_group_current_member_assignment": {"state": Words(STREAMS_STATES)},
    "transaction_log": {"transaction_status": _numbered(TRANSACTION_STATES)},
    "share_snapshot": _DELIVERY,
    "share_update": _DELIVERY,
    "remote_log_segment_metadata": _SEGMENT,
    "remote_log_segment_metadata_update": _SEGMENT,
    "remote_log_segment_metadata_snapshot": _SEGMENT,
    "remote_partition_delete_metadata": {"remote_partition_delete_state": _numbered(DELETE_STATES)},
}

PROTOCOL_TYPE: Final = "protocol_type"
"""The column that says whose blobs a record of a classic group holds."""
BLOBS: Final[dict[str, dict[str, str]]] = {
    "group_metadata": {"members.subscription": "subscription", "members.assignment": "assignment"},
    "consumer_group_member_metadata": {"classic_member_metadata.supported_protocols.metadata": "subscription"},
}
"""The columns that hold blobs of classic members, and the kind of each. Those of the newer groups' members are always of `consumer`."""

MAPS: Final = {
    "register_broker": ("end_points", "features"),
    "register_controller": ("end_points", "features"),
    "client_quota": ("entity",),
    "streams_group_metadata": ("last_assignment_configs",),
    "streams_group_member_metadata": ("client_tags",),
    "streams_group_topology": (
        "subtopologies.state_changelog_topics.topic_configs",
        "subtopologies.repartition_source_topics.topic_configs",
    ),
}
"""Lists of structs whose first field is the key of what follows."""
