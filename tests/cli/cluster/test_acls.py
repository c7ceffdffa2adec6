"""metashell acls, against a quorum with an authorizer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import AUTHORIZER, lines, objects

KEYS = {"type", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type"}


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, properties=AUTHORIZER) as quorum:
        yield quorum


@pytest.fixture
def quorum(running: EmbeddedQuorum) -> Iterator[EmbeddedQuorum]:
    yield running
    if running.image.acls.by_id:
        lines(running, "acls", "remove", "--all", "--yes")


def entries(quorum: EmbeddedQuorum, *words: str) -> set[str]:
    return {
        f"{one['permission_type']} {one['principal']} {one['host']} {one['operation']} {one['resource_type']}:{one['resource_name']} "
        f"{one['pattern_type']}"
        for one in objects(quorum, "acls", "list", *words)
    }


def test_an_entry_is_added_for_each_combination(quorum: EmbeddedQuorum) -> None:
    words = ["--allow", "alice", "--allow-principal", "Group:g", "--operation", "read,Describe-Configs", "--topic", "a", "--topic", "b"]
    told = lines(quorum, "acls", "add", *words, "--host", "10.0.0.1", "--host", "*")
    assert len(told) == 16
    assert told[0] == "ALLOW User:alice from 10.0.0.1 to READ TOPIC:a: added"
    found = entries(quorum)
    assert len(found) == 16
    assert "ALLOW Group:g * DESCRIBE_CONFIGS TOPIC:b LITERAL" in found


def test_what_a_producer_and_a_consumer_need(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "acls", "add", "--allow", "app", "--producer", "--topic", "out", "--transactional-id", "tx")
    lines(quorum, "acls", "add", "--allow", "app", "--consumer", "--topic", "in", "--group", "app-", "--pattern", "prefixed")
    assert entries(quorum, "--principal", "app") == {
        *(f"ALLOW User:app * {operation} TOPIC:out LITERAL" for operation in ("WRITE", "DESCRIBE", "CREATE")),
        *(f"ALLOW User:app * {operation} TRANSACTIONAL_ID:tx LITERAL" for operation in ("WRITE", "DESCRIBE")),
        *(f"ALLOW User:app * {operation} TOPIC:in PREFIXED" for operation in ("READ", "DESCRIBE")),
        "ALLOW User:app * READ GROUP:app- PREFIXED",
    }


def test_every_kind_of_resource_has_its_own_operations(quorum: EmbeddedQuorum) -> None:
    for words in (
        ["--operation", "create-tokens", "--user-principal", "bob"],
        ["--operation", "two-phase-commit", "--transactional-id", "tx"],
        ["--operation", "describe", "--delegation-token", "id"],
        ["--operation", "idempotent-write", "--cluster"],
    ):
        lines(quorum, "acls", "add", "--allow", "alice", *words)
    assert entries(quorum) == {
        "ALLOW User:alice * CREATE_TOKENS USER:User:bob LITERAL",
        "ALLOW User:alice * TWO_PHASE_COMMIT TRANSACTIONAL_ID:tx LITERAL",
        "ALLOW User:alice * DESCRIBE DELEGATION_TOKEN:id LITERAL",
        "ALLOW User:alice * IDEMPOTENT_WRITE CLUSTER:kafka-cluster LITERAL",
    }
    assert entries(quorum, "--user-principal", "bob") == {"ALLOW User:alice * CREATE_TOKENS USER:User:bob LITERAL"}


def test_an_entry_that_is_there_stays_one(quorum: EmbeddedQuorum) -> None:
    words = ["--allow", "alice", "--operation", "read", "--topic", "orders"]
    assert objects(quorum, "acls", "add", *words, "--dry-run")[0]["result"] == "would be added"
    assert entries(quorum) == set()
    lines(quorum, "acls", "add", *words)
    assert objects(quorum, "acls", "add", *words, "--dry-run")[0]["result"] == "is there already"
    lines(quorum, "acls", "add", *words)
    assert len(quorum.image.acls.by_id) == 1


def test_a_denial_is_asked_about(quorum: EmbeddedQuorum) -> None:
    words = ["--deny", "mallory", "--operation", "all", "--cluster"]
    warning, refusal = lines(quorum, "acls", "add", *words, status=2)
    assert warning.endswith("warning: DENY User:mallory from * to ALL CLUSTER:kafka-cluster: it outweighs every ALLOW")
    assert "nothing was changed: add --yes" in refusal
    assert entries(quorum) == set()
    lines(quorum, "acls", "add", *words, "--yes")
    assert entries(quorum) == {"DENY User:mallory * ALL CLUSTER:kafka-cluster LITERAL"}


def test_filters_choose_entries(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "acls", "add", "--allow", "alice", "--operation", "read", "--topic", "orders", "--topic", "other", "--topic", "*")
    lines(quorum, "acls", "add", "--allow", "bob", "--operation", "write", "--topic", "ord", "--pattern", "prefixed")
    lines(quorum, "acls", "add", "--deny", "bob", "--operation", "describe", "--group", "orders", "--host", "10.0.0.1", "--yes")
    assert entries(quorum, "--topic", "orders") == {"ALLOW User:alice * READ TOPIC:orders LITERAL"}
    assert entries(quorum, "--topic", "orders", "--pattern", "match") == {
        "ALLOW User:alice * READ TOPIC:orders LITERAL",
        "ALLOW User:alice * READ TOPIC:* LITERAL",
        "ALLOW User:bob * WRITE TOPIC:ord PREFIXED",
    }
    assert len(entries(quorum, "--principal", "bob")) == 2
    assert len(entries(quorum, "--topic", "orders", "--group", "orders")) == 2
    assert entries(quorum, "--host", "10.0.0.1") == entries(quorum, "--permission", "deny")
    assert len(entries(quorum, "--operation", "write,describe")) == 2
    assert len(entries(quorum, "--pattern", "prefixed")) == 1
    assert entries(quorum, "--principal", "nobody") == set()


def test_the_forms_of_a_list(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "acls", "list") == ["metashell acls list: no ACLs"]
    assert lines(quorum, "acls", "list", "-o", "json") == ["[]"]
    lines(quorum, "acls", "add", "--allow", "alice", "--operation", "read", "--topic", "orders")
    assert lines(quorum, "acls", "list") == [
        "PRINCIPAL   PERMISSION_TYPE  OPERATION  RESOURCE_TYPE  RESOURCE_NAME  PATTERN_TYPE  HOST",
        "User:alice  ALLOW            READ       TOPIC          orders         LITERAL       *",
    ]
    assert lines(quorum, "acls", "list", "-o", "csv")[1] == "User:alice,ALLOW,READ,TOPIC,orders,LITERAL,*,acl"
    assert objects(quorum, "acls", "list")[0].keys() == KEYS
    assert objects(quorum, "acls", "remove", "--topic", "orders", "--dry-run")[0].keys() == KEYS | {"result"}


def test_what_is_removed_was_shown_before(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "acls", "add", "--allow", "alice", "--operation", "read,write", "--topic", "orders")
    lines(quorum, "acls", "add", "--allow", "bob", "--operation", "read", "--topic", "orders")
    told = lines(quorum, "acls", "remove", "--principal", "alice", status=2)
    assert told[0].endswith("warning: ALLOW User:alice from * to READ TOPIC:orders will be removed")
    assert len(entries(quorum)) == 3
    assert lines(quorum, "acls", "remove", "--principal", "alice", "--dry-run") == [
        "ALLOW User:alice from * to READ TOPIC:orders: would be removed",
        "ALLOW User:alice from * to WRITE TOPIC:orders: would be removed",
    ]
    assert len(entries(quorum)) == 3
    assert lines(quorum, "acls", "remove", "--principal", "alice", "--yes")[0] == "ALLOW User:alice from * to READ TOPIC:orders: removed"
    assert entries(quorum) == {"ALLOW User:bob * READ TOPIC:orders LITERAL"}
    assert lines(quorum, "acls", "remove", "--principal", "alice", "--yes", status=1)[0].endswith("no ACL fits: nothing was removed")


def test_more_entries_than_one_request_takes(quorum: EmbeddedQuorum) -> None:
    topics = [word for number in range(301) for word in ("--topic", f"t{number}")]
    assert len(lines(quorum, "acls", "add", "--allow", "alice", "--operation", "read,write", *topics)) == 602
    assert len(lines(quorum, "acls", "remove", "--principal", "alice", "--yes")) == 1204
    assert entries(quorum) == set()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "--allow", "a", "--operation", "raed", "--topic", "t"], "'raed' is not one of ALL, READ,"),
        (["add", "--allow", "a", "--topic", "t"], "name what may be done"),
        (["add", "--allow", "a", "--consumer", "--topic", "t", "--group", "g", "--cluster"], "CLUSTER: name an operation"),
        (["add", "--allow", "a", "--consumer", "--topic", "t"], "--consumer needs --topic and --group"),
        (["add", "--allow", "a", "--producer", "--group", "g"], "--producer needs --topic"),
        (["add", "--allow", "a", "--operation", "read", "--topic", "pay*"], "the name is no pattern; `--pattern prefixed` with 'pay'"),
        (["add", "--deny", "a", "--operation", "read", "--topic", "pay*", "--yes"], "the name is no pattern"),
        (["add", "--allow", "a", "--operation", "read", "--group", "app-*"], "the name is no pattern; `--pattern prefixed` with 'app-'"),
        (["add", "--allow", "a", "--operation", "read", "--topic", "*", "--pattern", "prefixed"], "as a prefix it fits no name"),
        (["add", "--allow", "a", "--operation", "read", "--topic", "a b"], "'a b': no TOPIC can have this name"),
        (
            ["add", "--allow", "a", "--operation", "write", "--topic", "t", "--group", "g"],
            "WRITE means nothing for GROUP, which has ALL, READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS",
        ),
        (["add", "--operation", "read", "--topic", "t"], "name whom to allow or deny"),
        (["add", "--allow", "a", "--operation", "read"], "name what the entry is about"),
        (["add", "--allow", "", "--operation", "read", "--topic", "t"], "'': a principal is User:NAME"),
        (["remove"], "or give --all"),
        (["list", "--pattern", "glob"], "'glob' is not one of any, literal, prefixed, match"),
        (["lsit"], "unknown command lsit (did you mean list?)"),
    ],
)
def test_a_wrong_command_line(words: list[str], said: str, quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "acls", *words, status=2)
    assert len(told) == 1 and said in told[0]


def test_a_host_that_never_fits_is_named(quorum: EmbeddedQuorum) -> None:
    words = ["--allow", "a", "--operation", "read", "--topic", "t", "--host", "*", "--host", "10.0.0.1", "--host", "10.0.0.0/8"]
    told = lines(quorum, "acls", "add", *words, "--host", "db.example.com", "--host", "::1", "--dry-run")
    assert [line for line in told if line.startswith("metashell")] == [
        "metashell acls add: db.example.com: Kafka compares addresses, so that no host name ever fits",
        "metashell acls add: ::1: Kafka writes this address 0:0:0:0:0:0:0:1, and compares the text",
    ]


def test_a_host_that_is_no_range_or_comes_before_ranges_count_is_named(quorum: EmbeddedQuorum) -> None:
    words = ["--allow", "a", "--operation", "read", "--topic", "t", "--host", "10.0.0.0/33", "--host", "::/0", "--dry-run"]
    bad = "metashell acls add: 10.0.0.0/33: no range of addresses: Value [33] not in range [0,32]"
    early = "metashell acls add: ::/0: ranges of addresses need metadata.version 4.4-IV1; at 4.3-IV0 no address fits"

    def notes(cluster: EmbeddedQuorum) -> list[str]:
        return [line for line in lines(cluster, "acls", "add", *words) if line.startswith("metashell")]

    assert notes(quorum) == [bad]
    with EmbeddedQuorum(controllers=1, metadata_version="4.3", properties=AUTHORIZER) as older:
        assert notes(older) == [bad, early]


def test_one_entry_is_refused_and_the_others_are_added(quorum: EmbeddedQuorum) -> None:
    told = objects(quorum, "acls", "add", "--allow", "a", "--operation", "read", "--topic", "", "--topic", "t", status=1)
    assert [one["result"] for one in told] == ["failed", "added"]
    assert told[0]["error"].startswith("INVALID_REQUEST") and told[0]["message"] == "Invalid empty resource name"
    assert entries(quorum) == {"ALLOW User:a * READ TOPIC:t LITERAL"}


def test_a_cluster_without_an_authorizer_says_so() -> None:
    with EmbeddedQuorum(controllers=1) as plain:
        for words in (["list"], ["add", "--allow", "a", "--operation", "read", "--topic", "t"], ["remove", "--all", "--yes"]):
            told = lines(plain, "acls", *words, status=1)
            assert len(told) == 1 and "SECURITY_DISABLED: No Authorizer is configured" in told[0]


def test_ranges_of_addresses_are_hosts(quorum: EmbeddedQuorum) -> None:
    words = ["--allow", "alice", "--operation", "read", "--topic", "a"]
    told = lines(quorum, "acls", "add", *words, "--host", "10.1.0.0/16", "--host", "2001:db8::/32")
    assert told == [f"ALLOW User:alice from {host} to READ TOPIC:a: added" for host in ("10.1.0.0/16", "2001:db8::/32")]
    assert [row["host"] for row in objects(quorum, "acls", "list", "--host", "10.1.0.0/16")] == ["10.1.0.0/16"]
    refused = lines(quorum, "acls", "add", *words, "--host", "10.1.2.3/33", status=1)[-1]
    assert "INVALID_REQUEST: Invalid CIDR notation '10.1.2.3/33': Value [33] not in range [0,32]" in refused
