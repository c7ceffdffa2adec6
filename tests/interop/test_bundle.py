"""A real Kafka reads what `metashell bundle` writes: the same records at the same offsets, and an image without a complaint."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from metashell.cli.inspect import dump_log
from metashell.cli.inspect.bundle import main
from metashell.cli.kafka import file_tools
from metashell.codec.batches import RecordBatch
from metashell.codec.metadata_records import UnknownRecord, write_metadata_record
from metashell.demo import demo_directory
from metashell.disk.files import open_file
from metashell.disk.segment import read_batches
from tests.inspect.dump.making import LOG_NAME, batch, topic
from tests.inspect.unpacking import unpacked, without_places
from tests.java import KAFKA, kafka, kafka_command
from tests.running import no_longer_than, run_main

pytestmark = pytest.mark.slow
METADATA = "__cluster_metadata-0"
DUMP = ("--cluster-metadata-decoder", "--files")
PATHS = ("/image/topics/byName", "/image/cluster/brokers", "/image/acls/byId")
PROMPT = ">> "
LIMIT_S = 120


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    assert run_main(main, [demo_directory(), "--anonymise", "--out", "case.tar.gz"], cwd=folder).status == 0
    return unpacked(folder)


def test_kafkas_dump_log_prints_every_file_as_ours_does_and_ends_well(case: Path) -> None:
    files = sorted(str(path) for path in case.rglob("*") if path.suffix in (".log", ".checkpoint"))
    assert len(files) == 5
    real = kafka(KAFKA, "dump-log", *DUMP, ",".join(files))
    ours = run_main(dump_log.kafka_main, [*DUMP, ",".join(files)], cwd=case)
    assert real.returncode == 0 and real.stdout == ours.stdout and real.stdout.count(b"payload") > 600
    assert b"isvalid: true" in real.stdout and b"isvalid: false" not in real.stdout


def test_kafkas_dump_log_prints_the_same_of_original_and_copy_but_for_places_and_secrets(tmp_path: Path) -> None:
    assert run_main(main, [demo_directory(), "--out", "case.tar.gz"], cwd=tmp_path).status == 0
    copy = unpacked(tmp_path)
    names = sorted(path.relative_to(copy) for path in copy.rglob("*") if path.suffix in (".log", ".checkpoint"))
    files = [str(root / name) for root in (Path(demo_directory()), copy) for name in names]
    lines = without_places(kafka(KAFKA, "dump-log", *DUMP, ",".join(files)).stdout.decode()).splitlines()
    assert len(lines) > 2000 and lines[: len(lines) // 2] == lines[len(lines) // 2 :]


@pytest.fixture(scope="module")
def answers(case: Path) -> dict[str, str]:
    """What Kafka's shell lists below each path, once it has read the whole file.

    It answers before: a command on its command line then sees an empty image, or a part, with status 0 (tools.md 2.2). So the commands come
    by standard input, after the shell has shown the offset at which the file ends.
    """
    checkpoint = newest(case)
    end = last_offset(checkpoint)
    command = kafka_command(KAFKA, "shell", "--snapshot", str(checkpoint))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as shell:
        try:
            with no_longer_than(LIMIT_S):
                before, *found, after = listed(shell, end).split(PROMPT)
                assert before == after == "" and shell.wait() == 0
        finally:
            shell.kill()
    return dict(zip(PATHS, found, strict=True))


def listed(shell: subprocess.Popen[str], end: int) -> str:
    """What it prints from the moment on when it has come to that offset."""
    assert shell.stdin is not None and shell.stdout is not None
    line = ""
    while f"offset {end}, " not in line:
        shell.stdin.write("cat /image/provenance\n")
        shell.stdin.flush()
        while "offset " not in (line := shell.stdout.readline()):
            assert line, "the shell has ended"
    shell.stdin.write("".join(f"ls {path}\n" for path in PATHS))
    shell.stdin.close()
    return shell.stdout.read()


def newest(case: Path) -> Path:
    return max((case / METADATA).glob("*.checkpoint"))


def last_offset(checkpoint: Path) -> int:
    """Of the records inside the file, which a checkpoint numbers from 0; what ends it is a control record."""
    with open_file(str(checkpoint)) as file:
        headers = [found.header for found in read_batches(file) if isinstance(found, RecordBatch)]
    return max(header.last_offset for header in headers if not header.is_control)


@pytest.mark.parametrize("path", PATHS)
def test_kafkas_shell_lists_the_same_as_ours(case: Path, answers: dict[str, str], path: str) -> None:
    ours = run_main(file_tools.shell_main, ("--snapshot", str(newest(case)), "ls", path), cwd=case)
    assert answers[path] and ours.stdout.decode() == answers[path]


def test_kafka_finds_what_follows_a_record_that_was_left_out_at_its_own_offset(tmp_path: Path) -> None:
    unknown = write_metadata_record(UnknownRecord(99, 0, b"secret-words"))
    spoilt = bytearray(batch([topic("c", 3)], 3))
    spoilt[-4] ^= 1
    data = batch([topic("a"), unknown, topic("b", 2)]) + bytes(spoilt) + batch([topic("d", 4)], 4)
    (tmp_path / LOG_NAME).write_bytes(data)
    assert run_main(main, [LOG_NAME, "--out", "case.tar.gz"], cwd=tmp_path).status == 1
    real = kafka(KAFKA, "dump-log", *DUMP, str(unpacked(tmp_path) / METADATA / LOG_NAME))
    lines = [line for line in real.stdout.decode().splitlines() if "payload" in line]
    assert real.returncode == 0 and [line.split(" offset: ")[1].split()[0] for line in lines] == ["0", "1", "2", "3", "4"]
    assert ["NO_OP_RECORD" in line for line in lines] == [False, True, False, True, False]
    assert [name for name in "abcd" if f'"name":"{name}"' in real.stdout.decode()] == ["a", "b", "d"]
