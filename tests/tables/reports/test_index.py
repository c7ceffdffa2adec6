"""The page over all reports: an absent report is not green, what is wrong stands first, the picture is bounded."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from metashell.metadata.checks import Health
from metashell.metadata.image import EMPTY_IMAGE
from metashell.metadata.image.provenance import Provenance
from metashell.tables.reports import REPORTS, page
from metashell.tables.reports.charts import BROKERS_MAX, timeline_charts
from metashell.tables.reports.local import declared_schema, run_local
from metashell.tables.reports.page import EVENTS_MAX, Judged, judge_clusters, open_words, render_index
from metashell.tables.state.clusters import Cluster, read_state
from tests.golden_cases import SUBSET_ROOT
from tests.tables.reports.test_page import HOSTILE, LOADING, Seen

STOPPED = str(SUBSET_ROOT / "4.3.1/main/data/stopped")
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TIMELINE = declared_schema(REPORTS["timeline"])


@cache
def judged() -> Judged:
    return judge_clusters([STOPPED])


@cache
def answers() -> dict[str, pa.Table]:
    return run_local([REPORTS[name] for name in ("timeline", "under_replicated", "unclean_elections")], [STOPPED]).tables


def event(number: int = 0, **fields: Any) -> dict[str, Any]:
    at = AT + timedelta(minutes=number)
    usual = {"started_at": at, "kind": "config", "subject": "topic t", "event": "e", "is_open": False, "log_offset": number}
    return {"lasted_ms": None, "ended_at": None, "cluster_id": "c", **usual, **fields}


def test_a_report_without_its_log_is_named_and_is_no_link() -> None:
    text = render_index(answers(), [REPORTS["group_commits"]], judged(), sources="x", fault_count=2)
    assert "Committed offsets of groups <b>not answered: no log of groups (__consumer_offsets) here</b>" in text
    assert "group_commits.html" not in text
    assert re.search(r'<a href="under_replicated.html">Under-replicated partitions</a> 69 rows, <b>36 open</b>, .*2 places left out', text)
    assert "Metadata growth" not in text, "it was not asked for"
    words = open_words(REPORTS["timeline"], answers()["timeline"])
    assert words and f"<p>{words}</p>" in text[text.index("<h2>What happened</h2>") :]


def test_what_is_wrong_is_what_health_says_and_as_of_when() -> None:
    text = render_index(answers(), [], judged(), sources="x")
    (cluster,) = judged().clusters
    assert len(cluster.findings) > 3
    assert re.search(r"[0-9]+ checks of 36 partitions: [0-9]+ found something; not run: [0-9]+ \(no ", text)
    assert "offset 596, 2026-11-21T00:25:58Z; what follows offset 592 may not have been committed" in text
    for finding, _ in cluster.findings:
        assert f'<b class="{finding.check.severity}">{finding.count}</b>' in text
    assert "The state could not be judged: x/y: no metadata log" in render_index(
        answers(), [], Judged([], "x/y: no metadata log"), sources="x"
    )


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"certain_to": None}, "offset 9, 1970-01-01T00:00:05Z; how much of it was committed is not known here"),
        ({"certain_to": 9}, "offset 9, 1970-01-01T00:00:05Z; what follows offset 8 may not have been committed"),
        ({"certain_to": 0, "timestamp_ms": 0}, "offset 9, 1970-01-01T00:00:00Z; what follows offset -1 may not have been committed"),
        ({"certain_to": 10}, "offset 9, 1970-01-01T00:00:05Z"),
        ({"certain_to": 10, "timestamp_ms": -1}, "offset 9"),
    ],
)
def test_how_much_of_the_state_was_committed_is_said(monkeypatch: pytest.MonkeyPatch, known: dict[str, Any], words: str) -> None:
    provenance = Provenance(**{"offset": 9, "timestamp_ms": 5999, "end_offset": 10, **known})
    monkeypatch.setattr(page, "read_state", lambda *_, **__: [Cluster("c", "p", EMPTY_IMAGE._replace(provenance=provenance))])
    (cluster,) = judge_clusters(["p"]).clusters
    assert cluster.as_of == f"at the end of its log, {words}"
    assert f"<p>Cluster c, {cluster.as_of}.</p>" in render_index(answers(), [], Judged([cluster]), sources="x")


def test_the_reports_and_health_agree_on_what_is_open() -> None:
    (cluster,) = judged().clusters
    found = {finding.check.id: finding.count for finding, _ in cluster.findings}
    (state,) = read_state([STOPPED], on_error="fail")
    counts = Health(state.image).counts()
    opened = [row for row in answers()["under_replicated"].to_pylist() if row["ended_by"] == "open"]
    leaderless = [row for row in answers()["unclean_elections"].to_pylist() if row["is_open"]]
    fenced = [row["subject"] for row in answers()["timeline"].to_pylist() if row["is_open"] and row["event"] == "fenced"]
    assert len(opened) == counts["under_replicated"] > 0
    assert len(leaderless) == counts["leaderless"] > 0
    # All of them are stopped: so the partitions that this leaves behind are no findings of their own.
    assert len(fenced) == found["stopped"] == len(state.image.cluster.brokers)


def test_a_state_that_cannot_be_read_is_said_and_not_green(tmp_path: Any) -> None:
    found = judge_clusters([str(tmp_path)])
    assert found.clusters == []
    assert 'class="verdict safe"' not in render_index(answers(), [], found, sources="x")


def test_a_pipe_is_left_to_the_answers(tmp_path: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "can be read only once" in judge_clusters([str(tmp_path / "pipe")]).trouble


def test_the_index_runs_nothing_loads_nothing_and_links_only_to_reports() -> None:
    rows = [
        event(number, subject=HOSTILE, event=HOSTILE, cluster_id=HOSTILE, kind=kind) for number, kind in enumerate(("config", "broker"))
    ]
    table = pa.Table.from_pylist(rows, schema=TIMELINE)
    seen = Seen(render_index({"timeline": table}, [], Judged([], HOSTILE), sources=HOSTILE, notes=(HOSTILE,)))
    assert not {"script", "link", "iframe", "object", "embed", "img", "base", "form"} & set(seen.tags)
    assert {value for name, value in seen.attributes if name in LOADING} == {"timeline.html"}
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert not {"\x1b", "\x07", "\u202e"} & set(seen.text)


def test_events_are_bounded_and_the_rest_is_counted() -> None:
    rows = [event(number) for number in range(EVENTS_MAX + 7)]
    text = render_index({"timeline": pa.Table.from_pylist(rows, schema=TIMELINE)}, [], judged(), sources="x")
    assert 'and 7 more: <a href="timeline.html">' in text
    assert text.count("<tr>") == EVENTS_MAX + 1


def test_what_lies_on_each_other_is_one_mark_in_the_order_of_the_log() -> None:
    rows = [event(0, log_offset=offset, event=f"e{offset}") for offset in (9, 8, 7, 6, 5, 4, 3)] + [event(1000)]
    picture = "".join(timeline_charts(rows))
    marks = re.findall(r'<i class="s6"[^>]*title="([^"]*)"', picture)
    assert len(marks) == 2
    assert re.findall(r"e[0-9]", marks[0]) == ["e3", "e4", "e5", "e6", "e7"]
    assert marks[0].endswith("; and 2 more")


def test_of_many_brokers_those_with_the_most_to_tell_are_drawn() -> None:
    rows = [
        event(number, kind="broker", subject=f"broker {number}", event="active", is_open=True, lasted_ms=5)
        for number in range(BROKERS_MAX + 3)
    ]
    rows += [event(number, kind="broker", subject=f"broker {BROKERS_MAX + 2}", event="fenced", lasted_ms=5) for number in range(50)]
    picture = "".join(timeline_charts(rows))
    assert f">broker {BROKERS_MAX + 2}</span>" in picture
    assert f">broker {BROKERS_MAX + 1}</span>" not in picture
    assert "and 3 more brokers" in picture


def test_clusters_have_a_picture_each() -> None:
    picture = "".join(timeline_charts([event(0, cluster_id="a"), event(1, cluster_id="b")]))
    assert re.findall(r"<p>Cluster (.)</p>", picture) == ["a", "b"]
    assert picture.count('<div class="lanes">') == 2


def test_a_state_known_only_from_a_checkpoint_begins_before_the_log() -> None:
    rows = [event(5), event(kind="broker", subject="broker 1", event="active", started_at=None, ended_at=AT + timedelta(minutes=9))]
    assert 'style="left:0.00%;width:100.00%" title="broker 1: active, before the log"' in "".join(timeline_charts(rows))
