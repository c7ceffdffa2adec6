"""Real controllers and our metadata log take over each other's directories, and Kafka's dump reads what we wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from metashell.cli.inspect.dump_log import kafka_main as kafka_dump_log
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID
from metashell.disk.files import open_file
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.names import METADATA_DIRECTORY
from metashell.disk.segment import read_batches
from metashell.disk.state_files import read_quorum_state, write_quorum_state
from tests.disk.log_history import batches_of, end_of
from tests.java import KAFKA, kafka, kafka_command
from tests.running import run_main
from tools.interop.nodes import Cluster, cluster, controller_settings, format_directories, free_ports, write_config

pytestmark = pytest.mark.slow

RELEASES = {KAFKA: (), "3.9.2": ("-r", "3.9", "--layout", "4.3")}
NO_OP_RECORD = b"\x01\x14\x00\x00"
"""A NoOpRecord as a metadata record: frame version 1, type 20, version 0, no tagged fields."""


@pytest.fixture(params=list(RELEASES))
def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Cluster]]:
    """A Kafka release, and a place to start its nodes in."""
    with cluster(partial(kafka_command, request.param), tmp_path) as place:
        yield request.param, place


def controller(place: Cluster, version: str, log_dir: Path) -> Path:
    """The configuration of a lone controller, whose directory is formatted; it appends a batch every few milliseconds."""
    (port,) = free_ports(1)
    settings = controller_settings(1, port, log_dir, {"controller.quorum.bootstrap.servers": f"localhost:{port}"})
    config = write_config(place.folder / "node-1.properties", settings, {"metadata.max.idle.interval.ms": 5})
    format_directories(config, "-s", *RELEASES[version])
    return config


def log_size(log_dir: Path) -> int:
    return sum(path.stat().st_size for path in (log_dir / METADATA_DIRECTORY).glob("*.log"))


def run_until_it_wrote(place: Cluster, config: Path, log_dir: Path, size: int) -> None:
    """Start the controller, wait until its log grew by `size` bytes, and kill it."""
    before = log_size(log_dir)
    node = place.start(config)
    place.wait_until("a log that grows", lambda: log_size(log_dir) > before + size)
    node.kill()
    place.nodes.remove(node)


def no_ops(log: MetadataLog, count: int, epoch: int) -> None:
    """Append batches of metadata records that change nothing."""
    for offset in range(log.end_offset, log.end_offset + count):
        log.append(write_batch(offset, [Record(offset, 1_800_000_000_000 + offset, None, NO_OP_RECORD)], leader_epoch=epoch), offset + 1)


def require_that_kafka_dumps_it_as_we_do(directory: Path) -> None:
    """Kafka's dump of every file ends well and says what ours says."""
    files = sorted(str(path) for path in directory.iterdir() if path.suffix in (".log", ".checkpoint", ".index", ".timeindex"))
    for words in (["--cluster-metadata-decoder"], ["--index-sanity-check"], ["--verify-index-only"]):
        arguments = [*words, "--files", ",".join(files)]
        theirs = kafka(KAFKA, "dump-log", *arguments)
        assert theirs.returncode == 0, (words, theirs.stderr[-2000:])
        assert b"mismatches" not in theirs.stdout and b"WARN" not in theirs.stdout
        ours = run_main(kafka_dump_log, arguments, cwd=directory)
        assert (ours.status, ours.stdout) == (0, theirs.stdout)


def test_a_directory_goes_from_kafka_to_us_and_back(nodes: tuple[str, Cluster], tmp_path: Path) -> None:
    version, place = nodes
    log_dir = tmp_path / "d1"
    config = controller(place, version, log_dir)
    run_until_it_wrote(place, config, log_dir, 20_000)

    directory = log_dir / METADATA_DIRECTORY
    segment = directory / f"{0:020d}.log"
    written, index = segment.read_bytes(), segment.with_suffix(".index").read_bytes()
    log = MetadataLog.open(str(log_dir))
    batches = batches_of(log)
    assert written.startswith(b"".join(data for _, _, data in batches)) and len(batches) > 50
    assert not log.repairs or len(written) > segment.stat().st_size
    # Recovery lays the entries where the running node has laid them, as long as it was not started again.
    assert version != KAFKA or (len(index), index) == (10 << 20, segment.with_suffix(".index").read_bytes())
    epoch = batches[-1][1]
    no_ops(log, 300, epoch)
    end = log.end_offset
    log.close()
    require_that_kafka_dumps_it_as_we_do(directory)

    run_until_it_wrote(place, config, log_dir, 5_000)
    log = MetadataLog.open(str(log_dir))
    again = batches_of(log)
    assert again[: len(batches)] == batches
    assert [base for base, _, _ in again[len(batches) : len(batches) + 300]] == list(range(end - 300, end))
    assert again[len(batches) + 300][1] > epoch, "the controller was elected again"
    log.close()


