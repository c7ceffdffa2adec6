"""Access control entries by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from metashell.nodes.codes import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    code_name,
)
from metashell.nodes.names import is_uuid_text, sorted_names
from metashell.nodes.node import Directory, JsonValue, Leaf, Node
from metashell.nodes.tree import Tree
from metashell.values import uuid_from_text, uuid_text

if TYPE_CHECKING:
    from metashell.image import Acl


class AclsByIdNode(Directory):
    """All entries under the texts of their ids."""

    __slots__ = ("_names", "_tree")

    def __init__(self, name: str, tree: Tree) -> None:
        super().__init__(name)
        self._tree = tree
        self._names: list[str] | None = None

    def child_names(self) -> Sequence[str]:
        if self._names is None:
            self._names = sorted_names(map(uuid_text, self._tree.image.acls.by_id))
        return self._names

    def child_count(self) -> int:
        return len(self._tree.image.acls.by_id)

    def child(self, name: str) -> Node | None:
        if not is_uuid_text(name):
            return None
        id = uuid_from_text(name)
        acl = self._tree.image.acls.by_id.get(id)
        return None if acl is None else AclNode(name, id, acl)


class AclNode(Leaf):
    """One entry."""

    __slots__ = ("_acl", "_id")

    def __init__(self, name: str, id: bytes, acl: Acl) -> None:
        super().__init__(name, "acl")
        self._id = id
        self._acl = acl

    @property
    def envelope_info(self) -> dict[str, Any]:
        acl = self._acl
        return {
            "resource_type": code_name(ACL_RESOURCE_TYPES, acl.resource_type),
            "pattern_type": code_name(ACL_PATTERN_TYPES, acl.pattern_type),
            "operation": code_name(ACL_OPERATIONS, acl.operation),
            "permission_type": code_name(ACL_PERMISSION_TYPES, acl.permission_type),
        }

    def kafka_text(self, redact: bool = False) -> str:
        return acl_text(self._acl)

    def value(self, redact: bool = True) -> JsonValue:
        return acl_value(self._id, self._acl)


def acl_text(acl: Acl) -> str:
    """Java's text of an entry, a record type since 4.2.

    Source: org.apache.kafka.metadata.authorizer.StandardAcl.
    """
    return (
        f"StandardAcl[resourceType={code_name(ACL_RESOURCE_TYPES, acl.resource_type)}"
        f", resourceName={acl.resource_name}"
        f", patternType={code_name(ACL_PATTERN_TYPES, acl.pattern_type)}"
        f", principal={acl.principal}, host={acl.host}"
        f", operation={code_name(ACL_OPERATIONS, acl.operation)}"
        f", permissionType={code_name(ACL_PERMISSION_TYPES, acl.permission_type)}]"
    )


def acl_value(id: bytes, acl: Acl) -> dict[str, Any]:
    """The entry under the field names of AccessControlEntryRecord."""
    return {
        "id": uuid_text(id),
        "resourceType": acl.resource_type,
        "resourceName": acl.resource_name,
        "patternType": acl.pattern_type,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permissionType": acl.permission_type,
    }
