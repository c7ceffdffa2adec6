"""The metadata of a cluster at one offset, the delta that makes the next image, and what in it is newer than this software.

A newer record has an unknown type or version, or fields that no known schema has; a newer level is a finalized level beyond the table of
`codec/releases.py`. Every command takes its judgement and its wording of them from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from immutables import Map

from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.metadata_records import RECORD_TYPE_NAMES
from metashell.codec.registry import message_type
from metashell.codec.releases import NEWEST_RELEASE, level_name, unsupported_features
from metashell.common.forms import counted
from metashell.metadata.image.cluster import ClusterDelta, ClusterImage, FeaturesDelta, FeaturesImage
from metashell.metadata.image.provenance import Fault, Leader, Provenance, ReplayError, VersionedRecord, VoterSet
from metashell.metadata.image.settings import (
    AclsDelta,
    AclsImage,
    ClientQuotasDelta,
    ClientQuotasImage,
    ConfigsDelta,
    ConfigsImage,
    DelegationTokensDelta,
    DelegationTokensImage,
    ScramDelta,
    ScramImage,
)
from metashell.metadata.image.topics import TopicsImage
from metashell.metadata.image.topics_delta import TopicsDelta


class ProducerIdsImage(NamedTuple):
    """The broker that got the last block of producer ids, and the first id of the next block; all -1 if no block was handed out.

    A snapshot keeps only the next id, so `broker_id` and `broker_epoch` are -1 after one was read, as in Kafka.
    """

    next_producer_id: int = -1
    broker_id: int = -1
    broker_epoch: int = -1

    def write(self) -> Iterator[VersionedRecord]:
        if self.next_producer_id >= 0:
            make = message_type("metadata", "ProducerIdsRecord").cls
            yield make(broker_id=self.broker_id, broker_epoch=self.broker_epoch, next_producer_id=self.next_producer_id), 0


class ProducerIdsDelta:
    """Gathers allocations of producer ids."""

    def __init__(self, image: ProducerIdsImage) -> None:
        self._image = image

    def replay_producer_ids(self, record: Any) -> None:
        self._image = ProducerIdsImage(record.next_producer_id, record.broker_id, record.broker_epoch)

    def apply(self) -> ProducerIdsImage:
        return self._image


class MetadataImage(NamedTuple):
    """Everything that metadata records describe, and the voters and leader of control records; it never changes.

    An image costs what differs from the one it was made from, so keeping old ones is cheap. `voters` and `leader` are None if no control
    record names them. `faults` are the records that could not be applied. `unread` are the parts of applied records that are newer than
    the known schemas, one entry for all records of a kind. `torn_tails` are no faults, but the normal end of a node's last segment.
    """

    features: FeaturesImage = FeaturesImage()
    cluster: ClusterImage = ClusterImage()
    topics: TopicsImage = TopicsImage()
    configs: ConfigsImage = Map()
    client_quotas: ClientQuotasImage = Map()
    producer_ids: ProducerIdsImage = ProducerIdsImage()
    acls: AclsImage = AclsImage()
    scram: ScramImage = Map()
    delegation_tokens: DelegationTokensImage = Map()
    voters: VoterSet | None = None
    leader: Leader | None = None
    provenance: Provenance = Provenance()
    faults: tuple[Fault, ...] = ()
    unread: tuple[Fault, ...] = ()
    torn_tails: tuple[Fault, ...] = ()

    @property
    def is_as_formatted(self) -> bool:
        """Return whether no server has written to it: it has no leader, node or topic."""
        return not (self.leader or self.cluster.brokers or self.cluster.controllers or self.topics.by_id)

    def has_same_metadata(self, other: MetadataImage) -> bool:
        """Return whether both would write the same metadata records: all but quorum, provenance and faults, and kraft.version."""
        return self._metadata() == other._metadata()

    def _metadata(self) -> tuple[object, ...]:
        return (
            self.features._replace(kraft_version=0),
            self.cluster,
            self.topics,
            self.configs,
            self.client_quotas,
            self.producer_ids,
            self.acls,
            self.scram,
            self.delegation_tokens,
        )


EMPTY_IMAGE = MetadataImage()
"""The image before the first record."""


class MetadataDelta:
    """Gathers the changes that records make to an image, which stays as it is.

    Use: `replay` any number of records, then `apply` once. A metadata transaction gets a delta of its own, which is applied or dropped.
    An image's faults, provenance, voters and leader are the loader's; they are carried over. With `keeps_objects` the next image holds the
    changed partitions as objects: three times the memory, but reading one decodes nothing.

    Why are area deltas made late? Most batches touch one area. The others stay the same objects, so that `is` tells that nothing changed
    there, and a batch costs only its own area.
    """

    __slots__ = ("_areas", "_keeps_objects", "image")

    def __init__(self, image: MetadataImage, *, keeps_objects: bool = False) -> None:
        self.image = image
        self._keeps_objects = keeps_objects
        self._areas: dict[str, Any] = {}

    @property
    def topics(self) -> TopicsDelta:
        return self._area("topics")  # type: ignore[no-any-return]

    def _area(self, name: str) -> Any:
        """The delta of one area, made when it is first needed."""
        area = self._areas.get(name)
        if area is None:
            area = self._areas[name] = _AREAS[name](getattr(self.image, name))
            if name == "topics":
                area.keeps_objects = self._keeps_objects
        return area

    def replay(self, record: Any) -> None:
        """Gather what one metadata record (an object of codec) changes.

        Errors: ReplayError if it does not fit; unless the error says `applied`, the delta is as it was.
        """
        route = _ROUTES.get(type(record).__name__)
        if route is None:
            raise ReplayError(f"{type(record).__name__} is no record that an image is made of")
        area, method = route
        getattr(self._area(area) if area else self, method)(record)

    def apply(self) -> MetadataImage:
        """The next image; the delta has done its work then."""
        return self.image._replace(**{name: area.apply() for name, area in self._areas.items()})

    def remove_topic(self, record: Any) -> None:
        """Drop a topic and its configuration: a controller writes no record that removes the configuration."""
        self._area("configs").forget_topic(self.topics.replay_remove_topic(record))

    def skip(self, record: Any) -> None:
        """Ignore a record that only advances the log."""


def area_of(message: str) -> str:
    """The area of an image that a record is about, by its message's name; empty for none."""
    return _ROUTES.get(message, ("", ""))[0]


