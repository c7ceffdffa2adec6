"""A real Kafka reads what `metashell bundle` writes: the same records at the same offsets, and an image without a complaint."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli import kafka_dump_log, kafka_metadata_shell
from metashell.cli.bundle import main
from metashell.codec.frame import UnknownRecord, write_metadata_record
from metashell.demo import demo_directory
from tests.bundle.unpacking import unpacked
from tests.dump.making import LOG_NAME, batch, topic
from tests.java import kafka
from tests.running import run_main

pytestmark = pytest.mark.slow
METADATA = "__cluster_metadata-0"
DUMP = ("--cluster-metadata-decoder", "--files")


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    assert run_main(main, [demo_directory(), "--anonymise", "--out", "case.tar.gz"], cwd=folder).status == 0
    return unpacked(folder)


def test_kafkas_dump_log_prints_every_file_as_ours_does_and_ends_well(case: Path) -> None:
    files = sorted(str(path) for path in case.rglob("*") if path.suffix in (".log", ".checkpoint"))
    assert len(files) == 5
    real = kafka("4.3.1", "dump-log", *DUMP, ",".join(files))
    ours = run_main(kafka_dump_log.main, [*DUMP, ",".join(files)], cwd=case)
    assert real.returncode == 0 and real.stdout == ours.stdout and real.stdout.count(b"payload") > 600
    assert b"isvalid: true" in real.stdout and b"isvalid: false" not in real.stdout


@pytest.mark.parametrize("path", ["/image/topics/byName", "/image/cluster/brokers", "/image/acls/byId"])
def test_kafkas_shell_lists_the_same_as_ours(case: Path, path: str) -> None:
    checkpoint = str(max((case / METADATA).glob("*.checkpoint")))
    words = ("--snapshot", checkpoint, "ls", path)
    real = kafka("4.3.1", "shell", *words)
    assert real.returncode == 0 and real.stdout
    assert real.stdout == run_main(kafka_metadata_shell.main, words, cwd=case).stdout


def test_kafka_finds_what_follows_a_record_that_was_left_out_at_its_own_offset(tmp_path: Path) -> None:
    unknown = write_metadata_record(UnknownRecord(99, 0, b"secret-words"))
    spoilt = bytearray(batch([topic("c", 3)], 3))
    spoilt[-4] ^= 1
    data = batch([topic("a"), unknown, topic("b", 2)]) + bytes(spoilt) + batch([topic("d", 4)], 4)
    (tmp_path / LOG_NAME).write_bytes(data)
    assert run_main(main, [LOG_NAME, "--out", "case.tar.gz"], cwd=tmp_path).status == 1
    real = kafka("4.3.1", "dump-log", *DUMP, str(unpacked(tmp_path) / METADATA / LOG_NAME))
    lines = [line for line in real.stdout.decode().splitlines() if "payload" in line]
    assert real.returncode == 0 and [line.split(" offset: ")[1].split()[0] for line in lines] == ["0", "1", "2", "3", "4"]
    assert ["NO_OP_RECORD" in line for line in lines] == [False, True, False, True, False]
    assert [name for name in "abcd" if f'"name":"{name}"' in real.stdout.decode()] == ["a", "b", "d"]
