"""ACLs, quotas and credentials: what is asked, what the answers come to, and the same from metadata."""

from __future__ import annotations

import hashlib
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import pytest

from metashell.cli.admin import users
from metashell.cli.admin.client import Admin
from metashell.cli.admin.protocol import AdminError
from metashell.cli.admin.users import AclEntry, AclFilter, Quotas, ScramUser
from metashell.codec import messages
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST, RESOURCE_NOT_FOUND, SECURITY_DISABLED
from tests.cli.admin.recorder import Recorder


def admin(recorder: Recorder) -> Admin:
    return cast("Admin", recorder)


READ = AclEntry("TOPIC", "orders", "LITERAL", "User:a", "*", "READ", "ALLOW")
DENY = AclEntry("GROUP", "g", "PREFIXED", "User:b", "10.0.0.1", "ALL", "DENY")
CODES = {"TOPIC": 2, "GROUP": 3, "READ": 3, "ALL": 2, "ALLOW": 3, "DENY": 2, "LITERAL": 3, "PREFIXED": 4, "ANY": 1, "MATCH": 2}


def who_and_what(entry: AclEntry) -> dict[str, Any]:
    return {
        "principal": entry.principal,
        "host": entry.host,
        "operation": CODES[entry.operation],
        "permission_type": CODES[entry.permission_type],
    }


def resource(entry: AclEntry, pattern: str = "pattern_type") -> dict[str, Any]:
    return {"resource_type": CODES[entry.resource_type], "resource_name": entry.resource_name, pattern: CODES[entry.pattern_type]}


def test_entries_are_read_sorted() -> None:
    made = messages.DescribeAclsResponse
    answer = made(
        resources=tuple(
            made.DescribeAclsResource(acls=(made.AclDescription(**who_and_what(one)),), **resource(one)) for one in (READ, DENY)
        )
    )
    recorder = Recorder(answer, made(error_code=SECURITY_DISABLED))
    assert users.describe_acls(admin(recorder), users.filter_for(READ)) == [DENY, READ]
    wanted = {
        "resource_type_filter": 2,
        "resource_name_filter": "orders",
        "pattern_type_filter": 3,
        "principal_filter": "User:a",
        "host_filter": "*",
        "operation": 3,
        "permission_type": 3,
    }
    assert recorder.asked == [messages.DescribeAclsRequest(**wanted)]
    with pytest.raises(AdminError, match=r"^ACLs: SECURITY_DISABLED"):
        users.describe_acls(admin(recorder), AclFilter())
    every = dict.fromkeys(wanted, 1) | dict.fromkeys(("resource_name_filter", "principal_filter", "host_filter"))
    assert recorder.asked[1] == messages.DescribeAclsRequest(**every)
    assert [str(one) for one in (READ, DENY)] == [
        "ALLOW User:a from * to READ TOPIC:orders",
        "DENY User:b from 10.0.0.1 to ALL GROUP:g (prefixed)",
    ]


def test_entries_are_created_each_with_its_error() -> None:
    made, told = messages.CreateAclsRequest, messages.CreateAclsResponse.AclCreationResult
    recorder = Recorder(messages.CreateAclsResponse(results=(told(), told(error_code=INVALID_REQUEST, error_message="No."))))
    (first, none), (second, error) = users.create_acls(admin(recorder), [READ, DENY])
    assert (first, none, second, str(error)) == (READ, None, DENY, f"{DENY}: INVALID_REQUEST: No.")
    creations = tuple(made.AclCreation(**resource(one, "resource_pattern_type"), **who_and_what(one)) for one in (READ, DENY))
    assert recorder.asked == [made(creations=creations)]


