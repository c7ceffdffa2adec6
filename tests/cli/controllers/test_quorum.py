"""metashell quorum, as a user types it: each command a process of its own, the state in a folder of the test's."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

from metashell.cli.main import tool_of
from metashell.codec import messages
from metashell.disk.file_system import DirectoryLock, Disk
from metashell.net.addresses import parse_addresses
from metashell.net.client import Client
from metashell.quorum.embedded.background import Record, Registry
from tests.cli.conftest import ROOT, command_line, environment
from tests.running import run_main

pytestmark = pytest.mark.slow
LIMIT_S = 120


class Shell:
    """Runs `metashell quorum` with a state folder and a temporary folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.registry = Registry(str(folder / "state" / "metashell" / "quorum"))
        self.env = environment(XDG_STATE_HOME=str(folder / "state"), TMPDIR=str(self.temporary))

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = command_line("metashell", "quorum", *words)
        return subprocess.run(argv, capture_output=True, text=True, env=self.env, cwd=self.folder, timeout=LIMIT_S)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        argv = command_line("metashell", "quorum", *words)
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.folder)

    def bash(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script in which `quorum` stands for the command."""
        words = " ".join(f"'{word}'" for word in command_line("metashell", "quorum"))
        script = f'quorum() {{ {words} "$@"; }}\n{script}'
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=self.env, cwd=self.folder, timeout=LIMIT_S)

    @property
    def leftovers(self) -> list[str]:
        return [path.name for path in self.temporary.iterdir()]


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    if shell.registry.is_alive:
        shell("stop")
    assert not shell.registry.is_alive


def failed(done: subprocess.CompletedProcess[str], status: int = 1) -> str:
    """The one line of an error."""
    assert (done.returncode, done.stdout) == (status, ""), done
    (line,) = done.stderr.splitlines()
    return line


def test_a_quorum_from_start_to_stop(quorum: Shell) -> None:
    started = quorum("start", "-n", "2")
    assert (started.returncode, started.stderr) == (0, "")
    addresses = started.stdout.rstrip("\n")
    assert [address.rpartition(":")[0] for address in addresses.split(",")] == ["localhost", "localhost"]

    shown = json.loads(quorum("status", "-o", "json").stdout)
    assert (shown["type"], shown["state"], shown["bootstrap_controllers"], shown["kept"]) == ("quorum", "running", addresses, False)
    assert shown["leader"] in (1, 2) and shown["epoch"] >= 1
    text = quorum("status").stdout
    assert f"bootstrap controllers  {addresses}\n" in text and f"\nlog                    {shown['directory']}/quorum.log\n" in text

    second = failed(quorum("start"))
    assert second == f"metashell quorum start: a quorum is running: process {shown['pid']}, {addresses} (metashell quorum stop ends it)"
    stopped = quorum("stop")
    assert (stopped.returncode, stopped.stdout) == (0, "stopped\n")
    for command in ("stop", "status"):
        assert failed(quorum(command)) == f"metashell quorum {command}: no quorum is running"
    none = quorum("status", "-o", "json")
    assert (none.returncode, json.loads(none.stdout)) == (1, {"type": "quorum", "state": "stopped"})
    assert quorum.leftovers == []


def test_a_quorum_that_was_killed_is_named_and_its_files_go_with_the_next_one(quorum: Shell) -> None:
    def start_and_kill() -> tuple[int, str]:
        shown = json.loads(quorum("start", "-n", "1", "-o", "json").stdout)
        os.kill(shown["pid"], signal.SIGKILL)
        while quorum.registry.is_alive:
            pass
        return shown["pid"], shown["directory"]

    pid, directory = start_and_kill()
    died = f"process {pid} was killed or ended by itself"
    assert failed(quorum("status")) == f"metashell quorum status: no quorum is running: {died}; {directory}/quorum.log may say why"
    shown = json.loads(quorum("status", "-o", "json").stdout)
    assert (shown["state"], shown["pid"], shown["directory"]) == ("killed", pid, directory)
    assert failed(quorum("stop")) == f"metashell quorum stop: no quorum was running: {died}; {directory} is removed"
    assert failed(quorum("stop")) == "metashell quorum stop: no quorum is running"
    pid, directory = start_and_kill()
    started = quorum("start", "-n", "1")
    assert started.returncode == 0
    assert started.stderr == f"metashell quorum start: the quorum of process {pid} was not stopped properly; {directory} is removed\n"
    assert quorum("stop").returncode == 0 and quorum.leftovers == []


def test_a_kept_quorum_that_was_killed_says_how_it_is_opened_again(quorum: Shell, tmp_path: Path) -> None:
    kept = tmp_path / "kept here"
    started = quorum("start", "-n", "1", "--dir", "kept here", "-o", "json")
    shown = json.loads(started.stdout)
    os.kill(shown["pid"], signal.SIGKILL)
    while quorum.registry.is_alive:
        pass
    died = f"process {shown['pid']} was killed or ended by itself"
    again = f"{kept} is kept (metashell quorum start --dir '{kept}' opens it again)"
    assert failed(quorum("status")) == f"metashell quorum status: no quorum is running: {died}; {kept}/quorum.log may say why; {again}"
    assert failed(quorum("stop")) == f"metashell quorum stop: no quorum was running: {died}; {again}"
    assert quorum("start", "--dir", "kept here").stdout.strip() == shown["bootstrap_controllers"]


def test_a_directory_that_was_removed_meanwhile_is_not_said_to_be_kept(quorum: Shell, tmp_path: Path) -> None:
    assert quorum("start", "-n", "1", "--dir", "gone").returncode == 0
    (tmp_path / "gone").rename(tmp_path / "elsewhere")
    assert quorum("stop").stdout == f"stopped; {tmp_path}/gone is not there any more\n"


def test_a_process_that_does_not_hold_the_quorum_is_left_alone(quorum: Shell) -> None:
    """The number in the record is another's by now, and somebody holds the folder: one that starts, or that tidies up."""
    with subprocess.Popen(["sleep", str(LIMIT_S)]) as other:
        lock = None
        try:
            os.makedirs(quorum.registry.folder)
            quorum.registry.write(
                Record(pid=other.pid, started_ms=0, bootstrap_controllers="localhost:1", directory="/nowhere", log="", is_kept=True)
            )
            lock = DirectoryLock(quorum.registry.folder, Disk())
            for command in ("stop", "status", "start"):
                assert failed(quorum(command)) == f"metashell quorum {command}: a quorum is being started or stopped"
            assert other.poll() is None
        finally:
            if lock is not None:
                lock.release()
            other.kill()


def test_a_directory_is_kept_with_its_ports_and_opened_again(quorum: Shell, tmp_path: Path) -> None:
    first = quorum("start", "-n", "1", "--dir", "kept", "--fake-brokers", "1", "-r", "4.1", "--override", "num.partitions=3")
    assert first.returncode == 0, first.stderr
    assert quorum("stop").stdout == f"stopped; {tmp_path}/kept is kept\n"
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"controller-1", "quorum.log"}
    again = quorum("start", "--dir", "kept")
    assert again.stdout == first.stdout
    assert quorum("stop").returncode == 0
    refused = f"metashell quorum start: {tmp_path}/kept: its quorum"
    assert failed(quorum("start", "--dir", "kept", "-n", "3")) == f"{refused} has 1 controller"
    assert failed(quorum("start", "--dir", "kept", "-r", "4.0")) == f"{refused} was made with metadata.version 4.1-IV1"
    assert failed(quorum("start", "--dir", "kept", "-f", "share.version=1")) == f"{refused} was made with share.version 0"
    assert quorum("start", "--dir", "kept", "-r", "4.1").stdout == first.stdout
    assert "num.partitions=3" in (tmp_path / "kept" / "controller-1" / "server.properties").read_text()


