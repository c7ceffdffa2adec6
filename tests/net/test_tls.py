"""TLS over loopback with stores of each kind, and what each fault of a store says.
TLS handshakes that stop anywhere, or have a byte changed anywhere: the listener closes them and serves the next."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.messages import DescribeClusterRequest
from metashell.common.errors import UsageError
from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.frames import encode_request
from metashell.net.listener import serve
from metashell.net.listener_options import ListenerOptions, is_loopback, secured_options
from metashell.net.security import ListenerSecurity, SecurityConfig, TlsConfig, listener_security, tls_config
from metashell.net.tls import client_context, openssl_cipher, server_context
from metashell.net.transport import ConnectionFailedError, connect
from tests.java import java
from tests.net.certificates import KEY_PASSWORD, PASSWORD, Authority
from tests.net.loops import listening, run

ASK = DescribeClusterRequest()


class Files:
    """Stores of a server, a client and two authorities."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        authority = Authority()
        self.ca = authority.write_pem(folder)
        self.other_ca = Authority("another CA").write_pem(folder, "other-ca")
        self.server = authority.sign("server", ["127.0.0.1", "localhost"])
        self.server_p12 = self.server.write_p12(folder)
        self.elsewhere = authority.sign("elsewhere", ["elsewhere.example"]).write_pem(folder)
        self.client = authority.sign("alice", [])
        self.client_p12 = self.client.write_p12(folder)
        self.client_pem = self.client.write_pem(folder)
        self.client_encrypted = self.client.write_pem(folder, KEY_PASSWORD)
        self.stranger = Authority("a third CA").sign("mallory", []).write_pem(folder)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("stores"))


def configured(**values: object) -> TlsConfig:
    """`truststore_location=...` is ssl.truststore.location."""
    return tls_config({"ssl." + key.replace("_", "."): str(value) for key, value in values.items()})


def server_tls(files: Files, **more: object) -> TlsConfig:
    return configured(keystore_location=files.server_p12, keystore_password=PASSWORD, truststore_location=files.ca, **more)


def asked(server: TlsConfig, client: TlsConfig, **options: Any) -> str:
    """Who the server says that we are, or the one line that the connection fails with."""
    answers = []

    async def work() -> None:
        async with listening(tls=server_context(server), **options) as (_, address):
            try:
                connection = await connect(address, tls=client_context(client))
                answers.append((await connection.request(ASK)).cluster_id)
                connection.close()
                await connection.wait_closed()
            except ConnectionFailedError as error:
                answers.append(str(error))

    run(work)
    (answer,) = answers
    assert "\n" not in answer
    return str(answer)


def test_a_server_with_a_store_in_pkcs12_is_trusted_by_its_authority(files: Files) -> None:
    assert asked(server_tls(files), configured(truststore_location=files.ca)) == "User:ANONYMOUS"


def test_stores_can_be_texts_too(files: Files) -> None:
    server = configured(
        keystore_key=files.server.key_pem(KEY_PASSWORD), keystore_certificate_chain=files.server.chain_pem, key_password=KEY_PASSWORD
    )
    assert asked(server, configured(truststore_certificates=files.ca.read_text())) == "User:ANONYMOUS"


@pytest.mark.parametrize("kind", ["client_p12", "client_pem", "client_encrypted"])
def test_a_certificate_says_who_the_client_is(files: Files, kind: str) -> None:
    client = configured(
        truststore_location=files.ca, keystore_location=getattr(files, kind), keystore_password=PASSWORD, key_password=KEY_PASSWORD
    )
    assert asked(server_tls(files, client_auth="required"), client) == "User:CN=alice,O=Tests"
    assert asked(server_tls(files, client_auth="requested"), client) == "User:CN=alice,O=Tests"
    assert asked(server_tls(files), client) == "User:ANONYMOUS"


def test_a_client_without_a_certificate_that_is_wanted_is_turned_away(files: Files) -> None:
    bare = configured(truststore_location=files.ca)
    assert "wants a certificate" in asked(server_tls(files, client_auth="required"), bare)
    assert asked(server_tls(files, client_auth="requested"), bare) == "User:ANONYMOUS"
    stranger = configured(truststore_location=files.ca, keystore_location=files.stranger)
    assert "wants a certificate" in asked(server_tls(files, client_auth="required"), stranger)


def test_an_unknown_authority_is_refused(files: Files) -> None:
    line = asked(server_tls(files), configured(truststore_location=files.other_ca))
    assert line.startswith("the certificate is refused: ")
    # Without a truststore, the system's authorities count, and ours is none of them.
    assert asked(server_tls(files), configured()).startswith("the certificate is refused: ")


