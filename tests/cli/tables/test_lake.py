"""metashell lake: what is said of a lake, whole and damaged, while it is written and after a crash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.tables import lake
from metashell.common.errors import MetashellError
from metashell.tables.lake.layout import checkpoint_name, commit_name, read_state
from metashell.tables.lake.status import Checked, check_lake
from metashell.tables.stores import open_store
from metashell.tables.stores.locks import find_lock_owner
from tests.running import Outcome, run_main
from tests.secret_logs import found_in, write_logs
from tests.tables.lake.dying import Died, Life, living
from tests.tables.lake.lakes import DAY, SEGMENT, START, node, run, segment, topics

FORMS = ("text", "json", "jsonl", "csv", "table")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A lake of two days and two commits, with a gap."""
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


def findings(place: Path) -> list[tuple[str, str, bool]]:
    return [(found.kind, found.name, found.is_fault) for found in check_lake(open_store(str(place)), Checked())]


def parts(place: Path, table: str = "topic") -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.glob(f"table={table}/**/*.parquet"))


def content(place: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in place.rglob("*")}


@pytest.mark.parametrize("verb", ["status", "log", "check"])
def test_a_directory_of_logs_is_no_lake(tmp_path: Path, verb: str) -> None:
    node(tmp_path / "node")
    done = ask(verb, tmp_path / "node")
    said = f"{tmp_path / 'node'}: no lake here: there is no _metashell/format.json; metashell export --append makes one"
    assert (done.status, done.stderr) == (1, f"metashell lake {verb}: {said}\n")


def test_status_says_what_is_there(made: Path) -> None:
    found = told("status", made)
    assert (found["rows"], found["files"], found["commit"]["commit"], found["commit"]["kind"]) == (24, 4, 2, "append")
    assert found["bytes"] == sum(path.stat().st_size for path in made.rglob("*.parquet"))
    assert [(table["table"], table["rows"], table["first_day"], table["last_day"]) for table in found["tables"]] == [
        ("batches", 8, "2026-09-21", "2026-09-22"),
        ("topic", 16, "2026-09-21", "2026-09-22"),
    ]
    assert found["logs"] == [
        {
            "cluster_id": "quokka-cluster-1234567",
            "node": 1,
            "log": "__cluster_metadata-0",
            "offsets": [[0, 9], [14, 19]],
            "gaps": [{"first": 10, "last": 13, "in_checkpoint": False}],
            "checkpoints": [],
            "directory_id": None,
        }
    ]
    assert (found["pending"], found["writer"]) == ([], None)
    text = ask("status", made).stdout.decode()
    assert "__cluster_metadata-0  1     quokka-cluster-1234567  0 to 9, 14 to 19  10 to 13" in text
    assert "writer  nobody now" in text


def test_log_lists_the_commits(made: Path) -> None:
    first, second = told("log", made)
    assert (first["commit"], first["rows"], first["files"], first["tables"]) == (1, 9, 2, {"batches": 3, "topic": 6})
    assert second["logs"][0]["offsets"] == [[0, 9]]
    assert told("log", made, "--last", "1") == [second]
    assert told("log", made, "-n", "0") == []
    assert told("log", made, "-n", "9") == [first, second]
    text = ask("log", made).stdout.decode().splitlines()
    assert text[0].endswith(f"append     +9 rows, 2 files of {sum(map(os.path.getsize, made.glob('table=*/*/*-22/*'))) / 1000:.3g} kB")
    assert text[1] == "        __cluster_metadata-0 of node 1 of quokka-cluster-1234567: 14 to 19"


