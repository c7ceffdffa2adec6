"""What brokers leave out of lists, found by what they answer to three questions."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.cli.admin.topics import unseen_groups, unseen_topics
from metashell.codec import messages
from metashell.codec.codes import ACL_OPERATIONS, ACL_PATTERN_TYPES, ACL_PERMISSION_TYPES, ACL_RESOURCE_TYPES, code_of
from metashell.codec.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    NONE,
    SECURITY_DISABLED,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)


class Broker:
    """Stands for an `Admin`: a broker that hides the topics whose name `hides` is true of, and has these denials."""

    def __init__(self, denials: tuple[tuple[str, str, str], ...] = (), hides: Any = lambda name: False, acls: int = NONE) -> None:
        self._denials = denials
        self._hides = hides
        self._acls = acls

    def ask_active(self, request: Any) -> Any:
        made = messages.DescribeAclsResponse
        resources = tuple(
            made.DescribeAclsResource(
                resource_type=code_of(ACL_RESOURCE_TYPES, "TOPIC"),
                resource_name=name,
                pattern_type=code_of(ACL_PATTERN_TYPES, pattern),
                acls=(
                    made.AclDescription(
                        principal="User:somebody",
                        host="*",
                        operation=code_of(ACL_OPERATIONS, operation),
                        permission_type=code_of(ACL_PERMISSION_TYPES, "DENY"),
                    ),
                ),
            )
            for name, pattern, operation in self._denials
        )
        return made(error_code=self._acls, resources=resources)

    def ask(self, request: Any) -> Any:
        assert not request.allow_auto_topic_creation
        made = messages.MetadataResponse
        topic = made.MetadataResponseTopic
        codes = {one.name: TOPIC_AUTHORIZATION_FAILED if self._hides(one.name) else UNKNOWN_TOPIC_OR_PARTITION for one in request.topics}
        return made(topics=tuple(topic(name=name, error_code=code) for name, code in codes.items()))


def unseen(broker: Broker, *seen: str) -> list[str]:
    return unseen_topics(broker, seen)  # type: ignore[arg-type]


def test_without_an_authorizer_everything_is_seen() -> None:
    assert unseen(Broker(acls=SECURITY_DISABLED, hides=lambda name: True)) == []


def test_who_may_describe_any_name_sees_all() -> None:
    assert unseen(Broker()) == []
    # Somebody else is denied.
    assert unseen(Broker((("secret", "LITERAL", "DESCRIBE"), ("pay", "PREFIXED", "ALL")))) == []


def test_who_may_not_describe_any_name_may_lack_topics() -> None:
    (hole,) = unseen(Broker((("secret", "LITERAL", "ALL"),), hides=lambda name: name != "orders"), "orders")
    assert hole.startswith("topics: this user has not the right to DESCRIBE all of them")


@pytest.mark.parametrize(
    ("denial", "words"),
    [(("secret", "LITERAL", "DESCRIBE"), "topic secret, if there is one: "), (("sec", "PREFIXED", "ALL"), "topics that begin with sec: ")],
)
def test_a_denial_that_holds_for_this_user_is_a_hole(denial: tuple[str, str, str], words: str) -> None:
    broker = Broker((denial,), hides=lambda name: name.startswith("sec"))
    assert unseen(broker, "orders") == [f"{words}DESCRIBE is denied to this user"]


def test_a_denial_of_something_else_hides_nothing() -> None:
    assert unseen(Broker((("secret", "LITERAL", "WRITE"),), hides=lambda name: name == "secret")) == []


def test_denials_that_cannot_be_read_may_hide_topics() -> None:
    (hole,) = unseen(Broker(acls=CLUSTER_AUTHORIZATION_FAILED))
    assert "topics that are denied to this user are not known" in hole and "DESCRIBE on the cluster" in hole


@pytest.mark.parametrize(("allowed", "is_whole"), [(1 << 8, True), (0, False), (-(1 << 31), False)])
def test_all_groups_are_listed_to_who_may_describe_the_cluster(allowed: int, is_whole: bool) -> None:
    class Cluster:
        def ask(self, request: Any) -> Any:
            assert request.include_cluster_authorized_operations
            return messages.DescribeClusterResponse(cluster_authorized_operations=allowed)

    assert (unseen_groups(Cluster()) == []) is is_whole  # type: ignore[arg-type]
