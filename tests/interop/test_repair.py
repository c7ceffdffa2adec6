"""`metashell storage repair` judged by real Kafka: it starts on repaired directories where it did not, or lost records, before."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from metashell.cli.main import main
from metashell.common.errors import MetashellError
from metashell.disk.mend import write_changes
from metashell.disk.source import open_directory
from metashell.disk.state_files import read_quorum_state
from metashell.inspect.repair.plan import RepairRequest, judge_start, plan_repair
from metashell.metadata.image import load_image
from tests.interop.start_bases import CHECKPOINT, LOG, make_base
from tests.interop.start_cases import Damage, above, both, cases, change, put, remove
from tests.interop.test_start_safe import METADATA, start_once
from tests.java import BEFORE, KAFKA, host_command
from tests.running import Outcome, run_main
from tools.interop.brokers_traffic import Writer, check_written, read_topic
from tools.interop.host import Host
from tools.interop.mixed_quorum import QUIET, MixedQuorum
from tools.interop.nodes import broker_settings, cluster, controller_settings, format_directories, free_ports, write_config
from tools.interop.replaced_quorum import ReplacedQuorum

pytestmark = pytest.mark.slow

IS_SOAK: Final = bool(os.environ.get("METASHELL_SOAK"))
VERSIONS = pytest.mark.parametrize("version", [KAFKA, BEFORE])


def repair(directory: Path, *words: str) -> Outcome:
    return run_main(main, ["storage", "repair", str(directory), *words], cwd=directory.parent)


def topics_in(directory: Path) -> int:
    with open_directory(str(directory)) as source:
        return len(load_image(source).topics)


# ---- a controller that is alone


class Case(NamedTuple):
    """A damage of a kind of directory, on which Kafka does not start; with a source, what was lost is in another directory."""

    kind: str
    damage: Damage
    has_source: bool = False


CASES: Final = {
    "a torn quorum-state": Case("log", put("quorum-state", '{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedI')),
    "an empty quorum-state": Case("log", put("quorum-state", b"")),
    "a torn meta.properties": Case("log", above(change("meta.properties", lambda data: data[: data.index(b"node") + 6]))),
    "a meta.properties of zeros": Case("log", above(change("meta.properties", lambda data: bytes(len(data)))), has_source=True),
    "a lost checkpoint": Case("compact", remove(CHECKPOINT), has_source=True),
    "a torn newest checkpoint that nothing needs": Case("log", put(CHECKPOINT, b"")),
    "all at once": Case(
        "compact",
        both(
            remove(CHECKPOINT),
            change(LOG.name(2), lambda data: data + data[:100]),
            put("quorum-state", b""),
            above(put("meta.properties", b"")),
        ),
        has_source=True,
    ),
}


@VERSIONS
@pytest.mark.parametrize("name", CASES)
def test_kafka_starts_with_all_topics_on_a_repaired_directory(name: str, version: str, tmp_path: Path) -> None:
    case = CASES[name]
    for folder in ("as-is", "repaired"):
        case.damage(make_base(tmp_path / folder / "d", case.kind))
    source = tmp_path / "source" / "d"
    make_base(source, case.kind)
    as_is = start_once(tmp_path / "as-is" / "d", version)
    assert as_is["did"] != "serves", as_is
    config = write_config(tmp_path / "node.properties", controller_settings(1, 9093, tmp_path / "repaired" / "d", STATIC))
    done = repair(tmp_path / "repaired" / "d", "-c", str(config), *(["--from", str(source)] if case.has_source else []))
    assert done.status == 0, done
    answer = start_once(tmp_path / "repaired" / "d", version)
    assert answer["did"] == "serves", answer
    assert topics_in(tmp_path / "repaired" / "d") == LOG.topics


STATIC: Final = {"controller.quorum.voters": "1@localhost:9093"}


@pytest.mark.parametrize("name", CASES)
def test_our_controller_starts_with_all_topics_on_a_repaired_directory(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    with cluster(lambda *words: list(words), tmp_path) as place:
        (port,) = free_ports(1)
        quorum = MixedQuorum(place, {1: port}, {})
        case.damage(make_base(quorum.directory(1), case.kind))
        source = tmp_path / "source" / "d"
        make_base(source, case.kind)
        settings = controller_settings(1, port, quorum.directory(1), {"controller.quorum.voters": f"1@localhost:{port}"})
        config = write_config(quorum.config(1), settings)
        done = repair(quorum.directory(1), "-c", str(config), *(["--from", str(source)] if case.has_source else []))
        assert done.status == 0, done
        quorum.start(1)
        quorum.wait_for("a leader", lambda described: described.leader_id == 1)
        assert topics_in(quorum.directory(1)) == LOG.topics


def test_kafka_starts_with_the_whole_log_wherever_a_repair_leaves_nothing(tmp_path: Path) -> None:
    """Of the damages that `verify --start-safe` is tried with; `make soak` takes all, a usual run every tenth that can be repaired."""
    every = 1 if IS_SOAK else 10
    repairable, wrong = 0, []
    for number, (name, (kind, damage)) in enumerate(sorted(cases().items())):
        place = tmp_path / str(number) / "d"
        damage(make_base(place, kind))
        request = RepairRequest(path=str(place), date="now", new_uuid=lambda: bytes(range(50, 66)))
        try:
            made = plan_repair(request)
        except MetashellError:
            continue
        if not made.steps or made.refusals:
            continue
        repairable += 1
        if repairable % every:
            continue
        write_changes(str(place), made.changes, 1)
        assert judge_start(request) == [], name
        left = topics_in(place)
        assert left == LOG.topics or kind == "fresh" or {"torn_tail"} & {step.check for step in made.steps}, name
        for version in (KAFKA, BEFORE):
            own = place.parent / version
            shutil.copytree(place, own)
            answer = start_once(own, version)
            if answer["did"] != "serves" or topics_in(own) != left:
                wrong.append((name, version, [step.check for step in made.steps], answer["why"][-300:], left))
        shutil.rmtree(place.parent)
    assert wrong == []
    assert repairable > 80


# ---- a cluster with data


BROKER: Final = 11
CONTROLLERS: Final = (1, 2, 3)
IDS = {1: "iSWq0OPXTqOZ8aVrKmWO1A", 2: "mL1w5SXrSHKHKX4dPKoQTw", 3: "MvDxzVmcRsaTz33bUuRU6A"}
TOPIC, PARTITIONS = "orders", 6


@pytest.fixture(params=[KAFKA, BEFORE] if IS_SOAK else [KAFKA])
def quorum(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReplacedQuorum]:
    """Three controllers and a broker with two log directories, formatted and started."""
    release = ("-r", request.param.rpartition(".")[0])
    with cluster(lambda *words: list(words), tmp_path) as place:
        ids = (*CONTROLLERS, BROKER)
        ports = dict(zip(ids, free_ports(len(ids)), strict=True))
        host = Host(host_command(request.param), tmp_path)
        place.nodes.append(host.node)
        made = ReplacedQuorum(place, ports, CONTROLLERS, host, BROKER, f"localhost:{ports[BROKER]}")
        servers = {"controller.quorum.bootstrap.servers": ",".join(f"localhost:{ports[id]}" for id in CONTROLLERS)}
        first = ",".join(f"{id}@localhost:{ports[id]}:{key}" for id, key in IDS.items())
        for id in CONTROLLERS:
            write_config(made.config(id), controller_settings(id, ports[id], made.directory(id), servers), QUIET)
            format_directories(made.config(id), "--initial-controllers", first, *release)
        places = f"{made.directory(BROKER)},{made.directory(BROKER)}-b"
        write_config(made.config(BROKER), broker_settings(BROKER, ports[BROKER], places, servers))
        format_directories(made.config(BROKER), *release)
        made.start(*CONTROLLERS)
        made.start(BROKER)
        words = ("--bootstrap-server", made.broker, "--create", "--topic", TOPIC, "--partitions", str(PARTITIONS))
        done = made.tool("kafka-topics", *words)
        assert done.status == 0, done
        yield made


def write(quorum: ReplacedQuorum, name: str, count: int) -> Writer:
    writer = Writer(name, quorum.broker, TOPIC, PARTITIONS, per_second=200).start()
    quorum.place.wait_until(f"{count} messages", lambda: writer.count >= count)
    writer.end()
    return writer


def test_a_voter_and_a_broker_come_back_after_a_repair_and_all_is_lost_without_it(quorum: ReplacedQuorum) -> None:
    first = write(quorum, "first", 300)
    # A voter that does not lead loses its small files, and has a torn tail.
    before = quorum.wait_for("a leader", lambda described: True)
    voter = next(id for id in CONTROLLERS if id != before.leader_id)
    quorum.stop(voter)
    folder = quorum.directory(voter)
    (folder / METADATA / "quorum-state").unlink()
    (folder / "meta.properties").write_bytes(b"")
    log = max((folder / METADATA).glob("*.log"))
    log.write_bytes(log.read_bytes() + bytes(200))
    sources = [word for id in CONTROLLERS if id != voter for word in ("--from", str(quorum.directory(id)))]
    done = repair(folder, "-c", str(quorum.config(voter)), *sources)
    assert done.status == 0, done
    state = read_quorum_state(str(folder / METADATA / "quorum-state"))
    assert (state.leader_epoch, state.leader_id) == (before.epoch, before.leader_id)
    quorum.start(voter)
    after = quorum.wait_until_caught_up(*CONTROLLERS)
    # It follows at once: its return costs the quorum no election.
    assert (after.leader_id, after.epoch) == (before.leader_id, before.epoch)

    # The broker loses the identity of a directory and the topic ids of all partitions of the topic.
    quorum.host.ask("stop", id=BROKER)
    places = [quorum.directory(BROKER), quorum.directory(BROKER).with_name(f"{quorum.directory(BROKER).name}-b")]
    kept = [sorted(path.name for path in place.glob(f"{TOPIC}-*")) for place in places]
    assert all(kept), "partitions lie in both directories"
    lost = next(place for place in places if not (place / METADATA).is_dir())
    identity = (lost / "meta.properties").read_bytes()
    (lost / "meta.properties").write_bytes(identity[:20])
    for place in places:
        for path in place.glob(f"{TOPIC}-*/partition.metadata"):
            path.write_bytes(b"")
    for place in (lost, *(place for place in places if place != lost)):
        done = repair(place, "-c", str(quorum.config(BROKER)))
        assert done.status == 0, done
    assert sorted(identity.split(b"\n")[2:]) == sorted((lost / "meta.properties").read_bytes().split(b"\n")[2:])
    quorum.start(BROKER)
    second = write(quorum, "second", 300)
    found = read_topic(quorum.broker, TOPIC, PARTITIONS)
    for writer in (first, second):
        assert not writer.errors
        check_written(writer, found)
    assert [sorted(path.name for path in place.glob(f"{TOPIC}-*")) for place in places] == kept
    # A node has run on what was repaired, so it cannot be taken back.
    quorum.host.ask("stop", id=BROKER)
    for place in (*places, folder):
        undone = repair(place, "--undo")
        assert (undone.status, "has changed since the repair" in undone.stderr or "in use" in undone.stderr) == (1, True), undone

    # Without the repair Kafka starts on a partition without its topic id, and serves an empty log.
    for place in places:
        for path in place.glob(f"{TOPIC}-*/partition.metadata"):
            path.unlink()
    quorum.start(BROKER)
    assert sum(map(len, read_topic(quorum.broker, TOPIC, PARTITIONS).values())) == 0
    assert any(path.name.endswith("-stray") for place in places for path in place.iterdir())