@pytest.mark.parametrize("verb", ["status", "log", "check"])
def test_every_form_of_a_lake_and_of_an_empty_one(made: Path, verb: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty" / "_metashell"
    empty.mkdir(parents=True)
    shutil.copy(made / "_metashell" / "format.json", empty)
    for place in (made, empty.parent):
        before = content(place)
        for form in FORMS:
            done = ask(verb, place, "-o", form)
            assert (done.status, done.stderr) == (0, ""), form
            if form == "json":
                json.loads(done.stdout)
            elif form == "jsonl":
                assert all(isinstance(json.loads(line), dict) for line in done.stdout.splitlines())
        assert content(place) == before


def test_check_finds_what_is_wrong(made: Path) -> None:
    assert findings(made) == []
    assert ask("check", made).stdout == b"commit 2: all is there: 4 files with 24 rows\n"
    first, second = parts(made)
    (made / first).unlink()
    shutil.copy(made / second, made / second.replace("part-", "copy-"))
    batches = parts(made, "batches")[0]
    with (made / batches).open("ab") as file:
        file.write(b"more")
    (made / "table=topic" / "_SUCCESS").touch()
    (made / "notes.txt").touch()
    assert findings(made) == [
        ("size", batches, True),
        ("missing", first, True),
        ("other", "notes.txt", False),
        ("other", "table=topic/_SUCCESS", False),
        ("stray", second.replace("part-", "copy-"), True),
    ]
    done = ask("check", made)
    assert (done.status, done.stderr) == (1, "")
    lines = done.stdout.decode().splitlines()
    assert f"{first}: is missing, with 10 rows" in lines
    assert lines[-1] == "commit 2: 3 faults in 4 files with 24 rows"
    assert [found["finding"] for found in told("check", made) if found["is_fault"]] == ["size", "missing", "stray"]


def test_check_compares_rows_and_reads_footers(made: Path) -> None:
    second, first = parts(made)
    data = (made / first).read_bytes()
    (made / first).write_bytes(data[:-4] + b"PARX")
    path = made / commit_name(2)
    commit = json.loads(path.read_text())
    for file in commit["added"]:
        if file[0] == second:
            file[1] += 1
    path.write_text(json.dumps(commit))
    assert findings(made) == [("rows", second, True), ("damaged", first, True), ("sum", "table=topic", True)]
    assert f"{second}: has 10 rows, and its commit says 11\n" in ask("check", made).stdout.decode()


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"number": 2}', "wrong number", "wrong source"])
def test_a_ledger_that_is_damaged_is_one_line(made: Path, text: str, tmp_path: Path) -> None:
    path = made / commit_name(2)
    if text.startswith("wrong"):
        commit = json.loads(path.read_text())
        commit["number" if text == "wrong number" else "first_source"] += 1
        text = json.dumps(commit)
    path.write_text(text)
    for verb in ("status", "check"):
        done = ask(verb, made)
        assert (done.status, done.stdout) == (1, b"")
        assert done.stderr == f"metashell lake {verb}: {path}: damaged: not the JSON that was written there\n"
    with pytest.raises(MetashellError, match="damaged"):
        run(made, tmp_path / "node" / "__cluster_metadata-0" / segment(14))


def test_files_of_others_beside_the_ledger_are_named_and_disturb_nobody(made: Path, tmp_path: Path) -> None:
    """What a Mac leaves in a copy, what an editor does, and names that are almost ours."""
    own = made / "_metashell"
    (own / "pending").mkdir(exist_ok=True)
    (own / "commits" / "old").mkdir()
    odd = [
        "._00000002.json",
        "._00000025.checkpoint.json",
        "00000002.json~",
        "0000000\u00b2.json",
        "99.json",
        "x.checkpoint.json",
        "old/00000009.json",
    ]
    others = sorted(["_metashell/pending/._00000003-x.json", *(f"_metashell/commits/{name}" for name in odd)])
    for name in others:
        (made / name).write_bytes(b"\0\5\x16\7")
    assert findings(made) == [("other", name, False) for name in others]
    assert [commit["commit"] for commit in told("log", made)] == [1, 2]
    assert told("status", made)["rows"] == 24
    (node(tmp_path / "node") / segment(20)).write_bytes(topics(20, 2))
    assert run(made, tmp_path / "node" / "__cluster_metadata-0" / segment(20)).number == 3


def spoil(said: dict[str, Any], place: str) -> None:
    """Put into a pending file what never was written there."""
    commit, name = said["commit"], "../../evil.parquet"
    match place:
        case "added":
            commit["added"][0][0] = name
        case "removed":
            commit["removed"] = [name]
        case "staged":
            said["staged"][0] = name
        case "staged short":
            said["staged"].pop()
        case "id":
            commit["id"] = "../x"
        case "number":
            commit["number"] = "3"