def test_kafka_starts_on_a_directory_that_lost_something_and_was_made_whole(nodes: tuple[str, Cluster], tmp_path: Path) -> None:
    """Its files that we put aside, the note beside them and the recovery point are nothing to Kafka; nor is what it writes damage to us."""
    version, place = nodes
    log_dir = tmp_path / "d1"
    config = controller(place, version, log_dir)
    run_until_it_wrote(place, config, log_dir, 20_000)
    directory = log_dir / METADATA_DIRECTORY
    log = MetadataLog.open(str(log_dir))
    batches = batches_of(log)
    log.close()
    segment = directory / f"{0:020d}.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)

    log = MetadataLog.open(str(log_dir))
    assert log.recovering is not None and log.recovering.until_offset == end_of(batches[-1][2])
    log.close()
    assert (directory / f"{segment.name}.damaged-1").read_bytes() == data and (directory / "damaged").exists()
    require_that_kafka_dumps_it_as_we_do(directory)
    log = MetadataLog.open(str(log_dir))
    for base, _, whole in batches:
        if base >= log.end_offset:
            log.append(whole, end_of(whole))
    log.flush()
    log.close()
    require_that_kafka_dumps_it_as_we_do(directory)

    run_until_it_wrote(place, config, log_dir, 5_000)
    log = MetadataLog.open(str(log_dir))
    assert batches_of(log)[: len(batches)] == batches
    assert log.recovering is not None, "Kafka does not know of it: it is for the replica to end"
    log.end_recovery()
    log.close()
    assert (directory / f"{segment.name}.damaged-1").read_bytes() == data
    log = MetadataLog.open(str(log_dir))
    assert log.recovering is None
    log.close()


def test_a_directory_that_we_wrote_starts_a_controller(nodes: tuple[str, Cluster], tmp_path: Path) -> None:
    """Batches of a controller are written by us in small segments, with a snapshot at the log's start and an election state of ours."""
    version, place = nodes
    source, log_dir = tmp_path / "d1", tmp_path / "d2"
    config = controller(place, version, source)
    run_until_it_wrote(place, config, source, 20_000)
    (segment,) = (source / METADATA_DIRECTORY).glob("*.log")
    with open_file(str(segment)) as file:
        batches = [item.data for item in read_batches(file) if hasattr(item, "header")]

    log_dir.mkdir()
    for path in (path for path in source.iterdir() if path.name in ("meta.properties", "bootstrap.checkpoint")):
        (log_dir / path.name).write_bytes(path.read_bytes())
    log = MetadataLog.open(str(log_dir), segment_size=4000, index_interval=500)
    part = log.create_snapshot(BOOTSTRAP_SNAPSHOT_ID)
    part.append((source / METADATA_DIRECTORY / f"{0:020d}-{0:010d}.checkpoint").read_bytes())
    part.freeze()
    log.write_leader_epochs([(1, 0)])
    for data in batches:
        log.append(data, end_of(data))
    assert log.flush() == log.end_offset
    end = int.from_bytes(batches[-2][:8], "big")
    log.truncate_to(end)
    state = read_quorum_state(str(source / METADATA_DIRECTORY / "quorum-state"))
    write_quorum_state(
        str(log_dir / METADATA_DIRECTORY / "quorum-state"), replace(state, leader_epoch=state.leader_epoch + 4, leader_id=-1)
    )
    log.close()
    directory = log_dir / METADATA_DIRECTORY
    assert len(list(directory.glob("*.log"))) > 4
    require_that_kafka_dumps_it_as_we_do(directory)

    text = config.read_text().replace(str(source), str(log_dir))
    config.write_text(text)
    run_until_it_wrote(place, config, log_dir, 3_000)
    log = MetadataLog.open(str(log_dir))
    found = batches_of(log)
    assert [data for _, _, data in found[: len(batches) - 2]] == batches[:-2]
    first = found[len(batches) - 2]
    assert (first[0], first[1]) == (end, state.leader_epoch + 5)
    assert read_quorum_state(str(directory / "quorum-state")).leader_epoch == state.leader_epoch + 5
    log.close()
