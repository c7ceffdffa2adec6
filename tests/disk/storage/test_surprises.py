"""Settings that Kafka accepts and that surprise afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from metashell.cli.controllers.storage import main
from metashell.disk.config import config_of, config_warnings

QUIET_CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.listener.names": "C",
    "listeners": "C://node-1.example:9093",
    "controller.quorum.voters": "1@node-1.example:9093",
    "log.dirs": "/var/lib/kafka",
}
BROKER = {
    "process.roles": "broker",
    "node.id": "2",
    "controller.listener.names": "C",
    "listener.security.protocol.map": "C:PLAINTEXT,OUT:SASL_SSL",
    "inter.broker.listener.name": "OUT",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listeners": "OUT://:9092",
    "advertised.listeners": "OUT://node-2.example:9092",
    "controller.quorum.voters": "1@node-1.example:9093",
    "log.dirs": "/var/lib/kafka",
}


def found(settings: dict[str, str]) -> list[str]:
    return config_warnings(config_of(settings))


@pytest.mark.parametrize("settings", [QUIET_CONTROLLER, BROKER])
def test_a_usual_configuration_surprises_nobody(settings: dict[str, str]) -> None:
    assert found(settings) == []


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            {"listeners": "C://:9093"},
            "listeners: C accepts connections on every interface (port 9093, PLAINTEXT: neither encrypted nor authenticated)",
        ),
        (
            {"listeners": "C://0.0.0.0:9093", "advertised.listeners": "C://node-1.example:9093"},
            "listeners: C accepts connections on every interface (port 9093, PLAINTEXT: neither encrypted nor authenticated)",
        ),
        (
            {"listeners": "C://:9093"},
            "listeners: C has no host and is advertised under the name of this host; name one in advertised.listeners if others cannot "
            "resolve that",
        ),
        ({"listeners": "C://localhost:9093"}, "listeners: C is advertised as localhost:9093, which only this host can reach"),
        ({"listeners": "C://[::1]:9093"}, "listeners: C is advertised as [::1]:9093, which only this host can reach"),
        (
            {"advertised.listeners": "C://127.0.1.1:9093"},
            "advertised.listeners: C is advertised as 127.0.1.1:9093, which only this host can reach",
        ),
        ({"log.dirs": "/a,data"}, "log.dirs: data is relative to the directory in which the server starts"),
        ({"metadata.log.dir": "meta"}, "metadata.log.dir: meta is relative to the directory in which the server starts"),
        ({"log.dirs": "/var/run/kafka"}, "log.dirs: /var/run/kafka may be emptied when the machine starts"),
        ({"log.dir": "/x"}, "log.dir: not used, because log.dirs is set"),
    ],
)
def test_what_surprises_is_named_with_its_setting(changes: dict[str, str], warning: str) -> None:
    assert warning in found({**QUIET_CONTROLLER, **changes})


def test_the_default_directory_is_named_as_the_default() -> None:
    settings = {name: value for name, value in QUIET_CONTROLLER.items() if name != "log.dirs"}
    assert found(settings) == [f"log.dir: {os.sep}tmp/kafka-logs, the default, may be emptied when the machine starts"]


def test_a_listener_on_every_interface_that_is_encrypted_and_advertised_is_usual() -> None:
    assert found(BROKER | {"listeners": "OUT://0.0.0.0:9092"}) == []


def write_node(tmp_path: Path, node_id: int) -> str:
    data = tmp_path / "data"
    data.mkdir()
    (data / "meta.properties").write_text("version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAZQ\n")
    path = tmp_path / "server.properties"
    settings = QUIET_CONTROLLER | {"log.dirs": str(data), "node.id": str(node_id), "controller.quorum.voters": f"{node_id}@node-1.example:9093"}
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return str(path)


def test_a_directory_of_another_node_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_node(tmp_path, 2)
    problem = f"node.id 1 in meta.properties, 2 in {config}"
    assert main(["info", "-c", config]) == 1
    assert f"{tmp_path}/data ({problem}; " in capsys.readouterr().out
    assert main(["info", "-c", config, "-o", "json"]) == 1
    assert [one["found"][0]["cause"] for one in json.loads(capsys.readouterr().out)["findings"]] == [problem]


def test_warnings_do_not_fail_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_node(tmp_path, 1)
    with open(config, "a", encoding="utf-8") as file:
        file.write("log.dir=/x\n")
    assert main(["info", "-c", config]) == 0
    warnings = [line for line in capsys.readouterr().out.split("\n") if line.startswith("warning: ")]
    assert "warning: log.dir: not used, because log.dirs is set" in warnings
    assert main(["info", "-c", config, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [line.removeprefix("warning: ") for line in warnings]


def test_kafkas_voice_has_neither(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "-c", write_node(tmp_path, 2), "-o", "kafka"]) == 0
    assert "problem" not in capsys.readouterr().out
