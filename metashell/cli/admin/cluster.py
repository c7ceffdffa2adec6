"""The nodes of a live cluster: brokers and their log directories, the quorum of controllers, features, and API versions.

`unregister_broker` and `unregister_controller` remove a node's registration; `add_voter` and `remove_voter` change the voters.

Source: KIP-1073 (fenced brokers), KIP-827 (log directories), KIP-595, KIP-836 and KIP-853 (quorum), KIP-584 and KIP-1022 (features),
KIP-35 (API versions); org.apache.kafka.clients.admin.QuorumInfo and KafkaAdminClient, org.apache.kafka.clients.NodeApiVersions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell import __version__
from metashell.cli.admin.protocol import BROKER_ENDPOINTS, CONTROLLER_ENDPOINTS, AdminError, Kind, Node, check_answer
from metashell.codec import messages
from metashell.codec.dispatch import REQUESTS
from metashell.codec.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    CONTROLLER_ID_NOT_REGISTERED,
    DUPLICATE_VOTER,
    NONE,
    UNKNOWN_SERVER_ERROR,
    VOTER_NOT_FOUND,
)
from metashell.codec.messages import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    RemoveRaftVoterRequest,
    UnregisterBrokerRequest,
    UnregisterControllerRequest,
    UpdateFeaturesRequest,
)
from metashell.common.errors import MetashellError
from metashell.common.values import ZERO_UUID, ReplicaKey
from metashell.net.addresses import Address
from metashell.net.api_versions import ranges_of
from metashell.net.client_connection import SOFTWARE_NAME
from metashell.net.frames import request_type

if TYPE_CHECKING:
    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.topics import Topic
    from metashell.net.api_versions import ApiRanges


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription:
    """A cluster's id, and its brokers or controllers in the order of the answer.

    `active_id` is the active controller as controllers report it. It is None through brokers, which report an arbitrary broker instead.
    """

    cluster_id: str
    kind: Kind
    nodes: tuple[Node, ...]
    active_id: int | None


def describe_cluster(admin: Admin, *, fenced: bool = False) -> ClusterDescription:
    """Return the cluster as one node of the kind sees it. `fenced`: include fenced brokers, which 4.0 and later can name.

    Errors: AdminError; UnsupportedError if the node cannot name fenced brokers; see `Admin`.
    """
    is_controllers = admin.kind is Kind.CONTROLLERS
    wanted = CONTROLLER_ENDPOINTS if is_controllers else BROKER_ENDPOINTS
    answer = admin.ask(DescribeClusterRequest(endpoint_type=wanted, include_fenced_brokers=fenced))
    check_answer(answer.error_code, answer.error_message)
    nodes = tuple(Node(node.broker_id, Address(node.host, node.port), node.rack, node.is_fenced) for node in answer.brokers)
    leads = answer.controller_id if is_controllers and answer.controller_id >= 0 else None
    return ClusterDescription(cluster_id=answer.cluster_id, kind=admin.kind, nodes=nodes, active_id=leads)


def unregister_broker(admin: Admin, broker_id: int) -> None:
    """Remove a broker's registration; its partitions still list it as a replica. Errors: AdminError; see `Admin`."""
    _unregister(admin, UnregisterBrokerRequest(broker_id=broker_id), BROKER_ID_NOT_REGISTERED, f"broker {broker_id}")


def unregister_controller(admin: Admin, controller_id: int) -> None:
    """Remove a controller's registration. A voter stays a voter; a running controller registers again. Errors: AdminError; see `Admin`."""
    request = UnregisterControllerRequest(controller_id=controller_id)
    _unregister(admin, request, CONTROLLER_ID_NOT_REGISTERED, f"controller {controller_id}")


