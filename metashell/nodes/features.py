"""Finalized features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metashell.codec.code_words import ZK_MIGRATION_STATES, code_name
from metashell.codec.metadata_version import metadata_version_name
from metashell.nodes.java_text import optional_text
from metashell.nodes.names import sorted_names
from metashell.nodes.node import Directory, Node, ValueLeaf
from metashell.nodes.tree import Tree

FEATURE_PREFIX = "finalized_"


class FeaturesNode(Directory):
    """/image/features: `metadataVersion`, and `finalized_X` for each other feature with a level.

    In Kafka's voice any `finalized_X` resolves, to 0 where X has no level.
    """

    __slots__ = ("_tree",)

    def __init__(self, name: str, tree: Tree) -> None:
        super().__init__(name)
        self._tree = tree

    def child_names(self) -> Sequence[str]:
        features = self._tree.image.features
        names = ["metadataVersion", *(self._tree.names.show(FEATURE_PREFIX + name) for name in features.levels)]
        if self._tree.is_own and features.zk_migration_state:
            names.append("zkMigrationState")
        return sorted_names(names)

    def child(self, name: str) -> Node | None:
        features = self._tree.image.features
        if name == "metadataVersion":
            return metadata_version_leaf(name, features.metadata_version)
        if name == "zkMigrationState" and self._tree.is_own and features.zk_migration_state:
            state = code_name(ZK_MIGRATION_STATES, features.zk_migration_state)
            return ValueLeaf(name, state, type="feature", info={"zk_migration_state": features.zk_migration_state})
        text = self._tree.names.parse(name)
        if not text.startswith(FEATURE_PREFIX):
            return None
        feature = text[len(FEATURE_PREFIX) :]
        if self._tree.is_own and feature not in features.levels:
            return None
        return ValueLeaf(name, features.levels.get(feature, 0), type="feature", info={"feature": feature})


def metadata_version_leaf(name: str, level: int | None) -> ValueLeaf:
    """The metadata.version by its name; None where the image has none, with the level beside it where it has."""
    version = None if level is None else metadata_version_name(level)
    info: dict[str, Any] = {} if level is None else {"feature_level": level}
    return ValueLeaf(name, version, optional_text(version), type="feature", info={"feature": "metadata.version", **info})


def feature_levels(tree: Tree) -> dict[str, int]:
    """Every finalized feature with its level, metadata.version and kraft.version among them where they are set."""
    features = tree.image.features
    levels = dict(features.levels)
    if features.metadata_version is not None:
        levels["metadata.version"] = features.metadata_version
    if features.kraft_version:
        levels["kraft.version"] = features.kraft_version
    return levels
