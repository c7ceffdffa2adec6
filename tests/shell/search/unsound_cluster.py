"""A small cluster with something of every kind wrong, and topics whose names and ids are unlucky."""

from __future__ import annotations

from io import StringIO

from metashell.common.forms import Display
from metashell.metadata.image import ImageLoader, MetadataImage
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.shell import Context
from tests.metadata.image.batches import batch, record

DIRECTORIES = {id: bytes([id] * 16) for id in (1, 2, 3, 4)}
RACKS = {1: "a", 2: "b", 3: "c", 4: None}
IDS = {name: bytes([number] * 16) for number, name in enumerate(("orders", "pay/ments %", "[a]*", "again", "again"), 101)}
ORPHAN = bytes([99] * 16)
"""The id of a topic whose name a later topic took."""
STATES = (
    {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1},
    {"replicas": (2, 3, 1), "isr": (2, 3, 1), "leader": 2},
    {"replicas": (1, 2, 3), "isr": (1,), "leader": 1},
    {"replicas": (2, 3), "isr": (3,), "leader": -1},
    {"replicas": (3, 4), "isr": (3, 4), "leader": 4},
    {"replicas": (1, 9), "isr": (1, 9), "leader": 9},
    {"replicas": (1, 2, 3), "isr": (1, 2), "adding_replicas": (3,), "leader": 2},
    {"replicas": (3, 2), "isr": (2,), "leader": 2, "leader_recovery_state": 1},
    {"replicas": (1, 2, 4), "isr": (1, 2), "adding_replicas": (4,), "leader": 1},
    {"replicas": (2, 1), "isr": (2, 1), "leader": 2, "directories": (DIRECTORIES[2], bytes([8] * 16))},
)
PARTITIONS = 60


def unsound_image() -> MetadataImage:
    """Four brokers, one of them fenced, and five topics with runs of partitions in each state."""
    loader = ImageLoader()
    bodies = [
        record(
            "RegisterBrokerRecord",
            broker_id=id,
            incarnation_id=bytes(16),
            broker_epoch=5,
            rack=rack,
            fenced=id == 4,
            log_dirs=(DIRECTORIES[id],),
        )
        for id, rack in RACKS.items()
    ]
    for name, id in (("again", ORPHAN), *IDS.items()):
        bodies.append(record("TopicRecord", name=name, topic_id=id))
        for number in range(PARTITIONS if id != ORPHAN else 3):
            fields = STATES[number // 6 % len(STATES)]
            directories = tuple(DIRECTORIES.get(replica, bytes([7] * 16)) for replica in fields["replicas"])
            bodies.append(record("PartitionRecord", partition_id=number, topic_id=id, **{"directories": directories, **fields}))
    bodies += [record("PartitionChangeRecord", partition_id=number, topic_id=IDS["orders"], leader=-1, isr=[2]) for number in (0, 30)]
    bodies += [
        record("ConfigRecord", resource_type=type, resource_name=name, name=key, value=value)
        for type, name, key, value in (
            (2, "orders", "min.insync.replicas", "2"),
            (2, "orders", "retention.ms", "1000"),
            (2, "[a]*", "retention.ms", "2000"),
            (4, "1", "log.cleaner.threads", "2"),
            (4, "2", "ssl.key.password", "s3cr3t"),
        )
    ]
    loader.load_batch(batch(*bodies))
    return loader.image()


def unsound_context(image: MetadataImage, *, output: str = "text") -> Context:
    root = build_root(image, voice="own", local=LocalInfo(version="0", commit_id="0"))
    return Context(root=root, image=image, display=Display(StringIO()), err=StringIO(), output=output)
