"""All that counts partitions by their state counts what the rules of a partition say: metrics, state tables, and the SQL of reports."""

from __future__ import annotations

import re

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.metadata.checks import Health
from metashell.metadata.checks.partitions import UNDER_MIN_ISR, MinIsr, is_unclean, is_under_replicated
from metashell.metadata.image.partitions import PartitionRegistration
from metashell.quorum.controller.config_checks import PartitionRules
from metashell.quorum.controller.settings import Settings
from metashell.quorum.server.metrics import PartitionCounts
from metashell.tables.reports import REPORTS
from metashell.tables.reports.local import DUCKDB_MACROS
from metashell.tables.sql.database import Database
from metashell.tables.state.tables import partition_batches
from tests.rehearse.small_images import partition, small_image

BROKERS = (1, 2, 3, 4)
MIN_ISR = "min.insync.replicas"


@st.composite
def partitions(draw: st.DrawFn) -> PartitionRegistration:
    """Whatever a record can say of a partition."""
    replicas = draw(st.lists(st.sampled_from((*BROKERS, 9)), min_size=1, unique=True))
    some = st.lists(st.sampled_from(replicas), unique=True)
    return partition(*replicas, isr=draw(some), leader=draw(st.sampled_from((-1, *replicas))))._replace(
        adding_replicas=tuple(draw(some)), removing_replicas=tuple(draw(some))
    )


@given(st.lists(partitions(), min_size=1, max_size=8), st.sets(st.sampled_from(BROKERS)))
def test_metrics_and_state_tables_count_what_the_rules_say(found: list[PartitionRegistration], fenced: set[int]) -> None:
    image = small_image(dict.fromkeys(BROKERS), {"t": found}, fenced=fenced)
    health = Health(image)
    counts = health.counts()
    metrics = PartitionCounts(lambda: 0)
    list(metrics.follow(image, 0))
    assert metrics.offline == counts["leaderless"]
    # Kafka's metric takes any other leader, also one that is fenced, and nobody.
    others = sum(one.leader != one.replicas[0] and one.leader in {*fenced, 9} for one in found)
    assert metrics.unpreferred == counts["not_preferred"] + counts["leaderless"] + others
    rows = [row for batch in partition_batches(image, "c") for row in batch.to_pylist()]
    under = [row["is_under_replicated"] for row in sorted(rows, key=lambda row: row["partition_id"])]
    assert under == [is_under_replicated(one.isr, one.replicas, one.adding_replicas) for one in found]
    assert sum(under) == counts["under_replicated"]


def test_an_only_replica_takes_over_from_itself() -> None:
    """But one that a reassignment adds has not what the other one had."""
    alone = partition(1)._replace(leader_recovery_state=1)
    assert not is_unclean(alone)
    moving = partition(1, 2, leader=1)._replace(leader_recovery_state=1, adding_replicas=(2,))
    assert not is_unclean(moving)
    assert is_unclean(moving._replace(leader=2))
    assert is_unclean(partition(1, 2)._replace(leader_recovery_state=1))


@given(st.lists(partitions(), min_size=1, max_size=20))
def test_the_report_of_under_replicated_partitions_asks_what_the_rule_asks(found: list[PartitionRegistration]) -> None:
    conditions = re.findall(r"(size\(isr\) < .+?) as is_under", REPORTS["under_replicated"].sql)
    assert len(conditions) == 1
    lists = pa.list_(pa.int32())
    table = pa.table(
        {
            "id": pa.array(range(len(found))),
            "isr": pa.array([one.isr for one in found], lists),
            "replicas": pa.array([one.replicas for one in found], lists),
            "adding_replicas": pa.array([one.adding_replicas for one in found], lists),
        }
    )
    schema, batches = Database({"p": table}, DUCKDB_MACROS).ask(f"select {conditions[0]} as under from p order by id")
    under = pa.Table.from_batches(batches, schema)["under"].to_pylist()
    assert under == [is_under_replicated(one.isr, one.replicas, one.adding_replicas) for one in found]


@given(
    st.lists(partitions(), min_size=1, max_size=8),
    st.dictionaries(st.sampled_from([(TOPIC_RESOURCE, "t"), (BROKER_RESOURCE, "")]), st.integers(1, 4).map(str)),
    st.integers(1, 3),
)
def test_the_controller_asks_for_as_many_in_sync_as_health(
    found: list[PartitionRegistration], values: dict[tuple[int, str], str], static: int
) -> None:
    """Where brokers have none of their own, as the controller wants it; its answer is one for all leaders."""
    image = small_image(dict.fromkeys(BROKERS), {"t": found}, settings={key: {MIN_ISR: value} for key, value in values.items()})
    health = Health(image, static_min_isr=static)
    wanted = PartitionRules(Settings({MIN_ISR: str(static)}, "", -1), image.configs).min_isr("t")
    assert wanted == MinIsr(image, static).of("t", 1)
    judge = health.judge_of(image.topics.by_name["t"])
    assert [bool(judge(one) & UNDER_MIN_ISR) for one in found] == [len(one.isr) < min(wanted, len(one.replicas)) for one in found]
