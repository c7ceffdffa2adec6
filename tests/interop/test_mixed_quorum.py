"""Real Kafka controllers and one of ours are voters of one quorum: every node is killed, and all logs are the same bytes.

What is committed is checked by Kafka's own answers and tools, logs by their bytes, and Kafka's nodes must not have found an error.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from shutil import rmtree

import pytest

from metashell.common.values import uuid_text
from metashell.quorum.raft.messages import ReplicaState
from tests.java import BEFORE, KAFKA, jars, java, kafka, kafka_command, logging_command
from tools.interop.mixed_quorum import LIMIT_S, QUIET, MixedQuorum, ends_at
from tools.interop.nodes import CommandOf, cluster, controller_settings, format_directories, free_ports, write_config

pytestmark = pytest.mark.slow

OURS = 3
OLDER, OLDER_RELEASE = "3.9.2", "3.9"
"""The oldest Kafka that ours may stand beside. The release before the newest is in the upgrade below, the newest in all others."""
NO_ERROR = ("main ERROR Reconfiguration failed", "[ControllerApis ", "Overriding internal.metadata.log.segment.bytes")
# What Kafka says when its pre-vote meets an older voter, and goes on.
NO_ERROR += ("failed due to unsupported version error",)
# What Kafka's nodes say of their own registration that was under way when a leader was killed; they send it again.
NO_ERROR += ("channel manager timed out before sending the request",)
# What a busy machine brings.
NO_ERROR += ("Exceptionally slow controller event",)
"""What log4j says of having no file of settings, requests that came before the leader was ready, and what is said of `SMALL`."""
STATIC = {"controller.quorum.voters": "1@localhost:{port_1},2@localhost:{port_2},3@localhost:{port_3}"}
DYNAMIC = {"controller.quorum.bootstrap.servers": "localhost:{port_1},localhost:{port_2}"}
DIRECTORY_IDS = {1: "iSWq0OPXTqOZ8aVrKmWO1A", 2: "mL1w5SXrSHKHKX4dPKoQTw"}
NOT_LOADED = "irect-to-controller communication is not supported"
PATIENT = {"controller.quorum.fetch.timeout.ms": 30_000}
"""With this nobody loses its leadership to another because a busy machine kept it, or the others, from their turn for some seconds."""
SMALL = {
    "metadata.log.max.record.bytes.between.snapshots": 10_000,
    "metadata.max.retention.bytes": 20_000,
    "internal.metadata.log.segment.bytes": 16_384,
}


def server_command(version: str, folder: Path) -> CommandOf:
    """How a server of a version is started so that its warnings are told."""
    return lambda tool, *words: logging_command(kafka_command(version, tool, *words), folder)


Made = Callable[..., MixedQuorum]


@pytest.fixture
def quorum_of(tmp_path: Path) -> Iterator[Made]:
    """Make a formatted quorum: `versions` are those of Kafka's nodes 1, 2, .., ours is 3; `words_of` what format is told for an id."""
    java()
    with cluster(lambda *words: list(words), tmp_path) as place:

        def make(versions: Sequence[str], settings: dict[str, object], words_of: Callable[[int], list[str]]) -> MixedQuorum:
            for version in {*versions, KAFKA}:
                jars(version)
            ids = [*range(1, len(versions) + 1), OURS]
            commands = {id: server_command(version, tmp_path) for id, version in enumerate(versions, 1)}
            made = MixedQuorum(place, dict(zip(ids, free_ports(len(ids)), strict=True)), commands)
            ports = {f"port_{id}": port for id, port in made.ports.items()}
            filled = {key: str(value).format(**ports) for key, value in settings.items()}
            for id, port in made.ports.items():
                config = write_config(made.config(id), controller_settings(id, port, made.directory(id), filled), QUIET)
                format_directories(config, *(word.format(**ports) for word in words_of(id)))
            return made

        yield make


