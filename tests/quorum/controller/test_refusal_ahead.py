"""Requests that are refused whatever their body says: the same refusals as where each item is looked at."""

from __future__ import annotations

import random
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, NOT_CONTROLLER
from metashell.quorum.controller import QuorumController, Request
from metashell.quorum.controller.settings import Settings

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "node.id": "1",
    "process.roles": "controller",
}
CREATE = messages.CreateTopicsRequest
DELETE = messages.DeleteTopicsRequest
GROW = messages.CreatePartitionsRequest
DESCRIBE = messages.DescribeConfigsRequest
ALTER = messages.AlterConfigsRequest
CHANGE = messages.IncrementalAlterConfigsRequest
TYPES = (2, 4, 16, 32)
ITEMS: list[tuple[int, int, Any]] = [
    (19, 7, CREATE(topics=tuple(CREATE.CreatableTopic(name=name) for name in "ab"), timeout_ms=1000)),
    (20, 6, DELETE(topics=tuple(DELETE.DeleteTopicState(name=name) for name in "ab"), timeout_ms=1000)),
    (20, 5, DELETE(topic_names=("a", "b"), timeout_ms=1000)),
    (37, 3, GROW(topics=tuple(GROW.CreatePartitionsTopic(name=name, count=2) for name in "ab"), timeout_ms=1000)),
    (32, 4, DESCRIBE(resources=tuple(DESCRIBE.DescribeConfigsResource(resource_type=kind, resource_name="1") for kind in TYPES))),
    (33, 2, ALTER(resources=tuple(ALTER.AlterConfigsResource(resource_type=kind, resource_name="1") for kind in TYPES))),
    (44, 1, CHANGE(resources=tuple(CHANGE.AlterConfigsResource(resource_type=kind, resource_name="1") for kind in TYPES))),
]


def controller(more: dict[str, str] | None = None, *, is_active: bool = True) -> QuorumController:
    made = QuorumController(Settings({**AUTHORIZER, **(more or {})}, "x" * 22, 1), random.Random(1))
    if is_active:
        offset = 0
        for batch in made.claim(1, 0, 0).batches():
            made.replay(batch, offset)
            offset += len(batch)
        made.commit(offset - 1)
    return made


def allow(made: QuorumController, principal: str) -> bytes:
    """Write an ACL that allows a principal something, and commit it."""
    id = bytes(15) + b"\1"
    record = messages.AccessControlEntryRecord(
        id=id, resource_type=2, resource_name="mine", pattern_type=3, principal=principal, host="*", operation=2, permission_type=3
    )
    offset = made.state.next_write_offset
    made.replay([(record, 0)], offset)
    made.commit(offset)
    return id


def shown(answer: Any) -> list[tuple[Any, ...]]:
    """The items of an answer, in any order."""
    items = next(value for name in ("topics", "responses", "results") if (value := getattr(answer, name, None)))
    return sorted(tuple(getattr(item, name) for name in type(item).__slots__ if name != "configs") for item in items)


@pytest.mark.parametrize(("key", "version", "body"), ITEMS, ids=[f"{key}-{version}" for key, version, _ in ITEMS])
def test_who_has_no_right_at_all_is_refused_as_by_each_item(key: int, version: int, body: Any) -> None:
    made = controller()
    request = Request(key, version, body, principal="User:eve")
    refuse = made.refusal_ahead(request._replace(body=None))
    assert refuse is not None
    assert shown(refuse(request)) == shown(made.decide(request, 0).answer)


@pytest.mark.parametrize(("key", "version", "body"), ITEMS, ids=[f"{key}-{version}" for key, version, _ in ITEMS])
def test_who_may_have_a_right_is_looked_at(key: int, version: int, body: Any) -> None:
    asked = Request(key, version, None, principal="User:eve")
    made = controller()
    assert made.refusal_ahead(asked._replace(principal="User:admin")) is None
    allow(made, "User:somebody else")
    assert made.refusal_ahead(asked) is not None
    for principal in ("User:eve", "User:*"):
        made = controller()
        id = allow(made, principal)
        assert made.refusal_ahead(asked) is None
        offset = made.state.next_write_offset
        made.replay([(messages.RemoveAccessControlEntryRecord(id=id), 0)], offset)
        made.commit(offset)
    assert controller({"allow.everyone.if.no.acl.found": "true"}).refusal_ahead(asked) is None
    assert controller({"authorizer.class.name": ""}).refusal_ahead(asked) is None


def test_the_right_for_the_cluster_and_the_active_controller_come_first() -> None:
    made = controller()
    alter = messages.AlterUserScramCredentialsRequest
    body = alter(deletions=(alter.ScramCredentialDeletion(name="a", mechanism=1),), upsertions=())
    request = Request(51, 0, body, principal="User:eve")
    refuse = made.refusal_ahead(request)
    assert refuse is not None and shown(refuse(request)) == shown(made.decide(request, 0).answer)
    envelope = Request(58, 0, messages.EnvelopeRequest(), principal="User:eve")
    refuse = made.refusal_ahead(envelope)
    assert refuse is not None and refuse(envelope).error_code == CLUSTER_AUTHORIZATION_FAILED
    standby = controller(is_active=False)
    key, version, body = ITEMS[0]
    request = Request(key, version, body, principal="User:admin")
    refuse = standby.refusal_ahead(request)
    assert refuse is not None and refuse(request).topics[0].error_code == NOT_CONTROLLER
    assert standby.refusal_ahead(Request(32, 4, None, principal="User:admin")) is None
