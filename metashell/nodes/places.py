"""The paths of an image's places (`metashell.image.steps`) in the tree of our own voice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.code_words import SCRAM_MECHANISMS
from metashell.codec.metadata_version import METADATA_VERSION
from metashell.nodes.configs import resource_name
from metashell.nodes.features import FEATURE_PREFIX
from metashell.nodes.names import name_escape
from metashell.nodes.quotas import own_entity_name
from metashell.values import uuid_text

if TYPE_CHECKING:
    from metashell.image import MetadataImage

Components = tuple[str, ...]


def paths_of(place: tuple[Any, ...], *images: MetadataImage) -> list[Components]:
    """The paths of a place as components, the usual one first; topics have one below byId too.

    A topic's name is taken from the first of `images` that has it. Shape: empty for a place that the tree does not show.
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