def test_a_static_quorum_survives_the_death_of_each_voter(quorum_of: Made) -> None:
    quorum = quorum_of((KAFKA, OLDER), STATIC, lambda id: ["-r", OLDER_RELEASE])
    # 4.4.0 ends over a log in which an older leader has not written a level yet: the newest and ours begin.
    quorum.start(1, OURS)
    quorum.wait_until_caught_up(1, OURS)
    quorum.start(2)
    quorum.wait_until_caught_up(1, 2, OURS)
    quorum.commit("all")
    for id in (1, 2):
        assert quorum.end(id) == -signal.SIGKILL
        # Of two voters both must have what is committed, and one of them is ours.
        quorum.commit(f"without-{id}")
        quorum.assert_logs_agree(3 - id, OURS)
        quorum.start(id)
        quorum.wait_until_caught_up(1, 2, OURS)
    assert quorum.end(OURS) == -signal.SIGKILL
    quorum.commit("without-ours")
    quorum.start(OURS)
    quorum.commit("all-again")
    assert quorum.assert_logs_agree(1, 2, OURS) >= 4
    leader = quorum.wait_for("a leader", lambda described: True).leader_id
    assert f"LeaderId:               {leader}\n" in ask_tool(quorum, OURS, "describe", "--status")
    assert quorum.end(OURS, signal.SIGTERM) == 0
    image = quorum.image(OURS)
    assert image.features.metadata_version is not None and not image.faults
    assert quorum.errors(*NO_ERROR) == []


def initial_words(id: int) -> list[str]:
    """Kafka's are the first voters, ours is an observer."""
    if id == OURS:
        return ["--no-initial-controllers"]
    return ["--initial-controllers", ",".join(f"{id}@localhost:{{port_{id}}}:{text}" for id, text in DIRECTORY_IDS.items())]


def ask_tool(quorum: MixedQuorum, id: int, *words: str) -> str:
    """What Kafka's kafka-metadata-quorum prints, asked through one node, once that has loaded which level the cluster has."""
    told: list[str] = []

    def is_answered() -> bool:
        done = kafka(KAFKA, "quorum", "--bootstrap-controller", f"localhost:{quorum.ports[id]}", *words)
        told[:] = [done.stdout.decode() + done.stderr.decode()]
        # A tool that found no node within its own minute has sent nothing.
        assert done.returncode == 0 or NOT_LOADED in told[0] or "Timed out waiting for a node assignment" in told[0], told[0]
        return done.returncode == 0

    quorum.place.wait_until(" ".join(words), is_answered, LIMIT_S)
    return told[0]


def test_kafkas_tool_adds_ours_to_a_dynamic_quorum_which_survives_each_death_and_removes_it(quorum_of: Made) -> None:
    quorum = quorum_of((OLDER, OLDER), DYNAMIC, lambda id: [*initial_words(id), "-r", OLDER_RELEASE])
    quorum.start(1, 2, OURS)
    seen = quorum.wait_for("ours observes", lambda described: any(state.id == OURS for state in described.observers))
    key = uuid_text(next(state.directory_id for state in seen.observers if state.id == OURS))
    ask_tool(quorum, 1, "--command-config", str(quorum.config(OURS)), "add-controller")
    quorum.wait_for("ours is a voter", lambda described: {state.id for state in described.voters} == {1, 2, OURS})
    for id in (1, 2):
        assert quorum.end(id) == -signal.SIGKILL
        quorum.commit(f"without-{id}")
        quorum.assert_logs_agree(3 - id, OURS)
        quorum.start(id)
        quorum.wait_until_caught_up(1, 2, OURS)
    assert quorum.end(OURS) == -signal.SIGKILL
    quorum.commit("without-ours")
    quorum.start(OURS)
    quorum.wait_until_caught_up(1, 2, OURS)
    rows = [line.split() for line in ask_tool(quorum, OURS, "describe", "--replication").splitlines()]
    assert {tuple(row[:2]) for row in rows if row[0].isdigit()} == {
        *((str(id), text) for id, text in DIRECTORY_IDS.items()),
        (str(OURS), key),
    }
    remove_ours(quorum, key)
    assert quorum.assert_logs_agree(1, 2, OURS) >= 4
    assert quorum.end(OURS, signal.SIGTERM) == 0
    assert quorum.errors(*NO_ERROR) == []


