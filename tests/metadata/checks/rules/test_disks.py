"""Directories, configurations and logs joined: each trouble is found with its values and its next step, and a sound node is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from metashell.common.values import uuid_text
from metashell.demo import demo_directory
from metashell.metadata.checks import Facts, judge_disks
from metashell.metadata.checks.model import Found
from metashell.metadata.facts import gather_facts

GOLDEN = Path(__file__).parents[3] / "golden" / "kafka"
BROKER = GOLDEN / "4.3.1" / "main" / "data" / "live-2" / "node-5"
"""Broker 5 with three log directories, of which d1 has the metadata log."""
LOG = "__cluster_metadata-0"
OTHER_ID = "YjFCU3hKTm5SdG1GbFRqRg"


def bad(facts: Facts) -> dict[str, list[Found]]:
    """What the checks of disks find that is bad, by id."""
    return {finding.check.id: list(finding) for finding in judge_disks(facts).bad}


def unusual(facts: Facts) -> set[str]:
    return {finding.check.id for finding in judge_disks(facts).findings} - bad(facts).keys()


def only(facts: Facts, id: str) -> Found:
    """The one thing that is bad."""
    found = bad(facts)
    assert list(found) == [id], found
    (one,) = found[id]
    return one


def copied(source: str | Path, place: Path) -> Path:
    shutil.copytree(source, place)
    return place


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    return copied(BROKER, tmp_path / "node-5")


@pytest.fixture
def controller(tmp_path: Path) -> Path:
    """Controller 2 of the voters 1, 2, 3."""
    return copied(demo_directory(), tmp_path / "node-2")


def configured(folder: Path, *directories: Path, roles: str = "broker", id: int = 5, **values: str) -> str:
    """The path of a configuration with these log directories, of which the first is that of the metadata."""
    listeners = {"broker": "PLAINTEXT://localhost:9092", "controller": "CONTROLLER://localhost:9093"}
    settings = {
        "process.roles": roles,
        "node.id": str(id),
        "controller.listener.names": "CONTROLLER",
        "listeners": listeners[roles],
        "controller.quorum.bootstrap.servers": "localhost:9093",
        "log.dirs": ",".join(map(str, directories)),
        "metadata.log.dir": str(directories[0]),
        **{name.replace("_", "."): value for name, value in values.items()},
    }
    path = folder / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items() if value))
    return str(path)


def change(directory: Path, **values: str) -> None:
    """Change lines of a meta.properties."""
    path = directory / "meta.properties"
    lines = [line.partition("=") for line in path.read_text().splitlines() if "=" in line]
    path.write_text("".join(f"{key}={values.get(key.replace('.', '_'), value)}\n" for key, _, value in lines))


def value(directory: Path, key: str) -> str:
    lines = (directory / "meta.properties").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith(key))


# ---- identity


NODES = sorted({path.parent.parent for path in GOLDEN.glob("*/main/data/*/node-*/*/meta.properties")})


@pytest.mark.parametrize("node", NODES, ids=lambda node: str(node.relative_to(GOLDEN)))
def test_a_sound_node_is_not_reported(node: Path):
    assert not bad(gather_facts([str(node)]))


def test_a_broker_with_three_log_directories_is_sound_from_each(broker: Path):
    for path in (broker, *broker.iterdir()):
        facts = gather_facts([str(path)])
        assert len(facts.directories) == 3
        assert not judge_disks(facts).findings
    assert not bad(gather_facts([], [configured(broker, broker / "d1", broker / "d2", broker / "d3")]))


def test_one_directory_id_twice_names_both_paths(broker: Path):
    change(broker / "d3", directory_id=value(broker / "d2", "directory.id"))
    found = only(gather_facts([str(broker / name) for name in ("d1", "d2", "d3")]), "duplicate_directory_id")
    assert found.name == f"{broker}/d3"
    assert f"directory.id {value(broker / 'd2', 'directory.id')} is that of {broker}/d2 too" in found.cause


def test_a_copy_of_a_directory_is_no_second_one(controller: Path, tmp_path: Path):
    copy = copied(controller, tmp_path / "backup" / "node-2")
    assert not bad(gather_facts([str(controller), str(copy)]))


def test_the_directory_of_another_cluster_is_named_with_both_values(broker: Path):
    change(broker / "d2", cluster_id="NkU3OEVBNTcwNTJENDM2Qk")
    found = only(gather_facts([str(broker)]), "other_cluster")
    cluster = value(broker / "d1", "cluster.id")
    assert (found.name, found.cause) == (f"{broker}/d2", f"cluster.id NkU3OEVBNTcwNTJENDM2Qk; the others of this node have {cluster}")


def test_another_node_id_than_the_configured_one(broker: Path):
    config = configured(broker, broker / "d1", broker / "d2", broker / "d3", id=7)
    found = bad(gather_facts([], [config]))["other_node_id"]
    assert [one.cause for one in found] == [f"node.id 5 in meta.properties, 7 in {config}"] * 3


def test_an_empty_meta_properties_is_said_by_its_neighbours(broker: Path):
    lost = value(broker / "d2", "directory.id")
    (broker / "d2" / "meta.properties").write_text("")
    found = only(gather_facts([], [configured(broker, broker / "d1", broker / "d2", broker / "d3")]), "torn_identity")
    assert found.cause.endswith(f"by its neighbours it was of cluster.id {value(broker / 'd1', 'cluster.id')}, node.id 5")
    assert f"metashell storage repair {broker}/d2 -c" in found.steps[0]
    assert f"the log has {lost} for node 5" in found.steps[0]


def test_a_reserved_directory_id(broker: Path):
    change(broker / "d3", directory_id=uuid_text(bytes(15) + b"\x02"))
    assert "reserved_directory_id" in bad(gather_facts([str(broker)]))


def test_a_lost_metadata_directory_of_an_only_voter_is_not_to_be_formatted(broker: Path):
    shutil.rmtree(broker / "d1")
    (broker / "d1").mkdir()
    directories = (broker / "d1", broker / "d2", broker / "d3")
    settings = {"controller_quorum_voters": "5@localhost:9093", "controller_quorum_bootstrap_servers": ""}
    found = only(gather_facts([], [configured(broker, *directories, roles="controller", **settings)]), "lost_metadata")
    assert "node 5 is the only voter, so formatting it makes an empty cluster" in found.cause
    assert found.steps[0].startswith("do not format it yet")
    found = only(gather_facts([], [configured(broker, *directories)]), "lost_metadata")
    assert "only voter" not in found.cause


def test_a_log_directory_that_log_dirs_lacks_is_missed_where_it_holds_replicas(broker: Path):
    facts = gather_facts([], [configured(broker, broker / "d1", broker / "d2")])
    missing = value(broker / "d3", "directory.id")
    assert f"broker 5: directory {missing}" in [one.name for one in bad(facts)["missing_directory"]]


def test_the_metadata_log_outside_its_configured_directory(broker: Path):
    found = only(gather_facts([], [configured(broker, broker / "d2", broker / "d1", broker / "d3")]), "misplaced_metadata")
    assert found.cause.endswith(f"the metadata directory is {broker}/d2")


def test_a_voter_on_another_disk_than_the_voter_set_names(controller: Path):
    own = value(controller, "directory.id")
    change(controller, directory_id=OTHER_ID)
    found = only(gather_facts([str(controller)]), "other_disk_votes")
    assert found.cause == f"directory.id {OTHER_ID}; the voter set has {own} for 2"


def test_two_disks_of_one_node_id(controller: Path, tmp_path: Path):
    other = copied(controller, tmp_path / "elsewhere" / "node-2")
    change(other, directory_id=OTHER_ID)
    found = bad(gather_facts([str(controller), str(other)]))["shared_node_id"]
    assert [one.name for one in found] == ["node 2"]
    assert OTHER_ID in found[0].cause


# ---- directories of partitions


def with_partition(broker: Path, *, id: str | None = "", replica: bool = True) -> tuple[Path, str]:
    """A directory of a partition in d2, with the topic id of the log, another one or none; and the topic's id."""
    image = gather_facts([str(broker)]).image
    topic, number, _ = next(one for one in image.topics.iter_partitions() if (5 in one[2].replicas) == replica)
    place = broker / "d2" / f"{topic.name}-{number}"
    place.mkdir()
    (place / "leader-epoch-checkpoint").write_text("0\n0\n")
    if id is not None:
        (place / "partition.metadata").write_text(f"version: 0\ntopic_id: {id or uuid_text(topic.id)}")
    return place, uuid_text(topic.id)


