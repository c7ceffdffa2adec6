"""What brokers alone answer about quotas and credentials: the requests that are sent, and what is made of the answers."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.cli.admin.protocol import AdminError
from metashell.cli.admin.users import (
    AclEntry,
    AclFilter,
    Quotas,
    ScramUser,
    describe_quotas,
    describe_scram,
    entity_text,
    filter_for,
    matching_quotas,
    scram_users,
)
from metashell.codec import messages
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, RESOURCE_NOT_FOUND


class Answers:
    """Stands for an `Admin` whose node gives this answer, and keeps what it was asked."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.asked: list[Any] = []

    def ask(self, request: Any) -> Any:
        self.asked.append(request)
        return self._answer


QUOTAS = messages.DescribeClientQuotasResponse
ENTRY, PART, VALUE = QUOTAS.EntryData, QUOTAS.EntityData, QUOTAS.ValueData
STORED = {
    (("user", "alice"),): {"producer_byte_rate": 1.0},
    (("client-id", "app"), ("user", "alice")): {"producer_byte_rate": 2.0},
    (("user", None),): {"request_percentage": 3.0},
    (("ip", "10.0.0.1"),): {"connection_creation_rate": 4.0},
}


def test_quotas_of_a_broker_are_ordered_by_entity() -> None:
    entries = tuple(
        ENTRY(
            entity=tuple(PART(entity_type=kind, entity_name=name) for kind, name in entity),
            values=tuple(VALUE(key=key, value=value) for key, value in values.items()),
        )
        for entity, values in reversed(STORED.items())
    )
    admin = Answers(QUOTAS(entries=entries))
    found = describe_quotas(admin, {"user": "alice", "client-id": None}, is_strict=True)  # type: ignore[arg-type]
    assert [entity_text(each.entity) for each in found] == ["user=<default>", "user=alice", "user=alice,client-id=app", "ip=10.0.0.1"]
    (request,) = admin.asked
    assert [(part.entity_type, part.match_type, part.match) for part in request.components] == [
        ("user", 0, "alice"),
        ("client-id", 1, None),
    ]
    assert request.strict


@pytest.mark.parametrize(
    ("wanted", "is_strict", "values"),
    [
        ({}, False, [3.0, 1.0, 2.0, 4.0]),
        ({}, True, []),
        ({"user": "alice"}, False, [1.0, 2.0]),
        ({"user": "alice"}, True, [1.0]),
        ({"user": None}, False, [3.0]),
        ({"user": "alice", "client-id": "app"}, True, [2.0]),
        ({"ip": None}, False, []),
    ],
)
def test_the_metadata_gives_what_a_broker_would(wanted: dict[str, str | None], is_strict: bool, values: list[float]) -> None:
    found: list[Quotas] = matching_quotas(STORED, wanted, is_strict=is_strict)
    assert [value for each in found for value in each.values.values()] == values


def test_refused_quotas_are_an_error() -> None:
    admin = Answers(QUOTAS(error_code=CLUSTER_AUTHORIZATION_FAILED, error_message="no", entries=None))
    with pytest.raises(AdminError, match="quotas: CLUSTER_AUTHORIZATION_FAILED: no"):
        describe_quotas(admin, {})  # type: ignore[arg-type]


CREDENTIALS = messages.DescribeUserScramCredentialsResponse
USER, INFO = CREDENTIALS.DescribeUserScramCredentialsResult, CREDENTIALS.CredentialInfo


def test_credentials_of_a_broker() -> None:
    bob = USER(user="bob", credential_infos=(INFO(mechanism=2, iterations=8192), INFO(mechanism=1, iterations=4096)))
    nobody = USER(user="nobody", error_code=RESOURCE_NOT_FOUND, error_message="none")
    admin = Answers(CREDENTIALS(results=(nobody, bob)))
    found, errors = describe_scram(admin, ["bob", "nobody"])  # type: ignore[arg-type]
    assert found == [ScramUser("bob", "SCRAM-SHA-256", 4096), ScramUser("bob", "SCRAM-SHA-512", 8192)]
    assert [(error.thing, error.code) for error in errors] == [("nobody", RESOURCE_NOT_FOUND)]
    assert [one.name for one in admin.asked[0].users] == ["bob", "nobody"]


def test_all_users_are_asked_for_by_an_empty_list() -> None:
    # Null means the same, but over it a broker of Kafka 4.3.1 fails, and never answers who may not ask.
    admin = Answers(CREDENTIALS(results=()))
    assert describe_scram(admin) == ([], [])  # type: ignore[arg-type]
    assert admin.asked[0].users == ()


def test_credentials_of_the_metadata() -> None:
    stored = {1: {"bob": ScramUser("", "", 4096)}, 2: {"alice": ScramUser("", "", 5000), "bob": ScramUser("", "", 6000)}}
    found, errors = scram_users(stored, ["bob", "nobody"])
    assert found == [ScramUser("bob", "SCRAM-SHA-256", 4096), ScramUser("bob", "SCRAM-SHA-512", 6000)]
    assert [error.thing for error in errors] == ["nobody"]
    assert len(scram_users(stored)[0]) == 3


def test_an_entry_is_its_own_filter() -> None:
    entry = AclEntry("TOPIC", "orders", "PREFIXED", "User:alice", "*", "READ", "ALLOW")
    assert str(entry) == "ALLOW User:alice from * to READ TOPIC:orders (prefixed)"
    assert filter_for(entry) == AclFilter(
        resource_type="TOPIC",
        resource_name="orders",
        pattern_type="PREFIXED",
        principal="User:alice",
        host="*",
        operation="READ",
        permission_type="ALLOW",
    )
