"""The report of `info` on a node's log directories, and the output of the storage commands.

Each output has three writers: for Kafka's text, for ours, and for JSON.
Source: kafka.tools.StorageTool.infoCommand of 4.3.1."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.codec.registry import message_type
from metashell.codec.releases import METADATA_VERSION, metadata_version_name
from metashell.common.forms import aligned
from metashell.common.values import uuid_text
from metashell.disk.file_system import ASIDE_SUFFIX
from metashell.disk.format import FIRST_CHECKPOINT, has_log
from metashell.disk.names import BOOTSTRAP_CHECKPOINT, META_PROPERTIES
from metashell.disk.properties import PREPARED, MetaProperties, read_meta

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from metashell.disk.bootstrap import Dependencies
    from metashell.disk.format import FormatPlan, PlannedDirectory


_PROBLEMS = {
    "missing": "{path} does not exist",
    "not_a_directory": "{path} is not a directory",
    "not_formatted": "{path} is not formatted.",
    "unreadable": f"Error loading {{path}}/{META_PROPERTIES}: {{reason}}",
}
_LEFTOVERS = (PREPARED, *(name + suffix for name in (BOOTSTRAP_CHECKPOINT, FIRST_CHECKPOINT) for suffix in (ASIDE_SUFFIX, "")))


class DirectoryInfo(NamedTuple):
    """One directory: `state` is formatted, not_formatted, missing, not_a_directory or unreadable.

    Our output adds the `explanation`: the leftovers of an interrupted format, or the reason why a file cannot be read.
    """

    path: str
    state: str
    meta: MetaProperties | None = None
    explanation: str = ""


class StorageInfo(NamedTuple):
    """The report; `problems` are Kafka's sentences, in the order in which Kafka finds them."""

    directories: tuple[DirectoryInfo, ...]
    problems: tuple[str, ...]

    @property
    def found(self) -> tuple[str, ...]:
        return tuple(d.path for d in self.directories if d.state not in ("missing", "not_a_directory"))

    @property
    def meta(self) -> MetaProperties | None:
        """The first readable meta.properties."""
        return next((d.meta for d in self.directories if d.meta is not None), None)

    @property
    def explanations(self) -> tuple[str, ...]:
        return tuple(f"{d.path}: {d.explanation}" for d in self.directories if d.explanation)


def read_info(directories: Iterable[str]) -> StorageInfo:
    """The report on directories, which are examined in the order of their names."""
    found = [_look_at(_java_path(path)) for path in sorted(directories)]
    problems: list[str] = []
    first: MetaProperties | None = None
    for directory in found:
        problems += _problems_of(directory, first)
        first = first or directory.meta
    if first is not None and first.version == 0:
        problems.append(
            "The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are formatted for legacy mode."
        )
    return StorageInfo(directories=tuple(found), problems=tuple(problems))


def _look_at(path: str) -> DirectoryInfo:
    if not os.path.isdir(path):
        state = "not_a_directory" if os.path.exists(path) else "missing"
        dangling = "" if os.path.exists(path) or not os.path.islink(path) else "a symbolic link to nothing"
        return DirectoryInfo(path=path, state=state, explanation=dangling)
    match read_meta(path):
        case None:
            return DirectoryInfo(path=path, state="not_formatted", explanation=_leftovers(path))
        case str(reason):
            return DirectoryInfo(path=path, state="unreadable", explanation=reason)
        case meta:
            return DirectoryInfo(path=path, state="formatted", meta=meta)


def _leftovers(path: str) -> str:
    left = [name for name in _LEFTOVERS if os.path.exists(os.path.join(path, name))]
    if not left or (left == [FIRST_CHECKPOINT] and has_log(path)):
        return ""
    return f"an interrupted format left {', '.join(left)}; format again to finish it"


def _problems_of(directory: DirectoryInfo, first: MetaProperties | None) -> list[str]:
    if directory.meta is None:
        return [_PROBLEMS[directory.state].format(path=directory.path, reason=directory.explanation)]
    if first is None:
        return []
    if first.cluster_id != directory.meta.cluster_id:
        return ["Mismatched cluster IDs between storage directories."]
    if first.node_id != directory.meta.node_id:
        return ["Mismatched node IDs between storage directories."]
    return []


