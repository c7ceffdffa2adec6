"""What all commands of administration share: which cluster, questions, forms, waiting, and how they end."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from metashell.cli.admin.protocol import AdminError
from metashell.cli.cluster.noun_tool import Work
from metashell.cli.connection import cluster_of
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from metashell.common.errors import MetashellError, UsageError
from metashell.net.addresses import ConnectError
from metashell.quorum.embedded import EmbeddedQuorum
from metashell.quorum.observer.controllers import Refused
from tests.administering import lines
from tests.cli.conftest import command_line, environment
from tests.quick import quick
from tools.tool_list import TOOLS

LIMIT_S = 120
VARIABLES = ("METASHELL_BOOTSTRAP_SERVER", "METASHELL_BOOTSTRAP_CONTROLLER", "METASHELL_COMMAND_CONFIG")


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=1) as quorum:
        yield quorum


@pytest.fixture(autouse=True)
def no_cluster_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def values(**more: object) -> SimpleNamespace:
    plain = {"output": "text", "bootstrap_server": None, "bootstrap_controller": None, "command_config": None, "yes": False}
    return SimpleNamespace(**plain | more)


# ---- which cluster


def test_the_command_line_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METASHELL_BOOTSTRAP_SERVER", "env:9092")
    monkeypatch.setenv("METASHELL_COMMAND_CONFIG", "env.properties")
    assert cluster_of(values()).bootstrap_server == "env:9092"
    named = cluster_of(values(bootstrap_controller="line:9093", command_config="line.properties"))
    assert (named.bootstrap_server, named.bootstrap_controller, named.command_config) == (None, "line:9093", "line.properties")


def test_no_cluster_or_two_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="which cluster"):
        cluster_of(values())
    monkeypatch.setenv("METASHELL_BOOTSTRAP_SERVER", "env:9092")
    monkeypatch.setenv("METASHELL_BOOTSTRAP_CONTROLLER", "env:9093")
    with pytest.raises(UsageError, match="are both set"):
        cluster_of(values())


def test_a_command_finds_its_cluster_in_the_environment(quorum: EmbeddedQuorum) -> None:
    env = environment(METASHELL_BOOTSTRAP_CONTROLLER=quorum.bootstrap_controllers)
    done = subprocess.run(
        command_line("metashell", "features", "describe", "-o", "jsonl"),
        env=env,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[0])["type"] == "feature"


def test_a_client_file_that_is_not_there_is_named(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    (told,) = lines(quorum, "topics", "list", "-c", str(tmp_path / "nope"), status=1)
    assert str(tmp_path / "nope") in told


def test_nobody_there_is_one_line(quorum: EmbeddedQuorum) -> None:
    done = subprocess.run(
        command_line("metashell", "quorum", "describe", "-C", "127.0.0.1:1", "--timeout", "3"),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "metashell quorum describe: no controller answers: the state of the quorum is not known: 127.0.0.1:1 (Connection refused)\n"
    )


# ---- questions


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, quorum: EmbeddedQuorum, *words: str) -> None:
        self._main, side = pty.openpty()
        # A background process of a shell ignores Ctrl-C, and so would what it starts.
        program = "import signal, sys; signal.signal(2, signal.default_int_handler); from metashell.cli.main import main; sys.exit(main())"
        argv = [sys.executable, "-c", program, *words, "-C", quorum.bootstrap_controllers]
        self._process = subprocess.Popen(argv, stdin=side, stdout=side, stderr=side, env=environment(TERM="xterm"), start_new_session=True)
        os.close(side)
        self.text = ""

    def until(self, words: str) -> None:
        ends_at = time.monotonic() + LIMIT_S
        while words not in self.text:
            assert time.monotonic() < ends_at, self.text
            self._read()

    def _read(self) -> bool:
        ready, _, _ = select.select([self._main], [], [], 1.0)
        if not ready:
            return True
        try:
            data = os.read(self._main, 65536)
        except OSError:
            # Linux's way of saying that the other side is closed.
            return False
        self.text += data.decode()
        return bool(data)

    def type(self, text: str) -> None:
        os.write(self._main, text.encode())

    def end(self) -> int:
        ends_at = time.monotonic() + LIMIT_S
        # Until the other side is closed: what the command wrote last may come when it has ended.
        while self._read() and time.monotonic() < ends_at:
            pass
        os.close(self._main)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(LIMIT_S)
        self._process.kill()
        return self._process.wait(LIMIT_S)


@pytest.mark.parametrize(
    ("answer", "status", "is_gone"), quick([("n\n", 1, False), ("\n", 1, False), ("\x04", 1, False), ("yes\n", 0, True)])
)
def test_on_a_terminal_a_person_is_asked(quorum: EmbeddedQuorum, answer: str, status: int, is_gone: bool) -> None:
    if "orders" not in quorum.image.topics.by_name:
        quorum.create_topic("orders", partitions=2)
    terminal = Terminal(quorum, "topics", "delete", "orders")
    terminal.until("[y/N] ")
    assert "warning: all records of orders (2 partitions) are lost for good" in terminal.text
    assert f"Delete 1 topic? (cluster at {quorum.bootstrap_controllers}) [y/N]" in terminal.text
    terminal.type(answer)
    assert terminal.end() == status
    assert ("nothing was changed" in terminal.text) is not is_gone
    assert ("orders" in quorum.image.topics.by_name) is not is_gone


def test_ctrl_c_at_the_question_changes_nothing(quorum: EmbeddedQuorum) -> None:
    quorum.create_topic("payments")
    terminal = Terminal(quorum, "topics", "delete", "payments")
    terminal.until("[y/N] ")
    terminal._process.send_signal(2)
    assert terminal.end() == 130
    assert "payments" in quorum.image.topics.by_name and "Traceback" not in terminal.text
    assert terminal.text.endswith("[y/N] \r\nnothing was changed\r\n")


def test_a_watched_answer_is_drawn_again_and_ends_with_ctrl_c(quorum: EmbeddedQuorum) -> None:
    terminal = Terminal(quorum, "quorum", "describe", "--watch=1")
    terminal.until("\x1b[H\x1b[J")
    first = terminal.text.count("\x1b[H\x1b[J")
    terminal.until("controller 1 leads")
    while terminal.text.count("\x1b[H\x1b[J") == first:
        terminal._read()
    terminal._process.send_signal(2)
    assert terminal.end() == 130 and "Traceback" not in terminal.text


# ---- answers and errors, without a cluster


def ran(capsys: pytest.CaptureFixture[str], form: str, act: object, **more: object) -> tuple[int, str, str]:
    assert callable(act)
    status = Work("metashell things do", values(output=form, **more)).run(act)
    out, err = capsys.readouterr()
    return status, out, err


def two_things(work: Work) -> None:
    work.tell("a: done", type="thing", thing="a", result="done")
    work.failed(AdminError(CLUSTER_AUTHORIZATION_FAILED, None, "b"), type="thing", thing="b")


def test_what_failed_is_told_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "json", "jsonl", "table", "csv"):
        status, out, err = ran(capsys, form, two_things)
        assert status == 1
        assert err.startswith("metashell things do: b: CLUSTER_AUTHORIZATION_FAILED: ") and err.count("\n") == 1
        assert "done" in out and ("CLUSTER_AUTHORIZATION_FAILED" in out or form == "text")
    assert [row["result"] for row in json.loads(ran(capsys, "json", two_things)[1])] == ["done", "failed"]


def test_what_was_done_is_printed_although_the_rest_breaks_off(capsys: pytest.CaptureFixture[str]) -> None:
    def break_off(work: Work) -> None:
        work.tell("a: done", type="thing", thing="a", result="done")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ran(capsys, "json", break_off)
    assert json.loads(capsys.readouterr().out) == [{"type": "thing", "thing": "a", "result": "done"}]


def test_an_error_of_the_whole_has_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(work: Work) -> None:
        raise AdminError(UNKNOWN_TOPIC_OR_PARTITION, None, "orders")

    status, out, err = ran(capsys, "json", refuse)
    assert (status, out) == (1, "") and err.startswith("metashell things do: orders: UNKNOWN_TOPIC_OR_PARTITION: ")


def test_hostile_names_do_not_reach_a_terminal_or_add_lines(capsys: pytest.CaptureFixture[str]) -> None:
    def tell(work: Work) -> None:
        work.tell("a\x1b[2J\nb: done")
        work.failed(AdminError(UNKNOWN_TOPIC_OR_PARTITION, "gone\nfine: all is well\x1b[2J", "x"))

    _, out, err = ran(capsys, "text", tell)
    assert out.count("\n") == err.count("\n") == 1 and "\x1b" not in out + err


def test_waiting_ends_with_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    left = iter(["3 left", "1 left"])

    def wait(work: Work) -> None:
        work.wait("things", lambda: next(left, None), 30)

    assert ran(capsys, "text", wait) == (0, "", "")
    with pytest.raises(MetashellError, match="things: not within 0 s: 9 left"):
        ran(capsys, "text", lambda work: work.wait("things", lambda: "9 left", 0))


def test_every_command_that_can_be_asked_about_takes_yes_and_dry_run() -> None:
    for noun in ("topics", "configs", "brokers", "elect", "features"):
        for command in TOOLS[f"metashell-{noun}"].commands:
            dests = {option.dest for option in command.options}
            assert {"output", "bootstrap_server", "bootstrap_controller", "command_config", "timeout"} <= dests, command.name
            assert "yes" not in dests or "dry_run" in dests, command.name
            assert command.examples, command.name


def changes(quorum: EmbeddedQuorum, form: str) -> list[str]:
    """A command that changes two things, and prints in that form."""
    words = command_line("metashell", "configs", "set", "broker:default", "num.io.threads=9", "log.cleaner.threads=2", "-o", form)
    return [*words, "-C", quorum.bootstrap_controllers]


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_on_a_full_disk_what_was_done_is_told_on_stderr(quorum: EmbeddedQuorum, form: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            changes(quorum, form), stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), timeout=LIMIT_S, check=False
        )
    told = done.stderr.splitlines()
    assert done.returncode == 1
    assert told[0] == "metashell configs set: standard output: No space left on device; going on"
    assert [line.split(": ")[1:3] for line in told[1:]] == [["broker:default", "num.io.threads"], ["broker:default", "log.cleaner.threads"]]


def test_a_reader_that_leaves_does_not_stop_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    class Left:
        """A pipe whose reader left after the first line."""

        lines = 0

        def write(self, text: str) -> int:
            return len(text)

        def flush(self) -> None:
            self.lines += 1
            if self.lines == 2:
                raise BrokenPipeError

        def isatty(self) -> bool:
            return False

        def fileno(self) -> int:
            raise OSError

    made = []

    def make_three(work: Work) -> None:
        for name in ("a", "b", "c"):
            made.append(name)
            work.tell(f"{name}: created", type="topic", topic=name, result="created")

    for form in ("text", "jsonl"):
        made.clear()
        out, sys.stdout = sys.stdout, Left()  # type: ignore[assignment]
        try:
            status = Work("metashell things do", values(output=form)).run(make_three)
        finally:
            sys.stdout = out
        assert (status, made) == (1, ["a", "b", "c"])
        assert capsys.readouterr().err == "metashell things do: standard output is closed; going on\n"


@pytest.mark.parametrize(
    "error",
    [
        ConnectError([], authentication=True),
        AdminError(CLUSTER_AUTHORIZATION_FAILED, None, "b"),
        Refused("not authorized", credential=True),
    ],
)
def test_a_watch_whose_credential_is_refused_asks_less_often_and_ends(
    error: MetashellError, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("metashell.cli.cluster.noun_tool.time.sleep", pauses.append)

    def show() -> bool:
        raise error

    with pytest.raises(type(error)):
        Work("metashell things do", values(output="text")).watch(1, show)
    assert pauses == [2, 4, 8] and capsys.readouterr().err.count("\n") == 3


def test_a_watch_goes_on_while_nobody_answers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter(range(9))

    def show() -> bool:
        if next(rounds) < 8:
            raise ConnectError([])
        return False

    monkeypatch.setattr("metashell.cli.cluster.noun_tool.time.sleep", lambda pause: None)
    work = Work("metashell things do", values(output="text"))
    work.watch(1, show)
    assert capsys.readouterr().err.count("\n") == 8
