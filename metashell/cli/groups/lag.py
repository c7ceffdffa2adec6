"""metashell groups offsets and lag: committed offsets, ends of logs, open transactions, rates and verdicts.

A live cluster is looked at once or twice, with requests that hold many groups and partitions each. On the disk, the ends and the open
transactions come from the logs of the partitions, times from their batches, and the rate of a group from its commits."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from metashell.cli.cluster.noun_tool import Work, run_command
from metashell.cli.groups import description as live
from metashell.cli.groups.logs import NamedTopics, found_groups, read_logs
from metashell.common.errors import MetashellError, UsageError
from metashell.common.values import duration_text, time_text
from metashell.disk.indexes import has_only_markers, heads_at
from metashell.groups.log import COMMIT_TYPES, Decoder, KeysOf, ids_meant
from metashell.groups.log.log_dir import end_offsets, stable_ends, topic_ids, transaction_states
from metashell.groups.log.queries import group_summaries, offset_rows
from metashell.groups.notes import Lag, Rates, judge, lag_of_group, pending_notes, rate_text, rates_between, worst_first
from metashell.groups.view import Holder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from metashell.common.options import CommandSpec
    from metashell.disk.indexes import BatchHead, StableEnd
    from metashell.groups.log.fold import RawRecord
    from metashell.groups.log.queries import FoundGroup, LoadedLogs
    from metashell.groups.view import OffsetRow

OFFSET_COLUMNS = (
    "topic",
    "partition",
    "offset",
    "log_end_offset",
    "lag",
    "readable_lag",
    "committed_at",
    "leader_epoch",
    "client",
    "member",
    "pending_producer",
    "metadata",
)
PARTITION_COLUMNS = (
    "topic",
    "partition",
    "offset",
    "lag",
    "readable_lag",
    "behind",
    "rate_in",
    "rate_out",
    "catch_up",
    "verdict",
    "client",
    "why",
)
GROUP_COLUMNS = ("group", "partitions", "lag", "readable_lag", "behind", "rate_in", "rate_out", "catch_up", "verdict", "why")
_NAMED_MAX = 5
_WINDOW_MS = 10 * 60 * 1000
"""How far back commits on the disk show the rate of a group."""
_ONE_LOOK_MS = 10_000
"""The pause between two looks at one group."""
_TIMED_MAX = 50
"""The most partitions of which the first record that is not committed is fetched for its time."""
Partition = tuple[str, int]
Ends = dict[Partition, tuple[str, "StableEnd"]]
Heads = dict[tuple[str, int, int], "BatchHead"]
"""By topic, partition and offset."""


def offsets(command: CommandSpec, words: Sequence[str]) -> int:
    return run_command(command, words, _list_offsets)


def lag(command: CommandSpec, words: Sequence[str]) -> int:
    return run_command(command, words, _show_lag)


# ---- rows with their ends and holders


def with_stable_ends(work: Work, rows: Sequence[OffsetRow]) -> tuple[list[OffsetRow], Ends, Heads]:
    """Return rows from the disk with their last stable offsets and what holds them, and the heads of the first batches that they lack.

    Only partitions with a lag are walked.
    """
    paths = work.values.paths
    walked = stable_ends(paths, {(row.topic, row.partition) for row in rows if (row.lag or 0) > 0})
    states = transaction_states(paths) if any(end.open for _, end in walked.values()) else {}
    by_producer = {state.producer_id: state for state in states.values()}
    heads = _heads_of(rows, walked)
    made = []
    for row in rows:
        found = walked.get((row.topic, row.partition))
        if found is None:
            made.append(row)
            continue
        folder, end = found
        head = heads.get((row.topic, row.partition, row.offset))
        is_read = head is not None and head.is_control and has_only_markers(folder, head, end.last_stable_offset)
        holder = None
        if end.open:
            first = end.open[0]
            state = by_producer.get(first.producer_id)
            holder = Holder(
                first.producer_id,
                first.producer_epoch,
                first.start_offset,
                first.since_ms,
                "" if state is None else state.transactional_id,
                "" if state is None else state.state,
            )
        made.append(replace(row, end_offset=end.end_offset, stable_offset=end.last_stable_offset, held_by=holder, has_only_markers=is_read))
    return made, walked, heads


def note_holders(work: Work, rows: Iterable[OffsetRow]) -> None:
    """Report the open transactions that hold partitions back, one line each."""
    for row in rows:
        if row.held_by is None or row.lag is None or row.lag == row.readable_lag:
            continue
        known = f" (its coordinator: {row.held_by.state})" if row.held_by.state else ""
        work.note_once(
            f"{row.held_by.text(row.topic, row.partition)}{known}: of {row.lag} records behind the commit, consumers with "
            f"isolation.level=read_committed can read {row.readable_lag}"
        )


def note_pending(work: Work, rows: Sequence[OffsetRow]) -> None:
    """Report the open transactions that hold commits back, one line for each producer and group."""
    held = [row for row in rows if row.pending_producer is not None]
    if not held:
        return
    ids = {state.producer_id: name for name, state in transaction_states(work.values.paths).items()}
    by_group: dict[str, list[OffsetRow]] = {}
    for row in held:
        by_group.setdefault(row.group_id, []).append(row)
    notes = [note.text for some in by_group.values() for note in pending_notes(some, ids)]
    for text in notes[:_NAMED_MAX]:
        work.note(text)
    if len(notes) > _NAMED_MAX:
        work.note(f"{len(notes) - _NAMED_MAX} more producers hold commits of groups back")


# ---- offsets


def _list_offsets(work: Work) -> None:
    rows = live.offset_rows(work) if live.asks_cluster(work) else _rows_of_logs(work)
    note_holders(work, rows)
    note_pending(work, rows)
    if work.values.lag and (missing := [row for row in rows if row.end_offset is None]):
        names = ", ".join(f"{row.topic}-{row.partition}" for row in missing[:_NAMED_MAX])
        more = f" and {len(missing) - _NAMED_MAX} more" if len(missing) > _NAMED_MAX else ""
        where = "lies in the directories that were named" if work.values.paths else "can be asked for its end"
        work.note(f"no log of {names}{more} {where}: their lag is not known")
    if past := [row for row in rows if (row.lag or 0) < 0]:
        names = ", ".join(f"{row.topic}-{row.partition}" for row in past[:_NAMED_MAX])
        more = f" and {len(past) - _NAMED_MAX} more" if len(past) > _NAMED_MAX else ""
        behind = ", or the copy at hand is behind" if work.values.paths else ""
        work.note(f"committed past the end of {names}{more}: records were lost or the topic was made again{behind}; consumers reset there")
    columns = tuple(
        column
        for column in OFFSET_COLUMNS
        if (work.values.lag or column not in ("log_end_offset", "lag", "readable_lag"))
        and (column != "readable_lag" or any(row.readable_lag is not None for row in rows))
        and (column != "pending_producer" or any(row.pending_producer is not None for row in rows))
        and (column != "committed_at" or any(row.commit_ms is not None for row in rows))
    )
    objects = [row.as_object() for row in rows]
    if work.form in ("text", "table"):
        for row in objects:
            commit_ms = row["committed_at"]
            row["committed_at"] = None if commit_ms is None else time_text(commit_ms)
    work.rows(objects, columns, none=f"{work.values.group} has committed nothing")


def _rows_of_logs(work: Work) -> list[OffsetRow]:
    found = found_groups(work, read_logs(work), work.values.group)
    if all(one.group.type == "share" for one in found):
        raise live.share_commits_nothing(work.values.group)
    topics = NamedTopics(work)
    if not work.values.lag:
        return [row for one in found for row in offset_rows(one, topics, {})]
    ends, ids = end_offsets(work.values.paths), topic_ids(work.values.paths)
    return with_stable_ends(work, [_of_this_topic(work, row, ids) for one in found for row in offset_rows(one, topics, ends)])[0]


def _of_this_topic(work: Work, row: OffsetRow, ids: Mapping[str, set[bytes]]) -> OffsetRow:
    """Return the row without its lag if the topic was recreated since the commit: brokers ignore such a commit."""
    known = ids.get(row.topic)
    if known is None or row.topic_id in known or not any(row.topic_id):
        return row
    work.note_once(f"{row.topic} was made again since: its commits of before do not count for brokers, and have no lag")

    return replace(row, is_of_old_topic=True)


# ---- lag


def _show_lag(work: Work) -> None:
    values = work.values
    if values.all:
        values.paths = [*([] if values.group is None else [values.group]), *values.paths]
        values.group = None
    elif values.group is None:
        raise UsageError("name a group, or --all", "group")
    is_live = live.asks_cluster(work)
    if not is_live and values.watch is not None:
        raise UsageError("option --watch: a log directory is looked at once; -b or -C asks a cluster", "--watch")
    if not is_live:
        _show(work, _lags_of_logs(work))
        return
    looker = _Looker(work)
    pause_ms = values.over if values.over is not None else 0 if values.all else _ONE_LOOK_MS
    if values.watch is None and pause_ms:
        looker.look()
        work.progress(f"looking again in {duration_text(pause_ms)}, for the rates")
        time.sleep(pause_ms / 1000)

    def show() -> bool:
        _show(work, looker.look())
        return True

    work.watch(values.watch, show)


def _show(work: Work, found: Sequence[Lag]) -> None:
    if work.values.all:
        by_group: dict[str, list[Lag]] = {}
        for one in found:
            by_group.setdefault(one.group_id, []).append(one)
        found = [lag_of_group(id, lags) for id, lags in by_group.items()]
    rows: list[Mapping[str, object]] = [one.as_object() for one in worst_first(found)]
    if work.form in ("text", "table"):
        rows = [_for_people(row) for row in rows]
    columns = GROUP_COLUMNS if work.values.all else PARTITION_COLUMNS
    work.rows(rows, columns, none="no group has committed anything" if work.values.all else f"{work.values.group} has committed nothing")


def _for_people(row: Mapping[str, object]) -> dict[str, object]:
    made = dict(row)
    for name, shown in (("behind", "behind_ms"), ("catch_up", "catch_up_ms")):
        ms = row[shown]
        made[name] = duration_text(ms) if isinstance(ms, int) else None
    for name in ("rate_in", "rate_out"):
        rate = row[name]
        made[name] = f"{rate_text(rate)}/s" if isinstance(rate, int | float) else None
    return made


# ---- a live cluster


class _Looker:
    """Looks at a live cluster, and compares each look with the one before."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._before: dict[tuple[str, str, int], OffsetRow] = {}
        self._looked_s = 0.0

    def look(self) -> list[Lag]:
        """Return the lags of now, with the rates since the look before. Errors: MetashellError."""
        work = self._work
        rows, has_members = live.lag_rows(work)
        at_s = time.monotonic()
        passed_ms = round(1000 * (at_s - self._looked_s)) if self._before else 0
        behind: dict[Partition, int] = {}
        if not work.values.all:
            rows, behind = live.with_first_batches(work, rows, _TIMED_MAX)
        found = [
            judge(
                row,
                rates=rates_between(self._before.get((row.group_id, row.topic, row.partition)), row, passed_ms),
                has_members=has_members.get(row.group_id),
                behind_ms=behind.get((row.topic, row.partition)),
            )
            for row in rows
        ]
        self._before = {(row.group_id, row.topic, row.partition): row for row in rows}
        self._looked_s = at_s
        return found


