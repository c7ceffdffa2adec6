"""The facts that checks are given. `metadata.facts` gathers them from disks, the cli from servers.

Everything here is plain data, or a function of it. Instead of a fact that could not be read stands the reason as text, which no check
takes for a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.releases import NEWEST_RELEASE

if TYPE_CHECKING:
    from metashell.codec.releases import Release
    from metashell.metadata.checks.health import Health
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.image.provenance import VoterSet

IMAGE: Final = "image"
LOG: Final = "log"
DIRECTORIES: Final = "directories"
TOPIC_DIRECTORIES: Final = "topic directories"
CONFIG: Final = "configuration"
QUORUM: Final = "quorum"
BROKERS: Final = "brokers"
DISKS: Final = "disks"
TRANSACTIONS: Final = "transactions"
NO_NODE: Final = -1

_MISSING: Final = {
    IMAGE: "no metadata was read",
    LOG: "no metadata log was read",
    DIRECTORIES: "no log directory was given",
    TOPIC_DIRECTORIES: "no directory of a partition lies here",
    CONFIG: "no server.properties given, -c",
    QUORUM: "no live quorum asked, -C",
    BROKERS: "no broker asked, -b",
    DISKS: "no broker told of its log directories, -b",
    TRANSACTIONS: "no broker told of its transactions, -b, and no logs of partitions were read",
}


# ---- disks


class Identity(NamedTuple):
    """A meta.properties that could be read; a field is None if the file lacks it."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: bytes | None


class QuorumNote(NamedTuple):
    """The content of quorum-state; -1 means nobody."""

    epoch: int
    leader_id: int
    voted_id: int
    voter_ids: tuple[int, ...]
    version: int


class LogEvent(NamedTuple):
    """A rare record of the metadata log: of any type but those of topics and partitions. `record` is the decoded body.

    Units: Unix ms.
    """

    offset: int
    epoch: int
    timestamp_ms: int
    name: str
    record: Any


class ReplacedDisk(NamedTuple):
    """A broker that registered again without some of its log directories and with new ones. Units: Unix ms.

    Shape: `offset` is that of the registration, `gone` are the directories that it no longer has. `alone` are the partitions (topic id,
    id) whose only in-sync replica was in one of these directories just before: no other replica has all of their records.
    """

    broker: int
    offset: int
    timestamp_ms: int
    gone: frozenset[bytes]
    alone: tuple[tuple[bytes, int], ...]


class CheckpointFacts(NamedTuple):
    """A snapshot file; `trouble` says why it is not whole and is empty if it is."""

    name: str
    offset: int
    epoch: int
    size_bytes: int
    trouble: str = ""


class TopicNote(NamedTuple):
    """The log's records of one topic id: its name, where it was created (-1 if only a checkpoint has it) and removed. Units: Unix ms."""

    name: str
    offset: int = -1
    timestamp_ms: int = -1
    removed_offset: int = -1
    removed_ms: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLog:
    """The metadata log of one directory: where it begins and ends, who led, and the small files beside it.

    Shape: `start_offset` is that of the first segment, `end_offset` exclusive; both are 0 without a segment. `image` is None if it could
    not be made, and `trouble` says why. `quorum_note` and `epochs` are None if the file is missing, and the reason if it cannot be read.
    `last_leader` is (id, epoch) of the last LeaderChange. `voter_sets` are those that the log (not a checkpoint) names, each with
    offset and time. `topics` are those with a directory on the same node, by id, and other topics of the same names. Units: Unix ms.
    """

    path: str
    image: MetadataImage | None
    trouble: str = ""
    start_offset: int = 0
    end_offset: int = 0
    last_epoch: int = 0
    last_timestamp_ms: int = -1
    last_leader: tuple[int, int] | None = None
    quorum_note: QuorumNote | str | None = None
    epochs: tuple[tuple[int, int], ...] | str | None = None
    checkpoints: tuple[CheckpointFacts, ...] = ()
    voter_sets: tuple[tuple[int, int, VoterSet], ...] = ()
    events: tuple[LogEvent, ...] = ()
    topics: Mapping[bytes, TopicNote] = field(default_factory=dict)


class PartitionDirectory(NamedTuple):
    """A directory of a partition; `topic_id` is None without partition.metadata, and the reason if that cannot be read.

    Shape: `suffix` is empty, or `stray`, `delete` or `future` as Kafka renames such directories.
    """

    path: str
    topic: str
    partition: int
    topic_id: bytes | str | None
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """One log directory of a node as it lies on a disk.

    Shape: `identity` is None without a meta.properties (an empty or missing directory), and the reason if that cannot be read; `state` is
    `present`, `missing` or `not_a_directory`. Directories of one node have the same number `node`, given by the gatherer. With
    `is_alone` only its metadata log was named, and nothing else in it was read. `transactions` are all that are open in its partitions,
    None if their logs were not read.
    """

    path: str
    state: str = "present"
    identity: Identity | str | None = None
    metadata: MetadataLog | None = None
    partitions: tuple[PartitionDirectory, ...] = ()
    is_empty: bool = False
    is_alone: bool = False
    node: int = 0
    free_bytes: int | None = None
    total_bytes: int | None = None
    transactions: tuple[HangingTransaction, ...] | None = None


# ---- configuration