_AREAS: dict[str, Callable[[Any], Any]] = {
    "features": FeaturesDelta,
    "cluster": ClusterDelta,
    "topics": TopicsDelta,
    "configs": ConfigsDelta,
    "client_quotas": ClientQuotasDelta,
    "producer_ids": ProducerIdsDelta,
    "acls": AclsDelta,
    "scram": ScramDelta,
    "delegation_tokens": DelegationTokensDelta,
}
"""The class that gathers the changes of each area of an image."""

_ROUTES = {
    "RegisterBrokerRecord": ("cluster", "replay_register_broker"),
    "UnregisterBrokerRecord": ("cluster", "replay_unregister_broker"),
    "FenceBrokerRecord": ("cluster", "replay_fence_broker"),
    "UnfenceBrokerRecord": ("cluster", "replay_unfence_broker"),
    "BrokerRegistrationChangeRecord": ("cluster", "replay_broker_registration_change"),
    "RegisterControllerRecord": ("cluster", "replay_register_controller"),
    "UnregisterControllerRecord": ("cluster", "replay_unregister_controller"),
    "TopicRecord": ("topics", "replay_topic"),
    "PartitionRecord": ("topics", "replay_partition"),
    "PartitionChangeRecord": ("topics", "replay_partition_change"),
    "ClearElrRecord": ("topics", "replay_clear_elr"),
    "RemoveTopicRecord": ("", "remove_topic"),
    "ConfigRecord": ("configs", "replay_config"),
    "ClientQuotaRecord": ("client_quotas", "replay_client_quota"),
    "ProducerIdsRecord": ("producer_ids", "replay_producer_ids"),
    "AccessControlEntryRecord": ("acls", "replay_access_control_entry"),
    "RemoveAccessControlEntryRecord": ("acls", "replay_remove_access_control_entry"),
    "UserScramCredentialRecord": ("scram", "replay_user_scram_credential"),
    "RemoveUserScramCredentialRecord": ("scram", "replay_remove_user_scram_credential"),
    "DelegationTokenRecord": ("delegation_tokens", "replay_delegation_token"),
    "RemoveDelegationTokenRecord": ("delegation_tokens", "replay_remove_delegation_token"),
    "FeatureLevelRecord": ("features", "replay_feature_level"),
    "ZkMigrationStateRecord": ("features", "replay_zk_migration_state"),
    "NoOpRecord": ("", "skip"),
}
"""The area and method of a delta that replay a record; transactions are the loader's."""