# ---- the disk


def _lags_of_logs(work: Work) -> list[Lag]:
    paths = work.values.paths
    if work.values.all:
        loaded = read_logs(work)
        found = [one for summary in group_summaries(loaded) for one in _found(loaded, summary.group_id) if one.group.type != "share"]
        commits: dict[Partition, list[tuple[int, int]]] = {}
    else:
        wants, keep = _commits_of(work.values.group)
        loaded = read_logs(work, wants)
        found = found_groups(work, loaded, work.values.group)
        if all(one.group.type == "share" for one in found):
            raise live.share_commits_nothing(work.values.group)
        commits = keep(loaded)
    topics, ends, ids = NamedTopics(work), end_offsets(paths), topic_ids(paths)
    members = {one.group.group_id: one.group.summary().members for one in found}
    all_rows = [row for one in found for row in offset_rows(one, topics, ends)]
    note_pending(work, all_rows)
    rows = [_of_this_topic(work, row, ids) for row in all_rows if row.pending_producer is None]
    rows, walked, heads = with_stable_ends(work, rows)
    newest_ms = max((row.commit_ms or -1 for row in rows), default=-1)
    made = []
    for row in rows:
        key = row.topic, row.partition
        end = walked[key][1] if key in walked else None
        now_ms = max(newest_ms, -1 if end is None else end.last_ms)
        behind_ms, rates = _seen_on_disk(row, heads.get((*key, row.offset)), end, commits.get(key, []), now_ms)
        count = members[row.group_id]
        made.append(judge(row, rates=rates, has_members=None if count is None else count > 0, behind_ms=behind_ms))
    return made


