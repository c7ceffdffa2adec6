"""metashell topics and elect, through the controllers of a quorum without real brokers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import cast

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.protocol import AdminError, UncertainError
from metashell.cli.admin.topics import describe_topics
from metashell.codec import messages
from metashell.common.values import uuid_text
from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import lines, objects
from tests.extra_broker import PATIENT, ExtraBroker


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=3, properties=PATIENT) as quorum:
        yield quorum


@pytest.fixture
def quorum(running: EmbeddedQuorum) -> Iterator[EmbeddedQuorum]:
    """A quorum without topics."""
    yield running
    if names := [topic.name for topic in running.image.topics]:
        lines(running, "topics", "delete", *names, "--yes", "--wait")


@pytest.fixture(scope="module")
def extra(running: EmbeddedQuorum) -> ExtraBroker:
    return ExtraBroker(running, 201)


def names(quorum: EmbeddedQuorum) -> set[str]:
    return {topic.name for topic in quorum.image.topics}


def test_topics_are_made_and_listed(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "topics", "create", "orders", "payments", "-p", "3", "-r", "2", "--wait") == [
        "orders: created, 3 partitions, replication factor 2",
        "payments: created, 3 partitions, replication factor 2",
    ]
    quorum.create_topic("__consumer_offsets")
    told = lines(quorum, "topics", "list")
    assert told[0].split() == ["TOPIC", "PARTITIONS", "REPLICATION_FACTOR", "OFFLINE", "UNDER_MIN_ISR", "UNDER_REPLICATED", "ID"]
    id = uuid_text(quorum.image.topics.by_name["orders"].id)
    assert told[1].split() == ["orders", "3", "2", "0", "0", "0", id]
    assert [line.split()[0] for line in told[1:]] == ["orders", "payments"]
    assert [row["topic"] for row in objects(quorum, "topics", "list", "--internal")] == ["__consumer_offsets", "orders", "payments"]
    assert [row["topic"] for row in objects(quorum, "topics", "list", "pay*", "__consumer_offsets")] == ["__consumer_offsets", "payments"]
    assert objects(quorum, "topics", "list", "ord?rs")[0] == {
        "type": "topic",
        "topic": "orders",
        "id": id,
        "internal": False,
        "partitions": 3,
        "replication_factor": 2,
        "offline": 0,
        "under_min_isr": 0,
        "under_replicated": 0,
    }


def test_an_empty_list_says_so_and_is_a_list_for_programs(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "topics", "list") == ["metashell topics list: no topics that this user may see"]
    assert lines(quorum, "topics", "list", "-o", "json") == ["[]"]


def test_a_dry_run_asks_the_cluster_and_makes_nothing(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "topics", "create", "orders", "-r", "3", "--dry-run") == [
        "orders: would be created, 1 partition, replication factor 3",
    ]
    (told,) = lines(quorum, "topics", "create", "orders", "-r", "9", "--dry-run", status=1)
    assert told.startswith("metashell topics create: orders: INVALID_REPLICATION_FACTOR: Unable to replicate the partition 9 time(s)")
    assert names(quorum) == set()


def test_of_several_topics_each_is_told_and_the_others_are_done(quorum: EmbeddedQuorum) -> None:
    quorum.create_topic("orders")
    told = lines(quorum, "topics", "create", "orders", "payments", status=1)
    assert told == [
        "payments: created, 1 partition, replication factor 1",
        "metashell topics create: orders: TOPIC_ALREADY_EXISTS: Topic 'orders' already exists.",
    ]
    rows = objects(quorum, "topics", "create", "orders", "more", status=1)
    assert {(row["topic"], row["result"], row.get("error")) for row in rows} == {
        ("orders", "failed", "TOPIC_ALREADY_EXISTS"),
        ("more", "created", None),
    }
    assert lines(quorum, "topics", "create", "orders", "--if-not-exists") == ["orders: exists already"]


def test_a_topic_can_be_placed_and_configured(quorum: EmbeddedQuorum) -> None:
    lines(
        quorum,
        "topics",
        "create",
        "orders",
        "--assignment",
        "101:102,103:101",
        "--config",
        "retention.ms=5",
        "--config",
        "cleanup.policy=compact",
    )
    topic = quorum.image.topics.by_name["orders"]
    assert [topic.partitions[id].replicas for id in (0, 1)] == [(101, 102), (103, 101)]
    assert dict(quorum.image.configs[2, "orders"]) == {"retention.ms": "5", "cleanup.policy": "compact"}
    for text, words in (
        ("partition 1: '101:x' is not ID:ID:...", ["101:102,101:x"]),
        ("partition 0: '101:101' names a broker twice", ["101:101"]),
    ):
        (told,) = lines(quorum, "topics", "create", "other", "--assignment", *words, status=2)
        assert text in told
    lines(quorum, "topics", "create", "other", "--assignment", "101", "-p", "2", status=2)


def test_partitions_are_added_and_never_taken_away(quorum: EmbeddedQuorum) -> None:
    quorum.create_topic("orders", partitions=2)
    (warning, refused) = lines(quorum, "topics", "alter", "orders", "-p", "4", status=2)
    assert "partitions cannot be taken away again" in warning and "--yes" in refused
    assert lines(quorum, "topics", "alter", "orders", "-p", "4", "--dry-run")[0] == "orders: would have 4 partitions, 2 before"
    assert lines(quorum, "topics", "alter", "orders", "-p", "4", "--yes")[0] == "orders: has 4 partitions, 2 before"
    assert lines(quorum, "topics", "alter", "orders", "-p", "4", "--yes") == ["orders: has 4 partitions already"]
    told = lines(quorum, "topics", "alter", "orders", "nope", "-p", "3", "--yes", status=1)
    assert [line.split(": ")[2] for line in told] == ["UNKNOWN_TOPIC_OR_PARTITION", "INVALID_PARTITIONS"]
    assert quorum.image.topics.by_name["orders"].partition_count == 4


def test_topics_are_deleted_only_by_who_says_so(quorum: EmbeddedQuorum) -> None:
    quorum.create_topic("orders", partitions=2)
    warning, refused = lines(quorum, "topics", "delete", "orders", status=2)
    assert warning == "metashell topics delete: warning: all records of orders (2 partitions) are lost for good"
    assert refused == "metashell topics delete: nothing was changed: add --yes to go on (there is no terminal on which to ask)"
    assert lines(quorum, "topics", "delete", "orders", "--dry-run")[0] == "orders: would be deleted, 2 partitions"
    assert names(quorum) == {"orders"}
    told = lines(quorum, "topics", "delete", "orders", "nope", "--yes", "--wait", status=1)
    assert told[0] == "orders: deleted, 2 partitions" and "nope: UNKNOWN_TOPIC_OR_PARTITION" in told[1]
    assert lines(quorum, "topics", "delete", "nope", "--if-exists", "--yes") == ["nope: is not there"]
    assert names(quorum) == set()


def test_partitions_show_what_is_wrong_with_them(quorum: EmbeddedQuorum, extra: ExtraBroker) -> None:
    lines(quorum, "topics", "create", "orders", "--assignment", "201:101,101:102", "--config", "min.insync.replicas=2")
    extra.shrink("orders")
    lines(quorum, "topics", "create", "lone", "--assignment", "201")
    rows = {row["partition"]: row for row in objects(quorum, "topics", "describe", "orders")}
    assert rows[0]["problems"] == ["under_min_isr", "under_replicated"]
    assert (rows[0]["leader"], rows[0]["replicas"], rows[0]["isr"], rows[0]["min_isr"]) == (201, [201, 101], [201], 2)
    assert rows[1]["problems"] == []
    extra.fence()
    try:
        rows = {row["partition"]: row for row in objects(quorum, "topics", "describe", "lone", "--unhealthy")}
        assert rows[0]["problems"][0] == "leaderless" and rows[0]["leader"] is None and rows[0]["offline_replicas"] == [201]
        assert objects(quorum, "topics", "list", "--unhealthy")[0]["offline"] == 1
        table = lines(quorum, "topics", "describe", "lone")
        assert table[0].split() == ["TOPIC", "PARTITION", "LEADER", "LEADER_EPOCH", "REPLICAS", "ISR", "ELR", "PROBLEMS"]
        assert table[1].split()[:3] == ["lone", "0", "-"]
    finally:
        extra.fence(False)


def test_a_topic_that_is_not_there_is_named_and_the_rest_is_shown(quorum: EmbeddedQuorum) -> None:
    quorum.create_topic("orders")
    told = lines(quorum, "topics", "describe", "nope", "orders", status=1)
    assert told[1].split()[0] == "orders"
    assert told[2].startswith("metashell topics describe: nope: UNKNOWN_TOPIC_OR_PARTITION: ")


# ---- elections


def test_preferred_replicas_lead_again(quorum: EmbeddedQuorum, extra: ExtraBroker) -> None:
    lines(quorum, "topics", "create", "orders", "--assignment", "201:101,101:201")
    assert lines(quorum, "elect", "preferred", "--all") == ["metashell elect preferred: every preferred replica leads already"]
    extra.fence()
    extra.fence(False)
    # It has to be in sync again, which its leader says.
    leader = quorum.image.topics.by_name["orders"].partitions[0].leader
    assert leader == 101
    refused, found, *_, step = lines(quorum, "elect", "preferred", "orders:0", status=1)
    assert refused.endswith("orders:0: PREFERRED_LEADER_NOT_AVAILABLE: The preferred leader was not available.")
    assert found.startswith("metashell elect preferred: orders/0 (partitions with fewer replicas in sync than replicas)")
    assert step.startswith("metashell elect preferred: next: ")
    row = objects(quorum, "elect", "preferred", "orders", "--dry-run", status=1)[0]
    assert row["error"] == "PREFERRED_LEADER_NOT_AVAILABLE" and row["findings"][0]["id"] == "under_replicated"


def test_an_unclean_election_is_asked_about_and_loses_what_it_says(quorum: EmbeddedQuorum, extra: ExtraBroker) -> None:
    lines(quorum, "topics", "create", "orders", "--assignment", "201:101,101:102")
    extra.shrink("orders")
    assert lines(quorum, "elect", "unclean", "orders") == [
        "metashell elect unclean: every partition has a leader: nothing has to be given up"
    ]
    extra.fence()
    try:
        warning, refused = lines(quorum, "elect", "unclean", "--all", status=2)
        assert "is lost for good, also acknowledged ones: orders:0" in warning and "--yes" in refused
        told = lines(quorum, "elect", "unclean", "orders:0", "--dry-run", status=1)
        assert told[0] == "orders:0: broker 101 would lead, nobody leads now"
        assert "metashell elect unclean: 1 partition got a leader that may lack records (unclean election)" in told
        assert quorum.image.topics.by_name["orders"].partitions[0].leader == -1
        assert objects(quorum, "elect", "unclean", "--all", "--yes") == [
            {"type": "partition", "topic": "orders", "partition": 0, "result": "elected", "leader": 101, "leader_before": None}
        ]
        quorum.wait_for(lambda image: image.topics.by_name["orders"].partitions[0].leader == 101)
    finally:
        extra.fence(False)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "name partitions (orders:0), or give --all"),
        (["orders", "--all"], "--all and names of partitions exclude each other"),
        (["orders:x"], "'orders:x' is not TOPIC, TOPIC:0 or TOPIC:0,3"),
        (["orders:"], "'orders:' is not TOPIC, TOPIC:0 or TOPIC:0,3"),
    ],
)
def test_partitions_are_named_in_one_way(quorum: EmbeddedQuorum, words: list[str], text: str) -> None:
    assert lines(quorum, "elect", "preferred", *words, status=2) == [f"metashell elect preferred: {text}"]


def test_a_partition_that_is_not_there_is_named(quorum: EmbeddedQuorum) -> None:
    quorum.create_topic("orders")
    told = lines(quorum, "elect", "preferred", "orders:7", "orders-0", status=1)
    assert "metashell elect preferred: orders:7: there is no such partition (the topic has 1)" in told
    assert "metashell elect preferred: orders-0: there is no such topic; a partition is written orders:0" in told


def test_where_the_preferred_replica_is_not_in_sync_all_leaves_partitions_as_they_are(quorum: EmbeddedQuorum, extra: ExtraBroker) -> None:
    lines(quorum, "topics", "create", "orders", "--assignment", "201:101,101:102")
    extra.fence()
    extra.fence(False)
    assert lines(quorum, "elect", "preferred", "--all", status=1) == [
        "metashell elect preferred: 1 partition left as before: the preferred replica is not in sync (metashell topics describe shows it)"
    ]


# ---- a connection that breaks at the wrong moment


@pytest.mark.parametrize(
    ("words", "now"),
    [
        (("topics", "create", "orders", "payments"), "Now orders is there with 1 partition, payments is not there"),
        (("topics", "alter", "orders", "-p", "3", "--yes"), "Now orders is there with 1 partition"),
        (("features", "disable", "group.version", "--yes"), "Now group.version is at 1"),
        (("brokers", "unregister", "101", "--force", "--yes"), "Now broker 101 is registered"),
        (("quorum", "remove-controller", "2", "--yes"), "Now the voters are controller 1 ("),
    ],
)
def test_a_change_that_may_or_may_not_have_been_made_is_looked_after(
    quorum: EmbeddedQuorum, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], now: str
) -> None:
    if "orders" not in names(quorum):
        quorum.create_topic("orders")
    original = Admin.ask_active

    def ask_active(admin: Admin, request: object, *, version: int | None = None) -> object:
        if isinstance(request, messages.DescribeQuorumRequest | messages.DescribeConfigsRequest) or getattr(
            request, "validate_only", False
        ):
            return original(admin, request, version=version)
        raise UncertainError("localhost:1: broken; it may or may not have been done")

    monkeypatch.setattr(Admin, "ask_active", ask_active)
    with EmbeddedQuorum(controllers=2) if words[0] == "quorum" else contextlib.nullcontext(quorum) as asked:
        told = lines(asked, *words, status=1)
    assert told[-1].startswith(f"metashell {words[0]} {words[1]}: localhost:1: broken; it may or may not have been done. {now}"), told


def test_large_topics_are_described_page_by_page() -> None:
    asked: list[object] = []

    class Pages:
        """Answers DescribeTopicPartitions with two partitions a page."""

        def ask(self, request: messages.DescribeTopicPartitionsRequest) -> messages.DescribeTopicPartitionsResponse:
            asked.append(request.cursor)
            made = messages.DescribeTopicPartitionsResponse
            first = 0 if request.cursor is None else request.cursor.partition_index
            partitions = tuple(
                made.DescribeTopicPartitionsResponsePartition(partition_index=id, leader_id=1, replica_nodes=(1,), isr_nodes=(1,))
                for id in range(first, min(first + 2, 5))
            )
            return made(
                topics=(made.DescribeTopicPartitionsResponseTopic(name="orders", topic_id=bytes(16), partitions=partitions),),
                next_cursor=made.Cursor(topic_name="orders", partition_index=first + 2) if first + 2 < 5 else None,
            )

    (topic,), errors = describe_topics(cast("Admin", Pages()), ["orders"])
    assert ([partition.id for partition in topic.partitions], errors, len(asked)) == ([0, 1, 2, 3, 4], [], 3)


def test_pages_that_do_not_go_on_are_an_error() -> None:
    class Stuck:
        """Gives the same cursor for ever."""

        def ask(self, request: messages.DescribeTopicPartitionsRequest) -> messages.DescribeTopicPartitionsResponse:
            made = messages.DescribeTopicPartitionsResponse
            return made(next_cursor=made.Cursor(topic_name="orders", partition_index=5))

    with pytest.raises(AdminError, match="the answer goes on at orders:5, where it has been"):
        describe_topics(cast("Admin", Stuck()), ["orders"])


def test_what_is_unhealthy_is_found_in_all_topics(quorum: EmbeddedQuorum, extra: ExtraBroker) -> None:
    lines(quorum, "topics", "create", "lone", "--assignment", "201")
    lines(quorum, "topics", "create", "well", "--assignment", "101")
    assert lines(quorum, "topics", "describe", status=2) == ["metashell topics describe: missing TOPIC (--unhealthy alone looks at all)"]
    assert lines(quorum, "topics", "describe", "--unhealthy") == ["metashell topics describe: no partition is unhealthy"]
    extra.fence()
    try:
        assert [row["topic"] for row in objects(quorum, "topics", "describe", "--unhealthy")] == ["lone"]
        # There is nothing to give up where nobody has anything.
        (told,) = lines(quorum, "elect", "unclean", "--all", "--yes", status=1)
        assert told == "metashell elect unclean: lone:0: none of its replicas is alive: start one of the brokers 201 first"
        warnings = lines(quorum, "brokers", "unregister", "201", "--dry-run", status=1)
        assert any("broker 201 has the only copies that are in sync of 1 partition, lost for good: lone:0" in line for line in warnings)
    finally:
        extra.fence(False)