def test_a_name_that_is_not_the_hosts_is_refused_unless_names_do_not_matter(files: Files) -> None:
    server = configured(keystore_location=files.elsewhere)
    assert "127.0.0.1" in asked(server, configured(truststore_location=files.ca))
    assert asked(server, configured(truststore_location=files.ca, endpoint_identification_algorithm="")) == "User:ANONYMOUS"


@pytest.mark.parametrize(
    ("server", "client"),
    [
        ({"enabled_protocols": "TLSv1.2"}, {"enabled_protocols": "TLSv1.3"}),
        ({"enabled_protocols": "TLSv1.3"}, {"cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}),
        (
            {"cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
            {"cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
        ),
    ],
)
def test_peers_without_a_common_version_or_suite_say_so(files: Files, server: dict[str, str], client: dict[str, str]) -> None:
    line = asked(server_tls(files, **server), configured(truststore_location=files.ca, **client))
    assert line.startswith("TLS: ") and "in common" in line


def test_a_suite_of_either_version_can_be_named(files: Files) -> None:
    for name in ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"):
        assert asked(server_tls(files), configured(truststore_location=files.ca, cipher_suites=name)) == "User:ANONYMOUS"


def test_sasl_over_tls_says_who_it_is_and_not_the_certificate(files: Files) -> None:
    security = ListenerSecurity(
        protocol="SASL_SSL", mechanisms=("PLAIN",), plain_users={"carol": "c"}, tls=server_tls(files, client_auth="required")
    )
    client = SecurityConfig(protocol="SASL_SSL", mechanism="PLAIN", username="carol", password="c")
    context = client_context(configured(truststore_location=files.ca, keystore_location=files.client_pem))

    async def work() -> None:
        async with listening(**secured_options(security)) as (listener, address):
            connection = await connect(address, core=ClientConnection(sasl=client.sasl_client()), tls=context)
            assert (await connection.request(ASK)).cluster_id == "User:carol"
            assert listener.counters.authenticated == 1

    run(work)


def test_peers_that_do_not_finish_their_tls_are_closed_and_counted(files: Files) -> None:
    async def work() -> None:
        context = server_context(server_tls(files))
        async with listening(tls=context, handshake_timeout_s=0.1, connections_max=4) as (listener, address):
            silent = [await asyncio.open_connection(*address) for _ in range(2)]
            garbage = [await asyncio.open_connection(*address) for _ in range(2)]
            for _, writer in garbage:
                writer.write(b"GET / HTTP/1.1\r\n\r\n")
            for reader, writer in garbage + silent:
                with contextlib.suppress(ConnectionError):
                    await reader.read()
                writer.close()
            while listener.counters.open:
                await asyncio.sleep(0)
            assert (listener.counters.tls_failures, listener.counters.handshake_timeouts, listener.counters.closed) == (2, 2, 4)
            connection = await connect(address, tls=client_context(configured(truststore_location=files.ca)))
            assert await connection.request(ASK)

    run(work)


def test_a_listener_stops_while_tls_is_under_way(files: Files) -> None:
    async def work() -> None:
        async with listening(tls=server_context(server_tls(files))) as (listener, address):
            reader, writer = await asyncio.open_connection(*address)
            while not listener.counters.open:
                await asyncio.sleep(0)
            await listener.stop()
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()

    run(work)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"truststore_location": "{folder}/missing.pem"}, "ssl.truststore.location: {folder}/missing.pem: No such file or directory"),
        ({"truststore_location": "{folder}"}, "ssl.truststore.location: {folder}: Is a directory"),
        ({"truststore_location": "{folder}/empty"}, "ssl.truststore.location: {folder}/empty: neither PEM nor a PKCS12 store"),
        (
            {"truststore_location": "{folder}/cut.p12"},
            "ssl.truststore.location: {folder}/cut.p12: cannot be opened (is ssl.truststore.password right?)",
        ),
        ({"truststore_certificates": "none"}, "ssl.truststore.certificates: no certificates in it"),
        ({"keystore_location": "{folder}/ca.pem"}, "ssl.keystore.location: {folder}/ca.pem: no private key with its certificate in it"),
        ({"keystore_certificate_chain": "x"}, "ssl.keystore.certificate.chain: no private key with its certificate in it"),
        (
            {"keystore_location": "{folder}/alice.p12", "keystore_password": "guess"},
            "ssl.keystore.location: {folder}/alice.p12: cannot be opened (is ssl.keystore.password right?)",
        ),
        (
            {"keystore_location": "{folder}/alice-encrypted.pem"},
            "ssl.keystore.location: {folder}/alice-encrypted.pem: the key or its certificate cannot be used (is ssl.key.password right?)",
        ),
        (
            {"keystore_location": "{folder}/alice-encrypted.pem", "key_password": "guess"},
            "ssl.keystore.location: {folder}/alice-encrypted.pem: the key or its certificate cannot be used (is ssl.key.password right?)",
        ),
        (
            {"keystore_location": "{folder}/mixed.pem"},
            "ssl.keystore.location: {folder}/mixed.pem: the key or its certificate cannot be used (KEY_VALUES_MISMATCH)",
        ),
        ({"enabled_protocols": "TLSv1.1,TLSv1.3"}, "ssl.enabled.protocols: TLSv1.1: known are TLSv1.2, TLSv1.3"),
        ({"enabled_protocols": ""}, "ssl.enabled.protocols: empty: known are TLSv1.2, TLSv1.3"),
        ({"cipher_suites": "TLS_RSA_WITH_NOTHING"}, "ssl.cipher.suites: OpenSSL has none of TLS_RSA_WITH_NOTHING"),
        (
            {"cipher_suites": "TLS_AES_256_GCM_SHA384", "enabled_protocols": "TLSv1.2"},
            "ssl.cipher.suites: none of them belongs to a protocol in ssl.enabled.protocols",
        ),
    ],
)
def test_a_store_that_cannot_be_used_is_one_line(files: Files, values: dict[str, str], told: str) -> None:
    (files.folder / "empty").write_bytes(b"")
    (files.folder / "cut.p12").write_bytes(files.client_p12.read_bytes()[:200])
    (files.folder / "mixed.pem").write_text(files.client.key_pem() + files.server.chain_pem)
    made = configured(**{key: value.replace("{folder}", str(files.folder)) for key, value in values.items()})
    with pytest.raises(UsageError) as caught:
        client_context(made)
    assert str(caught.value) == told.replace("{folder}", str(files.folder))


