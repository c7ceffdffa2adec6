"""`metashell groups assign`: files of inputs and rows, and what it says of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from metashell.cli.groups import command
from metashell.groups.assignors.rows import input_warnings
from tests.running import Outcome, run_main

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "groups" / "assignors"
T = "AAAAAAAAAAAAAAAAAAAAAQ"
INPUT = {"topics": {T: {"partitions": 3}}, "members": [{"id": "a", "topicIds": [T], "previous": {T: [0]}}, {"id": "b", "topicIds": [T]}]}
ROW = {"id": "r1", "assignor": "server-uniform", "input": INPUT, "output": {"assignment": {"a": {T: [0]}, "b": {T: [1, 2]}}}}


def assign(*words: str | Path) -> Outcome:
    return run_main(command.main, ["assign", *map(str, words)], cwd=Path.cwd())


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
        ("", ": empty"),
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
    assert done.status == 1
    told, *excerpt = done.stderr.splitlines()
    assert words in told and str(file) in told
    assert not excerpt or excerpt[1].strip() == "^"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    done = assign(tmp_path / "no.json")
    assert (done.status, done.stdout) == (1, b"")
    assert done.stderr == f"metashell groups assign: {tmp_path / 'no.json'}: No such file or directory\n"


def test_a_directory_is_no_file_of_inputs_and_a_missing_assignor_is_the_command_lines(tmp_path: Path, file: Path) -> None:
    done = assign("-a", "range", tmp_path)
    assert (done.status, done.stdout) == (1, b"")
    assert done.stderr == f"metashell groups assign: {tmp_path}: Is a directory\n"
    done = assign(file)
    assert (done.status, done.stderr) == (2, f"metashell groups assign: {file}: no assignor is named: give --assignor\n")


def test_what_an_input_has_that_may_not_be_meant_is_told_and_the_answer_is_given(file: Path) -> None:
    input = {
        "topics": {"a": [[1], [1]], "b": [[1]]},
        "comment": "",
        "members": [
            {"id": "m1", "topics": ["a", "gone"], "bogus": 1, "owned": [["a", [0, 0, 7]], ["gone", [0]]], "generation": 3},
            {"id": "m2", "topics": ["a"], "instance_id": "i", "bogus": 2, "owned": [["a", [0]]], "generation": 3},
            {"id": "m3", "topics": ["a"], "owned": [["a", [0]]], "generation": 2},
        ],
    }
    file.write_text(json.dumps({"id": "r1", "input": input}))
    done = assign("-a", "cooperative-sticky", file, "-o", "json")
    assert done.status == 0
    assert set(json.loads(done.stdout)[0]["output"]["assignment"]) == {"m1", "m2", "m3"}
    member_keys = "known are id, topics, instanceId, rack, owned, generation, userData, version, subscription"
    assert [line.removeprefix(f"metashell groups assign: {file}: r1: ") for line in done.stderr.splitlines()] == [
        'unknown key "comment" in input is ignored: known are nodes, topics, members',
        f'unknown key "bogus" in input.members[0], input.members[1] is ignored: {member_keys}',
        f'unknown key "instance_id" in input.members[1] is ignored: {member_keys}',
        "members subscribe to what is not among the topics, which nobody gets: gone",
        "member m1 owns 1 partition more than once",
        "owned partitions that do not exist: a-7 (m1), gone-0 (m1)",
        "two members own the same partition in one generation: a-0 (m1, m2)",
    ]


def test_the_same_for_the_brokers_assignors(file: Path) -> None:
    members = [{"id": "a", "topicIds": [T], "previous": {T: [2, 3], T[:-1] + "g": [0]}, "rack": "r"}]
    file.write_text(json.dumps({**INPUT, "members": members, "assignor": "server-range"}))
    done = assign(file)
    assert done.status == 0
    assert [line.removeprefix(f"metashell groups assign: {file}: server-range: ") for line in done.stderr.splitlines()] == [
        'unknown key "rack" in members[0] is ignored: known are id, topicIds, previous, instanceId, rackId',
        f"previous partitions that do not exist: {T}-3 (a), {T[:-1]}g-0 (a)",
    ]


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("*.gz")))
def test_rows_of_kafkas_classes_have_only_known_keys(name: str) -> None:
    with gzip.open(GOLDEN / name, "rt") as lines:
        for line, _ in zip(lines, range(200), strict=False):
            row = json.loads(line)
            if "assignment" in row["output"]:
                assert not [text for text in input_warnings(row["assignor"], row) if text.startswith("unknown key")]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["-b", "h:1", "list"], ["list", "-b", "h:1"]),
        (["-o", "json", "LOGS", "describe", "g"], ["describe", "-o", "json", "g", "LOGS"]),
        (["LOGS", "describe", "g"], ["describe", "g", "LOGS"]),
        (["--help", "list"], ["--help", "list"]),
        (["list", "-b", "h:1"], ["list", "-b", "h:1"]),
    ],
)
def test_options_and_paths_may_stand_before_the_command(words: list[str], first: list[str]) -> None:
    assert command._command_first(words) == first


def test_a_command_is_named() -> None:
    assert run_main(command.main, [], cwd=Path.cwd()).status == 2
    assert "did you mean assign" in run_main(command.main, ["asign"], cwd=Path.cwd()).stderr


def test_golden_rows_from_the_command_line() -> None:
    assert assign("--check", GOLDEN / "server-range.jsonl.gz") == Outcome(0, b"", "")
