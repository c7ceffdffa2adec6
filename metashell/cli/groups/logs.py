"""metashell groups list, describe and expiring: groups from their logs, or from the live cluster (`description`)."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from metashell.cli.cluster.noun_tool import Work, run_command
from metashell.cli.connection import CLUSTER_OPTIONS
from metashell.cli.groups import description as live
from metashell.cli.groups.description import MEMBER_COLUMNS, description_lines, member_rows
from metashell.cli.images import load_image
from metashell.codec.coordinator import coordinator_partition
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.forms import counted
from metashell.common.options import did_you_mean
from metashell.common.runtime import PausedCollector
from metashell.common.values import duration_text, time_text
from metashell.disk.files import open_file
from metashell.disk.inputs import find_logs
from metashell.disk.names import METADATA
from metashell.disk.segment import BadBatch, Tail, read_batches
from metashell.groups.log import ids_meant, shown_id
from metashell.groups.log.log_dir import metadata_directories, topic_names, transaction_states
from metashell.groups.log.queries import (
    FAULTS_MAX,
    describe_found_group,
    expiring_offsets,
    find_group,
    group_summaries,
    load_logs,
    offset_rows,
)
from metashell.groups.log.timeline_events import read_server_log
from metashell.groups.notes import ServerLog, assignment_notes, pending_notes, rebalance_notes
from metashell.groups.topics import KnownTopics, Topic
from metashell.metadata.directory_facts import read_topic_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from metashell.common.options import CommandSpec
    from metashell.groups.decision import Finding
    from metashell.groups.log.fold import RawRecord
    from metashell.groups.log.queries import Expiring, FoundGroup, LoadedLogs
    from metashell.groups.notes import Note
    from metashell.groups.topics import Topic, Topics
    from metashell.groups.view import GroupDescription
    from metashell.metadata.image import TopicImage


LIST_COLUMNS = ("group", "group_type", "state", "protocol_type", "epoch", "members", "offsets", "pending", "partition")
EXPIRING_COLUMNS = ("expires_at", "left", "group", "topic", "partition", "offset", "group_type", "state", "committed_at")
_PATIENCE_S, _SHOWN_EVERY_S = 1.0, 0.2


def list_groups(command: CommandSpec, words: Sequence[str]) -> int:
    return run_command(command, words, _list_groups)


def describe(command: CommandSpec, words: Sequence[str]) -> int:
    return run_command(command, words, _describe_group)


def expiring(command: CommandSpec, words: Sequence[str]) -> int:
    return perform_on_logs(command, words, _list_expiring)


def perform_on_logs(command: CommandSpec, words: Sequence[str], act: Callable[[Work], None]) -> int:
    """Run a command that only reads logs. Errors: UsageError, also if the command line names a live cluster."""
    try:
        return run_command(command, words, act)
    except UsageError as error:
        asked = {name for option in CLUSTER_OPTIONS for name in option.names}
        if str(error.argument) in asked and str(error).startswith("unknown option"):
            raise UsageError(f"{error}: {command.name} reads logs only, name a log directory", error.argument) from None
        raise


# ---- the logs


class Meanwhile:
    """Progress on a terminal for a command that takes longer than a second."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._now = monotonic
        self._next_s = monotonic() + _PATIENCE_S

    def read(self, done: int, size: int) -> None:
        """Report how many bytes of the total were read."""
        if self._now() >= self._next_s:
            self._show(f"read {done / 1e6:,.0f} of {size / 1e6:,.0f} MB")

    def looked(self, count: int) -> None:
        """Report how many groups were examined."""
        if self._now() >= self._next_s:
            self._show(f"{count:,} groups looked at")

    def _show(self, text: str) -> None:
        self._work.progress(text)
        self._next_s = self._now() + _SHOWN_EVERY_S


