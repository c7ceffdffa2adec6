"""Registered brokers and controllers, and the finalized features, with the metadata.version that decides how records are written."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from immutables import Map

from metashell.codec.registry import message_type
from metashell.codec.releases import (
    CORDONED_DIRECTORIES_LEVEL,
    DIRECTORY_ASSIGNMENT_LEVEL,
    IN_CONTROLLED_SHUTDOWN_LEVEL,
    KRAFT_VERSION,
    METADATA_VERSION,
    OLDEST_LEVEL,
    REGISTER_CONTROLLER_LEVEL,
    ZK_MIGRATION_LEVEL,
    record_versions,
)
from metashell.metadata.image.provenance import LossHandler, ReplayError, VersionedRecord

_FENCING = {-1: False, 0: None, 1: True}
_SHUTDOWN = {0: None, 1: True}


class Listener(NamedTuple):
    """One endpoint of a node; `security_protocol` is Kafka's id of it."""

    name: str
    host: str
    port: int
    security_protocol: int


class BrokerRegistration(NamedTuple):
    """A broker's registration with its later changes.

    Shape: listeners ordered by name, one a name; `supported_features` maps a feature to (lowest, highest) level;
    `directories` are in Kafka's order of uuids; `cordoned_directories` is None while the broker has not reported them.
    Source: org.apache.kafka.metadata.BrokerRegistration.
    """

    id: int
    epoch: int
    incarnation_id: bytes
    listeners: tuple[Listener, ...] = ()
    supported_features: Map[str, tuple[int, int]] = Map()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    directories: tuple[bytes, ...] = ()
    cordoned_directories: tuple[bytes, ...] | None = None

    @property
    def is_cordoned(self) -> bool:
        """Return whether all directories of the broker are cordoned, so that it takes no new replicas."""
        return bool(self.directories) and set(self.directories) <= set(self.cordoned_directories or ())


class ControllerRegistration(NamedTuple):
    """A controller's registration."""

    id: int
    incarnation_id: bytes
    zk_migration_ready: bool = False
    listeners: tuple[Listener, ...] = ()
    supported_features: Map[str, tuple[int, int]] = Map()


class ClusterImage(NamedTuple):
    """The registrations of all nodes, by id."""

    brokers: Map[int, BrokerRegistration] = Map()
    controllers: Map[int, ControllerRegistration] = Map()

    def write(self, level: int, loss: LossHandler) -> Iterator[VersionedRecord]:
        """The records of all registrations, ordered by id, brokers first."""
        version = record_versions(level).register_broker
        for _, broker in sorted(self.brokers.items()):
            _report_broker_loss(broker, level, loss)
            yield _broker_record(broker, version), version
        if self.controllers and level < REGISTER_CONTROLLER_LEVEL:
            loss("the registrations of controllers")
            return
        for _, controller in sorted(self.controllers.items()):
            yield _controller_record(controller), 0


