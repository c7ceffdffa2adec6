"""What makes the next image: records are replayed into a delta, and a delta is applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metashell.image.acls import AclsDelta
from metashell.image.client_quotas import ClientQuotasDelta
from metashell.image.cluster import ClusterDelta
from metashell.image.configs import ConfigsDelta
from metashell.image.delegation_tokens import DelegationTokensDelta
from metashell.image.faults import ReplayError
from metashell.image.features import FeaturesDelta
from metashell.image.image import MetadataImage
from metashell.image.producer_ids import ProducerIdsDelta
from metashell.image.scram import ScramDelta
from metashell.image.topics_delta import TopicsDelta


class MetadataDelta:
    """Gathers the changes that records make to an image, which stays as it is.

    Use: `replay` any number of records, then `apply` once. What a transaction does goes to a delta of its own, which
    is applied or dropped. An image's faults, provenance, voters and leader are the loader's; they are carried over.
    With `keeps_objects` the next image holds the partitions that changed as objects: three times the room, but none is decoded when it
    is read. An area that no record names stays the very object that it was: most batches touch one.
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
        """Drop a topic and its configuration, which no record of its own removes."""
        self._area("configs").forget_topic(self.topics.replay_remove_topic(record))

    def skip(self, record: Any) -> None:
        """Take a record that only advances the log."""


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
"""What gathers the changes of each area of an image."""

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
"""Which part of a delta takes a record, and by which method; transactions are the loader's."""
