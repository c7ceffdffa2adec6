"""Plans of repairs: which file gets which content and why, and what is left as it is because the facts do not prove it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from struct import pack

import pytest

from metashell.common.errors import MetashellError, StorageError
from metashell.common.values import uuid_text
from metashell.disk.file_system import Disk as FileSystem
from metashell.disk.mend import write_changes
from metashell.disk.names import METADATA_DIRECTORY, segment_name
from metashell.disk.properties import Acknowledged, read_meta_properties, write_acknowledged
from metashell.disk.state_files import read_quorum_state, read_topic_id
from metashell.inspect.repair.plan import RepairPlan, RepairRequest, plan_repair
from tests.disk.mend_cases import tree_of
from tests.metadata.diagnosis.disks import CLUSTER, OTHER_TOPIC, TOPIC, Disk, disk, known, partition, properties, topic

LEAD = 12
NEW_ID = bytes(range(50, 66))
DEMO = Path(__file__).parents[3] / "metashell" / "demo" / "data"


def plan(place: Path, *sources: Path, **more: object) -> RepairPlan:
    request = RepairRequest(path=str(place), sources=tuple(map(str, sources)), date="now", new_uuid=lambda: NEW_ID)
    return plan_repair(replace(request, **more))  # type: ignore[arg-type]


def repaired(place: Path, *sources: Path, **more: object) -> RepairPlan:
    """Carry a plan out; nothing of it is left then."""
    made = plan(place, *sources, **more)
    write_changes(str(place), made.changes, 1)
    again = plan(place, *sources, **more)
    assert again.steps == ()
    return made


def checks_of(made: RepairPlan) -> tuple[list[str], list[str]]:
    return [step.check for step in made.steps], [one.check for one in made.refusals]


def cause_of(made: RepairPlan, check: str) -> str:
    return next(one.cause for one in made.refusals if one.check == check)


def static(node: int = 1, **more: object) -> Disk:
    return Disk(**{"node": node, "voter_ids": (1, 2, 3), "brokers": (), **more})  # type: ignore[arg-type]


def dynamic(node: int = 1, **more: object) -> Disk:
    return static(node, **{"voter_set": known(1, 2, 3), **more})


def combined(**more: object) -> Disk:
    """A broker that is the only voter, with a topic."""
    usual = {"records": [topic(), partition(0, (1,)), partition(1, (1,))], "folders": {"orders-0": TOPIC, "orders-1": TOPIC}}
    return Disk(**{**usual, **more})  # type: ignore[arg-type]


def server_config(at: Path, node: int, *places: Path, roles: str = "controller") -> str:
    rows = {
        "node.id": node,
        "process.roles": roles,
        "controller.listener.names": "CONTROLLER",
        "listeners": "CONTROLLER://localhost:9093" if roles == "controller" else "PLAINTEXT://localhost:9092",
        "controller.quorum.bootstrap.servers": "localhost:9093",
        "log.dirs": ",".join(map(str, places)),
    }
    path = at / f"node-{node}.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
    return str(path)


# ---- nothing to repair


def test_sound_directories_need_no_repair(tmp_path: Path) -> None:
    for name, made in (("a", static()), ("b", dynamic(2)), ("c", combined())):
        assert checks_of(plan(made.write(tmp_path / name))) == ([], [])


@pytest.mark.parametrize("name", ["missing", "empty", "a-file"])
def test_what_is_no_log_directory_is_refused_by_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a-file").write_text("")
    with pytest.raises(StorageError, match=name):
        plan(tmp_path / name)


def test_the_folder_of_the_log_and_an_interrupted_format_are_refused(tmp_path: Path) -> None:
    place = static().write(tmp_path / "d")
    with pytest.raises(StorageError, match="name the log directory above it"):
        plan(place / METADATA_DIRECTORY)
    (place / "meta.properties").rename(place / "meta.properties.tmp")
    with pytest.raises(StorageError, match="an interrupted format"):
        plan(place)


def test_a_source_that_is_neither_a_directory_nor_a_checkpoint_is_refused(tmp_path: Path) -> None:
    place = static().write(tmp_path / "d")
    for name in ("missing", "text"):
        (tmp_path / "text").write_text("")
        with pytest.raises(MetashellError, match=name):
            plan(place, tmp_path / name)


def test_planning_writes_nothing(tmp_path: Path) -> None:
    place, other = dynamic(1).write(tmp_path / "d"), dynamic(2).write(tmp_path / "e")
    (place / "meta.properties").unlink()
    (place / METADATA_DIRECTORY / "quorum-state").write_text("{")
    before = tree_of(tmp_path)
    plan(place, other)
    assert tree_of(tmp_path) == before


# ---- the tail


def test_a_torn_tail_is_cut_at_the_last_whole_batch(tmp_path: Path) -> None:
    place = static().write(tmp_path / "d")
    log = place / METADATA_DIRECTORY / segment_name(0)
    whole = log.read_bytes()
    log.write_bytes(whole + whole[:40])
    made = repaired(place)
    assert checks_of(made) == (["torn_tail"], [])
    assert log.read_bytes() == whole
    assert log.with_name(f"{log.name}.damaged-1").read_bytes() == whole + whole[:40]


def test_damage_with_whole_batches_behind_it_is_left_with_the_ways_to_fetch_it_again(tmp_path: Path) -> None:
    place = dynamic().write(tmp_path / "d")
    log = place / METADATA_DIRECTORY / segment_name(0)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    made = plan(place)
    assert checks_of(made)[0] == []
    assert "whole batches lie behind it" in cause_of(made, "damaged_log")
    ways = " ".join(made.refusals[0].ways)
    assert "without a vote" in ways
    assert "metashell quorum restore" in ways
    assert "remove-controller" in ways


def test_a_log_that_ends_before_a_known_epoch_is_not_cut(tmp_path: Path) -> None:
    place = static().write(tmp_path / "d")
    log = place / METADATA_DIRECTORY / segment_name(0)
    log.write_bytes(log.read_bytes()[:-10])
    (place / METADATA_DIRECTORY / "leader-epoch-checkpoint").write_text("0\n2\n1 0\n2 900\n")
    assert checks_of(plan(place)) == ([], ["damaged_log"])


@pytest.mark.parametrize(("entries", "is_cut"), [([], True), ([-1], True), ([-1, 40], False), ([90, 10], True)])
def test_an_index_that_knows_batches_behind_the_torn_one_shows_damage(entries: list[int], is_cut: bool, tmp_path: Path) -> None:
    """An entry for the torn batch itself is usual; one behind it was written later. Bytes that are no index say nothing."""
    place = static().write(tmp_path / "d")
    log = place / METADATA_DIRECTORY / segment_name(0)
    whole = len(log.read_bytes())
    log.write_bytes(log.read_bytes() + b"\0" * 20)
    rows = [pack(">ii", number + 1, whole + max(at, 0)) for number, at in enumerate(entries)]
    (place / METADATA_DIRECTORY / f"{0:020d}.index").write_bytes(b"".join(rows) + bytes(80))
    assert checks_of(plan(place)) == ((["torn_tail"], []) if is_cut else ([], ["damaged_log"]))


def test_a_node_with_a_damaged_log_gets_no_new_vote(tmp_path: Path) -> None:
    place = Disk(epoch=5).write(tmp_path / "1")
    log = place / METADATA_DIRECTORY / segment_name(0)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    lost_state(place)
    assert checks_of(plan(place)) == ([], ["damaged_log", "old_quorum_state"])


# ---- quorum-state


def lost_state(place: Path, text: str | None = None) -> Path:
    path = place / METADATA_DIRECTORY / "quorum-state"
    path.unlink()
    if text is not None:
        path.write_text(text)
    return path


def test_a_lost_quorum_state_needs_those_of_all_other_voters(tmp_path: Path) -> None:
    place = dynamic(1).write(tmp_path / "1")
    second = dynamic(2, note={"leaderEpoch": 7, "leaderId": -1, "votedId": 3}).write(tmp_path / "2")
    third = dynamic(3, note={"leaderEpoch": 4}).write(tmp_path / "3")
    lost_state(place)
    made = plan(place, second)
    assert checks_of(made) == ([], ["old_quorum_state"])
    assert "of voter 3" in made.refusals[0].ways[0]
    repaired(place, second, third)
    state = read_quorum_state(str(place / METADATA_DIRECTORY / "quorum-state"))
    assert (state.leader_epoch, state.leader_id, state.voted_id, state.data_version) == (8, -1, -1, 1)


def test_the_leader_of_the_highest_epoch_is_followed_so_that_nothing_is_voted_again(tmp_path: Path) -> None:
    place = dynamic(1).write(tmp_path / "1")
    second = dynamic(2, note={"leaderEpoch": 7, "leaderId": 3}).write(tmp_path / "2")
    third = dynamic(3, note={"leaderEpoch": 7, "leaderId": 3}).write(tmp_path / "3")
    path = lost_state(place)
    repaired(place, second, third)
    state = read_quorum_state(str(path))
    assert (state.leader_epoch, state.leader_id, state.voted_id) == (7, 3, -1)


def test_the_epoch_that_the_operator_states_counts_like_theirs(tmp_path: Path) -> None:
    place = static(2, epoch=3).write(tmp_path / "2")
    path = lost_state(place)
    repaired(place, epoch=1)
    assert (read_quorum_state(str(path)).leader_epoch, read_quorum_state(str(path)).leader_id) == (3, 1)
    assert read_quorum_state(str(path)).current_voters == (1, 2, 3)
    path.unlink()
    repaired(place, epoch=9)
    assert read_quorum_state(str(path)).leader_epoch == 10


def test_a_source_of_another_cluster_proves_no_epoch(tmp_path: Path) -> None:
    place = static(1).write(tmp_path / "1")
    lost_state(place)
    others = []
    for id in (2, 3):
        other = static(id).write(tmp_path / str(id))
        (other / "meta.properties").write_text((other / "meta.properties").read_text().replace(CLUSTER, "AAAAAAAAAAAAAAAAAAAAAA"))
        others.append(other)
    made = plan(place, *others)
    assert checks_of(made) == ([], ["old_quorum_state", "source", "source"])
    assert "nothing was taken from it" in cause_of(made, "source")


def test_an_only_voter_and_a_broker_need_nobody(tmp_path: Path) -> None:
    alone = Disk(epoch=5).write(tmp_path / "1")
    path = lost_state(alone)
    assert "only voter" in repaired(alone).steps[0].reason
    assert read_quorum_state(str(path)).leader_epoch == 6
    broker = static(4, brokers=(4,), epoch=5, controllers=(1, 2, 3)).write(tmp_path / "4")
    path = lost_state(broker)
    assert "never votes" in repaired(broker).steps[0].reason
    assert read_quorum_state(str(path)).leader_epoch == 5


def test_a_node_of_which_nobody_knows_whether_it_votes_is_no_broker_alone(tmp_path: Path) -> None:
    unknown = Disk(node=4, voter_ids=(1,), brokers=(4,), controllers=()).write(tmp_path / "4")
    lost_state(unknown)
    log = unknown / METADATA_DIRECTORY / segment_name(0)
    # Without its first batch, the log has no election that names voters.
    first = LEAD + int.from_bytes(log.read_bytes()[8:LEAD], "big")
    log.write_bytes(log.read_bytes()[first:])
    assert checks_of(plan(unknown))[0] == []


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ('{"leaderId":-1,"leaderEpoch":41,"votedId":2,"voted', 42),
        ('{"leaderId":-1,"leaderEpoch":41,"votedId":2\0\0\0\0\0', 42),
        ('{"clusterId":"","leaderId":-1,"leaderEpoch":41,', 42),
        ('{"leaderId":3,"leaderEpoch":41,"votedId":-1,"voted', 41),
        ('{"leaderId":-1,"leaderEpoch":4', None),
        ('{"leaderId":-1,\0\0"leaderEpoch":41,"votedId":2', None),
        ("", None),
        ("\0\0\0", None),
    ],
)
def test_a_cut_off_file_proves_the_epoch_that_it_still_has(text: str, epoch: int | None, tmp_path: Path) -> None:
    place = dynamic(1).write(tmp_path / "1")
    path = lost_state(place, text)
    if epoch is None:
        assert checks_of(plan(place)) == ([], ["old_quorum_state"])
    else:
        repaired(place)
        assert read_quorum_state(str(path)).leader_epoch == epoch
        assert path.with_name("quorum-state.damaged-1").read_text() == text


def test_a_quorum_state_older_than_the_log_is_no_proof(tmp_path: Path) -> None:
    place = dynamic(1, epoch=6, note={"leaderEpoch": 2}).write(tmp_path / "1")
    assert checks_of(plan(place)) == ([], ["old_quorum_state"])


# ---- meta.properties


def test_a_torn_identity_is_rebuilt_from_its_whole_lines_the_voter_set_and_another_node(tmp_path: Path) -> None:
    place, other = dynamic(1).write(tmp_path / "1"), dynamic(2).write(tmp_path / "2")
    whole = read_meta_properties(str(place / "meta.properties"))
    (place / "meta.properties").write_bytes(f"#\nnode.id=1\ndirectory.id={uuid_text(disk(1))[:9]}".encode())
    assert checks_of(plan(place)) == ([], ["torn_identity"])
    made = repaired(place, other)
    assert read_meta_properties(str(place / "meta.properties")) == whole
    assert "its own line" in made.steps[0].reason
    assert "the voter set names it for voter 1" in made.steps[0].reason


def test_a_lost_identity_of_a_broker_is_proven_by_the_partitions_that_lie_there(tmp_path: Path) -> None:
    ids = [disk(1, 1), disk(1, 2)]
    records = [topic(), partition(0, (1,), directories=ids[:1]), partition(1, (1,), directories=ids[1:])]
    from tests.metadata.diagnosis.disks import broker

    first = Disk(registrations=[broker(1, directories=ids)], records=records, folders={"orders-0": TOPIC}).write(tmp_path / "d1")
    second = tmp_path / "d2"
    (second / "orders-1").mkdir(parents=True)
    (second / "orders-1" / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(TOPIC)}")
    made = repaired(second, first)
    assert checks_of(made) == (["unformatted"], [])
    found = read_meta_properties(str(second / "meta.properties"))
    assert (found.cluster_id, found.node_id, found.directory_id) == (CLUSTER, 1, ids[1])


def test_several_ids_that_would_do_are_named_and_none_is_taken(tmp_path: Path) -> None:
    place, other = dynamic(1).write(tmp_path / "1"), dynamic(2).write(tmp_path / "2")
    (place / "meta.properties").unlink()
    made = plan(place, other)
    assert checks_of(made) == ([], ["unformatted"])
    assert "it may be that of node 1, 2 or 3" in cause_of(made, "unformatted")
    made = repaired(place, other, config=server_config(tmp_path, 1, place))
    assert read_meta_properties(str(place / "meta.properties")).directory_id == disk(1)


def test_a_configuration_of_another_node_contradicts_and_one_of_other_directories_is_refused(tmp_path: Path) -> None:
    place, other = dynamic(1).write(tmp_path / "1"), dynamic(2).write(tmp_path / "2")
    (place / "meta.properties").write_text(f"node.id=1\ncluster.id={CLUSTER}\n")
    (place / "meta.properties").write_text(f"node.id=1\ncluster.id={CLUSTER}")
    made = plan(place, other, config=server_config(tmp_path, 3, place))
    assert "node.id is contradictory: 1 by its own line; 3 by" in cause_of(made, "torn_identity")
    with pytest.raises(StorageError, match="do not name"):
        plan(place, config=server_config(tmp_path, 1, other))


def test_a_foreign_source_proves_no_cluster_id(tmp_path: Path) -> None:
    place = dynamic(1).write(tmp_path / "1")
    (place / "meta.properties").write_text("node.id=1\n")
    foreign = Disk(node=9, voter_ids=(9,), brokers=(9,)).write(tmp_path / "9")
    made = plan(place, foreign)
    assert "no source proves cluster.id" in cause_of(made, "torn_identity")


def test_two_cluster_ids_are_a_contradiction(tmp_path: Path) -> None:
    place, other = dynamic(1).write(tmp_path / "1"), dynamic(2).write(tmp_path / "2")
    (place / "meta.properties").write_text("node.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n\0")
    (place / "meta.properties").write_text("version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.i")
    made = plan(place, other, config=server_config(tmp_path, 1, place))
    assert "cluster.id is contradictory" in cause_of(made, "torn_identity")


def test_a_controller_of_a_static_quorum_gets_a_new_directory_id(tmp_path: Path) -> None:
    place = static(1).write(tmp_path / "1")
    (place / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER}\nnode.id=1\ndirectory.id=x")
    (place / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER}\nnode.id=1\ndirectory.id=x\n")
    made = repaired(place)
    assert "new: no record names a directory of this node" in made.steps[0].reason
    assert read_meta_properties(str(place / "meta.properties")).directory_id == NEW_ID


def test_a_disk_of_another_cluster_is_left_alone(tmp_path: Path) -> None:
    first = combined().write(tmp_path / "d1")
    second = tmp_path / "d2"
    (second / "other-0").mkdir(parents=True)
    (second / "other-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(OTHER_TOPIC)}")
    (second / "meta.properties").write_text(properties(1, disk(1, 2)).replace(CLUSTER, "AAAAAAAAAAAAAAAAAAAAAA"))
    made = plan(second, config=server_config(tmp_path, 1, first, second))
    assert "other_cluster" in checks_of(made)[1]
    assert "nothing in the directory shows that it is this node's" in cause_of(made, "other_cluster")


# ---- topics


def test_a_lost_topic_id_is_rebuilt_from_a_log_that_has_everything(tmp_path: Path) -> None:
    place = combined(folders={"orders-0": TOPIC, "orders-1": None}).write(tmp_path / "d")
    assert checks_of(repaired(place)) == (["no_topic_id"], [])
    assert read_topic_id(str(place / "orders-1" / "partition.metadata")) == TOPIC
    (place / "orders-0" / "partition.metadata").write_text("version: 0\ntop")
    assert checks_of(repaired(place)) == (["no_topic_id"], [])


def test_a_topic_that_was_removed_and_made_again_is_ambiguous(tmp_path: Path) -> None:
    from tests.inspect.verify.making import metadata_value

    removed = metadata_value("RemoveTopicRecord", topic_id=OTHER_TOPIC)
    records = [topic(id=OTHER_TOPIC), partition(0, (1,), topic=OTHER_TOPIC), removed, topic(), partition(0, (1,))]
    place = combined(records=records, folders={"orders-0": None}).write(tmp_path / "d")
    made = plan(place)
    assert checks_of(made) == ([], ["no_topic_id"])
    assert uuid_text(OTHER_TOPIC) in cause_of(made, "no_topic_id")


def test_a_wrong_topic_id_is_replaced_only_where_the_broker_is_in_sync(tmp_path: Path) -> None:
    place = combined(folders={"orders-0": OTHER_TOPIC}).write(tmp_path / "d")
    assert checks_of(repaired(place)) == (["stray_topic_id"], [])
    assert read_topic_id(str(place / "orders-0" / "partition.metadata")) == TOPIC
    records = [topic(), partition(0, (1, 2), isr=(2,), leader=2)]
    place = combined(records=records, brokers=(1, 2), folders={"orders-0": OTHER_TOPIC}).write(tmp_path / "e")
    assert checks_of(plan(place)) == ([], ["stray_topic_id"])


def test_a_log_of_later_epochs_than_the_partition_is_not_its_log(tmp_path: Path) -> None:
    place = combined(folders={"orders-0": None}).write(tmp_path / "d")
    (place / "orders-0" / "leader-epoch-checkpoint").write_text("0\n1\n50 0\n")
    assert "has leader epoch 50" in cause_of(plan(place), "no_topic_id")


# ---- checkpoints and leftovers


def late(at: Path) -> Path:
    """The demo's directory without its first segment: a log that begins at offset 251."""
    shutil.copytree(DEMO, at)
    for path in (at / METADATA_DIRECTORY).glob(f"{0:020d}.*"):
        path.unlink()
    return at


