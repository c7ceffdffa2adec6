"""Export: whole tables or none, taken up again where it was, secrets hidden unless asked for."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.common.errors import LogCorruptError, PathError, UsageError
from metashell.tables.columns.typed_tables import typed_schema
from metashell.tables.export import job
from metashell.tables.export.job import export
from metashell.tables.export.plan import MANIFEST, WORK_FOLDER, ExportOptions, ExportReport
from metashell.tables.export.workers import Workers
from tests.quick import quick
from tests.tables.logs import any_log

NAME = "00000000000000000000.log"


def topics_log(count: int = 300, first: int = 0) -> bytes:
    cls = message_type("metadata", "TopicRecord").cls
    data = b""
    for start in range(first, first + count, 10):
        values = [write_metadata_record(cls(name=f"t{number}", topic_id=number.to_bytes(16, "big"))) for number in range(start, start + 10)]
        data += write_batch(start, [Record(start + at, 5, None, value) for at, value in enumerate(values)], leader_epoch=1)
    return data


def run(out: Path, *paths: Path, **options: Any) -> ExportReport:
    return export(ExportOptions(**{"paths": tuple(map(str, paths)), "out": str(out), "jobs": 1, "target_bytes": 4000, **options}))


def names_in(out: Path, table: str = "topic") -> list[str]:
    found = pyarrow.dataset.dataset(str(out / f"{table}.parquet"), format="parquet").to_table()
    return [row["name"] for row in found.sort_by("offset").to_pylist()]


def everything_below(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_a_table_is_a_file_or_a_folder_of_parts(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(topics_log())
    report = run(tmp_path / "out", tmp_path / NAME)
    assert report.rows == {"topic": 300, "batches": 30, "faults": 0}
    assert report.split_count > 1
    assert (tmp_path / "out" / "topic.parquet").is_dir()
    assert (tmp_path / "out" / "faults.parquet").is_file()
    assert names_in(tmp_path / "out") == [f"t{number}" for number in range(300)]
    run(tmp_path / "one", tmp_path / NAME, target_bytes=1 << 30)
    assert pyarrow.parquet.read_table(tmp_path / "one" / "topic.parquet").num_rows == 300
    assert not (tmp_path / "out" / WORK_FOLDER).exists()


@pytest.mark.slow
def test_two_processes_write_what_one_does(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(any_log(random.Random(3), batch_count=30))
    for jobs in (1, 2):
        run(tmp_path / str(jobs), tmp_path / NAME, jobs=jobs, on_error="skip", tables=("records", "partition", "faults"), form="jsonl")
    assert {name: data for name, data in everything_below(tmp_path / "1").items() if name != MANIFEST} == {
        name: data for name, data in everything_below(tmp_path / "2").items() if name != MANIFEST
    }


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_every_form_holds_the_same_rows(tmp_path: Path, form: str) -> None:
    (tmp_path / NAME).write_bytes(topics_log(20))
    run(tmp_path / "out", tmp_path / NAME, form=form, target_bytes=1 << 30)
    path = tmp_path / "out" / f"topic.{form}"
    if form == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert rows[3]["name"] == "t3" and rows[3]["topic_id"] == str(UUID(int=3)) and len(rows) == 20
        assert rows[3]["topic_id_text"] == "AAAAAAAAAAAAAAAAAAAAAw" and rows[3]["timestamp"] == "1970-01-01T00:00:00.005Z"
    elif form == "csv":
        lines = path.read_text().splitlines()
        assert lines[0].startswith("cluster_id,file,offset,epoch,timestamp,version,name,topic_id") and len(lines) == 21
    else:
        read = pyarrow.parquet.read_table if form == "parquet" else lambda path: pa.ipc.open_file(path).read_all()
        assert read(path).column("topic_id").to_pylist()[3] == UUID(int=3)
        assert read(path).schema == typed_schema("topic")


def test_strictly_a_fault_leaves_nothing_under_a_final_name(tmp_path: Path) -> None:
    data = bytearray(topics_log())
    data[-1] ^= 1
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(LogCorruptError, match="offset 290: CRC-32C"):
        run(tmp_path / "out", tmp_path / NAME)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [WORK_FOLDER]
    with pytest.raises(LogCorruptError, match="offset 290: CRC-32C"):
        run(tmp_path / "out", tmp_path / NAME, jobs=2)


@pytest.mark.parametrize("tables", [None, ("topic",)])
def test_what_no_export_has_written_is_not_replaced(tmp_path: Path, tables: tuple[str, ...] | None) -> None:
    (tmp_path / NAME).write_bytes(topics_log())
    foreign = tmp_path / "out" / "topic.parquet"
    foreign.mkdir(parents=True)
    (foreign / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"out/topic\.parquet: is there already"):
        run(tmp_path / "out", tmp_path / NAME, tables=tables)
    assert everything_below(tmp_path / "out") == {"topic.parquet/mine.txt": b"mine"}
    # Another form leaves it alone; so does what was exported before.
    run(tmp_path / "out", tmp_path / NAME, tables=tables, form="csv")
    with pytest.raises(UsageError, match="is there already"):
        run(tmp_path / "out", tmp_path / NAME, tables=tables)
    assert (foreign / "mine.txt").read_text() == "mine"


def test_processes_end_with_one_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import os, signal\n"
        "from metashell.tables.export.workers import Workers\n"
        "workers = Workers(2, os.getpid, os.getpid)\n"
        "workers.start(2)\n"
        "print(len(workers._processes), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    # Whoever is left holds the pipe open, and the call would not come back.
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.stdout, done.returncode) == (b"2\n", -signal.SIGKILL)


@pytest.mark.slow
def test_processes_that_share_what_is_loaded_write_what_one_writes(tmp_path: Path) -> None:
    """In a process of its own, which has not loaded pyarrow: only then its workers are forks."""
    (tmp_path / NAME).write_bytes(topics_log())
    script = (
        "import sys\n"
        "from metashell.tables.export.plan import ExportOptions\n"
        "from metashell.tables.export.job import export\n"
        "assert 'pyarrow' not in sys.modules\n"
        "options = ExportOptions(paths=(sys.argv[1],), out=sys.argv[2], jobs=2, target_bytes=2000)\n"
        "print(export(options).split_count)\n"
    )
    argv = [sys.executable, "-c", script, str(tmp_path / NAME), str(tmp_path / "out")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) > 2
    assert names_in(tmp_path / "out") == [f"t{number}" for number in range(300)]


@pytest.mark.parametrize("more", [(), ("--append",)])
def test_a_command_does_not_load_pandas(tmp_path: Path, more: tuple[str, ...]) -> None:
    """pyarrow would, with its first array: 0.3 s of CPU time in each process."""
    pytest.importorskip("pandas")
    (tmp_path / NAME).write_bytes(topics_log())
    script = "import sys; from metashell.cli.tables.export import main; print(main(sys.argv[1:]), 'pandas' in sys.modules)"
    argv = [sys.executable, "-c", script, str(tmp_path / NAME), "--out", str(tmp_path / "out"), "-q", *more]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0 False\n"


def test_an_error_does_not_wait_for_work_that_has_begun() -> None:
    with pytest.raises(KeyboardInterrupt), Workers(2, os.getpid, os.getpid) as workers:
        workers.start(2)
        processes = workers._processes
        for _ in range(4):
            workers.submit(_wait_for_ever)
        raise KeyboardInterrupt
    assert len(processes) == 2 and not any(process.is_alive() for process in processes)


def _wait_for_ever() -> None:
    threading.Event().wait()


@pytest.mark.parametrize("jobs", quick([1, 2]))
def test_a_file_that_is_gone_when_its_turn_comes_is_an_error_of_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / NAME).write_bytes(topics_log())
    options = ExportOptions(
        paths=(str(tmp_path / "a"), str(tmp_path / "b")), out=str(tmp_path / "out"), form="jsonl", jobs=jobs, target_bytes=1000
    )

    def lose_the_last(_: int) -> None:
        (tmp_path / "b" / NAME).unlink()

    with pytest.raises(PathError, match=NAME):
        export(options, planned=lose_the_last)


def test_a_failed_export_leaves_the_one_before_it_as_it_was(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(topics_log())
    run(tmp_path / "out", tmp_path / NAME)
    before = everything_below(tmp_path / "out")
    data = bytearray(topics_log(400))
    data[-1] ^= 1
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(LogCorruptError):
        run(tmp_path / "out", tmp_path / NAME)
    after = everything_below(tmp_path / "out")
    assert {name: data for name, data in after.items() if not name.startswith(WORK_FOLDER)} == before


def test_skipped_faults_are_rows_with_place_reason_and_the_bytes_that_hold_no_secret(tmp_path: Path) -> None:
    data = bytearray(topics_log())
    data[-1] ^= 1
    (tmp_path / NAME).write_bytes(data)
    report = run(tmp_path / "out", tmp_path / NAME, on_error="skip")
    assert report.rows["topic"] == 290 and report.rows["faults"] == 1
    (fault,) = pyarrow.parquet.read_table(tmp_path / "out" / "faults.parquet").to_pylist()
    last = data[fault["position"] :]
    assert (fault["file"], fault["offset"], fault["kind"], fault["size"]) == (str(tmp_path / NAME), 290, "bad-crc", len(last))
    assert fault["bytes"] == bytes(last[:61])
    run(tmp_path / "clear", tmp_path / NAME, on_error="skip", show_secrets=True)
    (fault,) = pyarrow.parquet.read_table(tmp_path / "clear" / "faults.parquet").to_pylist()
    assert fault["bytes"] == bytes(last)


@pytest.mark.parametrize("target_bytes", [4000, 1 << 30])
def test_a_failed_export_leaves_no_empty_directory(tmp_path: Path, target_bytes: int) -> None:
    data = bytearray(topics_log())
    data[100] ^= 1
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(LogCorruptError):
        run(tmp_path / "new", tmp_path / NAME, target_bytes=target_bytes)
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with pytest.raises(LogCorruptError):
        run(tmp_path / "old", tmp_path / NAME, target_bytes=target_bytes)
    assert list((tmp_path / "old").iterdir()) == []


def test_a_failed_export_keeps_the_parts_that_the_next_one_takes_over(tmp_path: Path) -> None:
    data = bytearray(topics_log())
    data[-100] ^= 1
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(LogCorruptError):
        run(tmp_path / "out", tmp_path / NAME)
    assert len((tmp_path / "out" / WORK_FOLDER / "journal.jsonl").read_text().splitlines()) > 1


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_is_no_place_for_tables(tmp_path: Path, *, is_link: bool) -> None:
    (tmp_path / NAME).write_bytes(topics_log())
    (tmp_path / "pic.png").symlink_to("nowhere") if is_link else (tmp_path / "pic.png").write_bytes(b"")
    with pytest.raises(NotADirectoryError) as caught:
        run(tmp_path / "pic.png", tmp_path / NAME)
    assert caught.value.filename == str(tmp_path / "pic.png")


def test_an_interrupted_export_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_bytes(topics_log())
    done: list[int] = []

    def interrupt(_: int, rows: int) -> None:
        done.append(rows)
        if len(done) == 2:
            raise KeyboardInterrupt

    options = ExportOptions(paths=(str(tmp_path / NAME),), out=str(tmp_path / "out"), jobs=1, target_bytes=4000)
    with pytest.raises(KeyboardInterrupt):
        export(options, interrupt)
    assert not (tmp_path / "out" / "topic.parquet").exists()
    journal = tmp_path / "out" / WORK_FOLDER / "journal.jsonl"
    journal.write_text(journal.read_text() + '{"split": "half a li')
    report = export(options)
    assert report.reused_count == 2
    assert names_in(tmp_path / "out") == [f"t{number}" for number in range(300)]


def test_other_settings_do_not_take_up_what_was_left(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(topics_log())
    with pytest.raises(KeyboardInterrupt):
        export(ExportOptions(paths=(str(tmp_path / NAME),), out=str(tmp_path / "out"), jobs=1, target_bytes=4000), _interrupt)
    assert run(tmp_path / "out", tmp_path / NAME, show_secrets=True).reused_count == 0


def _interrupt(_: int, rows: int) -> None:
    raise KeyboardInterrupt


def test_a_repeated_export_reads_only_what_is_new(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / "in" / f"c{number}").mkdir(parents=True)
        (tmp_path / "in" / f"c{number}" / NAME).write_bytes(topics_log(100, 100 * number))
    assert run(tmp_path / "out", tmp_path / "in", target_bytes=1, on_error="skip").reused_count == 0
    assert run(tmp_path / "out", tmp_path / "in", target_bytes=1, on_error="skip").is_unchanged
    (tmp_path / "in" / "c3").mkdir()
    (tmp_path / "in" / "c3" / NAME).write_bytes(topics_log(100, 300))
    (tmp_path / "in" / "c0" / NAME).unlink()
    report = run(tmp_path / "out", tmp_path / "in", target_bytes=1, on_error="skip")
    assert 0 < report.reused_count < report.split_count
    assert names_in(tmp_path / "out") == [f"t{number}" for number in range(100, 400)]


def test_a_file_that_has_grown_is_read_again(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(topics_log(100))
    run(tmp_path / "out", tmp_path / NAME, target_bytes=1 << 30)
    (tmp_path / NAME).write_bytes(topics_log(200))
    assert run(tmp_path / "out", tmp_path / NAME, target_bytes=1 << 30).reused_count == 0
    assert len(names_in(tmp_path / "out")) == 200


@pytest.mark.slow
def test_a_worker_that_dies_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_bytes(topics_log())
    monkeypatch.setattr(job, "_export_split", _die)
    with pytest.raises(Exception, match="ended unexpectedly"):
        run(tmp_path / "out", tmp_path / NAME, jobs=2)


def _die(*_: object) -> None:
    os._exit(9)


def test_a_table_that_was_named_is_there_without_rows_too(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(topics_log(10))
    run(tmp_path / "out", tmp_path / NAME, tables=("partition",))
    assert pyarrow.parquet.read_table(tmp_path / "out" / "partition.parquet").num_rows == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [MANIFEST, "faults.parquet", "partition.parquet"]


def secret_log() -> bytes:
    scram = message_type("metadata", "UserScramCredentialRecord").cls(
        name="u", mechanism=1, salt=b"s" * 9, stored_key=b"k" * 9, iterations=1
    )
    config = message_type("metadata", "ConfigRecord").cls(resource_type=4, resource_name="1", name="ssl.key.password", value="hunter22")
    broken = write_metadata_record(config)[:-1] + b"hunter22"
    values = [write_metadata_record(scram), write_metadata_record(config), broken] * 30
    return write_batch(0, [Record(at, 5, None, value) for at, value in enumerate(values)], leader_epoch=1)


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_no_output_holds_a_secret_unless_it_is_asked_for_and_then_says_so(tmp_path: Path, form: str) -> None:
    from metashell.tables.dictionary import table_names

    (tmp_path / NAME).write_bytes(secret_log())
    for show in (False, True):
        out = tmp_path / str(show)
        run(out, tmp_path / NAME, form=form, tables=tuple(table_names()), show_secrets=show, on_error="skip")
        manifest = json.loads((out / MANIFEST).read_text())
        assert manifest["settings"]["show_secrets"] is show
        if form in ("parquet", "arrow"):
            rows = [row for path in out.glob(f"*.{form}") for row in _rows(path, form)]
            text = repr(rows)
        else:
            text = "".join(path.read_text() for path in out.glob(f"*.{form}"))
        secrets = ("hunter22", "sssssssss", "c3Nzc3Nzc3Nz", "kkkkkkkkk", b"hunter22".hex())
        assert any(secret in text for secret in secrets) is show
        assert "[redacted]" in text or show
    if form == "parquet":
        metadata = pyarrow.parquet.read_schema(tmp_path / "True" / "config.parquet").metadata
        assert metadata[b"metashell.show_secrets"] == b"true"


def _rows(path: Path, form: str) -> list[dict[str, Any]]:
    read = pyarrow.parquet.read_table if form == "parquet" else lambda path: pa.ipc.open_file(path).read_all()
    found: list[dict[str, Any]] = read(path).to_pylist()
    return found


def test_clusters_are_kept_apart_by_id_or_by_path(tmp_path: Path) -> None:
    for cluster in ("a", "b"):
        folder = tmp_path / cluster / "__cluster_metadata-0"
        folder.mkdir(parents=True)
        (folder / NAME).write_bytes(topics_log(10))
    (tmp_path / "a" / "meta.properties").write_text("version=1\ncluster.id=Cluster-A\nnode.id=1\n")
    run(tmp_path / "out", tmp_path, target_bytes=1 << 30)
    found = pyarrow.parquet.read_table(tmp_path / "out" / "topic.parquet").column("cluster_id").to_pylist()
    assert sorted(set(found)) == sorted({"Cluster-A", str(tmp_path / "b" / "__cluster_metadata-0")})


def test_pyarrows_file_systems_are_read_too(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(topics_log())
    assert run(tmp_path / "out", f"file://{tmp_path}/in").rows["topic"] == 300  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="No such file"):
        run(tmp_path / "out", f"file://{tmp_path}/none")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="nowhere://x"):
        run(tmp_path / "out", "nowhere://x/y")  # type: ignore[arg-type]


def test_nothing_that_an_earlier_export_wrote_goes_unless_it_may(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / NAME).write_bytes(topics_log())
    out = tmp_path / "out"
    run(out, tmp_path / "a" / NAME)
    before = everything_below(out)
    for options, lost in (({"tables": ("no_op",)}, "batches, topic"), ({"form": "csv"}, "parquet files")):
        with pytest.raises(UsageError, match=f"{out}: has an export of {lost}, which this one would remove: --replace"):
            run(out, tmp_path / "a" / NAME, **options)
    with pytest.raises(UsageError, match=f"{out}: has an export of {tmp_path}/a/{NAME}, which this one would remove"):
        run(out, tmp_path / "b" / NAME)
    assert everything_below(out) == before
    run(out, tmp_path)  # both, so nothing goes
    assert len(names_in(out)) == 600
    run(out, tmp_path / "b", replaces=True)
    assert len(names_in(out)) == 300