def test_a_partition_of_the_metadata_is_sound(broker: Path):
    with_partition(broker)
    assert not bad(gather_facts([str(broker)]))


def test_another_topic_id_would_be_stray(broker: Path):
    place, topic_id = with_partition(broker, id=OTHER_ID)
    found = only(gather_facts([str(broker / "d2")]), "stray_topic_id")
    assert found.name == place.name
    assert f"topic id {OTHER_ID}; the log has {topic_id} for " in found.cause
    assert ", offset " in found.cause


def test_no_topic_id_would_be_stray(broker: Path):
    place, topic_id = with_partition(broker, id=None)
    found = only(gather_facts([str(broker)]), "no_topic_id")
    assert found.cause.startswith("no partition.metadata; by the log ")
    assert topic_id in found.cause
    (place / "partition.metadata").write_text("")
    assert bad(gather_facts([str(broker)])).keys() == {"no_topic_id"}


def test_a_partition_that_was_moved_away_is_unusual(broker: Path):
    with_partition(broker, replica=False)
    facts = gather_facts([str(broker)])
    assert not bad(facts)
    assert unusual(facts) == {"not_a_replica"}


def test_a_partition_in_two_directories(broker: Path):
    place, _ = with_partition(broker)
    copied(place, broker / "d3" / place.name)
    assert f"in {broker}/d2 and {broker}/d3" in only(gather_facts([str(broker)]), "partition_twice").cause


