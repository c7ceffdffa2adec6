"""metashell groups why, history, downgrade-check and streams-upgrade: the history of a group, from the records of its log."""

from __future__ import annotations

import os
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING

from metashell.cli.cluster.noun_tool import Work
from metashell.cli.groups.logs import NamedTopics, no_such_group, perform_on_logs, read_logs, server_log
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import aligned, counted
from metashell.common.terminal import terminal_line
from metashell.common.values import duration_text, time_text
from metashell.groups.log import Decoder, KeysOf, ids_meant, shown_id
from metashell.groups.log.downgrade_checks import Census, downgrade_checks, release_of, streams_checks
from metashell.groups.log.series import add_reasons, find_series
from metashell.groups.log.timeline import build_timeline
from metashell.groups.log.timeline_events import delay_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metashell.common.options import CommandSpec
    from metashell.groups.log.downgrade_checks import DowngradeCheck
    from metashell.groups.log.series import Series
    from metashell.groups.log.timeline_events import Rebalance, Timeline, TimelineEvent

WHY_COLUMNS = (
    "time",
    "offset",
    "epoch",
    "took_ms",
    "superseded_by",
    "members",
    "partitions",
    "moved",
    "causes",
    "delays",
)
HISTORY_COLUMNS = ("time", "offset", "epoch", "event", "text")
CHECK_COLUMNS = ("group", "group_type", "check", "result", "text")


def why(command: CommandSpec, words: Sequence[str]) -> int:
    return perform_on_logs(command, words, _why)


def history(command: CommandSpec, words: Sequence[str]) -> int:
    return perform_on_logs(command, words, _history)


def downgrade_check(command: CommandSpec, words: Sequence[str]) -> int:
    return perform_on_logs(command, words, _downgrade_check)


def streams_upgrade(command: CommandSpec, words: Sequence[str]) -> int:
    return perform_on_logs(command, words, _streams_upgrade)


def _with_server_log(work: Work, timeline: Timeline) -> tuple[Timeline, list[Series]]:
    """Return the timeline with what repeats in it, and with the reasons that the server logs of the command line have."""
    log = server_log(work, timeline.group_id)
    if log is not None:
        add_reasons(timeline, log)
    return timeline, find_series(timeline, log)


def _read_timelines(work: Work) -> list[tuple[Timeline, list[Series]]]:
    """Return the timeline of the group from each log that has records of it. Errors: MetashellError if none has."""
    group_id = shown_id(work.values.group)
    ids = ids_meant(group_id)
    keys = [KeysOf(id) for id in ids]
    mark = keys[0].mark if len(keys) == 1 else None
    loaded = read_logs(work, lambda raw: raw.key is not None and any(one.has(raw.key) for one in keys), mark, has_past=True)
    topics, decoder = NamedTopics(work), Decoder()
    for id, of_group in zip(ids, keys, strict=True):
        by_log = [[raw for raw in log.fold.records if raw.key is not None and of_group.has(raw.key)] for log in loaded.logs]
        if any(by_log):
            return [_with_server_log(work, build_timeline(id, records, topics, decoder)) for records in by_log if records]
    raise MetashellError(no_such_group(loaded, group_id))


# ---- why


def _why(work: Work) -> None:
    last: int | None = work.values.last
    if last == 0:
        raise UsageError("option --last: '0' is not a number of rebalances from 1 on", "--last")
    for story, series in _read_timelines(work):
        rebalances = story.rebalances if last is None else story.rebalances[-last:]
        if work.form == "text":
            for line in why_lines(story, rebalances, series):
                work.display.line(line)
        elif work.form in ("table", "csv"):
            work.rows([*(_series_row(one) for one in series), *(_rebalance_row(rebalance, story) for rebalance in rebalances)], WHY_COLUMNS)
        else:
            work.rows([*(one.as_object(story.group_id) for one in series), *(one.as_object(story.group_id) for one in rebalances)])


def why_lines(story: Timeline, rebalances: Sequence[Rebalance], series: Sequence[Series]) -> Iterator[str]:
    """Yield what repeats, then the rebalances, one line each, with their known causes and effects."""
    if not story.rebalances:
        yield terminal_line(f"{story.group_id}: no rebalance that the log still has")
    else:
        first = story.rebalances[0]
        count = counted(len(story.rebalances), "rebalance")
        shown = "" if len(rebalances) == len(story.rebalances) else f"the last {len(rebalances)} of "
        yield terminal_line(f"{story.group_id}: {shown}{count} since {time_text(first.began.ms)}")
    yield from series_lines(series)
    if rebalances:
        yield ""
        yield from aligned([_rebalance_cells(rebalance, story) for rebalance in rebalances], right=[1])


def series_lines(series: Sequence[Series]) -> Iterator[str]:
    """Yield what repeats: the text, what it rests on, and what the log cannot show."""
    for one in series:
        yield ""
        yield terminal_line(one.text)
        for text in one.rests_on:
            yield terminal_line(f"    rests on {text}")
        if one.cannot_show:
            yield terminal_line(f"    the log cannot show {one.cannot_show}")


def _rebalance_cells(rebalance: Rebalance, story: Timeline) -> list[str]:
    name = "generation" if rebalance.kind == "classic" else "epoch"
    size = f"{counted(rebalance.members, 'member')}, {counted(rebalance.assigned, 'partition')}, {rebalance.moved} moved"
    texts = "; ".join(_rebalance_texts(rebalance, story))
    return [time_text(rebalance.began.ms), str(rebalance.began.offset), f"{rebalance.kind} {name} {rebalance.epoch}", size, texts]


