"""A quorum inside this process."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import INVALID_REPLICATION_FACTOR, TOPIC_ALREADY_EXISTS
from metashell.common.errors import MetashellError, UsageError
from metashell.quorum.embedded import EmbeddedQuorum, QuorumError, RefusedError, create_topic
from metashell.quorum.embedded.background import RECORD, Record, Registry, run_in_background
from metashell.quorum.embedded.layout import PREFIX, Options, check_made_with, make_layout, read_layout

LONG_S = 120.0
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test here ends without a thread or a temporary directory more than before."""
    threads = set(threading.enumerate())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    for thread in set(threading.enumerate()) - threads:
        # A pool's thread that was told to end may still be about to.
        thread.join(LONG_S)
        assert not thread.is_alive(), thread
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(PREFIX)] == []


def test_three_controllers_elect_one_that_answers() -> None:
    with EmbeddedQuorum(fake_brokers=1) as quorum:
        assert quorum.controller_ids == quorum.running_ids == (1, 2, 3)
        assert quorum.wait_for_leader() in quorum.controller_ids
        assert len(quorum.bootstrap_controllers.split(",")) == 3
        topic_id = quorum.create_topic("orders", partitions=3)
        image = quorum.wait_for(lambda image: "orders" in image.topics.by_name)
        assert image.topics.by_name["orders"].id == topic_id
        quorum.wait_for(lambda image: set(image.cluster.controllers) == {1, 2, 3}, LONG_S)
    with pytest.raises(QuorumError, match="not running"):
        quorum.create_topic("late")


@pytest.mark.parametrize("release", ["4.4", "4.3"])
def test_a_quorum_on_disk_says_what_it_was_made_with_in_either_layout(release: str, tmp_path: Path) -> None:
    layout = make_layout(str(tmp_path), Options(controllers=1, metadata_version=release), [9093], is_kept=False)
    assert (tmp_path / "controller-1" / "metadata" / "bootstrap.checkpoint").exists() == (release == "4.3")
    check_made_with(layout, Options(metadata_version=release))
    with pytest.raises(MetashellError, match=rf"was made with metadata.version {release}"):
        check_made_with(layout, Options(metadata_version="4.2"))


def test_a_sole_controller_needs_no_election() -> None:
    with EmbeddedQuorum(1) as quorum:
        assert quorum.leader_id == 1


def test_another_controller_takes_over_with_all_that_was_answered() -> None:
    with EmbeddedQuorum(fake_brokers=1) as quorum:
        quorum.create_topic("before")
        first = quorum.wait_for_leader()
        quorum.kill(first)
        assert quorum.running_ids == tuple(id for id in (1, 2, 3) if id != first)
        second = quorum.wait_for_leader(LONG_S)
        assert second != first
        quorum.create_topic("after")
        quorum.restart(first)
        assert quorum.running_ids == (1, 2, 3)
        assert quorum.wait_for(lambda image: "before" in image.topics.by_name and "after" in image.topics.by_name)
        quorum.kill(quorum.wait_for_leader(LONG_S))
        quorum.wait_for_leader(LONG_S)
        assert quorum.wait_for(lambda image: "before" in image.topics.by_name and "after" in image.topics.by_name)


def test_a_controller_that_runs_is_restarted_without_losing_anything() -> None:
    with EmbeddedQuorum(1, fake_brokers=1) as quorum:
        quorum.create_topic("kept")
        quorum.restart(1)
        quorum.wait_for_leader()
        assert "kept" in quorum.image.topics.by_name


@pytest.mark.parametrize("static", [False, True])
def test_a_directory_that_is_kept_is_opened_again(tmp_path: Path, static: bool) -> None:
    kept = tmp_path / "kept"
    with EmbeddedQuorum(2, directory=kept, static=static, fake_brokers=1) as quorum:
        addresses, cluster_id = quorum.bootstrap_controllers, quorum.cluster_id
        quorum.create_topic("kept")
    with EmbeddedQuorum(directory=kept, properties={"metadata.max.idle.interval.ms": 0}) as quorum:
        assert (quorum.bootstrap_controllers, quorum.cluster_id) == (addresses, cluster_id)
        assert "kept" in quorum.image.topics.by_name
    text = (kept / "controller-2" / "server.properties").read_text()
    assert "metadata.max.idle.interval.ms=0" in text and ("controller.quorum.voters" in text) == static
    assert (kept / "controller-2" / "server.properties").stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="has 2 controllers"):
        EmbeddedQuorum(3, directory=kept).start()
    with pytest.raises(UsageError, match="which cannot be changed"):
        EmbeddedQuorum(directory=kept, ports=[1025, 1026]).start()


