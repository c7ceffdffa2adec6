"""metashell quotas, through controllers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import lines, objects


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1) as quorum:
        yield quorum


@pytest.fixture
def quorum(running: EmbeddedQuorum) -> Iterator[EmbeddedQuorum]:
    yield running
    for entity in list(running.image.client_quotas):
        options = [word for kind, name in entity for word in ([f"--{kind}-default"] if name is None else [f"--{kind}", name])]
        lines(running, "quotas", "unset", *options, "--all")


def stored(quorum: EmbeddedQuorum) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
    return {entity: dict(values) for entity, values in quorum.image.client_quotas.items()}


def test_quotas_are_set_and_others_stay(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "quotas", "set", "--user", "alice", "producer_byte_rate=10M", "consumer_byte_rate=5e5") == [
        "user=alice: producer_byte_rate: set to 10485760",
        "user=alice: consumer_byte_rate: set to 500000",
    ]
    assert lines(quorum, "quotas", "set", "--user", "alice", "request_percentage=10", "producer_byte_rate=10M") == [
        "user=alice: request_percentage: set to 10",
        "user=alice: producer_byte_rate: set to 10485760",
    ]
    (told,) = objects(quorum, "quotas", "set", "--user", "alice", "request_percentage=12.5")
    assert (told["value_before"], told["value"], told["result"]) == (None, 12.5, "set")
    assert stored(quorum) == {
        (("user", "alice"),): {"producer_byte_rate": 10485760.0, "consumer_byte_rate": 500000.0, "request_percentage": 12.5}
    }


def test_defaults_and_combined_entities(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "quotas", "set", "--user-default", "--client-id", "app", "producer_byte_rate=1k")
    lines(quorum, "quotas", "set", "--user", "alice", "--client-id-default", "producer_byte_rate=2k")
    lines(quorum, "quotas", "set", "--ip-default", "connection_creation_rate=7")
    assert stored(quorum) == {
        (("client-id", "app"), ("user", None)): {"producer_byte_rate": 1024.0},
        (("client-id", None), ("user", "alice")): {"producer_byte_rate": 2048.0},
        (("ip", None),): {"connection_creation_rate": 7.0},
    }
    assert lines(quorum, "quotas", "list") == [
        "ENTITY                          QUOTA                     VALUE",
        "user=<default>,client-id=app    producer_byte_rate         1024",
        "user=alice,client-id=<default>  producer_byte_rate         2048",
        "ip=<default>                    connection_creation_rate      7",
    ]


def test_a_list_is_what_fits(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "quotas", "set", "--user", "alice", "producer_byte_rate=1")
    lines(quorum, "quotas", "set", "--user", "alice", "--client-id", "app", "producer_byte_rate=2")
    lines(quorum, "quotas", "set", "--client-id", "app", "producer_byte_rate=3")

    def values(*words: str) -> list[int]:
        return [one["value"] for one in objects(quorum, "quotas", "list", *words)]

    assert values() == [1, 2, 3]
    assert values("--user", "alice") == [1, 2]
    assert values("--user", "alice", "--strict") == [1]
    assert values("--client-id", "app") == [2, 3]
    assert values("--user-default") == []
    assert lines(quorum, "quotas", "list", "--user", "bob") == ["metashell quotas list: no quota fits"]
    assert objects(quorum, "quotas", "list", "--user", "alice", "--strict") == [
        {"type": "quota", "entity": "user=alice", "names": {"user": "alice"}, "quota": "producer_byte_rate", "value": 1}
    ]
    assert lines(quorum, "quotas", "list", "--user", "alice", "--strict", "-o", "csv") == [
        "entity,quota,value,names,type",
        'user=alice,producer_byte_rate,1,"{""user"":""alice""}",quota',
    ]


def test_a_dry_run_asks_the_cluster_and_changes_nothing(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "quotas", "set", "--ip", "10.0.0.1", "connection_creation_rate=20", "--dry-run") == [
        "ip=10.0.0.1: connection_creation_rate: would be set to 20"
    ]
    refused = lines(quorum, "quotas", "set", "--ip", "10.0.0.1", "connection_creation_rate=0.5", "--dry-run", status=1)
    assert "connection_creation_rate cannot be a fractional value" in refused[0]
    assert stored(quorum) == {}


def test_quotas_are_removed(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "quotas", "set", "--user", "alice", "producer_byte_rate=1", "consumer_byte_rate=2", "request_percentage=3")
    assert lines(quorum, "quotas", "unset", "--user", "alice", "producer_byte_rate", "--dry-run") == [
        "user=alice: producer_byte_rate: would be removed, 1 before"
    ]
    assert lines(quorum, "quotas", "unset", "--user", "alice", "producer_byte_rate") == [
        "user=alice: producer_byte_rate: removed, 1 before"
    ]
    assert lines(quorum, "quotas", "unset", "--user", "alice", "producer_byte_rate") == ["user=alice: producer_byte_rate: is not set"]
    assert lines(quorum, "quotas", "unset", "--user", "alice", "consumer_byte_rat", status=1) == [
        "user=alice: consumer_byte_rat: is not set (did you mean consumer_byte_rate?)"
    ]
    assert len(objects(quorum, "quotas", "unset", "--user", "alice", "--all")) == 2
    assert stored(quorum) == {}
    assert lines(quorum, "quotas", "unset", "--user", "alice", "--all", status=1)[0].endswith("user=alice: it has no quotas")


def test_what_the_cluster_refuses_is_told_with_its_words(quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "quotas", "set", "--user", "alice", "speed=1", status=1)
    assert len(told) == 2 and "user=alice: INVALID_REQUEST: Invalid configuration key speed" in told[0]
    assert told[1].startswith("metashell quotas set: speed: Kafka 4.4 knows no such quota; there are producer_byte_rate, ")
    (failed,) = objects(quorum, "quotas", "set", "--user", "alice", "speed=1", status=1)
    assert failed["result"] == "failed" and failed["entity"] == "user=alice"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set", "producer_byte_rate=1"], "name whose quotas"),
        (["set", "--user", "a"], "missing KEY=VALUE"),
        (["set", "--user", "a", "x"], "'x' is not KEY=VALUE"),
        (["set", "--user", "a", "producer_byte_rate=-1"], "producer_byte_rate: '-1' is not a number above 0 such as 1048576, 512k or 10M"),
        (["set", "--user", "a", "request_percentage=10k"], "request_percentage: '10k' is not a number above 0"),
        (["set", "--user", "a", "request_percentage=nan"], "'nan' is not a number above 0"),
        (["set", "--user", "a", "request_percentage=0"], "'0' is not a number above 0"),
        (["set", "--user", "a", "request_percentage=1", "request_percentage=2"], "request_percentage: given twice"),
        (["set", "--user", "a", "--user-default", "request_percentage=1"], "--user and --user-default exclude each other"),
        (["set", "--user", "a", "--ip", "10.0.0.1", "request_percentage=1"], "an address has its quotas alone"),
        (["unset", "--user", "a"], "name the quotas to remove, or give --all"),
        (["unset", "--user", "a", "--all", "request_percentage"], "--all and names of quotas exclude each other"),
    ],
)
def test_a_wrong_command_line(words: list[str], said: str, quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "quotas", *words, status=2)
    assert len(told) == 1 and said in told[0]