def test_ports_begin_at_the_one_that_is_given_and_one_in_use_is_named(quorum: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for words in ((), ("--foreground",)):
            assert failed(quorum("start", "-n", "1", "--port", str(port), *words)) == f"metashell quorum start: port {port}: in use"
    assert quorum("start", "-n", "1", "--port", str(port)).stdout == f"localhost:{port}\n"


def test_nothing_in_the_background_keeps_a_pipe_open(quorum: Shell) -> None:
    done = quorum.bash(
        'addresses=$(quorum start -n 1); echo "got $addresses"; quorum status | head -1; quorum stop | true; echo "${PIPESTATUS[@]}"'
    )
    assert done.returncode == 0 and done.stderr == ""
    first, second, third = done.stdout.splitlines()
    assert first.startswith("got localhost:") and second.split() == ["state", "running"] and third == "0 0"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["start", "--controler", "3"], 2, "unknown option --controler (did you mean --controllers?)"),
        (["start", "-n", "0"], 2, "controllers: 0 is not a number from 1 to 15"),
        (["start", "-n", "three"], 2, "option --controllers: 'three' is not a whole number"),
        (["start", "--port", "65535"], 2, "port 65536: not a port (1 to 65535)"),
        (["start", "--dir", ""], 2, "option --dir: names no directory"),
        (["start", "--dir", "/proc/here"], 1, "/proc/here: No such file or directory"),
        (["start", "--dir", "mine"], 1, "mine: is not empty, and holds no quorum"),
        (["start", "--dir", "mine/letter"], 1, "mine/letter: not a directory"),
        (["start", "--dir", "logged"], 1, "logged/quorum.log: Is a directory"),
        (["start", "--fake-brokers", "100000"], 2, "fake_brokers: 100000 is not a number from 0 to 1000"),
        (["start", "--dir", "mine", "--foreground"], 1, "mine: is not empty, and holds no quorum"),
        (["start", "-f", "share.version"], 2, "Can't parse feature=level string share.version: equals sign not found."),
        (["start", "-f", "sharing=1"], 1, "Unsupported feature: sharing."),
        (["start", "-r", "2.8"], 1, "Unknown metadata.version '2.8'."),
        (["start", "--override", "password"], 2, "option --override: number 1 is not NAME=VALUE"),
        (["start", "--override", "log.dirs=x"], 2, "log.dirs: follows from the quorum's directory and ports, and cannot be set"),
        (["start", "--override", "controller.quorum.fetch.timeout.ms=soon"], 1, "Invalid value soon for configuration"),
        (["start", "here"], 2, "unexpected argument 'here'"),
        (["stat"], 2, "unknown command stat (did you mean start?)"),
    ],
)
def test_what_cannot_be_is_one_line(quorum: Shell, tmp_path: Path, words: Sequence[str], status: int, message: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").touch()
    (tmp_path / "logged" / "quorum.log").mkdir(parents=True)
    with patch.dict(os.environ, quorum.env), patch("tempfile.tempdir", str(quorum.temporary)):
        done = run_main(tool_of("quorum"), words, cwd=tmp_path)
    assert (done.status, done.stdout) == (status, b"") and done.stderr.count("\n") == 1 and message in done.stderr
    assert quorum.leftovers == []
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter"]


def test_a_state_folder_that_cannot_be_written_is_named(quorum: Shell) -> None:
    (quorum.folder / "state").touch()
    assert failed(quorum("start", "-n", "1")).endswith(f"{quorum.folder}/state/metashell/quorum/quorum.json: Not a directory")
    assert quorum.leftovers == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 0)])