def test_what_two_filters_match_is_deleted_once() -> None:
    made = messages.DeleteAclsResponse
    one, two = (made.DeleteAclsMatchingAcl(**resource(each), **who_and_what(each)) for each in (READ, DENY))
    failed = made.DeleteAclsMatchingAcl(**resource(DENY), **who_and_what(DENY), error_code=INVALID_REQUEST)
    result = made.DeleteAclsFilterResult
    recorder = Recorder(
        made(filter_results=(result(matching_acls=(one,)), result(matching_acls=(failed, one)), result(matching_acls=(two,)))),
        made(filter_results=(result(), result(error_code=SECURITY_DISABLED))),
    )
    (first, error), (second, none) = users.delete_acls(admin(recorder), [AclFilter(), users.filter_for(DENY)])
    assert (first, second, none) == (DENY, READ, None) and error is not None and error.thing == str(DENY)
    filters = recorder.asked[0].filters
    assert [(each.resource_type_filter, each.pattern_type_filter, each.host_filter) for each in filters] == [
        (1, 1, None),
        (3, 4, "10.0.0.1"),
    ]
    with pytest.raises(AdminError, match=r"^ACLs: SECURITY_DISABLED"):
        users.delete_acls(admin(recorder), [AclFilter()])


ACLS = [
    SimpleNamespace(resource_type=CODES[kind], resource_name=name, pattern_type=CODES[pattern], **who_and_what(one))
    for kind, (name, pattern), one in product(
        ("TOPIC", "GROUP"), (("orders", "LITERAL"), ("ord", "PREFIXED"), ("*", "LITERAL"), ("orders-2", "LITERAL")), (READ, DENY)
    )
]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (AclFilter(), {"orders", "ord", "*", "orders-2"}),
        (AclFilter(resource_name="orders"), {"orders"}),
        (AclFilter(resource_name="ord"), {"ord"}),
        (AclFilter(resource_name="ord", pattern_type="LITERAL"), set()),
        (AclFilter(resource_name="orders", pattern_type="MATCH"), {"orders", "ord", "*"}),
        (AclFilter(resource_name="x", pattern_type="MATCH"), {"*"}),
        (AclFilter(pattern_type="MATCH"), {"orders", "ord", "*", "orders-2"}),
        (AclFilter(pattern_type="PREFIXED"), {"ord"}),
        (AclFilter(resource_name="orders", pattern_type="PREFIXED"), set()),
        (AclFilter(pattern_type="LITERAL"), {"orders", "*", "orders-2"}),
    ],
)
def test_a_filter_matches_the_same_in_metadata(wanted: AclFilter, names: set[str]) -> None:
    """As ResourcePatternFilter.matches and AccessControlEntryFilter.matches decide it."""
    found = users.matching_acls(ACLS, wanted)
    assert {one.resource_name for one in found} == names and len(found) == 4 * len(names) and found == sorted(found)


@pytest.mark.parametrize("name", ["resource_type", "principal", "host", "operation", "permission_type"])
def test_each_part_of_a_filter_counts(name: str) -> None:
    found = users.matching_acls(ACLS, AclFilter(**{name: getattr(DENY, name)}))
    assert len(found) == 8 and {getattr(one, name) for one in found} == {getattr(DENY, name)}
    assert users.matching_acls(
        ACLS, users.filter_for(AclEntry("TOPIC", "orders", "LITERAL", *(getattr(READ, one) for one in READ.__slots__[3:])))
    )


def test_words_are_in_kafkas_order() -> None:
    codes = {0: "UNKNOWN", 1: "ANY", 2: "MATCH", 3: "LITERAL", 4: "PREFIXED"}
    assert users.words_of(codes) == ("LITERAL", "PREFIXED")
    assert users.words_of(codes, ["LITERAL"]) == ("UNKNOWN", "ANY", "MATCH", "PREFIXED")


# ---- quotas

BOTH: users.Entity = (("user", "a"), ("client-id", None))


