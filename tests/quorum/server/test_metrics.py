"""What a controller counts, its HTTP endpoint, and what strangers may do to that."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from metashell.codec import messages
from metashell.codec.error_codes import REQUEST_TIMED_OUT
from metashell.metadata.image import BrokerRegistration
from metashell.quorum.server import endpoint as endpoint_module
from metashell.quorum.server.endpoint import CONNECTIONS_MAX, REQUEST_MAX, Endpoint, serve_metrics
from metashell.quorum.server.event_queue import ServerEvent, TimeWindow
from metashell.quorum.server.metrics import Metrics, PartitionCounts, registration_state
from tests.coroutines import eventually
from tests.quorum.controller.cluster import Cluster
from tests.quorum.server.controllers import QUICK, Controllers, add_broker, ask
from tests.seeds import shows

CONTROLLER = "kafka_controller_kafkacontroller_"


def created(name: str, *replicas: tuple[int, ...]) -> messages.CreateTopicsRequest:
    made = messages.CreateTopicsRequest
    assignments = tuple(made.CreatableReplicaAssignment(partition_index=at, broker_ids=ids) for at, ids in enumerate(replicas))
    return made(
        topics=(made.CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments),), timeout_ms=1000
    )


async def http(port: int, request: str | bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes, and give status, headers and body of what comes back until the connection ends; status 0 for nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode() if isinstance(request, str) else request)
    try:
        whole = await asyncio.wait_for(reader.read(), 60)
    except ConnectionResetError:
        whole = b""
    writer.close()
    head, _, body = whole.partition(b"\r\n\r\n")
    if not head:
        return 0, {}, b""
    first, *lines = head.decode().split("\r\n")
    return int(first.split(" ")[1]), dict(line.lower().split(": ", 1) for line in lines), body


async def get(port: int, path: str, host: str = "localhost") -> tuple[int, Any]:
    status, headers, body = await http(port, f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")
    return status, json.loads(body) if headers["content-type"] == "application/json" else body.decode()


async def scrape(port: int) -> dict[str, float]:
    """The samples of a scrape, by name and labels as in the text."""
    status, text = await get(port, "/metrics")
    assert status == 200
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in sorted(sample.labels.items()))
            found[sample.name + (f"{{{labels}}}" if labels else "")] = sample.value
    return found


@asynccontextmanager
async def watched(folder: Path, count: int = 1) -> AsyncIterator[tuple[Controllers, Endpoint]]:
    async with Controllers(folder, count, QUICK if count > 1 else None) as controllers:
        endpoint = await serve_metrics(await controllers.active())
        try:
            yield controllers, endpoint
        finally:
            await endpoint.close()


@shows("KIP-631/metrics")
async def test_a_scrape_shows_what_the_cluster_has_under_kafkas_names(tmp_path: Path) -> None:
    async with watched(tmp_path) as (controllers, endpoint):
        server = await controllers.active()
        found = await scrape(endpoint.port)
        assert found[CONTROLLER + "activecontrollercount"] == 1
        assert found[CONTROLLER + "globaltopiccount"] == found[CONTROLLER + "activebrokercount"] == 0
        await add_broker(server, 1)
        await add_broker(server, 2)
        assert (await ask(server, created("t", (1, 2), (2, 1), (1, 2)))).topics[0].error_code == 0
        assert (await ask(server, created("t", (1,)))).topics[0].error_code == 36
        found = await scrape(endpoint.port)
        assert found[CONTROLLER + "globaltopiccount"] == 1 and found[CONTROLLER + "globalpartitioncount"] == 3
        assert found[CONTROLLER + "offlinepartitionscount"] == found[CONTROLLER + "preferredreplicaimbalancecount"] == 0
        assert found[CONTROLLER + "activebrokercount"] == 2 and found[CONTROLLER + 'brokerregistrationstate{broker="1"}'] == 30
        assert 0 <= found[CONTROLLER + 'timesincelastheartbeatreceivedms{broker="2"}'] < 9000
        assert found[CONTROLLER + "lastappliedrecordlagms"] == 0
        assert found[CONTROLLER + "lastappliedrecordoffset"] >= found[CONTROLLER + "lastcommittedrecordoffset"] > 0
        assert found['metashell_decisions_total{api="CreateTopics",error="NONE"}'] == 1
        assert found['metashell_decisions_total{api="CreateTopics",error="TOPIC_ALREADY_EXISTS"}'] == 1
        assert found["kafka_server_raft_metrics_current_leader"] == 1
        assert found['kafka_server_raft_metrics_current_state_info{state="leader"}'] == 1
        assert found["kafka_controller_controllereventmanager_eventqueuetimems_count"] > 5
        assert found['kafka_controller_controllereventmanager_eventqueueprocessingtimems{quantile="0.99"}'] > 0
        assert found["metashell_loop_longest_hold_seconds"] > 0
        assert found['metashell_listener_requests_total{listener="CONTROLLER"}'] >= 4
        assert found["kafka_server_metadataloader_currentmetadataversion"] == server.image.features.metadata_version
        assert found["process_resident_memory_bytes"] > 1_000_000


async def test_partitions_are_counted_by_what_changed_and_after_that_as_by_a_walk(tmp_path: Path) -> None:
    async with watched(tmp_path) as (controllers, endpoint):
        server = await controllers.active()
        epoch = await add_broker(server, 1)
        await add_broker(server, 2)
        await scrape(endpoint.port)
        await ask(server, created("a", (1, 2), (2, 1)))
        await ask(server, created("b", (1,)))
        await ask(server, created("gone", (1,), (2,)))
        deleted = messages.DeleteTopicsRequest
        await ask(server, deleted(topics=(deleted.DeleteTopicState(name="gone"),), timeout_ms=1000))
        beat = messages.BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=99, want_fence=True)
        assert (await ask(server, beat)).is_fenced
        found = await scrape(endpoint.port)
        counted = [found[CONTROLLER + name] for name in COUNTS]
        # b has no leader, and a-0 is led by its second replica.
        assert counted == [2, 3, 1, 2]
        fresh = PartitionCounts(lambda: -1)
        assert not [step for step in fresh.follow(server.image, 0) if step is not None]
        assert counted == [fresh.topics, fresh.partitions, fresh.offline, fresh.unpreferred]
        assert found[CONTROLLER + "fencedbrokercount"] == 1


COUNTS = ("globaltopiccount", "globalpartitioncount", "offlinepartitionscount", "preferredreplicaimbalancecount")


def test_what_was_replayed_before_it_was_stable_counts_once_it_is() -> None:
    cluster = Cluster()
    cluster.register(1, 2)
    cluster.create("t", (1, 2), (2, 1))
    counts = PartitionCounts(lambda: cluster.controller.stable_offset)
    decision = cluster.decide(19, 7, created("u", (1,), (2,)))
    base = cluster.end_offset
    cluster.write(decision, commit=False)
    counts.note(decision.records, base)
    list(counts.follow(cluster.controller.image, cluster.controller.stable_offset))
    assert (counts.topics, counts.partitions) == (1, 2)
    cluster.controller.commit(cluster.end_offset - 1)
    list(counts.follow(cluster.controller.image, cluster.controller.stable_offset))
    assert (counts.topics, counts.partitions, counts.offset) == (2, 4, cluster.end_offset - 1)
    counts.reset()
    list(counts.follow(cluster.controller.image, cluster.controller.stable_offset))
    assert (counts.topics, counts.partitions) == (2, 4)


def test_who_does_not_ask_for_long_gets_a_new_count(monkeypatch: Any) -> None:
    monkeypatch.setattr("metashell.quorum.server.metrics.TOUCHED_MAX", 3)
    cluster = Cluster()
    cluster.register(1)
    counts = PartitionCounts(lambda: cluster.controller.stable_offset)
    list(counts.follow(cluster.controller.image, 0))
    for number in range(5):
        decision = cluster.decide(19, 7, created(f"t{number}", (1,)))
        counts.note(decision.records, cluster.end_offset)
        cluster.write(decision)
    assert len(counts._touched) <= 4
    list(counts.follow(cluster.controller.image, cluster.controller.stable_offset))
    assert (counts.topics, counts.partitions) == (5, 5)


async def test_health_is_of_the_process_and_readiness_of_the_quorum(tmp_path: Path) -> None:
    async with watched(tmp_path, 3) as (controllers, endpoint):
        leader = await controllers.active()
        id = leader.config.node.node_id
        status, body = await get(endpoint.port, "/healthz")
        assert (status, body["status"], body["reasons"]) == (200, "ok", [])
        assert set(body) == KEYS and 0 <= body["high_watermark"] <= body["log_end_offset"]
        status, body = await get(endpoint.port, "/readyz")
        assert (status, body["status"], body["is_active"], body["leader_id"]) == (200, "ready", True, id)
        for other in [other for other in controllers.running if other != id]:
            await controllers.kill(other)
        await eventually(lambda: not leader.is_active)
        await eventually(lambda: leader.leader_id < 0)
        status, body = await get(endpoint.port, "/readyz")
        assert (status, body["status"], body["reasons"]) == (503, "not ready", ["no leader is known"])
        assert (await get(endpoint.port, "/healthz"))[0] == 200
        await controllers.kill(id)
        status, body = await get(endpoint.port, "/healthz")
        assert (status, body["status"], body["reasons"]) == (503, "failed", ["the replica has stopped"])


KEYS = {"status", "node_id", "state", "is_active", "leader_id", "epoch", "high_watermark", "log_end_offset", "reasons"}


async def test_strangers_at_the_endpoint_get_one_line_or_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    async with watched(tmp_path) as (_, endpoint):
        port = endpoint.port
        assert (await http(port, "POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"))[0] == 405
        assert (await http(port, "GET /etc/passwd HTTP/1.1\r\n\r\n"))[0] == 404
        assert (await http(port, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"))[0] == 421
        assert (await http(port, "GET /healthz HTTP/1.0\r\n\r\n"))[0] == 200
        assert (await http(port, "GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"))[0] == 200
        assert (await http(port, "HEAD /healthz HTTP/1.1\r\n\r\n"))[2] == b""
        assert (await http(port, "rubbish\r\n\r\n"))[0] == 400
        assert (await http(port, b"\x16\x03\x01\x00\xff" * 20 + b"\r\n\r\n"))[0] == 400
        assert (await http(port, b"GET /" + b"a" * 2 * REQUEST_MAX + b" HTTP/1.1\r\n\r\n"))[0] in (0, 431)
        monkeypatch.setattr(endpoint_module, "TIMEOUT_S", 0.3)
        assert (await http(port, b"GET /healthz HTTP/1.1\r\n"))[0] == 0, "never ends: nothing after the time is over"
        assert endpoint.refused == 6


async def test_connections_beyond_the_most_are_closed_and_the_controller_goes_on(tmp_path: Path, monkeypatch: Any) -> None:
    # They are closed by this test, however busy the machine is.
    monkeypatch.setattr(endpoint_module, "TIMEOUT_S", 60.0)
    async with watched(tmp_path) as (controllers, endpoint):
        idle = [socket.create_connection(("127.0.0.1", endpoint.port)) for _ in range(CONNECTIONS_MAX)]
        await eventually(lambda: endpoint._open == CONNECTIONS_MAX)
        assert (await http(endpoint.port, "GET /healthz HTTP/1.1\r\n\r\n"))[0] == 0
        await add_broker(await controllers.active(), 1)
        for one in idle:
            one.close()
        await eventually(lambda: endpoint._open == 0)
        assert (await get(endpoint.port, "/healthz"))[0] == 200


async def test_an_endpoint_that_closes_leaves_no_connection_open(tmp_path: Path) -> None:
    async with Controllers(tmp_path, 1) as controllers:
        active = await controllers.active()
        for turns in range(6):
            endpoint = await serve_metrics(active)
            with socket.create_connection(("127.0.0.1", endpoint.port), timeout=120) as early:
                early.setblocking(False)
                for _ in range(turns):
                    await asyncio.sleep(0)
                await endpoint.close()
                gc.collect()
                with suppress(ConnectionError):
                    assert await asyncio.get_running_loop().sock_recv(early, 1) == b""


def value_of(metrics: Metrics, name: str, **labels: str) -> float:
    """One sample of the metrics as they are now."""
    (family,) = (family for family in metrics.families() if family.name == name)
    (value,) = (value for own, value in family.samples if dict(own) == labels)
    return value


async def test_ages_and_lags_are_by_the_clock_and_bounded(tmp_path: Path) -> None:
    async with Controllers(tmp_path, 1) as controllers:
        server = await controllers.active()
        machine = server.machine
        epoch = await add_broker(server, 1)
        metrics = Metrics(server)
        now_s = began_s = metrics._clock()
        metrics._clock = lambda: now_s
        age = "kafka_server_snapshotemitter_latestsnapshotgeneratedagems"
        now_s += 7
        assert 7000 <= value_of(metrics, age) < 8000, "none so far: since the start"
        server.replica.feed._maker.made += 1
        metrics._look()
        assert value_of(metrics, age) == 0
        now_s += 5
        metrics._look()
        assert value_of(metrics, age) == 5000
        assert value_of(metrics, "metashell_uptime_seconds") >= now_s - began_s
        name, session_ms = CONTROLLER + "timesincelastheartbeatreceivedms", machine.controller.state.settings.session_timeout_ms
        heard_ms = machine.controller.state.heartbeats.contacted_ms(1, epoch)
        assert heard_ms is not None
        for later_ms, silent_ms in ((-5, 0), (0, 0), (40, 40), (session_ms + 1, session_ms)):
            machine.now_ms = lambda later_ms=later_ms: heard_ms + later_ms  # type: ignore[method-assign, misc]
            assert value_of(metrics, name, broker="1") == silent_ms
        change = messages.PartitionChangeRecord
        metrics._on_replayed([(change(leader_recovery_state=state), 0) for state in (-1, 0, 1, 1)], 0)
        assert value_of(metrics, "kafka_controller_controllerstats_uncleanleaderelections") == 2
        lag, stamp = CONTROLLER + "lastappliedrecordlagms", machine.applied_ms
        machine.wall_ms = lambda: stamp + 300
        assert value_of(metrics, lag) == 0, "it is the one that writes"
        assert value_of(metrics, CONTROLLER + "lastappliedrecordoffset") == machine.controller.state.next_write_offset - 1
        metrics._counts.offset = 3
        assert value_of(metrics, CONTROLLER + "globaltopiccount") == 0
        counted: list[str] = []
        metrics._counts.reset = lambda: counted.append("anew")  # type: ignore[method-assign]
        metrics._look()
        assert not counted
        machine.loads += 1
        metrics._look()
        metrics._look()
        assert counted == ["anew"]
        metrics.close()
        assert (machine.queue.on_done, machine.on_decided, machine.on_replayed) == (None, None, None)


async def test_a_standby_lags_by_the_age_of_what_it_applied_last(tmp_path: Path) -> None:
    async with Controllers(tmp_path, 2, QUICK) as controllers:
        active = await controllers.active()
        standby = next(server for server in controllers.running.values() if server is not active)
        await eventually(lambda: standby.machine.applied_ms > 0 and standby.image.features.metadata_version is not None)
        machine, metrics = standby.machine, Metrics(standby)
        for applied_ms, lag_ms in ((1000, 500), (1500, 0), (1501, 0), (-1, 0)):
            machine.applied_ms, machine.wall_ms = applied_ms, lambda: 1500
            assert value_of(metrics, CONTROLLER + "lastappliedrecordlagms") == lag_ms
        assert value_of(metrics, CONTROLLER + "lastappliedrecordoffset") == machine.controller.state.committed_offset
        assert value_of(metrics, CONTROLLER + "activecontrollercount") == 0
        assert not any(family.name.endswith("lastheartbeatreceivedms") for family in metrics.families())
        metrics.close()


def test_a_broker_is_counted_by_its_registration() -> None:
    states = [(True, False, 10), (True, True, 10), (False, True, 20), (False, False, 30)]
    for fenced, leaving, state in states:
        assert registration_state(BrokerRegistration(1, 0, bytes(16), fenced=fenced, in_controlled_shutdown=leaving)) == state


async def test_a_request_whose_time_was_over_is_counted_also_if_only_its_parts_say_so(tmp_path: Path) -> None:
    async with watched(tmp_path) as (controllers, endpoint):
        server = await controllers.active()
        late = messages.DeleteTopicsRequest(topic_names=("a",), timeout_ms=-1)
        assert (await ask(server, late, 5)).responses[0].error_code == REQUEST_TIMED_OUT
        assert (await scrape(endpoint.port))[CONTROLLER + "eventqueueoperationstimedoutcount"] == 1


def test_quantiles_are_of_the_last_minutes() -> None:
    now = 0.0
    window = TimeWindow(lambda: now)
    assert window.quantiles((0.5,)) == [0.0]
    for milliseconds in range(1, 101):
        window.note(milliseconds / 1000)
    middle, high = window.quantiles((0.5, 0.99))
    assert 0.045 < middle < 0.065 and 0.09 < high < 0.13
    now = 61.0
    assert window.quantiles((0.99,)) == [high]
    now = 200.0
    assert window.quantiles((0.99,)) == [0.0] and window.count == 100


def test_an_event_is_its_text_with_more() -> None:
    event = ServerEvent("it leads", "active", epoch=3)
    assert event == "it leads" and event.kind == "active" and event.fields == {"epoch": 3}
