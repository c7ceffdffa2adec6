"""What a path of our own tree is about, so that it can be changed: the way back of `places`, and for things that are not there yet.

    ("topic", name)  ("partition", topic name, number)  ("broker", id)  ("controller", id)  ("config", type, resource, key)
    ("quota", entity, key)  ("acl", entry)  ("scram", mechanism, user)  ("feature", name)

A key is None where the path names a resource or an entity as a whole. Names of Kafka 2.8 to 3.2 work for topics and brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.codec.metadata_version import METADATA_VERSION
from metashell.nodes.configs import own_resources
from metashell.nodes.features import FEATURE_PREFIX
from metashell.nodes.java_text import parse_int
from metashell.nodes.names import is_uuid_text, name_unescape
from metashell.nodes.quotas import parse_entity
from metashell.values import uuid_from_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.image import MetadataImage

Subject = tuple[Any, ...]


def subject_of(components: Sequence[str], image: MetadataImage) -> Subject | None:
    """The subject of a path; None for one that is about nothing that can be changed, or that names an id that is not there."""
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
    """The type and name of what has the settings of a topic, a broker or a resource; None for anything else."""
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