def test_a_quorum_in_the_foreground_ends_with_a_signal(quorum: Shell, number: int, status: int) -> None:
    process = quorum.begin("start", "-n", "1", "--foreground", "-v")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("localhost:")
    assert quorum("status").returncode == 0
    process.send_signal(number)
    _, errors = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, quorum.leftovers, quorum.registry.is_alive) == (status, [], False)
    assert "controller 1: the active controller of epoch 1\n" in errors and "Traceback" not in errors


def test_a_start_that_is_interrupted_starts_nothing(quorum: Shell) -> None:
    process = quorum.begin("start", "-n", "1")
    while not quorum.registry.is_alive:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=LIMIT_S)
    while quorum.registry.is_alive:
        pass
    if process.returncode == 0:  # it was there before the signal
        assert quorum("stop").returncode == 0
    else:
        assert (process.returncode, output, errors) == (130, "", "")
    assert quorum.leftovers == []


def test_a_start_that_cannot_say_where_the_quorum_is_leaves_none(quorum: Shell) -> None:
    done = quorum.bash("quorum start -n 1 >/dev/full")
    assert (done.returncode, done.stderr) == (1, "metashell quorum start: standard output: No space left on device\n")
    assert (quorum.registry.is_alive, quorum.leftovers) == (False, [])


