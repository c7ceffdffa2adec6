"""Settings made by operators: dynamic configs, client quotas, ACLs, SCRAM credentials and delegation tokens.

Each is a persistent map by key, with a delta that replays its records. The maps of maps (configs by resource, quotas by entity,
credentials by mechanism) never hold an empty map: a resource whose last value was removed is absent. Otherwise an image would differ from
the one that its own snapshot gives, since no record can express an empty resource. A token's HMAC is not in the log, so it is not here
either."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter, itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from immutables import Map

from metashell.codec.codes import TOPIC_RESOURCE
from metashell.codec.registry import message_type
from metashell.codec.releases import DELEGATION_TOKEN_LEVEL, SCRAM_LEVEL
from metashell.common.values import uuid_text
from metashell.metadata.image.provenance import LossHandler, ReplayError, VersionedRecord, in_order

Outer = TypeVar("Outer")
Inner = TypeVar("Inner")
Value = TypeVar("Value")


class NestedDelta(Generic[Outer, Inner, Value]):
    """Gathers changes of a map of maps, which stays as it is."""

    def __init__(self, image: Map[Outer, Map[Inner, Value]]) -> None:
        self._maps = image.mutate()

    def _put(self, outer: Outer, inner: Inner, value: Value) -> None:
        """Set one value."""
        values = self._maps.get(outer)
        self._maps[outer] = Map({inner: value}) if values is None else values.set(inner, value)

    def _drop(self, outer: Outer, inner: Inner) -> bool:
        """Remove one value, and its map if that is empty then; returns whether the value was there."""
        values = self._maps.get(outer)
        if values is None or inner not in values:
            return False
        values = values.delete(inner)
        if values:
            self._maps[outer] = values
        else:
            del self._maps[outer]
        return True

    def apply(self) -> Map[Outer, Map[Inner, Value]]:
        """The next map; the delta has done its work then."""
        return self._maps.finish()


ConfigsImage = Map[tuple[int, str], Map[str, str]]
"""(resource type, resource name) to the values of its keys; the default resource of a type has the empty name."""


class ConfigsDelta(NestedDelta[tuple[int, str], str, str]):
    """Gathers changes of configuration; keys that this software does not know are kept like all others."""

    def replay_config(self, record: Any) -> None:
        resource = record.resource_type, record.resource_name
        if record.value is not None:
            self._put(resource, record.name, record.value)
        else:
            self._drop(resource, record.name)

    def forget_topic(self, name: str) -> None:
        """Drop the configuration of a removed topic: only the removal of the topic says that it is gone."""
        self._maps.pop((TOPIC_RESOURCE, name), None)


def write_configs(image: ConfigsImage) -> Iterator[VersionedRecord | None]:
    """The records of all values, ordered by resource and key; None is a place to rest."""
    make = message_type("metadata", "ConfigRecord").cls
    for resource in in_order(image):
        if resource is None:
            yield None
            continue
        for name, value in sorted(image[resource].items()):
            yield make(resource_type=resource[0], resource_name=resource[1], name=name, value=value), 0


QuotaEntity = tuple[tuple[str, str | None], ...]
"""(entity type, name) pairs ordered by type, one a type; None is the default entity of that type."""

ClientQuotasImage = Map[QuotaEntity, Map[str, float]]


class ClientQuotasDelta(NestedDelta[QuotaEntity, str, float]):
    """Gathers changes of quotas."""

    def replay_client_quota(self, record: Any) -> None:
        entity = quota_entity(record.entity)
        if not record.remove:
            self._put(entity, record.key, record.value)
        else:
            self._drop(entity, record.key)


def quota_entity(parts: Any) -> QuotaEntity:
    """The entity of a record; if a type is named twice, the later name counts."""
    return tuple(sorted({part.entity_type: part.entity_name for part in parts}.items(), key=itemgetter(0)))


def write_client_quotas(image: ClientQuotasImage) -> Iterator[VersionedRecord | None]:
    """The records of all quotas, ordered by entity and key; None is a place to rest."""
    message = message_type("metadata", "ClientQuotaRecord")
    part = message.structs["EntityData"]
    for entity in in_order(image, key=_entity_order):
        if entity is None:
            yield None
            continue
        parts = tuple(part(entity_type=type, entity_name=name) for type, name in entity)
        for key, value in sorted(image[entity].items()):
            yield message.cls(entity=parts, key=key, value=value, remove=False), 0


def _entity_order(entity: QuotaEntity) -> list[tuple[str, bool, str]]:
    return [(type, name is not None, name or "") for type, name in entity]


class Acl(NamedTuple):
    """One access control entry; types, operation and permission are Kafka's codes of them."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