def test_a_quorum_has_the_release_and_the_features_that_are_asked_for() -> None:
    with EmbeddedQuorum(1, metadata_version="4.1", features={"share.version": 1}) as quorum:
        levels = quorum.image.features.levels
        assert (quorum.image.features.metadata_version, levels["share.version"]) == (27, 1)


def test_an_answer_with_an_error_is_raised_with_its_code() -> None:
    with EmbeddedQuorum(1) as quorum:
        with pytest.raises(RefusedError, match=r"^topic orders: INVALID_REPLICATION_FACTOR \(38\): ") as refused:
            quorum.create_topic("orders")
        assert refused.value.code == INVALID_REPLICATION_FACTOR


def test_a_topic_is_made_by_the_address_of_any_controller() -> None:
    with EmbeddedQuorum(2, fake_brokers=2) as quorum:
        for number, address in enumerate(quorum.bootstrap_controllers.split(",")):
            topic_id = create_topic(address, f"by-{number}", 2, 2, {"cleanup.policy": "compact"})
            assert quorum.wait_for(lambda image, name=f"by-{number}": name in image.topics.by_name).topics.by_id[topic_id]
        with pytest.raises(RefusedError, match=r"^topic by-0: TOPIC_ALREADY_EXISTS \(36\): Topic 'by-0' already exists.$"):
            create_topic(quorum.bootstrap_controllers, "by-0")
        gone = quorum.bootstrap_controllers
    with pytest.raises(QuorumError, match=r"^topic late: not within 0.1 s: localhost:"):
        create_topic(gone, "late", timeout_s=0.1)


def test_a_directory_may_have_any_name_but_one_with_a_comma(tmp_path: Path) -> None:
    kept = tmp_path / "k\u00e4se = \u4e2d #1"
    with EmbeddedQuorum(1, directory=kept) as quorum:
        cluster_id = quorum.cluster_id
    with EmbeddedQuorum(directory=kept) as quorum:
        assert quorum.cluster_id == cluster_id
    with pytest.raises(UsageError, match=r"log\.dirs is a list between commas"):
        EmbeddedQuorum(1, directory=tmp_path / "a,b").start()


def test_a_setting_that_cannot_be_is_not_kept_and_a_format_that_fails_leaves_nothing(tmp_path: Path) -> None:
    wrong = {"controller.quorum.fetch.timeout.ms": "soon"}
    for options in ({"properties": wrong}, {"features": {"share.version": 9}}):
        with pytest.raises(MetashellError):
            EmbeddedQuorum(2, directory=tmp_path / "kept", **options).start()
        assert list((tmp_path / "kept").iterdir()) == []
    with EmbeddedQuorum(2, directory=tmp_path / "kept"):
        pass
    with pytest.raises(MetashellError, match=r"fetch\.timeout\.ms"):
        EmbeddedQuorum(directory=tmp_path / "kept", properties=wrong).start()
    with EmbeddedQuorum(directory=tmp_path / "kept") as quorum:
        assert quorum.controller_ids == (1, 2)


def test_controllers_that_ask_for_a_password_are_asked_with_it() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    secured = {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": f'{module} username="admin" password="hunter2" user_admin="hunter2";',
    }
    with EmbeddedQuorum(2, properties=secured, fake_brokers=1) as quorum:
        quorum.create_topic("orders")
        with pytest.raises(QuorumError):
            create_topic(quorum.bootstrap_controllers, "late", timeout_s=0.2)


def test_what_on_event_raises_ends_no_controller_and_is_not_lost() -> None:
    def on_event(id: int, line: str) -> None:
        raise ZeroDivisionError("mine")

    # The first event may come before `start` returns or after it: whoever waits next is told, and this wait ends with nothing else.
    with pytest.raises(QuorumError, match=r"^on_event raised: mine$"), EmbeddedQuorum(1, on_event=on_event) as quorum:
        quorum.wait_for(lambda image: False, LONG_S)


def test_any_thread_may_ask() -> None:
    with EmbeddedQuorum(1, fake_brokers=1) as quorum, ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(lambda number: quorum.create_topic(f"topic-{number % 20}") if number < 20 else None, range(20)))
        assert len(set(ids)) == 20
        with pytest.raises(RefusedError) as refused:
            threads.submit(quorum.create_topic, "topic-1").result()
        assert refused.value.code == TOPIC_ALREADY_EXISTS


