"""An image written out: as the records of a snapshot, and as a digest by which replicas, snapshots and replayed logs are compared.

The digest is the same whichever way led to an image. It is the SHA-256 over the framed bytes of the records that write the image, each in
its newest version, ordered by type and key. So it shows neither the source nor the history, nor the metadata.version under which a record
was once written (except the level itself, which is part of the image). These differences are normalised:

- A partition without directories gets MIGRATING for each replica, which is what their absence means. An empty list of eligible leader
  replicas is left out, whether it was written as null or as an empty list.
- kraft.version and the voters count, since every replica and every snapshot has them; a log that sets no kraft.version has 0. The offset
  of their records does not count, nor the order of a voter's endpoints, nor the leader.
- Only the next id of the block of producer ids counts: no snapshot keeps the broker that got the last block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, write_control_record
from metashell.codec.metadata_records import FRAME_VERSION, metadata_message, record_key, write_metadata_record
from metashell.codec.primitives import encode_uvarint
from metashell.codec.registry import message_type
from metashell.codec.releases import METADATA_VERSION, NEWEST_LEVEL, metadata_version_name
from metashell.common.values import MIGRATING_DIRECTORY
from metashell.metadata.image.image import MetadataImage
from metashell.metadata.image.partitions import PartitionRegistration, partition_record, read_partition, walk_span
from metashell.metadata.image.provenance import ImageLossError, LossHandler, VersionedRecord
from metashell.metadata.image.settings import write_client_quotas, write_configs, write_delegation_tokens, write_scram

if TYPE_CHECKING:
    from metashell.metadata.image.provenance import VoterSet
    from metashell.metadata.image.topics import TopicImage


def write_image(image: MetadataImage, level: int | None = None, *, on_loss: LossHandler | None = None) -> Iterator[VersionedRecord]:
    """The records of a snapshot of `image`, each with its version, in the order in which Kafka's controllers write them.

    Shape: for the metadata.version `level`, the image's own if None; an image without one is written without it, at the newest.
    Replayed on an empty image the records give this image again, if nothing was lost.
    Errors: ImageLossError for information that the level cannot hold, unless `on_loss` is given, which is called instead.
    Source: org.apache.kafka.image.MetadataImage.write.
    """
    return (record for record in write_image_steps(image, level, on_loss=on_loss) if record is not None)


def write_image_steps(
    image: MetadataImage, level: int | None = None, *, on_loss: LossHandler | None = None
) -> Iterator[VersionedRecord | None]:
    """`write_image`; None among the records is a place to rest, and each of them takes some microseconds."""
    has_level = level is not None or image.features.metadata_version is not None
    level = level or image.features.metadata_version or NEWEST_LEVEL
    loss = _once(on_loss) if on_loss else _refuse(level)
    features = image.features.write(level, loss)
    if not has_level:
        next(features)
    return chain(
        features,
        image.cluster.write(level, loss),
        image.topics.write(level, loss),
        write_configs(image.configs),
        write_client_quotas(image.client_quotas),
        image.producer_ids.write(),
        image.acls.write(),
        write_scram(image.scram, level, loss),
        write_delegation_tokens(image.delegation_tokens, level, loss),
    )


def _refuse(level: int) -> LossHandler:
    def refuse(loss: str) -> None:
        raise ImageLossError(loss, metadata_version_name(level))

    return refuse


def _once(on_loss: LossHandler) -> LossHandler:
    reported: set[str] = set()

    def report(loss: str) -> None:
        if loss not in reported:
            reported.add(loss)
            on_loss(loss)

    return report


# ---- digest


DIGEST_NAME = "sha256"
_HEADING = b"metashell image 1\n"
_PARTITION_TYPE = 3
_PARTITION_VERSION = 2
_PARTITION_FRAME = bytes((FRAME_VERSION, _PARTITION_TYPE, _PARTITION_VERSION))
_FRAME_SIZE = 3
_KEY_SIZE = 20
_COUNTS = _FRAME_SIZE + _KEY_SIZE
_FIXED_SIZE = 14
"""Two empty arrays, then leader, leader epoch and partition epoch."""
_HELD_MAX = 1 << 13


def image_digest(image: MetadataImage) -> str:
    """The digest as hexadecimal text; equal for images with the same metadata, kraft.version and voters."""
    digest = sha256(_HEADING)
    for piece in canonical_pieces(image):
        digest.update(piece)
    return digest.hexdigest()


def canonical_pieces(image: MetadataImage) -> Iterator[bytes]:
    """The bytes that are hashed, in pieces: control records of the quorum, then framed metadata records."""
    yield from _quorum(image.features.kraft_version, image.voters)
    for body in _records_but_topics(image):
        yield _newest(body)
    yield from _topics(image)


def _quorum(kraft_version: int, voters: VoterSet | None) -> Iterator[bytes]:
    level = message_type("control", "KRaftVersionRecord").cls(k_raft_version=kraft_version)
    yield from write_control_record(KRAFT_VERSION_RECORD, level)
    if voters is not None:
        yield from write_control_record(KRAFT_VOTERS, _voters_record(voters))


def _voters_record(voters: VoterSet) -> Any:
    message = message_type("control", "VotersRecord")
    make, make_endpoint, make_range = (message.structs[name] for name in ("Voter", "Endpoint", "KRaftVersionFeature"))
    return message.cls(
        voters=tuple(
            make(
                voter_id=voter.id,
                voter_directory_id=voter.directory_id,
                endpoints=tuple(make_endpoint(name=name, host=host, port=port) for name, host, port in sorted(voter.endpoints)),
                k_raft_version_feature=make_range(
                    min_supported_version=voter.min_supported_version, max_supported_version=voter.max_supported_version
                ),
            )
            for voter in sorted(voters.voters)
        )
    )


def _records_but_topics(image: MetadataImage) -> Iterator[Any]:
    versioned = chain(
        image.cluster.write(NEWEST_LEVEL, _no_loss),
        write_configs(image.configs),
        write_client_quotas(image.client_quotas),
        image.acls.write(),
        write_scram(image.scram, NEWEST_LEVEL, _no_loss),
        write_delegation_tokens(image.delegation_tokens, NEWEST_LEVEL, _no_loss),
    )
    return chain(_features(image), _producer_ids(image), (record[0] for record in versioned if record is not None))


def _features(image: MetadataImage) -> Iterator[Any]:
    features = image.features
    make = message_type("metadata", "FeatureLevelRecord").cls
    if features.metadata_version is not None:
        yield make(name=METADATA_VERSION, feature_level=features.metadata_version)
    for name in sorted(features.levels):
        yield make(name=name, feature_level=features.levels[name])
    if features.zk_migration_state:
        yield message_type("metadata", "ZkMigrationStateRecord").cls(zk_migration_state=features.zk_migration_state)


def _producer_ids(image: MetadataImage) -> Iterator[Any]:
    next_id = image.producer_ids.next_producer_id
    if next_id >= 0:
        yield message_type("metadata", "ProducerIdsRecord").cls(broker_id=-1, broker_epoch=-1, next_producer_id=next_id)


def _newest(body: Any) -> bytes:
    message = metadata_message(record_key(body))
    assert message is not None
    return write_metadata_record(body, message.versions[1])


def _no_loss(loss: str) -> None:
    raise AssertionError(f"the newest level holds {loss}")


# ---- digest of topics: nearly all of a large image, so bytes that are canonical are hashed without decoding them


def _topics(image: MetadataImage) -> Iterator[bytes]:
    held: list[bytes] = []
    make = message_type("metadata", "TopicRecord").cls
    for topic in sorted(image.topics, key=attrgetter("id")):
        held.append(_newest(make(name=topic.name, topic_id=topic.id)))
        _add_partitions(topic, held)
        if len(held) > _HELD_MAX:
            yield b"".join(held)
            held.clear()
    yield b"".join(held)


def _add_partitions(topic: TopicImage, held: list[bytes]) -> None:
    """Add the records of a topic's partitions, ordered by id."""
    if not topic.overlay and len(topic.spans) == 1:
        span = topic.spans[0]
        partition_ids, starts, ends = walk_span(span)
        if partition_ids == list(range(len(partition_ids))):
            _add_span(topic, span.buf, starts, ends, held)
            return
    index = topic.scan()
    for partition_id in sorted(topic.partition_ids()):
        body = None
        if partition_id not in topic.overlay:
            body = _canonical_body(*index.place(partition_id))
        held.append(_PARTITION_FRAME)
        held.append(body or partition_body(topic.read(partition_id, index), topic.id, partition_id))


