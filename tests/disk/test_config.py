"""Configurations: what Kafka's own tool accepts is accepted, what it refuses is refused in its words."""

from __future__ import annotations

import json
import lzma
import os
from itertools import zip_longest
from pathlib import Path

import pytest

from metashell.cli.controllers.storage import main
from metashell.cli.controllers.storage import main as storage
from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from metashell.common.errors import ConfigError, MetashellError
from metashell.disk.config import NodeConfig, config_of, config_warnings, load_config, log_dirs
from metashell.disk.config_values import ConfigValues
from tests.disk.config_table import CONTROLLER, Config, configs, java_input
from tests.running import run_main
from tests.seeds import shows
from tools.gen_config_keys import ANSWERS, KEYS, answers, keys


def ours(config: Config) -> list[str]:
    """Our answer in the form of Kafka's."""
    try:
        node = config_of(config)
    except ConfigError as error:
        return ["no", str(error)]
    return ["ok", *facts(node), ",".join(log_dirs(ConfigValues({"node.id": "1", "broker.id": "1", **config})))]


def facts(node: NodeConfig) -> list[str]:
    endpoint = node.controller_endpoint
    shown = "none" if endpoint is None else f"{endpoint.host or 'null'} {endpoint.port}"
    return [
        str(node.node_id),
        node.metadata_log_directory,
        node.controller_listener,
        # Beside static voters Kafka takes the address from their list; nobody asks for it then.
        "" if node.static_voters else shown,
        ",".join(node.static_voters),
        str(node.unstable_features).lower(),
    ]


def theirs(line: str) -> list[str]:
    verdict, *rest = line.split("\t")
    if verdict == "no":
        return [verdict, "\t".join(rest)]
    node_id, directories, metadata, listener, endpoint, voters, unstable = rest
    return [verdict, node_id, metadata, listener, "" if voters else endpoint, voters, unstable, directories]


@pytest.mark.slow
@shows("KIP-631/process-roles", "KIP-631/quorum-discovery")
def test_every_configuration_of_the_table_gets_kafkas_answer() -> None:
    stored = lzma.decompress(ANSWERS.read_bytes()).decode().removesuffix("\n").split("\n")
    differing = []
    for (name, config), line in zip_longest(configs(), stored, fillvalue=("", "")):
        assert isinstance(config, dict), "the table was made shorter: python -m tools.gen_config_keys"
        assert isinstance(line, str), "the table was made longer: python -m tools.gen_config_keys"
        expected, answer = theirs(line), ours(config)
        if "Class " in expected[1] and answer[0] == "no":
            continue  # Java looks for the class first.
        if answer != expected:
            differing.append((name, expected, answer))
    assert not differing


@pytest.mark.slow
def test_keys_and_answers_are_those_of_the_real_kafka() -> None:
    assert keys() == KEYS.read_text(encoding="utf-8")
    assert answers() == lzma.decompress(ANSWERS.read_bytes())


def test_values_of_config_providers_are_left_alone_where_formatting_does_not_need_them() -> None:
    providers = {"config.providers": "file"}
    password = {"ssl.key.password": "${file:/secrets:key}", "num.io.threads": "${file:/x:n}"}
    assert config_of({**CONTROLLER, **providers, **password}).node_id == 1
    with pytest.raises(ConfigError, match=r"node\.id"):
        config_of({**CONTROLLER, **providers, "node.id": "${file:/x:id}"})


def test_a_password_that_does_not_fit_is_not_repeated() -> None:
    from metashell.codec.validation import invalid_value
    from metashell.disk.config_values import config_keys

    assert "hunter2" not in str(invalid_value(config_keys()["ssl.key.password"], "hunter2", "no good"))


def test_a_file_that_is_no_properties_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("process.roles=\\u12x\n")
    with pytest.raises(MetashellError, match=r"server\.properties: .*uxxxx"):
        load_config(str(path))


def test_a_configuration_that_is_refused_is_named_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(b"PNG\r\n")
    done = run_main(storage, ["info", "-c", str(path)], cwd=tmp_path)
    assert (done.status, done.stdout) == (1, b"")
    assert done.stderr.startswith(f"metashell storage info: {path}: Missing required configuration")
    kafka = run_main(kafka_storage, ["info", "-c", str(path)], cwd=tmp_path)
    assert kafka.stderr.startswith("kafka-storage: Missing required configuration")


def test_the_directories_are_shown_although_a_rule_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    settings = {**CONTROLLER, "process.roles": "broker,controller", "listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093"}
    settings |= {"controller.listener.names": "CONTROLLER", "log.dirs": str(tmp_path / "logs")}
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    done = run_main(storage, ["info", "-c", str(path)], cwd=tmp_path)
    assert (done.status, done.stderr) == (1, "")
    assert done.stdout.decode().splitlines()[:-1] == [
        f"{tmp_path}/logs  missing",
        "bad      refused_configuration  1  configurations that Kafka refuses",
        f"         {path} (listeners: 0.0.0.0 cannot be advertised; set advertised.listeners)",
        "         endangers: the server does not start",
        "bad      unformatted            1  log directories without meta.properties",
        f"         {tmp_path}/logs (does not exist; {tmp_path}/logs/meta.properties)",
        "         endangers: Kafka does not start on any directory of this node",
        f"         next: metashell storage format -g -t CLUSTER_ID -c {path}",
    ]
    as_json = run_main(storage, ["info", "-o", "json", "-c", str(path)], cwd=tmp_path)
    assert json.loads(as_json.stdout)["findings"][0]["found"][0]["cause"].startswith("listeners: 0.0.0.0")
    kafka = run_main(kafka_storage, ["info", "-c", str(path)], cwd=tmp_path)
    assert (kafka.status, kafka.stdout) == (1, b"")
    assert kafka.stderr.startswith("kafka-storage: requirement failed: advertised.listeners cannot use the nonroutable meta-address")


def test_the_line_for_java_means_the_same_configuration() -> None:
    from metashell.disk.properties import parse_properties

    for _, config in list(configs())[:400]:
        assert parse_properties(java_input(config).replace("\x1f", "\n").encode("latin-1", "replace")) == {
            key: value.encode("latin-1", "replace").decode("latin-1") for key, value in config.items()
        }


# ---- settings that Kafka accepts and that surprise afterwards


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
    settings = QUIET_CONTROLLER | {
        "log.dirs": str(data),
        "node.id": str(node_id),
        "controller.quorum.voters": f"{node_id}@node-1.example:9093",
    }
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