def checkpoints(place: Path) -> list[Path]:
    return sorted((place / METADATA_DIRECTORY).glob("*.checkpoint"))


def test_a_lost_checkpoint_is_copied_from_another_node_or_a_file(tmp_path: Path) -> None:
    source, place = late(tmp_path / "source"), late(tmp_path / "d")
    for path in checkpoints(place):
        path.unlink()
    assert checks_of(plan(place)) == ([], ["lost_checkpoint"])
    newest = checkpoints(source)[-1]
    repaired(place, newest)
    assert checkpoints(place)[-1].read_bytes() == newest.read_bytes()
    checkpoints(place)[-1].unlink()
    (source / "meta.properties").write_text((source / "meta.properties").read_text().replace("node.id=2", "node.id=3"))
    repaired(place, source)
    assert checkpoints(place)[-1].read_bytes() == newest.read_bytes()


def test_a_checkpoint_that_was_marked_as_deleted_is_used_again(tmp_path: Path) -> None:
    place = late(tmp_path / "d")
    for path in checkpoints(place):
        path.rename(f"{path}.deleted")
    made = repaired(place)
    assert checks_of(made)[0][0] == "lost_checkpoint"
    assert [path.name for path in checkpoints(place)] == [sorted(DEMO.joinpath(METADATA_DIRECTORY).glob("*.checkpoint"))[-1].name]