def _unregister(admin: Admin, request: Any, not_registered: int, thing: str) -> None:
    answer = admin.ask_active(request)
    if admin.again and answer.error_code == not_registered:
        # The request was sent twice: the first one removed the registration.
        return
    check_answer(answer.error_code, answer.error_message, thing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A registered broker with its first listener. A fenced broker serves no client; a leaving one is in controlled shutdown."""

    id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False
    is_leaving: bool = False

    @property
    def state(self) -> str:
        """The state in one word: fenced, leaving or up."""
        return "fenced" if self.is_fenced else "leaving" if self.is_leaving else "up"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """One of a broker's log directories. Sizes are in bytes, `total` and `usable` are -1 if not reported; `error` is set if it failed.

    `lags` has, by topic and partition, how many records the replica in this directory is behind.
    """

    path: str
    error: AdminError | None = None
    replicas: int = 0
    size: int = 0
    total: int = -1
    usable: int = -1
    is_cordoned: bool = False
    lags: Mapping[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load of brokers by id: the partitions that each leads, its replicas, and those of its replicas that are not in sync."""

    leaders: Counter[int]
    replicas: Counter[int]
    not_in_sync: Counter[int]


def load_of(topics: Iterable[Topic]) -> Load:
    """Return the load that these topics put on each broker."""
    leaders: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    not_in_sync: Counter[int] = Counter()
    for topic in topics:
        for partition in topic.partitions:
            if partition.has_leader:
                leaders[partition.leader] += 1
            replicas.update(partition.replicas)
            not_in_sync.update(set(partition.replicas) - set(partition.isr))
    return Load(leaders=leaders, replicas=replicas, not_in_sync=not_in_sync)


def describe_log_dirs(
    admin: Admin, ids: Sequence[int], only: Mapping[str, Iterable[int]] | None = None
) -> dict[int, tuple[LogDirectory, ...] | MetashellError]:
    """Return the log directories of each broker, asked of the broker itself; an error for a broker that did not report them.

    `only` restricts the replicas to these partitions, by topic.
    """
    make = messages.DescribeLogDirsRequest
    topics = None if only is None else tuple(make.DescribableLogDirTopic(topic=name, partitions=tuple(ids)) for name, ids in only.items())
    request = make(topics=topics)
    found: dict[int, tuple[LogDirectory, ...] | MetashellError] = {}
    for id, answer in admin.ask_all(dict.fromkeys(ids, request)).items():
        if isinstance(answer, MetashellError):
            found[id] = answer
        elif answer.error_code != NONE:
            found[id] = AdminError(answer.error_code, None, f"broker {id}")
        else:
            found[id] = tuple(map(_directory, answer.results))
    return found


def _directory(result: Any) -> LogDirectory:
    sizes = [partition.partition_size for topic in result.topics for partition in topic.partitions]
    return LogDirectory(
        path=result.log_dir,
        error=None if result.error_code == NONE else AdminError(result.error_code, None, result.log_dir),
        replicas=len(sizes),
        size=sum(sizes),
        total=result.total_bytes,
        usable=result.usable_bytes,
        is_cordoned=result.is_cordoned,
        lags={(topic.name, one.partition_index): one.offset_lag for topic in result.topics for one in topic.partitions},
    )


TOPIC: Final = "__cluster_metadata"
VOTER_TIMEOUT_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A named listener of a controller."""

    name: str
    address: Address

    def __str__(self) -> str:
        return f"{self.name}://{self.address}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A voter or an observer, as the leader sees it.

    `directory_id` is None if it is not known (static quorums, releases before 3.9). Units: Unix ms; None if the leader does not know.
    """

    id: int
    directory_id: bytes | None
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDescription:
    """The metadata quorum as its leader reports it; voters and observers are in the order of the answer."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]

    @property
    def leader(self) -> Replica | None:
        """The leader's entry among the voters; None if it is not a voter, as while it is being removed."""
        return next((voter for voter in self.voters if voter.id == self.leader_id), None)

    def lag_of(self, replica: Replica) -> int | None:
        """Return how many records a replica is behind the leader; None if the leader is not among the voters."""
        return None if self.leader is None else self.leader.log_end_offset - replica.log_end_offset


def describe_quorum(admin: Admin) -> QuorumDescription:
    """Return the quorum as its leader reports it. Errors: AdminError; see `Admin`."""
    answer = describe_quorum_answer(admin)
    found = answer.topics[0].partitions[0]
    endpoints = {
        node.node_id: tuple(Endpoint(listener.name, Address(listener.host, listener.port)) for listener in node.listeners)
        for node in answer.nodes
    }
    return QuorumDescription(
        leader_id=found.leader_id,
        leader_epoch=found.leader_epoch,
        high_watermark=found.high_watermark,
        voters=tuple(_replica(state, endpoints) for state in found.current_voters),
        observers=tuple(_replica(state, endpoints) for state in found.observers),
    )


def describe_quorum_answer(admin: Admin) -> Any:
    """Return the leader's DescribeQuorum answer unchanged; it has exactly one partition. Errors: AdminError; see `Admin`."""
    make = DescribeQuorumRequest
    answer = admin.ask_active(make(topics=(make.TopicData(topic_name=TOPIC, partitions=(make.PartitionData(partition_index=0),)),)))
    check_answer(answer.error_code, answer.error_message, "DescribeQuorum")
    partitions = [partition for topic in answer.topics for partition in topic.partitions]
    if len(partitions) != 1 or answer.topics[0].topic_name != TOPIC:
        raise AdminError(UNKNOWN_SERVER_ERROR, f"the answer has {len(partitions)} partitions, not one", "DescribeQuorum")
    check_answer(partitions[0].error_code, partitions[0].error_message, "DescribeQuorum")
    return answer


def _replica(state: Any, endpoints: dict[int, tuple[Endpoint, ...]]) -> Replica:
    return Replica(
        id=state.replica_id,
        directory_id=None if state.replica_directory_id == ZERO_UUID else state.replica_directory_id,
        log_end_offset=state.log_end_offset,
        last_fetch_ms=_known(state.last_fetch_timestamp),
        last_caught_up_ms=_known(state.last_caught_up_timestamp),
        endpoints=endpoints.get(state.replica_id, ()),
    )


def _known(timestamp_ms: int) -> int | None:
    return None if timestamp_ms < 0 else timestamp_ms


def add_voter(admin: Admin, voter: ReplicaKey, endpoints: Sequence[Endpoint], *, cluster_id: str | None = None) -> None:
    """Make a controller that follows the quorum as an observer a voter. Errors: AdminError; see `Admin`."""
    listener = AddRaftVoterRequest.Listener
    answer = admin.ask_active(
        AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=VOTER_TIMEOUT_MS,
            voter_id=voter.id,
            voter_directory_id=voter.directory_id,
            listeners=tuple(listener(name=one.name, host=one.address.host, port=one.address.port) for one in endpoints),
        )
    )
    if admin.again and answer.error_code == DUPLICATE_VOTER:
        # The request was sent twice. The first one succeeded if this very replica is a voter, and not another directory of its id.
        known = {(one.id, one.directory_id) for one in describe_quorum(admin).voters}
        if (voter.id, voter.directory_id) in known:
            return
    check_answer(answer.error_code, answer.error_message, f"controller {voter.id}")