def test_a_topic_that_the_log_removed_is_unusual_and_one_it_never_had_is_bad(broker: Path):
    place, _ = with_partition(broker, id=OTHER_ID)
    never = place.rename(place.with_name("never-0"))
    assert only(gather_facts([str(broker)]), "unknown_topic").name == never.name
    never.rename(never.with_name(f"never-0.{'0' * 32}-stray"))
    facts = gather_facts([str(broker)])
    assert not bad(facts)
    assert unusual(facts) == {"stray_left"}


# ---- the log, its checkpoints and quorum-state


def cut(controller: Path) -> None:
    """Take away the first segment, so that the log begins at 251, and all checkpoints but the newest."""
    (controller / LOG / f"{0:020d}.log").unlink()
    (controller / LOG / "00000000000000000141-0000000001.checkpoint").unlink()


def test_checkpoints_that_were_deleted_leave_a_gap_with_a_way_back(controller: Path):
    cut(controller)
    newest = controller / LOG / "00000000000000000329-0000000001.checkpoint"
    assert not bad(gather_facts([str(controller)]))
    newest.write_bytes(b"")
    facts = gather_facts([str(controller)])
    assert bad(facts).keys() == {"lost_checkpoint", "torn_checkpoint"}
    newest.unlink()
    found = only(gather_facts([str(controller)]), "lost_checkpoint")
    assert found.cause == "offsets 0 to 250 are in no checkpoint and no segment; the log begins at 251"
    assert f"metashell storage repair {controller} --from PATH, a directory or checkpoint (from offset 251 on)" in found.steps[0]
    assert "while a majority of the voters 1, 2, 3 lives (others: 1 and 3): remove the segments and checkpoints in " in found.steps[1]


def test_a_voter_that_lacks_what_is_committed_is_behind_and_a_majority_of_them_is_bad(controller: Path, tmp_path: Path):
    late = [copied(controller, tmp_path / f"node-{id}") for id in (1, 3)]
    for id, place in zip((1, 3), late, strict=True):
        change(place, node_id=str(id), directory_id=uuid_text(bytes([id] * 16)))
        (place / LOG / f"{251:020d}.log").unlink()
        (place / LOG / "00000000000000000329-0000000001.checkpoint").unlink()
    one, both = gather_facts([str(controller), str(late[0])]), gather_facts([str(controller), *map(str, late)])
    assert "majority_behind" not in bad(one)
    assert "behind" in unusual(one)
    assert "1 ends at 251, 3 ends at 251" in bad(both)["majority_behind"][0].cause


def noted(controller: Path, **fields: object) -> Facts:
    """The facts with another quorum-state."""
    usual = {"leaderId": -1, "leaderEpoch": 2, "votedId": -1, "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA", "data_version": 1}
    (controller / LOG / "quorum-state").write_text(json.dumps({**usual, **fields}))
    return gather_facts([str(controller)])


def test_elections_without_end(controller: Path):
    found = only(noted(controller, leaderEpoch=4539), "endless_elections")
    assert found.cause == (
        "epoch 4539 without a leader and without a vote; the last that led: 2 in epoch 2; 4537 elections since; "
        "nothing was written since 2026-11-21T00:25:57.050Z"
    )
    assert "with a vote for 3" in only(noted(controller, leaderEpoch=4539, votedId=3), "endless_elections").cause
    assert not bad(noted(controller, leaderEpoch=4539, leaderId=3))
    assert not bad(noted(controller, leaderEpoch=5))


def test_a_quorum_state_that_is_older_than_the_log_or_gone(controller: Path):
    assert only(noted(controller, leaderEpoch=1), "old_quorum_state").cause == "epoch 1; the log ends in epoch 2"
    (controller / LOG / "quorum-state").unlink()
    assert only(gather_facts([str(controller)]), "old_quorum_state").cause.startswith("is missing")


def test_a_vote_for_who_is_no_voter(controller: Path):
    assert only(noted(controller, votedId=9), "vote_of_no_voter").cause == "a vote for 9 in epoch 2; voters 1, 2, 3"
    assert not bad(noted(controller, votedId=3))


# ---- the configuration


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """Controller 1 of the static voters 1, 2, 3, kraft.version 0."""
    return copied(GOLDEN / "3.9.2" / "main" / "data" / "stopped" / "node-1" / "d1", tmp_path / "node-1")


