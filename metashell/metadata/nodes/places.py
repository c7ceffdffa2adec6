"""The paths of an image's places (`metadata.image.differences`) in the tree of our own voice, and the way back: the subject of a path.

    ("topic", name)  ("partition", topic name, number)  ("broker", id)  ("controller", id)  ("config", type, resource, key)
    ("quota", entity, key)  ("acl", entry)  ("scram", mechanism, user)  ("feature", name)

A subject is the thing that a command would change; it need not exist yet. The key is None if the path names a whole resource or entity.
Names of Kafka 2.8 to 3.2 work for topics and brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.codes import BROKER_RESOURCE, SCRAM_MECHANISMS, TOPIC_RESOURCE
from metashell.codec.releases import METADATA_VERSION
from metashell.common.values import uuid_from_text, uuid_text
from metashell.metadata.nodes.cluster import FEATURE_PREFIX
from metashell.metadata.nodes.names import is_uuid_text, name_escape, name_unescape, parse_int
from metashell.metadata.nodes.settings import own_entity_name, own_resources, parse_entity, resource_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.metadata.image import MetadataImage


Components = tuple[str, ...]


def paths_of(place: tuple[Any, ...], *images: MetadataImage) -> list[Components]:
    """The paths of a place as components, the usual one first; topics have one below byId too.

    The name of a topic comes from the first of `images` that has it.
    """
    match place:
        case ("topic", id):
            return [(*path,) for path in _topic_paths(id, images)]
        case ("partition", id, number):
            return [(*path, str(number)) for path in _topic_paths(id, images)]
        case ("broker", id):
            return [("image", "cluster", "brokers", str(id))]
        case ("controller", id):
            return [("image", "cluster", "controllers", str(id))]
        case ("config", type, resource, key):
            return [("image", "configs", resource_name((type, resource)), name_escape(key))]
        case ("quota", entity, key):
            return [("image", "clientQuotas", own_entity_name(entity), name_escape(key))]
        case ("acl", id):
            return [("image", "acls", "byId", uuid_text(id))]
        case ("scram", mechanism, user):
            return [("image", "scram", SCRAM_MECHANISMS.get(mechanism) or f"UNKNOWN-{mechanism}", name_escape(user))]
        case ("token", id):
            return [("image", "delegationToken", name_escape(id))]
        case ("feature", name) if name == METADATA_VERSION:
            return [("image", "features", "metadataVersion")]
        case ("feature", name):
            return [("image", "features", name_escape(FEATURE_PREFIX + name))]
        case ("zk migration",):
            return [("image", "features", "zkMigrationState")]
        case ("producer ids",):
            return [("image", "producerIds", "nextProducerId")]
        case ("leader",):
            return [("metadataQuorum", "leader")]
        case ("voters",):
            return [("image", "voters")]
    raise AssertionError(f"unknown place {place}")


def _topic_paths(id: bytes, images: tuple[MetadataImage, ...]) -> list[Components]:
    found = next(((image, topic) for image in images if (topic := image.topics.by_id.get(id)) is not None), None)
    by_id: Components = ("image", "topics", "byId", uuid_text(id))
    if found is None or not found[0].topics.is_named(found[1]):
        return [by_id]
    return [("image", "topics", "byName", name_escape(found[1].name)), by_id]


Subject = tuple[Any, ...]


def subject_of(components: Sequence[str], image: MetadataImage) -> Subject | None:
    """The subject of a path; None if no command can change it, or if the path names an unknown id."""
    match [*components]:
        case ["image", "topics", "byName", name, *rest] | ["topics", name, *rest]:
            return _topic(name_unescape(name), rest)
        case ["image", "topics", "byId", id, *rest] | ["topicIds", id, *rest]:
            topic = image.topics.by_id.get(uuid_from_text(id)) if is_uuid_text(id) else None
            return None if topic is None else _topic(topic.name, rest)
        case ["image", "cluster", "brokers", id] | ["brokers", id]:
            return _node("broker", id)
        case ["image", "cluster", "controllers", id]:
            return _node("controller", id)
        case ["image", "configs", name, *rest] if len(rest) < 2:
            resource = next(iter(own_resources(name)), None)
            return None if resource is None else ("config", *resource, _key(rest))
        case ["image", "clientQuotas", name, *rest] if len(rest) < 2:
            parts = parse_entity(name)
            return ("quota", tuple(parts), _key(rest)) if parts else None
        case ["image", "acls", "byId", id]:
            acl = image.acls.by_id.get(uuid_from_text(id)) if is_uuid_text(id) else None
            return None if acl is None else ("acl", acl)
        case ["image", "scram", mechanism, user]:
            return ("scram", mechanism, name_unescape(user))
        case ["image", "features", "metadataVersion"]:
            return ("feature", METADATA_VERSION)
        case ["image", "features", name] if name_unescape(name).startswith(FEATURE_PREFIX):
            return ("feature", name_unescape(name).removeprefix(FEATURE_PREFIX))
    return None


def resource_of(subject: Subject) -> tuple[int, str] | None:
    """The config resource of a topic, a broker or a config, as type and name; None for any other subject."""
    match subject:
        case ("topic", name):
            return TOPIC_RESOURCE, name
        case ("broker", id):
            return BROKER_RESOURCE, str(id)
        case ("config", type, name, _):
            return type, name
    return None


def _topic(name: str, rest: Sequence[str]) -> Subject | None:
    if not rest:
        return ("topic", name)
    number = parse_int(rest[0])
    is_partition = number is not None and number >= 0 and rest[1:] in ([], ["data"])
    return ("partition", name, number) if is_partition else None


def _node(kind: str, id: str) -> Subject | None:
    number = parse_int(id)
    return None if number is None or number < 0 else (kind, number)


def _key(rest: Sequence[str]) -> str | None:
    return name_unescape(rest[0]) if rest else None