_acl_fields = attrgetter(*Acl._fields)


def acl_of(record: Any) -> Acl:
    """The entry that an AccessControlEntryRecord describes."""
    return Acl._make(_acl_fields(record))


class AclsImage(NamedTuple):
    """All entries by their 16-byte ids."""

    by_id: Map[bytes, Acl] = Map()

    def write(self) -> Iterator[VersionedRecord | None]:
        """The records of all entries, ordered by id; None is a place to rest."""
        make = message_type("metadata", "AccessControlEntryRecord").cls
        for entry in in_order(self.by_id.items()):
            yield None if entry is None else (make(id=entry[0], **entry[1]._asdict()), 0)


class AclsDelta:
    """Gathers entries that come and go."""

    def __init__(self, image: AclsImage) -> None:
        self._by_id = image.by_id.mutate()

    def replay_access_control_entry(self, record: Any) -> None:
        self._by_id[record.id] = acl_of(record)

    def replay_remove_access_control_entry(self, record: Any) -> None:
        """Errors: ReplayError for an id that has no entry."""
        if self._by_id.pop(record.id, None) is None:
            raise ReplayError(f"no access control entry has the id {uuid_text(record.id)}")

    def apply(self) -> AclsImage:
        return AclsImage(self._by_id.finish())


class ScramCredential(NamedTuple):
    """The part of a user's password that a server stores."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


ScramImage = Map[int, Map[str, ScramCredential]]
"""Mechanism (1: SCRAM-SHA-256, 2: SCRAM-SHA-512) to user to credential; a mechanism without users is absent."""


class ScramDelta(NestedDelta[int, str, ScramCredential]):
    """Gathers credentials that come and go."""

    def replay_user_scram_credential(self, record: Any) -> None:
        credential = ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)
        self._put(record.mechanism, record.name, credential)

    def replay_remove_user_scram_credential(self, record: Any) -> None:
        """Errors: ReplayError for a user without a credential of that mechanism."""
        if not self._drop(record.mechanism, record.name):
            raise ReplayError(f"user {record.name!r} has no credential of SCRAM mechanism {record.mechanism}")


def write_scram(image: ScramImage, level: int, loss: LossHandler) -> Iterator[VersionedRecord | None]:
    """The records of all credentials, ordered by mechanism and user; None is a place to rest."""
    if image and level < SCRAM_LEVEL:
        loss("the SCRAM credentials of users")
        return
    make = message_type("metadata", "UserScramCredentialRecord").cls
    for mechanism, users in sorted(image.items()):
        for user in in_order(users.items()):
            yield None if user is None else (make(name=user[0], mechanism=mechanism, **user[1]._asdict()), 0)


class DelegationToken(NamedTuple):
    """A token's public data; principals are `Type:Name`.

    Units: timestamps are Unix milliseconds.
    """

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str


_token_fields = attrgetter(*DelegationToken._fields)

DelegationTokensImage = Map[str, DelegationToken]


class DelegationTokensDelta:
    """Gathers tokens that come, change and go."""

    def __init__(self, image: DelegationTokensImage) -> None:
        self._tokens = image.mutate()

    def replay_delegation_token(self, record: Any) -> None:
        token = DelegationToken._make(_token_fields(record))
        self._tokens[record.token_id] = token._replace(renewers=tuple(token.renewers))

    def replay_remove_delegation_token(self, record: Any) -> None:
        """Errors: ReplayError for an id that has no token."""
        if self._tokens.pop(record.token_id, None) is None:
            raise ReplayError(f"no delegation token has the id {record.token_id!r}")

    def apply(self) -> DelegationTokensImage:
        return self._tokens.finish()


def write_delegation_tokens(image: DelegationTokensImage, level: int, loss: LossHandler) -> Iterator[VersionedRecord | None]:
    """The records of all tokens, ordered by id; None is a place to rest."""
    if image and level < DELEGATION_TOKEN_LEVEL:
        loss("the delegation tokens")
        return
    make = message_type("metadata", "DelegationTokenRecord").cls
    for token in in_order(image.items()):
        yield None if token is None else (make(**token[1]._asdict()), 0)
