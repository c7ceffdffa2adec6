"""metashell bundle: what is in the archive opens like the directory of a node, and says what it is."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import tarfile
from pathlib import Path
from typing import BinaryIO

import pytest

from metashell.cli.inspect import kafka_shell
from metashell.cli.inspect.bundle import main
from metashell.demo import demo_directory
from tests.administering import on_terminal
from tests.golden_cases import golden_root
from tests.inspect.dump.making import LOG_NAME, batch, topic
from tests.inspect.needles import Needles, every_record
from tests.inspect.unpacking import unpacked
from tests.running import Outcome, run_main
from tests.secret_logs import write_group_log

DEMO = demo_directory()


def bundle(folder: Path, *words: str) -> Outcome:
    return run_main(main, list(words), cwd=folder)


def shell(path: str, *words: str) -> str:
    done = run_main(kafka_shell.main, ["-s", path, *words], cwd=Path("/"))
    return done.stdout.decode()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    assert bundle(folder, DEMO, "--out", "case.tar.gz").status == 0
    return unpacked(folder)


@pytest.fixture(scope="module")
def anonymous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("anonymous")
    done = bundle(folder, DEMO, "--anonymise", "--mapping", "names.jsonl", "--out", "case.tar.gz")
    assert done.status == 0, done.stderr
    return unpacked(folder)


def aliases(case: Path) -> dict[str, str]:
    """The names of topics and racks by their aliases."""
    rows = map(json.loads, (case.parent / "names.jsonl").read_text().splitlines())
    return {row["alias"]: row["name"] for row in rows}


def test_without_names_replaced_the_tree_is_that_of_the_source_but_for_secrets(plain: Path) -> None:
    for path in ("/image/topics", "/image/cluster", "/image/acls", "/image/clientQuotas", "/image/configs"):
        shown = shell(str(plain), "tree", path)
        assert shown == shell(DEMO, "tree", path) and len(shown) > 100, path


@pytest.mark.parametrize(
    "words", [("log", "-n", "30"), ("--at", "300", "ls", "-l", "/image/topics/byName"), ("diff", "200", "400", "--stat")]
)
def test_offsets_and_times_are_those_of_the_source(plain: Path, words: tuple[str, ...]) -> None:
    shown = shell(str(plain), *words)
    assert shown == shell(DEMO, *words) and shown


def test_health_of_a_copy_with_other_names_is_that_of_the_source(anonymous: Path) -> None:
    names = sorted(aliases(anonymous).items(), key=lambda pair: -len(pair[0]))

    def findings(path: str, mapped: bool) -> list[object]:
        text = shell(path, "health", "-o", "jsonl", "--limit", "100000")
        for alias, name in names if mapped else ():
            text = text.replace(alias, name)
        return sorted(text.splitlines())

    before = findings(DEMO, False)
    # Names are listed in order of names, which is another one: the letters are the same.
    assert [sorted(line) for line in findings(str(anonymous), True)] == [sorted(line) for line in before] and before


def test_no_name_of_the_source_is_in_an_anonymous_one(anonymous: Path) -> None:
    names = [name for alias, name in aliases(anonymous).items() if name != alias and len(name) > 4]
    assert "orders" in names and len(names) > 20
    for path in anonymous.rglob("*"):
        if path.is_file():
            text = path.read_bytes()
            # Words of Kafka's own that are names here as well.
            found = [name for name in names if name.encode() in text and name not in ("admin", "plain", "orders-")]
            assert found == [], path


def test_no_text_of_any_record_is_in_any_byte_of_an_anonymous_archive(tmp_path: Path) -> None:
    needles = Needles()
    (tmp_path / LOG_NAME).write_bytes(batch(list(every_record(needles))))
    assert len(needles.found_in((tmp_path / LOG_NAME).read_bytes())) == len(set(needles.made.values()))
    done = bundle(tmp_path, LOG_NAME, "--anonymise", "--out", "case.tar.gz")
    assert done.status == 0, done.stderr
    assert needles.found_in(gzip.decompress((tmp_path / "case.tar.gz").read_bytes())) == set()
    assert needles.found_in(done.stdout + done.stderr.encode()) == set()


def test_a_terminal_gets_no_archive() -> None:
    code = f"import sys; from metashell.cli.inspect.bundle import main; sys.exit(main([{DEMO!r}, '--out', '-']))"
    status, shown = on_terminal(code, [])
    assert status == 2 and "an archive is not for a terminal" in shown and len(shown) < 200


def test_the_mapping_is_for_its_owner_and_not_in_the_archive(anonymous: Path) -> None:
    mapping = anonymous.parent / "names.jsonl"
    assert mapping.stat().st_mode & 0o777 == 0o600
    assert not list(anonymous.rglob("names*"))
    rows = list(map(json.loads, mapping.read_text().splitlines()))
    assert rows[0]["kind"] == "cluster" and all(set(row) == {"kind", "name", "alias"} for row in rows)


def test_the_readme_says_what_is_there_and_how_to_look_at_it(plain: Path, anonymous: Path) -> None:
    text = (plain / "README.md").read_text()
    for path in plain.rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert str(path.relative_to(plain)) in text, path
    assert "kafka-shell -s case health" in text and "end offset 521" in text and "every record of the source has its place" in text
    assert "(not its real id)" not in text and "(not its real id)" in (anonymous / "README.md").read_text()
    assert os.path.dirname(DEMO) not in text


def test_answers_are_those_of_the_copy_and_name_no_path_of_this_machine(plain: Path) -> None:
    assert "\nsource            case (directory)\n" in (plain / "status.txt").read_text()
    assert json.loads((plain / "status.json").read_text())["end_offset"] == 521
    assert (plain / "verify.txt").read_text().endswith("fine\n")
    for name in ("status.txt", "status.json", "health.txt", "health.json", "verify.txt", "verify-source.txt"):
        assert "/tmp" not in (plain / name).read_text() and "metashell-bundle-" not in (plain / name).read_text()


@pytest.mark.parametrize("version", ["3.3.2", "3.9.2", "4.3.1"])
def test_directories_of_real_nodes_lose_nothing(version: str, tmp_path: Path) -> None:
    sources = sorted(path.parent for path in (golden_root() / version).rglob("__cluster_metadata-0") if "damage" not in str(path))
    assert sources
    for number, source in enumerate(sources[:3]):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = bundle(folder, str(source), "--anonymise", "--out", "case.tar.gz")
        assert (done.status, done.stderr) == (0, ""), source
        assert (unpacked(folder) / "verify.txt").read_text().endswith("fine\n")


def test_what_is_left_out_is_said_and_is_the_status(tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).write_bytes(batch([topic("a"), b"\x01\x7f\x00secret-words"]))
    done = bundle(tmp_path, LOG_NAME, "--out", "case.tar.gz")
    line = f"__cluster_metadata-0/{LOG_NAME}: offset 1: a record of unknown type 127"
    assert done.status == 1 and done.stderr == f"metashell bundle: left out: {line}; README.md lists all\n"
    case = unpacked(tmp_path)
    assert f"- {line}\n" in (case / "README.md").read_text()
    assert not any(b"secret-words" in path.read_bytes() for path in case.rglob("*") if path.is_file())


def test_standard_output_gets_the_archive_and_standard_error_what_is_in_it(tmp_path: Path) -> None:
    done = bundle(tmp_path, DEMO, "--out", "-")
    assert done.status == 0 and "724 records" in done.stderr
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(done.stdout))) as archive:
        assert "metashell-bundle/README.md" in archive.getnames()
    assert os.listdir(tmp_path) == []


def test_json_says_what_was_written(tmp_path: Path) -> None:
    answer = json.loads(bundle(tmp_path, DEMO, "--out", "a b.tgz", "-o", "json").stdout)
    assert answer["path"] == "a b.tgz" and answer["folder"] == "metashell-bundle" and answer["left_out"] == []
    assert answer["removed"]["secrets"] > 0 and answer["bytes"] == (tmp_path / "a b.tgz").stat().st_size


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--out", "there.tar.gz"], 1, "there.tar.gz: is there already; nothing was written"),
        (["--out", "no/such/a.tar.gz"], 1, "no/such/a.tar.gz"),
        (["--out", "new.tar.gz", "--anonymise", "--mapping", "there.tar.gz"], 1, "there.tar.gz: is there already"),
        (["--out", "new.tar.gz", "--mapping", "m"], 2, "--mapping goes with --anonymise"),
        ([], 2, "--out"),
        (["--out", f"{DEMO}/a.tar.gz"], 1, "lies in a metadata directory, which is only read"),
        (["--out", f"{DEMO}/__cluster_metadata-0/a.tar.gz"], 1, "lies in a metadata directory, which is only read"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_nothing(words: list[str], status: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "there.tar.gz").write_text("mine")
    done = bundle(tmp_path, DEMO, *words)
    assert done.status == status and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert os.listdir(tmp_path) == ["there.tar.gz"] and (tmp_path / "there.tar.gz").read_text() == "mine"


def test_a_log_of_groups_is_refused_by_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_group_log(tmp_path / "logs")
    (place,) = (tmp_path / "logs").rglob("*.log")
    for path in (place.parent, place):
        done = bundle(tmp_path, str(path), "--out", "case.tar.gz")
        assert done.status == 1 and "group" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert os.listdir(tmp_path) == ["logs"]


def test_the_source_is_only_read(tmp_path: Path) -> None:
    def state() -> list[tuple[str, int, int]]:
        return sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in Path(DEMO).rglob("*"))

    before = state()
    assert bundle(tmp_path, DEMO, "--anonymise", "--out", "case.tar.gz").status == 0
    assert state() == before


def test_a_temporary_folder_is_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(inner))
    assert bundle(tmp_path, DEMO, "--out", "case.tar.gz").status == 0
    assert os.listdir(inner) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_one_that_is_stopped_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(inner))
    seen = []

    def pack(folder: str, name: str, out: BinaryIO) -> None:
        out.write(b"half")
        seen.extend(os.listdir(inner))
        os.kill(os.getpid(), number)

    monkeypatch.setattr("metashell.inspect.bundle.pack_directory", pack)
    done = bundle(tmp_path, DEMO, "--anonymise", "--mapping", "names.jsonl", "--out", "case.tar.gz")
    assert done.status == 128 + number and seen
    assert os.listdir(tmp_path) == ["inner"] and os.listdir(inner) == []