def test_a_torn_newest_checkpoint_is_moved_away_if_an_older_one_and_the_log_have_everything(tmp_path: Path) -> None:
    place = static().write(tmp_path / "d")
    torn = place / METADATA_DIRECTORY / f"{3:020d}-{1:010d}.checkpoint"
    torn.write_bytes(b"")
    assert checks_of(repaired(place)) == (["torn_checkpoint"], [])
    assert not torn.exists()


def test_a_foreign_or_torn_checkpoint_is_not_copied(tmp_path: Path) -> None:
    source, place = late(tmp_path / "source"), late(tmp_path / "d")
    for path in checkpoints(place):
        path.unlink()
    newest = checkpoints(source)[-1]
    for path in checkpoints(source)[:-1]:
        path.unlink()
    newest.write_bytes(newest.read_bytes()[:-30])
    made = plan(place, source)
    assert checks_of(made) == ([], ["lost_checkpoint"])
    (source / "meta.properties").write_text((source / "meta.properties").read_text().replace("Z29sZGVu", "AAAAAAAA"))
    assert checks_of(plan(place, source)) == ([], ["lost_checkpoint", "source"])


def test_a_checkpoint_of_another_epoch_is_another_history(tmp_path: Path) -> None:
    source, place = late(tmp_path / "source"), late(tmp_path / "d")
    newest = checkpoints(place)[-1]
    wrong = newest.with_name(newest.name.replace("-0000000001", "-0000000002"))
    for path in (*checkpoints(place), *checkpoints(source)[:-1]):
        path.unlink()
    checkpoints(source)[-1].rename(source / METADATA_DIRECTORY / wrong.name)
    made = plan(place, source)
    assert checks_of(made) == ([], ["lost_checkpoint"])
    assert "two histories" in cause_of(made, "lost_checkpoint")