class ClusterDelta:
    """Gathers registrations and their changes."""

    def __init__(self, image: ClusterImage) -> None:
        self._brokers = image.brokers.mutate()
        self._controllers = image.controllers.mutate()

    def replay_register_broker(self, record: Any) -> None:
        cordoned = record.cordoned_log_dirs
        self._brokers[record.broker_id] = BrokerRegistration(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            listeners=_listeners(record.end_points),
            supported_features=_feature_ranges(record.features),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            is_migrating_zk_broker=record.is_migrating_zk_broker,
            directories=in_uuid_order(record.log_dirs),
            cordoned_directories=None if cordoned is None else tuple(cordoned),
        )

    def replay_unregister_broker(self, record: Any) -> None:
        """Errors: ReplayError for a broker that is not registered."""
        if self._brokers.pop(record.broker_id, None) is None:
            raise ReplayError(f"broker {record.broker_id} is not registered")

    def replay_fence_broker(self, record: Any) -> None:
        self._change(record.id, record.epoch, fenced=True)

    def replay_unfence_broker(self, record: Any) -> None:
        self._change(record.id, record.epoch, fenced=False)

    def replay_broker_registration_change(self, record: Any) -> None:
        """Errors: ReplayError for an unknown broker, another epoch, or a value that means nothing."""
        if record.fenced not in _FENCING:
            raise ReplayError(f"fenced is {record.fenced}, not -1, 0 or 1")
        if record.in_controlled_shutdown not in _SHUTDOWN:
            raise ReplayError(f"inControlledShutdown is {record.in_controlled_shutdown}, not 0 or 1")
        changes: dict[str, Any] = {}
        if (fenced := _FENCING[record.fenced]) is not None:
            changes["fenced"] = fenced
        if _SHUTDOWN[record.in_controlled_shutdown]:
            changes["in_controlled_shutdown"] = True
        if record.log_dirs:
            changes["directories"] = in_uuid_order(record.log_dirs)
        if record.cordoned_log_dirs is not None:
            changes["cordoned_directories"] = tuple(record.cordoned_log_dirs)
        self._change(record.broker_id, record.broker_epoch, **changes)

    def _change(self, id: int, epoch: int, **changes: Any) -> None:
        broker = self._brokers.get(id)
        if broker is None:
            raise ReplayError(f"broker {id} is not registered")
        # The epoch names the registration that is meant. A broker that restarts gets a new one, so that a change decided for its former
        # process cannot fence the new one.
        if broker.epoch != epoch:
            raise ReplayError(f"broker {id} has epoch {broker.epoch}, not {epoch}")
        self._brokers[id] = broker._replace(**changes)

    def replay_register_controller(self, record: Any) -> None:
        self._controllers[record.controller_id] = ControllerRegistration(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            zk_migration_ready=record.zk_migration_ready,
            listeners=_listeners(record.end_points),
            supported_features=_feature_ranges(record.features),
        )

    def replay_unregister_controller(self, record: Any) -> None:
        """Errors: ReplayError for a controller that is not registered."""
        if self._controllers.pop(record.controller_id, None) is None:
            raise ReplayError(f"controller {record.controller_id} is not registered")

    def apply(self) -> ClusterImage:
        return ClusterImage(self._brokers.finish(), self._controllers.finish())


def in_uuid_order(uuids: Iterable[bytes]) -> tuple[bytes, ...]:
    """Uuids as Java sorts them, by two signed 64-bit halves: an id that begins with byte 0x80 comes before one that begins with 0x00."""
    return tuple(sorted(uuids, key=_signed_halves))


def _signed_halves(uuid: bytes) -> tuple[int, int]:
    return int.from_bytes(uuid[:8], "big", signed=True), int.from_bytes(uuid[8:], "big", signed=True)


def _listeners(end_points: Iterable[Any]) -> tuple[Listener, ...]:
    by_name = {item.name: Listener(item.name, item.host, item.port, item.security_protocol) for item in end_points}
    return tuple(by_name[name] for name in sorted(by_name))


def _feature_ranges(features: Iterable[Any]) -> Map[str, tuple[int, int]]:
    return Map({item.name: (item.min_supported_version, item.max_supported_version) for item in features})


def _report_broker_loss(broker: BrokerRegistration, level: int, loss: LossHandler) -> None:
    if broker.in_controlled_shutdown and level < IN_CONTROLLED_SHUTDOWN_LEVEL:
        loss("the inControlledShutdown state of one or more brokers")
    if broker.is_migrating_zk_broker and level < ZK_MIGRATION_LEVEL:
        loss("the isMigratingZkBroker state of one or more brokers")
    if broker.directories and level < DIRECTORY_ASSIGNMENT_LEVEL:
        loss("the online log directories of one or more brokers")
    if broker.cordoned_directories is not None and level < CORDONED_DIRECTORIES_LEVEL:
        loss("the cordoned log directories of one or more brokers")


