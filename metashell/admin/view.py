"""What the answers of brokers leave out: topics and groups that the asker may not see are not listed, and no answer says so.

Whether that can have happened is found out by three cheap questions. Source: kafka.server.KafkaApis (handleTopicMetadataRequest answers a
name that may not be described with TOPIC_AUTHORIZATION_FAILED, also where there is no such topic), AclApis (SECURITY_DISABLED without an
authorizer), AuthHelper; a denial counts before any permission (org.apache.kafka.metadata.authorizer.StandardAuthorizerData).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from metashell.admin.acls import AclFilter, describe_acls
from metashell.admin.errors import AdminError, UnsupportedError
from metashell.admin.nodes import BROKER_ENDPOINTS
from metashell.codec.error_codes import NONE, SECURITY_DISABLED, TOPIC_AUTHORIZATION_FAILED
from metashell.codec.messages import DescribeClusterRequest, MetadataRequest

if TYPE_CHECKING:
    from collections.abc import Collection

    from metashell.admin.acls import AclEntry
    from metashell.admin.admin import Admin

NAME_MAX: Final = 249
_ANY: Final = "*"
_HIDING: Final = frozenset({"DESCRIBE", "ALL"})
"""Operations whose denial hides a topic."""
_NO_OPERATIONS: Final = frozenset({0, -(1 << 31)})
"""The cluster's authorized operations for who may not DESCRIBE it, and where the answer has none."""


def unseen_topics(admin: Admin, seen: Collection[str]) -> list[str]:
    """Why a list of all topics may lack some, in words; nothing where it cannot. `seen` are the topics that it has. Through brokers."""
    denials: list[AclEntry] = []
    unknown = ""
    try:
        denials = describe_acls(admin, AclFilter(resource_type="TOPIC", permission_type="DENY"))
    except UnsupportedError:
        pass  # nothing that could deny
    except AdminError as error:
        if error.code == SECURITY_DISABLED:
            return []
        unknown = f"topics that are denied to this user are not known ({error.name}: to read ACLs needs DESCRIBE on the cluster)"
    # A name that nobody has given shows what holds for all names.
    random = f"metashell-{os.urandom(12).hex()}"
    probes = {random: "topics: this user has not the right to DESCRIBE all of them (TOPIC_AUTHORIZATION_FAILED)"}
    for entry in denials:
        if entry.operation in _HIDING and entry.resource_name != _ANY and entry.resource_name not in seen:
            is_prefix = entry.pattern_type == "PREFIXED"
            name = f"{entry.resource_name}{random}"[:NAME_MAX] if is_prefix else entry.resource_name
            what = f"topics that begin with {entry.resource_name}" if is_prefix else f"topic {entry.resource_name}, if there is one"
            probes.setdefault(name, f"{what}: DESCRIBE is denied to this user")
    asked = tuple(MetadataRequest.MetadataRequestTopic(name=name) for name in probes)
    answer = admin.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False))
    refused = {topic.name for topic in answer.topics if topic.error_code == TOPIC_AUTHORIZATION_FAILED}
    found = [words for name, words in probes.items() if name in refused]
    return [found[0]] if random in refused else [*found, *filter(None, [unknown])]


def unseen_groups(admin: Admin) -> list[str]:
    """Why a list of all groups may lack some: without DESCRIBE on the cluster each group is listed only to who may describe it."""
    try:
        answer = admin.ask(DescribeClusterRequest(endpoint_type=BROKER_ENDPOINTS, include_cluster_authorized_operations=True))
    except UnsupportedError as error:
        return [f"groups: whether all are listed is not known ({error})"]
    if answer.error_code == NONE and answer.cluster_authorized_operations not in _NO_OPERATIONS:
        return []
    return ["groups: only those that this user may DESCRIBE are listed (all are with DESCRIBE on the cluster)"]