def test_a_running_loop_of_the_caller_is_not_disturbed() -> None:
    async def main() -> int:
        with await asyncio.to_thread(EmbeddedQuorum(1).start) as quorum:
            return await asyncio.to_thread(quorum.wait_for_leader)

    assert asyncio.run(main()) == 1


def test_what_ends_a_controller_reaches_whoever_waits_and_who_stops() -> None:
    quorum = EmbeddedQuorum(1)
    with pytest.raises(QuorumError, match=r"^controller 1 ended: .*disk"), quorum:
        fail(quorum, 1)
        with pytest.raises(QuorumError, match=r"^controller 1 ended: .*disk") as raised:
            quorum.wait_for(lambda image: False, LONG_S)
        assert isinstance(raised.value.__cause__, OSError)
        assert quorum.running_ids == () and quorum.leader_id is None
        with pytest.raises(QuorumError, match=r"^controller 1 ended"):
            quorum.request(messages.DescribeClusterRequest(endpoint_type=2), 0.2)


def test_a_controller_that_failed_may_be_restarted_and_is_forgiven() -> None:
    with EmbeddedQuorum(1) as quorum:
        fail(quorum, 1)
        quorum.restart(1)
        quorum.wait_for_leader()
        assert quorum.failure is None


def fail(quorum: EmbeddedQuorum, id: int) -> None:
    """End a controller as a disk that fails does, and wait for that."""
    members, thread = quorum._members, quorum._thread
    assert members is not None and thread is not None
    driver = members.running[id].replica.driver
    thread.loop.call_soon_threadsafe(driver.stop, OSError(5, "the disk failed"))
    quorum._wait("the failure", lambda: True if quorum.failure is not None else None, LONG_S)


def test_a_wait_ends_when_its_time_is_over() -> None:
    with EmbeddedQuorum(1) as quorum:
        with pytest.raises(QuorumError, match=r"^what was waited for: not within 0.05 s$"):
            quorum.wait_for(lambda image: False, 0.05)
        with pytest.raises(ZeroDivisionError):
            quorum.wait_for(lambda image: 1 / 0)
        quorum.kill(1)
        with pytest.raises(QuorumError, match=r"^an active controller: not within 0.05 s$"):
            quorum.wait_for_leader(0.05)
        with pytest.raises(QuorumError, match=r"^DescribeClusterRequest: an answer of an active controller: not within 0.05 s$"):
            quorum.request(messages.DescribeClusterRequest(endpoint_type=2), 0.05)
        assert quorum.running_ids == () and quorum.image.features.metadata_version is not None


def test_an_id_that_is_none_is_refused_with_those_that_are() -> None:
    with EmbeddedQuorum(1) as quorum, pytest.raises(QuorumError, match=r"^controller 7: there is none \(there are 1\)$"):
        quorum.kill(7)


def test_the_own_thread_cannot_wait_for_itself() -> None:
    seen: list[QuorumError] = []

    def on_event(id: int, line: str) -> None:
        try:
            quorum.kill(1)
        except QuorumError as error:
            seen.append(error)

    quorum = EmbeddedQuorum(1, on_event=on_event)
    with quorum:
        quorum.wait_for_leader()
    assert seen and "own thread" in str(seen[0])


