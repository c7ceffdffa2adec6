"""A controller ends over what is newer than its release, and serves on what it may: as real ones do on the same bytes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from metashell.cli.controllers.server import main as server
from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from metashell.codec.batches import BatchHeader, CheckedBatch, RecordBatch
from metashell.codec.messages import ConfigRecord
from metashell.codec.metadata_records import write_metadata_record
from metashell.common.errors import MetashellError, UnknownRecordError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.metadata_log import MetadataLog
from metashell.metadata.image import MetadataImage
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.snapshots import SnapshotWriter
from metashell.quorum.raft.voters import SnapshotHeader
from metashell.quorum.server.config import load_config
from metashell.quorum.server.controller_server import ControllerServer
from metashell.quorum.server.feed import ImageMachine, loaded_snapshot
from metashell.quorum.server.records import (
    LOG_NAME,
    RECORDS_AT_ONCE,
    check_log,
    log_batches,
    records_of,
    refuse_unknown_steps,
    snapshot_batches,
)
from tests.coroutines import eventually, run
from tests.inspect.verify.making import topic_value
from tests.metadata.image.batches import batch_of_values
from tests.quorum.server.quorum import CLUSTER_ID, LIMIT_S, Quorum
from tests.running import run_main
from tests.unknown_rows import BEGINNINGS, CONTROL_ROWS, DATA_ROWS, FIRST_OFFSET, ROWS, level, make_directory, servers
from tools.interop.nodes import controller_settings, free_ports, write_config

KAFKA = {one["row"]: one for one in servers() if one["release"] == "4.4.0"}
ENDS = [row for row in (*DATA_ROWS, *CONTROL_ROWS) if KAFKA[row]["did"] == "ends"]
SERVES = [row for row in ROWS if KAFKA[row]["did"] == "serves"]
NOT_NEWER = {"frame version 0", "no value", "metadata.version 6"}
"""What no newer release wrote."""
FOUND_LATER = {"known version with field"}
"""What no release writes, and what is found when it is decoded, as other damage: the first look goes by types and versions."""
REASONS = {
    "unknown type": "offset 3: UNKNOWN_RECORD_40: unknown record type 40",
    "newer version with field": "offset 3: TOPIC_RECORD: TopicRecord: 4 bytes left over",
    "newer version of a record with structs": "offset 3: REGISTER_CONTROLLER_RECORD: version 9 of a struct is not known",
    "unknown feature": "offset 3: future.version 1 is not supported: the feature is unknown; no release up to 4.4 supports it",
    "share.version 3": "offset 3: share.version 3 is not supported: 0 to 2 are; no release up to 4.4 supports it",
    "metadata.version 34": "offset 3: metadata.version 34 (4.5-IV0) is not supported: 7 to 33 are; no release up to 4.4 supports it",
    "metadata.version 6": "offset 3: metadata.version 6 (3.3-IV2) is not supported: 7 to 33 are; Kafka 3.3 to 3.9 support it. "
    "Start one of these on this directory and upgrade the feature first",
    "kraft.version 2": "offset 3: kraft.version 2 is not supported: 0 to 1 are; no release up to 4.4 supports it",
    "unknown control record": "offset 3: unknown control record type 9",
    "frame version 2": "offset 3: Could not deserialize metadata record due to unknown frame version 2",
}
ADVICE = "Start a newer release on this directory as it is: do not format it again, and do not delete its log"


def config_of(folder: Path, row: str) -> Path:
    port = free_ports(1)[0]
    quorum = {"controller.quorum.voters": f"1@localhost:{port}", "controller.quorum.election.timeout.ms": 300}
    return write_config(folder / "c.properties", controller_settings(1, port, make_directory(folder / "log", row).directory, quorum))


def shown(image: MetadataImage) -> str:
    """The features and topics of an image as tests/golden/unknown has them."""
    levels = ", ".join(f"{name}={number}" for name, number in sorted(image.features.levels.items()))
    return f"{{{levels}}} metadata.version={image.features.metadata_version} [{', '.join(sorted(image.topics.by_name))}]"


def files_of(folder: Path) -> dict[str, bytes]:
    place = folder / "log" / "__cluster_metadata-0"
    return {name: (place / name).read_bytes() for name in os.listdir(place) if name.endswith((".log", ".checkpoint"))}


@pytest.mark.parametrize("row", SERVES)
def test_it_serves_where_a_real_one_does_with_the_same_image(tmp_path: Path, row: str) -> None:
    async def main() -> MetadataImage:
        controller = ControllerServer(load_config(str(config_of(tmp_path, row))))
        await controller.start()
        try:
            await eventually(lambda: controller.is_active and controller.image.features.metadata_version is not None)
            return controller.image
        finally:
            await controller.kill()

    assert shown(run(main)) == KAFKA[row]["said"]


@pytest.mark.parametrize("row", ENDS)
def test_it_ends_where_a_real_one_does_before_it_votes_or_listens(tmp_path: Path, row: str) -> None:
    config = config_of(tmp_path, row)
    before = files_of(tmp_path)
    outcome = run_main(server, [str(config)], cwd=tmp_path)
    assert outcome.status == 1
    *said, line = outcome.stderr.splitlines()
    assert bool(said) == (row in FOUND_LATER)
    assert f"{LOG_NAME}: {REASONS.get(row, 'offset')}" in line
    assert line.endswith(ADVICE) == (row not in NOT_NEWER)
    assert (files_of(tmp_path) == before) == (row not in FOUND_LATER)


NO_LEVEL = "No FeatureLevelRecord for metadata.version was found in the bootstrap metadata"
NO_BEGINNING = "the log has records, and no metadata.version by which to read them"


@pytest.mark.parametrize("row", [row for row in BEGINNINGS if KAFKA[row]["did"] == "ends"])
def test_it_leads_no_new_cluster_without_a_level_that_it_supports(tmp_path: Path, row: str) -> None:
    outcome = run_main(server, [str(config_of(tmp_path, row))], cwd=tmp_path)
    assert outcome.status == 1
    *said, line = outcome.stderr.splitlines()
    if BEGINNINGS[row].log is not None:
        assert line.endswith(NO_BEGINNING) and not any("the active controller" in one for one in said)
    else:
        assert not said
        assert line.endswith(NO_LEVEL if "without a level" in row or "no level" in row or row.endswith("with no record") else ADVICE)


def batches_of(folder: Path, row: str) -> tuple[MetadataLog, list[RecordBatch]]:
    log = MetadataLog.open(str(make_directory(folder / "log", row).directory))
    batches: list[RecordBatch] = []
    while not batches or batches[-1].header.last_offset + 1 < log.end_offset:
        batches += log_batches(log, batches[-1].header.last_offset + 1 if batches else 0, log.end_offset)
    return log, batches


@pytest.mark.parametrize("row", DATA_ROWS)
def test_a_standby_and_a_plain_replica_take_the_same_rows(tmp_path: Path, row: str) -> None:
    log, batches = batches_of(tmp_path, row)

    def standby() -> None:
        for batch in batches:
            if not batch.header.is_control:
                list(records_of(batch))

    def replica() -> None:
        asyncio.run(ImageMachine().handle_commit(batches))

    def look() -> None:
        check_log(log)

    for take in (look, standby, replica):
        if row in SERVES or (row in FOUND_LATER and take is look):
            take()
        else:
            with pytest.raises(MetashellError, match=f"offset {FIRST_OFFSET}|offset {FIRST_OFFSET + 1}"):
                take()
    log.close()


def snapshot_of(values: Iterable[bytes]) -> tuple[MemoryLog, OffsetAndEpoch]:
    log, id = MemoryLog(), OffsetAndEpoch(9, 1)
    writer = SnapshotWriter(log.create_snapshot(id), [SnapshotHeader(0)], 0)
    for value in (level("metadata.version", 30), topic_value(1), *values):
        writer.append([value])
    writer.freeze()
    return log, id


@pytest.mark.parametrize("row", [row for row in DATA_ROWS if "transaction" not in row])
def test_a_snapshot_is_taken_or_refused_as_a_log_is(row: str) -> None:
    log, id = snapshot_of(DATA_ROWS[row])

    def load() -> None:
        asyncio.run(loaded_snapshot(id, snapshot_batches(log, id)))

    def look() -> None:
        check_log(log)

    for take in (load, look):
        if row in SERVES or (row in FOUND_LATER and take is look):
            take()
        else:
            with pytest.raises(MetashellError, match="snapshot 9-1: offset"):
                take()


async def test_an_observer_with_an_empty_directory_ends_before_it_registers(tmp_path: Path) -> None:
    settings = (ConfigRecord(resource_type=4, resource_name="", name=f"k{number}", value="v" * 30_000) for number in range(20))
    padding = [write_metadata_record(setting, 0) for setting in settings]
    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        await leader.running.append([level("metadata.version", 30)])
        for _ in range(6):
            await leader.running.append(padding)
        await leader.running.append([level("share.version", 3)])
        quorum_of = {"controller.quorum.bootstrap.servers": f"127.0.0.1:{leader.port}"}
        config = write_config(tmp_path / "2.properties", controller_settings(2, free_ports(1)[0], tmp_path / "log", quorum_of))
        words = ["format", "-t", CLUSTER_ID, "-c", str(config), "--no-initial-controllers"]
        assert run_main(kafka_storage, words, cwd=tmp_path).status == 0
        controller = ControllerServer(load_config(str(config)))
        await controller.start()
        await asyncio.wait([controller.failure], timeout=LIMIT_S)
        error = controller.failure.result()
        assert isinstance(error, UnknownRecordError) and "share.version 3 is not supported: 0 to 2 are" in str(error)
        assert controller.registration.sent == 0
        assert controller.image.features.metadata_version == 30
        with pytest.raises(UnknownRecordError):
            await ControllerServer(load_config(str(config))).start()


def test_the_rows_are_those_that_real_servers_were_started_on() -> None:
    assert list(KAFKA) == list(ROWS) == [*DATA_ROWS, *CONTROL_ROWS, *BEGINNINGS]
    assert issubclass(UnknownRecordError, MetashellError)


@pytest.mark.parametrize("timestamp_deltas", [(), (0, 5)])
def test_a_large_batch_is_looked_through_a_bounded_number_of_records_at_a_time(timestamp_deltas: tuple[int, ...]) -> None:
    known = write_metadata_record(ConfigRecord(resource_type=4, resource_name="", name="k", value="v"))
    values = [known] * (2 * RECORDS_AT_ONCE) + [b"\x01\x28\x00"]
    # With times of their own records are framed in an unusual way, and each is decoded.
    large = CheckedBatch(*_parts(batch_of_values(values, 7, timestamp_deltas=timestamp_deltas)))
    steps = refuse_unknown_steps(large)
    next(steps)
    next(steps)
    with pytest.raises(UnknownRecordError, match=f"offset {7 + 2 * RECORDS_AT_ONCE}: UNKNOWN_RECORD_40"):
        next(steps)


def _parts(made: RecordBatch) -> tuple[BatchHeader, int, bytes, str]:
    return made.header, 0, made.data, LOG_NAME
