"""`metashell quorum restore` as its users meet it: what it says, what it refuses, and what it writes."""

from __future__ import annotations

import json
import random
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.controllers.quorum import main as quorum
from metashell.cli.inspect.bundle import main as bundle
from metashell.common.values import OffsetAndEpoch
from metashell.disk.source import open_directory
from metashell.disk.state_files import QuorumState
from metashell.inspect.survivors import raised
from metashell.metadata.image import MetadataImage, load_image
from metashell.quorum.embedded import EmbeddedQuorum
from tests.disk.storage_cases import listing
from tests.inspect.surviving import (
    BROKER,
    CLUSTER_ID,
    LATE_ID,
    TOPIC_ID,
    VOTERS,
    MadeLog,
    checkpoint,
    first_records,
    make_source,
    usual_log,
)
from tests.running import Outcome, run_main
from tools.interop.nodes import cluster, controller_settings, free_ports, server_command, write_config

TARGET = ("--out", "new", "--node-id", "7", "--listener", "host7:9093")


def restored(folder: Path, *words: str) -> Outcome:
    return run_main(quorum, ["restore", *words], cwd=folder)


def answer(outcome: Outcome, status: int = 0) -> dict[str, Any]:
    assert outcome.status == status, outcome
    value = json.loads(outcome.stdout)
    assert isinstance(value, dict)
    return value


def image_in(folder: Path) -> MetadataImage:
    with open_directory(str(folder)) as source:
        image = load_image(source)
    assert not image.faults
    return image


def refused(folder: Path, *words: str) -> str:
    """The one line of a refusal, which writes nothing."""
    before = listing(folder)
    outcome = restored(folder, *words)
    assert outcome.status == 1, outcome
    assert listing(folder) == before
    assert outcome.stderr.count("\n") == 1
    return outcome.stderr


# ---- what is written


