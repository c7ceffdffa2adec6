"""One vocabulary of fields: by the names that SQL has, --where and --sort find what `ls -l` and `cat` show."""

from __future__ import annotations

import pytest

from metashell.metadata.nodes.names import SYNONYMS, camel_case, spellings
from tests.running import REPOSITORY, run_main


def test_each_spelling_leads_to_all_others() -> None:
    assert spellings("adding_replicas") == ("adding_replicas", "addingReplicas")
    assert spellings("addingReplicas") == ("addingReplicas", "adding_replicas")
    assert {"epoch", "broker_epoch"} < set(spellings("brokerEpoch"))
    assert camel_case("leader") == "leader"
    for names in SYNONYMS:
        assert all(set(names) <= set(spellings(name)) for name in names)


def found(*words: str) -> list[str]:
    from metashell.cli.inspect.kafka_shell import main

    done = run_main(main, ["--demo", *words], cwd=REPOSITORY)
    assert done.stderr == "", done.stderr
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("len(adding_replicas) > 0", "len(addingReplicas) > 0"),
        ("partition_id == 0 and leader == 5", "partition == 0 and leader == 5"),
        ("is_under_replicated", "under_replicated"),
        ("len(eligible_leader_replicas) > 0", "len(eligibleLeaderReplicas) > 0"),
        ("leader_epoch > 2", "leaderEpoch > 2"),
        ("partition_count > 4", "partitions > 4"),
        ("broker_id == 5", "brokerId == 5"),
        ("broker_epoch > 100", "epoch > 100"),
        ("permission_type == 'DENY'", "permission == 'DENY'"),
    ],
)
def test_both_spellings_find_the_same(one: str, other: str) -> None:
    assert found("find", "/", "--where", one) == found("find", "/", "--where", other)


def test_every_column_of_a_partition_in_sql_is_a_name_in_where() -> None:
    pytest.importorskip("pyarrow")
    from metashell.tables.state.schemas import SCHEMAS

    for name in SCHEMAS["partitions"]:
        column = name[0] if isinstance(name, tuple) else name.name
        # Ids are text here, as Kafka prints them, and all is one cluster.
        if not column.endswith("_text") and column != "cluster_id":
            found("find", "/image/topics/byName", "-type", "partition", "--where", f"{column} == null")
            if column != "is_under_replicated":
                assert len(found("find", "/image/topics/byName", "-type", "partition", "--where", f"not ({column} == null)")) == 36, column


def test_ls_shows_and_sorts_by_them() -> None:
    assert "adding_replicas=6 removing_replicas=4" in found("ls", "-l", "/image/topics/byName/reassigned-1")[0]
    assert found("ls", "--sort", "broker_epoch", "/image/cluster/brokers") == ["6", "5", "4"]
