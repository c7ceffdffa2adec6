"""Each report's answer on logs of real clusters is what plain Python finds in dump-log's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from metashell.common.errors import LogCorruptError, MetashellError
from metashell.tables.reports import REPORTS
from metashell.tables.reports.catalog import VIEWS
from metashell.tables.reports.local import run_local
from metashell.tables.reports.page import is_open
from tests.golden_cases import SUBSET_ROOT
from tests.quick import quick
from tests.tables.reports import known_answers
from tests.tables.reports.known_access import acl_history, quota_history, replica_skew, scram_history
from tests.tables.reports.known_answers import COLUMNS, Metadata, Row
from tests.tables.reports.known_groups import FOREVER, RETENTION_MS, group_commits, group_expiring, group_rebalances
from tests.tables.reports.known_timeline import timeline

CLUSTERS = ("4.3.1/main", "3.9.2/main", "3.3.2/main", "4.3.1/default")
ACCESS_ANSWERS = {function.__name__: function for function in (quota_history, acl_history, scram_history, replica_skew)}
METADATA_ANSWERS = {**known_answers.METADATA_ANSWERS, **ACCESS_ANSWERS, "timeline": timeline}
GROUP_ANSWERS = {"group_rebalances": group_rebalances, "group_commits": group_commits, "group_expiring": group_expiring}


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return tuple(value) if isinstance(value, list) else value


def rows_of(name: str, answer: Any) -> list[Row]:
    return [tuple(plain(row[column]) for column in COLUMNS[name].split()) for row in answer.to_pylist()]


def in_order(rows: list[Row]) -> list[Row]:
    return sorted((tuple(plain(value) for value in row) for row in rows), key=repr)


@cache
def saved_state(cluster: str) -> Path:
    """One saved state of a cluster's nodes: states of one cluster are prefixes of each other, and mostly the same."""
    states = SUBSET_ROOT / cluster / "data"
    return next(states / name for name in ("stopped", "killed", "live-1") if (states / name).is_dir())


@cache
def files_read(paths: tuple[Path, ...]) -> list[Path]:
    """What the paths stand for, as the planner says."""
    from metashell.tables import plan_splits

    splits = plan_splits([str(path) for path in paths], every_checkpoint=True)
    return sorted({Path(piece.path) for split in splits for piece in split.pieces})


@cache
def answers_of(paths: tuple[Path, ...]) -> dict[str, Any]:
    return run_local(list(REPORTS.values()), [str(path) for path in paths]).tables


@cache
def metadata_of(paths: tuple[Path, ...]) -> Metadata:
    return Metadata(files_read(paths))


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("name", METADATA_ANSWERS)
def test_a_report_on_metadata_says_what_plain_python_finds(cluster: str, name: str) -> None:
    paths = (saved_state(cluster),)
    known = METADATA_ANSWERS[name](metadata_of(paths))
    assert in_order(rows_of(name, answers_of(paths)[name])) == in_order(known)


@pytest.mark.parametrize("name", GROUP_ANSWERS)
def test_a_report_on_groups_says_what_plain_python_finds(name: str) -> None:
    paths = (saved_state("4.3.1/main"),)
    known = GROUP_ANSWERS[name](files_read(paths))
    assert known
    assert in_order(rows_of(name, answers_of(paths)[name])) == in_order(known)


@pytest.mark.parametrize(
    "name", ["leadership_churn", "unclean_elections", "under_replicated", "topic_history", "broker_sessions", "replica_skew", "acl_history"]
)
def test_a_report_on_a_log_without_its_start_takes_the_state_from_the_checkpoint(name: str) -> None:
    folder = SUBSET_ROOT / "4.3.1/main/data/stopped/node-1/d1/__cluster_metadata-0"
    paths = (folder / "00000000000000000329-0000000001.checkpoint", folder / "00000000000000000251.log")
    known = METADATA_ANSWERS[name](metadata_of(paths))
    assert known
    assert in_order(rows_of(name, answers_of(paths)[name])) == in_order(known)


def test_changes_of_partitions_whose_state_was_not_read_are_counted() -> None:
    folder = SUBSET_ROOT / "4.3.1/main/data/stopped/node-1/d1/__cluster_metadata-0"
    paths = (folder / "00000000000000000251.log",)
    known = METADATA_ANSWERS["leadership_churn"](metadata_of(paths))
    assert any(row[1] is None and row[-1] > 0 for row in known)
    assert in_order(rows_of("leadership_churn", answers_of(paths)["leadership_churn"])) == in_order(known)


@pytest.mark.parametrize("name", ["under_replicated", "broker_sessions", "unclean_elections"])
def test_what_is_open_comes_first(name: str) -> None:
    report = REPORTS[name]
    answer = answers_of((saved_state("4.3.1/main"),))[name]
    opened = [is_open(report, row) for row in answer.to_pylist()]
    assert opened == sorted(opened, reverse=True)
    assert 0 < sum(opened) < len(opened), "there are both"