def test_a_directory_on_which_a_quorum_runs_is_left_alone(quorum: Shell, tmp_path: Path) -> None:
    pid = json.loads(quorum("start", "-n", "1", "--dir", "kept", "-o", "json").stdout)["pid"]
    log = (tmp_path / "kept" / "quorum.log").read_text()
    second = subprocess.run(
        command_line("metashell", "quorum", "start", "--dir", "kept"),
        capture_output=True,
        text=True,
        env={**quorum.env, "XDG_STATE_HOME": str(tmp_path / "other")},
        cwd=tmp_path,
        timeout=LIMIT_S,
    )
    assert failed(second) == f"metashell quorum start: {tmp_path}/kept: process {pid} runs on it"
    assert (tmp_path / "kept" / "quorum.log").read_text() == log


@pytest.mark.parametrize("after_s", [0.05, 0.1, 0.15, 0.2, 0.3, 0.5])
def test_an_early_signal_is_never_lost(quorum: Shell, after_s: float) -> None:
    """Whenever it comes: also while modules are imported."""
    process = quorum.begin("start", "-n", "1", "--foreground")
    time.sleep(after_s)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=LIMIT_S)
    assert (process.returncode in (0, -signal.SIGTERM), quorum.leftovers, quorum.registry.is_alive) == (True, [], False)


def test_kafka_shell_shows_it(quorum: Shell) -> None:
    addresses = quorum("start", "-n", "1", "--fake-brokers", "2").stdout.strip()
    shown = subprocess.run(
        command_line("kafka-shell", "-C", addresses, "ls", "/image/cluster/brokers"),
        capture_output=True,
        text=True,
        env=quorum.env,
        cwd=ROOT,
        timeout=LIMIT_S,
    )
    assert (shown.returncode, shown.stdout) == (0, "101\n102\n")


def test_a_password_in_a_setting_is_never_repeated_and_nobody_else_may_read_it(quorum: Shell, tmp_path: Path) -> None:
    secret = "ssl.keystore.password=hunter2"
    said = quorum("start", "-n", "1", "--dir", "kept", "--override", secret, "-o", "json"), quorum("status"), quorum("stop")
    assert all(done.returncode == 0 and "hunter2" not in done.stdout + done.stderr for done in said)
    holders = [path for path in (tmp_path / "kept").rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert holders == [tmp_path / "kept" / "controller-1" / "server.properties"]
    assert holders[0].stat().st_mode & 0o077 == 0
    assert "hunter2" not in failed(quorum("start", "--override", "hunter2"), 2)


def test_groups_are_formed_where_it_says(quorum: Shell) -> None:
    started = quorum("start", "-n", "1", "--groups")
    said = re.fullmatch(r"metashell quorum: clients form groups at (localhost:\d+); .*: for tests only\n", started.stderr)
    assert started.returncode == 0 and said is not None, started
    assert json.loads(quorum("status", "-o", "json").stdout)["bootstrap_servers"] == said[1]
    with Client(parse_addresses(said[1])) as client:
        assert client.request(messages.ListGroupsRequest()).error_code == 0