def _heads_of(rows: Iterable[OffsetRow], walked: Ends) -> Heads:
    """Return the heads of the first batches that are not committed, by topic, partition and offset."""
    wanted: dict[Partition, set[int]] = {}
    for row in rows:
        if (row.lag or 0) > 0:
            wanted.setdefault((row.topic, row.partition), set()).add(row.offset)
    found = {}
    for key, (folder, _) in walked.items():
        with suppress(OSError):
            found.update({(*key, offset): head for offset, head in heads_at(folder, wanted.get(key, ())).items()})
    return found


def _found(loaded: LoadedLogs, group_id: str) -> list[FoundGroup]:
    from metashell.groups.log.queries import find_group

    return find_group(loaded, group_id)


def _seen_on_disk(
    row: OffsetRow, first: BatchHead | None, end: StableEnd | None, commits: Sequence[tuple[int, int]], now_ms: int
) -> tuple[int | None, Rates]:
    """Return the age of the first record that is not committed, and the rates."""
    if end is None or first is None or not row.lag or row.lag < 0:
        return None, Rates()
    since_ms = first.base_ms
    passed_ms = now_ms - since_ms
    rate_in = None if passed_ms <= 0 else 1000 * row.lag / passed_ms
    recent = [(ms, offset) for ms, offset in commits if now_ms - ms <= _WINDOW_MS]
    rate_out, seen_ms = None, None
    if row.commit_ms is not None and now_ms - row.commit_ms >= _ONE_LOOK_MS:
        rate_out, seen_ms = 0.0, now_ms - row.commit_ms
    elif len(recent) > 1 and recent[-1][0] > recent[0][0] and recent[-1][1] >= recent[0][1]:
        seen_ms = recent[-1][0] - recent[0][0]
        rate_out = 1000 * (recent[-1][1] - recent[0][1]) / seen_ms
    return max(now_ms - since_ms, 0), Rates(rate_in=rate_in, rate_out=rate_out, seen_ms=seen_ms)


def _commits_of(group_id: str) -> tuple[Callable[[RawRecord], bool], Callable[[LoadedLogs], dict[Partition, list[tuple[int, int]]]]]:
    """Return the test for commits of a group, and the function that reads them: time and offset by partition, in order."""
    keys = [KeysOf(id) for id in ids_meant(group_id)]
    prefixes = tuple(type.to_bytes(2, "big") for type in COMMIT_TYPES)

    def wants(raw: RawRecord) -> bool:
        return raw.key is not None and raw.producer_id < 0 and raw.key.startswith(prefixes) and any(one.has(raw.key) for one in keys)

    def read(loaded: LoadedLogs) -> dict[Partition, list[tuple[int, int]]]:
        decoder = Decoder()
        found: dict[Partition, list[tuple[int, int]]] = {}
        for raw in (raw for log in loaded.logs for raw in log.fold.records):
            with suppress(MetashellError):
                record = decoder.record(raw.key, raw.value)
                if record.value is not None:
                    key = record.key.topic, record.key.partition
                    found.setdefault(key, []).append((raw.timestamp_ms, record.value.offset))
        return found

    return wants, read