def read_logs(
    work: Work, wants: Callable[[RawRecord], bool] | None = None, mark: bytes | None = None, *, has_past: bool = False
) -> LoadedLogs:
    """Read the named logs and report what is wrong in them, which sets the exit status to 1.

    With `has_past` it also reads records that only older copies have. Errors: UsageError.
    """
    if getattr(work.values, "group", None) is not None:
        work.values.group = shown_id(work.values.group)
    loaded = load_logs(
        work.values.paths,
        wants=wants,
        mark=mark,
        max_decompressed=work.values.max_decompressed,
        has_past=has_past,
        progress=Meanwhile(work).read,
    )
    for note in loaded.notes:
        work.note(note)
    if work.values.verbose:
        for line in _read_lines(loaded):
            work.note(line)
    for fault in loaded.faults:
        if not fault.is_tail:
            work.fail(str(fault))
        elif work.values.verbose or not fault.is_zero:
            # Zeros are room that was set aside. A batch that is cut off was there, and the answer may lack what was in it.
            lost = "" if fault.is_zero else ", but what it held is not in this answer"
            work.note(f"{fault}: the normal end of a log's last segment{lost}")
    if loaded.fault_count > FAULTS_MAX:
        work.note(f"{loaded.fault_count - FAULTS_MAX} more such places")
    unknown = Counter[int]()
    for log in loaded.logs:
        unknown.update(log.fold.unknown_types)
    if unknown:
        types = ", ".join(f"{counted(count, 'record')} of type {type}" for type, count in sorted(unknown.items()))
        work.note(f"types that are not known were skipped, as a broker skips them: {types}")
    _tell_findings(work, loaded, getattr(work.values, "group", None))
    return loaded


def _read_lines(loaded: LoadedLogs) -> Iterator[str]:
    """Yield one line per copy of each log that was read."""
    for log in loaded.logs:
        for copy in log.log.copies:
            place = copy[0].path if copy[0].path == "-" else os.path.dirname(copy[0].path)
            older = ", an older copy" if copy is not log.log.copies[0] else ""
            yield f"{place}: {counted(len(copy), 'segment')} of {log.log.name}{older}"


def _tell_findings(work: Work, loaded: LoadedLogs, group_id: str | None) -> None:
    """Report the findings: one line per kind and log, or with --verbose one line each. For a named group, report only its own."""
    for log in loaded.logs:
        by_kind: dict[str, list[Finding]] = {}
        for finding in log.fold.state.findings:
            if group_id is None or (finding.group_id is not None and finding.group_id in ids_meant(group_id)):
                by_kind.setdefault(finding.kind, []).append(finding)
        for kind, findings in sorted(by_kind.items()):
            count = log.fold.state.finding_counts[kind] if group_id is None else len(findings)
            shown = findings if work.values.verbose else findings[:1]
            for number, finding in enumerate(shown, start=1):
                left = count - number if number == len(shown) else 0
                more = f", and {left} more" if left else ""
                place = f"{log.log.file_of(finding.place.offset)}: offset {finding.place.offset}"
                whose = "" if finding.group_id is None else f"group {finding.group_id}: "
                work.fail(f"{place}: {kind}: {whose}{finding.text}{more}")


def found_groups(work: Work, loaded: LoadedLogs, group_id: str) -> list[FoundGroup]:
    """Return the group from each log that has it. Errors: MetashellError if none has; the message names similar ids."""
    found = next((found for id in ids_meant(group_id) if (found := find_group(loaded, id))), [])
    if not found:
        raise MetashellError(no_such_group(loaded, group_id))
    if len(found) > 1:
        places = ", ".join(one.log.log.name for one in found)
        work.note(f"{group_id} is in several logs ({places}): the number of partitions of __consumer_offsets was changed, or a copy is old")
    return found