class Listener(NamedTuple):
    """A listener or an advertised one; `host` is empty if the setting leaves it out."""

    name: str
    host: str
    port: int
    protocol: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A server.properties. `trouble` is the reason why Kafka refuses it; then the other fields are what could be read of it.

    Shape: `voters` are those of controller.quorum.voters as (id, host, port), `metadata_directory` one of `log_directories`. `node` is the
    number of the directories of the same node.
    """

    path: str
    trouble: str = ""
    node_id: int | None = None
    roles: frozenset[str] = frozenset()
    voters: tuple[tuple[int, str, int], ...] = ()
    bootstrap_servers: tuple[str, ...] = ()
    controller_listeners: tuple[str, ...] = ()
    listeners: tuple[Listener, ...] = ()
    advertised: tuple[Listener, ...] = ()
    log_directories: tuple[str, ...] = ()
    metadata_directory: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    node: int = 0


# ---- live answers


class Probe(NamedTuple):
    """The answer of one address within its time limit.

    Shape: `outcome` is `answers`, `refused`, `unresolved`, `silent`, `broker` or `controller` (the other kind's port), `tls` (it wants
    TLS and was asked in plain text), `plain` (the reverse), `no_kafka`, `wrong_cluster`, `not_loaded`, `forbidden`, or `no_controller` (a
    broker that gets no answer from a controller); `words` say the same to people.
    `voter_id` is the voter that the address belongs to, None for one that was only typed. `leader_id` and `epoch` are what the node
    believes, None if it does not say (the empty fields of a refusal are no data). `id` and `cluster_id` are the node's own.
    """

    address: str
    outcome: str
    words: str = ""
    voter_id: int | None = None
    source: str = ""
    id: int | None = None
    leader_id: int | None = None
    epoch: int | None = None
    cluster_id: str | None = None
    elapsed_ms: int = 0


class Replica(NamedTuple):
    """A voter or observer as the leader sees it. Units: Unix ms, None if the leader does not know."""

    id: int
    directory_id: bytes | None
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None
    endpoints: tuple[Listener, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumAnswers:
    """The answers of a live quorum: the leader's description if a leader answered, and the probe of each address.

    `leader_id` is None if nobody leads, as far as the answering nodes know; `trouble` says why nobody could be asked. `lag_after_ms` is how
    long a replica may lag; `fetched` are the replicas that fetched between two looks, None after one look.
    """

    leader_id: int | None = None
    epoch: int | None = None
    high_watermark: int | None = None
    now_ms: int | None = None
    voters: tuple[Replica, ...] = ()
    observers: tuple[Replica, ...] = ()
    probes: tuple[Probe, ...] = ()
    lag_after_ms: int = 10_000
    fetched: frozenset[int] | None = None
    trouble: str = ""


class BrokerDirectory(NamedTuple):
    """A log directory as its broker describes it; sizes are None if the broker does not report them."""

    path: str
    error: str
    size_bytes: int
    total_bytes: int | None
    usable_bytes: int | None
    is_cordoned: bool


OPEN_MAX_MS: Final = 15 * 60 * 1000
"""The default of transaction.max.timeout.ms, the longest time after which a coordinator aborts a transaction by itself."""


class HangingTransaction(NamedTuple):
    """A transaction that holds back a partition's stable offset. `start_offset` is -1 if not known, `coordinator` empty.

    `seen_ms` is the time of the newest record of the partition's log, -1 for a broker's answer.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    started_ms: int
    coordinator: str
    start_offset: int = -1
    seen_ms: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAnswers:
    """The answers of one registered broker; `probe` says whether it answered. A field that it did not answer is None."""

    id: int
    probe: Probe
    directories: tuple[BrokerDirectory, ...] | None = None
    transactions: tuple[HangingTransaction, ...] | None = None
    settings: Mapping[str, str] | None = None


# ---- all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that is known of one cluster. `health` holds the newest image and judges its partitions.

    Shape: `holes` are what could not be read and why (`topics: no right DESCRIBE`); counts are then lower bounds. `now_ms` is the time to
    compare with: for files the time of the newest record, for live answers the leader's clock. `told` are the checks that the image is
    complete enough for, None for all: an image made of brokers' answers has partitions and brokers, and nothing else.
    """

    health: Health | None = None
    directories: tuple[LogDirectory, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    quorum: QuorumAnswers | None = None
    brokers: tuple[BrokerAnswers, ...] = ()
    events: tuple[LogEvent, ...] = ()
    replaced: tuple[ReplacedDisk, ...] = ()
    release: Release = NEWEST_RELEASE
    holes: tuple[str, ...] = ()
    told: frozenset[str] | None = None
    not_followed: str = ""
    now_ms: int = -1
    label: str = ""
    cluster_id: str = ""

    @property
    def image(self) -> MetadataImage:
        assert self.health is not None
        return self.health.image

    @property
    def logs(self) -> Sequence[MetadataLog]:
        """The metadata logs of all directories."""
        return [directory.metadata for directory in self.directories if directory.metadata is not None]

    @property
    def has_transactions_on_disk(self) -> bool:
        """Whether the logs of all partitions that lie in the log directories were read for open transactions."""
        with_partitions = [directory for directory in self.directories if directory.partitions]
        return bool(with_partitions) and all(directory.transactions is not None for directory in with_partitions)

    def lacks(self, need: str) -> str:
        """Return why a fact is missing, an empty text if it is there."""
        there = {
            IMAGE: self.health is not None,
            LOG: bool(self.logs),
            DIRECTORIES: bool(self.directories),
            TOPIC_DIRECTORIES: any(directory.partitions for directory in self.directories),
            CONFIG: bool(self.configurations),
            QUORUM: self.quorum is not None,
            BROKERS: bool(self.brokers),
            DISKS: any(broker.directories is not None for broker in self.brokers),
            TRANSACTIONS: any(broker.transactions is not None for broker in self.brokers) or self.has_transactions_on_disk,
        }
        if need == QUORUM and self.quorum is not None:
            return self.quorum.trouble
        return "" if there[need] else _MISSING[need]