@pytest.mark.parametrize("place", ["added", "removed", "staged", "staged short", "id", "number"])
def test_a_commit_that_names_what_no_lake_has_is_damaged_and_nothing_is_touched(made: Path, tmp_path: Path, place: str) -> None:
    evil = made.parent / "evil.parquet"
    evil.write_bytes(b"x")
    commit = json.loads((made / commit_name(2)).read_text())
    said = {"commit": {**commit, "number": 3, "id": "a" * 32}, "staged": [file[0] for file in commit["added"]], "more": {}}
    spoil(said, place)
    pending = made / "_metashell" / "pending" / f"00000003-{'a' * 32}.json"
    pending.parent.mkdir(exist_ok=True)
    pending.write_text(json.dumps(said))
    before = content(tmp_path)
    for verb in ("status", "check"):
        done = ask(verb, made)
        assert (done.status, done.stderr) == (1, f"metashell lake {verb}: {pending}: damaged: not the JSON that was written there\n")
    with pytest.raises(MetashellError, match="damaged"):
        run(made, tmp_path / "node")
    if "staged" not in place:
        pending.unlink()
        (made / commit_name(3)).write_text(json.dumps(said["commit"]))
        for verb in ("status", "log", "check"):
            assert (
                ask(verb, made).stderr == f"metashell lake {verb}: {made / commit_name(3)}: damaged: not the JSON that was written there\n"
            )
        (made / commit_name(3)).unlink()
        pending.write_text("")
    assert {name: size for name, (size, _) in content(tmp_path).items() if name.endswith((".parquet", ".log"))} == {
        name: size for name, (size, _) in before.items() if name.endswith((".parquet", ".log"))
    }


def test_a_checkpoint_that_names_what_no_lake_has_is_damaged(made: Path) -> None:
    said = read_state(open_store(str(made))).to_json()
    said["files"][0][0] = "../evil.parquet"
    (made / checkpoint_name(2)).write_text(json.dumps(said))
    for verb in ("status", "check"):
        assert f"{checkpoint_name(2)}: damaged: not the JSON that was written there\n" in ask(verb, made).stderr


def test_no_name_forges_a_line(made: Path) -> None:
    (made / "x\ncommit 9: all is there: 4 files with 24 rows").touch()
    path = made / commit_name(1)
    commit = json.loads(path.read_text())
    commit["logs"][0]["cluster"] = "c\n     9  forged"
    path.write_text(json.dumps(commit))
    assert ask("check", made).stdout.decode().splitlines() == [
        "x\\ncommit 9: all is there: 4 files with 24 rows: is no file of a lake",
        "commit 2: all is there: 4 files with 24 rows",
    ]
    for verb in ("log", "status"):
        text = ask(verb, made).stdout.decode()
        assert "c\\n     9  forged" in text and "\n     9  forged" not in text


def test_commits_before_a_bad_one_are_listed(made: Path, tmp_path: Path) -> None:
    (node(tmp_path / "node") / segment(20)).write_bytes(topics(20, 2))
    run(made, tmp_path / "node" / "__cluster_metadata-0" / segment(20))
    path = made / commit_name(2)
    path.unlink()
    for form in ("text", "jsonl"):
        done = ask("log", made, "-o", form)
        assert done.status == 1
        assert done.stderr == f"metashell lake log: {path}: is missing: nothing says what this lake holds\n"
        assert b"+9 rows" in done.stdout or b'"commit":1,' in done.stdout
    assert ask("status", made).status == 1


def test_no_lake_is_status_1_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place, why in (("none", "No such file or directory"), (".", "no lake here"), ("file", "Not a directory")):
        done = ask("status", tmp_path / place)
        assert (done.status, done.stdout) == (1, b"")
        assert why in done.stderr
        assert done.stderr.count("\n") == 1
    assert ask("stauts", tmp_path).stderr == "metashell lake: unknown command stauts (did you mean status?)\n"
    assert ask("status", tmp_path, "again").status == 2