def test_a_copy_of_the_cluster_that_went_its_own_way_is_no_source(tmp_path: Path) -> None:
    """It has the same cluster.id and epochs, and other records at the same offsets."""
    place = dynamic(1).write(tmp_path / "1")
    others = [dynamic(id, records=[topic()]).write(tmp_path / str(id)) for id in (2, 3)]
    lost_state(place)
    assert checks_of(plan(place, *others))[0] == ["old_quorum_state"]
    shutil.rmtree(place)
    place = dynamic(1, records=[topic("other", OTHER_TOPIC)]).write(tmp_path / "1")
    lost_state(place)
    assert checks_of(plan(place, *others)) == ([], ["old_quorum_state", "source", "source"])


def test_leftovers_are_put_aside(tmp_path: Path) -> None:
    place = static().write(tmp_path / "d")
    folder = place / METADATA_DIRECTORY
    names = [f"{0:020d}.log.cleaned", f"{7:020d}-{1:010d}-123.checkpoint.part", "quorum-state.tmp", f"{3:020d}.log.deleted"]
    for name in names:
        (folder / name).write_bytes(b"x")
    assert checks_of(repaired(place)) == (["leftover"] * 4, [])
    assert not [name for name in names if (folder / name).exists()]


def test_all_at_once_meta_properties_comes_last(tmp_path: Path) -> None:
    place = dynamic(1).write(tmp_path / "1")
    second, third = dynamic(2).write(tmp_path / "2"), dynamic(3).write(tmp_path / "3")
    log = place / METADATA_DIRECTORY / segment_name(0)
    log.write_bytes(log.read_bytes() + b"\0" * 100)
    (place / "meta.properties").unlink()
    lost_state(place, json.dumps({"data_version": 9}))
    made = repaired(place, second, third, config=server_config(tmp_path, 1, place))
    assert checks_of(made) == (["torn_tail", "old_quorum_state", "unformatted"], [])


def test_a_metadata_directory_that_is_gone_is_no_sound_one_where_the_proof_says_that_it_was_there(tmp_path: Path) -> None:
    place = static().write(tmp_path / "d")
    meta = read_meta_properties(str(place / "meta.properties"))
    assert meta.directory_id is not None
    write_acknowledged(FileSystem(), str(place), Acknowledged(meta.directory_id, 4, 9, True))
    shutil.rmtree(place / METADATA_DIRECTORY)
    made = plan(place)
    assert checks_of(made) == ([], ["damaged_log"])
    assert "acknowledged says that this directory has acknowledged records, up to epoch 4" in cause_of(made, "damaged_log")
    # Of another directory id the file speaks of a former life.
    write_acknowledged(FileSystem(), str(place), Acknowledged(NEW_ID, 4, 9, True))
    assert checks_of(plan(place)) == ([], [])