def test_a_timeline_has_brokers_that_are_not_active_first_and_then_the_newest() -> None:
    rows = answers_of((saved_state("4.3.1/main"),))["timeline"].to_pylist()
    gone = [row["is_open"] and row["kind"] == "broker" and row["event"] != "active" for row in rows]
    assert gone == sorted(gone, reverse=True)
    assert 0 < sum(gone) < sum(row["is_open"] for row in rows)
    for is_gone in (True, False):
        offsets = [row["log_offset"] for row, first in zip(rows, gone, strict=True) if first == is_gone]
        assert offsets == sorted(offsets, reverse=True)


@pytest.mark.slow
def test_records_that_several_nodes_keep_count_once() -> None:
    one = saved_state("4.3.1/main") / "node-2"
    both = (one, saved_state("4.3.1/main"))
    for name in ("leadership_churn", "controller_elections"):
        assert answers_of((one,))[name].equals(answers_of(both)[name])


@pytest.mark.slow
def test_two_clusters_in_one_input_stay_apart() -> None:
    paths = tuple(saved_state(cluster) for cluster in ("4.3.1/main", "4.3.1/default"))
    both = answers_of(paths)["broker_sessions"]
    apart = [answers_of((path,))["broker_sessions"] for path in paths]
    assert len({*both.column("cluster_id").to_pylist()}) == 2
    assert sorted(map(str, both.to_pylist())) == sorted(str(row) for answer in apart for row in answer.to_pylist())


def test_secrets_are_redacted_in_answers_unless_they_are_asked_for(tmp_path: Path) -> None:
    from metashell.codec.batch_writer import write_batch
    from metashell.codec.batches import Record
    from metashell.codec.metadata_records import write_metadata_record
    from metashell.codec.registry import message_type

    secret = message_type("metadata", "ConfigRecord").cls(resource_type=4, resource_name="1", name="ssl.key.password", value="hush")
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(write_batch(0, [Record(0, 1, None, write_metadata_record(secret))], leader_epoch=1))
    report = REPORTS["topic_history"]
    redacted = run_local([report], [str(path)]).tables[report.name].column("value").to_pylist()
    clear = run_local([report], [str(path)], show_secrets=True).tables[report.name].column("value").to_pylist()
    assert (redacted, clear) == (["[redacted]"], ["hush"])


def test_a_corrupt_batch_ends_a_report_or_is_counted(tmp_path: Path) -> None:
    source = saved_state("4.3.1/main") / "node-1/d1/__cluster_metadata-0/00000000000000000000.log"
    data = bytearray(source.read_bytes())
    data[200] ^= 1
    damaged = tmp_path / source.name
    damaged.write_bytes(data)
    with pytest.raises(LogCorruptError, match=r"00000000000000000000\.log"):
        run_local([REPORTS["broker_sessions"]], [str(damaged)])
    assert run_local([REPORTS["broker_sessions"]], [str(damaged)], on_error="skip").fault_count == 1


def test_times_and_offsets_that_cannot_be_end_no_report_with_a_trace(tmp_path: Path) -> None:
    from metashell.codec.batch_writer import write_batch
    from metashell.codec.batches import Record
    from metashell.codec.metadata_records import write_metadata_record
    from metashell.codec.registry import message_type

    kinds: list[tuple[str, dict[str, Any]]] = [
        ("TopicRecord", {"name": "t", "topic_id": bytes(16)}),
        ("PartitionRecord", {"topic_id": bytes(16), "replicas": (1, 2), "isr": (1,), "leader": 1}),
        ("PartitionChangeRecord", {"topic_id": bytes(16), "isr": (1, 2), "leader": 2}),
        ("ConfigRecord", {"resource_type": 2, "resource_name": "t", "name": "k", "value": "v"}),
        ("RegisterBrokerRecord", {"broker_id": 1, "broker_epoch": 9}),
        ("UnregisterBrokerRecord", {"broker_id": 1, "broker_epoch": 9}),
    ]
    values = [write_metadata_record(message_type("metadata", name).cls(**fields)) for name, fields in kinds]
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    path = folder / "00000000000000000000.log"

    def log(first: int, times: tuple[int, int]) -> bytes:
        rows = [(first + turn * len(values) + at, time, value) for turn, time in enumerate(times) for at, value in enumerate(values)]
        return b"".join(write_batch(at, [Record(at, time, None, value)], leader_epoch=1) for at, time, value in rows)

    path.write_bytes(log(0, (-(1 << 63), (1 << 63) - 1)))
    tables = run_local(list(REPORTS.values()), [str(tmp_path)]).tables
    assert tables["under_replicated"].column("lasted_ms").to_pylist()[0] >= 0
    path.write_bytes(log((1 << 63) - 100, (5, 6)))
    with pytest.raises(MetashellError, match=r"00000000000000000000\.log: offset [0-9]{19} is out of range"):
        run_local([REPORTS["leadership_churn"]], [str(path)])