def _took_text(rebalance: Rebalance) -> str:
    if rebalance.kind == "classic":
        return "" if rebalance.sync_ms is None else f"{duration_text(rebalance.sync_ms)} from the last join to the assignments"
    if rebalance.took_ms is not None:
        return f"settled in {duration_text(rebalance.took_ms)}"
    if rebalance.superseded_by is not None:
        return f"not settled before epoch {rebalance.superseded_by}"
    return "not settled yet"


def _rebalance_texts(rebalance: Rebalance, story: Timeline) -> Iterator[str]:
    yield "because " + ", ".join(cause.text for cause in rebalance.causes)
    if took := _took_text(rebalance):
        yield took
    if rebalance.missing:
        lost = "never finished, or compacted away" if rebalance.has_gap else "never finished"
        yield f"{counted(rebalance.missing, 'epoch')} before it left no record: {lost}"
    if rebalance.has_gap:
        yield "the log has lost records around it: causes, counts and times may be incomplete"
    now_ms = rebalance.began.ms if story.ended is None else story.ended.ms
    for delay in rebalance.delays:
        yield delay_text(delay, story, now_ms)
    if len(rebalance.arrived) > 1:
        member, moment = rebalance.arrived[-1]
        yield f"last was {story.label(member)}, {duration_text(moment.ms - rebalance.began.ms)} after it began"


def _series_row(series: Series) -> dict[str, object]:
    first = series.moments[0]
    return {"type": "series", "time": time_text(first.ms), "offset": first.offset, "causes": series.text}


def _rebalance_row(rebalance: Rebalance, story: Timeline) -> dict[str, object]:
    return {
        "type": "rebalance",
        "time": time_text(rebalance.began.ms),
        "offset": rebalance.began.offset,
        "epoch": rebalance.epoch,
        "took_ms": rebalance.took_ms,
        "superseded_by": rebalance.superseded_by,
        "members": rebalance.members,
        "partitions": rebalance.assigned,
        "moved": rebalance.moved,
        "causes": "; ".join(cause.text for cause in rebalance.causes),
        "delays": "; ".join(f"{delay.member_id}" for delay in rebalance.delays),
    }


# ---- history


def _history(work: Work) -> None:
    values = work.values
    stories = _read_timelines(work)
    series = [(story.group_id, one) for story, found in stories for one in found]
    events = [
        (story.group_id, event)
        for story, _ in stories
        for event in story.events
        if (values.since is None or event.moment.ms >= values.since)
        and (values.until is None or event.moment.ms < values.until)
        and (values.commits or event.kind != "commits")
    ]
    if work.form == "text":
        led = list(series_lines([one for _, one in series]))
        for line in (*led[1:], *([""] if led else []), *history_lines([event for _, event in events])):
            work.display.line(line)
        if not events:
            work.note("nothing that the log still has")
    elif work.form == "table":
        rows = [{**_series_row(one), "event": one.kind, "text": one.text} for _, one in series]
        work.rows([*rows, *(_event_row(event) for _, event in events)], HISTORY_COLUMNS)
    else:
        work.rows([*(one.as_object(group_id) for group_id, one in series), *(one.as_object(group_id) for group_id, one in events)])


def history_lines(events: Sequence[TimelineEvent]) -> Iterator[str]:
    """Yield events as text, one per line."""
    rows = [[time_text(event.moment.ms), str(event.moment.offset), event.kind, event.text] for event in events]
    yield from aligned(rows, right=[1])


def _event_row(event: TimelineEvent) -> dict[str, object]:
    return {
        "type": "event",
        "time": time_text(event.moment.ms),
        "offset": event.moment.offset,
        "epoch": event.epoch,
        "event": event.kind,
        "text": event.text,
    }


# ---- checks


def _all_groups_of_a_path(work: Work) -> None:
    """Select all groups if the first word is a path, because it looks like one or is the only word. Errors: UsageError without a path."""
    values = work.values
    if values.paths and not (os.sep in values.group and os.path.lexists(values.group)):
        return
    if not os.path.lexists(values.group):
        raise UsageError("missing PATH", "paths")
    values.group, values.paths = "*", (values.group, *values.paths)


def _downgrade_check(work: Work) -> None:
    _all_groups_of_a_path(work)
    values = work.values
    to = None if values.to is None else release_of(values.to)
    census = Census()
    loaded = read_logs(work, census.takes)
    checks = downgrade_checks(loaded, census, values.group, to)
    _show_checks(work, checks, "nothing would break" if to is not None else f"no group is like {values.group}")
    if to is not None and any(check.result != "ok" for check in checks):
        work.fail()


def _streams_upgrade(work: Work) -> None:
    _all_groups_of_a_path(work)
    like = "" if work.values.group == "*" else f" like {work.values.group}"
    checks = streams_checks(read_logs(work), work.values.group, NamedTopics(work))
    _show_checks(work, checks, f"no group{like} is one of Kafka Streams")
    if not checks or any(check.result == "breaks" for check in checks):
        work.fail()


def _show_checks(work: Work, checks: Sequence[DowngradeCheck], none: str) -> None:
    if work.form != "text" or not checks:
        work.rows([check.as_object() for check in checks], CHECK_COLUMNS, none=none)
        return
    for line in check_lines(checks, work.display.width):
        work.display.line(line)


def check_lines(checks: Sequence[DowngradeCheck], width: int | None) -> Iterator[str]:
    """Yield the checks as text: the group, then one line per check. On a terminal a check wraps."""
    for (group_id, kind), found in groupby(checks, key=lambda check: (check.group_id, check.kind)):
        yield terminal_line(f"{group_id} ({kind})")
        for check in found:
            line = terminal_line(f"    {check.check}: {check.result}: {check.text}")
            yield from [line] if width is None or len(line) <= width else wrap(line, max(width, 20), subsequent_indent=" " * 8)