def test_quotas_are_read_in_order() -> None:
    made = messages.DescribeClientQuotasResponse

    def entry(*pairs: tuple[str, str | None], **values: float) -> Any:
        parts = tuple(made.EntityData(entity_type=kind, entity_name=name) for kind, name in pairs)
        return made.EntryData(entity=parts, values=tuple(made.ValueData(key=key, value=value) for key, value in values.items()))

    pairs = [
        (("ip", "::1"),),
        (("odd", "x"), ("client-id", "c")),
        (("user", "b"),),
        (("client-id", None), ("user", "a")),
        (("user", None),),
    ]
    recorder = Recorder(
        made(entries=tuple(entry(*one, rate=2.5) for one in pairs)), made(entries=None), made(error_code=CLUSTER_AUTHORIZATION_FAILED)
    )
    found = users.describe_quotas(admin(recorder), {"user": None, "ip": "::1"}, is_strict=True)
    assert [users.entity_text(one.entity) for one in found] == [
        "user=<default>",
        "user=a,client-id=<default>",
        "user=b",
        "client-id=c,odd=x",
        "ip=::1",
    ]
    assert all(one.values == {"rate": 2.5} for one in found)
    wanted = messages.DescribeClientQuotasRequest
    default = wanted.ComponentData(entity_type="user", match_type=1, match=None)
    exact = wanted.ComponentData(entity_type="ip", match_type=0, match="::1")
    assert recorder.asked == [wanted(components=(default, exact), strict=True)]
    assert users.describe_quotas(admin(recorder), {}) == [] and not recorder.asked[1].strict
    with pytest.raises(AdminError, match=r"^quotas: CLUSTER_AUTHORIZATION_FAILED"):
        users.describe_quotas(admin(recorder), {})


QUOTAS: dict[users.Entity, dict[str, float]] = {
    entity: {"rate": 1.0} for entity in (BOTH, (("user", "a"),), (("user", None),), (("client-id", None),), (("ip", "::1"),))
}


@pytest.mark.parametrize(
    ("wanted", "is_strict", "count"),
    [
        ({}, False, 5),
        ({}, True, 0),
        ({"user": "a"}, False, 2),
        ({"user": "a"}, True, 1),
        ({"user": None}, False, 1),
        ({"client-id": None}, False, 2),
        ({"client-id": None, "user": "a"}, True, 1),
        ({"ip": "::2"}, False, 0),
    ],
)
def test_a_filter_of_quotas_matches_the_same_in_metadata(wanted: dict[str, str | None], is_strict: bool, count: int) -> None:
    found = users.matching_quotas(QUOTAS, wanted, is_strict=is_strict)
    assert len(found) == count and found == users.by_entity(found)
    assert all(dict(one.entity).items() >= wanted.items() for one in found)
    assert not is_strict or all(dict(one.entity) == wanted for one in found)


def test_a_filter_of_quotas_is_not_strict_by_itself() -> None:
    assert users.matching_quotas(QUOTAS, {"user": "a"})[1:] == [Quotas(BOTH, {"rate": 1.0})]


@pytest.mark.parametrize("dry", [False, True])
def test_quotas_are_set_and_removed(dry: bool) -> None:
    made, told = messages.AlterClientQuotasRequest, messages.AlterClientQuotasResponse
    parts = tuple(told.EntityData(entity_type=kind, entity_name=name) for kind, name in BOTH[::-1])
    one = told.EntryData(entity=parts, error_code=INVALID_REQUEST, error_message="No.")
    other = told.EntryData(entity=(told.EntityData(entity_type="ip", entity_name="::1"),))
    recorder = Recorder(told(entries=(other, one)))
    changes = [(BOTH[::-1], {"a": 1.5, "b": None}), ((("ip", "::1"),), {"c": 0.0})]
    (_, error), last = users.alter_quotas(admin(recorder), changes, is_dry_run=dry)
    assert (str(error), last) == ("user=a,client-id=<default>: INVALID_REQUEST: No.", ((("ip", "::1"),), None))
    op, entity = made.OpData, made.EntityData
    entries = (
        made.EntryData(
            entity=(entity(entity_type="client-id", entity_name=None), entity(entity_type="user", entity_name="a")),
            ops=(op(key="a", value=1.5, remove=False), op(key="b", value=0.0, remove=True)),
        ),
        made.EntryData(entity=(entity(entity_type="ip", entity_name="::1"),), ops=(op(key="c", value=0.0, remove=False),)),
    )
    assert recorder.asked == [made(entries=entries, validate_only=dry)]