def server_log(work: Work, group_id: str) -> ServerLog | None:
    """Return what the server logs of the command line say of a group, None if it names none. Errors: UsageError."""
    found = None
    for path in work.values.server_log or ():
        try:
            with open(path, encoding="utf-8", errors="replace") as lines:
                found = read_server_log(os.path.basename(path), lines, group_id, found)
        except OSError as error:
            raise PathError.of(path, error) from error
        if not found.has_lines:
            work.note(f"{path}: no line about group {group_id} that says why it rebalanced")
    return found


def no_such_group(loaded: LoadedLogs, group_id: str) -> str:
    """Return the message for a group that no log has, with similar ids."""
    known = [summary.group_id for summary in group_summaries(loaded)]
    partitions = [log.log.partition for log in loaded.logs]
    expected = ""
    # Partitions numbered from 0 without a gap are taken for the whole topic.
    is_whole = len(partitions) > 1 and partitions == list(range(len(partitions)))
    if None not in partitions and not is_whole and len(partitions) < 50:
        number = coordinator_partition(group_id, 50)
        expected = "" if number in partitions else f"; if the topic has 50 partitions, it is in __consumer_offsets-{number}"
    near = did_you_mean(group_id, known) if len(known) < 100_000 else ""
    return f"{group_id}: no such group in the {counted(len(loaded.logs), 'log')} named{near}{expected}"


# ---- list


def _list_groups(work: Work) -> None:
    if live.asks_cluster(work):
        return live.list_live_groups(work)

    wanted = work.values
    loaded = read_logs(work)
    with PausedCollector():
        rows = (
            summary.as_object()
            for summary in group_summaries(loaded)
            if wanted.group_type in (None, summary.kind) and (wanted.state is None or wanted.state.lower() == summary.state.lower())
        )
        work.rows(rows, LIST_COLUMNS, none=live.none_text(work))


# ---- describe


def _describe_group(work: Work) -> None:
    log = server_log(work, work.values.group)
    if live.asks_cluster(work):
        watched = live.WatchedState()

        def show() -> bool:
            show_description(work, live.describe_live_group(work, watched, log))
            return True

        return work.watch(work.values.watch, show)
    if work.values.watch is not None:
        raise UsageError("option --watch: a log directory is looked at once; -b or -C asks a cluster", "--watch")

    topics = NamedTopics(work)
    for found in found_groups(work, read_logs(work), work.values.group):
        description = describe_found_group(found, topics)
        # What the records show comes before what they may not show yet.
        notes = (
            *_pending_notes(work, found, topics),
            *assignment_notes(description, topics.whole()),
            *rebalance_notes(description, is_live=False, log=log),
        )
        description = replace(description, notes=tuple(note.as_object() for note in notes))
        show_description(work, description)
        if description.summary.findings:
            work.fail()


def _pending_notes(work: Work, found: FoundGroup, topics: Topics) -> list[Note]:
    rows = [row for row in offset_rows(found, topics, {}) if row.pending_producer is not None]
    states = transaction_states(work.values.paths) if rows else {}
    return pending_notes(rows, {state.producer_id: name for name, state in states.items()})


def show_description(work: Work, description: GroupDescription) -> None:
    """Show a group: as one object in text or JSON, as one row per member in a table or CSV."""
    if work.form in ("table", "csv"):
        work.rows(member_rows(description), MEMBER_COLUMNS)
    else:
        work.one(description.as_object(), description_lines(description))


# ---- expiring


def _list_expiring(work: Work) -> None:
    values = work.values
    now_ms = round(time.time() * 1000) if values.at is None else values.at
    loaded = read_logs(work)
    people = work.form in ("text", "table")
    with PausedCollector():
        found = expiring_offsets(loaded, now_ms + values.within, values.retention, Meanwhile(work).looked)
        work.rows([_expiring_object(one, now_ms, for_people=people) for one in found], EXPIRING_COLUMNS, none="no offset expires by then")