def remove_ours(quorum: MixedQuorum, key: str) -> None:
    """Have Kafka's tool remove ours from the voters, which go on without it."""
    ask_tool(quorum, OURS, "remove-controller", "--controller-id", str(OURS), "--controller-directory-id", key)
    quorum.wait_for("ours observes again", lambda described: {state.id for state in described.voters} == {1, 2})
    quorum.commit("removed")


def test_kafkas_nodes_are_upgraded_one_by_one_with_ours_as_a_voter_then_the_features_and_there_is_no_way_back(quorum_of: Made) -> None:
    quorum = quorum_of((BEFORE, BEFORE), DYNAMIC, lambda id: [*initial_words(id), "-r", "4.3"])
    quorum.start(1, 2, OURS)
    quorum.wait_for("ours observes", lambda described: any(state.id == OURS for state in described.observers))
    ask_tool(quorum, 1, "--command-config", str(quorum.config(OURS)), "add-controller")
    quorum.wait_for("ours is a voter", lambda described: {state.id for state in described.voters} == {1, 2, OURS})
    for id in (1, 2):
        assert change_features(quorum, "upgrade", "--release-version", "4.4") == "only supports versions 7-30"
        assert quorum.end(id) == -signal.SIGKILL
        quorum.commit(f"without-{id}")
        quorum.kafka[id] = server_command(KAFKA, quorum.place.folder)
        quorum.start(id)
        quorum.wait_until_caught_up(1, 2, OURS)
    quorum.place.wait_until("4.4", lambda: change_features(quorum, "upgrade", "--release-version", "4.4") == "", LIMIT_S)
    for level in ("4.4-IV1", "4.4-IV0", "4.3-IV0"):
        assert change_features(quorum, "downgrade", "--metadata", level) == "Refusing to perform the requested downgrade"
    quorum.commit("upgraded")
    quorum.assert_logs_agree(1, 2, OURS)

    def registered() -> set[bytes | None]:
        """The incarnation of ours that each of the disks of Kafka's nodes has, None where it has none."""
        found = [quorum.image(id).cluster.controllers.get(OURS) for id in (1, 2)]
        return {controller and controller.incarnation_id for controller in found}

    # A stopped one is unregistered until it starts, a running one registers again, and remains a voter.
    first = registered()
    assert len(first) == 1 and None not in first
    quorum.end(OURS)
    # Where ours led, Kafka's tool would wait in vain for a leader that is gone.
    quorum.wait_until_caught_up(1, 2)
    unregister(quorum, 1)
    assert registered() == {None}
    quorum.start(OURS)
    quorum.place.wait_until("ours registers", lambda: not registered() & {None, *first}, LIMIT_S)
    quorum.wait_until_caught_up(1, 2, OURS)
    second = registered()
    unregister(quorum, 1)
    quorum.place.wait_until("ours registers again", lambda: registered() == second, LIMIT_S)
    quorum.commit("unregistered")
    quorum.assert_logs_agree(1, 2, OURS)
    assert {state.id for state in quorum.wait_for("a leader", lambda described: True).voters} == {1, 2, OURS}
    assert [image.features.levels["share.version"] for image in map(quorum.image, (1, 2, OURS))] == [2, 2, 2]
    assert quorum.end(OURS, signal.SIGTERM) == 0
    assert quorum.errors(*NO_ERROR) == []


def change_features(quorum: MixedQuorum, *words: str) -> str:
    """Why Kafka's kafka-features fails, empty where it does not."""
    where = ",".join(f"localhost:{port}" for port in quorum.ports.values())
    done = kafka(KAFKA, "features", "--bootstrap-controller", where, *words)
    text = done.stdout.decode() + done.stderr.decode()
    found = re.search("only supports versions 7-30|Refusing to perform the requested downgrade", text)
    assert (done.returncode == 0) == (found is None), text
    return found[0] if found else ""


def unregister(quorum: MixedQuorum, id: int) -> None:
    """Unregister ours by Kafka's kafka-cluster, asked through another node."""
    done = kafka(KAFKA, "cluster", "unregister-controller", "--bootstrap-controller", f"localhost:{quorum.ports[id]}", "--id", str(OURS))
    assert done.stdout.decode() == f"Controller {OURS} is no longer registered.\n", done