def test_no_voters_configured_under_kraft_version_0(static: Path, controller: Path):
    found = only(gather_facts([], [configured(static.parent, static, roles="controller", id=1)]), "no_voters_configured")
    assert found.cause.startswith("kraft.version is 0 and controller.quorum.voters is not set: this controller elects nobody")
    assert found.steps[0].startswith("put controller.quorum.voters=1@localhost:9093,2@HOST:PORT,3@HOST:PORT back")
    # The opposite: with kraft.version 1 the voters are in the log.
    assert not bad(gather_facts([], [configured(controller, controller, roles="controller", id=2)]))
    voters = ",".join(f"{id}@localhost:{9090 + id}" for id in (1, 2, 3))
    assert not bad(gather_facts([], [configured(controller, controller, roles="controller", id=2, controller_quorum_voters=voters)]))


def test_other_voters_than_those_of_the_last_election(static: Path):
    for ids, is_right in (((1, 2, 3), True), ((1, 2), False), ((1, 2, 3, 4), False)):
        voters = ",".join(f"{id}@localhost:{9092 + id}" for id in ids)
        settings = {"controller_quorum_voters": voters, "controller_quorum_bootstrap_servers": ""}
        found = bad(gather_facts([], [configured(static.parent, static, roles="controller", id=1, **settings)]))
        assert (not found) == is_right, found
        assert is_right or list(found) == ["other_voters_configured"]


def test_a_controller_that_does_not_vote_and_one_at_another_address_are_unusual(controller: Path):
    assert unusual(gather_facts([], [configured(controller, controller, roles="controller", id=2)])) == {"configured_voter_address"}
    change(controller, node_id="4", directory_id=OTHER_ID)
    assert unusual(gather_facts([], [configured(controller, controller, roles="controller", id=4)])) == {"configured_without_vote"}
    joins = {"controller_quorum_auto_join_enable": "true"}
    assert not unusual(gather_facts([], [configured(controller, controller, roles="controller", id=4, **joins)]))


def test_a_voter_whose_listener_has_another_name(controller: Path):
    settings = {"controller_listener_names": "CTRL", "listeners": "CTRL://localhost:9093"}
    found = only(gather_facts([], [configured(controller, controller, roles="controller", id=2, **settings)]), "voter_listener")
    assert found.cause.startswith("controller.listener.names CTRL; the voter set has CONTROLLER for 2")


def test_a_configuration_that_kafka_refuses_is_a_finding_and_still_read(broker: Path):
    config = configured(broker, broker / "d1", broker / "d2", broker / "d3", process_roles="broker,worker")
    facts = gather_facts([], [config])
    assert bad(facts).keys() == {"refused_configuration"}
    assert len(facts.directories) == 3


def test_an_own_entry_of_the_list_of_voters_at_another_port(static: Path):
    for port, is_told in ((9093, False), (9094, True)):
        voters = f"1@node-1:{port},2@node-2:9093,3@node-3:9093"
        settings = {"controller_quorum_voters": voters, "controller_quorum_bootstrap_servers": ""}
        facts = gather_facts([], [configured(static.parent, static, roles="controller", id=1, **settings)])
        assert unusual(facts) == ({"static_voter_port"} if is_told else set())


def test_directories_in_other_folders_are_one_node_and_those_of_elsewhere_stand_for_what_is_configured(broker: Path, tmp_path: Path):
    places = [copied(broker / name, tmp_path / f"disk-{name}" / "logs") for name in ("d1", "d2", "d3")]
    facts = gather_facts(map(str, places))
    assert {one.node for one in facts.directories} == {0}
    assert not judge_disks(facts).findings
    config = configured(tmp_path, Path("/nowhere/d1"), Path("/nowhere/d2"), Path("/nowhere/d3"))
    assert not bad(gather_facts(map(str, places), [config]))
    assert bad(gather_facts([], [config])).keys() == {"unformatted"}


def test_two_nodes_side_by_side_are_two(controller: Path, tmp_path: Path):
    other = copied(controller, tmp_path / "node-3")
    change(other, node_id="3", directory_id=uuid_text(gather_facts([str(controller)]).image.voters.voters[2].directory_id))
    facts = gather_facts([str(tmp_path)])
    assert sorted(one.node for one in facts.directories) == [0, 1]
    assert not bad(facts)


def test_a_partition_of_another_cluster_is_judged_by_its_own_metadata(broker: Path, tmp_path: Path):
    with_partition(broker)
    stranger = copied(demo_directory(), tmp_path / "else" / "node-2")
    change(stranger, cluster_id="NkU3OEVBNTcwNTJENDM2Qk")
    assert bad(gather_facts([str(broker), str(stranger)])).keys() == {"other_cluster"}
