"""Our client against the listeners of a real Kafka: each security protocol, each mechanism, and what each fault says."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from metashell.codec.messages import ApiVersionsRequest, DescribeClusterRequest, DescribeQuorumRequest
from metashell.disk.properties import parse_properties
from metashell.net.addresses import Address, ConnectError
from metashell.net.client import AsyncClient, Client
from metashell.net.client_config import client_config
from metashell.net.frames import FrameReader, decode_response, encode_request, frame
from tests.java import KAFKA, jars, java, kafka_command
from tests.net.certificates import KEY_PASSWORD, PASSWORD, Authority
from tools.interop.listeners import NAMES, SESSION_MS, scram_words, secured_settings
from tools.interop.nodes import cluster, format_directories, free_ports, write_config

pytestmark = pytest.mark.slow

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
SECURITY = "org.apache.kafka.common.security"


@dataclass
class Secured:
    """The running node: its ports by listener, and the files that clients need."""

    ports: Mapping[str, int]
    folder: Path
    ca: Path
    alice_pem: Path

    def client(self, listener: str, settings: Mapping[str, object], host: str = "localhost") -> Client:
        text = write_config(self.folder / "client.properties", settings).read_bytes()
        config = client_config(parse_properties(text), environ={}, parse=parse_properties)
        return Client([Address(host, self.ports[listener])], **config.options())

    def failure(self, listener: str, settings: Mapping[str, object], host: str = "localhost") -> str:
        """The one line that a request ends in, without the address."""
        with self.client(listener, settings, host) as client, pytest.raises(ConnectError) as caught:
            client.request(DescribeClusterRequest())
        line = str(caught.value)
        address = f"{host}:{self.ports[listener]}: "
        assert line.startswith(address) and "\n" not in line and line.count(address) == 1
        return line.removeprefix(address)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    java()
    jars(KAFKA)
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority()
    ca = authority.write_pem(folder)
    Authority("another CA").write_pem(folder, "other-ca")
    authority.sign("wrong", ["elsewhere.example"]).write_pem(folder)
    server = authority.sign("server", ["localhost"])
    alice = authority.sign("alice", [])
    alice.write_p12(folder)
    alice.write_pem(folder, KEY_PASSWORD)
    ports = free_ports(len(NAMES))
    config = write_config(folder / "node.properties", secured_settings(ports, folder / "log", server.write_p12(folder), ca, PASSWORD))
    words = [part for word in scram_words() for part in ("-S", word)]
    format_directories(config, "-s", *words)
    made = Secured(dict(zip(NAMES, ports, strict=True)), folder, ca, alice.write_pem(folder))
    with cluster(lambda tool, *words: kafka_command(KAFKA, tool, *words), folder) as place:
        place.start(config)
        place.wait_until("a broker that answers", lambda: answers(made))
        yield made


def answers(node: Secured) -> bool:
    with node.client("PLAINTEXT", {"security.protocol": "PLAINTEXT"}) as client:
        try:
            return bool(client.request(DescribeClusterRequest()).brokers)
        except ConnectError:
            return False


def tls(node: Secured, protocol: str = "SSL", ca: str = "ca.pem") -> dict[str, object]:
    return {"security.protocol": protocol, "ssl.truststore.type": "PEM", "ssl.truststore.location": node.folder / ca}


def sasl(mechanism: str, user: str, password: str) -> dict[str, object]:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    jaas = f'{SECURITY}.{module} required username="{user}" password="{password}";'
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


def controller_of(client: Client) -> int:
    with client:
        answer = client.request(DescribeClusterRequest())
        assert (answer.error_code, answer.cluster_id) == (0, CLUSTER_ID)
        return len(answer.brokers)


USERS = {"PLAIN": ("carol", "carol-secret"), "SCRAM-SHA-256": ("alice", "alice-secret"), "SCRAM-SHA-512": ("bob", "bob-secret")}


@pytest.mark.parametrize("mechanism", USERS)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_each_mechanism_lets_its_user_in(node: Secured, protocol: str, mechanism: str) -> None:
    settings = sasl(mechanism, *USERS[mechanism]) | (tls(node) if protocol == "SASL_SSL" else {}) | {"security.protocol": protocol}
    assert controller_of(node.client("SASLSSL" if protocol == "SASL_SSL" else "SASL", settings)) == 1


@pytest.mark.parametrize("mechanism", USERS)
def test_the_lifetime_of_a_login_is_known(node: Secured, mechanism: str) -> None:
    settings = sasl(mechanism, *USERS[mechanism]) | {"security.protocol": "SASL_PLAINTEXT"}

    async def lifetime(client: AsyncClient) -> int:
        connection = await client.connection(client.bootstrap[0])
        assert not connection.expired
        return connection.core.session_lifetime_ms

    with node.client("SASL", settings) as client:
        assert client.run(lifetime) == SESSION_MS


@pytest.mark.parametrize("mechanism", USERS)
def test_a_wrong_password_is_one_line_without_it(node: Secured, mechanism: str) -> None:
    line = node.failure("SASL", sasl(mechanism, USERS[mechanism][0], "guessed") | {"security.protocol": "SASL_PLAINTEXT"})
    assert line.startswith("authentication failed: Authentication failed") and "guessed" not in line


def test_a_mechanism_that_is_not_enabled_names_those_that_are(node: Secured) -> None:
    settings = sasl("SCRAM-SHA-256", "alice", "alice-secret") | {"security.protocol": "SASL_PLAINTEXT"}
    line = node.failure("PLAINTEXT", settings)
    assert line.startswith("the peer does not take SCRAM-SHA-256")


def test_a_certificate_of_a_known_authority_is_enough_for_ssl(node: Secured) -> None:
    assert controller_of(node.client("SSL", tls(node))) == 1


def test_an_unknown_authority_is_refused(node: Secured) -> None:
    assert node.failure("SSL", tls(node, ca="other-ca.pem")).startswith("the certificate is refused: ")


def test_a_certificate_for_another_name_is_refused_unless_names_do_not_matter(node: Secured) -> None:
    assert "127.0.0.1" in node.failure("SSL", tls(node), host="127.0.0.1")
    settings = tls(node) | {"ssl.endpoint.identification.algorithm": ""}
    assert controller_of(node.client("SSL", settings, host="127.0.0.1")) == 1


@pytest.mark.parametrize("store", ["alice.pem", "alice-encrypted.pem", "alice.p12"])
def test_a_client_shows_its_own_certificate(node: Secured, store: str) -> None:
    password = PASSWORD if store.endswith("p12") else ""
    settings = {
        "ssl.keystore.location": node.folder / store,
        "ssl.keystore.type": "PKCS12" if password else "PEM",
        "ssl.keystore.password": password,
        "ssl.key.password": KEY_PASSWORD,
    }
    assert controller_of(node.client("MTLS", tls(node) | settings)) == 1


def test_a_client_without_a_certificate_is_turned_away(node: Secured) -> None:
    assert "certificate" in node.failure("MTLS", tls(node))


def test_a_truststore_made_by_keytool_is_read(node: Secured) -> None:
    keytool = Path(java()).with_name("keytool")
    store = node.folder / "trust.p12"
    words = ("-importcert", "-noprompt", "-alias", "ca", "-file", node.ca, "-keystore", store, "-storetype", "PKCS12")
    subprocess.run([keytool, *words, "-storepass", PASSWORD], check=True, capture_output=True)
    settings = tls(node) | {"ssl.truststore.type": "PKCS12", "ssl.truststore.location": store, "ssl.truststore.password": PASSWORD}
    assert controller_of(node.client("SSL", settings)) == 1


def test_plaintext_to_a_listener_with_tls_says_what_to_look_at(node: Secured) -> None:
    assert "security.protocol" in node.failure("SSL", {"security.protocol": "PLAINTEXT"})


def test_tls_to_a_plaintext_listener_is_one_line(node: Secured) -> None:
    line = node.failure("PLAINTEXT", tls(node) | {"default.api.timeout.ms": 5000})
    assert "does the peer talk TLS" in line


def test_a_controller_describes_its_quorum(node: Secured) -> None:
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=(partition,))
    with node.client("CONTROLLER", {}) as client:
        answer = client.request(DescribeQuorumRequest(topics=(topic,)))
    (found,) = answer.topics[0].partitions
    assert (answer.error_code, found.error_code, found.leader_id) == (0, 0, 1)
    assert [voter.replica_id for voter in found.current_voters] == [1]


@pytest.mark.parametrize("mechanism", ["", "PLAIN"])
def test_a_broker_tells_a_client_that_means_another_node_or_cluster(node: Secured, mechanism: str) -> None:
    listener, settings = "PLAINTEXT", {"security.protocol": "PLAINTEXT"}
    if mechanism:
        listener, settings = "SASL", {"security.protocol": "SASL_PLAINTEXT", **sasl(mechanism, *USERS[mechanism])}
    address = Address("localhost", node.ports[listener])
    with node.client(listener, settings) as client:
        (broker,) = client.request(DescribeClusterRequest()).brokers
    for cluster_id, id in ((CLUSTER_ID, broker.broker_id + 1), ("another", broker.broker_id), (CLUSTER_ID, broker.broker_id)):
        with node.client(listener, settings) as client:
            client.learn([(id, *address)], cluster_id)
            if (cluster_id, id) == (CLUSTER_ID, broker.broker_id):
                assert client.request(DescribeClusterRequest(), node=id).cluster_id == CLUSTER_ID
                continue
            with pytest.raises(ConnectError) as caught:
                client.request(DescribeClusterRequest(), node=id)
            assert str(caught.value) == f"{address}: it is not node {id} of cluster {cluster_id}, but another one"


def test_kraft_version_is_only_told_from_version_four_on(node: Secured) -> None:
    with node.client("CONTROLLER", {}) as client:
        request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        by_version = {version: client.request(request, version=version) for version in (3, 4)}
    names = {version: {entry.name for entry in answer.supported_features} for version, answer in by_version.items()}
    assert "kraft.version" in names[4] and "kraft.version" not in names[3]


def test_what_follows_a_request_in_its_frame_is_ignored(node: Secured) -> None:
    request = encode_request(DescribeClusterRequest(), 0, 5, "c")[4:]
    with socket.create_connection(("localhost", node.ports["PLAINTEXT"]), timeout=120) as connection:
        connection.sendall(frame(request + b"xyz"))
        reader = FrameReader(1 << 20)
        while (data := reader.next_frame()) is None:
            reader.feed(connection.recv(4096))
    number, answer = decode_response(data, 60, 0)
    assert (number, answer.cluster_id) == (5, CLUSTER_ID)