def dying_at(out: Path, source: Path, last: int, **options: Any) -> Life:
    """An export that dies before a step."""
    life = Life(last)
    with living(life), suppress(Died):
        run(out, source, **options)
    return life


def test_rows_that_readers_get_twice_after_a_crash_are_a_fault(tmp_path: Path) -> None:
    """A compaction that was killed when its commit was there: what it replaces is there too."""
    log = node(tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(tmp_path / "whole", tmp_path / "node")
    shutil.copytree(tmp_path / "whole", tmp_path / "lake")
    (log / SEGMENT).write_bytes(topics(0, 8))
    steps = dying_at(tmp_path / "whole", tmp_path / "node", -1, target_size=1 << 20).steps
    (made,) = [number for number, step in enumerate(steps) if step == f"put {commit_name(3)}"]
    dying_at(tmp_path / "lake", tmp_path / "node", made + 1, target_size=1 << 20)
    assert len(parts(tmp_path / "lake")) == 3
    done = ask("check", tmp_path / "lake")
    told_of = (
        "was replaced, and is still there: readers of the folder take its rows for those of the lake until the next export removes it\n"
    )
    assert done.status == 1 and done.stdout.decode().count(told_of) == 4
    assert done.stdout.decode().splitlines()[-1] == "commit 3: 4 faults in 2 files with 12 rows"
    with open_store(str(tmp_path / "lake")).lock("an export that goes on"):
        done = ask("check", tmp_path / "lake")
    assert done.status == 0 and done.stdout.decode().count(": was replaced by a commit that is being made, and is about to be removed") == 4
    run(tmp_path / "lake", tmp_path / "node")
    assert ask("check", tmp_path / "lake").stdout == b"commit 3: all is there: 2 files with 12 rows\n"


@pytest.mark.slow
def test_after_a_crash_at_any_step_a_fault_is_what_readers_would_read(tmp_path: Path) -> None:
    log = node(tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(tmp_path / "before", tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 8))
    last, seen = 0, set()
    while True:
        out = tmp_path / f"lake{last}"
        shutil.copytree(tmp_path / "before", out)
        life = dying_at(out, tmp_path / "node", last, target_size=1 << 20)
        stray = {*parts(out), *parts(out, "batches")} - read_state(open_store(str(out))).files.keys()
        found = findings(out)
        assert {name for _, name, is_fault in found if is_fault} == stray, (last, life.steps, found)
        with open_store(str(out)).lock("an export that goes on"):
            assert not any(is_fault for _, _, is_fault in findings(out))
        status = told("status", out)
        seen |= {(commit["kind"], commit["stage"], bool(stray)) for commit in status["pending"]}
        if len(life.steps) < last:
            break
        last += 1
    both = product(("append", "compact"), ("begun", "made"), (False, True))
    assert seen == {*both} - {("append", "made", True)}
    assert (status["rows"], status["files"], status["commit"]["kind"]) == (12, 2, "compact")


def test_what_a_compaction_removes_while_files_are_looked_at_is_not_missing(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metashell.tables.lake import status

    log = node(tmp_path / "node") / segment(20)
    log.write_bytes(topics(20, 2, time=START + DAY))
    run(made, log)
    first, second, third = parts(made)
    for is_whole in (True, False):
        lake = tmp_path / f"{is_whole}"
        shutil.copytree(made, lake)
        if not is_whole:
            (lake / first).unlink()

        def look(*words: Any, real: Any = status._look, lake: Path = lake) -> Any:
            if (lake / second).exists():
                run(lake, log, target_size=1 << 30)
            return real(*words)

        with monkeypatch.context() as patch:
            patch.setattr(status, "_look", look)
            assert findings(lake) == ([] if is_whole else [("missing", first, True)])
        assert not (lake / second).exists() and not (lake / third).exists()


def test_a_lake_that_is_never_still_is_said(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from metashell.tables.lake import status as check

    real, offsets = check.lake_status, count(20, 2)

    def status(store: Any) -> Any:
        found = real(store)
        log = node(tmp_path / "node") / segment(offset := next(offsets))
        log.write_bytes(topics(offset, 2))
        run(made, log)
        return found

    monkeypatch.setattr(check, "lake_status", status)
    assert findings(made) == [("other", "_metashell", False)]
    assert "exports ended while this lake was listed, one after the other" in ask("check", made).stdout.decode()


def test_tables_that_have_logs_of_their_own_are_not_looked_for(made: Path) -> None:
    """As `spark-reports export --format delta` leaves a ledger: commits that name no file."""
    for path in (made / "_metashell" / "commits").iterdir():
        commit = json.loads(path.read_text())
        commit["added"] = []
        if commit["format"]:
            commit["format"]["table_format"] = "delta"
        path.write_text(json.dumps(commit))
    path = made / "_metashell" / "format.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "table_format": "delta"}))
    done = ask("check", made)
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout == b"_metashell: only the ledger was looked at: what its tables hold is in their own logs, of delta\n"
    found = told("status", made)
    assert (found["table_format"], found["rows"], found["files"]) == ("delta", 24, 0)
    assert "24 rows in tables of delta" in ask("status", made).stdout.decode()


def test_who_writes_is_named_and_not_disturbed(made: Path) -> None:
    code = (
        "import sys; from metashell.tables.stores import open_store\n"
        "with open_store(sys.argv[1]).lock('metashell export --append') as held:\n print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(made)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        for _ in range(2):
            assert told("status", made)["writer"]["by"].startswith(f"metashell export --append (process {writer.pid} on ")
        assert f"process {writer.pid} on " in ask("status", made).stdout.decode()
        writer.kill()
    # What a killed one has left behind is no lock.
    assert (made / ".metashell-lock").exists()
    assert told("status", made)["writer"] is None
    with open_store(str(made)).lock("test"):
        assert find_lock_owner(open_store(str(made))) is not None
        code = "import sys; from metashell.tables.stores import open_store\nwith open_store(sys.argv[1]).lock('other'): pass"
        done = subprocess.run([sys.executable, "-c", code, str(made)], capture_output=True, check=False)
        assert b"is in use" in done.stderr


def test_nothing_is_shown_of_secrets(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs")
    for kind in ("odd", "damaged"):
        run(tmp_path / kind, tmp_path / "logs" / kind, on_error="skip")
    for verb in ("status", "log", "check"):
        for kind, form in product(("odd", "damaged"), FORMS):
            done = ask(verb, tmp_path / kind, "-o", form)
            assert done.stdout or (verb, form) == ("check", "jsonl")
            assert not found_in(done.stdout)
            assert not found_in(done.stderr.encode())


@pytest.mark.slow
def test_a_lake_in_a_store(s3: str, tmp_path: Path) -> None:
    log = node(tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 10))
    place = f"{s3}/lake"
    run(place, tmp_path / "node")
    store = open_store(place)
    before = store.files()
    found = told("status", place)
    assert (found["lake"], found["rows"], found["files"], found["writer"]) == (place, 15, 2, None)
    assert [commit["rows"] for commit in told("log", place)] == [15]
    assert ask("check", place).stdout == b"commit 1: all is there: 2 files with 15 rows\n"
    assert store.files() == before
    with store.lock("metashell export --append"):
        by = told("status", place)["writer"]
        assert by["by"].startswith(f"metashell export --append (process {os.getpid()} on ")
        assert 0 <= by["silent_ms"] < 60_000
    gone = next(file.name for file in before if file.name.startswith("table=topic"))
    store.remove(gone)
    store.put("table=topic/x.parquet", b"PAR1")
    done = ask("check", place)
    assert (done.status, done.stderr) == (1, "")
    assert done.stdout.decode().splitlines() == [
        f"{gone}: is missing, with 10 rows",
        "table=topic/x.parquet: no commit names it (4 bytes): readers of the folder take its rows for those of the lake",
        "commit 1: 2 faults in 2 files with 15 rows",
    ]
    assert "no lake here" in ask("status", f"{s3}/nothing").stderr