def _add_span(topic: TopicImage, buf: bytes, starts: list[int], ends: list[int], held: list[bytes]) -> None:
    """Add the records of a span that holds a topic's partitions in order.

    The usual form of a record is checked in the loop itself: `_canonical_body` decides the same, but a call for each record costs more.
    """
    add = held.append
    for start, end in zip(starts, ends, strict=True):
        at = start + _COUNTS
        replicas = buf[at]
        at += 4 * replicas - 3
        in_sync = buf[at]
        at += 4 * in_sync - 3
        if buf[at] == buf[at + 1] == 1 and (replicas | in_sync) < 128:
            at += _FIXED_SIZE
            directories = buf[at]
            if 1 < directories < 128 and at + 16 * directories - 15 == end - 1 and not buf[end - 1] and buf[start + 2]:
                add(_PARTITION_FRAME)
                add(buf[start + _FRAME_SIZE : end])
                continue
        add(_PARTITION_FRAME)
        add(_canonical_body(buf, start, end) or _body_of(topic, buf, start, end))


def _body_of(topic: TopicImage, buf: bytes, start: int, end: int) -> bytes:
    at = start + _FRAME_SIZE
    partition_id = int.from_bytes(buf[at : at + 4], "big", signed=True)
    return partition_body(read_partition(buf, start, end), topic.id, partition_id)


