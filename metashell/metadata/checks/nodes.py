"""Facts by node: one server's directories with its configuration, the voters that it can know, its orderly stop, and its addresses."""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, TypeVar

from metashell.codec.releases import KRAFT_VERSION
from metashell.common.values import ZERO_UUID, uuid_text
from metashell.metadata.checks.facts import Identity, QuorumNote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metashell.metadata.checks.facts import Configuration, Facts, LogDirectory, MetadataLog
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.image.cluster import BrokerRegistration
    from metashell.metadata.image.partitions import PartitionRegistration


T = TypeVar("T")
META_PROPERTIES: Final = "meta.properties"
RESTORE: Final = (
    "if a majority of the voters is lost for good: metashell quorum restore DIRECTORY... --out NEW_DIRECTORY --node-id N --listener "
    "HOST:PORT, with what is left of all nodes"
)


@dataclass(frozen=True, slots=True)
class ServerNode:
    """The directories of one server; `identities` are those that could be read, each with its directory."""

    directories: tuple[LogDirectory, ...]
    configuration: Configuration | None
    identities: tuple[tuple[LogDirectory, Identity], ...]

    @property
    def id(self) -> int | None:
        """The id of the configuration, else that of most directories."""
        if self.configuration is not None and self.configuration.node_id is not None:
            return self.configuration.node_id
        return self.stored_id

    @property
    def stored_id(self) -> int | None:
        """The id that most directories have; on a tie that of the directory with the metadata log."""
        return _most(identity.node_id for _, identity in self._by_weight())

    @property
    def broker_id(self) -> int | None:
        """The id under which the log knows the disks: the stored one, else the configuration's."""
        return self.id if self.stored_id is None else self.stored_id

    @property
    def cluster_id(self) -> str | None:
        """The cluster that most directories belong to."""
        return _most(identity.cluster_id for _, identity in self._by_weight())

    def _by_weight(self) -> list[tuple[LogDirectory, Identity]]:
        return sorted(self.identities, key=lambda found: found[0].metadata is None)

    @property
    def log(self) -> MetadataLog | None:
        return next((one.metadata for one in self.directories if one.metadata is not None), None)

    @property
    def log_directory(self) -> LogDirectory | None:
        """The directory that has the metadata log, else the one that should have it by the configuration."""
        place = "" if self.configuration is None else self.configuration.metadata_directory
        with_log = next((one for one in self.directories if one.metadata is not None), None)
        return with_log or next((one for one in self.directories if one.path == place), None)

    @property
    def is_complete(self) -> bool:
        """Return whether these are all directories of the node, which only a configuration can say."""
        return self.configuration is not None and bool(self.configuration.log_directories)

    @property
    def name(self) -> str:
        return "this node" if self.id is None else f"node {self.id}"

    def neighbours_text(self) -> str:
        """`by its neighbours it was of cluster.id X, node.id 1`; empty if they do not say."""
        words = [f"cluster.id {self.cluster_id}"] if self.cluster_id is not None else []
        words += [f"node.id {self.stored_id}"] if self.stored_id is not None else []
        return f"by its neighbours it was of {', '.join(words)}" if words else ""


def nodes_of(facts: Facts) -> list[ServerNode]:
    """The nodes whose directories or configurations are known, in order."""
    numbers = dict.fromkeys((*(one.node for one in facts.directories), *(one.node for one in facts.configurations)))
    nodes = []
    for number in numbers:
        directories = tuple(one for one in facts.directories if one.node == number)
        config = next((one for one in facts.configurations if one.node == number), None)
        identities = tuple((one, one.identity) for one in directories if is_whole(one.identity))
        nodes.append(ServerNode(directories, config, identities))  # type: ignore[arg-type]
    return nodes


def is_whole(identity: Identity | str | None) -> bool:
    """Return whether a meta.properties says all that Kafka needs of it."""
    return isinstance(identity, Identity) and identity.cluster_id is not None and identity.node_id is not None


def place_of(directory: LogDirectory) -> str:
    return posixpath.join(directory.path, META_PROPERTIES)


def repairing(node: ServerNode, directory: LogDirectory) -> str:
    """The command that repairs a directory of a node, with what proves ids: its configuration, else its directory with the log."""
    if node.configuration is not None:
        return f"metashell storage repair {directory.path} -c {node.configuration.path}"
    log = node.log_directory
    source = f" --from {log.path}" if log is not None and log is not directory else ""
    return f"metashell storage repair {directory.path}{source}"


def kraft_version(image: MetadataImage | None) -> int | None:
    """The kraft.version of an image, None without one."""
    return None if image is None else image.features.finalized.get(KRAFT_VERSION, 0)


def image_of(node: ServerNode, facts: Facts) -> MetadataImage | None:
    """The newest known metadata of a node's cluster; if directories of several clusters are given, that of its own log."""
    clusters = {identity.cluster_id for one in facts.directories if isinstance(identity := one.identity, Identity)} - {None}
    if len(clusters) > 1 and node.log is not None:
        return node.log.image
    return None if facts.health is None else facts.image


