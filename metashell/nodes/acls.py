"""Access control entries by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.code_words import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    code_name,
)
from metashell.nodes.node import FixedDirectory, KeyedDirectory, LeafKind, SubjectLeaf, uuid_directory
from metashell.nodes.tree import Tree
from metashell.values import uuid_text

if TYPE_CHECKING:
    from metashell.image import Acl

    Entry = tuple[bytes, Acl]
    """An id and its entry."""


def acls_node(name: str, tree: Tree) -> FixedDirectory:
    """/image/acls, with all entries under `byId`."""
    return FixedDirectory(name, {"byId": lambda name: acls_by_id_node(name, tree)})


def acls_by_id_node(name: str, tree: Tree) -> KeyedDirectory:
    """All entries under the texts of their ids."""
    return uuid_directory(name, tree.image.acls.by_id, lambda name, id, acl: SubjectLeaf(name, ACL, (id, acl)))


def acl_words(entry: Entry) -> dict[str, Any]:
    """Words for the codes of an entry."""
    _, acl = entry
    return {
        "resource_type": code_name(ACL_RESOURCE_TYPES, acl.resource_type),
        "pattern_type": code_name(ACL_PATTERN_TYPES, acl.pattern_type),
        "operation": code_name(ACL_OPERATIONS, acl.operation),
        "permission_type": code_name(ACL_PERMISSION_TYPES, acl.permission_type),
    }


def acl_text(entry: Entry) -> str:
    """Java's text of an entry, a record type since 4.2.

    Source: org.apache.kafka.metadata.authorizer.StandardAcl.
    """
    _, acl = entry
    words = acl_words(entry)
    return (
        f"StandardAcl[resourceType={words['resource_type']}, resourceName={acl.resource_name}, patternType={words['pattern_type']}"
        f", principal={acl.principal}, host={acl.host}, operation={words['operation']}, permissionType={words['permission_type']}]"
    )


def acl_value(entry: Entry) -> dict[str, Any]:
    """The entry under the field names of AccessControlEntryRecord."""
    id, acl = entry
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


ACL = LeafKind("acl", acl_text, acl_value, acl_words)
