"""Access control entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metashell.checks.facts import IMAGE
from metashell.checks.model import UNUSUAL, Found
from metashell.checks.registry import check
from metashell.codec.acl_hosts import is_range
from metashell.codec.code_words import ACL_OPERATIONS, ACL_PERMISSION_TYPES, ACL_RESOURCE_TYPES
from metashell.codec.metadata_version import ACL_RANGES_LEVEL

if TYPE_CHECKING:
    from metashell.checks.facts import Facts


@check(
    "acls.acl_range",
    UNUSUAL,
    "ACLs whose host has a /: no client matches them before Kafka 4.4, which takes them as ranges of addresses",
    IMAGE,
)
def acl_range(facts: Facts) -> Iterator[Found]:
    image = facts.image
    if (image.features.metadata_version or 0) >= ACL_RANGES_LEVEL:
        return
    for acl in sorted(image.acls.by_id.values()):
        if is_range(acl.host):
            done = f"{ACL_PERMISSION_TYPES.get(acl.permission_type)} {ACL_OPERATIONS.get(acl.operation)}"
            resource = f"{ACL_RESOURCE_TYPES.get(acl.resource_type)} {acl.resource_name}"
            yield Found(f"{done} for {acl.principal} from {acl.host} on {resource}")