# ---- credentials


def test_credentials_are_read_of_all_or_of_some() -> None:
    made = messages.DescribeUserScramCredentialsResponse
    result, info = made.DescribeUserScramCredentialsResult, made.CredentialInfo
    answer = made(
        results=(
            result(user="b", credential_infos=(info(mechanism=2, iterations=5000), info(mechanism=1, iterations=4096))),
            result(user="c", error_code=RESOURCE_NOT_FOUND, error_message="None."),
            result(user="a", credential_infos=(info(mechanism=9, iterations=1),)),
        )
    )
    recorder = Recorder(answer, answer, made(error_code=CLUSTER_AUTHORIZATION_FAILED))
    found, errors = users.describe_scram(admin(recorder), ["b", "c"])
    assert found == [ScramUser("a", "UNKNOWN-9", 1), ScramUser("b", "SCRAM-SHA-256", 4096), ScramUser("b", "SCRAM-SHA-512", 5000)]
    assert [str(error) for error in errors] == ["c: RESOURCE_NOT_FOUND: None."]
    users.describe_scram(admin(recorder))
    wanted = messages.DescribeUserScramCredentialsRequest
    assert recorder.asked == [wanted(users=tuple(wanted.UserName(name=name) for name in names)) for names in ("bc", "")]
    with pytest.raises(AdminError, match=r"^SCRAM credentials: CLUSTER_AUTHORIZATION_FAILED"):
        users.describe_scram(admin(recorder))


@pytest.mark.parametrize(("mechanism", "code", "digest"), [("SCRAM-SHA-256", 1, "sha256"), ("SCRAM-SHA-512", 2, "sha512")])
def test_a_password_is_salted_and_never_sent(mechanism: str, code: int, digest: str) -> None:
    told = messages.AlterUserScramCredentialsResponse
    fine = told(results=(told.AlterUserScramCredentialsResult(user="a"),))
    refused = told(results=(told.AlterUserScramCredentialsResult(user="a", error_code=INVALID_REQUEST, error_message="No."),))
    recorder = Recorder(fine, fine, fine, refused)
    password = b"p\xc3\xa4ss\xff".decode("utf-8", "surrogateescape")
    for _ in range(2):
        users.set_scram(admin(recorder), ScramUser("a", mechanism, 4100), password)
    one, two = (request.upsertions[0] for request in recorder.asked)
    assert (one.name, one.mechanism, one.iterations) == ("a", code, 4100)
    assert one.salted_password == hashlib.pbkdf2_hmac(digest, b"p\xc3\xa4ss\xff", one.salt, 4100)
    assert len(one.salt) == 24 and one.salt != two.salt
    users.delete_scram(admin(recorder), "a", mechanism)
    made = messages.AlterUserScramCredentialsRequest
    assert recorder.asked[2] == made(deletions=(made.ScramCredentialDeletion(name="a", mechanism=code),))
    with pytest.raises(AdminError, match=r"^a: INVALID_REQUEST: No.$"):
        users.delete_scram(admin(recorder), "a", mechanism)
    assert users.ITERATIONS_MAX == 16384


def test_credentials_of_metadata_are_told_as_a_broker_tells_them() -> None:
    held = {2: {"b": SimpleNamespace(iterations=5000)}, 1: {"b": SimpleNamespace(iterations=4096), "a": SimpleNamespace(iterations=8192)}}
    every = [ScramUser("a", "SCRAM-SHA-256", 8192), ScramUser("b", "SCRAM-SHA-256", 4096), ScramUser("b", "SCRAM-SHA-512", 5000)]
    assert users.scram_users(held) == (every, [])
    found, (error,) = users.scram_users(held, ["b", "x"])
    assert found == every[1:]
    assert str(error) == "x: RESOURCE_NOT_FOUND: Attempt to describe a user credential that does not exist: x"