def voters_of(node: ServerNode, facts: Facts) -> dict[int, bytes | None]:
    """The voters as far as a node can know them, each with its directory id if that is known; empty if nothing names them.

    The node's log counts first, then another node's, then its configuration, and last its quorum-state.
    """
    images = [log.image for log in (node.log,) if log is not None] + [image_of(node, facts)]
    for image in images:
        if image is not None and image.voters is not None:
            return {voter.id: None if voter.directory_id == ZERO_UUID else voter.directory_id for voter in image.voters.voters}
    config = node.configuration
    if config is not None and config.voters:
        return dict.fromkeys(id for id, _, _ in config.voters)
    for image in images:
        if image is not None and image.leader is not None and image.leader.voter_ids:
            return dict.fromkeys(image.leader.voter_ids)
    note = None if node.log is None else node.log.quorum_note
    return dict.fromkeys(note.voter_ids) if isinstance(note, QuorumNote) else {}


def is_only_voter(node: ServerNode, facts: Facts) -> bool:
    return node.id is not None and set(voters_of(node, facts)) == {node.id}


def others_text(node: ServerNode, facts: Facts) -> str:
    """The other voters, `1 and 3`."""
    others = [str(id) for id in sorted(voters_of(node, facts)) if id != node.id]
    return " and ".join(filter(None, (", ".join(others[:-1]), *others[-1:])))


def directory_ids(node: ServerNode) -> Iterator[tuple[LogDirectory, bytes]]:
    return ((one, identity.directory_id) for one, identity in node.identities if identity.directory_id is not None)


def lost_directory_ids(node: ServerNode, facts: Facts) -> list[str]:
    """The directory ids that the log has for a node, as a broker or else as a voter, and that none of its directories has."""
    image, id = image_of(node, facts), node.broker_id
    if image is None or id is None:
        return []
    present = {own for _, own in directory_ids(node)}
    known = list(image.cluster.brokers[id].directories) if id in image.cluster.brokers else []
    if not known and image.voters is not None:
        known = [voter.directory_id for voter in image.voters.voters if voter.id == id and voter.directory_id != ZERO_UUID]
    return [uuid_text(own) for own in known if own not in present]


def _most(values: Iterator[T | None]) -> T | None:
    """The most frequent value, the first of several; None without any."""
    counts = Counter(value for value in values if value is not None)
    return counts.most_common(1)[0][0] if counts else None


_LIVE: Final = frozenset({"quorum", "brokers"})


def stopped_brokers(facts: Facts) -> frozenset[int]:
    """The brokers that were shut down in order when the metadata ended: all brokers of a cluster, or the node whose own disk was read.

    Empty if a server answers, because it knows who is missing. A broker that died, or that others outlived, is not among them.
    """
    if facts.health is None or facts.quorum is not None or facts.brokers or facts.image.provenance.source_kind in _LIVE:
        return frozenset()
    brokers = facts.image.cluster.brokers
    orderly = frozenset(id for id, broker in brokers.items() if broker.in_controlled_shutdown)
    if len(orderly) == len(brokers):
        return orderly
    # The log of one node ends where its server stopped: it cannot know what came after.
    own = (node.stored_id for node in nodes_of(facts) if node.log is not None and node.log.image is facts.image)
    return orderly.intersection(id for id in own if id is not None)


def is_explained(kind: str, partition: PartitionRegistration, stopped: frozenset[int], brokers: Mapping[int, BrokerRegistration]) -> bool:
    """Return whether a partition has a state only because brokers were stopped in order, so that it ends when they run again."""
    match kind:
        case "leaderless" | "offline":
            return not stopped.isdisjoint((*partition.isr, *partition.elr, partition.leader))
        case "under_replicated" | "under_min_isr" | "at_min_isr":
            return stopped.issuperset(set(partition.replicas) - set(partition.isr))
        case "elr":
            return stopped.issuperset((*partition.elr, *partition.last_known_elr))
        case "stuck_reassignment":
            return all(id in stopped or (id in brokers and not brokers[id].fenced) for id in partition.adding_replicas)
        case "not_preferred":
            return partition.replicas[:1] != () and partition.replicas[0] in stopped
    return False


# ---- addresses


_NOBODY: Final = "invalid"
"""The top-level domain that no server ever has; .example and .test are used in laboratories. Source: RFC 6761."""
_PORT_MAX: Final = 65_535


def is_loopback(host: str) -> bool:
    """Return whether a host means the machine that looks it up."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith((".localhost", ".localdomain")):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def address_flaw(host: str, port: int) -> str:
    """Return why nobody can connect to an address, judged by its form alone; empty if somebody may."""
    name = host.strip("[]").rstrip(".").lower()
    if not name:
        return "has no host"
    if name in ("0.0.0.0", "::"):
        return "means every address, and none to connect to"
    if name.rpartition(".")[2] == _NOBODY:
        return f"no name ends in .{_NOBODY}"
    return "" if 0 < port <= _PORT_MAX else f"{port} is no port to connect to"


def address_text(host: str, port: int) -> str:
    """`kafka-1:9093`, `[::1]:9093`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