def remove_voter(admin: Admin, voter: ReplicaKey, *, cluster_id: str | None = None) -> None:
    """Remove a voter from the voter set; while it runs it stays an observer. Errors: AdminError; see `Admin`."""
    answer = admin.ask_active(RemoveRaftVoterRequest(cluster_id=cluster_id, voter_id=voter.id, voter_directory_id=voter.directory_id))
    if admin.again and answer.error_code == VOTER_NOT_FOUND:
        # The request was sent twice: the first one removed the voter.
        return
    check_answer(answer.error_code, answer.error_message, f"controller {voter.id}")


TIMEOUT_MS = 60_000


class Change(IntEnum):
    """The kinds of change of a feature's level, with the protocol's codes."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A feature: the range of levels that a node supports, and the finalized level, 0 if none is finalized."""

    name: str
    low: int
    high: int
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesDescription:
    """The features that a node supports, ordered by name; `epoch` is that of the finalized levels, None if the node knows none."""

    features: tuple[Feature, ...]
    epoch: int | None


def describe_features(admin: Admin, *, node: int | None = None) -> FeaturesDescription:
    """Return the features that `node` reports; by default the active controller, or any node that answers. Errors: see `Admin`."""
    if node is None and admin.kind is Kind.CONTROLLERS:
        # A user without the right to DescribeCluster cannot learn the active controller, but any controller reports its features.
        with suppress(AdminError):
            node = admin.active_id()
    found = admin.features(node)
    features = tuple(
        Feature(name=name, low=low, high=high, level=found.finalized.get(name, 0)) for name, (low, high) in sorted(found.supported.items())
    )
    return FeaturesDescription(features=features, epoch=None if found.finalized_epoch < 0 else found.finalized_epoch)


