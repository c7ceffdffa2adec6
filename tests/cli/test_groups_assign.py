"""`metashell groups assign`: files of inputs and rows, and what it says of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from metashell.cli import groups
from tests.running import Outcome, run_main

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "groups" / "assignors"
T = "AAAAAAAAAAAAAAAAAAAAAQ"
INPUT = {"topics": {T: {"partitions": 3}}, "members": [{"id": "a", "topicIds": [T], "previous": {T: [0]}}, {"id": "b", "topicIds": [T]}]}
ROW = {"id": "r1", "assignor": "server-uniform", "input": INPUT, "output": {"assignment": {"a": {T: [0]}, "b": {T: [1, 2]}}}}


def assign(*words: str | Path) -> Outcome:
    return run_main(groups.main, ["assign", *map(str, words)], cwd=Path.cwd())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "group.json"
    path.write_text(json.dumps(INPUT, indent=1))
    return path


def test_text_has_a_line_for_each_member(file: Path) -> None:
    done = assign("-a", "server-uniform", file)
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.decode().splitlines() == ["server-uniform: 2 members", f"a   1 partition  {T}:0", f"b  2 partitions  {T}:1-2"]


def test_programs_get_rows_with_their_output(file: Path) -> None:
    (row,) = json.loads(assign("-a", "server-range", file, "-o", "json").stdout)
    assert row == {"assignor": "server-range", "input": INPUT, "output": {"assignment": {"a": {T: [0, 1]}, "b": {T: [2]}}}}
    assert json.loads(assign("-a", "server-range", file, "-o", "jsonl").stdout) == row
    csv = assign("-a", "server-range", file, "-o", "csv").stdout.decode()
    assert csv.splitlines()[1:] == [
        f",server-range,a,{T},0-1",
        f",server-range,b,{T},2",
    ]


def test_packed_rows_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    wrong = {**ROW, "id": "r2", "output": {"assignment": {}}}
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in (ROW, wrong, {**ROW, "output": None})).encode()))
    done = assign("--check", path, "-o", "jsonl")
    assert done.status == 1
    assert json.loads(done.stdout) == {**ROW, "id": "r2"}
    assert done.stderr.splitlines() == [
        f"metashell groups assign: {path}: line 2: r2: the output differs",
        f"metashell groups assign: {path}: line 3: there is no output to compare with",
    ]


def test_what_kafka_throws_is_told(file: Path) -> None:
    file.write_text(json.dumps({**ROW, "input": {**INPUT, "topics": {}}}))
    done = assign(file, "-o", "json")
    assert done.status == 1
    assert "which doesn't exist in the topic metadata." in json.loads(done.stdout)[0]["output"]["message"]
    assert done.stderr.startswith(f"metashell groups assign: {file}: r1: PartitionAssignorException: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is nothing in it"),
        ("{", ":1:2: expecting property name"),
        ('{"members": [],\n\n', ":1:16: expecting property name"),
        ("3", "not a JSON object"),
        ('{"members": 3, "topics": {}}', "members: 3 is not an array"),
        ('{"members": [], "members": []}', 'an object has the key "members" twice'),
        ('{"members": [], "topics": {}}\n{"members": [}', ":2:14: expecting value"),
        ("\xff", "byte 0 is not UTF-8"),
    ],
)
def test_bad_input_is_told_in_one_line_and_shown(file: Path, text: str, words: str) -> None:
    file.write_bytes(text.encode("latin-1"))
    done = assign("-a", "server-simple", file)
    assert done.status == 2
    told, *excerpt = done.stderr.splitlines()
    assert words in told and str(file) in told
    assert not excerpt or excerpt[1].strip() == "^"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    done = assign(tmp_path / "no.json")
    assert (done.status, done.stdout) == (1, b"")
    assert done.stderr == f"metashell groups assign: {tmp_path / 'no.json'}: No such file or directory\n"


def test_a_command_is_named() -> None:
    assert run_main(groups.main, [], cwd=Path.cwd()).status == 2
    assert "did you mean assign" in run_main(groups.main, ["asign"], cwd=Path.cwd()).stderr


def test_golden_rows_from_the_command_line() -> None:
    assert assign("--check", GOLDEN / "server-range.jsonl.gz") == Outcome(0, b"", "")