def _broker_record(broker: BrokerRegistration, version: int) -> Any:
    message = message_type("metadata", "RegisterBrokerRecord")
    return message.cls(
        broker_id=broker.id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker and version >= 2,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=_endpoint_structs(message.structs["BrokerEndpoint"], broker.listeners),
        features=_feature_structs(message.structs["BrokerFeature"], broker.supported_features),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown and version >= 1,
        log_dirs=broker.directories if version >= 3 else (),
        cordoned_log_dirs=broker.cordoned_directories if version >= 4 else None,
    )


def _controller_record(controller: ControllerRegistration) -> Any:
    message = message_type("metadata", "RegisterControllerRecord")
    return message.cls(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=_endpoint_structs(message.structs["ControllerEndpoint"], controller.listeners),
        features=_feature_structs(message.structs["ControllerFeature"], controller.supported_features),
    )


def _endpoint_structs(make: Any, listeners: tuple[Listener, ...]) -> tuple[Any, ...]:
    return tuple(make(name=name, host=host, port=port, security_protocol=id) for name, host, port, id in listeners)


def _feature_structs(make: Any, ranges: Map[str, tuple[int, int]]) -> tuple[Any, ...]:
    return tuple(make(name=name, min_supported_version=low, max_supported_version=high) for name, (low, high) in sorted(ranges.items()))


# ---- features


class FeaturesImage(NamedTuple):
    """The level of every finalized feature.

    Shape: `metadata_version` is None until a record sets it; `kraft_version` comes from control records and is 0
    without one; `levels` has all others, none of them 0. `zk_migration_state` is obsolete, 0 where never set.
    """

    metadata_version: int | None = None
    kraft_version: int = 0
    levels: Map[str, int] = Map()
    zk_migration_state: int = 0

    @property
    def finalized(self) -> dict[str, int]:
        """The level of every finalized feature by name, with kraft.version and metadata.version if they are set."""
        levels = dict(self.levels)
        if self.metadata_version is not None:
            levels[METADATA_VERSION] = self.metadata_version
        if self.kraft_version:
            levels[KRAFT_VERSION] = self.kraft_version
        return levels

    def write(self, level: int, loss: LossHandler) -> Iterator[VersionedRecord]:
        """The records of the features: metadata.version first, so that a reader knows what follows."""
        make = message_type("metadata", "FeatureLevelRecord").cls
        yield make(name=METADATA_VERSION, feature_level=level), 0
        for name in sorted(self.levels):
            yield make(name=name, feature_level=self.levels[name]), 0
        if self.zk_migration_state:
            if level < ZK_MIGRATION_LEVEL:
                loss("the ZooKeeper migration state")
            else:
                yield message_type("metadata", "ZkMigrationStateRecord").cls(zk_migration_state=self.zk_migration_state), 0


class FeaturesDelta:
    """Gathers changes of feature levels."""

    def __init__(self, image: FeaturesImage) -> None:
        self._image = image
        self._metadata_version = image.metadata_version
        self._levels = image.levels.mutate()
        self._zk_migration_state = image.zk_migration_state

    def replay_feature_level(self, record: Any) -> None:
        """Errors: ReplayError for a metadata.version below the oldest. `image.newer_levels` judges one that is newer than this software."""
        name, level = record.name, record.feature_level
        if name == METADATA_VERSION:
            self._set_metadata_version(level)
        elif name == KRAFT_VERSION:
            return  # Its level is that of the control records; Kafka ignores the record too.
        elif level == 0:
            self._levels.pop(name, None)
        else:
            self._levels[name] = level

    def _set_metadata_version(self, level: int) -> None:
        if level < OLDEST_LEVEL:
            raise ReplayError(f"metadata.version {level} is below the oldest, {OLDEST_LEVEL}")
        self._metadata_version = level

    def replay_zk_migration_state(self, record: Any) -> None:
        self._zk_migration_state = record.zk_migration_state

    def apply(self) -> FeaturesImage:
        return FeaturesImage(self._metadata_version, self._image.kraft_version, self._levels.finish(), self._zk_migration_state)
