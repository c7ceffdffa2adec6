"""Clients that others wrote log in to our listeners over TLS and read our answers: librdkafka, kafka-python and Kafka's own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.messages import DescribeClusterResponse, MetadataResponse
from metashell.net.accepted_connection import ServerRequest
from metashell.net.api_versions import supported_ranges
from metashell.net.listener import Listener, serve
from metashell.net.listener_options import ListenerOptions, secured_options
from metashell.net.sasl import StaticCredentials
from metashell.net.security import ListenerSecurity, StoreConfig, TlsConfig
from tests.java import KAFKA, kafka
from tests.net.certificates import PASSWORD, Authority
from tools.interop.nodes import write_config

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")]

USERS = {"alice": "alice-secret"}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
METADATA, DESCRIBE_CLUSTER = 3, 60


class Service:
    """A listener in a thread of its own, which answers as a cluster of one broker would."""

    def __init__(self, folder: Path) -> None:
        authority = Authority()
        self.ca = authority.write_pem(folder)
        store = authority.sign("server", ["localhost", "127.0.0.1"]).write_p12(folder)
        self.tls = TlsConfig(keystore=StoreConfig(prefix="ssl.keystore", location=str(store), password=PASSWORD))
        self.principals: list[str] = []
        self.listener: Listener
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._wait(self._open())

    def _wait(self, work: Any) -> Any:
        done: Future[Any] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result(120)

    async def _open(self) -> None:
        security = ListenerSecurity(protocol="SASL_SSL", mechanisms=MECHANISMS, plain_users=USERS, tls=self.tls)
        options = secured_options(security, StaticCredentials(USERS))
        ranges = supported_ranges([METADATA, DESCRIBE_CLUSTER])
        self.listener = await serve(self.answer, ListenerOptions(ranges=ranges, name="SASL_SSL", **options))

    def answer(self, request: ServerRequest) -> None:
        self.principals.append(request.principal)
        port = self.listener.port
        if request.header.api_key == METADATA:
            broker = MetadataResponse.MetadataResponseBroker(node_id=7, host="localhost", port=port)
            request.respond(MetadataResponse(brokers=(broker,), cluster_id="of-ours", controller_id=7))
        else:
            node = DescribeClusterResponse.DescribeClusterBroker(broker_id=7, host="localhost", port=port)
            request.respond(DescribeClusterResponse(brokers=(node,), cluster_id="of-ours", controller_id=7))

    def close(self) -> None:
        self._wait(self.listener.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("service"))
    try:
        yield made
    finally:
        made.close()


def rdkafka_settings(service: Service, mechanism: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": f"localhost:{service.listener.port}",
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(service.ca),
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": password,
        "log_level": 0,
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_logs_in_and_lists_the_brokers(service: Service, mechanism: str) -> None:
    from confluent_kafka.admin import AdminClient

    service.principals.clear()
    found = AdminClient(rdkafka_settings(service, mechanism, "alice-secret")).list_topics(timeout=120)
    assert (found.cluster_id, [(broker.id, broker.port) for broker in found.brokers.values()]) == ("of-ours", [(7, service.listener.port)])
    assert set(service.principals) == {"User:alice"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_with_a_wrong_password_is_turned_away(service: Service, mechanism: str) -> None:
    from confluent_kafka.admin import AdminClient

    told = threading.Event()
    reasons: list[str] = []

    def on_error(error: Any) -> None:
        reasons.append(error.str())
        told.set()

    client = AdminClient(rdkafka_settings(service, mechanism, "guessed") | {"error_cb": on_error})
    while not told.is_set():
        client.poll(0.1)
    assert "Authentication failed" in reasons[0] or "authentication" in reasons[0].lower()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_logs_in_and_describes_the_cluster(service: Service, mechanism: str) -> None:
    from kafka.admin import KafkaAdminClient

    service.principals.clear()
    client = KafkaAdminClient(
        bootstrap_servers=f"localhost:{service.listener.port}",
        security_protocol="SASL_SSL",
        ssl_cafile=str(service.ca),
        sasl_mechanism=mechanism,
        sasl_plain_username="alice",
        sasl_plain_password="alice-secret",
    )
    try:
        assert client.describe_cluster()["cluster_id"] == "of-ours"
    finally:
        client.close()
    assert set(service.principals) == {"User:alice"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafkas_own_client_logs_in_and_asks_for_the_cluster(service: Service, mechanism: str, tmp_path: Path) -> None:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    settings = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": service.ca,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'org.apache.kafka.common.security.{module} required username="alice" password="alice-secret";',
    }
    config = write_config(tmp_path / "client.properties", settings)
    service.principals.clear()
    words = ("cluster-id", "--bootstrap-server", f"localhost:{service.listener.port}", "--command-config", str(config))
    done = kafka(KAFKA, "cluster", *words)
    assert (done.returncode, done.stdout) == (0, b"Cluster ID: of-ours\n"), done.stderr[-2000:]
    assert set(service.principals) == {"User:alice"}
