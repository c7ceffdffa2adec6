"""What a lake takes and refuses: checkpoints, hostile names and times, other forms; and what is put together reads as before."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import LogCorruptError, MetashellError, UsageError
from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from metashell.tables.lake import commit, write_tasks
from metashell.tables.lake.append import AppendOptions, plan_only
from metashell.tables.lake.layout import CHECKPOINT_EVERY, WORK, folder_of, partition_of, put_pending, quoted, read_state
from metashell.tables.lake.ledger import Commit, LakeState
from metashell.tables.stores import open_store
from metashell.tables.stores.local import LocalStore
from tests.tables.lake.lakes import DAY, SEGMENT, START, expected, left_over, names, node, rows, run, segment, topics


def checkpoint(count: int, time: int = START) -> bytes:
    """A whole checkpoint with so many topics."""

    def control(offset: int, kind: int, value: bytes) -> bytes:
        return write_batch(offset, [Record(offset, time, b"\0\0\0" + bytes((kind,)), value)], leader_epoch=1, is_control=True)

    return control(0, 3, bytes(11)) + topics(1, count, name="c", time=time) + control(count + 1, 4, bytes(3))


def test_a_checkpoint_is_read_where_it_stands_for_what_the_lake_lacks(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / "00000000000000000010-0000000001.checkpoint").write_bytes(checkpoint(4))
    (log / segment(10)).write_bytes(topics(10, 10))
    assert run(out, tmp_path / "node").rows["topic"] == 14
    # The next day's checkpoint repeats what is there.
    (log / "00000000000000000010-0000000001.checkpoint").unlink()
    (log / "00000000000000000020-0000000001.checkpoint").write_bytes(checkpoint(6))
    (log / segment(10)).unlink()
    (log / segment(20)).write_bytes(topics(20, 4))
    assert run(out, tmp_path / "node").rows["topic"] == 4
    # After days without an export it stands for offsets that no log has any more.
    (log / "00000000000000000020-0000000001.checkpoint").unlink()
    (log / "00000000000000000050-0000000001.checkpoint").write_bytes(checkpoint(8))
    (log / segment(20)).unlink()
    (log / segment(50)).write_bytes(topics(50, 2))
    report = run(out, tmp_path / "node")
    assert report.rows["topic"] == 10
    assert report.plan.notes == [
        "__cluster_metadata-0 of node 1 of quokka-cluster-1234567: offsets 24 to 49 are in no log any more: a checkpoint stands for them"
    ]
    assert run(out, tmp_path / "node").rows == {}
    assert len(rows(out)) == 4 + 10 + 4 + 8 + 2


HOSTILE = ("..", ".", "a/b", "a\nb", "%2F", "__HIVE_DEFAULT_PARTITION__", "été 東京", "a=b:c*d?[e]{f}^g'h\"i#j", "x" * 200, "\udce9")


@pytest.mark.parametrize("cluster", HOSTILE)
def test_a_hostile_cluster_id_stays_in_its_folder_and_comes_back(tmp_path: Path, cluster: str) -> None:
    folder = folder_of("topic", cluster, "2026-11-20")
    assert folder.count("/") == 2 and "\n" not in folder
    written = "\\xe9" if cluster == "\udce9" else cluster
    assert partition_of(f"{folder}/part.parquet") == (written, "2026-11-20")
    path = tmp_path / folder
    path.mkdir(parents=True)
    pq.write_table(pa.table({"file": ["f"], "offset": [1]}), path / "part.parquet")
    (row,) = rows(tmp_path)
    # Readers undo the quotes before they look for their own word for none.
    assert row["cluster_id"] == (None if cluster == "__HIVE_DEFAULT_PARTITION__" else written)


def test_a_log_directory_with_a_hostile_name_has_its_rows_below_the_lake(tmp_path: Path) -> None:
    hostile = tmp_path / "a=b" / "x\ny%2F.." / ("z" * 200)
    hostile.mkdir(parents=True)
    (hostile / SEGMENT).write_bytes(topics(0, 4))
    with pytest.raises(UsageError, match="too long for the name of a folder"):
        run(tmp_path / "lake", hostile)
    short = hostile.parent / "s"
    short.mkdir()
    (short / SEGMENT).write_bytes(topics(0, 4))
    try:
        run(tmp_path / "lake", short)
    except UsageError as error:
        assert "too long" in str(error)  # the folder of the test itself may be
        return
    assert {row["cluster_id"] for row in rows(tmp_path / "lake")} == {str(short)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a=b", "lake"]


def test_an_empty_value_is_none(tmp_path: Path) -> None:
    assert quoted("") == "__HIVE_DEFAULT_PARTITION__"
    assert partition_of(f"{folder_of('topic', '', '')}/part.parquet") == ("", "")
    assert quoted("é" * 100) == "é" * 100
    with pytest.raises(UsageError, match="too long"):
        quoted("é" * 101)


def test_rows_are_divided_by_their_own_days_whatever_clocks_say(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    times = (START, START - 3 * DAY, -1, START + 1, 1 << 62, -(1 << 62), 0, START)
    (log / SEGMENT).write_bytes(b"".join(topics(2 * at, 2, time=time, step=0) for at, time in enumerate(times)))
    run(out, tmp_path / "node", on_error="skip")
    found = {row["offset"]: row["date"] for row in rows(out)}
    none = None
    by_batch = ["2026-09-21", "2026-09-18", none, "2026-09-21", none, none, "1970-01-01", "2026-09-21"]
    assert found == {2 * at + more: day for at, day in enumerate(by_batch) for more in (0, 1)}


def test_more_days_than_files_may_be_open(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    count = write_tasks._OPEN_MAX + 40
    (log / SEGMENT).write_bytes(topics(0, count, step=DAY))
    run(out, tmp_path / "node", tables=("topic",))
    assert names(out) == expected(0, count)
    assert len({row["date"] for row in rows(out)}) == count


def test_rows_of_more_days_than_are_held_or_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_tasks, "_OPEN_MAX", 4)
    monkeypatch.setattr(write_tasks, "_HELD_BYTES_MAX", 2000)
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    chance = random.Random(1)
    # Days in any order, some of them often.
    times = [START + DAY * chance.choice((0, 1, chance.randrange(30))) for _ in range(300)]
    (log / SEGMENT).write_bytes(b"".join(topics(at, 1, time=time, step=0) for at, time in enumerate(times)))
    run(out, tmp_path / "node", tables=("topic", "batches"), on_error="skip")
    assert names(out) == expected(0, len(times))
    assert len(rows(out, "batches")) == len(times)
    # A task gets what a reader gives it in pieces.
    parts = write_tasks.PartFiles(open_store(str(tmp_path / "parts")), "work", "", show_secrets=False)
    want: dict[str, list[int]] = {}
    for at in range(200):
        folder = folder_of("topic", "c", f"2026-01-{chance.randrange(1, chance.choice((3, 29))):02d}")
        batch = pa.RecordBatch.from_pydict({"offset": [at] * chance.choice((1, 2, 40))})
        want.setdefault(folder, []).extend(batch.column(0).to_pylist())
        parts.add("topic", folder, batch, [0])
    parts.finish()
    found: dict[str, list[int]] = {}
    for file in parts.written:
        found.setdefault(file.folder, []).extend(pq.read_table(tmp_path / "parts" / file.staged).column("offset").to_pylist())
    assert {folder: sorted(offsets) for folder, offsets in found.items()} == want


def test_small_files_become_one_and_hold_the_same_rows(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    whole = topics(0, 40)
    for end in range(1, 11):
        (log / SEGMENT).write_bytes(whole[: len(whole) * end // 10])
        run(out, tmp_path / "node", tables=("topic",))
    run(tmp_path / "once", tmp_path / "node", tables=("topic",))
    assert rows(out) == rows(tmp_path / "once")
    files = list(out.glob("table=topic/*/*/*.parquet"))
    assert len(files) == 3  # eight became one, and two came since
    assert run(out, tmp_path / "node", target_size=1 << 20).merged == (3, 1)
    (file,) = out.glob("table=topic/*/*/*.parquet")
    assert rows(out) == rows(tmp_path / "once")
    found = pq.ParquetFile(file)
    (other,) = (tmp_path / "once").glob("table=topic/*/*/*.parquet")
    assert found.schema_arrow.equals(pq.ParquetFile(other).schema_arrow)
    assert found.metadata.metadata.keys() == pq.ParquetFile(other).metadata.metadata.keys()
    assert found.schema.equals(pq.ParquetFile(other).schema)


@pytest.mark.slow
def test_several_processes_put_files_together(tmp_path: Path) -> None:
    log = node(tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 60, step=DAY // 10))
    report = run(tmp_path / "lake", tmp_path / "node", jobs=2, target_bytes=1000, target_size=1 << 20)
    before, after = report.merged
    assert before > after > 1
    assert {len(list(folder.iterdir())) for folder in (tmp_path / "lake").glob("table=*/*/date=*")} == {1}
    run(tmp_path / "once", tmp_path / "node")
    for table in ("topic", "batches"):
        assert rows(tmp_path / "lake", table) == rows(tmp_path / "once", table)
    assert left_over(tmp_path / "lake") == []


def test_old_files_that_lack_columns_are_read_and_put_together_by_name(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(out, tmp_path / "node", tables=("topic",))
    (file,) = out.glob("table=topic/*/*/*.parquet")
    old = pq.read_table(file).drop_columns(["topic_id_text", "epoch"])
    pq.write_table(old, file)
    state = out / "_metashell" / "commits" / "00000001.json"
    said = json.loads(state.read_text())
    del said["schemas"]["topic"]["topic_id_text"], said["schemas"]["topic"]["epoch"]
    state.write_text(json.dumps(said))
    with (log / SEGMENT).open("ab") as grown:
        grown.write(topics(4, 2))
    run(out, tmp_path / "node", target_size=1 << 20)
    assert [row["epoch"] for row in sorted(rows(out), key=lambda row: row["offset"])] == [None] * 4 + [1, 1]
    assert len(list(out.glob("table=topic/*/*/*.parquet"))) == 1
    said = json.loads((out / "_metashell" / "commits" / "00000002.json").read_text())
    assert said["schemas"]["topic"] == {"epoch": "int32", "topic_id_text": "string"}
    said["schemas"]["topic"]["epoch"] = "string"
    (out / "_metashell" / "commits" / "00000002.json").write_text(json.dumps(said))
    with (log / SEGMENT).open("ab") as grown:
        grown.write(topics(6, 2))
    with pytest.raises(UsageError, match="column epoch of topic is string in this lake and int32"):
        run(out, tmp_path / "node")
    assert left_over(out) == []


def test_forms_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(out, tmp_path / "node")
    with pytest.raises(UsageError, match=f"{out}: is a lake: add to it with --append"):
        export(ExportOptions(paths=(str(log),), out=str(out), jobs=1, replaces=True))
    for options, said in (
        ({"tables": ("topic",)}, "was begun with all tables but records: append without --tables"),
        ({"show_secrets": True}, "hides secrets"),
        ({"columns": "raw"}, "has the new columns"),
    ):
        with pytest.raises(UsageError, match=f"{out}: this lake {said}"):
            run(out, tmp_path / "node", **options)
    export(ExportOptions(paths=(str(log),), out=str(tmp_path / "plain"), jobs=1))
    with pytest.raises(UsageError, match="has a plain export, to which nothing can be appended"):
        run(tmp_path / "plain", tmp_path / "node")
    (tmp_path / "other" / "table=topic").mkdir(parents=True)
    (tmp_path / "other" / "table=topic" / "part.parquet").write_bytes(b"mine")
    with pytest.raises(UsageError, match="is there already, and no ledger says what it holds"):
        run(tmp_path / "other", tmp_path / "node")
    (tmp_path / "other" / "_metashell").mkdir()
    for written, said in (
        ("{}", "says nothing of a lake: it is another tool's, or damaged"),
        ('{"format": 2}', "a lake of format 2, which"),
    ):
        (tmp_path / "other" / "_metashell" / "format.json").write_text(written)
        with pytest.raises(MetashellError, match=f"format.json: {said}"):
            run(tmp_path / "other", tmp_path / "node")
    for mark in ("_delta_log/00000000000000000000.json", "topic/metadata/v1.metadata.json", "metadata/version-hint.text", ".hoodie/a"):
        place = tmp_path / mark.replace("/", "-") / mark
        place.parent.mkdir(parents=True)
        place.write_bytes(b"mine")
        with pytest.raises(UsageError, match=f"{place}: is there already, and no ledger says what it holds"):
            run(tmp_path / mark.replace("/", "-"), tmp_path / "node")


def test_a_second_writer_is_told_of_the_first(tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 4))
    with (
        open_store(str(tmp_path / "lake")).lock("metashell export --append"),
        pytest.raises(UsageError, match="is in use by this process"),
    ):
        run(tmp_path / "lake", tmp_path / "node")


def test_a_fault_leaves_the_lake_as_it_was_and_is_a_row_once_where_it_is_skipped(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    data = bytearray(topics(0, 10))
    data[len(data) // 2] ^= 1
    (log / SEGMENT).write_bytes(data)
    with pytest.raises(LogCorruptError):
        run(out, tmp_path / "node")
    assert not out.exists()
    for _ in range(2):
        run(out, tmp_path / "node", on_error="skip")
        assert len(rows(out, "faults")) == 1
        assert len(names(out)) == 8


def test_what_is_compressed_is_known_by_its_offsets_too(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / f"{SEGMENT}.gz").write_bytes(gzip.compress(topics(0, 10)))
    assert run(out, log / f"{SEGMENT}.gz").rows["topic"] == 10
    assert run(out, log / f"{SEGMENT}.gz").rows == {}
    (log / SEGMENT).write_bytes(topics(0, 14))
    assert run(out, tmp_path / "node").rows["topic"] == 4
    (log / f"{SEGMENT}.gz").write_bytes(gzip.compress(topics(0, 16)))
    with pytest.raises(UsageError, match="unpack it first"):
        run(out, log / f"{SEGMENT}.gz")
    with pytest.raises(UsageError, match="can be read only once"):
        run(out, Path("/dev/stdin"))


def test_many_commits_are_read_from_a_checkpoint_of_the_ledger(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    whole = topics(0, 2 * CHECKPOINT_EVERY + 4)
    size = len(whole) // (CHECKPOINT_EVERY + 2)
    for count in range(1, CHECKPOINT_EVERY + 3):
        (log / SEGMENT).write_bytes(whole[: count * size])
        run(out, tmp_path / "node", tables=("topic",))
    (log / SEGMENT).write_bytes(whole)
    run(out, tmp_path / "node")
    assert names(out) == expected(0, 2 * CHECKPOINT_EVERY + 4)
    store = open_store(str(out))
    state = read_state(store)
    assert LakeState.of_json(json.loads(json.dumps(state.to_json()))) == state
    from_start = LakeState()
    commits = sorted(path for path in (out / "_metashell" / "commits").glob("????????.json"))
    for path in commits:
        from_start.apply(commit.read_commit(store, int(path.stem)))  # type: ignore[arg-type]
    assert from_start == state
    assert {file.name for file in store.files() if file.name.startswith("table=")} == set(state.files)
    commits[-2].unlink()
    with pytest.raises(MetashellError, match=r"is missing: nothing says what this lake holds"):
        read_state(store)


def test_what_fails_behind_a_commit_is_no_failure_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    monkeypatch.setattr(commit, "CHECKPOINT_EVERY", 1)
    real = LocalStore.put

    def put(store: LocalStore, name: str, data: bytes, *, durable: bool = False) -> None:
        if name.endswith(".checkpoint.json"):
            raise MetashellError(f"{name}: No space left on device")
        real(store, name, data, durable=durable)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "put", put)
        assert run(out, tmp_path / "node").number == 1
    assert sorted(path.name for path in (out / "_metashell" / "commits").iterdir()) == ["00000001.json"]
    (log / SEGMENT).write_bytes(topics(0, 8))
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "remove_all", lambda *words: (_ for _ in ()).throw(MetashellError("x: Input/output error")))
        with pytest.raises(
            MetashellError, match=r"^x: Input/output error; commit 2 was made before, and the next export does what is left of it$"
        ):
            run(out, tmp_path / "node")
    assert run(out, tmp_path / "node").rows == {}
    assert (names(out), left_over(out)) == (expected(0, 8), [])


def test_a_part_that_is_gone_after_a_crash_undoes_the_commit(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(out, tmp_path / "node")
    made = out / "_metashell" / "commits" / "00000001.json"
    said = json.loads(made.read_text())
    made.unlink()
    staged = [f"{WORK}/x/{number}.part" for number in range(len(said["added"]))]
    put_pending(open_store(str(out)), Commit.of_json(said), staged)
    (out / said["added"][0][0]).unlink()
    assert run(out, tmp_path / "node").recovered == "an interrupted export was undone: not all of its files were there"
    assert names(out) == expected(0, 4)
    assert left_over(out) == []


def test_a_dry_run_says_what_would_come_and_writes_nothing(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    options = AppendOptions(paths=(str(tmp_path / "node"),), out=str(out))
    assert plan_only(options).plan.bytes == len(topics(0, 4))
    assert not out.exists()
    run(out, tmp_path / "node")
    assert plan_only(options).plan.tasks == []
