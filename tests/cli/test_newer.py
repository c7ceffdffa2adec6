"""Commands on logs in which a newer release wrote: one line says it, what is understood is shown, and the status is that of an answer
that may lack something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.cli.inspect.kafka_shell import main as kafka_shell
from metashell.cli.main import tool_of
from metashell.codec import releases
from metashell.metadata.image import image
from metashell.quorum.embedded import EmbeddedQuorum
from tests.inspect.verify.making import topic_value
from tests.newer_logs import APPLIED, LEVEL, NEWER, newer_directory
from tests.quick import quick
from tests.quorum.observer.fake_quorum import FakeQuorum
from tests.running import Outcome, run_main

LINE = "newer than Kafka 4.4, the newest release known: "


def run(folder: Path, noun: str, *words: str) -> Outcome:
    """`metashell NOUN WORDS...`, or `kafka-shell WORDS...`."""
    main = kafka_shell if noun == "kafka-shell" else tool_of(noun)
    return run_main(main, words, cwd=folder)


def lines_about(done: Outcome) -> list[str]:
    """The lines on standard error that say what is newer."""
    assert "Traceback" not in done.stderr, done.stderr
    return [line for line in done.stderr.splitlines() if LINE in line]


@pytest.mark.parametrize("kind", quick(NEWER))
def test_the_shell_shows_what_is_understood_and_says_the_rest_in_one_line(tmp_path: Path, kind: str) -> None:
    place = str(newer_directory(tmp_path / "d", kind))
    done = run(tmp_path, "kafka-shell", place, "ls", "/image/topics/byName")
    assert {b"topic-5", b"topic-6"} <= set(done.stdout.split())
    assert len(lines_about(done)) == 1
    assert done.status == (0 if kind in APPLIED else 1)


@pytest.mark.parametrize("kind", ("record", "tag", "level"))
def test_status_has_it_for_people_and_programs(tmp_path: Path, kind: str) -> None:
    place = str(newer_directory(tmp_path / "d", kind))
    (said,) = [line for line in run(tmp_path, "kafka-shell", place, "status").stdout.decode().splitlines() if LINE in line]
    assert said.startswith("newer ")
    value = json.loads(run(tmp_path, "kafka-shell", place, "-o", "json", "status").stdout)
    (part,) = value["newer"]
    assert value["complete"] == (kind in APPLIED)
    assert (part["records"] > 0, part["missing"] is None) == (kind != "level", kind == "level")
    assert value["metadata_version"] == ("40" if kind == "level" else "4.3-IV0")


def test_health_calls_a_record_bad_and_a_level_unusual(tmp_path: Path) -> None:
    done = run(tmp_path, "kafka-shell", str(newer_directory(tmp_path / "a", "record")), "health", "newer_record", "fault")
    assert done.status == 1
    assert b"record type 63 (2 records, the first at offset 3): any answer may lack what it says" in done.stdout
    assert b"could not be applied" not in done.stdout
    done = run(tmp_path, "kafka-shell", str(newer_directory(tmp_path / "b", "level")), "health", "newer_level", "fault")
    assert (done.status, b"metadata.version 40" in done.stdout, b"could not be applied" in done.stdout) == (0, True, False)


@pytest.mark.parametrize("kind", quick(NEWER))
def test_sql_and_export_go_on_with_what_is_understood(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("duckdb")
    place = str(newer_directory(tmp_path / "d", kind))
    status = 0 if kind in APPLIED else 1
    done = run(tmp_path, "sql", "select topic from topics order by topic", place)
    assert {b"topic-5", b"topic-6"} <= set(done.stdout.split())
    assert (done.status, len(lines_about(done))) == (status, 1)
    done = run(tmp_path, "sql", "select t.name from topic t, feature_level l where l.offset = 1", place)
    assert {b"topic-5", b"topic-6"} <= set(done.stdout.split())
    # A version that reads as the one before has its place in each row.
    lines = 0 if kind == "version" else 1
    assert (done.status, len(lines_about(done))) == (status, lines)
    for _ in range(2):  # the second one finds all of it done
        done = run(tmp_path, "export", place, "--out", str(tmp_path / "out"))
        assert (done.status, len(lines_about(done)), (tmp_path / "out" / "topic.parquet").exists()) == (status, lines, True)


@pytest.mark.parametrize("kind", quick(NEWER))
def test_verify_has_a_finding_and_its_digest_a_line(tmp_path: Path, kind: str) -> None:
    place = str(newer_directory(tmp_path / "d", kind))
    found = run(tmp_path, "verify", "--deep", "--digest", place).stdout.decode()
    assert found.count(LINE) == (2 if kind in APPLIED and kind != "version" else 1)
    assert "not in the image" not in found


def test_dump_log_takes_the_names_that_it_prints(tmp_path: Path) -> None:
    place = str(newer_directory(tmp_path / "d", "record"))
    for word in ("UNKNOWN_RECORD_63", "unknown_record_63", "63"):
        rows = [json.loads(row) for row in run(tmp_path, "dump-log", "--type", word, place).stdout.splitlines()]
        assert [row["type"] for row in rows] == ["UNKNOWN_RECORD_63"] * 2
    assert run(tmp_path, "dump-log", "--type", "UNKNOWN_CONTROL_9", place).stdout == b""
    known = run(tmp_path, "dump-log", "--type", "unregister_controller_record", place)
    assert (known.stdout, known.stderr) == (b"", "")


@pytest.fixture
def quorum() -> Iterator[FakeQuorum]:
    with FakeQuorum(1, 2, 3) as made:
        made.commit(LEVEL, topic_value(5))
        yield made


def words_of(quorum: FakeQuorum) -> list[str]:
    pairs = [f"node-{id}:9093=127.0.0.1:{port}" for id, port in quorum.ports.items()]
    return ["-C", "1@node-1:9093,node-2:9093", "--address-map", ",".join(pairs)]


@pytest.mark.parametrize("kind", quick(("record", "field", "tag", "level")))
def test_of_a_live_quorum_the_same_is_said(tmp_path: Path, quorum: FakeQuorum, kind: str) -> None:
    quorum.commit(*NEWER[kind])
    status = 0 if kind in APPLIED else 1
    done = run(tmp_path, "kafka-shell", *words_of(quorum), "ls", "/image/topics/byName")
    assert (b"topic-5" in done.stdout, done.status, len(lines_about(done))) == (True, status, 1)
    done = run(tmp_path, "topics", "list", *words_of(quorum))
    assert (b"topic-5" in done.stdout, done.status, len(lines_about(done))) == (True, status, 1), done
    done = run(tmp_path, "brokers", "list", *words_of(quorum))
    assert (done.status, len(lines_about(done))) == (status, 1), done


@pytest.fixture(scope="module")
def newest() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1) as made:
        yield made


@pytest.mark.parametrize(("noun", "words"), (("features", ["describe"]), ("cluster", []), ("quorum", ["describe"])))
def test_a_cluster_of_4_4_is_newer_for_who_knows_4_3(
    newest: EmbeddedQuorum, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, noun: str, words: list[str]
) -> None:
    command = [noun, *words, "-C", newest.bootstrap_controllers]
    assert lines_about(run(tmp_path, *command)) == []
    older = releases.RELEASES[-2]
    monkeypatch.setattr(image, "unsupported_features", lambda levels: releases.unsupported_features(levels, older))
    (line,) = lines_about(run(tmp_path, *command))
    assert "metadata.version 33 (4.4-IV2): all that is known was applied; share.version 2: all that is known was applied" in line