def update_features(admin: Admin, levels: Mapping[str, int], change: Change, *, dry_run: bool = False) -> dict[str, AdminError | None]:
    """Set the levels of features in one request. Return the error of each feature, or None. `dry_run`: only validate the request.

    Errors: see `Admin`.
    """
    update = UpdateFeaturesRequest.FeatureUpdateKey
    updates = tuple(update(feature=name, max_version_level=level, upgrade_type=change) for name, level in levels.items())
    answer = admin.ask_active(UpdateFeaturesRequest(timeout_ms=TIMEOUT_MS, feature_updates=updates, validate_only=dry_run))
    if answer.error_code != NONE:
        return {name: AdminError(answer.error_code, answer.error_message, name) for name in levels}
    if not answer.results:
        # From version 2 on, the answer has no result for each feature.
        return dict.fromkeys(levels)
    told = {result.feature: result for result in answer.results}
    errors: dict[str, AdminError | None] = {}
    for name in levels:
        result = told.get(name)
        if result is None:
            text = f"The controller response did not contain a result for feature {name}"
            errors[name] = AdminError(UNKNOWN_SERVER_ERROR, text, name)
        else:
            errors[name] = AdminError(result.error_code, result.error_message, name) if result.error_code else None
    return errors


_REMOVED: Final = {4: "LeaderAndIsr", 5: "StopReplica", 6: "UpdateMetadata", 7: "ControlledShutdown"}
"""The names of APIs that brokers before Kafka 4.0 have, and 4.0 removed."""


class ApiSupport(NamedTuple):
    """An API of a node. `name` is None for an unknown key, `versions` None if the node does not have the API.

    `usable` is the highest version that both sides have, None if there is none; `is_too_old` then says that the node is the older side.
    """

    key: int
    name: str | None
    versions: tuple[int, int] | None
    usable: int | None = None
    is_too_old: bool = False


def describe_api_versions(admin: Admin) -> list[tuple[Node, list[ApiSupport] | MetashellError]]:
    """Return the APIs of each node of the kind, ordered by id; an error for a node that did not answer. Errors: see `Admin`.

    The list has every API of brokers, also those that the node does not have.
    """
    nodes = admin.nodes()
    request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
    answers = admin.ask_all(dict.fromkeys((node.id for node in nodes), request))
    found: list[tuple[Node, list[ApiSupport] | MetashellError]] = []
    for node in nodes:
        answer = answers[node.id]
        if isinstance(answer, MetashellError):
            found.append((node, answer))
        elif answer.error_code:
            found.append((node, AdminError(answer.error_code, None, f"{admin.kind.noun} {node.id}")))
        else:
            found.append((node, _support(ranges_of(answer))))
    return found


def _support(ranges: ApiRanges) -> list[ApiSupport]:
    of_brokers = {key for key in REQUESTS if "broker" in request_type(key).schema.listeners}
    return [_one(key, ranges.get(key)) for key in sorted(ranges.keys() | of_brokers)]


def _one(key: int, versions: tuple[int, int] | None) -> ApiSupport:
    if key not in REQUESTS:
        return ApiSupport(key, _REMOVED.get(key), versions)
    name = REQUESTS[key].removesuffix("Request")
    if versions is None:
        return ApiSupport(key, name, None)
    low, high = request_type(key).versions
    if versions[1] < low or high < versions[0]:
        return ApiSupport(key, name, versions, is_too_old=versions[1] < low)
    return ApiSupport(key, name, versions, usable=min(high, versions[1]))
