"""Clusters in trouble and sound ones: how each is made, the words that a person types, and the facts that the answer must have."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from metashell.common.values import uuid_text
from metashell.disk.names import META_PROPERTIES, METADATA_DIRECTORY, segment_name
from tests.inspect.verify.making import metadata_value
from tests.metadata.diagnosis.disks import (
    OTHER_TOPIC,
    TOPIC,
    Disk,
    broker,
    change,
    configuration,
    controller,
    disk,
    fence,
    known,
    partition,
    properties,
    setting,
    stop,
    topic,
    voters,
)

TESTS: Final = Path(__file__).parents[2]
GOLDEN: Final = TESTS / "golden" / "kafka"
CASES: Final = TESTS / "golden" / "cases"
"""Directories of real clusters with a problem; their README names where they come from."""
DEMO: Final = TESTS.parent / "metashell" / "demo" / "data"
Words = Sequence[str]
Maker = Callable[[Path], Words]
ORDERS: Final = (topic(), partition(0, [1, 2, 3]), partition(1, [2, 3, 1]))
THREE: Final[dict[str, Any]] = {"voter_ids": (1, 2, 3), "brokers": (1, 2, 3)}
MOVED: Final = ((1, "controller-1.example.net", 9093), (2, "controller-2.example.net", 9093), (3, "gone.invalid", 9093))


@dataclass(frozen=True)
class Situation:
    """`make` fills a folder and gives what follows `metashell health`; `bad` are the causes, `unusual` others that must be told.

    `facts` are in the answer of `health`; `refused` says that no release of Kafka starts on it, so that `verify --start-safe` says so.
    """

    make: Maker
    bad: frozenset[str] = frozenset()
    unusual: frozenset[str] = frozenset()
    facts: Words = ()
    refused: bool = False


def one(**how: Any) -> Maker:
    """A single directory."""
    return lambda at: [str(Disk(**how).write(at / "d1"))]


def nodes(*all: dict[str, Any]) -> Maker:
    """A directory for each of several nodes."""
    return lambda at: [str(Disk(**how).write(at / f"node-{how['node']}")) for how in all]


def with_config(more: str = "", roles: str = "broker,controller", **how: Any) -> Maker:
    def make(at: Path) -> Words:
        Disk(**how).write(at / "d1")
        config = configuration(at, how.get("node", 1), more=more, roles=roles, directories=str(at / "d1"))
        return [str(at / "d1"), "-c", str(config)]

    return make


def formatted(spoil: Callable[[Path], object] = lambda _: None, *, node: int = 7, more: str | None = None, dirs: int = 2) -> Maker:
    """A node with several log directories that never ran, and one thing that is wrong with them."""

    def make(at: Path) -> Words:
        paths = [at / f"d{number}" for number in range(1, dirs + 1)]
        for number, path in enumerate(paths, 1):
            path.mkdir()
            (path / META_PROPERTIES).write_text(properties(7, disk(7, number)))
        usual = f"controller.quorum.voters={node}@controller-{node}.example.net:9093"
        configuration(at, node, more=usual if more is None else more, directories=",".join(map(str, paths)))
        spoil(at)
        return [*(str(path) for path in paths if path.is_dir()), "-c", str(at / "server.properties")]

    return make


def rewrite(at: Path, directory: str, old: str, new: str) -> None:
    file = at / directory / META_PROPERTIES
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def copied(path: Path, spoil: Callable[[Path], object] = lambda _: None) -> Maker:
    def make(at: Path) -> Words:
        shutil.copytree(path, at / "node")
        spoil(at / "node" / METADATA_DIRECTORY)
        return [str(at / "node")]

    return make


def noted(**note: Any) -> Callable[[Path], object]:
    """Another quorum-state."""

    def write(at: Path) -> None:
        file = at / "quorum-state"
        file.write_text(json.dumps({**json.loads(file.read_text()), **note}))

    return write


def without_checkpoints(at: Path, *, keep: str = "") -> None:
    (at / segment_name(0)).unlink()
    for file in at.glob("*.checkpoint"):
        if keep and keep in file.name:
            file.write_bytes(b"")
        else:
            file.unlink()


def fs(*ids: str) -> frozenset[str]:
    return frozenset(ids)


STATIC_1: Final = "controller.quorum.voters=1@controller-1.example.net:9093"
RATES: Final = [setting(4, str(id), f"{who}.replication.throttled.rate", "5000000") for id in (1, 2, 3) for who in ("leader", "follower")]
THROTTLED: Final = [setting(2, "orders", f"{who}.replication.throttled.replicas", "*") for who in ("leader", "follower")]
REGISTERED_AGAIN: Final = [broker(3, host=host, incarnation_id=bytes([n] * 16)) for n, host in enumerate(["a", "b", "a", "b", "a"], 20)]

TROUBLES: Final[dict[str, Situation]] = {
    # meta.properties
    "two disks with one id": Situation(
        formatted(lambda at: rewrite(at, "d2", uuid_text(disk(7, 2)), uuid_text(disk(7, 1)))),
        fs("duplicate_directory_id"),
        facts=(uuid_text(disk(7, 1)), "d1/meta.properties", "d2/meta.properties"),
        refused=True,
    ),
    "one disk of three of another cluster": Situation(
        formatted(lambda at: rewrite(at, "d3", "QUJDREVGR0hJSktMTU5PUA", "WlhDVkJOTUFTREZHSEpLTA"), dirs=3),
        fs("other_cluster"),
        facts=("d3", "WlhDVkJOTUFTREZHSEpLTA", "QUJDREVGR0hJSktMTU5PUA"),
        refused=True,
    ),
    "another node.id in the configuration": Situation(
        formatted(node=8), fs("other_node_id"), facts=("node.id 7 in meta.properties, 8 in",), refused=True
    ),
    "another node.id on one disk": Situation(
        formatted(lambda at: rewrite(at, "d2", "node.id=7", "node.id=9")), fs("other_node_id"), facts=("node.id 9", "d2"), refused=True
    ),
    "an empty meta.properties": Situation(
        formatted(lambda at: (at / "d2" / META_PROPERTIES).write_text("")),
        fs("torn_identity"),
        facts=("cluster.id QUJDREVGR0hJSktMTU5PUA, node.id 7",),
        refused=True,
    ),
    "half a meta.properties": Situation(
        formatted(lambda at: rewrite(at, "d1", "cluster.id=QUJDREVGR0hJSktMTU5PUA\n", "")), fs("torn_identity"), facts=("d1",), refused=True
    ),
    "a version that nobody knows": Situation(
        formatted(lambda at: rewrite(at, "d1", "version=1", "version=7")), fs("torn_identity"), facts=("version number 7",), refused=True
    ),
    "a disk that is not mounted": Situation(
        formatted(lambda at: shutil.rmtree(at / "d2")), fs("unformatted"), facts=("d2 (does not exist",), refused=True
    ),
    "the metadata's disk of the only voter is empty": Situation(
        formatted(lambda at: (at / "d1" / META_PROPERTIES).unlink()),
        fs("lost_metadata"),
        facts=("node 7 is the only voter", "do not format it yet"),
        refused=True,
    ),
    "the metadata's disk of one voter of three is empty": Situation(
        formatted(lambda at: (at / "d1" / META_PROPERTIES).unlink(), more="controller.quorum.voters=7@a:9093,8@b:9093,9@c:9093"),
        fs("lost_metadata"),
        facts=("8 and 9", "it fetches the log"),
        refused=True,
    ),
    "an id that Kafka reserves": Situation(
        formatted(lambda at: rewrite(at, "d2", uuid_text(disk(7, 2)), "AAAAAAAAAAAAAAAAAAAAAQ")), fs("reserved_directory_id"), refused=True
    ),
    # configuration against log
    "no voters are configured, kraft.version 0": Situation(
        with_config("controller.quorum.bootstrap.servers=controller-1.example.net:9093"),
        fs("no_voters_configured"),
        facts=("kraft.version is 0", "the last voters were 1", "controller.quorum.voters=1@"),
    ),
    "other voters are configured than voted": Situation(
        with_config("controller.quorum.voters=1@a.example.net:9093,2@b.example.net:9093", **THREE),
        fs("other_voters_configured"),
        facts=("1, 2, 3",),
    ),
    # quorum-state against log
    "elections without end": Situation(
        copied(DEMO, noted(leaderId=-1, leaderEpoch=907, votedId=-1)),
        fs("endless_elections"),
        facts=("epoch 907 without a leader", "the last that led: 2 in epoch 2", "2026-11-21T00:25:57.050Z"),
    ),
    "elections without end, with a vote": Situation(
        copied(DEMO, noted(leaderId=-1, leaderEpoch=2048, votedId=3, votedDirectoryId="FG9E6ysFQq2ZmMVgbhGHTw")),
        fs("endless_elections"),
        facts=("2048", "2 in epoch 2"),
    ),
    # checkpoints
    "checkpoints were deleted": Situation(
        copied(DEMO, without_checkpoints),
        fs("lost_checkpoint"),
        facts=("offsets 0 to 250 are in no checkpoint", "majority of the voters 1, 2, 3", "keep meta.properties"),
        refused=True,
    ),
    "the newest checkpoint is empty": Situation(
        copied(DEMO, lambda at: without_checkpoints(at, keep="329-")), fs("lost_checkpoint"), facts=("0 to 250", "(0 bytes)"), refused=True
    ),
    # voters
    "a voter at an address that no name has": Situation(
        one(voter_ids=(1, 2, 3), voter_set=known(1, 2, 3), records=[voters(*MOVED)]),
        fs("unusable_voter_address"),
        fs("moved_voter"),
        ("voter 3 at gone.invalid:9093", "before at controller-3.example.net:9093", "offset 8"),
    ),
    "a voter that tells its own machine's name": Situation(
        one(voter_ids=(1, 2, 3), voter_set=voters(*MOVED[:2], (3, "localhost", 9093))),
        fs("unusable_voter_address"),
        facts=("voter 3 at localhost:9093",),
    ),
    "two voters at one address": Situation(
        one(voter_ids=(1, 2, 3), voter_set=voters(MOVED[0], MOVED[1], (3, *MOVED[1][1:]))),
        fs("same_voter_address"),
        facts=("controller-2.example.net:9093",),
    ),
    "a voter's disk is another one": Situation(
        one(voter_set=known(1), directory_id=disk(1, 5)), fs("other_disk_votes"), facts=(uuid_text(disk(1, 5)), uuid_text(disk(1)))
    ),
    # registrations
    "a controller that is gone holds the level down": Situation(
        one(voter_ids=(1, 2, 3), voter_set=known(1, 2, 3), controllers=(1, 2, 3), records=[controller(9, high=25)]),
        fs("stale_controller"),
        facts=("controller 9", "7 to 25 (4.0-IV3)", "the voters are 1, 2, 3", "metadata.version 30 (4.3-IV0)"),
    ),
    "partitions name a broker that was unregistered": Situation(
        one(
            **THREE, records=[*ORDERS, change(0, isr=(1, 2)), change(1, isr=(2, 1)), metadata_value("UnregisterBrokerRecord", broker_id=3)]
        ),
        fs("vanished"),
        facts=("3",),
    ),
    # topic directories against metadata
    "a folder of another topic": Situation(
        one(records=[topic(), partition(0, [1])], folders={"orders-0": OTHER_TOPIC}),
        fs("stray_topic_id"),
        facts=(uuid_text(OTHER_TOPIC), uuid_text(TOPIC), "orders-0", "offset 4"),
    ),
    "a folder without partition.metadata": Situation(
        one(records=[topic(), partition(0, [1])], folders={"orders-0": None}), fs("no_topic_id"), facts=(uuid_text(TOPIC), "orders-0")
    ),
    "folders of another topic after a clean stop": Situation(
        one(records=[topic(), partition(0, [1]), *stop(1)], folders={"orders-0": OTHER_TOPIC}),
        fs("stray_topic_id"),
        fs("stopped"),
        (uuid_text(OTHER_TOPIC),),
    ),
    # brokers and partitions
    "a broker died, and two remain": Situation(
        one(**THREE, records=[*ORDERS, change(0, isr=(2, 3), leader=2), change(1, isr=(2, 3)), fence(1)]), fs("fenced"), facts=("1",)
    ),
    "the only replica's broker died": Situation(
        one(**THREE, records=[topic(), partition(0, [2]), change(0, leader=-1), fence(2)]),
        fs("fenced"),
        facts=("in sync: 2",),
    ),
    "a broker was stopped in order, and others run on": Situation(
        one(node=3, **THREE, records=[*ORDERS, change(0, isr=(2, 3), leader=2), change(1, isr=(2, 3)), *stop(1)]),
        fs("fenced"),
        facts=("after a controlled shutdown",),
    ),
    "an unclean leader": Situation(
        one(**THREE, records=[topic(), partition(0, [1, 2], isr=(1,), leader_recovery_state=1)]), fs("unclean", "under_replicated")
    ),
    "a move to a broker that died": Situation(
        one(
            **THREE,
            records=[topic(), partition(0, [1, 2, 3], isr=(1, 2), adding_replicas=(3,), removing_replicas=(2,)), fence(3)],
        ),
        fs("fenced"),
        facts=("waits for broker 3",),
    ),
    "two brokers with one id": Situation(
        one(**THREE, records=REGISTERED_AGAIN), fs("contested_id"), facts=("broker 3", "a:9092", "b:9092", "replaced")
    ),
    "two brokers tell one address": Situation(
        one(registrations=[broker(1), broker(2, host="kafka-1.example.net")]), fs("same_listener"), facts=("kafka-1.example.net:9092",)
    ),
    # ZooKeeper
    "a migration that waits for brokers": Situation(
        one(level=21, brokers=(), records=[metadata_value("ZkMigrationStateRecord", zk_migration_state=2)]),
        fs("zk_migration"),
        facts=("PRE_MIGRATION", "offset 3"),
    ),
    "a migration that was not finalised": Situation(
        one(level=21, records=[metadata_value("ZkMigrationStateRecord", zk_migration_state=1)]),
        fs("zk_migration"),
        facts=("MIGRATION", "offset 4"),
    ),
    # what is left behind; several at once
    "throttles without a move": Situation(
        one(**THREE, records=[*ORDERS, *RATES, *THROTTLED]),
        unusual=fs("left_throttles"),
        facts=("3 brokers (5000000 B/s: 1, 2, 3)", "1 topic (orders)", "metashell reassign status --clear-throttle"),
    ),
    "a migration, a bad folder and elections at once": Situation(
        one(
            level=21,
            records=[topic(), partition(0, [1]), metadata_value("ZkMigrationStateRecord", zk_migration_state=1)],
            folders={"orders-0": OTHER_TOPIC},
            note={"leaderId": -1, "leaderEpoch": 321},
        ),
        fs("zk_migration", "stray_topic_id", "endless_elections"),
        facts=("MIGRATION", uuid_text(OTHER_TOPIC), "epoch 321"),
    ),
    "two nodes with one id": Situation(
        lambda at: [
            str(Disk(node=1, voter_ids=(1, 2)).write(at / "a")),
            str(Disk(node=1, voter_ids=(1, 2), directory_id=disk(1, 4)).write(at / "b")),
        ],
        fs("shared_node_id"),
        facts=("node 1", uuid_text(disk(1, 4))),
    ),
    "real: a registration of nobody": Situation(
        copied(CASES / "01-stale-registrations" / "node-1"), fs("stale_controller", "vanished"), facts=("controller 3", "7 to 25")
    ),
    "real: wrong addresses": Situation(
        copied(CASES / "04-wrong-advertised" / "node-2"),
        fs("unusable_voter_address", "fenced"),
        fs("moved_voter"),
        ("localhost:1", "offset 120", "kafka-old.invalid:9093", "offset 160"),
    ),
}

HEALTHY: Final[dict[str, Situation]] = {
    "one node": Situation(one(records=[topic(), partition(0, [1])], folders={"orders-0": TOPIC})),
    "one node, kraft.version 1": Situation(one(voter_set=known(1), records=[topic(), partition(0, [1])])),
    "a voter that is alone on its machine": Situation(one(voter_set=voters((1, "localhost", 9093)))),
    "three nodes": Situation(nodes(*({"node": id, **THREE, "records": ORDERS} for id in (1, 2, 3)))),
    "three nodes, kraft.version 1": Situation(
        nodes(*({"node": id, **THREE, "voter_set": known(1, 2, 3), "records": ORDERS} for id in (1, 2, 3)))
    ),
    "three voters of one machine": Situation(
        one(voter_ids=(1, 2, 3), voter_set=voters(*((id, "localhost", 9092 + id) for id in (1, 2, 3))))
    ),
    "kraft.version 1, no list": Situation(
        with_config("controller.quorum.bootstrap.servers=controller-1.example.net:9093", voter_set=known(1))
    ),
    "kraft.version 1, with a list": Situation(with_config(STATIC_1, voter_set=known(1))),
    "kraft.version 0, with its list": Situation(with_config(STATIC_1)),
    "a controller alone": Situation(nodes({"node": 1, **THREE, "brokers": (4, 5, 6), "records": [topic(), partition(0, [4, 5, 6])]})),
    "a broker alone": Situation(
        with_config(
            "controller.quorum.voters=1@a.example.net:9093,2@b.example.net:9093,3@c.example.net:9093",
            "broker",
            node=5,
            voter_ids=(1, 2, 3),
            brokers=(4, 5, 6),
            records=[topic(), partition(0, [4, 5, 6])],
            folders={"orders-0": TOPIC},
        )
    ),
    "a broker that follows a dynamic quorum": Situation(
        one(node=5, voter_ids=(1, 2, 3), voter_set=known(1, 2, 3), brokers=(4, 5, 6), records=[topic(), partition(0, [4, 5, 6])])
    ),
    "stopped in order, one node": Situation(
        one(records=[topic(), partition(0, [1]), change(0, leader=-1), *stop(1)], folders={"orders-0": TOPIC}), unusual=fs("stopped")
    ),
    "stopped in order, one node, not yet fenced": Situation(
        one(records=[topic(), partition(0, [1]), change(0, leader=-1), *stop(1, fenced=False)]), unusual=fs("stopped")
    ),
    "stopped in order, the own disk of one of three": Situation(
        one(node=1, **THREE, records=[*ORDERS, change(0, isr=(2, 3), leader=2), change(1, isr=(2, 3)), *stop(1)]), unusual=fs("stopped")
    ),
    "stopped in order, all": Situation(
        nodes(
            *(
                {
                    "node": id,
                    **THREE,
                    "records": [*ORDERS, *stop(1), *stop(2), *stop(3), change(0, isr=(3,), leader=-1), change(1, isr=(3,), leader=-1)],
                }
                for id in (1, 2, 3)
            )
        ),
        unusual=fs("stopped"),
    ),
    "formatted, never started": Situation(formatted(), unusual=fs("never_started")),
    "formatted, a disk without an id": Situation(
        formatted(lambda at: rewrite(at, "d2", f"directory.id={uuid_text(disk(7, 2))}\n", "")), unusual=fs("never_started")
    ),
    "POST_MIGRATION": Situation(one(level=21, records=[metadata_value("ZkMigrationStateRecord", zk_migration_state=3)])),
    "no migration": Situation(one(level=21, records=[metadata_value("ZkMigrationStateRecord", zk_migration_state=0)])),
    "throttles during a move": Situation(
        one(
            voter_ids=(1, 2, 3),
            brokers=(1, 2, 3, 4),
            records=[topic(), partition(0, [1, 2, 3, 4], isr=(1, 2, 3), adding_replicas=(4,), removing_replicas=(1,)), *RATES, *THROTTLED],
        )
    ),
    "throttles that were taken away": Situation(
        one(
            **THREE,
            records=[
                *ORDERS,
                *RATES,
                *(setting(4, str(id), f"{who}.replication.throttled.rate", None) for id in (1, 2, 3) for who in ("leader", "follower")),
            ],
        )
    ),
    "a topic that was deleted, with its folder": Situation(
        one(
            records=[topic(), partition(0, [1]), metadata_value("RemoveTopicRecord", topic_id=TOPIC)],
            folders={f"orders-0.{'a' * 32}-delete": TOPIC},
        )
    ),
    "a topic that was made again": Situation(
        one(
            records=[
                topic(),
                partition(0, [1]),
                metadata_value("RemoveTopicRecord", topic_id=TOPIC),
                topic("orders", OTHER_TOPIC),
                partition(0, [1], topic=OTHER_TOPIC),
            ],
            folders={"orders-0": OTHER_TOPIC, f"orders-0.{'b' * 32}-delete": TOPIC},
        )
    ),
    "a broker that was started again": Situation(one(**THREE, records=[*ORDERS, broker(3, incarnation_id=bytes([7] * 16))])),
    "an election or two": Situation(one(voter_ids=(1, 2, 3), note={"leaderId": -1, "leaderEpoch": 2, "votedId": 2})),
    "two log directories": Situation(
        lambda at: [
            str(
                Disk(
                    registrations=[broker(1, directories=(disk(1), disk(1, 2)))],
                    records=[topic(), partition(0, [1], directories=(disk(1, 2),))],
                ).write(at / "d1")
            ),
            str(_data_disk(at / "d2")),
        ]
    ),
    "real: stopped, Kafka 3.3.2": Situation(copied(GOLDEN / "3.3.2" / "main" / "data" / "stopped" / "node-1"), unusual=fs("stopped")),
    "real: killed, Kafka 3.3.2": Situation(copied(GOLDEN / "3.3.2" / "default" / "data" / "killed" / "node-1")),
    "real: live, Kafka 3.9.2": Situation(copied(GOLDEN / "3.9.2" / "main" / "data" / "live-2" / "node-5")),
    "real: stopped, Kafka 3.9.2": Situation(copied(GOLDEN / "3.9.2" / "main" / "data" / "stopped" / "node-1"), unusual=fs("stopped")),
    "real: live, Kafka 4.4.0": Situation(copied(GOLDEN / "4.4.0" / "main" / "data" / "live-1" / "node-1")),
}


def _data_disk(at: Path) -> Path:
    """The second directory of node 1, with a partition."""
    folder = at / "orders-0"
    folder.mkdir(parents=True)
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(TOPIC)}")
    (at / META_PROPERTIES).write_text(properties(1, disk(1, 2)))
    return at
