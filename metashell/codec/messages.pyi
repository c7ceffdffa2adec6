# Made by `tools/gen_stubs.py` from metashell/codec/schemas; do not edit.
from metashell.codec.compiler import Entity

class AbortTransactionRecord(Entity):
    reason: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        reason: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AccessControlEntryRecord(Entity):
    id: bytes
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        id: bytes = ...,
        resource_type: int = ...,
        resource_name: str = ...,
        pattern_type: int = ...,
        principal: str = ...,
        host: str = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AccessControlRecord(Entity):
    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        resource_type: int = ...,
        resource_name: str | None = ...,
        pattern_type: int = ...,
        principal: str = ...,
        host: str = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class BeginTransactionRecord(Entity):
    name: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        name: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class BrokerRegistrationChangeRecord(Entity):
    broker_id: int
    broker_epoch: int
    fenced: int
    in_controlled_shutdown: int
    log_dirs: tuple[bytes, ...]
    cordoned_log_dirs: tuple[bytes, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        broker_epoch: int = ...,
        fenced: int = ...,
        in_controlled_shutdown: int = ...,
        log_dirs: tuple[bytes, ...] = ...,
        cordoned_log_dirs: tuple[bytes, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ClearElrRecord(Entity):
    topic_name: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topic_name: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ClientQuotaRecord(Entity):
    class EntityData(Entity):
        entity_type: str
        entity_name: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            entity_type: str = ...,
            entity_name: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    entity: tuple[ClientQuotaRecord.EntityData, ...]
    key: str
    value: float
    remove: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        entity: tuple[ClientQuotaRecord.EntityData, ...] = ...,
        key: str = ...,
        value: float = ...,
        remove: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConfigRecord(Entity):
    resource_type: int
    resource_name: str
    name: str
    value: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        resource_type: int = ...,
        resource_name: str = ...,
        name: str = ...,
        value: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DelegationTokenRecord(Entity):
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        owner: str = ...,
        requester: str = ...,
        renewers: tuple[str, ...] = ...,
        issue_timestamp: int = ...,
        max_timestamp: int = ...,
        expiration_timestamp: int = ...,
        token_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class EndTransactionRecord(Entity):
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class FeatureLevelRecord(Entity):
    name: str
    feature_level: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        name: str = ...,
        feature_level: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class FenceBrokerRecord(Entity):
    id: int
    epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        id: int = ...,
        epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class NoOpRecord(Entity):
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class PartitionChangeRecord(Entity):
    partition_id: int
    topic_id: bytes
    isr: tuple[int, ...] | None
    leader: int
    replicas: tuple[int, ...] | None
    removing_replicas: tuple[int, ...] | None
    adding_replicas: tuple[int, ...] | None
    leader_recovery_state: int
    directories: tuple[bytes, ...] | None
    eligible_leader_replicas: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        partition_id: int = ...,
        topic_id: bytes = ...,
        isr: tuple[int, ...] | None = ...,
        leader: int = ...,
        replicas: tuple[int, ...] | None = ...,
        removing_replicas: tuple[int, ...] | None = ...,
        adding_replicas: tuple[int, ...] | None = ...,
        leader_recovery_state: int = ...,
        directories: tuple[bytes, ...] | None = ...,
        eligible_leader_replicas: tuple[int, ...] | None = ...,
        last_known_elr: tuple[int, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class PartitionRecord(Entity):
    partition_id: int
    topic_id: bytes
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[bytes, ...]
    eligible_leader_replicas: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        partition_id: int = ...,
        topic_id: bytes = ...,
        replicas: tuple[int, ...] = ...,
        isr: tuple[int, ...] = ...,
        removing_replicas: tuple[int, ...] = ...,
        adding_replicas: tuple[int, ...] = ...,
        leader: int = ...,
        leader_recovery_state: int = ...,
        leader_epoch: int = ...,
        partition_epoch: int = ...,
        directories: tuple[bytes, ...] = ...,
        eligible_leader_replicas: tuple[int, ...] | None = ...,
        last_known_elr: tuple[int, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ProducerIdsRecord(Entity):
    broker_id: int
    broker_epoch: int
    next_producer_id: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        broker_epoch: int = ...,
        next_producer_id: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RegisterBrokerRecord(Entity):
    class BrokerEndpoint(Entity):
        name: str
        host: str
        port: int
        security_protocol: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            security_protocol: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class BrokerFeature(Entity):
        name: str
        min_supported_version: int
        max_supported_version: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    broker_id: int
    is_migrating_zk_broker: bool
    incarnation_id: bytes
    broker_epoch: int
    end_points: tuple[RegisterBrokerRecord.BrokerEndpoint, ...]
    features: tuple[RegisterBrokerRecord.BrokerFeature, ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[bytes, ...]
    cordoned_log_dirs: tuple[bytes, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        is_migrating_zk_broker: bool = ...,
        incarnation_id: bytes = ...,
        broker_epoch: int = ...,
        end_points: tuple[RegisterBrokerRecord.BrokerEndpoint, ...] = ...,
        features: tuple[RegisterBrokerRecord.BrokerFeature, ...] = ...,
        rack: str | None = ...,
        fenced: bool = ...,
        in_controlled_shutdown: bool = ...,
        log_dirs: tuple[bytes, ...] = ...,
        cordoned_log_dirs: tuple[bytes, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RegisterControllerRecord(Entity):
    class ControllerEndpoint(Entity):
        name: str
        host: str
        port: int
        security_protocol: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            security_protocol: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ControllerFeature(Entity):
        name: str
        min_supported_version: int
        max_supported_version: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    end_points: tuple[RegisterControllerRecord.ControllerEndpoint, ...]
    features: tuple[RegisterControllerRecord.ControllerFeature, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        controller_id: int = ...,
        incarnation_id: bytes = ...,
        zk_migration_ready: bool = ...,
        end_points: tuple[RegisterControllerRecord.ControllerEndpoint, ...] = ...,
        features: tuple[RegisterControllerRecord.ControllerFeature, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemoveAccessControlEntryRecord(Entity):
    id: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        id: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemoveDelegationTokenRecord(Entity):
    token_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        token_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemoveTopicRecord(Entity):
    topic_id: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topic_id: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemoveUserScramCredentialRecord(Entity):
    name: str
    mechanism: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        name: str = ...,
        mechanism: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class TopicRecord(Entity):
    name: str
    topic_id: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        name: str = ...,
        topic_id: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UnfenceBrokerRecord(Entity):
    id: int
    epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        id: int = ...,
        epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UnregisterBrokerRecord(Entity):
    broker_id: int
    broker_epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        broker_epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UnregisterControllerRecord(Entity):
    controller_id: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        controller_id: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UserScramCredentialRecord(Entity):
    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        name: str = ...,
        mechanism: int = ...,
        salt: bytes = ...,
        stored_key: bytes = ...,
        server_key: bytes = ...,
        iterations: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ZkMigrationStateRecord(Entity):
    zk_migration_state: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        zk_migration_state: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ControlRecordTypeSchema(Entity):
    type: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        type: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class EndTxnMarker(Entity):
    coordinator_epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        coordinator_epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class KRaftVersionRecord(Entity):
    version: int
    k_raft_version: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        version: int = ...,
        k_raft_version: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class LeaderChangeMessage(Entity):
    class Voter(Entity):
        voter_id: int
        voter_directory_id: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            voter_id: int = ...,
            voter_directory_id: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    version: int
    leader_id: int
    voters: tuple[LeaderChangeMessage.Voter, ...]
    granting_voters: tuple[LeaderChangeMessage.Voter, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        version: int = ...,
        leader_id: int = ...,
        voters: tuple[LeaderChangeMessage.Voter, ...] = ...,
        granting_voters: tuple[LeaderChangeMessage.Voter, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class SnapshotFooterRecord(Entity):
    version: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        version: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class SnapshotHeaderRecord(Entity):
    version: int
    last_contained_log_timestamp: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        version: int = ...,
        last_contained_log_timestamp: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class VotersRecord(Entity):
    class Voter(Entity):
        voter_id: int
        voter_directory_id: bytes
        endpoints: tuple[VotersRecord.Endpoint, ...]
        k_raft_version_feature: VotersRecord.KRaftVersionFeature
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            voter_id: int = ...,
            voter_directory_id: bytes = ...,
            endpoints: tuple[VotersRecord.Endpoint, ...] = ...,
            k_raft_version_feature: VotersRecord.KRaftVersionFeature = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Endpoint(Entity):
        name: str
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class KRaftVersionFeature(Entity):
        min_supported_version: int
        max_supported_version: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    version: int
    voters: tuple[VotersRecord.Voter, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        version: int = ...,
        voters: tuple[VotersRecord.Voter, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AbortedTxn(Entity):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        producer_id: int = ...,
        first_offset: int = ...,
        last_offset: int = ...,
        last_stable_offset: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerProtocolAssignment(Entity):
    class TopicPartition(Entity):
        topic: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    assigned_partitions: tuple[ConsumerProtocolAssignment.TopicPartition, ...]
    user_data: bytes | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        assigned_partitions: tuple[ConsumerProtocolAssignment.TopicPartition, ...] = ...,
        user_data: bytes | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerProtocolSubscription(Entity):
    class TopicPartition(Entity):
        topic: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[str, ...]
    user_data: bytes | None
    owned_partitions: tuple[ConsumerProtocolSubscription.TopicPartition, ...]
    generation_id: int
    rack_id: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[str, ...] = ...,
        user_data: bytes | None = ...,
        owned_partitions: tuple[ConsumerProtocolSubscription.TopicPartition, ...] = ...,
        generation_id: int = ...,
        rack_id: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DefaultPrincipalData(Entity):
    type: str
    name: str
    token_authenticated: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        type: str = ...,
        name: str = ...,
        token_authenticated: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ProducerSnapshot(Entity):
    class ProducerEntry(Entity):
        producer_id: int
        epoch: int
        last_sequence: int
        last_offset: int
        offset_delta: int
        timestamp: int
        coordinator_epoch: int
        current_txn_first_offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            producer_id: int = ...,
            epoch: int = ...,
            last_sequence: int = ...,
            last_offset: int = ...,
            offset_delta: int = ...,
            timestamp: int = ...,
            coordinator_epoch: int = ...,
            current_txn_first_offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    crc: int
    producer_entries: tuple[ProducerSnapshot.ProducerEntry, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        crc: int = ...,
        producer_entries: tuple[ProducerSnapshot.ProducerEntry, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class QuorumStateData(Entity):
    class Voter(Entity):
        voter_id: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            voter_id: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    cluster_id: str
    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: bytes
    applied_offset: int
    current_voters: tuple[QuorumStateData.Voter, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        cluster_id: str = ...,
        leader_id: int = ...,
        leader_epoch: int = ...,
        voted_id: int = ...,
        voted_directory_id: bytes = ...,
        applied_offset: int = ...,
        current_voters: tuple[QuorumStateData.Voter, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataRecord(Entity):
    class RemoteLogSegmentIdEntry(Entity):
        topic_id_partition: RemoteLogSegmentMetadataRecord.TopicIdPartitionEntry
        id: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id_partition: RemoteLogSegmentMetadataRecord.TopicIdPartitionEntry = ...,
            id: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicIdPartitionEntry(Entity):
        name: str
        id: bytes
        partition: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            id: bytes = ...,
            partition: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class SegmentLeaderEpochEntry(Entity):
        leader_epoch: int
        offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            leader_epoch: int = ...,
            offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    remote_log_segment_id: RemoteLogSegmentMetadataRecord.RemoteLogSegmentIdEntry
    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int
    segment_leader_epochs: tuple[RemoteLogSegmentMetadataRecord.SegmentLeaderEpochEntry, ...]
    segment_size_in_bytes: int
    custom_metadata: bytes | None
    remote_log_segment_state: int
    txn_index_empty: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        remote_log_segment_id: RemoteLogSegmentMetadataRecord.RemoteLogSegmentIdEntry = ...,
        start_offset: int = ...,
        end_offset: int = ...,
        broker_id: int = ...,
        max_timestamp_ms: int = ...,
        event_timestamp_ms: int = ...,
        segment_leader_epochs: tuple[RemoteLogSegmentMetadataRecord.SegmentLeaderEpochEntry, ...] = ...,
        segment_size_in_bytes: int = ...,
        custom_metadata: bytes | None = ...,
        remote_log_segment_state: int = ...,
        txn_index_empty: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataSnapshotRecord(Entity):
    class SegmentLeaderEpochEntry(Entity):
        leader_epoch: int
        offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            leader_epoch: int = ...,
            offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    segment_id: bytes
    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int
    segment_leader_epochs: tuple[RemoteLogSegmentMetadataSnapshotRecord.SegmentLeaderEpochEntry, ...]
    segment_size_in_bytes: int
    custom_metadata: bytes | None
    remote_log_segment_state: int
    txn_index_empty: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        segment_id: bytes = ...,
        start_offset: int = ...,
        end_offset: int = ...,
        broker_id: int = ...,
        max_timestamp_ms: int = ...,
        event_timestamp_ms: int = ...,
        segment_leader_epochs: tuple[RemoteLogSegmentMetadataSnapshotRecord.SegmentLeaderEpochEntry, ...] = ...,
        segment_size_in_bytes: int = ...,
        custom_metadata: bytes | None = ...,
        remote_log_segment_state: int = ...,
        txn_index_empty: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemoteLogSegmentMetadataUpdateRecord(Entity):
    class RemoteLogSegmentIdEntry(Entity):
        topic_id_partition: RemoteLogSegmentMetadataUpdateRecord.TopicIdPartitionEntry
        id: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id_partition: RemoteLogSegmentMetadataUpdateRecord.TopicIdPartitionEntry = ...,
            id: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicIdPartitionEntry(Entity):
        name: str
        id: bytes
        partition: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            id: bytes = ...,
            partition: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecord.RemoteLogSegmentIdEntry
    broker_id: int
    event_timestamp_ms: int
    custom_metadata: bytes | None
    remote_log_segment_state: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecord.RemoteLogSegmentIdEntry = ...,
        broker_id: int = ...,
        event_timestamp_ms: int = ...,
        custom_metadata: bytes | None = ...,
        remote_log_segment_state: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemotePartitionDeleteMetadataRecord(Entity):
    class TopicIdPartitionEntry(Entity):
        name: str
        id: bytes
        partition: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            id: bytes = ...,
            partition: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topic_id_partition: RemotePartitionDeleteMetadataRecord.TopicIdPartitionEntry
    broker_id: int
    event_timestamp_ms: int
    remote_partition_delete_state: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topic_id_partition: RemotePartitionDeleteMetadataRecord.TopicIdPartitionEntry = ...,
        broker_id: int = ...,
        event_timestamp_ms: int = ...,
        remote_partition_delete_state: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupCurrentMemberAssignmentKey(Entity):
    group_id: str
    member_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupCurrentMemberAssignmentValue(Entity):
    class TopicPartitions(Entity):
        topic_id: bytes
        partitions: tuple[int, ...]
        assignment_epochs: tuple[int, ...] | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[int, ...] = ...,
            assignment_epochs: tuple[int, ...] | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: tuple[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions, ...]
    partitions_pending_revocation: tuple[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        member_epoch: int = ...,
        previous_member_epoch: int = ...,
        state: int = ...,
        assigned_partitions: tuple[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions, ...] = ...,
        partitions_pending_revocation: tuple[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupMemberMetadataKey(Entity):
    group_id: str
    member_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupMemberMetadataValue(Entity):
    class ClassicMemberMetadata(Entity):
        session_timeout_ms: int
        supported_protocols: tuple[ConsumerGroupMemberMetadataValue.ClassicProtocol, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            session_timeout_ms: int = ...,
            supported_protocols: tuple[ConsumerGroupMemberMetadataValue.ClassicProtocol, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ClassicProtocol(Entity):
        name: str
        metadata: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            metadata: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        subscribed_topic_names: tuple[str, ...] = ...,
        subscribed_topic_regex: str | None = ...,
        rebalance_timeout_ms: int = ...,
        server_assignor: str | None = ...,
        classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupMetadataKey(Entity):
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupMetadataValue(Entity):
    epoch: int
    metadata_hash: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        epoch: int = ...,
        metadata_hash: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupPartitionMetadataKey(Entity):
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupPartitionMetadataValue(Entity):
    class TopicMetadata(Entity):
        topic_id: bytes
        topic_name: str
        num_partitions: int
        partition_metadata: tuple[ConsumerGroupPartitionMetadataValue.PartitionMetadata, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            topic_name: str = ...,
            num_partitions: int = ...,
            partition_metadata: tuple[ConsumerGroupPartitionMetadataValue.PartitionMetadata, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionMetadata(Entity):
        partition: int
        racks: tuple[str, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            racks: tuple[str, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[ConsumerGroupPartitionMetadataValue.TopicMetadata, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[ConsumerGroupPartitionMetadataValue.TopicMetadata, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupRegularExpressionKey(Entity):
    group_id: str
    regular_expression: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        regular_expression: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupRegularExpressionValue(Entity):
    topics: tuple[str, ...]
    version: int
    timestamp: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[str, ...] = ...,
        version: int = ...,
        timestamp: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMemberKey(Entity):
    group_id: str
    member_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMemberValue(Entity):
    class TopicPartition(Entity):
        topic_id: bytes
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topic_partitions: tuple[ConsumerGroupTargetAssignmentMemberValue.TopicPartition, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topic_partitions: tuple[ConsumerGroupTargetAssignmentMemberValue.TopicPartition, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMetadataKey(Entity):
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupTargetAssignmentMetadataValue(Entity):
    assignment_epoch: int
    assignment_timestamp: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        assignment_epoch: int = ...,
        assignment_timestamp: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class GroupMetadataKey(Entity):
    group: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class GroupMetadataValue(Entity):
    class MemberMetadata(Entity):
        member_id: str
        group_instance_id: str | None
        client_id: str
        client_host: str
        rebalance_timeout: int
        session_timeout: int
        subscription: bytes
        assignment: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            client_id: str = ...,
            client_host: str = ...,
            rebalance_timeout: int = ...,
            session_timeout: int = ...,
            subscription: bytes = ...,
            assignment: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int
    members: tuple[GroupMetadataValue.MemberMetadata, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        protocol_type: str = ...,
        generation: int = ...,
        protocol: str | None = ...,
        leader: str | None = ...,
        current_state_timestamp: int = ...,
        members: tuple[GroupMetadataValue.MemberMetadata, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class LegacyOffsetCommitKey(Entity):
    group: str
    topic: str
    partition: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group: str = ...,
        topic: str = ...,
        partition: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class LegacyOffsetCommitValue(Entity):
    offset: int
    metadata: str
    commit_timestamp: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        offset: int = ...,
        metadata: str = ...,
        commit_timestamp: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetCommitKey(Entity):
    group: str
    topic: str
    partition: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group: str = ...,
        topic: str = ...,
        partition: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetCommitValue(Entity):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    topic_id: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        offset: int = ...,
        leader_epoch: int = ...,
        metadata: str = ...,
        commit_timestamp: int = ...,
        expire_timestamp: int = ...,
        topic_id: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupCurrentMemberAssignmentKey(Entity):
    group_id: str
    member_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupCurrentMemberAssignmentValue(Entity):
    class TopicPartitions(Entity):
        topic_id: bytes
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: tuple[ShareGroupCurrentMemberAssignmentValue.TopicPartitions, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        member_epoch: int = ...,
        previous_member_epoch: int = ...,
        state: int = ...,
        assigned_partitions: tuple[ShareGroupCurrentMemberAssignmentValue.TopicPartitions, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupMemberMetadataKey(Entity):
    group_id: str
    member_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupMemberMetadataValue(Entity):
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        subscribed_topic_names: tuple[str, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupMetadataKey(Entity):
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupMetadataValue(Entity):
    epoch: int
    metadata_hash: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        epoch: int = ...,
        metadata_hash: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupStatePartitionMetadataKey(Entity):
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupStatePartitionMetadataValue(Entity):
    class TopicPartitionsInfo(Entity):
        topic_id: bytes
        topic_name: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            topic_name: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicInfo(Entity):
        topic_id: bytes
        topic_name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            topic_name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    initializing_topics: tuple[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo, ...]
    initialized_topics: tuple[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo, ...]
    deleting_topics: tuple[ShareGroupStatePartitionMetadataValue.TopicInfo, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        initializing_topics: tuple[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo, ...] = ...,
        initialized_topics: tuple[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo, ...] = ...,
        deleting_topics: tuple[ShareGroupStatePartitionMetadataValue.TopicInfo, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMemberKey(Entity):
    group_id: str
    member_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMemberValue(Entity):
    class TopicPartition(Entity):
        topic_id: bytes
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topic_partitions: tuple[ShareGroupTargetAssignmentMemberValue.TopicPartition, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topic_partitions: tuple[ShareGroupTargetAssignmentMemberValue.TopicPartition, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMetadataKey(Entity):
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupTargetAssignmentMetadataValue(Entity):
    assignment_epoch: int
    assignment_timestamp: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        assignment_epoch: int = ...,
        assignment_timestamp: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupCurrentMemberAssignmentKey(Entity):
    group_id: str
    member_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupCurrentMemberAssignmentValue(Entity):
    class TaskIds(Entity):
        subtopology_id: str
        partitions: tuple[int, ...]
        assignment_epochs: tuple[int, ...] | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            partitions: tuple[int, ...] = ...,
            assignment_epochs: tuple[int, ...] | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    member_epoch: int
    previous_member_epoch: int
    state: int
    active_tasks: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...]
    standby_tasks: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...]
    warmup_tasks: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...]
    active_tasks_pending_revocation: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...]
    standby_tasks_pending_revocation: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...]
    warmup_tasks_pending_revocation: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        member_epoch: int = ...,
        previous_member_epoch: int = ...,
        state: int = ...,
        active_tasks: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...] = ...,
        standby_tasks: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...] = ...,
        warmup_tasks: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...] = ...,
        active_tasks_pending_revocation: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...] = ...,
        standby_tasks_pending_revocation: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...] = ...,
        warmup_tasks_pending_revocation: tuple[StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupMemberMetadataKey(Entity):
    group_id: str
    member_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupMemberMetadataValue(Entity):
    class Endpoint(Entity):
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class KeyValue(Entity):
        key: str
        value: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            key: str = ...,
            value: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topology_epoch: int
    process_id: str
    user_endpoint: StreamsGroupMemberMetadataValue.Endpoint | None
    client_tags: tuple[StreamsGroupMemberMetadataValue.KeyValue, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        client_id: str = ...,
        client_host: str = ...,
        rebalance_timeout_ms: int = ...,
        topology_epoch: int = ...,
        process_id: str = ...,
        user_endpoint: StreamsGroupMemberMetadataValue.Endpoint | None = ...,
        client_tags: tuple[StreamsGroupMemberMetadataValue.KeyValue, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupMetadataKey(Entity):
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupMetadataValue(Entity):
    class LastAssignmentConfig(Entity):
        key: str
        value: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            key: str = ...,
            value: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    epoch: int
    metadata_hash: int
    validated_topology_epoch: int
    last_assignment_configs: tuple[StreamsGroupMetadataValue.LastAssignmentConfig, ...] | None
    stored_description_topology_epoch: int
    failed_description_topology_epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        epoch: int = ...,
        metadata_hash: int = ...,
        validated_topology_epoch: int = ...,
        last_assignment_configs: tuple[StreamsGroupMetadataValue.LastAssignmentConfig, ...] | None = ...,
        stored_description_topology_epoch: int = ...,
        failed_description_topology_epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMemberKey(Entity):
    group_id: str
    member_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMemberValue(Entity):
    class TaskIds(Entity):
        subtopology_id: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    active_tasks: tuple[StreamsGroupTargetAssignmentMemberValue.TaskIds, ...]
    standby_tasks: tuple[StreamsGroupTargetAssignmentMemberValue.TaskIds, ...]
    warmup_tasks: tuple[StreamsGroupTargetAssignmentMemberValue.TaskIds, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        active_tasks: tuple[StreamsGroupTargetAssignmentMemberValue.TaskIds, ...] = ...,
        standby_tasks: tuple[StreamsGroupTargetAssignmentMemberValue.TaskIds, ...] = ...,
        warmup_tasks: tuple[StreamsGroupTargetAssignmentMemberValue.TaskIds, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMetadataKey(Entity):
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupTargetAssignmentMetadataValue(Entity):
    assignment_epoch: int
    assignment_timestamp: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        assignment_epoch: int = ...,
        assignment_timestamp: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupTopologyKey(Entity):
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupTopologyValue(Entity):
    class Subtopology(Entity):
        subtopology_id: str
        source_topics: tuple[str, ...]
        source_topic_regex: tuple[str, ...]
        state_changelog_topics: tuple[StreamsGroupTopologyValue.TopicInfo, ...]
        repartition_sink_topics: tuple[str, ...]
        repartition_source_topics: tuple[StreamsGroupTopologyValue.TopicInfo, ...]
        copartition_groups: tuple[StreamsGroupTopologyValue.CopartitionGroup, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            source_topics: tuple[str, ...] = ...,
            source_topic_regex: tuple[str, ...] = ...,
            state_changelog_topics: tuple[StreamsGroupTopologyValue.TopicInfo, ...] = ...,
            repartition_sink_topics: tuple[str, ...] = ...,
            repartition_source_topics: tuple[StreamsGroupTopologyValue.TopicInfo, ...] = ...,
            copartition_groups: tuple[StreamsGroupTopologyValue.CopartitionGroup, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicInfo(Entity):
        name: str
        partitions: int
        replication_factor: int
        topic_configs: tuple[StreamsGroupTopologyValue.TopicConfig, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: int = ...,
            replication_factor: int = ...,
            topic_configs: tuple[StreamsGroupTopologyValue.TopicConfig, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class CopartitionGroup(Entity):
        source_topics: tuple[int, ...]
        source_topic_regex: tuple[int, ...]
        repartition_source_topics: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            source_topics: tuple[int, ...] = ...,
            source_topic_regex: tuple[int, ...] = ...,
            repartition_source_topics: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicConfig(Entity):
        key: str
        value: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            key: str = ...,
            value: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    epoch: int
    subtopologies: tuple[StreamsGroupTopologyValue.Subtopology, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        epoch: int = ...,
        subtopologies: tuple[StreamsGroupTopologyValue.Subtopology, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class TransactionLogKey(Entity):
    transactional_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        transactional_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class TransactionLogValue(Entity):
    class PartitionsSchema(Entity):
        topic: str
        partition_ids: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partition_ids: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    next_producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: tuple[TransactionLogValue.PartitionsSchema, ...] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    client_transaction_version: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        producer_id: int = ...,
        previous_producer_id: int = ...,
        next_producer_id: int = ...,
        producer_epoch: int = ...,
        next_producer_epoch: int = ...,
        transaction_timeout_ms: int = ...,
        transaction_status: int = ...,
        transaction_partitions: tuple[TransactionLogValue.PartitionsSchema, ...] | None = ...,
        transaction_last_update_timestamp_ms: int = ...,
        transaction_start_timestamp_ms: int = ...,
        client_transaction_version: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareSnapshotKey(Entity):
    group_id: str
    topic_id: bytes
    partition: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topic_id: bytes = ...,
        partition: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareSnapshotValue(Entity):
    class StateBatch(Entity):
        first_offset: int
        last_offset: int
        delivery_state: int
        delivery_count: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_state: int = ...,
            delivery_count: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    create_timestamp: int
    write_timestamp: int
    state_batches: tuple[ShareSnapshotValue.StateBatch, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        snapshot_epoch: int = ...,
        state_epoch: int = ...,
        leader_epoch: int = ...,
        start_offset: int = ...,
        delivery_complete_count: int = ...,
        create_timestamp: int = ...,
        write_timestamp: int = ...,
        state_batches: tuple[ShareSnapshotValue.StateBatch, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareUpdateKey(Entity):
    group_id: str
    topic_id: bytes
    partition: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topic_id: bytes = ...,
        partition: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareUpdateValue(Entity):
    class StateBatch(Entity):
        first_offset: int
        last_offset: int
        delivery_state: int
        delivery_count: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_state: int = ...,
            delivery_count: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    state_batches: tuple[ShareUpdateValue.StateBatch, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        snapshot_epoch: int = ...,
        leader_epoch: int = ...,
        start_offset: int = ...,
        delivery_complete_count: int = ...,
        state_batches: tuple[ShareUpdateValue.StateBatch, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RequestHeader(Entity):
    request_api_key: int
    request_api_version: int
    correlation_id: int
    client_id: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        request_api_key: int = ...,
        request_api_version: int = ...,
        correlation_id: int = ...,
        client_id: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ResponseHeader(Entity):
    correlation_id: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        correlation_id: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AddOffsetsToTxnRequest(Entity):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        transactional_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        group_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AddPartitionsToTxnRequest(Entity):
    class AddPartitionsToTxnTransaction(Entity):
        transactional_id: str
        producer_id: int
        producer_epoch: int
        verify_only: bool
        topics: tuple[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            transactional_id: str = ...,
            producer_id: int = ...,
            producer_epoch: int = ...,
            verify_only: bool = ...,
            topics: tuple[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AddPartitionsToTxnTopic(Entity):
        name: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    transactions: tuple[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction, ...]
    v3_and_below_transactional_id: str
    v3_and_below_producer_id: int
    v3_and_below_producer_epoch: int
    v3_and_below_topics: tuple[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        transactions: tuple[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction, ...] = ...,
        v3_and_below_transactional_id: str = ...,
        v3_and_below_producer_id: int = ...,
        v3_and_below_producer_epoch: int = ...,
        v3_and_below_topics: tuple[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AddRaftVoterRequest(Entity):
    class Listener(Entity):
        name: str
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    cluster_id: str | None
    timeout_ms: int
    voter_id: int
    voter_directory_id: bytes
    listeners: tuple[AddRaftVoterRequest.Listener, ...]
    ack_when_committed: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        cluster_id: str | None = ...,
        timeout_ms: int = ...,
        voter_id: int = ...,
        voter_directory_id: bytes = ...,
        listeners: tuple[AddRaftVoterRequest.Listener, ...] = ...,
        ack_when_committed: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AllocateProducerIdsRequest(Entity):
    broker_id: int
    broker_epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        broker_epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterClientQuotasRequest(Entity):
    class EntryData(Entity):
        entity: tuple[AlterClientQuotasRequest.EntityData, ...]
        ops: tuple[AlterClientQuotasRequest.OpData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            entity: tuple[AlterClientQuotasRequest.EntityData, ...] = ...,
            ops: tuple[AlterClientQuotasRequest.OpData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class EntityData(Entity):
        entity_type: str
        entity_name: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            entity_type: str = ...,
            entity_name: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OpData(Entity):
        key: str
        value: float
        remove: bool
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            key: str = ...,
            value: float = ...,
            remove: bool = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    entries: tuple[AlterClientQuotasRequest.EntryData, ...]
    validate_only: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        entries: tuple[AlterClientQuotasRequest.EntryData, ...] = ...,
        validate_only: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterConfigsRequest(Entity):
    class AlterConfigsResource(Entity):
        resource_type: int
        resource_name: str
        configs: tuple[AlterConfigsRequest.AlterableConfig, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            resource_type: int = ...,
            resource_name: str = ...,
            configs: tuple[AlterConfigsRequest.AlterableConfig, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AlterableConfig(Entity):
        name: str
        value: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            value: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    resources: tuple[AlterConfigsRequest.AlterConfigsResource, ...]
    validate_only: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        resources: tuple[AlterConfigsRequest.AlterConfigsResource, ...] = ...,
        validate_only: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterPartitionReassignmentsRequest(Entity):
    class ReassignableTopic(Entity):
        name: str
        partitions: tuple[AlterPartitionReassignmentsRequest.ReassignablePartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[AlterPartitionReassignmentsRequest.ReassignablePartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ReassignablePartition(Entity):
        partition_index: int
        replicas: tuple[int, ...] | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            replicas: tuple[int, ...] | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    timeout_ms: int
    allow_replication_factor_change: bool
    topics: tuple[AlterPartitionReassignmentsRequest.ReassignableTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        timeout_ms: int = ...,
        allow_replication_factor_change: bool = ...,
        topics: tuple[AlterPartitionReassignmentsRequest.ReassignableTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterPartitionRequest(Entity):
    class TopicData(Entity):
        topic_id: bytes
        partitions: tuple[AlterPartitionRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[AlterPartitionRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        leader_epoch: int
        new_isr: tuple[int, ...]
        new_isr_with_epochs: tuple[AlterPartitionRequest.BrokerState, ...]
        leader_recovery_state: int
        partition_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            leader_epoch: int = ...,
            new_isr: tuple[int, ...] = ...,
            new_isr_with_epochs: tuple[AlterPartitionRequest.BrokerState, ...] = ...,
            leader_recovery_state: int = ...,
            partition_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class BrokerState(Entity):
        broker_id: int
        broker_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            broker_id: int = ...,
            broker_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    broker_id: int
    broker_epoch: int
    topics: tuple[AlterPartitionRequest.TopicData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        broker_epoch: int = ...,
        topics: tuple[AlterPartitionRequest.TopicData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterReplicaLogDirsRequest(Entity):
    class AlterReplicaLogDir(Entity):
        path: str
        topics: tuple[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            path: str = ...,
            topics: tuple[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AlterReplicaLogDirTopic(Entity):
        name: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    dirs: tuple[AlterReplicaLogDirsRequest.AlterReplicaLogDir, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        dirs: tuple[AlterReplicaLogDirsRequest.AlterReplicaLogDir, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterShareGroupOffsetsRequest(Entity):
    class AlterShareGroupOffsetsRequestTopic(Entity):
        topic_name: str
        partitions: tuple[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AlterShareGroupOffsetsRequestPartition(Entity):
        partition_index: int
        start_offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            start_offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    topics: tuple[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topics: tuple[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterUserScramCredentialsRequest(Entity):
    class ScramCredentialDeletion(Entity):
        name: str
        mechanism: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            mechanism: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ScramCredentialUpsertion(Entity):
        name: str
        mechanism: int
        iterations: int
        salt: bytes
        salted_password: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            mechanism: int = ...,
            iterations: int = ...,
            salt: bytes = ...,
            salted_password: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    deletions: tuple[AlterUserScramCredentialsRequest.ScramCredentialDeletion, ...]
    upsertions: tuple[AlterUserScramCredentialsRequest.ScramCredentialUpsertion, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        deletions: tuple[AlterUserScramCredentialsRequest.ScramCredentialDeletion, ...] = ...,
        upsertions: tuple[AlterUserScramCredentialsRequest.ScramCredentialUpsertion, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ApiVersionsRequest(Entity):
    client_software_name: str
    client_software_version: str
    cluster_id: str | None
    node_id: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        client_software_name: str = ...,
        client_software_version: str = ...,
        cluster_id: str | None = ...,
        node_id: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AssignReplicasToDirsRequest(Entity):
    class DirectoryData(Entity):
        id: bytes
        topics: tuple[AssignReplicasToDirsRequest.TopicData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            id: bytes = ...,
            topics: tuple[AssignReplicasToDirsRequest.TopicData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicData(Entity):
        topic_id: bytes
        partitions: tuple[AssignReplicasToDirsRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[AssignReplicasToDirsRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    broker_id: int
    broker_epoch: int
    directories: tuple[AssignReplicasToDirsRequest.DirectoryData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        broker_epoch: int = ...,
        directories: tuple[AssignReplicasToDirsRequest.DirectoryData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class BeginQuorumEpochRequest(Entity):
    class TopicData(Entity):
        topic_name: str
        partitions: tuple[BeginQuorumEpochRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[BeginQuorumEpochRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        voter_directory_id: bytes
        leader_id: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            voter_directory_id: bytes = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class LeaderEndpoint(Entity):
        name: str
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    cluster_id: str | None
    voter_id: int
    topics: tuple[BeginQuorumEpochRequest.TopicData, ...]
    leader_endpoints: tuple[BeginQuorumEpochRequest.LeaderEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        cluster_id: str | None = ...,
        voter_id: int = ...,
        topics: tuple[BeginQuorumEpochRequest.TopicData, ...] = ...,
        leader_endpoints: tuple[BeginQuorumEpochRequest.LeaderEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class BrokerHeartbeatRequest(Entity):
    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: tuple[bytes, ...]
    cordoned_log_dirs: tuple[bytes, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        broker_epoch: int = ...,
        current_metadata_offset: int = ...,
        want_fence: bool = ...,
        want_shut_down: bool = ...,
        offline_log_dirs: tuple[bytes, ...] = ...,
        cordoned_log_dirs: tuple[bytes, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class BrokerRegistrationRequest(Entity):
    class Listener(Entity):
        name: str
        host: str
        port: int
        security_protocol: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            security_protocol: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Feature(Entity):
        name: str
        min_supported_version: int
        max_supported_version: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    broker_id: int
    cluster_id: str
    incarnation_id: bytes
    listeners: tuple[BrokerRegistrationRequest.Listener, ...]
    features: tuple[BrokerRegistrationRequest.Feature, ...]
    rack: str | None
    is_migrating_zk_broker: bool
    log_dirs: tuple[bytes, ...]
    previous_broker_epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        cluster_id: str = ...,
        incarnation_id: bytes = ...,
        listeners: tuple[BrokerRegistrationRequest.Listener, ...] = ...,
        features: tuple[BrokerRegistrationRequest.Feature, ...] = ...,
        rack: str | None = ...,
        is_migrating_zk_broker: bool = ...,
        log_dirs: tuple[bytes, ...] = ...,
        previous_broker_epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupDescribeRequest(Entity):
    group_ids: tuple[str, ...]
    include_authorized_operations: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_ids: tuple[str, ...] = ...,
        include_authorized_operations: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupHeartbeatRequest(Entity):
    class TopicPartitions(Entity):
        topic_id: bytes
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: tuple[str, ...] | None
    subscribed_topic_regex: str | None
    server_assignor: str | None
    topic_partitions: tuple[ConsumerGroupHeartbeatRequest.TopicPartitions, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        rebalance_timeout_ms: int = ...,
        subscribed_topic_names: tuple[str, ...] | None = ...,
        subscribed_topic_regex: str | None = ...,
        server_assignor: str | None = ...,
        topic_partitions: tuple[ConsumerGroupHeartbeatRequest.TopicPartitions, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ControllerRegistrationRequest(Entity):
    class Listener(Entity):
        name: str
        host: str
        port: int
        security_protocol: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            security_protocol: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Feature(Entity):
        name: str
        min_supported_version: int
        max_supported_version: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    controller_id: int
    incarnation_id: bytes
    zk_migration_ready: bool
    listeners: tuple[ControllerRegistrationRequest.Listener, ...]
    features: tuple[ControllerRegistrationRequest.Feature, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        controller_id: int = ...,
        incarnation_id: bytes = ...,
        zk_migration_ready: bool = ...,
        listeners: tuple[ControllerRegistrationRequest.Listener, ...] = ...,
        features: tuple[ControllerRegistrationRequest.Feature, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class CreateAclsRequest(Entity):
    class AclCreation(Entity):
        resource_type: int
        resource_name: str
        resource_pattern_type: int
        principal: str
        host: str
        operation: int
        permission_type: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            resource_type: int = ...,
            resource_name: str = ...,
            resource_pattern_type: int = ...,
            principal: str = ...,
            host: str = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    creations: tuple[CreateAclsRequest.AclCreation, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        creations: tuple[CreateAclsRequest.AclCreation, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class CreateDelegationTokenRequest(Entity):
    class CreatableRenewers(Entity):
        principal_type: str
        principal_name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            principal_type: str = ...,
            principal_name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    owner_principal_type: str | None
    owner_principal_name: str | None
    renewers: tuple[CreateDelegationTokenRequest.CreatableRenewers, ...]
    max_lifetime_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        owner_principal_type: str | None = ...,
        owner_principal_name: str | None = ...,
        renewers: tuple[CreateDelegationTokenRequest.CreatableRenewers, ...] = ...,
        max_lifetime_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class CreatePartitionsRequest(Entity):
    class CreatePartitionsTopic(Entity):
        name: str
        count: int
        assignments: tuple[CreatePartitionsRequest.CreatePartitionsAssignment, ...] | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            count: int = ...,
            assignments: tuple[CreatePartitionsRequest.CreatePartitionsAssignment, ...] | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class CreatePartitionsAssignment(Entity):
        broker_ids: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            broker_ids: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[CreatePartitionsRequest.CreatePartitionsTopic, ...]
    timeout_ms: int
    validate_only: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[CreatePartitionsRequest.CreatePartitionsTopic, ...] = ...,
        timeout_ms: int = ...,
        validate_only: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class CreateTopicsRequest(Entity):
    class CreatableTopic(Entity):
        name: str
        num_partitions: int
        replication_factor: int
        assignments: tuple[CreateTopicsRequest.CreatableReplicaAssignment, ...]
        configs: tuple[CreateTopicsRequest.CreatableTopicConfig, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            num_partitions: int = ...,
            replication_factor: int = ...,
            assignments: tuple[CreateTopicsRequest.CreatableReplicaAssignment, ...] = ...,
            configs: tuple[CreateTopicsRequest.CreatableTopicConfig, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class CreatableReplicaAssignment(Entity):
        partition_index: int
        broker_ids: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            broker_ids: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class CreatableTopicConfig(Entity):
        name: str
        value: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            value: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[CreateTopicsRequest.CreatableTopic, ...]
    timeout_ms: int
    validate_only: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[CreateTopicsRequest.CreatableTopic, ...] = ...,
        timeout_ms: int = ...,
        validate_only: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteAclsRequest(Entity):
    class DeleteAclsFilter(Entity):
        resource_type_filter: int
        resource_name_filter: str | None
        pattern_type_filter: int
        principal_filter: str | None
        host_filter: str | None
        operation: int
        permission_type: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            resource_type_filter: int = ...,
            resource_name_filter: str | None = ...,
            pattern_type_filter: int = ...,
            principal_filter: str | None = ...,
            host_filter: str | None = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    filters: tuple[DeleteAclsRequest.DeleteAclsFilter, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        filters: tuple[DeleteAclsRequest.DeleteAclsFilter, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteGroupsRequest(Entity):
    groups_names: tuple[str, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        groups_names: tuple[str, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteRecordsRequest(Entity):
    class DeleteRecordsTopic(Entity):
        name: str
        partitions: tuple[DeleteRecordsRequest.DeleteRecordsPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[DeleteRecordsRequest.DeleteRecordsPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DeleteRecordsPartition(Entity):
        partition_index: int
        offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[DeleteRecordsRequest.DeleteRecordsTopic, ...]
    timeout_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[DeleteRecordsRequest.DeleteRecordsTopic, ...] = ...,
        timeout_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteShareGroupOffsetsRequest(Entity):
    class DeleteShareGroupOffsetsRequestTopic(Entity):
        topic_name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    topics: tuple[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topics: tuple[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteShareGroupStateRequest(Entity):
    class DeleteStateData(Entity):
        topic_id: bytes
        partitions: tuple[DeleteShareGroupStateRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[DeleteShareGroupStateRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    topics: tuple[DeleteShareGroupStateRequest.DeleteStateData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topics: tuple[DeleteShareGroupStateRequest.DeleteStateData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteTopicsRequest(Entity):
    class DeleteTopicState(Entity):
        name: str | None
        topic_id: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str | None = ...,
            topic_id: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[DeleteTopicsRequest.DeleteTopicState, ...]
    topic_names: tuple[str, ...]
    timeout_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[DeleteTopicsRequest.DeleteTopicState, ...] = ...,
        topic_names: tuple[str, ...] = ...,
        timeout_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeAclsRequest(Entity):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        resource_type_filter: int = ...,
        resource_name_filter: str | None = ...,
        pattern_type_filter: int = ...,
        principal_filter: str | None = ...,
        host_filter: str | None = ...,
        operation: int = ...,
        permission_type: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeClientQuotasRequest(Entity):
    class ComponentData(Entity):
        entity_type: str
        match_type: int
        match: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            entity_type: str = ...,
            match_type: int = ...,
            match: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    components: tuple[DescribeClientQuotasRequest.ComponentData, ...]
    strict: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        components: tuple[DescribeClientQuotasRequest.ComponentData, ...] = ...,
        strict: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeClusterRequest(Entity):
    include_cluster_authorized_operations: bool
    endpoint_type: int
    include_fenced_brokers: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        include_cluster_authorized_operations: bool = ...,
        endpoint_type: int = ...,
        include_fenced_brokers: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeConfigsRequest(Entity):
    class DescribeConfigsResource(Entity):
        resource_type: int
        resource_name: str
        configuration_keys: tuple[str, ...] | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            resource_type: int = ...,
            resource_name: str = ...,
            configuration_keys: tuple[str, ...] | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    resources: tuple[DescribeConfigsRequest.DescribeConfigsResource, ...]
    include_synonyms: bool
    include_documentation: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        resources: tuple[DescribeConfigsRequest.DescribeConfigsResource, ...] = ...,
        include_synonyms: bool = ...,
        include_documentation: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeDelegationTokenRequest(Entity):
    class DescribeDelegationTokenOwner(Entity):
        principal_type: str
        principal_name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            principal_type: str = ...,
            principal_name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    owners: tuple[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        owners: tuple[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeGroupsRequest(Entity):
    groups: tuple[str, ...]
    include_authorized_operations: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        groups: tuple[str, ...] = ...,
        include_authorized_operations: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeLogDirsRequest(Entity):
    class DescribableLogDirTopic(Entity):
        topic: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[DescribeLogDirsRequest.DescribableLogDirTopic, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[DescribeLogDirsRequest.DescribableLogDirTopic, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeProducersRequest(Entity):
    class TopicRequest(Entity):
        name: str
        partition_indexes: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partition_indexes: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[DescribeProducersRequest.TopicRequest, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[DescribeProducersRequest.TopicRequest, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeQuorumRequest(Entity):
    class TopicData(Entity):
        topic_name: str
        partitions: tuple[DescribeQuorumRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[DescribeQuorumRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[DescribeQuorumRequest.TopicData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[DescribeQuorumRequest.TopicData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsRequest(Entity):
    class DescribeShareGroupOffsetsRequestGroup(Entity):
        group_id: str
        topics: tuple[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic, ...] | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            group_id: str = ...,
            topics: tuple[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic, ...] | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribeShareGroupOffsetsRequestTopic(Entity):
        topic_name: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    groups: tuple[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        groups: tuple[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeTopicPartitionsRequest(Entity):
    class TopicRequest(Entity):
        name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Cursor(Entity):
        topic_name: str
        partition_index: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partition_index: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[DescribeTopicPartitionsRequest.TopicRequest, ...]
    response_partition_limit: int
    cursor: DescribeTopicPartitionsRequest.Cursor | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[DescribeTopicPartitionsRequest.TopicRequest, ...] = ...,
        response_partition_limit: int = ...,
        cursor: DescribeTopicPartitionsRequest.Cursor | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeTransactionsRequest(Entity):
    transactional_ids: tuple[str, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        transactional_ids: tuple[str, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeUserScramCredentialsRequest(Entity):
    class UserName(Entity):
        name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    users: tuple[DescribeUserScramCredentialsRequest.UserName, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        users: tuple[DescribeUserScramCredentialsRequest.UserName, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ElectLeadersRequest(Entity):
    class TopicPartitions(Entity):
        topic: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    election_type: int
    topic_partitions: tuple[ElectLeadersRequest.TopicPartitions, ...] | None
    timeout_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        election_type: int = ...,
        topic_partitions: tuple[ElectLeadersRequest.TopicPartitions, ...] | None = ...,
        timeout_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class EndQuorumEpochRequest(Entity):
    class TopicData(Entity):
        topic_name: str
        partitions: tuple[EndQuorumEpochRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[EndQuorumEpochRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        leader_id: int
        leader_epoch: int
        preferred_successors: tuple[int, ...]
        preferred_candidates: tuple[EndQuorumEpochRequest.ReplicaInfo, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            preferred_successors: tuple[int, ...] = ...,
            preferred_candidates: tuple[EndQuorumEpochRequest.ReplicaInfo, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ReplicaInfo(Entity):
        candidate_id: int
        candidate_directory_id: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            candidate_id: int = ...,
            candidate_directory_id: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class LeaderEndpoint(Entity):
        name: str
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    cluster_id: str | None
    topics: tuple[EndQuorumEpochRequest.TopicData, ...]
    leader_endpoints: tuple[EndQuorumEpochRequest.LeaderEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        cluster_id: str | None = ...,
        topics: tuple[EndQuorumEpochRequest.TopicData, ...] = ...,
        leader_endpoints: tuple[EndQuorumEpochRequest.LeaderEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class EndTxnRequest(Entity):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        transactional_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        committed: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class EnvelopeRequest(Entity):
    request_data: bytes
    request_principal: bytes | None
    client_host_address: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        request_data: bytes = ...,
        request_principal: bytes | None = ...,
        client_host_address: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ExpireDelegationTokenRequest(Entity):
    hmac: bytes
    expiry_time_period_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        hmac: bytes = ...,
        expiry_time_period_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class FetchRequest(Entity):
    class ReplicaState(Entity):
        replica_id: int
        replica_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            replica_id: int = ...,
            replica_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class FetchTopic(Entity):
        topic: str
        topic_id: bytes
        partitions: tuple[FetchRequest.FetchPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[FetchRequest.FetchPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class FetchPartition(Entity):
        partition: int
        current_leader_epoch: int
        fetch_offset: int
        last_fetched_epoch: int
        log_start_offset: int
        partition_max_bytes: int
        replica_directory_id: bytes
        high_watermark: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            current_leader_epoch: int = ...,
            fetch_offset: int = ...,
            last_fetched_epoch: int = ...,
            log_start_offset: int = ...,
            partition_max_bytes: int = ...,
            replica_directory_id: bytes = ...,
            high_watermark: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ForgottenTopic(Entity):
        topic: str
        topic_id: bytes
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    cluster_id: str | None
    replica_id: int
    replica_state: FetchRequest.ReplicaState
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: tuple[FetchRequest.FetchTopic, ...]
    forgotten_topics_data: tuple[FetchRequest.ForgottenTopic, ...]
    rack_id: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        cluster_id: str | None = ...,
        replica_id: int = ...,
        replica_state: FetchRequest.ReplicaState = ...,
        max_wait_ms: int = ...,
        min_bytes: int = ...,
        max_bytes: int = ...,
        isolation_level: int = ...,
        session_id: int = ...,
        session_epoch: int = ...,
        topics: tuple[FetchRequest.FetchTopic, ...] = ...,
        forgotten_topics_data: tuple[FetchRequest.ForgottenTopic, ...] = ...,
        rack_id: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class FetchSnapshotRequest(Entity):
    class TopicSnapshot(Entity):
        name: str
        partitions: tuple[FetchSnapshotRequest.PartitionSnapshot, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[FetchSnapshotRequest.PartitionSnapshot, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionSnapshot(Entity):
        partition: int
        current_leader_epoch: int
        snapshot_id: FetchSnapshotRequest.SnapshotId
        position: int
        replica_directory_id: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            current_leader_epoch: int = ...,
            snapshot_id: FetchSnapshotRequest.SnapshotId = ...,
            position: int = ...,
            replica_directory_id: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class SnapshotId(Entity):
        end_offset: int
        epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            end_offset: int = ...,
            epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    cluster_id: str | None
    replica_id: int
    max_bytes: int
    topics: tuple[FetchSnapshotRequest.TopicSnapshot, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        cluster_id: str | None = ...,
        replica_id: int = ...,
        max_bytes: int = ...,
        topics: tuple[FetchSnapshotRequest.TopicSnapshot, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class FindCoordinatorRequest(Entity):
    key: str
    key_type: int
    coordinator_keys: tuple[str, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        key: str = ...,
        key_type: int = ...,
        coordinator_keys: tuple[str, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class GetTelemetrySubscriptionsRequest(Entity):
    client_instance_id: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        client_instance_id: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class HeartbeatRequest(Entity):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        generation_id: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class IncrementalAlterConfigsRequest(Entity):
    class AlterConfigsResource(Entity):
        resource_type: int
        resource_name: str
        configs: tuple[IncrementalAlterConfigsRequest.AlterableConfig, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            resource_type: int = ...,
            resource_name: str = ...,
            configs: tuple[IncrementalAlterConfigsRequest.AlterableConfig, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AlterableConfig(Entity):
        name: str
        config_operation: int
        value: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            config_operation: int = ...,
            value: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    resources: tuple[IncrementalAlterConfigsRequest.AlterConfigsResource, ...]
    validate_only: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        resources: tuple[IncrementalAlterConfigsRequest.AlterConfigsResource, ...] = ...,
        validate_only: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class InitProducerIdRequest(Entity):
    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int
    producer_epoch: int
    enable2_pc: bool
    keep_prepared_txn: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        transactional_id: str | None = ...,
        transaction_timeout_ms: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        enable2_pc: bool = ...,
        keep_prepared_txn: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class InitializeShareGroupStateRequest(Entity):
    class InitializeStateData(Entity):
        topic_id: bytes
        partitions: tuple[InitializeShareGroupStateRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[InitializeShareGroupStateRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition: int
        state_epoch: int
        start_offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            state_epoch: int = ...,
            start_offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    topics: tuple[InitializeShareGroupStateRequest.InitializeStateData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topics: tuple[InitializeShareGroupStateRequest.InitializeStateData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class JoinGroupRequest(Entity):
    class JoinGroupRequestProtocol(Entity):
        name: str
        metadata: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            metadata: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: tuple[JoinGroupRequest.JoinGroupRequestProtocol, ...]
    reason: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        session_timeout_ms: int = ...,
        rebalance_timeout_ms: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        protocol_type: str = ...,
        protocols: tuple[JoinGroupRequest.JoinGroupRequestProtocol, ...] = ...,
        reason: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class LeaveGroupRequest(Entity):
    class MemberIdentity(Entity):
        member_id: str
        group_instance_id: str | None
        reason: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            reason: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    member_id: str
    members: tuple[LeaveGroupRequest.MemberIdentity, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        members: tuple[LeaveGroupRequest.MemberIdentity, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListClientMetricsResourcesRequest(Entity):
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListConfigResourcesRequest(Entity):
    resource_types: tuple[int, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        resource_types: tuple[int, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListGroupsRequest(Entity):
    states_filter: tuple[str, ...]
    types_filter: tuple[str, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        states_filter: tuple[str, ...] = ...,
        types_filter: tuple[str, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListOffsetsRequest(Entity):
    class ListOffsetsTopic(Entity):
        name: str
        partitions: tuple[ListOffsetsRequest.ListOffsetsPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[ListOffsetsRequest.ListOffsetsPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ListOffsetsPartition(Entity):
        partition_index: int
        current_leader_epoch: int
        timestamp: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            current_leader_epoch: int = ...,
            timestamp: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    replica_id: int
    isolation_level: int
    topics: tuple[ListOffsetsRequest.ListOffsetsTopic, ...]
    timeout_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        replica_id: int = ...,
        isolation_level: int = ...,
        topics: tuple[ListOffsetsRequest.ListOffsetsTopic, ...] = ...,
        timeout_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListPartitionReassignmentsRequest(Entity):
    class ListPartitionReassignmentsTopics(Entity):
        name: str
        partition_indexes: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partition_indexes: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    timeout_ms: int
    topics: tuple[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        timeout_ms: int = ...,
        topics: tuple[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListTransactionsRequest(Entity):
    state_filters: tuple[str, ...]
    producer_id_filters: tuple[int, ...]
    duration_filter: int
    transactional_id_pattern: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        state_filters: tuple[str, ...] = ...,
        producer_id_filters: tuple[int, ...] = ...,
        duration_filter: int = ...,
        transactional_id_pattern: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class MetadataRequest(Entity):
    class MetadataRequestTopic(Entity):
        topic_id: bytes
        name: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            name: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    topics: tuple[MetadataRequest.MetadataRequestTopic, ...] | None
    allow_auto_topic_creation: bool
    include_cluster_authorized_operations: bool
    include_topic_authorized_operations: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        topics: tuple[MetadataRequest.MetadataRequestTopic, ...] | None = ...,
        allow_auto_topic_creation: bool = ...,
        include_cluster_authorized_operations: bool = ...,
        include_topic_authorized_operations: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetCommitRequest(Entity):
    class OffsetCommitRequestTopic(Entity):
        name: str
        topic_id: bytes
        partitions: tuple[OffsetCommitRequest.OffsetCommitRequestPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[OffsetCommitRequest.OffsetCommitRequestPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetCommitRequestPartition(Entity):
        partition_index: int
        committed_offset: int
        committed_leader_epoch: int
        committed_metadata: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            committed_metadata: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: tuple[OffsetCommitRequest.OffsetCommitRequestTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        generation_id_or_member_epoch: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        retention_time_ms: int = ...,
        topics: tuple[OffsetCommitRequest.OffsetCommitRequestTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetDeleteRequest(Entity):
    class OffsetDeleteRequestTopic(Entity):
        name: str
        partitions: tuple[OffsetDeleteRequest.OffsetDeleteRequestPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[OffsetDeleteRequest.OffsetDeleteRequestPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetDeleteRequestPartition(Entity):
        partition_index: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    topics: tuple[OffsetDeleteRequest.OffsetDeleteRequestTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topics: tuple[OffsetDeleteRequest.OffsetDeleteRequestTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetFetchRequest(Entity):
    class OffsetFetchRequestTopic(Entity):
        name: str
        partition_indexes: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partition_indexes: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetFetchRequestGroup(Entity):
        group_id: str
        member_id: str | None
        member_epoch: int
        topics: tuple[OffsetFetchRequest.OffsetFetchRequestTopics, ...] | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            group_id: str = ...,
            member_id: str | None = ...,
            member_epoch: int = ...,
            topics: tuple[OffsetFetchRequest.OffsetFetchRequestTopics, ...] | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetFetchRequestTopics(Entity):
        name: str
        topic_id: bytes
        partition_indexes: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            topic_id: bytes = ...,
            partition_indexes: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    topics: tuple[OffsetFetchRequest.OffsetFetchRequestTopic, ...] | None
    groups: tuple[OffsetFetchRequest.OffsetFetchRequestGroup, ...]
    require_stable: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topics: tuple[OffsetFetchRequest.OffsetFetchRequestTopic, ...] | None = ...,
        groups: tuple[OffsetFetchRequest.OffsetFetchRequestGroup, ...] = ...,
        require_stable: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetForLeaderEpochRequest(Entity):
    class OffsetForLeaderTopic(Entity):
        topic: str
        partitions: tuple[OffsetForLeaderEpochRequest.OffsetForLeaderPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partitions: tuple[OffsetForLeaderEpochRequest.OffsetForLeaderPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetForLeaderPartition(Entity):
        partition: int
        current_leader_epoch: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            current_leader_epoch: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    replica_id: int
    topics: tuple[OffsetForLeaderEpochRequest.OffsetForLeaderTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        replica_id: int = ...,
        topics: tuple[OffsetForLeaderEpochRequest.OffsetForLeaderTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ProduceRequest(Entity):
    class TopicProduceData(Entity):
        name: str
        topic_id: bytes
        partition_data: tuple[ProduceRequest.PartitionProduceData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            topic_id: bytes = ...,
            partition_data: tuple[ProduceRequest.PartitionProduceData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionProduceData(Entity):
        index: int
        records: bytes | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            index: int = ...,
            records: bytes | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: tuple[ProduceRequest.TopicProduceData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        transactional_id: str | None = ...,
        acks: int = ...,
        timeout_ms: int = ...,
        topic_data: tuple[ProduceRequest.TopicProduceData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class PushTelemetryRequest(Entity):
    client_instance_id: bytes
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        client_instance_id: bytes = ...,
        subscription_id: int = ...,
        terminating: bool = ...,
        compression_type: int = ...,
        metrics: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ReadShareGroupStateRequest(Entity):
    class ReadStateData(Entity):
        topic_id: bytes
        partitions: tuple[ReadShareGroupStateRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[ReadShareGroupStateRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    topics: tuple[ReadShareGroupStateRequest.ReadStateData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topics: tuple[ReadShareGroupStateRequest.ReadStateData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ReadShareGroupStateSummaryRequest(Entity):
    class ReadStateSummaryData(Entity):
        topic_id: bytes
        partitions: tuple[ReadShareGroupStateSummaryRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[ReadShareGroupStateSummaryRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    topics: tuple[ReadShareGroupStateSummaryRequest.ReadStateSummaryData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topics: tuple[ReadShareGroupStateSummaryRequest.ReadStateSummaryData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemoveRaftVoterRequest(Entity):
    cluster_id: str | None
    voter_id: int
    voter_directory_id: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        cluster_id: str | None = ...,
        voter_id: int = ...,
        voter_directory_id: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RenewDelegationTokenRequest(Entity):
    hmac: bytes
    renew_period_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        hmac: bytes = ...,
        renew_period_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class SaslAuthenticateRequest(Entity):
    auth_bytes: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        auth_bytes: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class SaslHandshakeRequest(Entity):
    mechanism: str
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        mechanism: str = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareAcknowledgeRequest(Entity):
    class AcknowledgeTopic(Entity):
        topic_id: bytes
        partitions: tuple[ShareAcknowledgeRequest.AcknowledgePartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[ShareAcknowledgeRequest.AcknowledgePartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AcknowledgePartition(Entity):
        partition_index: int
        acknowledgement_batches: tuple[ShareAcknowledgeRequest.AcknowledgementBatch, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            acknowledgement_batches: tuple[ShareAcknowledgeRequest.AcknowledgementBatch, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AcknowledgementBatch(Entity):
        first_offset: int
        last_offset: int
        acknowledge_types: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            first_offset: int = ...,
            last_offset: int = ...,
            acknowledge_types: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    is_renew_ack: bool
    topics: tuple[ShareAcknowledgeRequest.AcknowledgeTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str | None = ...,
        member_id: str | None = ...,
        share_session_epoch: int = ...,
        is_renew_ack: bool = ...,
        topics: tuple[ShareAcknowledgeRequest.AcknowledgeTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareFetchRequest(Entity):
    class FetchTopic(Entity):
        topic_id: bytes
        partitions: tuple[ShareFetchRequest.FetchPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[ShareFetchRequest.FetchPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class FetchPartition(Entity):
        partition_index: int
        partition_max_bytes: int
        acknowledgement_batches: tuple[ShareFetchRequest.AcknowledgementBatch, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            partition_max_bytes: int = ...,
            acknowledgement_batches: tuple[ShareFetchRequest.AcknowledgementBatch, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AcknowledgementBatch(Entity):
        first_offset: int
        last_offset: int
        acknowledge_types: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            first_offset: int = ...,
            last_offset: int = ...,
            acknowledge_types: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ForgottenTopic(Entity):
        topic_id: bytes
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    share_acquire_mode: int
    is_renew_ack: bool
    topics: tuple[ShareFetchRequest.FetchTopic, ...]
    forgotten_topics_data: tuple[ShareFetchRequest.ForgottenTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str | None = ...,
        member_id: str | None = ...,
        share_session_epoch: int = ...,
        max_wait_ms: int = ...,
        min_bytes: int = ...,
        max_bytes: int = ...,
        max_records: int = ...,
        batch_size: int = ...,
        share_acquire_mode: int = ...,
        is_renew_ack: bool = ...,
        topics: tuple[ShareFetchRequest.FetchTopic, ...] = ...,
        forgotten_topics_data: tuple[ShareFetchRequest.ForgottenTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupDescribeRequest(Entity):
    group_ids: tuple[str, ...]
    include_authorized_operations: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_ids: tuple[str, ...] = ...,
        include_authorized_operations: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupHeartbeatRequest(Entity):
    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None
    subscribed_topic_names: tuple[str, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        rack_id: str | None = ...,
        subscribed_topic_names: tuple[str, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupDescribeRequest(Entity):
    group_ids: tuple[str, ...]
    include_authorized_operations: bool
    include_topology_description: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_ids: tuple[str, ...] = ...,
        include_authorized_operations: bool = ...,
        include_topology_description: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupHeartbeatRequest(Entity):
    class Topology(Entity):
        epoch: int
        subtopologies: tuple[StreamsGroupHeartbeatRequest.Subtopology, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            epoch: int = ...,
            subtopologies: tuple[StreamsGroupHeartbeatRequest.Subtopology, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Subtopology(Entity):
        subtopology_id: str
        source_topics: tuple[str, ...]
        source_topic_regex: tuple[str, ...]
        state_changelog_topics: tuple[StreamsGroupHeartbeatRequest.TopicInfo, ...]
        repartition_sink_topics: tuple[str, ...]
        repartition_source_topics: tuple[StreamsGroupHeartbeatRequest.TopicInfo, ...]
        copartition_groups: tuple[StreamsGroupHeartbeatRequest.CopartitionGroup, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            source_topics: tuple[str, ...] = ...,
            source_topic_regex: tuple[str, ...] = ...,
            state_changelog_topics: tuple[StreamsGroupHeartbeatRequest.TopicInfo, ...] = ...,
            repartition_sink_topics: tuple[str, ...] = ...,
            repartition_source_topics: tuple[StreamsGroupHeartbeatRequest.TopicInfo, ...] = ...,
            copartition_groups: tuple[StreamsGroupHeartbeatRequest.CopartitionGroup, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicInfo(Entity):
        name: str
        partitions: int
        replication_factor: int
        topic_configs: tuple[StreamsGroupHeartbeatRequest.KeyValue, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: int = ...,
            replication_factor: int = ...,
            topic_configs: tuple[StreamsGroupHeartbeatRequest.KeyValue, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class CopartitionGroup(Entity):
        source_topics: tuple[int, ...]
        source_topic_regex: tuple[int, ...]
        repartition_source_topics: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            source_topics: tuple[int, ...] = ...,
            source_topic_regex: tuple[int, ...] = ...,
            repartition_source_topics: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TaskIds(Entity):
        subtopology_id: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Endpoint(Entity):
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class KeyValue(Entity):
        key: str
        value: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            key: str = ...,
            value: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TaskOffset(Entity):
        subtopology_id: str
        partition: int
        offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            partition: int = ...,
            offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_information_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topology: StreamsGroupHeartbeatRequest.Topology | None
    active_tasks: tuple[StreamsGroupHeartbeatRequest.TaskIds, ...] | None
    standby_tasks: tuple[StreamsGroupHeartbeatRequest.TaskIds, ...] | None
    warmup_tasks: tuple[StreamsGroupHeartbeatRequest.TaskIds, ...] | None
    process_id: str | None
    user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None
    client_tags: tuple[StreamsGroupHeartbeatRequest.KeyValue, ...] | None
    task_offsets: tuple[StreamsGroupHeartbeatRequest.TaskOffset, ...] | None
    task_end_offsets: tuple[StreamsGroupHeartbeatRequest.TaskOffset, ...] | None
    shutdown_application: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        endpoint_information_epoch: int = ...,
        instance_id: str | None = ...,
        rack_id: str | None = ...,
        rebalance_timeout_ms: int = ...,
        topology: StreamsGroupHeartbeatRequest.Topology | None = ...,
        active_tasks: tuple[StreamsGroupHeartbeatRequest.TaskIds, ...] | None = ...,
        standby_tasks: tuple[StreamsGroupHeartbeatRequest.TaskIds, ...] | None = ...,
        warmup_tasks: tuple[StreamsGroupHeartbeatRequest.TaskIds, ...] | None = ...,
        process_id: str | None = ...,
        user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None = ...,
        client_tags: tuple[StreamsGroupHeartbeatRequest.KeyValue, ...] | None = ...,
        task_offsets: tuple[StreamsGroupHeartbeatRequest.TaskOffset, ...] | None = ...,
        task_end_offsets: tuple[StreamsGroupHeartbeatRequest.TaskOffset, ...] | None = ...,
        shutdown_application: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupTopologyDescriptionUpdateRequest(Entity):
    class TopologyDescription(Entity):
        subtopologies: tuple[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology, ...]
        global_stores: tuple[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopologies: tuple[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology, ...] = ...,
            global_stores: tuple[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopologyDescriptionSubtopology(Entity):
        subtopology_id: str
        nodes: tuple[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            nodes: tuple[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopologyDescriptionGlobalStore(Entity):
        source: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode
        processor: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            source: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = ...,
            processor: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopologyDescriptionNode(Entity):
        name: str
        node_type: int
        source_topics: tuple[str, ...]
        sink_topic: str | None
        stores: tuple[str, ...]
        successors: tuple[str, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            node_type: int = ...,
            source_topics: tuple[str, ...] = ...,
            sink_topic: str | None = ...,
            stores: tuple[str, ...] = ...,
            successors: tuple[str, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    member_id: str
    topology_epoch: int
    topology_description: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        member_id: str = ...,
        topology_epoch: int = ...,
        topology_description: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class SyncGroupRequest(Entity):
    class SyncGroupRequestAssignment(Entity):
        member_id: str
        assignment: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            member_id: str = ...,
            assignment: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: tuple[SyncGroupRequest.SyncGroupRequestAssignment, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        generation_id: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        assignments: tuple[SyncGroupRequest.SyncGroupRequestAssignment, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class TxnOffsetCommitRequest(Entity):
    class TxnOffsetCommitRequestTopic(Entity):
        name: str
        topic_id: bytes
        partitions: tuple[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TxnOffsetCommitRequestPartition(Entity):
        partition_index: int
        committed_offset: int
        committed_leader_epoch: int
        committed_metadata: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            committed_metadata: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    topics: tuple[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        transactional_id: str = ...,
        group_id: str = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        generation_id_or_member_epoch: int = ...,
        member_id: str = ...,
        group_instance_id: str | None = ...,
        topics: tuple[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UnregisterBrokerRequest(Entity):
    broker_id: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        broker_id: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UnregisterControllerRequest(Entity):
    controller_id: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        controller_id: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UpdateFeaturesRequest(Entity):
    class FeatureUpdateKey(Entity):
        feature: str
        max_version_level: int
        allow_downgrade: bool
        upgrade_type: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            feature: str = ...,
            max_version_level: int = ...,
            allow_downgrade: bool = ...,
            upgrade_type: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    timeout_ms: int
    feature_updates: tuple[UpdateFeaturesRequest.FeatureUpdateKey, ...]
    validate_only: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        timeout_ms: int = ...,
        feature_updates: tuple[UpdateFeaturesRequest.FeatureUpdateKey, ...] = ...,
        validate_only: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UpdateRaftVoterRequest(Entity):
    class Listener(Entity):
        name: str
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class KRaftVersionFeature(Entity):
        min_supported_version: int
        max_supported_version: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            min_supported_version: int = ...,
            max_supported_version: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    cluster_id: str | None
    current_leader_epoch: int
    voter_id: int
    voter_directory_id: bytes
    listeners: tuple[UpdateRaftVoterRequest.Listener, ...]
    k_raft_version_feature: UpdateRaftVoterRequest.KRaftVersionFeature
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        cluster_id: str | None = ...,
        current_leader_epoch: int = ...,
        voter_id: int = ...,
        voter_directory_id: bytes = ...,
        listeners: tuple[UpdateRaftVoterRequest.Listener, ...] = ...,
        k_raft_version_feature: UpdateRaftVoterRequest.KRaftVersionFeature = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class VoteRequest(Entity):
    class TopicData(Entity):
        topic_name: str
        partitions: tuple[VoteRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[VoteRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        replica_epoch: int
        replica_id: int
        replica_directory_id: bytes
        voter_directory_id: bytes
        last_offset_epoch: int
        last_offset: int
        pre_vote: bool
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            replica_epoch: int = ...,
            replica_id: int = ...,
            replica_directory_id: bytes = ...,
            voter_directory_id: bytes = ...,
            last_offset_epoch: int = ...,
            last_offset: int = ...,
            pre_vote: bool = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    cluster_id: str | None
    voter_id: int
    topics: tuple[VoteRequest.TopicData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        cluster_id: str | None = ...,
        voter_id: int = ...,
        topics: tuple[VoteRequest.TopicData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class WriteShareGroupStateRequest(Entity):
    class WriteStateData(Entity):
        topic_id: bytes
        partitions: tuple[WriteShareGroupStateRequest.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[WriteShareGroupStateRequest.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition: int
        state_epoch: int
        leader_epoch: int
        start_offset: int
        delivery_complete_count: int
        state_batches: tuple[WriteShareGroupStateRequest.StateBatch, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            state_epoch: int = ...,
            leader_epoch: int = ...,
            start_offset: int = ...,
            delivery_complete_count: int = ...,
            state_batches: tuple[WriteShareGroupStateRequest.StateBatch, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class StateBatch(Entity):
        first_offset: int
        last_offset: int
        delivery_state: int
        delivery_count: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_state: int = ...,
            delivery_count: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    group_id: str
    topics: tuple[WriteShareGroupStateRequest.WriteStateData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        group_id: str = ...,
        topics: tuple[WriteShareGroupStateRequest.WriteStateData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class WriteTxnMarkersRequest(Entity):
    class WritableTxnMarker(Entity):
        producer_id: int
        producer_epoch: int
        transaction_result: bool
        topics: tuple[WriteTxnMarkersRequest.WritableTxnMarkerTopic, ...]
        coordinator_epoch: int
        transaction_version: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            producer_id: int = ...,
            producer_epoch: int = ...,
            transaction_result: bool = ...,
            topics: tuple[WriteTxnMarkersRequest.WritableTxnMarkerTopic, ...] = ...,
            coordinator_epoch: int = ...,
            transaction_version: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class WritableTxnMarkerTopic(Entity):
        name: str
        partition_indexes: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partition_indexes: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    markers: tuple[WriteTxnMarkersRequest.WritableTxnMarker, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        markers: tuple[WriteTxnMarkersRequest.WritableTxnMarker, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AddOffsetsToTxnResponse(Entity):
    throttle_time_ms: int
    error_code: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AddPartitionsToTxnResponse(Entity):
    class AddPartitionsToTxnResult(Entity):
        transactional_id: str
        topic_results: tuple[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            transactional_id: str = ...,
            topic_results: tuple[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AddPartitionsToTxnTopicResult(Entity):
        name: str
        results_by_partition: tuple[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            results_by_partition: tuple[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AddPartitionsToTxnPartitionResult(Entity):
        partition_index: int
        partition_error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            partition_error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    results_by_transaction: tuple[AddPartitionsToTxnResponse.AddPartitionsToTxnResult, ...]
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        results_by_transaction: tuple[AddPartitionsToTxnResponse.AddPartitionsToTxnResult, ...] = ...,
        results_by_topic_v3_and_below: tuple[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AddRaftVoterResponse(Entity):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AllocateProducerIdsResponse(Entity):
    throttle_time_ms: int
    error_code: int
    producer_id_start: int
    producer_id_len: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        producer_id_start: int = ...,
        producer_id_len: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterClientQuotasResponse(Entity):
    class EntryData(Entity):
        error_code: int
        error_message: str | None
        entity: tuple[AlterClientQuotasResponse.EntityData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            entity: tuple[AlterClientQuotasResponse.EntityData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class EntityData(Entity):
        entity_type: str
        entity_name: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            entity_type: str = ...,
            entity_name: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    entries: tuple[AlterClientQuotasResponse.EntryData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        entries: tuple[AlterClientQuotasResponse.EntryData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterConfigsResponse(Entity):
    class AlterConfigsResourceResponse(Entity):
        error_code: int
        error_message: str | None
        resource_type: int
        resource_name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            resource_type: int = ...,
            resource_name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    responses: tuple[AlterConfigsResponse.AlterConfigsResourceResponse, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        responses: tuple[AlterConfigsResponse.AlterConfigsResourceResponse, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterPartitionReassignmentsResponse(Entity):
    class ReassignableTopicResponse(Entity):
        name: str
        partitions: tuple[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ReassignablePartitionResponse(Entity):
        partition_index: int
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    allow_replication_factor_change: bool
    error_code: int
    error_message: str | None
    responses: tuple[AlterPartitionReassignmentsResponse.ReassignableTopicResponse, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        allow_replication_factor_change: bool = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: tuple[AlterPartitionReassignmentsResponse.ReassignableTopicResponse, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterPartitionResponse(Entity):
    class TopicData(Entity):
        topic_id: bytes
        partitions: tuple[AlterPartitionResponse.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[AlterPartitionResponse.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        error_code: int
        leader_id: int
        leader_epoch: int
        isr: tuple[int, ...]
        leader_recovery_state: int
        partition_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            isr: tuple[int, ...] = ...,
            leader_recovery_state: int = ...,
            partition_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    topics: tuple[AlterPartitionResponse.TopicData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        topics: tuple[AlterPartitionResponse.TopicData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterReplicaLogDirsResponse(Entity):
    class AlterReplicaLogDirTopicResult(Entity):
        topic_name: str
        partitions: tuple[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AlterReplicaLogDirPartitionResult(Entity):
        partition_index: int
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    results: tuple[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        results: tuple[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterShareGroupOffsetsResponse(Entity):
    class AlterShareGroupOffsetsResponseTopic(Entity):
        topic_name: str
        topic_id: bytes
        partitions: tuple[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AlterShareGroupOffsetsResponsePartition(Entity):
        partition_index: int
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: tuple[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: tuple[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AlterUserScramCredentialsResponse(Entity):
    class AlterUserScramCredentialsResult(Entity):
        user: str
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            user: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    results: tuple[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        results: tuple[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ApiVersionsResponse(Entity):
    class ApiVersion(Entity):
        api_key: int
        min_version: int
        max_version: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            api_key: int = ...,
            min_version: int = ...,
            max_version: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class SupportedFeatureKey(Entity):
        name: str
        min_version: int
        max_version: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            min_version: int = ...,
            max_version: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class FinalizedFeatureKey(Entity):
        name: str
        max_version_level: int
        min_version_level: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            max_version_level: int = ...,
            min_version_level: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    error_code: int
    api_keys: tuple[ApiVersionsResponse.ApiVersion, ...]
    throttle_time_ms: int
    supported_features: tuple[ApiVersionsResponse.SupportedFeatureKey, ...]
    finalized_features_epoch: int
    finalized_features: tuple[ApiVersionsResponse.FinalizedFeatureKey, ...]
    zk_migration_ready: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        api_keys: tuple[ApiVersionsResponse.ApiVersion, ...] = ...,
        throttle_time_ms: int = ...,
        supported_features: tuple[ApiVersionsResponse.SupportedFeatureKey, ...] = ...,
        finalized_features_epoch: int = ...,
        finalized_features: tuple[ApiVersionsResponse.FinalizedFeatureKey, ...] = ...,
        zk_migration_ready: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class AssignReplicasToDirsResponse(Entity):
    class DirectoryData(Entity):
        id: bytes
        topics: tuple[AssignReplicasToDirsResponse.TopicData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            id: bytes = ...,
            topics: tuple[AssignReplicasToDirsResponse.TopicData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicData(Entity):
        topic_id: bytes
        partitions: tuple[AssignReplicasToDirsResponse.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[AssignReplicasToDirsResponse.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    directories: tuple[AssignReplicasToDirsResponse.DirectoryData, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        directories: tuple[AssignReplicasToDirsResponse.DirectoryData, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class BeginQuorumEpochResponse(Entity):
    class TopicData(Entity):
        topic_name: str
        partitions: tuple[BeginQuorumEpochResponse.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[BeginQuorumEpochResponse.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        error_code: int
        leader_id: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class NodeEndpoint(Entity):
        node_id: int
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    error_code: int
    topics: tuple[BeginQuorumEpochResponse.TopicData, ...]
    node_endpoints: tuple[BeginQuorumEpochResponse.NodeEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        topics: tuple[BeginQuorumEpochResponse.TopicData, ...] = ...,
        node_endpoints: tuple[BeginQuorumEpochResponse.NodeEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class BrokerHeartbeatResponse(Entity):
    throttle_time_ms: int
    error_code: int
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        is_caught_up: bool = ...,
        is_fenced: bool = ...,
        should_shut_down: bool = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class BrokerRegistrationResponse(Entity):
    throttle_time_ms: int
    error_code: int
    broker_epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        broker_epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupDescribeResponse(Entity):
    class DescribedGroup(Entity):
        error_code: int
        error_message: str | None
        group_id: str
        group_state: str
        group_epoch: int
        assignment_epoch: int
        assignor_name: str
        members: tuple[ConsumerGroupDescribeResponse.Member, ...]
        authorized_operations: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            group_id: str = ...,
            group_state: str = ...,
            group_epoch: int = ...,
            assignment_epoch: int = ...,
            assignor_name: str = ...,
            members: tuple[ConsumerGroupDescribeResponse.Member, ...] = ...,
            authorized_operations: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Member(Entity):
        member_id: str
        instance_id: str | None
        rack_id: str | None
        member_epoch: int
        client_id: str
        client_host: str
        subscribed_topic_names: tuple[str, ...]
        subscribed_topic_regex: str | None
        assignment: ConsumerGroupDescribeResponse.Assignment
        target_assignment: ConsumerGroupDescribeResponse.Assignment
        member_type: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            member_id: str = ...,
            instance_id: str | None = ...,
            rack_id: str | None = ...,
            member_epoch: int = ...,
            client_id: str = ...,
            client_host: str = ...,
            subscribed_topic_names: tuple[str, ...] = ...,
            subscribed_topic_regex: str | None = ...,
            assignment: ConsumerGroupDescribeResponse.Assignment = ...,
            target_assignment: ConsumerGroupDescribeResponse.Assignment = ...,
            member_type: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Assignment(Entity):
        topic_partitions: tuple[ConsumerGroupDescribeResponse.TopicPartitions, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_partitions: tuple[ConsumerGroupDescribeResponse.TopicPartitions, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicPartitions(Entity):
        topic_id: bytes
        topic_name: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            topic_name: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    groups: tuple[ConsumerGroupDescribeResponse.DescribedGroup, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        groups: tuple[ConsumerGroupDescribeResponse.DescribedGroup, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ConsumerGroupHeartbeatResponse(Entity):
    class Assignment(Entity):
        topic_partitions: tuple[ConsumerGroupHeartbeatResponse.TopicPartitions, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_partitions: tuple[ConsumerGroupHeartbeatResponse.TopicPartitions, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicPartitions(Entity):
        topic_id: bytes
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: ConsumerGroupHeartbeatResponse.Assignment | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str | None = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        assignment: ConsumerGroupHeartbeatResponse.Assignment | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ControllerRegistrationResponse(Entity):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class CreateAclsResponse(Entity):
    class AclCreationResult(Entity):
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    results: tuple[CreateAclsResponse.AclCreationResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        results: tuple[CreateAclsResponse.AclCreationResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class CreateDelegationTokenResponse(Entity):
    error_code: int
    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    token_id: str
    hmac: bytes
    throttle_time_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        principal_type: str = ...,
        principal_name: str = ...,
        token_requester_principal_type: str = ...,
        token_requester_principal_name: str = ...,
        issue_timestamp_ms: int = ...,
        expiry_timestamp_ms: int = ...,
        max_timestamp_ms: int = ...,
        token_id: str = ...,
        hmac: bytes = ...,
        throttle_time_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class CreatePartitionsResponse(Entity):
    class CreatePartitionsTopicResult(Entity):
        name: str
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    results: tuple[CreatePartitionsResponse.CreatePartitionsTopicResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        results: tuple[CreatePartitionsResponse.CreatePartitionsTopicResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class CreateTopicsResponse(Entity):
    class CreatableTopicResult(Entity):
        name: str
        topic_id: bytes
        error_code: int
        error_message: str | None
        topic_config_error_code: int
        num_partitions: int
        replication_factor: int
        configs: tuple[CreateTopicsResponse.CreatableTopicConfigs, ...] | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            topic_id: bytes = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            topic_config_error_code: int = ...,
            num_partitions: int = ...,
            replication_factor: int = ...,
            configs: tuple[CreateTopicsResponse.CreatableTopicConfigs, ...] | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class CreatableTopicConfigs(Entity):
        name: str
        value: str | None
        read_only: bool
        config_source: int
        is_sensitive: bool
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            value: str | None = ...,
            read_only: bool = ...,
            config_source: int = ...,
            is_sensitive: bool = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: tuple[CreateTopicsResponse.CreatableTopicResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        topics: tuple[CreateTopicsResponse.CreatableTopicResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteAclsResponse(Entity):
    class DeleteAclsFilterResult(Entity):
        error_code: int
        error_message: str | None
        matching_acls: tuple[DeleteAclsResponse.DeleteAclsMatchingAcl, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            matching_acls: tuple[DeleteAclsResponse.DeleteAclsMatchingAcl, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DeleteAclsMatchingAcl(Entity):
        error_code: int
        error_message: str | None
        resource_type: int
        resource_name: str
        pattern_type: int
        principal: str
        host: str
        operation: int
        permission_type: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            resource_type: int = ...,
            resource_name: str = ...,
            pattern_type: int = ...,
            principal: str = ...,
            host: str = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    filter_results: tuple[DeleteAclsResponse.DeleteAclsFilterResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        filter_results: tuple[DeleteAclsResponse.DeleteAclsFilterResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteGroupsResponse(Entity):
    class DeletableGroupResult(Entity):
        group_id: str
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            group_id: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    results: tuple[DeleteGroupsResponse.DeletableGroupResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        results: tuple[DeleteGroupsResponse.DeletableGroupResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteRecordsResponse(Entity):
    class DeleteRecordsTopicResult(Entity):
        name: str
        partitions: tuple[DeleteRecordsResponse.DeleteRecordsPartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[DeleteRecordsResponse.DeleteRecordsPartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DeleteRecordsPartitionResult(Entity):
        partition_index: int
        low_watermark: int
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            low_watermark: int = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: tuple[DeleteRecordsResponse.DeleteRecordsTopicResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        topics: tuple[DeleteRecordsResponse.DeleteRecordsTopicResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteShareGroupOffsetsResponse(Entity):
    class DeleteShareGroupOffsetsResponseTopic(Entity):
        topic_name: str
        topic_id: bytes
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            topic_id: bytes = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: tuple[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        responses: tuple[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteShareGroupStateResponse(Entity):
    class DeleteStateResult(Entity):
        topic_id: bytes
        partitions: tuple[DeleteShareGroupStateResponse.PartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[DeleteShareGroupStateResponse.PartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionResult(Entity):
        partition: int
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    results: tuple[DeleteShareGroupStateResponse.DeleteStateResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        results: tuple[DeleteShareGroupStateResponse.DeleteStateResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DeleteTopicsResponse(Entity):
    class DeletableTopicResult(Entity):
        name: str | None
        topic_id: bytes
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str | None = ...,
            topic_id: bytes = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    responses: tuple[DeleteTopicsResponse.DeletableTopicResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        responses: tuple[DeleteTopicsResponse.DeletableTopicResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeAclsResponse(Entity):
    class DescribeAclsResource(Entity):
        resource_type: int
        resource_name: str
        pattern_type: int
        acls: tuple[DescribeAclsResponse.AclDescription, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            resource_type: int = ...,
            resource_name: str = ...,
            pattern_type: int = ...,
            acls: tuple[DescribeAclsResponse.AclDescription, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AclDescription(Entity):
        principal: str
        host: str
        operation: int
        permission_type: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            principal: str = ...,
            host: str = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    resources: tuple[DescribeAclsResponse.DescribeAclsResource, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        resources: tuple[DescribeAclsResponse.DescribeAclsResource, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeClientQuotasResponse(Entity):
    class EntryData(Entity):
        entity: tuple[DescribeClientQuotasResponse.EntityData, ...]
        values: tuple[DescribeClientQuotasResponse.ValueData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            entity: tuple[DescribeClientQuotasResponse.EntityData, ...] = ...,
            values: tuple[DescribeClientQuotasResponse.ValueData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class EntityData(Entity):
        entity_type: str
        entity_name: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            entity_type: str = ...,
            entity_name: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ValueData(Entity):
        key: str
        value: float
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            key: str = ...,
            value: float = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: tuple[DescribeClientQuotasResponse.EntryData, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        entries: tuple[DescribeClientQuotasResponse.EntryData, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeClusterResponse(Entity):
    class DescribeClusterBroker(Entity):
        broker_id: int
        host: str
        port: int
        rack: str | None
        is_fenced: bool
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            broker_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            is_fenced: bool = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    endpoint_type: int
    cluster_id: str
    controller_id: int
    brokers: tuple[DescribeClusterResponse.DescribeClusterBroker, ...]
    cluster_authorized_operations: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        endpoint_type: int = ...,
        cluster_id: str = ...,
        controller_id: int = ...,
        brokers: tuple[DescribeClusterResponse.DescribeClusterBroker, ...] = ...,
        cluster_authorized_operations: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeConfigsResponse(Entity):
    class DescribeConfigsResult(Entity):
        error_code: int
        error_message: str | None
        resource_type: int
        resource_name: str
        configs: tuple[DescribeConfigsResponse.DescribeConfigsResourceResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            resource_type: int = ...,
            resource_name: str = ...,
            configs: tuple[DescribeConfigsResponse.DescribeConfigsResourceResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribeConfigsResourceResult(Entity):
        name: str
        value: str | None
        read_only: bool
        config_source: int
        is_sensitive: bool
        synonyms: tuple[DescribeConfigsResponse.DescribeConfigsSynonym, ...]
        config_type: int
        documentation: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            value: str | None = ...,
            read_only: bool = ...,
            config_source: int = ...,
            is_sensitive: bool = ...,
            synonyms: tuple[DescribeConfigsResponse.DescribeConfigsSynonym, ...] = ...,
            config_type: int = ...,
            documentation: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribeConfigsSynonym(Entity):
        name: str
        value: str | None
        source: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            value: str | None = ...,
            source: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    results: tuple[DescribeConfigsResponse.DescribeConfigsResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        results: tuple[DescribeConfigsResponse.DescribeConfigsResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeDelegationTokenResponse(Entity):
    class DescribedDelegationToken(Entity):
        principal_type: str
        principal_name: str
        token_requester_principal_type: str
        token_requester_principal_name: str
        issue_timestamp: int
        expiry_timestamp: int
        max_timestamp: int
        token_id: str
        hmac: bytes
        renewers: tuple[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            principal_type: str = ...,
            principal_name: str = ...,
            token_requester_principal_type: str = ...,
            token_requester_principal_name: str = ...,
            issue_timestamp: int = ...,
            expiry_timestamp: int = ...,
            max_timestamp: int = ...,
            token_id: str = ...,
            hmac: bytes = ...,
            renewers: tuple[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribedDelegationTokenRenewer(Entity):
        principal_type: str
        principal_name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            principal_type: str = ...,
            principal_name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    error_code: int
    tokens: tuple[DescribeDelegationTokenResponse.DescribedDelegationToken, ...]
    throttle_time_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        tokens: tuple[DescribeDelegationTokenResponse.DescribedDelegationToken, ...] = ...,
        throttle_time_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeGroupsResponse(Entity):
    class DescribedGroup(Entity):
        error_code: int
        error_message: str | None
        group_id: str
        group_state: str
        protocol_type: str
        protocol_data: str
        members: tuple[DescribeGroupsResponse.DescribedGroupMember, ...]
        authorized_operations: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            group_id: str = ...,
            group_state: str = ...,
            protocol_type: str = ...,
            protocol_data: str = ...,
            members: tuple[DescribeGroupsResponse.DescribedGroupMember, ...] = ...,
            authorized_operations: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribedGroupMember(Entity):
        member_id: str
        group_instance_id: str | None
        client_id: str
        client_host: str
        member_metadata: bytes
        member_assignment: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            client_id: str = ...,
            client_host: str = ...,
            member_metadata: bytes = ...,
            member_assignment: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    groups: tuple[DescribeGroupsResponse.DescribedGroup, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        groups: tuple[DescribeGroupsResponse.DescribedGroup, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeLogDirsResponse(Entity):
    class DescribeLogDirsResult(Entity):
        error_code: int
        log_dir: str
        topics: tuple[DescribeLogDirsResponse.DescribeLogDirsTopic, ...]
        total_bytes: int
        usable_bytes: int
        is_cordoned: bool
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            log_dir: str = ...,
            topics: tuple[DescribeLogDirsResponse.DescribeLogDirsTopic, ...] = ...,
            total_bytes: int = ...,
            usable_bytes: int = ...,
            is_cordoned: bool = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribeLogDirsTopic(Entity):
        name: str
        partitions: tuple[DescribeLogDirsResponse.DescribeLogDirsPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[DescribeLogDirsResponse.DescribeLogDirsPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribeLogDirsPartition(Entity):
        partition_index: int
        partition_size: int
        offset_lag: int
        is_future_key: bool
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            partition_size: int = ...,
            offset_lag: int = ...,
            is_future_key: bool = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    results: tuple[DescribeLogDirsResponse.DescribeLogDirsResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        results: tuple[DescribeLogDirsResponse.DescribeLogDirsResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeProducersResponse(Entity):
    class TopicResponse(Entity):
        name: str
        partitions: tuple[DescribeProducersResponse.PartitionResponse, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[DescribeProducersResponse.PartitionResponse, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionResponse(Entity):
        partition_index: int
        error_code: int
        error_message: str | None
        active_producers: tuple[DescribeProducersResponse.ProducerState, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            active_producers: tuple[DescribeProducersResponse.ProducerState, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ProducerState(Entity):
        producer_id: int
        producer_epoch: int
        last_sequence: int
        last_timestamp: int
        coordinator_epoch: int
        current_txn_start_offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            producer_id: int = ...,
            producer_epoch: int = ...,
            last_sequence: int = ...,
            last_timestamp: int = ...,
            coordinator_epoch: int = ...,
            current_txn_start_offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: tuple[DescribeProducersResponse.TopicResponse, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        topics: tuple[DescribeProducersResponse.TopicResponse, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeQuorumResponse(Entity):
    class TopicData(Entity):
        topic_name: str
        partitions: tuple[DescribeQuorumResponse.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[DescribeQuorumResponse.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        error_code: int
        error_message: str | None
        leader_id: int
        leader_epoch: int
        high_watermark: int
        current_voters: tuple[DescribeQuorumResponse.ReplicaState, ...]
        observers: tuple[DescribeQuorumResponse.ReplicaState, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            high_watermark: int = ...,
            current_voters: tuple[DescribeQuorumResponse.ReplicaState, ...] = ...,
            observers: tuple[DescribeQuorumResponse.ReplicaState, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ReplicaState(Entity):
        replica_id: int
        replica_directory_id: bytes
        log_end_offset: int
        last_fetch_timestamp: int
        last_caught_up_timestamp: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            replica_id: int = ...,
            replica_directory_id: bytes = ...,
            log_end_offset: int = ...,
            last_fetch_timestamp: int = ...,
            last_caught_up_timestamp: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Node(Entity):
        node_id: int
        listeners: tuple[DescribeQuorumResponse.Listener, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            listeners: tuple[DescribeQuorumResponse.Listener, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Listener(Entity):
        name: str
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    error_code: int
    error_message: str | None
    topics: tuple[DescribeQuorumResponse.TopicData, ...]
    nodes: tuple[DescribeQuorumResponse.Node, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        error_message: str | None = ...,
        topics: tuple[DescribeQuorumResponse.TopicData, ...] = ...,
        nodes: tuple[DescribeQuorumResponse.Node, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeShareGroupOffsetsResponse(Entity):
    class DescribeShareGroupOffsetsResponseGroup(Entity):
        group_id: str
        topics: tuple[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic, ...]
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            group_id: str = ...,
            topics: tuple[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic, ...] = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribeShareGroupOffsetsResponseTopic(Entity):
        topic_name: str
        topic_id: bytes
        partitions: tuple[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribeShareGroupOffsetsResponsePartition(Entity):
        partition_index: int
        start_offset: int
        leader_epoch: int
        lag: int
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            start_offset: int = ...,
            leader_epoch: int = ...,
            lag: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    groups: tuple[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        groups: tuple[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeTopicPartitionsResponse(Entity):
    class DescribeTopicPartitionsResponseTopic(Entity):
        error_code: int
        name: str | None
        topic_id: bytes
        is_internal: bool
        partitions: tuple[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition, ...]
        topic_authorized_operations: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            name: str | None = ...,
            topic_id: bytes = ...,
            is_internal: bool = ...,
            partitions: tuple[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition, ...] = ...,
            topic_authorized_operations: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class DescribeTopicPartitionsResponsePartition(Entity):
        error_code: int
        partition_index: int
        leader_id: int
        leader_epoch: int
        replica_nodes: tuple[int, ...]
        isr_nodes: tuple[int, ...]
        eligible_leader_replicas: tuple[int, ...] | None
        last_known_elr: tuple[int, ...] | None
        offline_replicas: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            partition_index: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            replica_nodes: tuple[int, ...] = ...,
            isr_nodes: tuple[int, ...] = ...,
            eligible_leader_replicas: tuple[int, ...] | None = ...,
            last_known_elr: tuple[int, ...] | None = ...,
            offline_replicas: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Cursor(Entity):
        topic_name: str
        partition_index: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partition_index: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: tuple[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic, ...]
    next_cursor: DescribeTopicPartitionsResponse.Cursor | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        topics: tuple[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic, ...] = ...,
        next_cursor: DescribeTopicPartitionsResponse.Cursor | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeTransactionsResponse(Entity):
    class TransactionState(Entity):
        error_code: int
        transactional_id: str
        transaction_state: str
        transaction_timeout_ms: int
        transaction_start_time_ms: int
        producer_id: int
        producer_epoch: int
        topics: tuple[DescribeTransactionsResponse.TopicData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            transactional_id: str = ...,
            transaction_state: str = ...,
            transaction_timeout_ms: int = ...,
            transaction_start_time_ms: int = ...,
            producer_id: int = ...,
            producer_epoch: int = ...,
            topics: tuple[DescribeTransactionsResponse.TopicData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicData(Entity):
        topic: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    transaction_states: tuple[DescribeTransactionsResponse.TransactionState, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        transaction_states: tuple[DescribeTransactionsResponse.TransactionState, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class DescribeUserScramCredentialsResponse(Entity):
    class DescribeUserScramCredentialsResult(Entity):
        user: str
        error_code: int
        error_message: str | None
        credential_infos: tuple[DescribeUserScramCredentialsResponse.CredentialInfo, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            user: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            credential_infos: tuple[DescribeUserScramCredentialsResponse.CredentialInfo, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class CredentialInfo(Entity):
        mechanism: int
        iterations: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            mechanism: int = ...,
            iterations: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: tuple[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: tuple[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ElectLeadersResponse(Entity):
    class ReplicaElectionResult(Entity):
        topic: str
        partition_result: tuple[ElectLeadersResponse.PartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partition_result: tuple[ElectLeadersResponse.PartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionResult(Entity):
        partition_id: int
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_id: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    replica_election_results: tuple[ElectLeadersResponse.ReplicaElectionResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        replica_election_results: tuple[ElectLeadersResponse.ReplicaElectionResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class EndQuorumEpochResponse(Entity):
    class TopicData(Entity):
        topic_name: str
        partitions: tuple[EndQuorumEpochResponse.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[EndQuorumEpochResponse.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        error_code: int
        leader_id: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class NodeEndpoint(Entity):
        node_id: int
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    error_code: int
    topics: tuple[EndQuorumEpochResponse.TopicData, ...]
    node_endpoints: tuple[EndQuorumEpochResponse.NodeEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        topics: tuple[EndQuorumEpochResponse.TopicData, ...] = ...,
        node_endpoints: tuple[EndQuorumEpochResponse.NodeEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class EndTxnResponse(Entity):
    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class EnvelopeResponse(Entity):
    response_data: bytes | None
    error_code: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        response_data: bytes | None = ...,
        error_code: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ExpireDelegationTokenResponse(Entity):
    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        expiry_timestamp_ms: int = ...,
        throttle_time_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class FetchResponse(Entity):
    class FetchableTopicResponse(Entity):
        topic: str
        topic_id: bytes
        partitions: tuple[FetchResponse.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[FetchResponse.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        error_code: int
        high_watermark: int
        last_stable_offset: int
        log_start_offset: int
        diverging_epoch: FetchResponse.EpochEndOffset
        current_leader: FetchResponse.LeaderIdAndEpoch
        snapshot_id: FetchResponse.SnapshotId
        aborted_transactions: tuple[FetchResponse.AbortedTransaction, ...] | None
        preferred_read_replica: int
        records: bytes | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            high_watermark: int = ...,
            last_stable_offset: int = ...,
            log_start_offset: int = ...,
            diverging_epoch: FetchResponse.EpochEndOffset = ...,
            current_leader: FetchResponse.LeaderIdAndEpoch = ...,
            snapshot_id: FetchResponse.SnapshotId = ...,
            aborted_transactions: tuple[FetchResponse.AbortedTransaction, ...] | None = ...,
            preferred_read_replica: int = ...,
            records: bytes | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class EpochEndOffset(Entity):
        epoch: int
        end_offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            epoch: int = ...,
            end_offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class LeaderIdAndEpoch(Entity):
        leader_id: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class SnapshotId(Entity):
        end_offset: int
        epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            end_offset: int = ...,
            epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AbortedTransaction(Entity):
        producer_id: int
        first_offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            producer_id: int = ...,
            first_offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class NodeEndpoint(Entity):
        node_id: int
        host: str
        port: int
        rack: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    session_id: int
    responses: tuple[FetchResponse.FetchableTopicResponse, ...]
    node_endpoints: tuple[FetchResponse.NodeEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        session_id: int = ...,
        responses: tuple[FetchResponse.FetchableTopicResponse, ...] = ...,
        node_endpoints: tuple[FetchResponse.NodeEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class FetchSnapshotResponse(Entity):
    class TopicSnapshot(Entity):
        name: str
        partitions: tuple[FetchSnapshotResponse.PartitionSnapshot, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[FetchSnapshotResponse.PartitionSnapshot, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionSnapshot(Entity):
        index: int
        error_code: int
        snapshot_id: FetchSnapshotResponse.SnapshotId
        current_leader: FetchSnapshotResponse.LeaderIdAndEpoch
        size: int
        position: int
        unaligned_records: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            index: int = ...,
            error_code: int = ...,
            snapshot_id: FetchSnapshotResponse.SnapshotId = ...,
            current_leader: FetchSnapshotResponse.LeaderIdAndEpoch = ...,
            size: int = ...,
            position: int = ...,
            unaligned_records: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class SnapshotId(Entity):
        end_offset: int
        epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            end_offset: int = ...,
            epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class LeaderIdAndEpoch(Entity):
        leader_id: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class NodeEndpoint(Entity):
        node_id: int
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    topics: tuple[FetchSnapshotResponse.TopicSnapshot, ...]
    node_endpoints: tuple[FetchSnapshotResponse.NodeEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        topics: tuple[FetchSnapshotResponse.TopicSnapshot, ...] = ...,
        node_endpoints: tuple[FetchSnapshotResponse.NodeEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class FindCoordinatorResponse(Entity):
    class Coordinator(Entity):
        key: str
        node_id: int
        host: str
        port: int
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            key: str = ...,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    node_id: int
    host: str
    port: int
    coordinators: tuple[FindCoordinatorResponse.Coordinator, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        coordinators: tuple[FindCoordinatorResponse.Coordinator, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class GetTelemetrySubscriptionsResponse(Entity):
    throttle_time_ms: int
    error_code: int
    client_instance_id: bytes
    subscription_id: int
    accepted_compression_types: tuple[int, ...]
    push_interval_ms: int
    telemetry_max_bytes: int
    delta_temporality: bool
    requested_metrics: tuple[str, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        client_instance_id: bytes = ...,
        subscription_id: int = ...,
        accepted_compression_types: tuple[int, ...] = ...,
        push_interval_ms: int = ...,
        telemetry_max_bytes: int = ...,
        delta_temporality: bool = ...,
        requested_metrics: tuple[str, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class HeartbeatResponse(Entity):
    throttle_time_ms: int
    error_code: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class IncrementalAlterConfigsResponse(Entity):
    class AlterConfigsResourceResponse(Entity):
        error_code: int
        error_message: str | None
        resource_type: int
        resource_name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            resource_type: int = ...,
            resource_name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    responses: tuple[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        responses: tuple[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class InitProducerIdResponse(Entity):
    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
    ongoing_txn_producer_id: int
    ongoing_txn_producer_epoch: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        producer_id: int = ...,
        producer_epoch: int = ...,
        ongoing_txn_producer_id: int = ...,
        ongoing_txn_producer_epoch: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class InitializeShareGroupStateResponse(Entity):
    class InitializeStateResult(Entity):
        topic_id: bytes
        partitions: tuple[InitializeShareGroupStateResponse.PartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[InitializeShareGroupStateResponse.PartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionResult(Entity):
        partition: int
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    results: tuple[InitializeShareGroupStateResponse.InitializeStateResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        results: tuple[InitializeShareGroupStateResponse.InitializeStateResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class JoinGroupResponse(Entity):
    class JoinGroupResponseMember(Entity):
        member_id: str
        group_instance_id: str | None
        metadata: bytes
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            metadata: bytes = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: str
    members: tuple[JoinGroupResponse.JoinGroupResponseMember, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        generation_id: int = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        leader: str = ...,
        skip_assignment: bool = ...,
        member_id: str = ...,
        members: tuple[JoinGroupResponse.JoinGroupResponseMember, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class LeaveGroupResponse(Entity):
    class MemberResponse(Entity):
        member_id: str
        group_instance_id: str | None
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            member_id: str = ...,
            group_instance_id: str | None = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    members: tuple[LeaveGroupResponse.MemberResponse, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        members: tuple[LeaveGroupResponse.MemberResponse, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListClientMetricsResourcesResponse(Entity):
    class ClientMetricsResource(Entity):
        name: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    client_metrics_resources: tuple[ListClientMetricsResourcesResponse.ClientMetricsResource, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        client_metrics_resources: tuple[ListClientMetricsResourcesResponse.ClientMetricsResource, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListConfigResourcesResponse(Entity):
    class ConfigResource(Entity):
        resource_name: str
        resource_type: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            resource_name: str = ...,
            resource_type: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    config_resources: tuple[ListConfigResourcesResponse.ConfigResource, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        config_resources: tuple[ListConfigResourcesResponse.ConfigResource, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListGroupsResponse(Entity):
    class ListedGroup(Entity):
        group_id: str
        protocol_type: str
        group_state: str
        group_type: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            group_id: str = ...,
            protocol_type: str = ...,
            group_state: str = ...,
            group_type: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    groups: tuple[ListGroupsResponse.ListedGroup, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        groups: tuple[ListGroupsResponse.ListedGroup, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListOffsetsResponse(Entity):
    class ListOffsetsTopicResponse(Entity):
        name: str
        partitions: tuple[ListOffsetsResponse.ListOffsetsPartitionResponse, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[ListOffsetsResponse.ListOffsetsPartitionResponse, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class ListOffsetsPartitionResponse(Entity):
        partition_index: int
        error_code: int
        timestamp: int
        offset: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            timestamp: int = ...,
            offset: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: tuple[ListOffsetsResponse.ListOffsetsTopicResponse, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        topics: tuple[ListOffsetsResponse.ListOffsetsTopicResponse, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListPartitionReassignmentsResponse(Entity):
    class OngoingTopicReassignment(Entity):
        name: str
        partitions: tuple[ListPartitionReassignmentsResponse.OngoingPartitionReassignment, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[ListPartitionReassignmentsResponse.OngoingPartitionReassignment, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OngoingPartitionReassignment(Entity):
        partition_index: int
        replicas: tuple[int, ...]
        adding_replicas: tuple[int, ...]
        removing_replicas: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            replicas: tuple[int, ...] = ...,
            adding_replicas: tuple[int, ...] = ...,
            removing_replicas: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: tuple[ListPartitionReassignmentsResponse.OngoingTopicReassignment, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        topics: tuple[ListPartitionReassignmentsResponse.OngoingTopicReassignment, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ListTransactionsResponse(Entity):
    class TransactionState(Entity):
        transactional_id: str
        producer_id: int
        transaction_state: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            transactional_id: str = ...,
            producer_id: int = ...,
            transaction_state: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    unknown_state_filters: tuple[str, ...]
    transaction_states: tuple[ListTransactionsResponse.TransactionState, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_state_filters: tuple[str, ...] = ...,
        transaction_states: tuple[ListTransactionsResponse.TransactionState, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class MetadataResponse(Entity):
    class MetadataResponseBroker(Entity):
        node_id: int
        host: str
        port: int
        rack: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class MetadataResponseTopic(Entity):
        error_code: int
        name: str | None
        topic_id: bytes
        is_internal: bool
        partitions: tuple[MetadataResponse.MetadataResponsePartition, ...]
        topic_authorized_operations: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            name: str | None = ...,
            topic_id: bytes = ...,
            is_internal: bool = ...,
            partitions: tuple[MetadataResponse.MetadataResponsePartition, ...] = ...,
            topic_authorized_operations: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class MetadataResponsePartition(Entity):
        error_code: int
        partition_index: int
        leader_id: int
        leader_epoch: int
        replica_nodes: tuple[int, ...]
        isr_nodes: tuple[int, ...]
        offline_replicas: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            partition_index: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            replica_nodes: tuple[int, ...] = ...,
            isr_nodes: tuple[int, ...] = ...,
            offline_replicas: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    brokers: tuple[MetadataResponse.MetadataResponseBroker, ...]
    cluster_id: str | None
    controller_id: int
    topics: tuple[MetadataResponse.MetadataResponseTopic, ...]
    cluster_authorized_operations: int
    error_code: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        brokers: tuple[MetadataResponse.MetadataResponseBroker, ...] = ...,
        cluster_id: str | None = ...,
        controller_id: int = ...,
        topics: tuple[MetadataResponse.MetadataResponseTopic, ...] = ...,
        cluster_authorized_operations: int = ...,
        error_code: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetCommitResponse(Entity):
    class OffsetCommitResponseTopic(Entity):
        name: str
        topic_id: bytes
        partitions: tuple[OffsetCommitResponse.OffsetCommitResponsePartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[OffsetCommitResponse.OffsetCommitResponsePartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetCommitResponsePartition(Entity):
        partition_index: int
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: tuple[OffsetCommitResponse.OffsetCommitResponseTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        topics: tuple[OffsetCommitResponse.OffsetCommitResponseTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetDeleteResponse(Entity):
    class OffsetDeleteResponseTopic(Entity):
        name: str
        partitions: tuple[OffsetDeleteResponse.OffsetDeleteResponsePartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[OffsetDeleteResponse.OffsetDeleteResponsePartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetDeleteResponsePartition(Entity):
        partition_index: int
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    error_code: int
    throttle_time_ms: int
    topics: tuple[OffsetDeleteResponse.OffsetDeleteResponseTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        throttle_time_ms: int = ...,
        topics: tuple[OffsetDeleteResponse.OffsetDeleteResponseTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetFetchResponse(Entity):
    class OffsetFetchResponseTopic(Entity):
        name: str
        partitions: tuple[OffsetFetchResponse.OffsetFetchResponsePartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[OffsetFetchResponse.OffsetFetchResponsePartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetFetchResponsePartition(Entity):
        partition_index: int
        committed_offset: int
        committed_leader_epoch: int
        metadata: str | None
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            metadata: str | None = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetFetchResponseGroup(Entity):
        group_id: str
        topics: tuple[OffsetFetchResponse.OffsetFetchResponseTopics, ...]
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            group_id: str = ...,
            topics: tuple[OffsetFetchResponse.OffsetFetchResponseTopics, ...] = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetFetchResponseTopics(Entity):
        name: str
        topic_id: bytes
        partitions: tuple[OffsetFetchResponse.OffsetFetchResponsePartitions, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[OffsetFetchResponse.OffsetFetchResponsePartitions, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class OffsetFetchResponsePartitions(Entity):
        partition_index: int
        committed_offset: int
        committed_leader_epoch: int
        metadata: str | None
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            metadata: str | None = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: tuple[OffsetFetchResponse.OffsetFetchResponseTopic, ...]
    error_code: int
    groups: tuple[OffsetFetchResponse.OffsetFetchResponseGroup, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        topics: tuple[OffsetFetchResponse.OffsetFetchResponseTopic, ...] = ...,
        error_code: int = ...,
        groups: tuple[OffsetFetchResponse.OffsetFetchResponseGroup, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class OffsetForLeaderEpochResponse(Entity):
    class OffsetForLeaderTopicResult(Entity):
        topic: str
        partitions: tuple[OffsetForLeaderEpochResponse.EpochEndOffset, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partitions: tuple[OffsetForLeaderEpochResponse.EpochEndOffset, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class EpochEndOffset(Entity):
        error_code: int
        partition: int
        leader_epoch: int
        end_offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            partition: int = ...,
            leader_epoch: int = ...,
            end_offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: tuple[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        topics: tuple[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ProduceResponse(Entity):
    class TopicProduceResponse(Entity):
        name: str
        topic_id: bytes
        partition_responses: tuple[ProduceResponse.PartitionProduceResponse, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            topic_id: bytes = ...,
            partition_responses: tuple[ProduceResponse.PartitionProduceResponse, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionProduceResponse(Entity):
        index: int
        error_code: int
        base_offset: int
        log_append_time_ms: int
        log_start_offset: int
        record_errors: tuple[ProduceResponse.BatchIndexAndErrorMessage, ...]
        error_message: str | None
        current_leader: ProduceResponse.LeaderIdAndEpoch
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            index: int = ...,
            error_code: int = ...,
            base_offset: int = ...,
            log_append_time_ms: int = ...,
            log_start_offset: int = ...,
            record_errors: tuple[ProduceResponse.BatchIndexAndErrorMessage, ...] = ...,
            error_message: str | None = ...,
            current_leader: ProduceResponse.LeaderIdAndEpoch = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class BatchIndexAndErrorMessage(Entity):
        batch_index: int
        batch_index_error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            batch_index: int = ...,
            batch_index_error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class LeaderIdAndEpoch(Entity):
        leader_id: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class NodeEndpoint(Entity):
        node_id: int
        host: str
        port: int
        rack: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    responses: tuple[ProduceResponse.TopicProduceResponse, ...]
    throttle_time_ms: int
    node_endpoints: tuple[ProduceResponse.NodeEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        responses: tuple[ProduceResponse.TopicProduceResponse, ...] = ...,
        throttle_time_ms: int = ...,
        node_endpoints: tuple[ProduceResponse.NodeEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class PushTelemetryResponse(Entity):
    throttle_time_ms: int
    error_code: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ReadShareGroupStateResponse(Entity):
    class ReadStateResult(Entity):
        topic_id: bytes
        partitions: tuple[ReadShareGroupStateResponse.PartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[ReadShareGroupStateResponse.PartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionResult(Entity):
        partition: int
        error_code: int
        error_message: str | None
        state_epoch: int
        start_offset: int
        state_batches: tuple[ReadShareGroupStateResponse.StateBatch, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            state_epoch: int = ...,
            start_offset: int = ...,
            state_batches: tuple[ReadShareGroupStateResponse.StateBatch, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class StateBatch(Entity):
        first_offset: int
        last_offset: int
        delivery_state: int
        delivery_count: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_state: int = ...,
            delivery_count: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    results: tuple[ReadShareGroupStateResponse.ReadStateResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        results: tuple[ReadShareGroupStateResponse.ReadStateResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ReadShareGroupStateSummaryResponse(Entity):
    class ReadStateSummaryResult(Entity):
        topic_id: bytes
        partitions: tuple[ReadShareGroupStateSummaryResponse.PartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[ReadShareGroupStateSummaryResponse.PartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionResult(Entity):
        partition: int
        error_code: int
        error_message: str | None
        state_epoch: int
        leader_epoch: int
        start_offset: int
        delivery_complete_count: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            state_epoch: int = ...,
            leader_epoch: int = ...,
            start_offset: int = ...,
            delivery_complete_count: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    results: tuple[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        results: tuple[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RemoveRaftVoterResponse(Entity):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class RenewDelegationTokenResponse(Entity):
    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        expiry_timestamp_ms: int = ...,
        throttle_time_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class SaslAuthenticateResponse(Entity):
    error_code: int
    error_message: str | None
    auth_bytes: bytes
    session_lifetime_ms: int
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        error_message: str | None = ...,
        auth_bytes: bytes = ...,
        session_lifetime_ms: int = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class SaslHandshakeResponse(Entity):
    error_code: int
    mechanisms: tuple[str, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        mechanisms: tuple[str, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareAcknowledgeResponse(Entity):
    class ShareAcknowledgeTopicResponse(Entity):
        topic_id: bytes
        partitions: tuple[ShareAcknowledgeResponse.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[ShareAcknowledgeResponse.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        error_code: int
        error_message: str | None
        current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class LeaderIdAndEpoch(Entity):
        leader_id: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class NodeEndpoint(Entity):
        node_id: int
        host: str
        port: int
        rack: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    acquisition_lock_timeout_ms: int
    responses: tuple[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse, ...]
    node_endpoints: tuple[ShareAcknowledgeResponse.NodeEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        acquisition_lock_timeout_ms: int = ...,
        responses: tuple[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse, ...] = ...,
        node_endpoints: tuple[ShareAcknowledgeResponse.NodeEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareFetchResponse(Entity):
    class ShareFetchableTopicResponse(Entity):
        topic_id: bytes
        partitions: tuple[ShareFetchResponse.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[ShareFetchResponse.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        error_code: int
        error_message: str | None
        acknowledge_error_code: int
        acknowledge_error_message: str | None
        current_leader: ShareFetchResponse.LeaderIdAndEpoch
        records: bytes | None
        acquired_records: tuple[ShareFetchResponse.AcquiredRecords, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            acknowledge_error_code: int = ...,
            acknowledge_error_message: str | None = ...,
            current_leader: ShareFetchResponse.LeaderIdAndEpoch = ...,
            records: bytes | None = ...,
            acquired_records: tuple[ShareFetchResponse.AcquiredRecords, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class LeaderIdAndEpoch(Entity):
        leader_id: int
        leader_epoch: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class AcquiredRecords(Entity):
        first_offset: int
        last_offset: int
        delivery_count: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            first_offset: int = ...,
            last_offset: int = ...,
            delivery_count: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class NodeEndpoint(Entity):
        node_id: int
        host: str
        port: int
        rack: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    acquisition_lock_timeout_ms: int
    responses: tuple[ShareFetchResponse.ShareFetchableTopicResponse, ...]
    node_endpoints: tuple[ShareFetchResponse.NodeEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        acquisition_lock_timeout_ms: int = ...,
        responses: tuple[ShareFetchResponse.ShareFetchableTopicResponse, ...] = ...,
        node_endpoints: tuple[ShareFetchResponse.NodeEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupDescribeResponse(Entity):
    class DescribedGroup(Entity):
        error_code: int
        error_message: str | None
        group_id: str
        group_state: str
        group_epoch: int
        assignment_epoch: int
        assignor_name: str
        members: tuple[ShareGroupDescribeResponse.Member, ...]
        authorized_operations: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            group_id: str = ...,
            group_state: str = ...,
            group_epoch: int = ...,
            assignment_epoch: int = ...,
            assignor_name: str = ...,
            members: tuple[ShareGroupDescribeResponse.Member, ...] = ...,
            authorized_operations: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Member(Entity):
        member_id: str
        rack_id: str | None
        member_epoch: int
        client_id: str
        client_host: str
        subscribed_topic_names: tuple[str, ...]
        assignment: ShareGroupDescribeResponse.Assignment
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            member_id: str = ...,
            rack_id: str | None = ...,
            member_epoch: int = ...,
            client_id: str = ...,
            client_host: str = ...,
            subscribed_topic_names: tuple[str, ...] = ...,
            assignment: ShareGroupDescribeResponse.Assignment = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Assignment(Entity):
        topic_partitions: tuple[ShareGroupDescribeResponse.TopicPartitions, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_partitions: tuple[ShareGroupDescribeResponse.TopicPartitions, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicPartitions(Entity):
        topic_id: bytes
        topic_name: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            topic_name: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    groups: tuple[ShareGroupDescribeResponse.DescribedGroup, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        groups: tuple[ShareGroupDescribeResponse.DescribedGroup, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class ShareGroupHeartbeatResponse(Entity):
    class Assignment(Entity):
        topic_partitions: tuple[ShareGroupHeartbeatResponse.TopicPartitions, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_partitions: tuple[ShareGroupHeartbeatResponse.TopicPartitions, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicPartitions(Entity):
        topic_id: bytes
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: ShareGroupHeartbeatResponse.Assignment | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str | None = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        assignment: ShareGroupHeartbeatResponse.Assignment | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupDescribeResponse(Entity):
    class DescribedGroup(Entity):
        error_code: int
        error_message: str | None
        group_id: str
        group_state: str
        group_epoch: int
        assignment_epoch: int
        topology: StreamsGroupDescribeResponse.Topology | None
        members: tuple[StreamsGroupDescribeResponse.Member, ...]
        authorized_operations: int
        topology_description: StreamsGroupDescribeResponse.TopologyDescription | None
        topology_description_status: int
        assignor_name: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            error_code: int = ...,
            error_message: str | None = ...,
            group_id: str = ...,
            group_state: str = ...,
            group_epoch: int = ...,
            assignment_epoch: int = ...,
            topology: StreamsGroupDescribeResponse.Topology | None = ...,
            members: tuple[StreamsGroupDescribeResponse.Member, ...] = ...,
            authorized_operations: int = ...,
            topology_description: StreamsGroupDescribeResponse.TopologyDescription | None = ...,
            topology_description_status: int = ...,
            assignor_name: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Topology(Entity):
        epoch: int
        subtopologies: tuple[StreamsGroupDescribeResponse.Subtopology, ...] | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            epoch: int = ...,
            subtopologies: tuple[StreamsGroupDescribeResponse.Subtopology, ...] | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Subtopology(Entity):
        subtopology_id: str
        source_topics: tuple[str, ...]
        repartition_sink_topics: tuple[str, ...]
        state_changelog_topics: tuple[StreamsGroupDescribeResponse.TopicInfo, ...]
        repartition_source_topics: tuple[StreamsGroupDescribeResponse.TopicInfo, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            source_topics: tuple[str, ...] = ...,
            repartition_sink_topics: tuple[str, ...] = ...,
            state_changelog_topics: tuple[StreamsGroupDescribeResponse.TopicInfo, ...] = ...,
            repartition_source_topics: tuple[StreamsGroupDescribeResponse.TopicInfo, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicInfo(Entity):
        name: str
        partitions: int
        replication_factor: int
        topic_configs: tuple[StreamsGroupDescribeResponse.KeyValue, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: int = ...,
            replication_factor: int = ...,
            topic_configs: tuple[StreamsGroupDescribeResponse.KeyValue, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Member(Entity):
        member_id: str
        member_epoch: int
        instance_id: str | None
        rack_id: str | None
        client_id: str
        client_host: str
        topology_epoch: int
        process_id: str
        user_endpoint: StreamsGroupDescribeResponse.Endpoint | None
        client_tags: tuple[StreamsGroupDescribeResponse.KeyValue, ...]
        task_offsets: tuple[StreamsGroupDescribeResponse.TaskOffset, ...]
        task_end_offsets: tuple[StreamsGroupDescribeResponse.TaskOffset, ...]
        assignment: StreamsGroupDescribeResponse.Assignment
        target_assignment: StreamsGroupDescribeResponse.Assignment
        is_classic: bool
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            member_id: str = ...,
            member_epoch: int = ...,
            instance_id: str | None = ...,
            rack_id: str | None = ...,
            client_id: str = ...,
            client_host: str = ...,
            topology_epoch: int = ...,
            process_id: str = ...,
            user_endpoint: StreamsGroupDescribeResponse.Endpoint | None = ...,
            client_tags: tuple[StreamsGroupDescribeResponse.KeyValue, ...] = ...,
            task_offsets: tuple[StreamsGroupDescribeResponse.TaskOffset, ...] = ...,
            task_end_offsets: tuple[StreamsGroupDescribeResponse.TaskOffset, ...] = ...,
            assignment: StreamsGroupDescribeResponse.Assignment = ...,
            target_assignment: StreamsGroupDescribeResponse.Assignment = ...,
            is_classic: bool = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Endpoint(Entity):
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class KeyValue(Entity):
        key: str
        value: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            key: str = ...,
            value: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TaskOffset(Entity):
        subtopology_id: str
        partition: int
        offset: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            partition: int = ...,
            offset: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Assignment(Entity):
        active_tasks: tuple[StreamsGroupDescribeResponse.TaskIds, ...]
        standby_tasks: tuple[StreamsGroupDescribeResponse.TaskIds, ...]
        warmup_tasks: tuple[StreamsGroupDescribeResponse.TaskIds, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            active_tasks: tuple[StreamsGroupDescribeResponse.TaskIds, ...] = ...,
            standby_tasks: tuple[StreamsGroupDescribeResponse.TaskIds, ...] = ...,
            warmup_tasks: tuple[StreamsGroupDescribeResponse.TaskIds, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopologyDescription(Entity):
        subtopologies: tuple[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology, ...]
        global_stores: tuple[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopologies: tuple[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology, ...] = ...,
            global_stores: tuple[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TaskIds(Entity):
        subtopology_id: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopologyDescriptionSubtopology(Entity):
        subtopology_id: str
        nodes: tuple[StreamsGroupDescribeResponse.TopologyDescriptionNode, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            nodes: tuple[StreamsGroupDescribeResponse.TopologyDescriptionNode, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopologyDescriptionGlobalStore(Entity):
        source: StreamsGroupDescribeResponse.TopologyDescriptionNode
        processor: StreamsGroupDescribeResponse.TopologyDescriptionNode
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            source: StreamsGroupDescribeResponse.TopologyDescriptionNode = ...,
            processor: StreamsGroupDescribeResponse.TopologyDescriptionNode = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopologyDescriptionNode(Entity):
        name: str
        node_type: int
        source_topics: tuple[str, ...]
        sink_topic: str | None
        stores: tuple[str, ...]
        successors: tuple[str, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            node_type: int = ...,
            source_topics: tuple[str, ...] = ...,
            sink_topic: str | None = ...,
            stores: tuple[str, ...] = ...,
            successors: tuple[str, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    groups: tuple[StreamsGroupDescribeResponse.DescribedGroup, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        groups: tuple[StreamsGroupDescribeResponse.DescribedGroup, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupHeartbeatResponse(Entity):
    class Status(Entity):
        status_code: int
        status_detail: str
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            status_code: int = ...,
            status_detail: str = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TaskIds(Entity):
        subtopology_id: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            subtopology_id: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class EndpointToPartitions(Entity):
        user_endpoint: StreamsGroupHeartbeatResponse.Endpoint
        active_partitions: tuple[StreamsGroupHeartbeatResponse.TopicPartition, ...]
        standby_partitions: tuple[StreamsGroupHeartbeatResponse.TopicPartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            user_endpoint: StreamsGroupHeartbeatResponse.Endpoint = ...,
            active_partitions: tuple[StreamsGroupHeartbeatResponse.TopicPartition, ...] = ...,
            standby_partitions: tuple[StreamsGroupHeartbeatResponse.TopicPartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class Endpoint(Entity):
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TopicPartition(Entity):
        topic: str
        partitions: tuple[int, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic: str = ...,
            partitions: tuple[int, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    acceptable_recovery_lag_legacy: int
    task_offset_interval_ms: int
    acceptable_recovery_lag: int
    status: tuple[StreamsGroupHeartbeatResponse.Status, ...] | None
    active_tasks: tuple[StreamsGroupHeartbeatResponse.TaskIds, ...] | None
    standby_tasks: tuple[StreamsGroupHeartbeatResponse.TaskIds, ...] | None
    warmup_tasks: tuple[StreamsGroupHeartbeatResponse.TaskIds, ...] | None
    topology_description_required: bool
    endpoint_information_epoch: int
    partitions_by_user_endpoint: tuple[StreamsGroupHeartbeatResponse.EndpointToPartitions, ...] | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        member_id: str = ...,
        member_epoch: int = ...,
        heartbeat_interval_ms: int = ...,
        acceptable_recovery_lag_legacy: int = ...,
        task_offset_interval_ms: int = ...,
        acceptable_recovery_lag: int = ...,
        status: tuple[StreamsGroupHeartbeatResponse.Status, ...] | None = ...,
        active_tasks: tuple[StreamsGroupHeartbeatResponse.TaskIds, ...] | None = ...,
        standby_tasks: tuple[StreamsGroupHeartbeatResponse.TaskIds, ...] | None = ...,
        warmup_tasks: tuple[StreamsGroupHeartbeatResponse.TaskIds, ...] | None = ...,
        topology_description_required: bool = ...,
        endpoint_information_epoch: int = ...,
        partitions_by_user_endpoint: tuple[StreamsGroupHeartbeatResponse.EndpointToPartitions, ...] | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class StreamsGroupTopologyDescriptionUpdateResponse(Entity):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class SyncGroupResponse(Entity):
    throttle_time_ms: int
    error_code: int
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
        assignment: bytes = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class TxnOffsetCommitResponse(Entity):
    class TxnOffsetCommitResponseTopic(Entity):
        name: str
        topic_id: bytes
        partitions: tuple[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            topic_id: bytes = ...,
            partitions: tuple[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class TxnOffsetCommitResponsePartition(Entity):
        partition_index: int
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: tuple[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        topics: tuple[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UnregisterBrokerResponse(Entity):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UnregisterControllerResponse(Entity):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UpdateFeaturesResponse(Entity):
    class UpdatableFeatureResult(Entity):
        feature: str
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            feature: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: tuple[UpdateFeaturesResponse.UpdatableFeatureResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: tuple[UpdateFeaturesResponse.UpdatableFeatureResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class UpdateRaftVoterResponse(Entity):
    class CurrentLeader(Entity):
        leader_id: int
        leader_epoch: int
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            leader_id: int = ...,
            leader_epoch: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    current_leader: UpdateRaftVoterResponse.CurrentLeader
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        current_leader: UpdateRaftVoterResponse.CurrentLeader = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class VoteResponse(Entity):
    class TopicData(Entity):
        topic_name: str
        partitions: tuple[VoteResponse.PartitionData, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_name: str = ...,
            partitions: tuple[VoteResponse.PartitionData, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionData(Entity):
        partition_index: int
        error_code: int
        leader_id: int
        leader_epoch: int
        vote_granted: bool
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            leader_id: int = ...,
            leader_epoch: int = ...,
            vote_granted: bool = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class NodeEndpoint(Entity):
        node_id: int
        host: str
        port: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    error_code: int
    topics: tuple[VoteResponse.TopicData, ...]
    node_endpoints: tuple[VoteResponse.NodeEndpoint, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        error_code: int = ...,
        topics: tuple[VoteResponse.TopicData, ...] = ...,
        node_endpoints: tuple[VoteResponse.NodeEndpoint, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class WriteShareGroupStateResponse(Entity):
    class WriteStateResult(Entity):
        topic_id: bytes
        partitions: tuple[WriteShareGroupStateResponse.PartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            topic_id: bytes = ...,
            partitions: tuple[WriteShareGroupStateResponse.PartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class PartitionResult(Entity):
        partition: int
        error_code: int
        error_message: str | None
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition: int = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    results: tuple[WriteShareGroupStateResponse.WriteStateResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        results: tuple[WriteShareGroupStateResponse.WriteStateResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...

class WriteTxnMarkersResponse(Entity):
    class WritableTxnMarkerResult(Entity):
        producer_id: int
        topics: tuple[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            producer_id: int = ...,
            topics: tuple[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class WritableTxnMarkerTopicResult(Entity):
        name: str
        partitions: tuple[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult, ...]
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            name: str = ...,
            partitions: tuple[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult, ...] = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    class WritableTxnMarkerPartitionResult(Entity):
        partition_index: int
        error_code: int
        unknown_tags: tuple[tuple[int, bytes], ...]
        def __init__(
            self,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tags: tuple[tuple[int, bytes], ...] = ...,
        ) -> None: ...

    markers: tuple[WriteTxnMarkersResponse.WritableTxnMarkerResult, ...]
    unknown_tags: tuple[tuple[int, bytes], ...]
    def __init__(
        self,
        markers: tuple[WriteTxnMarkersResponse.WritableTxnMarkerResult, ...] = ...,
        unknown_tags: tuple[tuple[int, bytes], ...] = ...,
    ) -> None: ...