def partition_body(partition: PartitionRegistration, topic_id: bytes, partition_id: int) -> bytes:
    """The canonical body of a partition's record."""
    out = bytearray()
    _partition_writer()(partition_record(partition, topic_id, partition_id, NEWEST_LEVEL, _no_loss), out)
    return bytes(out)


def _partition_writer() -> Callable[[Any, bytearray], None]:
    return message_type("metadata", "PartitionRecord").writer(_PARTITION_VERSION)


def _canonical_body(buf: bytes, start: int, end: int) -> bytes | None:
    """The canonical body of the checked partition record `buf[start:end]`, made without decoding it; None if it has to be decoded.

    Version 1 differs from version 2 only in the eligible leader replicas, which are tagged fields; version 0 has no directories. A tagged
    field may have a form that is not canonical, so a record with one is decoded.
    """
    at = start + _FRAME_SIZE + _KEY_SIZE
    replicas = buf[at]
    at += 4 * replicas - 3
    in_sync = buf[at]
    at += 4 * in_sync - 3
    removing = buf[at]
    at += 4 * removing - 3
    adding = buf[at]
    at += 4 * adding + 9  # the array, then leader, leader epoch and partition epoch
    if (replicas | in_sync | removing | adding) > 127:
        return None
    last = end - 1
    if buf[start + 2]:
        directories = buf[at]
        if directories > 1 and directories < 128:
            return buf[start + _FRAME_SIZE : end] if at + 16 * directories - 15 == last and not buf[last] else None
        if directories != 1:
            return None
        if at + 1 != last or buf[last]:
            return None
    elif at != last or buf[last]:
        return None
    count = replicas - 1
    return buf[start + _FRAME_SIZE : at] + encode_uvarint(count + 1) + MIGRATING_DIRECTORY * count + b"\0"