def _expiring_object(one: Expiring, now_ms: int, *, for_people: bool) -> dict[str, object]:
    left = one.expires_ms - now_ms
    commit_ms = one.row.commit_ms or 0
    return {
        "type": "expiring_offset",
        "group": one.group_id,
        "group_type": one.kind,
        "state": one.state,
        "topic": one.row.topic,
        "partition": one.row.partition,
        "offset": one.row.offset,
        "committed_at": time_text(commit_ms) if for_people else commit_ms,
        "expires_at": time_text(one.expires_ms) if for_people else one.expires_ms,
        "left": (duration_text(left) if left > 0 else "overdue") if for_people else left,
    }


class NamedTopics:
    """Topics that the log directories beside the logs of groups know. They are read when a name is first needed.

    The directory of a partition gives its topic's name and id. Topics without a directory come from the metadata. Metadata that the
    command line names replaces the directories.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._beside: Topics | None = None
        self._metadata: Topics | None = None
        self._deleted: Topics | None = None

    @property
    def version(self) -> int:
        return 0

    def named(self, name: str) -> Topic | None:
        return next((found for topics in self._views() if (found := topics.named(name)) is not None), None)

    def with_id(self, id: bytes) -> Topic | None:
        found = next((found for topics in self._views() if (found := topics.with_id(id)) is not None), None)
        if found is None:
            if self._deleted is None:
                self._deleted = self._read_deleted()
            found = self._deleted.with_id(id)
        return found

    def whole(self) -> Topics:
        """Return the topics with their partitions, which only metadata has."""
        if self._metadata is None:
            self._metadata = self._read_metadata()
        return self._metadata

    def names(self) -> Iterator[str]:
        yield from dict.fromkeys(name for topics in self._views() for name in topics.names())

    def _views(self) -> Iterator[Topics]:
        if self._work.values.metadata is None:
            if self._beside is None:
                self._beside = self._read_beside()
            yield self._beside
        if self._metadata is None:
            self._metadata = self._read_metadata()
        yield self._metadata

    def _read_beside(self) -> Topics:
        return KnownTopics(Topic(id, name, ()) for id, name in topic_names(self._work.values.paths).items())

    def _read_metadata(self) -> Topics:
        """Return the topics of the first readable metadata.

        Errors: MetashellError if the command line names metadata that cannot be read.
        """
        values = self._work.values
        if values.metadata is not None:
            return self._of(values.metadata)
        for path in metadata_directories(values.paths):
            try:
                return self._of(path)
            except MetashellError as error:
                self._work.note_once(f"names of topics are not taken from there: {error}")
        return KnownTopics()

    def _read_deleted(self) -> Topics:
        """Return all topics that the metadata log at hand ever had. Damage in it is reported where the metadata is loaded."""
        values = self._work.values
        named = values.metadata
        folders = [named if os.path.isdir(named) else os.path.dirname(named)] if named is not None else metadata_directories(values.paths)
        names: dict[bytes, str] = {}
        for folder in folders:
            for log in find_logs(folder, every_checkpoint=True):
                for file in log.files if log.kind == METADATA else ():
                    with open_file(file.path) as opened:
                        batches = (item for item in read_batches(opened) if not isinstance(item, BadBatch | Tail))
                        names |= read_topic_names(batches, values.max_decompressed)
        return KnownTopics(Topic(id, name, ()) for id, name in names.items())

    def _of(self, path: str) -> Topics:
        image = load_image(path, certain_only=False, max_decompressed=self._work.values.max_decompressed).image
        racks = {id: broker.rack for id, broker in image.cluster.brokers.items() if broker.rack}
        return KnownTopics(
            # Only where brokers have racks do the replicas matter, and reading them all takes time.
            Topic(topic.id, topic.name, _racks_of(topic, racks) if racks else ((),) * topic.partition_count)
            for topic in image.topics
        )


def _racks_of(topic: TopicImage, racks: Mapping[int, str]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(sorted({racks[replica] for replica in partition.replicas if replica in racks}))
        for _, partition in sorted(topic.partitions.items())
    )