def _java_path(path: str) -> str:
    """The path as java.nio.file.Path prints it: no doubled and no trailing slashes."""
    while "//" in path:
        path = path.replace("//", "/")
    return path.rstrip("/") if path != posixpath.sep else path


# --- format -------------------------------------------------------------------------------------------------------------


def kafka_bootstrap_line(plan: FormatPlan) -> str:
    """The records of a plan as Kafka prints them, in Java's form and with salts and keys."""
    records = ", ".join(f"ApiMessageAndVersion({java_record(body)} at version 0)" for body in plan.records)
    return (
        f"Bootstrap metadata: BootstrapMetadata(records=[{records}], metadataVersionLevel={plan.metadata_version}, source=format command)"
    )


def java_record(body: Any) -> str:
    """A record as Java's toString shows it: bytes as signed numbers."""
    fields = []
    for name in body.__slots__:
        if name == "unknown_tags":
            continue
        head, *rest = name.split("_")
        fields.append(f"{head}{''.join(map(str.capitalize, rest))}={_java_value(getattr(body, name))}")
    return f"{type(body).__name__}({', '.join(fields)})"


def _java_value(value: object) -> str:
    if isinstance(value, bytes):
        return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"
    return f"'{value}'" if isinstance(value, str) else str(value)


def kafka_directory_line(plan: FormatPlan, directory: PlannedDirectory) -> str:
    return f"Formatting {directory.kind} {directory.path} with {METADATA_VERSION} {plan.release}."


def kafka_unreadable_line(path: str) -> str:
    return f"I/O error trying to read log directory {path}. Ignoring..."


ALL_FORMATTED = "All of the log directories are already formatted."


def plan_lines(plan: FormatPlan) -> Iterator[str]:
    """Our text of a plan, before or after it is written."""
    if not plan.directories:
        yield ALL_FORMATTED
        return
    rows = [("cluster id", plan.cluster_id), ("node id", str(plan.node_id)), ("layout", plan.layout)]
    rows.append((METADATA_VERSION, f"{plan.metadata_version} ({plan.release})"))
    rows += [(name, str(level)) for name, level in plan.levels.items() if name != METADATA_VERSION]
    rows += [("voter", voter.text) for voter in plan.voters]
    rows += [
        ("user", f"{body.name} ({_MECHANISMS[body.mechanism]}, {body.iterations} iterations)")
        for body in plan.records
        if type(body).__name__ == "UserScramCredentialRecord"
    ]
    yield from aligned(rows)


_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


def directory_rows(plan: FormatPlan, done: str) -> Iterator[str]:
    """A line for each directory; `done` is the word for those that were, or would be, formatted."""
    rows = [(path, "formatted before", "") for path in plan.formatted]
    rows += [(path, "unreadable", reason) for path, reason in plan.unreadable.items()]
    rows += [(d.path, done, f"{d.kind}, {uuid_text(d.directory_id)}") for d in plan.directories]
    yield from aligned(sorted(rows))


def plan_json(plan: FormatPlan, *, dry_run: bool, show_secrets: bool) -> dict[str, Any]:
    """A plan as one JSON object."""
    state = "would_be_formatted" if dry_run else "formatted_now"
    directories: list[dict[str, Any]] = [{"path": path, "state": "formatted"} for path in plan.formatted]
    directories += [{"path": path, "state": "unreadable", "reason": reason} for path, reason in plan.unreadable.items()]
    directories += [
        {
            "path": d.path,
            "state": state,
            "kind": d.kind,
            "directory_id": uuid_text(d.directory_id),
            "files": [{"name": f.name, "size": len(f.data), "read_only": not f.mode & 0o200} for f in d.files],
        }
        for d in plan.directories
    ]
    return {
        "type": "format",
        "dry_run": dry_run,
        "cluster_id": plan.cluster_id,
        "node_id": plan.node_id,
        "layout": plan.layout,
        "metadata_version": {"level": plan.metadata_version, "name": plan.release},
        "features": {name: level for name, level in plan.levels.items() if name != METADATA_VERSION},
        "voters": [{"id": v.node_id, "host": v.host, "port": v.port, "directory_id": uuid_text(v.directory_id)} for v in plan.voters],
        "records": [_record_json(body, show_secrets=show_secrets) for body in plan.records],
        "metadata_log_directory": plan.metadata_log_directory,
        "finishes_interrupted": plan.finishes,
        "directories": sorted(directories, key=lambda d: str(d["path"])),
    }


