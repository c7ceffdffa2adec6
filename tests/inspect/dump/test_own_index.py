"""dump-log on indexes, producer snapshots and text files: entries as JSON lines, and what does not hold."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import LogCorruptError
from metashell.disk.state_files import read_quorum_state
from metashell.inspect.dump.index_walk import OffsetEntry
from metashell.inspect.dump.options import DumpOptions, Output
from metashell.inspect.dump.own_index import OFFSET, OwnIndex
from metashell.inspect.dump.own_session import Session
from tests.inspect.dump.making import dump
from tools.handmade_files import NAME

HANDMADE = Path(__file__).parents[2] / "golden" / "handmade" / "data"


def run(path: Path | str, **options: Any) -> tuple[int, list[dict[str, Any]], str]:
    status, text, err = dump(HANDMADE / path, **options)
    return status, [json.loads(line) for line in text.splitlines()], err


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("folder", ["index", "index-zero-tail"])
def test_an_index_that_holds_is_listed_with_status_0(folder: str, suffix: str) -> None:
    status, rows, err = run(f"{folder}/{NAME}.{suffix}")
    assert (status, len(rows), err) == (0, 3, "")
    assert rows[0]["kind"] == ("offset-entry" if suffix == "index" else "time-entry")
    assert rows[0]["offset"] == 5


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("flag", ["verify_index_only", "index_sanity_check"])
def test_checks_alone_print_no_entries(flag: str, suffix: str) -> None:
    assert run(f"index/{NAME}.{suffix}", **{flag: True}) == (0, [], "")
    status, rows, _ = run(f"index-odd/{NAME}.{suffix}", **{flag: True})
    assert (status, [row["kind"] for row in rows]) == (1, ["corrupt"])


@pytest.mark.parametrize(
    ("folder", "suffix", "reason"),
    [
        ("index-mismatch", "index", " ends with offset 5"),
        ("index-mismatch", "timeindex", "is not the latest of its batch"),
        ("index-beyond", "index", "offset 8: position 100000 is not in the log"),
        ("index-beyond", "timeindex", "position 100000 is not in the log"),
        ("index-negative", "index", "offset 5: position -1 is not in the log"),
        ("index-torn-log", "index", "has no whole batch"),
        ("index-zero-log", "timeindex", "Found record size 0 smaller than minimum record overhead (14)"),
    ],
)
def test_what_does_not_hold_is_a_line_a_fault_and_status_1(folder: str, suffix: str, reason: str) -> None:
    status, rows, err = run(f"{folder}/{NAME}.{suffix}")
    assert status == 1
    assert any(row["kind"] == "mismatch" and reason in row["reason"] for row in rows), rows
    assert reason in err


def test_an_index_without_its_log_is_listed_and_only_verifying_fails() -> None:
    path = f"index-no-log/{NAME}.index"
    status, rows, err = run(path)
    assert (status, len(rows), err) == (0, 3, "")
    status, _, err = run(path, verify_index_only=True)
    assert status == 1
    assert "No such file or directory: entries are not compared with the log" in err


def test_a_preallocated_index_has_no_entries() -> None:
    assert run(f"index-all-zero/{NAME}.index") == (0, [], "")
    _, _, err = run(f"index-all-zero/{NAME}.index", verbose=True)
    assert "nothing but 24 zero bytes" in err


def test_aborted_transactions_are_listed() -> None:
    status, rows, _ = run(f"txnindex/{NAME}.txnindex")
    assert status == 0
    assert [(row["producer_id"], row["first_offset"], row["last_offset"], row["last_stable_offset"]) for row in rows] == [
        (7, 0, 5, 1),
        (8, 10, 15, 11),
        (9, 20, 25, 21),
    ]
    for folder in ("txnindex-partial", "txnindex-version"):
        assert run(f"{folder}/{NAME}.txnindex")[0] == 1


def test_a_time_index_may_name_an_offset_again_with_a_later_timestamp(tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.timeindex"
    path.write_bytes(pack(">qi", 100, 4) + pack(">qi", 101, 4))
    status, text, err = dump(path)
    assert (status, len(text.splitlines()), err) == (0, 2, "")
    path.write_bytes(pack(">qi", 100, 4) + pack(">qi", 100, 5))
    assert dump(path)[0] == 1


def test_producers_are_listed() -> None:
    status, rows, _ = run(f"producers/{NAME}.snapshot")
    assert status == 0
    assert [row["producer_id"] for row in rows] == [5, 6, 7]
    assert [row["current_txn_first_offset"] for row in rows] == [101, None, None]


@pytest.mark.parametrize("folder", ["crc", "version", "cut", "short", "void", "many", "negative", "more"])
def test_a_producer_snapshot_that_does_not_hold_has_status_1(folder: str) -> None:
    status, rows, err = run(f"producers-{folder}/{NAME}.snapshot")
    assert status == 1
    assert rows[-1]["kind"] in ("corrupt", "truncated") or rows[0]["kind"] == "corrupt"
    assert err.startswith("dump-log: ")


def test_text_files_are_listed() -> None:
    assert [(row["epoch"], row["start_offset"]) for row in run("text/leader-epoch-checkpoint")[1]] == [(1, 0), (2, 458)]
    (row,) = run("text/recovery-point-offset-checkpoint")[1]
    assert (row["topic"], row["partition"], row["offset"]) == ("t", 0, 12)
    (row,) = run("text/partition.metadata")[1]
    assert row["topic_id"] == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_text_files_of_a_node_are_listed(tmp_path: Path) -> None:
    state = '{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":1}'
    (tmp_path / "quorum-state").write_text(state)
    (tmp_path / "meta.properties").write_text("#x\nversion=1\nnode.id=3\n")
    assert run(tmp_path / "quorum-state")[1][0]["data"] == json.loads(state)
    assert run(tmp_path / "meta.properties")[1][0]["data"] == {"version": "1", "node.id": "3"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("leader-epoch-checkpoint", "0\n2\n1 0\n"),
        ("leader-epoch-checkpoint", "0\n2\n2 9\n1 3\n"),
        ("recovery-point-offset-checkpoint", "0\n1\nt zero 12\n"),
        ("replication-offset-checkpoint", "7\n0\n"),
        ("partition.metadata", "version: 1\n"),
        ("quorum-state", "{"),
        ("quorum-state", "[]"),
        ("quorum-state", '{"leaderId":1}'),
        ("quorum-state", '{"leaderId":"x","leaderEpoch":2,"votedId":-1,"data_version":0}'),
        ("meta.properties", "a=\\uzzzz"),
    ],
)
def test_a_damaged_text_file_is_told_with_status_1(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    status, rows, err = run(tmp_path / name)
    assert status == 1
    assert rows[-1]["kind"] in ("corrupt", "mismatch")
    assert err.startswith(f"dump-log: {tmp_path / name}: ")


@pytest.mark.parametrize("text", ("{", "[]", "x", '{"leaderId":1}', '{"leaderId":"x","data_version":0}'))
def test_a_quorum_state_is_refused_in_the_words_of_its_reader(tmp_path: Path, text: str) -> None:
    path = tmp_path / "quorum-state"
    path.write_text(text)
    with pytest.raises(LogCorruptError) as error:
        read_quorum_state(str(path))
    assert error.value.reason in run(path)[2]


def test_a_missing_index_is_one_line(tmp_path: Path) -> None:
    status, rows, err = run(tmp_path / f"{NAME}.index")
    assert (status, rows, err) == (1, [], f"dump-log: {tmp_path}/{NAME}.index: No such file or directory\n")
    assert list(tmp_path.iterdir()) == []


numbers = st.integers(-3, 12)
offset_entries = st.lists(st.builds(OffsetEntry, numbers, numbers, numbers, st.sampled_from((None, None, "no batch"))), max_size=12)


@given(entries=offset_entries, shows=st.booleans())
def test_the_loop_over_offset_entries_writes_what_the_table_says(entries: list[OffsetEntry], shows: bool) -> None:
    def written(write: Callable[[OwnIndex], int]) -> tuple[int, bytes, list[tuple[int, str]], int]:
        out = io.BytesIO()
        index = OwnIndex(Session(DumpOptions(files=(), verify_index_only=not shows), Output(out), io.StringIO()), "0.index")
        count = write(index)
        index.flush()
        return count, out.getvalue(), index.findings.faults, index.findings.fault_count

    assert written(lambda index: index.offset_entries(iter(entries))) == written(lambda index: index.entries(OFFSET, entries))
