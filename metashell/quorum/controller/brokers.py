"""Registrations of brokers and controllers, heartbeats of brokers, sessions that end, and unregistration.

Controllers register so that features are upgraded only when all of them can follow; one that is gone for good is unregistered.

Source: org.apache.kafka.controller.ClusterControlManager, ReplicationControlManager.processBrokerHeartbeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Final, Literal, TypeAlias, assert_never

from metashell.codec import messages
from metashell.codec.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    CONTROLLER_ID_NOT_REGISTERED,
    DUPLICATE_BROKER_REGISTRATION,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REGISTRATION,
    INVALID_REQUEST,
    REQUEST_TIMED_OUT,
    UNSUPPORTED_VERSION,
)
from metashell.codec.releases import (
    CORDONED_DIRECTORIES_LEVEL,
    DIRECTORY_ASSIGNMENT_LEVEL,
    METADATA_VERSION,
    REGISTER_CONTROLLER_LEVEL,
    UNREGISTER_CONTROLLER_LEVEL,
    record_versions,
)
from metashell.common.values import uuid_text
from metashell.metadata.image import BrokerRegistration
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.decision import (
    FENCE,
    UNFENCE,
    ApiError,
    BoundedRecords,
    Decision,
    Request,
    Steps,
    TaskResult,
    cordoned_directories_record,
    elr_enabled,
    fencing_record,
    finalized_features,
    gather_steps,
    remaining_directories_record,
    shutdown_record,
)
from metashell.quorum.controller.elections import Found, PartitionChanges
from metashell.quorum.controller.state import State, check_broker_epoch

_NEVER_REGISTERED = -2
"""Unlike -1, which a broker sends that had no clean shutdown: a first registration is never a clean return."""


def register_broker(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Register a broker, or refuse it. Records that end its former incarnation come before the registration."""
    body = request.body
    known = state.image.cluster.brokers.get(body.broker_id)
    _check_life(state, body, known, now_ms)
    if body.is_migrating_zk_broker:
        raise ApiError(BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers.")
    if state.level >= DIRECTORY_ASSIGNMENT_LEVEL:
        _check_directories(state, body)
    check_listeners(body.listeners)
    _check_features(state, body)
    records: list[VersionedRecord] = []
    # The epoch is an offset of the log, so each incarnation has a higher one than all before, whoever was the active controller.
    epoch, fenced, in_shutdown = state.next_write_offset, True, False
    if known is not None and known.incarnation_id == body.incarnation_id:
        # The same process again, whose answer was lost: it goes on as it was.
        epoch, fenced, in_shutdown = known.epoch, known.fenced, known.in_controlled_shutdown
    else:
        yield from gather_steps(_end_of_former_life(state, request, known), records)
    records.append(_registration(state, body, epoch, fenced, in_shutdown))
    return Decision(messages.BrokerRegistrationResponse(broker_epoch=epoch), records, atomic=False)


def _check_life(state: State, body: messages.BrokerRegistrationRequest, known: BrokerRegistration | None, now_ms: int) -> None:
    if body.cluster_id != state.settings.cluster_id:
        expected = state.settings.cluster_id
        raise ApiError(INCONSISTENT_CLUSTER_ID, f"Expected cluster ID {expected}, but got cluster ID {body.cluster_id}")
    if known is not None and known.incarnation_id != body.incarnation_id and state.heartbeats.has_session(known.id, known.epoch, now_ms):
        raise ApiError(DUPLICATE_BROKER_REGISTRATION, f"Another broker is registered with that broker id {known.id}.")


def _check_directories(state: State, body: messages.BrokerRegistrationRequest) -> None:
    directories = body.log_dirs
    if not directories:
        raise ApiError(INVALID_REGISTRATION, "No directories specified in request")
    if any(is_reserved_directory(directory) for directory in directories):
        raise ApiError(INVALID_REGISTRATION, "Reserved directory ID in request")
    if len(set(directories)) != len(directories):
        raise ApiError(INVALID_REGISTRATION, "Duplicate directory ID in request")
    for broker in state.image.cluster.brokers.values():
        if broker.id != body.broker_id:
            for directory in directories:
                if directory in broker.directories:
                    raise ApiError(INVALID_REGISTRATION, f"Broker {broker.id} is already registered with directory {uuid_text(directory)}")


def is_reserved_directory(directory: bytes) -> bool:
    """Whether an id means something else than a directory: the first hundred do. Source: org.apache.kafka.common.DirectoryId."""
    return directory[:15] == bytes(15) and directory[15] < 100


def _check_features(state: State, body: messages.BrokerRegistrationRequest) -> None:
    finalized = finalized_features(state.image)
    offered = {feature.name: (feature.min_supported_version, feature.max_supported_version) for feature in body.features}
    for feature in body.features:
        _check_feature(body.broker_id, feature.name, finalized.get(feature.name, 0), *offered[feature.name])
    if METADATA_VERSION not in offered:
        raise ApiError(INVALID_REGISTRATION, "Request features do not contain 'metadata.version'")
    for name, level in finalized.items():
        if name not in offered and level != 0:
            _check_feature(body.broker_id, name, level, 0, 0)


def _check_feature(broker_id: int, name: str, level: int, low: int, high: int) -> None:
    if not low <= level <= high:
        raise ApiError(
            UNSUPPORTED_VERSION,
            f"Unable to register because the broker does not support finalized version {level} of {name}. "
            f"The broker wants a version between {low} and {high}, inclusive.",
        )


def _end_of_former_life(state: State, request: Request, known: BrokerRegistration | None) -> Iterator[VersionedRecord | None]:
    """Return the changes of partitions that a broker's new incarnation causes."""
    broker_id = request.body.broker_id
    former_epoch = _NEVER_REGISTERED if known is None else known.epoch
    is_clean = request.version >= 3 and request.body.previous_broker_epoch == former_epoch
    changes = PartitionChanges(state)
    if elr_enabled(state.image) and not is_clean:
        # What it acknowledged and had only in the page cache may be lost. So it is no longer eligible to lead.
        yield from changes.removals(changes.in_isr(broker_id), broker_id, is_unclean=True)
        yield from changes.removals(changes.in_elr(broker_id), broker_id, is_unclean=True)
    else:
        yield from changes.removals(changes.in_isr(broker_id), broker_id)


def _registration(state: State, body: messages.BrokerRegistrationRequest, epoch: int, fenced: bool, in_shutdown: bool) -> VersionedRecord:
    made = messages.RegisterBrokerRecord
    level = state.level
    version = record_versions(level).register_broker
    record = made(
        broker_id=body.broker_id,
        incarnation_id=body.incarnation_id,
        broker_epoch=epoch,
        end_points=endpoints_of(made.BrokerEndpoint, body.listeners),
        features=features_of(made.BrokerFeature, body.features),
        rack=body.rack,
        fenced=fenced,
        in_controlled_shutdown=in_shutdown,
        log_dirs=tuple(body.log_dirs) if level >= DIRECTORY_ASSIGNMENT_LEVEL else (),
    )
    return record, version


# Heartbeats


class BrokerMode(Enum):
    """The mode of a broker between two heartbeats."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"

    @property
    def is_fenced(self) -> bool:
        return self in (BrokerMode.FENCED, BrokerMode.SHUTDOWN_NOW)


_CurrentMode: TypeAlias = Literal[BrokerMode.FENCED, BrokerMode.UNFENCED, BrokerMode.CONTROLLED_SHUTDOWN]


def broker_heartbeat(state: State, request: Request, now_ms: int) -> Decision | Steps[Decision]:
    """Take a broker's heartbeat: it may fence or unfence the broker, or let it shut down."""
    body = request.body
    heartbeats = state.heartbeats
    broker = state.image.cluster.brokers.get(body.broker_id)
    if now_ms - request.received_ms > state.settings.heartbeat_interval_ms // 2:
        # It queued for so long that it is out of date, and the next one is near: it changes nothing but the offset.
        if broker is not None:
            heartbeats.touch(broker.id, broker.fenced, body.current_metadata_offset)
        raise ApiError(REQUEST_TIMED_OUT)
    check_broker_epoch(state, body)
    assert broker is not None
    mode = _current_mode(state, broker.id)
    if _changes_nothing(body, broker, mode):
        # By far the most heartbeats: nothing is looked up.
        heartbeats.touch(broker.id, False, body.current_metadata_offset)
        return Decision(_beat_answer(state, body, mode), atomic=False)
    return _change_mode(state, body, broker, mode)


def unchanged_broker_heartbeat(state: State, body: Any) -> messages.BrokerHeartbeatResponse | None:
    """The answer to a heartbeat that changes nothing, and rests on nothing that may be lost again; None for any other.

    It may be asked for between the steps of another decision: all that it notes is how far the broker has read. The broker is registered
    as the committed image has it, so the answer waits for no commit.
    """
    broker = state.image.cluster.brokers.get(body.broker_id)
    if broker is None or broker.epoch != body.broker_epoch or broker is not state.stable.cluster.brokers.get(body.broker_id):
        return None
    mode = _current_mode(state, broker.id)
    if not _changes_nothing(body, broker, mode):
        return None
    state.heartbeats.touch(broker.id, False, body.current_metadata_offset)
    return _beat_answer(state, body, mode)


def _changes_nothing(body: Any, broker: BrokerRegistration, mode: _CurrentMode) -> bool:
    """Whether an unfenced broker wants to stay as it is."""
    if mode is not BrokerMode.UNFENCED or broker.fenced or body.want_fence or body.want_shut_down or body.offline_log_dirs:
        return False
    known, told = broker.cordoned_directories, body.cordoned_log_dirs
    return told is None or (known is not None and set(known) == set(told))


def _change_mode(state: State, body: messages.BrokerHeartbeatRequest, broker: BrokerRegistration, mode: _CurrentMode) -> Steps[Decision]:
    changes = PartitionChanges(state)
    following = yield from _next_mode(state, body, mode, changes)
    records: list[VersionedRecord] = []
    if following is not mode:
        yield from gather_steps(_mode_records(changes, broker, following), records)
    state.heartbeats.touch(broker.id, following.is_fenced, body.current_metadata_offset)
    yield from gather_steps(_directory_records(state, changes, body, broker), records)
    leaving = broker.id if following is BrokerMode.CONTROLLED_SHUTDOWN else -1
    return Decision(_beat_answer(state, body, following), records, atomic=False, leaving_broker=leaving)


def _beat_answer(state: State, body: messages.BrokerHeartbeatRequest, mode: BrokerMode) -> messages.BrokerHeartbeatResponse:
    return messages.BrokerHeartbeatResponse(
        is_caught_up=body.current_metadata_offset >= state.tip.registration_offsets[body.broker_id],
        is_fenced=mode.is_fenced,
        should_shut_down=mode is BrokerMode.SHUTDOWN_NOW,
    )


def _current_mode(state: State, broker_id: int) -> _CurrentMode:
    beat = state.heartbeats.beat(broker_id)
    if beat is None or beat.fenced:
        return BrokerMode.FENCED
    return BrokerMode.CONTROLLED_SHUTDOWN if beat.is_shutting_down else BrokerMode.UNFENCED


def _next_mode(state: State, body: messages.BrokerHeartbeatRequest, mode: _CurrentMode, changes: PartitionChanges) -> Steps[BrokerMode]:
    """The next mode of a broker, as BrokerHeartbeatManager.calculateNextBrokerState decides it."""
    match mode:
        case BrokerMode.FENCED:
            if body.want_shut_down:
                return BrokerMode.SHUTDOWN_NOW
            caught_up = body.current_metadata_offset >= state.tip.registration_offsets[body.broker_id]
            return BrokerMode.UNFENCED if caught_up and not body.want_fence else BrokerMode.FENCED
        case BrokerMode.UNFENCED:
            if body.want_fence:
                return BrokerMode.SHUTDOWN_NOW if body.want_shut_down else BrokerMode.FENCED
            if not body.want_shut_down:
                return BrokerMode.UNFENCED
            is_leading = yield from changes.leads_any(body.broker_id)
            return BrokerMode.CONTROLLED_SHUTDOWN if is_leading else BrokerMode.SHUTDOWN_NOW
        case BrokerMode.CONTROLLED_SHUTDOWN:
            if (yield from changes.leads_any(body.broker_id)):
                return BrokerMode.CONTROLLED_SHUTDOWN
            beat = state.heartbeats.beat(body.broker_id)
            lowest = state.heartbeats.lowest_active_offset()
            # Who takes over has to know it before the broker that led is let go.
            seen = beat is not None and (lowest is None or beat.shutdown_offset <= lowest)
            return BrokerMode.SHUTDOWN_NOW if seen else BrokerMode.CONTROLLED_SHUTDOWN
        case _:
            assert_never(mode)


def _mode_records(changes: PartitionChanges, broker: BrokerRegistration, following: BrokerMode) -> Iterator[VersionedRecord | None]:
    match following:
        case BrokerMode.UNFENCED:
            yield fencing_record(broker.id, broker.epoch, UNFENCE)
            yield from changes.elections_for(broker.id)
        case BrokerMode.CONTROLLED_SHUTDOWN:
            if not broker.in_controlled_shutdown:
                yield shutdown_record(broker.id, broker.epoch)
            yield from changes.removals(changes.in_isr(broker.id), broker.id)
        case BrokerMode.FENCED | BrokerMode.SHUTDOWN_NOW:
            yield from _fencing_records(changes, broker)
        case _:
            assert_never(following)


def _fencing_records(changes: PartitionChanges, broker: BrokerRegistration) -> Iterator[VersionedRecord | None]:
    yield from changes.removals(changes.in_isr(broker.id), broker.id)
    yield fencing_record(broker.id, broker.epoch, FENCE)


def _directory_records(
    state: State, changes: PartitionChanges, body: messages.BrokerHeartbeatRequest, broker: BrokerRegistration
) -> Iterator[VersionedRecord | None]:
    """Directories that went offline, and those that the broker wants no new replicas in."""
    if state.level >= DIRECTORY_ASSIGNMENT_LEVEL and body.offline_log_dirs:
        offline = [directory for directory in broker.directories if directory in body.offline_log_dirs]
        for directory in offline:
            yield from changes.removals(_in_directory(changes, broker.id, directory), broker.id)
        if offline:
            remaining = tuple(directory for directory in broker.directories if directory not in offline)
            yield remaining_directories_record(broker.id, broker.epoch, remaining)
    if state.level >= CORDONED_DIRECTORIES_LEVEL and body.cordoned_log_dirs is not None:
        known = broker.cordoned_directories
        if known is None or set(known) != set(body.cordoned_log_dirs):
            yield cordoned_directories_record(broker.id, broker.epoch, tuple(body.cordoned_log_dirs))


def _in_directory(changes: PartitionChanges, broker_id: int, directory: bytes) -> Iterator[Found | None]:
    for found in changes.with_replica(broker_id):
        if found is None:
            yield None
            continue
        partition = found[2]
        if broker_id in partition.replicas and partition.directories[partition.replicas.index(broker_id)] == directory:
            yield found


def fence_stale_broker(state: State, now_ms: int) -> Steps[TaskResult]:
    """One step of the sweep over sessions: fence the broker that was silent the longest, if its session is over.

    Returns what to write, and whether there may be more to do.
    """
    heartbeats = state.heartbeats
    expired = heartbeats.expired(now_ms)
    if expired is None:
        return Decision(), False
    broker_id, epoch = expired
    broker = state.image.cluster.brokers.get(broker_id)
    if broker is None or broker.epoch != epoch:
        heartbeats.forget(broker_id, epoch)
        if broker is None:
            heartbeats.remove(broker_id)
        return Decision(), True
    records: list[VersionedRecord] = []
    yield from gather_steps(_fencing_records(PartitionChanges(state), broker), records)
    if heartbeats.has_session(broker_id, epoch, now_ms):
        # It was heard of while its fencing was computed.
        return Decision(), True
    heartbeats.forget(broker_id, epoch)
    heartbeats.fence(broker_id)
    return Decision(None, records, atomic=False), True


def unregister_broker(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Take a broker out of the cluster, dead or alive; replica lists still name it."""
    broker_id = request.body.broker_id
    broker = state.image.cluster.brokers.get(broker_id)
    if broker is None:
        raise ApiError(BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered")
    changes = PartitionChanges(state)
    records = BoundedRecords()
    yield from gather_steps(changes.removals(changes.in_isr(broker_id), broker_id), records)
    # Whoever is in an ELR stays there: should the broker come back, it still has the records. But it leads nothing until then.
    yield from gather_steps(changes.removals(changes.in_elr(broker_id), broker_id), records)
    records.append((messages.UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch), 0))
    return Decision(messages.UnregisterBrokerResponse(error_message=""), records, atomic=False)


PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}


def check_listeners(listeners: Any) -> None:
    """Check that a record can hold the listeners, and that every reader of the log takes them.

    Kafka writes a nameless one and halts over it, and gives up its leadership over a protocol that it does not know, no host and port 0.
    """
    for listener in listeners:
        if not listener.name:
            raise ApiError(INVALID_REQUEST, "A listener has no name.")
        if listener.security_protocol not in PROTOCOLS:
            raise ApiError(INVALID_REQUEST, f"Listener {listener.name} has the unknown security protocol {listener.security_protocol}.")
        if not listener.host or not listener.port:
            raise ApiError(INVALID_REQUEST, f"Listener {listener.name} has no {'port' if listener.host else 'host'}.")


def endpoints_of(make: Callable[..., Any], listeners: Iterable[Any]) -> tuple[Any, ...]:
    """Listeners as a record has them; of a name that comes twice, the later one counts."""
    by_name = {one.name: one for one in listeners}
    return tuple(make(name=one.name, host=one.host, port=one.port, security_protocol=one.security_protocol) for one in by_name.values())


def features_of(make: Callable[..., Any], features: Iterable[Any]) -> tuple[Any, ...]:
    """Supported features as a record has them, also where a name comes twice."""
    return tuple(
        make(name=one.name, min_supported_version=one.min_supported_version, max_supported_version=one.max_supported_version)
        for one in features
    )


# Controllers


def register_controller(state: State, request: Request, now_ms: int) -> Decision:
    """Take the registration of any controller."""
    if state.level < REGISTER_CONTROLLER_LEVEL:
        raise ApiError(UNSUPPORTED_VERSION, "The version of API is not supported.")
    body = request.body
    check_listeners(body.listeners)
    made = messages.RegisterControllerRecord
    record = made(
        controller_id=body.controller_id,
        incarnation_id=body.incarnation_id,
        zk_migration_ready=False,
        end_points=endpoints_of(made.ControllerEndpoint, body.listeners),
        features=features_of(made.ControllerFeature, body.features),
    )
    return Decision(messages.ControllerRegistrationResponse(), [(record, 0)])


def unregister_controller(state: State, request: Request, now_ms: int) -> Decision:
    """Forget a controller's registration: the quorum's voters stay as they are, and one that runs registers again."""
    controller_id = request.body.controller_id
    if controller_id == state.settings.node_id:
        raise ApiError(INVALID_REQUEST, "Controller cannot unregister itself while it is active.")
    if state.level < UNREGISTER_CONTROLLER_LEVEL:
        raise ApiError(UNSUPPORTED_VERSION, "The current MetadataVersion is too old to support controller unregistration.")
    if controller_id not in state.image.cluster.controllers:
        raise ApiError(CONTROLLER_ID_NOT_REGISTERED, f"Controller ID {controller_id} is not currently registered.")
    record = messages.UnregisterControllerRecord(controller_id=controller_id)
    return Decision(messages.UnregisterControllerResponse(error_message=""), [(record, 0)])