def test_a_quorum_is_restored_from_the_best_of_several_sources(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    make_source(tmp_path / "two", usual_log().lead(7, 2), node_id=2)
    make_source(tmp_path / "broker", usual_log().pad(5, 3), node_id=BROKER, partitions=[("orders-0", TOPIC_ID, 4)])
    before = {name: listing(tmp_path / name) for name in ("one", "two", "broker")}
    outcome = restored(tmp_path, "one", "two", "broker", *TARGET)
    assert outcome.status == 0, outcome
    assert {name: listing(tmp_path / name) for name in before} == before
    text = outcome.stdout.decode()
    assert "two (log directory of node 2, epoch 7, ends at offset 21)" in text
    assert "it has the latest epoch" in text
    assert "offsets 20 to 22 of epoch 5 are not in the best source, whose later leader did not have them" in text
    assert text.count("127.0.0.1:1: Connection refused") == 3
    assert "damaged" not in text
    image = image_in(tmp_path / "new")
    assert image.provenance.end_offset == 1000000023
    assert image.provenance.epoch == 1000007
    assert image.voters is not None
    ((voter),) = image.voters.voters
    assert (voter.id, voter.endpoints) == (7, (("CONTROLLER", "host7", 9093),))
    assert image.topics.by_id[TOPIC_ID].name == "orders"
    assert set(image.cluster.brokers) == {BROKER}
    assert not image.cluster.controllers


def test_a_static_quorum_has_no_voters_in_its_records(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log(is_static=True))
    outcome = restored(tmp_path, "one", *TARGET, "--static")
    assert outcome.status == 0, outcome
    assert "controller.quorum.voters=7@host7:9093" in outcome.stdout.decode()
    image = image_in(tmp_path / "new")
    assert image.voters is None
    assert image.features.kraft_version == 0


def test_a_checkpoint_alone_is_enough_and_its_loss_is_named(tmp_path: Path) -> None:
    make_source(tmp_path / "one", None, checkpoints=[OffsetAndEpoch(15, 5)])
    path = f"one/__cluster_metadata-0/{15:020d}-{5:010d}.checkpoint"
    outcome = restored(tmp_path, path, *TARGET)
    assert outcome.status == 0, outcome
    assert "everything after offset 15 is lost" in outcome.stdout.decode()
    assert image_in(tmp_path / "new").provenance.end_offset == 1000000015


def test_an_open_transaction_is_dropped_as_a_new_leader_does(tmp_path: Path) -> None:
    from metashell.codec.messages import BeginTransactionRecord, TopicRecord

    log = usual_log().add(5, [BeginTransactionRecord(name="create"), TopicRecord(name="half", topic_id=LATE_ID)])
    make_source(tmp_path / "one", log)
    outcome = restored(tmp_path, "one", *TARGET)
    assert outcome.status == 0, outcome
    assert {topic.name for topic in image_in(tmp_path / "new").topics} == {"orders"}


def test_a_dry_run_writes_nothing_and_says_the_same(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    before = listing(tmp_path)
    shown = answer(restored(tmp_path, "one", *TARGET, "--dry-run", "-o", "json"))
    assert listing(tmp_path) == before
    assert shown["result"] == "would_be_written"
    done = answer(restored(tmp_path, "one", *TARGET, "-o", "json"))
    assert done["result"] == "written"
    random = ("result", "directory")
    assert {key: value for key, value in shown.items() if key not in random} == {
        key: value for key, value in done.items() if key not in random
    }
    assert [source["is_best"] for source in done["sources"]] == [True]
    assert [voter["alive"] for voter in done["voters"]] == [False, False, False]


def test_partitions_on_disk_that_the_source_does_not_know_are_named(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    partitions = [("orders-0", TOPIC_ID, 4), ("orders-1", TOPIC_ID, 9), ("late-0", LATE_ID, 0)]
    make_source(tmp_path / "data", None, node_id=BROKER, partitions=partitions)
    (tmp_path / "data" / "__cluster_metadata-0" / "partition.metadata").unlink()
    (tmp_path / "data" / "__cluster_metadata-0").rmdir()
    outcome = restored(tmp_path, "one", "data", *TARGET, "--dry-run")
    text = outcome.stdout.decode()
    assert "data: 1 partition of topics that the best source lacks: late" in text
    assert "data: later elections of 1 partition that it lacks: orders" in text
    assert "last the broker of data:" in text
    assert "no directory of broker" not in text
    shown = answer(restored(tmp_path, "one", "data", *TARGET, "--dry-run", "-o", "json"))
    ((disk),) = shown["on_disk"]
    assert [one["topic"] for one in disk["unknown"]] == ["late"]
    assert [(one["topic"], one["partition"], one["leader_epoch"]) for one in disk["later"]] == [("orders", 1, 9)]


def test_a_data_directory_names_the_cluster_of_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / f"{15:020d}-{5:010d}.checkpoint"
    path.write_bytes(checkpoint(OffsetAndEpoch(15, 5), first_records()))
    assert "the cluster id is not known" in refused(tmp_path, path.name, *TARGET)
    for name, cluster_id in (("data", CLUSTER_ID), ("foreign", "other")):
        make_source(tmp_path / name, None, node_id=BROKER, cluster_id=cluster_id)
        (tmp_path / name / "__cluster_metadata-0" / "partition.metadata").unlink()
        (tmp_path / name / "__cluster_metadata-0").rmdir()
    shown = answer(restored(tmp_path, path.name, "data", *TARGET, "--dry-run", "-o", "json"))
    assert shown["cluster_id"] == CLUSTER_ID
    assert "several clusters: data is of cluster" in refused(tmp_path, path.name, "data", "foreign", *TARGET)
    assert "no metadata log here" in refused(tmp_path, "data", *TARGET)


def test_a_controller_of_another_cluster_at_a_voters_address_is_no_voter(tmp_path: Path) -> None:
    with EmbeddedQuorum(controllers=1) as other:
        host, _, port = other.bootstrap_controllers.partition(":")
        voter = VOTERS[0]._replace(host=host, port=int(port))
        records = [one for one in first_records() if type(one).__name__ != "RegisterControllerRecord"]
        make_source(tmp_path / "one", MadeLog().lead(5, voters=[voter]).add(5, records))
        outcome = restored(tmp_path, "one", *TARGET, "--dry-run")
    assert outcome.status == 0, outcome
    assert f"a controller of another cluster, {other.cluster_id}" in outcome.stdout.decode()


def test_voters_that_do_not_answer_may_run(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    (gone,) = free_ports(1)
    with socket.create_server(("127.0.0.1", 0)) as paused:
        # It takes connections, as a process that is stopped does, and says nothing.
        silent = f"127.0.0.1:{paused.getsockname()[1]}"
        two = f"1@{silent},2@{silent},3@localhost:{gone}"
        told = refused(tmp_path, "one", *TARGET, "--voters", two)
        assert "voter 1, 2 does not answer, which a network or a pause can do too, so a majority of the 3 voters may run" in told
        one = f"1@{silent},2@localhost:{gone},3@localhost:{gone}"
        assert restored(tmp_path, "one", *TARGET, "--voters", one, "--dry-run").status == 0
    assert "does not answer" in refused(tmp_path, "one", *TARGET, "--voters", "1@no.such.host.invalid:1,2@no.such.host.invalid:1")


def test_a_lone_voter_that_runs_is_no_majority_but_is_warned_of(tmp_path: Path) -> None:
    with EmbeddedQuorum(controllers=3, directory=tmp_path / "old") as old:
        for id in (2, 3):
            old.kill(id)
        # It still takes the former leader for the leader, or none.
        outcome = restored(tmp_path, "old/controller-1", "old/controller-2", *TARGET, "--dry-run", "--force")
    assert outcome.status == 0, outcome
    assert re.search(r"warning: voter 1 at \S+ runs.*: stop it, and move its log directory away", outcome.stdout.decode())
    assert "which is a majority" not in outcome.stdout.decode()


def test_a_broker_that_runs_is_a_refusal(tmp_path: Path) -> None:
    with EmbeddedQuorum(controllers=1, groups=True, directory=tmp_path / "old") as old:
        # A broker without data listens, so that consumers can form groups.
        assert old.bootstrap_servers
        outcome = restored(tmp_path, "old/controller-1", *TARGET, "--dry-run")
    assert outcome.status == 1
    assert "broker 100 runs: a broker that runs when the restored quorum begins to lead deletes" in outcome.stderr


def test_what_no_old_voter_meets_and_brokers_without_a_source_are_warned_of(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    shown = answer(restored(tmp_path, "one", *TARGET, "--dry-run", "-o", "json"))
    apart, unseen = shown["warnings"]
    assert apart.startswith("no voter of the old quorum was at host7:9093")
    assert unseen.startswith("no directory of broker 11 is a source")
    shown = answer(restored(tmp_path, "one", *TARGET[:4], "--listener", "127.0.0.1:1", "--dry-run", "-o", "json"))
    assert shown["warnings"] == [unseen]


def test_a_node_that_is_broker_and_controller_keeps_its_partitions(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    shown = answer(restored(tmp_path, "one", "--out", "new", "--node-id", str(BROKER), *TARGET[4:], "--dry-run", "-o", "json"))
    assert any(f"node {BROKER} is registered as a broker" in text for text in shown["warnings"])
    move = next(index for index, text in enumerate(shown["steps"]) if "move the old __cluster_metadata-0 out" in text)
    assert "metadata.log.dir=new" in shown["steps"][move]
    assert "start the controller" in shown["steps"][move + 1]
    usual = answer(restored(tmp_path, "one", *TARGET, "--dry-run", "-o", "json"))
    assert not any("metadata.log.dir" in text for text in usual["steps"])


def test_a_restored_quorum_can_be_lost_and_restored_again(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    assert restored(tmp_path, "one", *TARGET).status == 0
    elsewhere = ("--out", "newer", "--node-id", "8", "--listener", "127.0.0.1:1")
    assert "voter 7 does not answer" in refused(tmp_path, "one", "new", *elsewhere), "nobody knows host7"
    again = restored(tmp_path, "one", "new", *elsewhere, "--voters", "7@127.0.0.1:1")
    assert again.status == 0, again
    text = again.stdout.decode()
    assert "one (log directory of node 1, epoch 5, ends at offset 20): is of a quorum before a restore" in text
    image = image_in(tmp_path / "newer")
    assert (image.provenance.end_offset, image.provenance.epoch) == (2000000020, 2000005)
    partition = image.topics.by_id[TOPIC_ID].partitions[0]
    assert (partition.leader_epoch, partition.partition_epoch) == (2000004, 2000006)


def test_a_bundle_is_a_source_without_its_secrets(tmp_path: Path) -> None:
    from metashell.codec.messages import UserScramCredentialRecord

    user = UserScramCredentialRecord(name="alice", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096)
    make_source(tmp_path / "one", usual_log().add(5, [user]))
    for words in ((), ("--anonymise",)):
        made = run_main(bundle, ["one", "--out", f"case{len(words)}.tar.gz", *words], cwd=tmp_path)
        assert made.status == 0, made
    outcome = restored(tmp_path, "case0.tar.gz", *TARGET)
    assert outcome.status == 0, outcome
    text = outcome.stdout.decode()
    assert "case0.tar.gz (bundle of node 1, epoch 5, ends at offset 21)" in text
    assert "1 user and 0 settings whose secrets the bundle does not have" in text
    image = image_in(tmp_path / "new")
    assert not image.scram
    assert image.topics.by_id[TOPIC_ID].name == "orders"
    assert "anonymised bundle has aliases" in refused(tmp_path, "case1.tar.gz", "--out", "x", *TARGET[2:])
    # A directory of the same end has more than a bundle.
    again = answer(restored(tmp_path, "case0.tar.gz", "one", "--out", "y", *TARGET[2:], "--dry-run", "-o", "json"))
    assert [(source["path"], source["is_best"]) for source in again["sources"]] == [("one", True), ("case0.tar.gz", False)]


def test_our_controller_leads_on_the_result_of_a_quorum_of_ours(tmp_path: Path) -> None:
    with EmbeddedQuorum(controllers=3, fake_brokers=2, directory=tmp_path / "old") as old:
        topic_id = old.create_topic("orders", partitions=3, replication_factor=2)
        before = old.image.topics.by_id[topic_id]
    sources = [str(path) for path in sorted((tmp_path / "old").glob("controller-*"))]
    assert len(sources) == 3
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    shown = answer(restored(tmp_path, *sources, *TARGET[:4], "--listener", address, "-o", "json"))
    assert shown["committed_to"] is not None
    after = image_in(tmp_path / "new").topics.by_id[topic_id]
    assert dict(after.partitions.items()) == {id: raised(one) for id, one in before.partitions.items()}
    settings = controller_settings(7, port, tmp_path / "new", {"controller.quorum.bootstrap.servers": address})
    settings["listeners"] = f"CONTROLLER://{address}"
    config = write_config(tmp_path / "server.properties", settings)
    with cluster(lambda tool, *words: server_command(*words), tmp_path) as place:
        place.start(config)

        def leads() -> bool:
            told = run_main(quorum, ["describe", "-C", address, "-o", "json"], cwd=tmp_path)
            return told.status == 0 and json.loads(told.stdout)["leader"] == 7

        place.wait_until("controller 7 leads", leads)
        told = json.loads(run_main(quorum, ["describe", "-C", address, "-o", "json"], cwd=tmp_path).stdout)
    assert told["epoch"] == 1000000 + shown["sources"][0]["last_epoch"] + 1


# ---- what is refused


def test_a_place_that_is_not_empty_or_a_source_is_refused(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    (tmp_path / "link").symlink_to("one")
    rest = TARGET[2:]
    assert "full: is not empty (file)" in refused(tmp_path, "one", "--out", "full", *rest)
    for out in ("one", "one/new", "one/__cluster_metadata-0", "link", "link/new", "."):
        assert "which is only read" in refused(tmp_path, "one", "--out", out, *rest)


def test_a_foreign_or_damaged_source_is_refused_in_one_line(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    make_source(tmp_path / "foreign", usual_log(), cluster_id="other")
    make_source(tmp_path / "zero", MadeLog())
    (tmp_path / f"{9:020d}-{1:010d}.checkpoint").write_bytes(b"")
    assert "several clusters" in refused(tmp_path, "one", "foreign", *TARGET)
    for bad in ("zero", "missing", f"{9:020d}-{1:010d}.checkpoint"):
        assert bad in refused(tmp_path, "one", bad, *TARGET)
    (tmp_path / "loop").symlink_to("loop")
    outcome = restored(tmp_path, "one", "loop", *TARGET)
    assert (outcome.status, outcome.stderr.count("\n"), (tmp_path / "new").exists()) == (1, 1, False)


def test_damage_at_the_end_of_the_best_source_is_refused_unless_forced(tmp_path: Path) -> None:
    log = usual_log()
    at = len(log.data)
    log.pad(5, 5)
    log.data = log.data[: at + 30] + bytes([log.data[at + 30] ^ 1]) + log.data[at + 31 :]
    make_source(tmp_path / "one", log)
    outcome = restored(tmp_path, "one", *TARGET)
    assert outcome.status == 1
    assert "no source has what follows offset 19" in outcome.stderr
    assert not (tmp_path / "new").exists()
    forced = restored(tmp_path, "one", *TARGET, "--force")
    assert forced.status == 0, forced
    assert "--force: one is damaged" in forced.stdout.decode()
    # What was there once counts for the new offsets.
    assert image_in(tmp_path / "new").provenance.end_offset == 1000000025


def test_another_source_that_goes_on_heals_the_damage(tmp_path: Path) -> None:
    log = usual_log().pad(5, 5)
    make_source(tmp_path / "two", log, node_id=2)
    log.data = log.data[:-40] + bytes([log.data[-40] ^ 1]) + log.data[-39:]
    make_source(tmp_path / "one", log.pad(5, 0))
    outcome = restored(tmp_path, "one", "two", *TARGET)
    assert outcome.status == 0, outcome
    assert "two (log directory of node 2, epoch 5, ends at offset 25)" in outcome.stdout.decode()


@pytest.mark.parametrize("seed", range(25))
def test_any_damage_of_a_source_is_named_in_one_line_or_harmless(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    partitions = [("orders-0", TOPIC_ID, 3)]
    election = QuorumState(leader_epoch=5, data_version=1)
    source = make_source(tmp_path / "one", usual_log(), checkpoints=[OffsetAndEpoch(15, 5)], election=election, partitions=partitions)
    files = sorted(path for path in source.rglob("*") if path.is_file())
    for path in chance.sample(files, 2):
        data = bytearray(path.read_bytes())
        match chance.randrange(4):
            case 0:
                data = data[: chance.randrange(len(data))]
            case 1:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            case 2:
                at = chance.randrange(len(data))
                data[at : at + 64] = chance.randbytes(64)
            case _:
                data = bytearray(chance.randbytes(len(data)))
        path.write_bytes(data)
    before = listing(source)
    outcome = restored(tmp_path, "one", *TARGET)
    assert listing(source) == before
    if outcome.status == 0:
        assert image_in(tmp_path / "new").topics.by_id[TOPIC_ID].name == "orders"
    else:
        assert (outcome.status, outcome.stderr.count("\n"), (tmp_path / "new").exists()) == (1, 1, False), outcome


def test_two_histories_are_refused_unless_forced(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log().pad(5, 10), checkpoints=[OffsetAndEpoch(25, 5)])
    make_source(tmp_path / "two", usual_log().lead(7, 2).pad(7, 9), node_id=2)
    outcome = restored(tmp_path, "one", "two", *TARGET)
    assert outcome.status == 1
    assert "differ at offset 20: epoch 5 and epoch 7" in outcome.stderr
    assert restored(tmp_path, "one", "two", *TARGET, "--force").status == 0


def test_records_of_a_newer_release_would_be_lost(tmp_path: Path) -> None:
    from metashell.codec.metadata_records import UnknownRecord

    make_source(tmp_path / "one", usual_log().add(5, [UnknownRecord(200, 0, b"\x00")]))
    outcome = restored(tmp_path, "one", *TARGET)
    assert outcome.status == 1
    assert "they would be lost" in outcome.stderr


def test_what_a_release_cannot_run_with_is_refused(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    assert "a server of 4.3 cannot run with the levels" in refused(tmp_path, "one", *TARGET, "-r", "4.3.1")
    outcome = restored(tmp_path, "one", *TARGET, "-r", "9.9")
    assert outcome.status == 2
    assert "'9.9' is no release" in outcome.stderr
    old = [first_records()[0], *first_records()[3:]]
    old[0].feature_level = 14
    log = MadeLog().lead(5, is_static=True).add(5, old)
    make_source(tmp_path / "old", log, election=QuorumState(leader_epoch=5, current_voters=(1,)))
    assert "have no dynamic quorums" in refused(tmp_path, "old", *TARGET, "-r", "3.6", "--force")
    assert restored(tmp_path, "old", *TARGET, "-r", "3.6", "--static", "--force").status == 0


def test_a_log_without_a_cluster_is_refused(tmp_path: Path) -> None:
    make_source(tmp_path / "one", MadeLog().lead(1))
    assert "sets no metadata.version" in refused(tmp_path, "one", *TARGET)
    make_source(tmp_path / "two", usual_log())
    (tmp_path / "two" / "meta.properties").unlink()
    assert "the cluster id is not known" in refused(tmp_path, "two", *TARGET)


def test_voters_without_an_address_may_run(tmp_path: Path) -> None:
    records = [one for one in first_records() if getattr(one, "controller_id", 1) == 1]
    make_source(tmp_path / "one", MadeLog().lead(5, is_static=True).add(5, records))
    outcome = restored(tmp_path, "one", *TARGET)
    # Only controller 1 is registered; 2 and 3 are a majority.
    assert outcome.status == 1
    assert "no source has the address of voter 2, 3, so a majority of the 3 voters may run" in outcome.stderr
    assert outcome.stdout.decode().count("no address: no source has its address") == 2
    # Asked at an address that is given, they are known to be gone; of three, two are enough.
    (port,) = free_ports(1)
    outcome = restored(tmp_path, "one", *TARGET, "--voters", f"2@localhost:{port}", "--dry-run")
    assert (outcome.status, outcome.stdout.count(b"no address: no source has its address")) == (0, 1), outcome
    for wrong, told in (
        ("2", "'2' is not ID@HOST:PORT"),
        ("x@h:1", "'x@h:1' is not"),
        ("2@h", "'h' is not HOST:PORT"),
        ("9@h:1", "without 9"),
    ):
        outcome = restored(tmp_path, "one", *TARGET, "--voters", wrong)
        assert outcome.status == 2 and told in outcome.stderr
    make_source(tmp_path / "none", MadeLog().add(5, records))
    assert (
        answer(restored(tmp_path, "none", *TARGET, "--voters", f"1@localhost:{port}", "--dry-run", "-o", "json"))["voters_named_by"]
        == "--voters"
    )
    assert "no source names the voters" in restored(tmp_path, "none", *TARGET).stderr
    assert restored(tmp_path, "none", *TARGET, "--force").status == 0


def test_a_quorum_that_runs_is_not_replaced_unless_forced(tmp_path: Path) -> None:
    with EmbeddedQuorum(controllers=3, directory=tmp_path / "old"):
        sources = [path.name for path in sorted((tmp_path / "old").glob("controller-*"))]
        paths = [f"old/{name}" for name in sources]
        outcome = restored(tmp_path, *paths, *TARGET)
        assert outcome.status == 1
        assert "voter 1, 2, 3 of the 3 voters run, which is a majority" in outcome.stderr
        assert re.search(r"runs, and takes \d for the leader, epoch \d", outcome.stdout.decode())
        assert not (tmp_path / "new").exists()
        # What is given counts more than what the sources say: nobody listens there.
        elsewhere = ",".join(f"{id}@localhost:{port}" for id, port in enumerate(free_ports(3), 1))
        assert restored(tmp_path, *paths, *TARGET, "--dry-run", "--voters", elsewhere).status == 0
        forced = restored(tmp_path, *paths, *TARGET, "--force")
        assert forced.status == 0, forced
        assert "--force: voter 1, 2, 3 of the 3 voters run" in forced.stdout.decode()


@pytest.mark.parametrize(
    "words",
    [
        ("one", "--node-id", "7", "--listener", "h:1"),
        ("one", "--out", "x", "--listener", "h:1"),
        ("one", "--out", "x", "--node-id", "7"),
        ("--out", "x", "--node-id", "7", "--listener", "h:1"),
        ("one", "--out", "x", "--node-id", "-7", "--listener", "h:1"),
        ("one", "--out", "x", "--node-id", "7", "--listener", "h"),
        ("one", "--out", "x", "--node-id", "7", "--listener", "h:0"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    outcome = restored(tmp_path, *words)
    assert (outcome.status, listing(tmp_path)) == (2, {})


def test_the_listeners_name_is_that_of_the_old_voters_or_the_one_that_is_given(tmp_path: Path) -> None:
    make_source(tmp_path / "one", usual_log())
    shown = answer(restored(tmp_path, "one", *TARGET[:4], "--listener", "QUORUM://[::1]:9093", "--dry-run", "-o", "json"))
    assert shown["directory"]["listener"] == "QUORUM://[0:0:0:0:0:0:0:1]:9093"
    shown = answer(restored(tmp_path, "one", *TARGET, "--dry-run", "-o", "json"))
    assert shown["directory"]["listener"] == "CONTROLLER://host7:9093"
    assert len(VOTERS) == 3
