"""The command `metashell lake`: what it says of a lake, what it finds wrong, and its upkeep."""

from __future__ import annotations

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.tables import lake
from tests.running import Outcome, run_main
from tests.secret_logs import found_in, write_logs
from tests.tables.lake.lakes import DAY, SEGMENT, START, node, run, segment, topics

VERBS = ("status", "log", "check", "optimize", "vacuum")
FORMS = ("text", "json", "jsonl", "csv", "table")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A lake of two days and two appends, with a gap."""
    log = node(tmp_path / "node")
    (log / segment(14)).write_bytes(topics(14, 6, time=START + DAY))
    run(tmp_path / "lake", log / segment(14))
    (log / SEGMENT).write_bytes(topics(0, 10))
    (log / segment(14)).unlink()
    run(tmp_path / "lake", tmp_path / "node")
    return tmp_path / "lake"


def ask(verb: str, place: Path | str, *words: str) -> Outcome:
    return run_main(lake.main, [verb, str(place), *words], cwd=Path("/"))


def told(verb: str, place: Path | str, *words: str) -> Any:
    done = ask(verb, place, *words, "-o", "json")
    assert done.stderr == ""
    return json.loads(done.stdout)


def content(place: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in place.rglob("*")}


@pytest.mark.parametrize("verb", VERBS)
def test_a_directory_of_logs_is_no_lake(tmp_path: Path, verb: str) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 4))
    before = content(tmp_path)
    done = ask(verb, tmp_path / "node")
    said = f"metashell lake {verb}: {tmp_path}/node: no lake here: there is no table appends; metashell export --append makes one\n"
    if verb in ("optimize", "vacuum"):
        said = f"metashell lake {verb}: {tmp_path}/node: is or lies in a metadata directory, which is only read\n"
    assert (done.status, done.stdout, done.stderr) == (1, b"", said)
    done = ask(verb, tmp_path / "nothing")
    assert (done.status, done.stdout, done.stderr) == (1, b"", f"metashell lake {verb}: {tmp_path}/nothing: No such file or directory\n")
    assert content(tmp_path) == before


def test_status_says_what_is_there(made: Path) -> None:
    before = content(made)
    found = told("status", made)
    assert (found["rows"], found["files"], found["append"]["append"], found["lacking"]) == (24, 4, 2, [])
    assert [(each["table"], each["rows"], each["files"], each["first_day"], each["last_day"]) for each in found["tables"]] == [
        ("batches", 8, 2, "2026-09-21", "2026-09-22"),
        ("topic", 16, 2, "2026-09-21", "2026-09-22"),
    ]
    (log,) = found["logs"]
    assert (log["node"], log["log"], log["offsets"]) == (1, "__cluster_metadata-0", [[0, 9], [14, 19]])
    assert log["gaps"] == [{"first": 10, "last": 13, "in_checkpoint": False}]
    lines = ask("status", made).stdout.decode().splitlines()
    assert lines[0].split() == ["lake", str(made)]
    assert lines[-1].split() == ["__cluster_metadata-0", "1", "quokka-cluster-1234567", "0", "to", "9,", "14", "to", "19", "10", "to", "13"]
    assert content(made) == before


def test_log_lists_the_appends(made: Path) -> None:
    found = told("log", made)
    assert [(each["append"], each["kind"], each["rows"]) for each in found] == [(1, "append", 9), (2, "append", 15)]
    assert found[1]["tables"] == {"batches": 5, "topic": 10}
    assert [log["offsets"] for log in found[1]["logs"]] == [[[0, 9]]]
    assert told("log", made, "--last", "1") == found[1:]
    text = ask("log", made).stdout.decode().splitlines()
    assert text[0].split()[-4:] == ["rows", "in", "2", "tables"]
    assert text[-1].strip() == "__cluster_metadata-0 of node 1 of quokka-cluster-1234567: 0 to 9"


@pytest.mark.parametrize(("verb", "form"), list(product(VERBS, FORMS)))
def test_every_form_says_something_of_a_lake(made: Path, verb: str, form: str) -> None:
    done = ask(verb, made, "-o", form)
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout or (verb, form) in (("check", "jsonl"), ("vacuum", "jsonl"))


def test_check_finds_what_is_wrong(made: Path) -> None:
    assert ask("check", made).stdout == b"append 2: all is there: 6 files with 24 rows\n"
    topic, batches = (sorted(made.glob(f"{table}/**/part-*.parquet")) for table in ("topic", "batches"))
    topic[0].unlink()
    topic[1].write_bytes(topic[1].read_bytes()[:-4] + b"xxxx")
    batches[0].write_bytes(batches[0].read_bytes() + b"x")
    shutil.copy(batches[1], batches[1].with_name("part-other.parquet"))
    done = ask("check", made)
    assert (done.status, done.stderr) == (1, "")
    lines = done.stdout.decode().splitlines()
    assert f"{batches[0].relative_to(made)}: has {batches[0].stat().st_size:,} bytes, and its table says" in lines[0]
    assert any(line.startswith(f"{topic[0].relative_to(made)}: is missing, with ") for line in lines)
    assert any(line.startswith(f"{topic[1].relative_to(made)}: cannot be read: ") for line in lines)
    assert any("part-other.parquet: no commit names it now" in line for line in lines)
    assert lines[-1] == "append 2: 3 faults in 6 files with 24 rows"
    kinds = [(each["finding"], each["is_fault"]) for each in told("check", made)]
    assert sorted(kinds) == [("damaged", True), ("missing", True), ("size", True), ("stray", False)]


def test_appends_that_are_damaged_are_one_line(made: Path) -> None:
    (kept, *_) = sorted(made.glob("appends/part-*.parquet"))
    whole = kept.read_bytes()
    for data in (b"", b"PAR1", whole[: len(whole) // 2]):
        kept.write_bytes(data)
        for verb in VERBS:
            done = ask(verb, made)
            assert done.status == 1
            assert done.stderr.startswith(f"metashell lake {verb}: {kept}: damaged: ") and done.stderr.count("\n") == 1
    kept.unlink()
    assert ask("status", made).stderr == f"metashell lake status: {kept}: is gone: nothing says what this lake holds\n"


def test_upkeep_says_what_it_did(made: Path) -> None:
    assert ask("optimize", made).stdout == b"batches: 2 files became 1\ntopic: 2 files became 1\n"
    assert ask("optimize", made).stdout == b"no table has small files to put together\n"
    assert ask("vacuum", made, "--dry-run").stdout == b"0 files would be removed\n"
    assert ask("vacuum", made).stdout == b"0 files removed\n"
    assert ask("check", made).status == 0
    done = ask("vacuum", made, "--grace", "0")
    assert done.status != 0 and "--grace: at least 1 hour" in done.stderr


def test_no_name_forges_a_line(tmp_path: Path) -> None:
    log = node(tmp_path / "node", cluster="a\\nb\\u001b[31m")
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(tmp_path / "lake", tmp_path / "node")
    for verb in ("status", "log"):
        text = ask(verb, tmp_path / "lake").stdout.decode()
        assert "\x1b" not in text and "a\\nb\\x1b[31m" in text


def test_nothing_is_shown_of_secrets(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs")
    for kind in ("odd", "damaged"):
        run(tmp_path / kind, tmp_path / "logs" / kind, on_error="skip")
    for verb, kind, form in product(("status", "log", "check"), ("odd", "damaged"), FORMS):
        done = ask(verb, tmp_path / kind, "-o", form)
        assert not found_in(done.stdout)
        assert not found_in(done.stderr.encode())


@pytest.mark.slow
def test_a_lake_in_a_store(s3: str, tmp_path: Path) -> None:
    log = node(tmp_path / "node")
    place = f"{s3}/lake"
    for count in (10, 14):
        (log / SEGMENT).write_bytes(topics(0, count))
        run(place, tmp_path / "node")
    found = told("status", place)
    assert (found["lake"], found["rows"], found["files"]) == (place, 21, 4)
    assert [append["rows"] for append in told("log", place)] == [15, 6]
    assert ask("check", place).stdout == b"append 2: all is there: 6 files with 21 rows\n"
    assert ask("optimize", place).stdout == b"batches: 2 files became 1\ntopic: 2 files became 1\n"
    assert ask("vacuum", place).stdout == b"0 files removed\n"
    assert told("status", place)["rows"] == 21