def test_the_own_thread_can_neither_stop_nor_start_it() -> None:
    seen: list[str] = []

    def on_event(id: int, line: str) -> None:
        for call in (quorum.stop, quorum.start):
            with pytest.raises(QuorumError, match="own thread"):
                call()
        seen.append(line)

    quorum = EmbeddedQuorum(1, on_event=on_event)
    with quorum:
        assert seen  # while it starts, which holds the lock
        quorum.kill(1)
        quorum.restart(1)
        quorum.wait_for_leader()
        assert os.path.isdir(quorum.directory)
    quorum.stop()
    assert len(seen) > 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"controllers": 0}, "controllers: 0 is not a number from 1 to 15"),
        ({"controllers": 16}, "controllers: 16 is not"),
        ({"properties": {"log.dirs": "/x"}}, "log.dirs: follows from"),
        ({"fake_brokers": -1}, "fake_brokers: -1 is not a number from 0 to 1000"),
        ({"fake_brokers": 1001}, "fake_brokers: 1001 is not a number from 0 to 1000"),
        ({"ports": [1025]}, "1 ports for 3 controllers"),
        ({"ports": [1025, 1026, 70000]}, "port 70000: not a port"),
        ({"metadata_version": "2.8"}, "Unknown metadata.version '2.8'"),
        ({"features": {"share.versions": 1}}, "Unsupported feature: share.versions"),
        ({"properties": {"controller.quorum.fetch.timeout.ms": "soon"}}, "controller.quorum.fetch.timeout.ms"),
        ({"properties": {"listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT"}}, "sasl"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(options: dict[str, object], message: str) -> None:
    with pytest.raises(MetashellError) as refused:
        EmbeddedQuorum(**options).start()
    assert message in str(refused.value), refused.value


def test_a_port_in_use_is_named_and_nothing_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(QuorumError, match=f"^port {port}: in use$"):
            EmbeddedQuorum(1, ports=[port]).start()
    with EmbeddedQuorum(1, ports=[port]) as quorum:
        assert quorum.bootstrap_controllers == f"localhost:{port}"


def test_ports_of_controllers_that_do_not_run_are_given_to_nobody() -> None:
    with EmbeddedQuorum(1) as quorum:
        quorum.kill(1)
        port = int(quorum.bootstrap_controllers.rpartition(":")[2])
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
        others = [socket.create_server(("127.0.0.1", 0)) for _ in range(50)]
        assert port not in [other.getsockname()[1] for other in others]
        for other in others:
            other.close()
        quorum.restart(1)
        quorum.wait_for_leader()


def test_a_directory_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    with pytest.raises(UsageError, match="is not empty, and holds no quorum"):
        EmbeddedQuorum(1, directory=tmp_path / "mine").start()
    assert (tmp_path / "mine" / "letter").read_text() == "dear"


def test_no_text_of_it_has_a_password(tmp_path: Path) -> None:
    secret = {"ssl.key.password": "hunter2"}
    with EmbeddedQuorum(1, directory=tmp_path / "kept", properties=secret) as quorum:
        assert quorum.running_ids
    found = read_layout(str(tmp_path / "kept"), {})
    assert found is not None and found.places[0].properties["ssl.key.password"] == "hunter2"
    assert "hunter2" not in f"{quorum!r} {found!r} {Options(properties=secret)!r}"


def test_an_error_in_the_block_comes_out_of_it_and_stops_the_quorum() -> None:
    quorum = EmbeddedQuorum(1)
    with pytest.raises(ZeroDivisionError), quorum:
        fail(quorum, 1)
        raise ZeroDivisionError
    quorum.stop()


def test_what_is_known_of_a_background_quorum_is_its_owners_alone(tmp_path: Path) -> None:
    registry = Registry(str(tmp_path / "folder"))
    folder = str(tmp_path / "none")
    record = Record(pid=os.getpid(), started_ms=1, bootstrap_controllers="localhost:1", directory=folder, log="l", is_kept=False)
    assert registry.read() is None and not registry.is_alive
    with registry.held():
        assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700
        registry.write(record)
        assert registry.read() == record
    assert registry.living() is None and registry.read() == record
    assert str(registry.refusal()) == "a quorum is being started or stopped"
    with registry.held():
        assert registry.read() is None, "of one that is dead nothing stays"
    (tmp_path / "folder" / RECORD).write_text("[1]")
    with pytest.raises(QuorumError, match="is not what `metashell quorum start` wrote"):
        registry.read()


def test_a_background_process_that_dies_without_a_word_is_told_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: os.posix_spawn("/bin/true", ["true"], {}))
    with pytest.raises(QuorumError, match=f"^the quorum ended before it was ready; {tmp_path}/log may say why$"):
        run_in_background(f"{tmp_path}/log", lambda announcement: 0)


PROGRAM = """
import os, signal, sys, threading, time
from metashell.quorum.embedded import EmbeddedQuorum
quorum = EmbeddedQuorum(1)
{body}
"""


def ends(body: str, tmp_path: Path) -> tuple[int, str]:
    """The status and the errors of a program, which leaves no file behind."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=body)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LONG_S,
    )
    assert list(tmp_path.iterdir()) == []
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("quorum.start()", 0),
        ("with quorum: os.kill(os.getpid(), signal.SIGINT); time.sleep(60)", -signal.SIGINT),
        # While it starts.
        ("threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start(); quorum.start(); time.sleep(60)", -signal.SIGINT),
        ("quorum.start(); sys.exit(3)", 3),
        # What was forked has no right to what its parent has.
        ("quorum.start()\nif os.fork() == 0: sys.exit(0)\nos.wait(); assert os.path.isdir(quorum.directory)", 0),
    ],
)
def test_nothing_is_left_behind_when_a_program_ends(body: str, status: int, tmp_path: Path) -> None:
    assert ends(body, tmp_path)[0] == status