# ---- parts that are newer than this software


_AREA_WORDS: Final = {
    "features": "feature levels",
    "cluster": "brokers and controllers",
    "topics": "topics and partitions",
    "configs": "settings",
    "client_quotas": "quotas",
    "producer_ids": "producer ids",
    "acls": "ACLs",
    "scram": "SCRAM credentials",
    "delegation_tokens": "delegation tokens",
}
"""The subject of each area's records, in words."""
ANYTHING: Final = "any answer"
_NAME_OF_TYPE: Final = {name: METADATA_TYPES[type] for type, name in RECORD_TYPE_NAMES.items()}


class Newer(NamedTuple):
    """One thing that is newer than this software.

    Shape: `records` have it, the first at `offset` of `file`; a level has 0 and -1. `missing` says which answers may lack something
    because of it, empty if all of it was applied.
    """

    what: str
    records: int = 0
    offset: int = -1
    file: str = ""
    missing: str = ""

    @property
    def text(self) -> str:
        """`record type 30 (12 records, the first at offset 812): any answer may lack what it says`."""
        return f"{self.place}: {f'{self.missing} may lack what it says' if self.missing else 'all that is known was applied'}"

    @property
    def place(self) -> str:
        """The thing and its place: `record type 30 (12 records, the first at offset 812)`."""
        if not self.records:
            return self.what
        inside = f" of {self.file.rpartition('/')[2]}" if self.file.endswith(".checkpoint") else ""
        place = f"{self.records} records, the first at" if self.records > 1 else "1 record, at"
        return f"{self.what} ({place} offset {self.offset}{inside})"


def newer_parts(image: MetadataImage) -> list[Newer]:
    """Everything in an image that is newer than this software: records first, then levels."""
    return [*_records(image), *newer_levels(image.features.finalized)]


def is_newer(image: MetadataImage) -> bool:
    """Return whether anything in an image is newer than this software; cheap enough for the prompt, which asks at every key."""
    return bool(image.unread or any(fault.newer for fault in image.faults) or newer_levels(image.features.finalized))


def newer_levels(levels: Mapping[str, int]) -> list[Newer]:
    """The finalized levels above those of the newest known release, and features that it does not have."""
    found = unsupported_features(levels)
    return [Newer(level_name(one.feature, one.level)) for one in found if one.supported is None or one.level > one.supported[1]]


def lacks_some(image: MetadataImage) -> bool:
    """Return whether the image may lack something: records that could not be applied, or parts of them that could not be read."""
    return bool(image.faults) or any(part.missing for part in newer_parts(image))


def damage_of(image: MetadataImage) -> list[Fault]:
    """The faults that no newer release explains."""
    return [fault for fault in image.faults if not fault.newer]


def trouble_lines(image: MetadataImage) -> Iterator[str]:
    """One line for damage, and one for parts that are newer than this software."""
    damage = damage_of(image)
    if damage:
        yield f"{damage[0]} ({counted(len(damage), 'fault')})"
    if line := newer_line(newer_parts(image)):
        yield line


def newer_line(parts: Iterable[Newer]) -> str:
    """One line for people; empty if nothing is newer."""
    words = "; ".join(part.text for part in parts)
    return f"newer than Kafka {NEWEST_RELEASE.name}, the newest release known: {words}" if words else ""


def newer_values(parts: Iterable[Newer]) -> list[dict[str, Any]]:
    """The same for programs; a value that does not apply is null."""
    return [
        {
            "what": part.what,
            "records": part.records,
            "offset": None if part.offset < 0 else part.offset,
            "missing": part.missing or None,
        }
        for part in parts
    ]


def _records(image: MetadataImage) -> Iterator[Newer]:
    found: dict[tuple[str, str], Newer] = {}
    for fault in (*image.faults, *image.unread):
        if not fault.newer:
            continue
        missing = "" if fault.is_whole else _about(fault.record_type)
        key = fault.newer, missing
        known = found.get(key)
        found[key] = (
            Newer(fault.newer, fault.record_count, fault.offset, fault.file, missing)
            if known is None
            else known._replace(records=known.records + fault.record_count)
        )
    yield from found.values()


def _about(record_type: str) -> str:
    area = area_of(_NAME_OF_TYPE.get(record_type, ""))
    return _AREA_WORDS.get(area, ANYTHING)