def _record_json(body: Any, *, show_secrets: bool) -> dict[str, Any]:
    from metashell.codec.redaction import redact

    name = type(body).__name__
    value = message_type("metadata", name).to_json_value(body, 0)
    return {"type": name, "version": 0, "data": value if show_secrets else redact(name, value)}


# --- info ---------------------------------------------------------------------------------------------------------------


def kafka_info_lines(info: StorageInfo) -> Iterator[str]:
    """Kafka's text of a report."""
    if info.found:
        yield "Found log directory:" if len(info.found) == 1 else "Found log directories:"
        yield from (f"  {path}" for path in info.found)
        yield ""
    if info.meta is not None:
        values = info.meta.as_properties()
        yield "Found metadata: {" + ", ".join(f"{key}={values[key]}" for key in sorted(values)) + "}"
        yield ""
    if info.problems:
        yield "Found problem:" if len(info.problems) == 1 else "Found problems:"
        yield from (f"  {problem}" for problem in info.problems)
        yield ""


def info_lines(info: StorageInfo, warnings: Iterable[str]) -> Iterator[str]:
    """Our text of a report."""
    facts = [directory.explanation if directory.meta is None else _facts(directory.meta) for directory in info.directories]
    yield from aligned([(d.path, _state(d).replace("_", " "), fact) for d, fact in zip(info.directories, facts, strict=True)])
    yield from (f"warning: {warning}" for warning in warnings)


def _state(directory: DirectoryInfo) -> str:
    """The state in our words: for Kafka's tool, a directory with an empty meta.properties is formatted; for its server, it is not."""
    meta = directory.meta
    return "unreadable" if meta is not None and None in (meta.cluster_id, meta.node_id) else directory.state


def _facts(meta: MetaProperties) -> str:
    return ", ".join(f"{key}={value}" for key, value in meta.as_properties().items())


def info_json(info: StorageInfo, warnings: Sequence[str]) -> dict[str, Any]:
    """A report as one JSON object."""
    directories = []
    for directory in info.directories:
        row: dict[str, Any] = {"path": directory.path, "state": _state(directory)}
        if directory.meta is not None:
            meta = directory.meta
            row |= {"version": meta.version, "cluster_id": meta.cluster_id, "node_id": meta.node_id}
            row["directory_id"] = None if meta.directory_id is None else uuid_text(meta.directory_id)
        if directory.explanation:
            row["explanation"] = directory.explanation
        directories.append(row)
    return {"type": "info", "directories": directories, "warnings": list(warnings)}


# --- features -----------------------------------------------------------------------------------------------------------


def kafka_mapping_lines(level: int, typed: str | None, levels: dict[str, int]) -> Iterator[str]:
    """Kafka's text of a release's levels; `typed` is the release as the user typed it."""
    yield f"{METADATA_VERSION}={level} ({typed or metadata_version_name(level)})"
    yield from (f"{name}={value}" for name, value in levels.items())


def mapping_lines(level: int, levels: dict[str, int]) -> Iterator[str]:
    """Our text of a release's levels."""
    rows = [(METADATA_VERSION, f"{level} ({metadata_version_name(level)})"), *((name, str(value)) for name, value in levels.items())]
    yield from aligned(rows)


def mapping_json(level: int, levels: dict[str, int]) -> dict[str, Any]:
    version = {"level": level, "name": metadata_version_name(level)}
    return {"type": "version_mapping", "metadata_version": version, "features": levels}


def dependency_lines(found: Dependencies) -> Iterator[str]:
    """Kafka's text, and ours, of the dependencies of a level."""
    head = f"{found.feature}={found.level}"
    if found.feature == METADATA_VERSION:
        head += f" ({metadata_version_name(found.level)})"
    if not found.needs:
        yield f"{head} has no dependencies."
        return
    yield f"{head} requires:"
    for name, level in found.needs.items():
        note = f" ({metadata_version_name(level)})" if name == METADATA_VERSION else ""
        yield f"    {name}={level}{note}"


def dependencies_json(found: Sequence[Dependencies]) -> dict[str, Any]:
    rows = [{"feature": row.feature, "level": row.level, "needs": row.needs} for row in found]
    return {"type": "feature_dependencies", "dependencies": rows}
