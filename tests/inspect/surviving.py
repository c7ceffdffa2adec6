"""Metadata logs of a lost quorum, made by hand: directories with segments, checkpoints and small files as Kafka leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from metashell.codec.batch_writer import LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER, write_batch, write_control_bodies
from metashell.codec.batches import Record
from metashell.codec.messages import (
    ConfigRecord,
    FeatureLevelRecord,
    LeaderChangeMessage,
    NoOpRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    TopicRecord,
)
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.releases import record_versions
from metashell.common.values import METADATA_TOPIC_ID, OffsetAndEpoch
from metashell.disk.bootstrap import Voter, quorum_controls
from metashell.disk.names import METADATA_DIRECTORY, checkpoint_name, segment_name
from metashell.disk.properties import MetaProperties, format_meta_properties
from metashell.disk.state_files import QuorumState, format_leader_epochs, format_quorum_state, format_topic_id

CLUSTER_ID: Final = "4L6g3nShT-eMCtK--X86sw"
LEVEL: Final = 33
TIME_MS: Final = 1_700_000_000_000
DIRECTORY: Final = bytes(range(1, 17))
BROKER: Final = 11
TOPIC_ID: Final = bytes(range(101, 117))
LATE_ID: Final = bytes(range(121, 137))
# Nobody listens on port 1 of the loopback interface.
VOTERS: Final = tuple(Voter(id, "127.0.0.1", 1, bytes(15) + bytes([200 + id])) for id in (1, 2, 3))


def value(body: Any) -> bytes:
    """The framed bytes of a record at `LEVEL`."""
    versions = {"RegisterBrokerRecord": record_versions(LEVEL).register_broker, "PartitionRecord": record_versions(LEVEL).partition}
    return write_metadata_record(body, versions.get(type(body).__name__, 0))


def first_records() -> list[Any]:
    """What the first leader of a small cluster writes: its level, the controllers, a broker, and a topic of two partitions."""
    return [
        FeatureLevelRecord(name="metadata.version", feature_level=LEVEL),
        *(
            RegisterControllerRecord(
                controller_id=voter.node_id,
                end_points=(RegisterControllerRecord.ControllerEndpoint(name="CONTROLLER", host=voter.host, port=voter.port),),
            )
            for voter in VOTERS
        ),
        RegisterBrokerRecord(
            broker_id=BROKER,
            broker_epoch=3,
            incarnation_id=bytes(15) + b"\x09",
            end_points=(RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host="127.0.0.1", port=1),),
            features=(RegisterBrokerRecord.BrokerFeature(name="kraft.version", min_supported_version=0, max_supported_version=1),),
            fenced=False,
            log_dirs=(DIRECTORY,),
            cordoned_log_dirs=(),
        ),
        TopicRecord(name="orders", topic_id=TOPIC_ID),
        *(
            PartitionRecord(
                partition_id=id,
                topic_id=TOPIC_ID,
                replicas=(BROKER,),
                isr=(BROKER,),
                leader=BROKER,
                leader_epoch=4,
                partition_epoch=6,
                directories=(DIRECTORY,),
            )
            for id in (0, 1)
        ),
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1000"),
    ]


class MadeLog:
    """The batches of a log as they are made; `end` is the offset after the last one."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.end = start
        self.data = b""

    def lead(self, epoch: int, leader_id: int = 1, voters: Sequence[Voter] = VOTERS, *, is_static: bool = False) -> MadeLog:
        """Begin an epoch, and name the voters by records if there are none yet."""
        make = LeaderChangeMessage.Voter
        change = LeaderChangeMessage(
            version=0, leader_id=leader_id, voters=tuple(make(voter_id=voter.node_id) for voter in voters), granting_voters=()
        )
        controls = [] if self.end or is_static else quorum_controls(1, voters, "CONTROLLER")
        bodies = [(LEADER_CHANGE, change), *controls]
        self.data += write_control_bodies(self.end, bodies, TIME_MS, leader_epoch=epoch)
        self.end += len(bodies)
        return self

    def add(self, epoch: int, bodies: Sequence[Any]) -> MadeLog:
        """Add one batch with these records."""
        records = [Record(self.end + index, TIME_MS, None, value(body)) for index, body in enumerate(bodies)]
        self.data += write_batch(self.end, records, leader_epoch=epoch)
        self.end += len(records)
        return self

    def pad(self, epoch: int, count: int) -> MadeLog:
        """Add batches of one NoOpRecord each."""
        for _ in range(count):
            self.add(epoch, [NoOpRecord()])
        return self


def usual_log(*, is_static: bool = False) -> MadeLog:
    """A log of epoch 5 that ends at offset 20."""
    log = MadeLog().lead(5, is_static=is_static).add(5, first_records())
    return log.pad(5, 20 - log.end)


def checkpoint(id: OffsetAndEpoch, bodies: Sequence[Any], voters: Sequence[Voter] = VOTERS) -> bytes:
    """A whole checkpoint of these records."""
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=TIME_MS)
    head = [(SNAPSHOT_HEADER, header), *quorum_controls(1, voters, "CONTROLLER")]
    foot = [(SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0))]
    records = [Record(len(head) + index, TIME_MS, None, value(body)) for index, body in enumerate(bodies)]
    return (
        write_control_bodies(0, head, TIME_MS, leader_epoch=id.epoch)
        + write_batch(len(head), records, leader_epoch=id.epoch)
        + write_control_bodies(len(head) + len(records), foot, TIME_MS, leader_epoch=id.epoch)
    )


def make_source(
    folder: Path,
    log: MadeLog | None,
    *,
    node_id: int = 1,
    cluster_id: str = CLUSTER_ID,
    checkpoints: Sequence[OffsetAndEpoch] = (),
    election: QuorumState | None = None,
    partitions: Sequence[tuple[str, bytes, int]] = (),
) -> Path:
    """A log directory; `partitions` are names of directories with topic id and newest leader epoch."""
    metadata = folder / METADATA_DIRECTORY
    metadata.mkdir(parents=True)
    voter = next((voter for voter in VOTERS if voter.node_id == node_id), None)
    directory_id = DIRECTORY if voter is None else voter.directory_id
    meta = MetaProperties(1, cluster_id, node_id, directory_id)
    (folder / "meta.properties").write_bytes(format_meta_properties(meta, date="Fri Nov 27 18:00:00 UTC 2026"))
    if log is not None:
        (metadata / segment_name(log.start)).write_bytes(log.data)
    for id in checkpoints:
        (metadata / checkpoint_name(id)).write_bytes(checkpoint(id, first_records()))
    if election is not None:
        (metadata / "quorum-state").write_bytes(format_quorum_state(election))
    (metadata / "partition.metadata").write_bytes(format_topic_id(METADATA_TOPIC_ID))
    for name, topic_id, epoch in partitions:
        place = folder / name
        place.mkdir()
        (place / "partition.metadata").write_bytes(format_topic_id(topic_id))
        (place / "leader-epoch-checkpoint").write_bytes(format_leader_epochs([(epoch, 0)]))
    return folder