@pytest.mark.slow
def test_a_java_store_is_answered_with_the_line_that_converts_it(files: Files) -> None:
    keytool = Path(java()).with_name("keytool")
    store = files.folder / "trust.jks"
    words = ["-importcert", "-noprompt", "-alias", "ca", "-file", files.ca, "-keystore", store, "-storetype", "JKS", "-storepass", PASSWORD]
    subprocess.run([keytool, *words], check=True, capture_output=True)
    with pytest.raises(UsageError) as caught:
        client_context(configured(truststore_location=store))
    line = str(caught.value)
    assert line.startswith(f"ssl.truststore.location: {store}: a JKS store; convert it with: keytool -importkeystore ")
    command = line.partition("keytool ")[2].split()
    passwords = ["-srcstorepass", PASSWORD, "-deststorepass", PASSWORD]
    subprocess.run([keytool, *command, *passwords], check=True, capture_output=True)
    made = configured(truststore_location=files.folder / "trust.p12", truststore_password=PASSWORD)
    assert asked(server_tls(files), made) == "User:ANONYMOUS"


def test_without_the_extra_a_pkcs12_store_says_what_to_install(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.serialization.pkcs12", None)
    with pytest.raises(UsageError, match=r"cryptography is not installed; it comes with the extra 'tls': "):
        client_context(configured(truststore_location=files.client_p12))
    client_context(configured(truststore_location=files.ca, keystore_location=files.client_pem))


def test_names_of_javas_suites_are_those_that_openssl_has() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    known = {each["name"] for each in context.get_ciphers()}
    for name, expected in {
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
        "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256": "DHE-RSA-AES128-GCM-SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    }.items():
        assert openssl_cipher(name) == expected
        assert expected in known


def test_properties_of_a_listener_make_its_options(files: Files) -> None:
    security = listener_security(
        {"ssl.keystore.location": str(files.server_p12), "ssl.keystore.password": PASSWORD, "listener.name.ssl.ssl.client.auth": "none"},
        "SSL",
    )
    options = secured_options(security)
    assert isinstance(options["tls"], ssl.SSLContext) and options["mechanisms"] is None


def listener_properties(files: Files, protocol: str, client_auth: str, mechanisms: str) -> dict[str, str]:
    """A server's properties for a listener C."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required username=a password=b user_a=b;"
    return {
        "listener.security.protocol.map": f"C:{protocol}",
        "ssl.keystore.location": str(files.server_p12),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(files.ca),
        "ssl.client.auth": client_auth,
        "listener.name.c.sasl.enabled.mechanisms": mechanisms,
        "listener.name.c.plain.sasl.jaas.config": login,
    }


KINDS = [
    ("PLAINTEXT", "none", "", False),
    ("SSL", "none", "", False),
    ("SSL", "requested", "", False),
    ("SSL", "required", "", True),
    ("SASL_PLAINTEXT", "none", "PLAIN", False),
    ("SASL_PLAINTEXT", "none", "SCRAM-SHA-256,PLAIN", False),
    ("SASL_PLAINTEXT", "none", "SCRAM-SHA-256", True),
    ("SASL_SSL", "none", "PLAIN", True),
    ("SASL_SSL", "none", "SCRAM-SHA-512", True),
    ("SASL_SSL", "required", "PLAIN", True),
]


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
@pytest.mark.parametrize(("protocol", "client_auth", "mechanisms", "knows_who_asks"), KINDS)
def test_a_listener_that_lets_anybody_in_must_be_allowed_where_others_reach_it(
    files: Files, protocol: str, client_auth: str, mechanisms: str, knows_who_asks: bool, host: str
) -> None:
    security = listener_security(listener_properties(files, protocol, client_auth, mechanisms), "C")

    async def opens(**more: Any) -> bool:
        try:
            listener = await serve(lambda request: None, ListenerOptions(ranges={}, host=host, **secured_options(security), **more))
        except UsageError as error:
            assert "must be allowed explicitly" in str(error) and "\n" not in str(error)
            return False
        await listener.stop()
        return True

    async def work() -> None:
        assert await opens() == (knows_who_asks or is_loopback(host))
        assert await opens(allow_plaintext=True)

    run(work)


REQUEST_FRAME = encode_request(DescribeClusterRequest(), 1, 1, "x")


class Contexts:
    """Of a server that wants certificates, and of a client that has one."""

    def __init__(self, folder: Path) -> None:
        authority = Authority()
        ca = authority.write_pem(folder)
        stores = {name: authority.sign(name, ["localhost", "127.0.0.1"]).write_pem(folder) for name in ("server", "client")}
        common = {"ssl.truststore.location": str(ca)}
        self.server = server_context(tls_config({**common, "ssl.keystore.location": str(stores["server"]), "ssl.client.auth": "required"}))
        self.client = client_context(tls_config({**common, "ssl.keystore.location": str(stores["client"])}))


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    return Contexts(tmp_path_factory.mktemp("tls"))


async def talk(address: Address, context: ssl.SSLContext, place: int, *, spoil: bool) -> int:
    """Shake hands, ask, and read on until the other side hangs up; the byte at `place` is changed, or the stream ends there.

    How many bytes there were to send.
    """
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    reader, writer = await asyncio.open_connection(*address)
    sent = 0
    is_done = is_asked = False
    try:
        while True:
            try:
                if not is_done:
                    tls.do_handshake()
                    is_done = True
                if not is_asked:
                    tls.write(REQUEST_FRAME)
                    is_asked = True
                if tls.read(1 << 16):
                    return sent
            except ssl.SSLWantReadError:
                pass
            data = bytearray(outgoing.read())
            at = place - sent
            sent += len(data)
            if 0 <= at < len(data):
                if not spoil:
                    writer.write(bytes(data[:at]))
                    return sent
                data[at] ^= 0x41
            writer.write(bytes(data))
            more = await reader.read(1 << 16)
            if not more:
                return sent
            incoming.write(more)
    except (ssl.SSLError, ConnectionError):
        return sent
    finally:
        writer.close()


@pytest.mark.parametrize("spoil", [False, True], ids=["cut", "spoilt"])
def test_a_handshake_with_a_fault_anywhere_costs_one_connection(contexts: Contexts, spoil: bool) -> None:
    async def work() -> None:
        async with listening(tls=contexts.server, handshake_timeout_s=1.5) as (listener, address):
            size = await talk(address, contexts.client, 1 << 30, spoil=False)
            assert size > 1000
            await asyncio.gather(*(talk(address, contexts.client, place, spoil=spoil) for place in range(0, size, 7)))
            assert await (await connect(address, tls=contexts.client)).request(DescribeClusterRequest())
            while listener.counters.open > 1:
                await asyncio.sleep(0.01)
            assert listener.counters.tls_failures + listener.counters.handshake_timeouts > (50 if spoil else -1)
            assert listener.held_size == 0

    run(work)