def test_a_static_quorum_with_ours_becomes_dynamic(quorum_of: Made) -> None:
    quorum = quorum_of((KAFKA, KAFKA), STATIC, lambda id: [])
    quorum.start(1, 2, OURS)
    quorum.commit("static")
    quorum.wait_until_caught_up(1, 2, OURS)
    upgrade = ("--bootstrap-controller", f"localhost:{quorum.ports[1]}", "upgrade", "--feature", "kraft.version=1")
    # It is refused until all voters, ours among them, have told the leader that they support it.
    quorum.place.wait_until("kraft.version is 1", lambda: kafka(KAFKA, "features", *upgrade).returncode == 0, LIMIT_S)
    described = quorum.wait_for("voters have directories", lambda described: all(any(state.directory_id) for state in described.voters))
    assert {state.id for state in described.voters} == {1, 2, OURS}
    assert quorum.end(described.leader_id) == -signal.SIGKILL
    quorum.commit("dynamic")
    quorum.start(described.leader_id)
    quorum.wait_until_caught_up(1, 2, OURS)
    remove_ours(quorum, next(uuid_text(state.directory_id) for state in described.voters if state.id == OURS))
    assert quorum.assert_logs_agree(1, 2, OURS) >= 4
    assert quorum.end(OURS, signal.SIGTERM) == 0
    assert quorum.errors(*NO_ERROR) == []


def test_a_kafka_voter_that_is_ahead_by_epochs_is_followed_and_writes_no_error(quorum_of: Made) -> None:
    """Its pre-votes raise no epoch, so ours asks it for its own (`epoch_guard`): a question that Kafka fails at would fill its log."""
    quorum = quorum_of((KAFKA,), {"controller.quorum.voters": "1@localhost:{port_1},3@localhost:{port_3}"}, lambda id: [])
    quorum.start(1, OURS)
    quorum.commit("before")
    quorum.end(1)
    path = quorum.directory(1) / "__cluster_metadata-0" / "quorum-state"
    state = json.loads(path.read_bytes())
    ahead = state["leaderEpoch"] + 100
    path.write_text(json.dumps({**state, "leaderEpoch": ahead, "leaderId": -1, "votedId": -1}))
    quorum.start(1)
    assert quorum.wait_for("the epoch is Kafka's", lambda described: described.epoch > ahead).leader_id in (1, OURS)
    quorum.commit("after")
    assert quorum.end(OURS, signal.SIGTERM) == 0
    assert quorum.errors(*NO_ERROR) == []
    assert "NullPointerException" not in (quorum.place.folder / "node-1.log").read_text()


def dumped_by_kafka(quorum: MixedQuorum, id: int) -> str:
    """What Kafka's dump-log prints of all segments and snapshots of a node."""
    folder = quorum.directory(id) / "__cluster_metadata-0"
    files = sorted(str(path) for path in folder.iterdir() if path.suffix in (".log", ".checkpoint"))
    done = kafka(KAFKA, "dump-log", "--cluster-metadata-decoder", "--files", ",".join(files))
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_ours_catches_up_from_a_snapshot_and_kafka_and_ours_take_over_each_others_directory(quorum_of: Made) -> None:
    quorum = quorum_of((KAFKA, KAFKA), {**STATIC, **SMALL}, lambda id: [])
    quorum.start(1, 2, OURS)
    quorum.commit("before")
    quorum.wait_until_caught_up(1, 2, OURS)
    assert quorum.end(OURS) == -signal.SIGKILL
    end = ends_at(quorum.batches(OURS))
    dumped = dumped_by_kafka(quorum, OURS)
    assert "before-" in dumped and f"baseOffset: {max(quorum.batches(OURS))} " in dumped

    rounds = count()
    while min(len(quorum.snapshots(id)) for id in (1, 2)) < 2:
        quorum.commit(f"meanwhile-{next(rounds)}")
    first = {id: min(quorum.snapshots(id)) for id in (1, 2)}
    assert all(snapshot > end for snapshot in first.values())
    # Kafka cleans a minute after its start: then its logs begin with the second snapshot.
    quorum.place.wait_until("Kafka drops what ours lacks", lambda: all(min(quorum.snapshots(id)) > first[id] for id in first), LIMIT_S)
    quorum.start(OURS)
    quorum.commit("behind the snapshot")
    quorum.wait_until_caught_up(1, 2, OURS)
    while not quorum.batches(OURS):
        # On a busy machine the snapshot that ours was given may have that, too.
        quorum.commit(f"behind the snapshot, {next(rounds)}")
        quorum.wait_until_caught_up(1, 2, OURS)
    assert min(quorum.batches(OURS)) in quorum.snapshots(OURS) and min(quorum.batches(OURS)) > end
    assert quorum.end(1) == -signal.SIGKILL
    quorum.commit("without-1")
    quorum.assert_logs_agree(2, OURS)
    quorum.start(1)
    quorum.wait_until_caught_up(1, 2, OURS)
    assert quorum.end(OURS, signal.SIGTERM) == 0
    assert "without-1-" in dumped_by_kafka(quorum, OURS)

    quorum.kafka[OURS] = quorum.kafka[1]
    quorum.start(OURS)
    quorum.commit("kafka-in-our-directory")
    quorum.wait_until_caught_up(1, 2, OURS)
    assert quorum.end(OURS) == -signal.SIGKILL
    assert quorum.errors(*NO_ERROR) == []
    del quorum.kafka[OURS]
    quorum.start(OURS)
    for number in range(12):
        quorum.commit(f"ours-in-kafkas-directory-{number}", 1)
    assert quorum.assert_logs_agree(1, 2, OURS) > 10
    assert quorum.errors(*NO_ERROR) == []