def test_every_question_is_a_report() -> None:
    folder = Path(str(files("metashell.tables.reports"))) / "sql"
    assert {path.stem for path in folder.glob("*.sql")} == {path.stem for path in folder.glob("*.toml")} == set(REPORTS)
    assert {path.stem for path in (folder / "views").iterdir()} == set(VIEWS)
    assert {*METADATA_ANSWERS, *GROUP_ANSWERS} == set(REPORTS), "plain Python answers each"
    assert {name: {*columns.split(), "cluster_id"} for name, columns in COLUMNS.items()} == {
        r.name: set(r.columns) for r in REPORTS.values()
    }


def test_a_commit_counts_where_its_transaction_was_committed(tmp_path: Path) -> None:
    """Golden conversations cut in the middle: the newest offset of each partition in the report is that of the coordinator's state."""
    from metashell.codec.primitives import kafka_text
    from metashell.groups.log.queries import load_logs
    from tests.groups.golden import read_rows
    from tests.groups.log.written_logs import golden_batches, write_log

    golden = Path(__file__).parents[2] / "golden" / "groups" / "classic" / "offsets.jsonl.gz"
    for share in (1, 2, 3):
        batches = [golden_batches(scenario) for scenario in read_rows(golden)]
        write_log(tmp_path / str(share), [*one_log(batch for some in batches for batch in some[: len(some) * share // 3])])
        known = {}
        for log in load_logs([str(tmp_path / str(share))]).logs:
            for raw in log.fold.groups():
                known.update({(kafka_text(raw), *key): committed.offset for key, committed in log.fold.committed(raw)})
        answer = run_local([REPORTS["group_commits"]], [str(tmp_path / str(share))]).tables["group_commits"]
        newest = {(row["group_id"], row["topic"], row["partition"]): row for row in answer.to_pylist()}
        kept = {key: row["last_offset"] for key, row in newest.items() if not row["deletions"]}
        assert len(kept) > 5
        assert kept == {key: known[key] for key in kept}
        assert {*known} <= {*newest}, share


def one_log(batches: Iterable[bytes]) -> Iterator[bytes]:
    """Batches of conversations that were recorded in several clusters, with offsets that rise; no checksum covers a base offset."""
    end = 0
    for batch in batches:
        base = max(end, int.from_bytes(batch[:8], "big"))
        yield base.to_bytes(8, "big") + batch[8:]
        end = base + int.from_bytes(batch[23:27], "big") + 1


@pytest.mark.parametrize("share", quick([1, 2, 3]))
def test_offsets_expire_in_a_report_as_in_the_coordinators_logs(share: int, tmp_path: Path) -> None:
    """Golden conversations, each as far as a third, two thirds, and whole: some with transactions, which are open at the end or aborted."""
    from metashell.groups.log.queries import expiring_offsets, load_logs
    from tests.groups.golden import read_rows
    from tests.groups.log.written_logs import golden_batches, write_log

    golden = Path(__file__).parents[2] / "golden" / "groups"
    for number, file in enumerate(sorted(path for kind in ("classic", "consumer") for path in (golden / kind).glob("*.gz"))):
        if file.name.startswith("member-trace"):
            continue
        batches = [golden_batches(scenario) for scenario in read_rows(file)]
        write_log(tmp_path, [*one_log(batch for some in batches for batch in some[: len(some) * share // 3])], number)
    known = [
        (one.group_id, one.kind, one.row.topic, one.row.partition, one.row.offset, one.row.commit_ms, one.expires_ms)
        for one in expiring_offsets(load_logs([str(tmp_path)]), FOREVER, RETENTION_MS)
    ]
    found = rows_of("group_expiring", run_local([REPORTS["group_expiring"]], [str(tmp_path)]).tables["group_expiring"])
    assert known
    assert in_order([row[:-1] for row in found]) == in_order(known)


def test_two_clusters_under_one_id_give_the_same_answer_in_any_order() -> None:
    """Both golden clusters have one id and groups of the same names, so that a partition has two owners at one offset."""
    paths = [str(saved_state(cluster)) for cluster in ("4.3.1/main", "3.9.2/main")]
    report = REPORTS["group_rebalances"]
    found = [run_local([report], order).tables[report.name] for order in (paths, paths[::-1]) for _ in range(3)]
    assert all(answer.equals(found[0]) for answer in found)
