"""Stores that do not answer: one line with the URI and the address, and soon."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from metashell.common.errors import PathError
from metashell.tables.stores import file_systems
from metashell.tables.stores.file_systems import address_of, require_answer


@pytest.fixture(autouse=True)
def nothing_is_known_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_systems, "_answering", set())
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", *file_systems._PROXIES):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a server that does the same with every connection, in one thread."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                answer(connection)

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def refusing() -> str:
    """An address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def told(uri: str) -> str:
    with pytest.raises(PathError) as raised:
        require_answer(uri)
    return str(raised.value)


def test_an_address_that_refuses_is_tried_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(file_systems.time, "sleep", waits.append)
    place = refusing()
    uri = f"s3://KEYKEY:SECRETSECRET@bucket/x?endpoint_override={place}&scheme=http"
    assert told(uri) == f"s3://bucket/x?endpoint_override={place}&scheme=http: http://{place} cannot be reached: Connection refused"
    assert waits == [0.5]


def test_a_server_that_begins_to_listen_meanwhile_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    place = refusing()
    with socket.socket() as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")

        def begin(_: float) -> None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", int(place.rpartition(":")[2])))
            listener.listen()
            Thread(target=serve, daemon=True).start()

        monkeypatch.setattr(file_systems.time, "sleep", begin)
        require_answer(f"s3://bucket/x?endpoint_override={place}&scheme=http")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda one: None, "takes connections, and ends them without an answer"),
        (lambda one: (one.recv(100), one.sendall(b"220 mail ready\r\n")), "answers, but not by HTTP"),
    ],
)
def test_what_is_no_store_is_said(answer: Callable[[socket.socket], None], reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_systems.time, "sleep", lambda _: None)
    with server(answer) as place:
        assert f": http://{place} {reason}" in told(f"s3://bucket/x?endpoint_override=http://{place}")


def test_https_where_http_is_spoken_is_said() -> None:
    with server(lambda one: (one.recv(100), one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))) as place:
        assert told(f"s3://bucket/x?endpoint_override={place}").endswith(f"https://{place} answers, but not by TLS: is it http:// there?")


def test_silence_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_systems, "ANSWER_S", 0.1)
    with server(lambda one: one.recv(1000) and one.recv(1)) as place:
        assert told(f"s3://b/x?endpoint_override=http://{place}").endswith("takes connections, and answered nothing within 0 s")


def test_a_place_that_lets_packets_vanish_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_systems, "CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, socket.socket() as one, socket.socket() as other:
        for queued in (one, other):  # whose queue is full, so nothing comes back
            queued.setblocking(False)
            queued.connect_ex(listener.getsockname())
        began_s = time.monotonic()
        said = told(f"s3://b/x?endpoint_override=http://127.0.0.1:{listener.getsockname()[1]}")
    assert said.endswith("cannot be reached: nothing came back within 0 s")
    assert time.monotonic() - began_s < 5


def test_a_resolver_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> list[object]:
        time.sleep(1)
        return []

    monkeypatch.setattr(file_systems, "CONNECT_S", 0.1)
    monkeypatch.setattr(file_systems.socket, "getaddrinfo", late)
    assert told("s3://b/x?endpoint_override=http://store.example").endswith("cannot be reached: nothing came back within 0 s")


def test_a_name_that_is_not_known_is_said() -> None:
    assert "http://store.invalid:9000 cannot be reached: store.invalid is not known (" in told(
        "s3://b/x?endpoint_override=http://store.invalid:9000"
    )


@pytest.mark.parametrize("host", ["minio..local", f"{'x' * 64}.local"])
def test_what_can_be_no_name_of_a_host_is_said_at_once(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    began_s = time.monotonic()
    said = f"http://{host}:9000 cannot be reached: {host} is not known (not the name of a host)"
    assert told(f"s3://b/x?endpoint_override=http://{host}:9000").endswith(f": {said}")
    assert time.monotonic() - began_s < 2
    assert capsys.readouterr().err == ""


def test_a_server_is_asked_once() -> None:
    knocks = []
    with server(lambda one: (knocks.append(one.recv(1000)), one.sendall(b"HTTP/1.1 307 Over there\r\n\r\n"))) as place:
        for name in ("x", "y"):
            require_answer(f"s3://bucket/{name}?endpoint_override=http://{place}")
    assert knocks == [f"HEAD / HTTP/1.1\r\nHost: {place}\r\nUser-Agent: metashell\r\nConnection: close\r\n\r\n".encode()]


@pytest.mark.parametrize(
    ("uri", "environment", "address"),
    [
        ("s3://b/x", {"AWS_ENDPOINT_URL": "http://one:9000", "AWS_ENDPOINT_URL_S3": "https://two"}, "https://two"),
        ("s3a://b/x?endpoint_override=three:1&scheme=http", {"AWS_ENDPOINT_URL": "http://one:9000"}, "http://three:1"),
        ("s3://b/x?endpoint_override=http%3A%2F%2F[::1]:9", {}, "http://[::1]:9"),
        ("s3://b/x?region=eu-west-1", {"AWS_REGION": "us-east-2"}, "https://s3.eu-west-1.amazonaws.com"),
        ("s3://b/x", {"AWS_REGION": "us-east-2"}, "https://s3.us-east-2.amazonaws.com"),
        ("s3://b/x", {"AWS_REGION": "cn-north-1"}, "None"),
        ("s3://b/x", {"AWS_CONFIG_FILE": "/nowhere"}, "https://s3.us-east-1.amazonaws.com"),
        ("s3://b/x", {"AWS_CONFIG_FILE": __file__}, "None"),
        ("s3://b/x", {"AWS_ENDPOINT_URL": "ftp://one"}, "None"),
        ("s3://b/x", {"AWS_ENDPOINT_URL": "http://one:port"}, "None"),
        ("gs://b/x", {}, "https://storage.googleapis.com"),
        ("gs://b/x", {"https_proxy": "http://proxy"}, "None"),
        ("abfs://b@account.dfs.core.windows.net/x", {}, "https://account.dfs.core.windows.net"),
        ("abfs://b/x", {}, "None"),
        ("hdfs://name:8020/x", {}, "None"),
        ("file:///x", {}, "None"),
    ],
)
def test_the_address_is_the_one_that_the_stores_client_will_ask(
    uri: str, environment: dict[str, str], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(address_of(uri)) == address