def test_ours_leads_kafkas_controllers_and_kafkas_tool_replaces_the_disk_of_one(quorum_of: Made) -> None:
    quorum = quorum_of((KAFKA, KAFKA), {**DYNAMIC, **SMALL, **PATIENT}, initial_words)
    quorum.start(1, 2, OURS)
    quorum.wait_for("ours observes", lambda described: any(state.id == OURS for state in described.observers))
    ask_tool(quorum, 1, "--command-config", str(quorum.config(OURS)), "add-controller")
    quorum.commit("first")
    last = quorum.wait_until_caught_up(1, 2, OURS).leader_id
    if last != OURS:
        for id in (3 - last, last):
            # The leader tells ours, which then stands again and again while they start; they would not let it go first.
            quorum.end(id, signal.SIGTERM if id == last else signal.SIGKILL)
            with open(quorum.config(id), "a") as config:
                config.write("controller.quorum.election.timeout.ms=30000\n")
        quorum.start(1, 2)
    leader = quorum.wait_for("ours leads", lambda described: described.leader_id == OURS)
    rounds = count()
    while not quorum.snapshots(OURS):
        quorum.commit(f"led-by-ours-{next(rounds)}")
    # Who has just loaded that snapshot has nothing in its log to compare.
    quorum.commit("after-the-snapshot")
    quorum.assert_logs_agree(1, 2, OURS)

    old = DIRECTORY_IDS[1]

    def is_new(state: ReplicaState) -> bool:
        return state.id == 1 and uuid_text(state.directory_id) != old

    removed = ("remove-controller", "--controller-id", "1", "--controller-directory-id", old, "--unregister")
    assert "Unregistered KRaft controller 1\n" in ask_tool(quorum, OURS, *removed)
    quorum.wait_for("1 is removed", lambda described: {state.id for state in described.voters} == {2, OURS})
    quorum.end(1)
    rmtree(quorum.directory(1))
    format_directories(quorum.config(1), "--no-initial-controllers")
    quorum.start(1)
    quorum.wait_for("1 observes", lambda described: any(is_new(state) and state.log_end_offset > 0 for state in described.observers))
    ask_tool(quorum, OURS, "--command-config", str(quorum.config(1)), "add-controller")
    described = quorum.wait_for("1 is a voter", lambda described: {state.id for state in described.voters} == {1, 2, OURS})
    assert any(is_new(state) for state in described.voters)
    assert (described.leader_id, described.epoch) == (OURS, leader.epoch)
    quorum.commit("with-a-new-disk")
    quorum.assert_logs_agree(1, 2, OURS)
    assert min(quorum.batches(1)) in quorum.snapshots(OURS)
    assert quorum.errors(*NO_ERROR) == []
