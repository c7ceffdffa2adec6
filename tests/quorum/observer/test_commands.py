"""kafka-shell, its prompt and dump-log on a quorum over loopback; and how command lines name one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from metashell.cli.connection import names_quorum, target_of
from metashell.cli.images import KeptQuorum
from metashell.cli.inspect.dump_log import main as dump_log
from metashell.cli.inspect.kafka_shell import main as kafka_shell
from metashell.cli.shell_options import KAFKA_SHELL
from metashell.common.errors import UsageError
from metashell.common.forms import Display
from metashell.common.option_parser import parse_command
from metashell.demo import demo_directory
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.net.addresses import Address
from metashell.quorum.observer import attach as live_attach
from metashell.quorum.observer.attach import attach
from metashell.quorum.observer.controllers import Target
from metashell.quorum.observer.follow_loop import FollowLoop
from metashell.shell import Context, run_line
from metashell.shell.terminal.prompt import run_prompt
from tests.quorum.observer.fake_quorum import FakeQuorum
from tests.quorum.observer.world import setting
from tests.running import Outcome, run_main

Run = Callable[..., Outcome]


@pytest.fixture
def quorum() -> Iterator[FakeQuorum]:
    with FakeQuorum(1, 2, 3) as made:
        made.commit(setting("a"), setting("b"))
        yield made


@pytest.fixture
def words(quorum: FakeQuorum) -> list[str]:
    pairs = [f"node-{id}:9093=127.0.0.1:{port}" for id, port in quorum.ports.items()]
    return ["-C", "1@node-1:9093,node-2:9093", "--address-map", pairs[0], "--address-map", ",".join(pairs[1:])]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return lambda main, *words: run_main(main, words, cwd=tmp_path)


def test_a_command_is_answered_by_the_quorum(run: Run, words: list[str]):
    outcome = run(kafka_shell, *words, "ls", "/image/configs/TOPIC:orders")
    assert outcome == Outcome(0, b"a\nb\n", "")


def test_the_past_of_a_quorum_is_as_long_as_its_log(run: Run, words: list[str]):
    outcome = run(kafka_shell, *words, "log", "-o", "jsonl", "/image/configs/TOPIC:orders")
    found = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [(row["kind"], row["path"], row["after"]) for row in found] == [
        ("created", "/image/configs/TOPIC:orders/a", "[redacted]"),
        ("created", "/image/configs/TOPIC:orders/b", "[redacted]"),
    ]
    before = found[1]["offset"]
    assert run(kafka_shell, *words, "--at", str(before), "ls", "/image/configs/TOPIC:orders") == Outcome(0, b"a\n", "")
    outcome = run(kafka_shell, *words, "diff", str(before), "end", "-o", "jsonl")
    assert outcome.status == 1
    assert json.loads(outcome.stdout)["path"] == "/image/configs/TOPIC:orders/b"
    outcome = run(kafka_shell, *words, "--at", "99999", "ls")
    assert outcome.status == 1
    assert "no image at offset 99999" in outcome.stderr


def test_a_disk_is_compared_with_a_quorum(run: Run, quorum: FakeQuorum, tmp_path: Path):
    pairs = ",".join(f"node-{id}:9093=127.0.0.1:{port}" for id, port in quorum.ports.items())
    outcome = run(kafka_shell, "--demo", "--address-map", pairs, "diff", "-C", "node-1:9093", "--stat", "-o", "jsonl")
    assert outcome == Outcome(2, b"", "diff: these are two clusters: Z29sZGVuLW1haW4tY2x1cw and cluster\n")
    disk = tmp_path / "disk"
    shutil.copytree(demo_directory(), disk)
    (disk / "meta.properties").unlink()
    outcome = run(kafka_shell, "-s", str(disk), "--address-map", pairs, "diff", "end", "-C", "node-1:9093", "--stat", "-o", "jsonl")
    assert outcome.status == 1
    found = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert {row["kind"] for row in found if row["type"] == "topic"} == {"removed"}


def test_a_session_reads_the_log_of_a_quorum_once_and_then_what_is_new(quorum: FakeQuorum, monkeypatch: pytest.MonkeyPatch):
    opened: list[object] = []
    real = live_attach.attach_chunks
    monkeypatch.setattr(live_attach, "attach_chunks", lambda target: opened.append(target) or real(target))
    pairs = ",".join(f"node-{id}:9093=127.0.0.1:{port}" for id, port in quorum.ports.items())
    values = parse_command(KAFKA_SHELL, ["-C", "node-1:9093", "--address-map", pairs])
    end = [0]
    with closing(KeptQuorum(values, lambda: end[0])) as past, attach(target_of(values)) as source:
        end[0] = source.view().image.provenance.end_offset
        first = past()
        assert set(first.image(end[0]).configs[2, "orders"]) == {"a", "b"}
        quorum.commit(setting("c"))
        steps = source.subscribe()
        while "c" not in source.view().image.configs[2, "orders"]:
            steps.next(10.0)
        end[0] = source.view().image.provenance.end_offset
        assert past() is first
        assert set(first.image(end[0]).configs[2, "orders"]) == {"a", "b", "c"}
        assert first.cluster_id == "cluster"
        assert first.image(end[0]).provenance.certain_to == end[0]
    assert len(opened) == 1


def test_words_of_the_shell_may_follow_the_command(run: Run, words: list[str]):
    assert run(kafka_shell, "cat", "/image/configs/TOPIC:orders/a", *words).stdout == b"[redacted]\n"  # No release has a key `a`.


def test_a_script_sees_what_is_committed_between_its_lines(quorum: FakeQuorum):
    with attach(Target(controllers=quorum.addresses, address_map=quorum.address_map)) as source:
        ctx = context_of(source)
        assert run_line(ctx, "ls /image/configs/TOPIC:orders") == 0
        quorum.commit(setting("c"))
        steps = source.subscribe()
        while "c" not in source.view().image.configs[2, "orders"]:
            steps.next(10.0)
        assert run_line(ctx, "ls /image/configs/TOPIC:orders") == 0
        assert ctx.out.getvalue() == "a\nb\na\nb\nc\n"


def test_status_tells_the_leader_and_that_all_is_certain(run: Run, words: list[str], quorum: FakeQuorum):
    status = json.loads(run(kafka_shell, *words, "status", "-o", "json").stdout)
    assert (status["source"], status["source_kind"], status["leader"]["id"]) == ("node-1:9093", "quorum", quorum.leader_id())
    assert status["certain_to"] == status["end_offset"] == status["high_watermark"]
    assert (status["lag"], status["trouble"]) == (0, None)


def test_static_voters_are_named_by_their_last_election(quorum: FakeQuorum):
    with attach(Target(controllers=quorum.addresses, address_map=quorum.address_map)) as source:
        ctx = context_of(source)
        assert ctx.image.leader.voter_ids == (1, 2, 3)
        ctx.feed, ctx.image = None, ctx.image._replace(voters=None)
        assert run_line(ctx, "status") == 0
        assert "voters            1, 2, 3\n" in ctx.out.getvalue()


def context_of(source, **fields) -> Context:
    def make_root(image, before):
        return build_root(image, voice="own", local=LocalInfo(), before=before)

    image = source.view().image
    root = build_root(image, voice="own", local=LocalInfo())
    streams = {"display": Display(StringIO()), "err": StringIO()}
    return Context(root=root, image=image, feed=source, make_root=make_root, source_label=source.label, **streams, **fields)


def test_keys_at_a_prompt_on_a_quorum(quorum: FakeQuorum, tmp_path: Path):
    with attach(Target(controllers=quorum.addresses, address_map=quorum.address_map)) as source, create_pipe_input() as pipe:
        ctx = context_of(source)
        pipe.send_text("cat /image/configs/TOPIC:ord\t/a\rstatus -o json\r\x04")
        assert run_prompt(ctx, input=pipe, output=DummyOutput(), environ={"XDG_STATE_HOME": str(tmp_path)}) == 0
        first, rest = ctx.out.getvalue().split("\n", 1)
        assert (first, json.loads(rest)["lag"]) == ("[redacted]", 0)


def test_dump_log_prints_what_is_committed_and_ends(run: Run, words: list[str]):
    outcome = run(dump_log, *words, "--type", "CONFIG_RECORD")
    lines = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [(line["file"], line["data"]["name"]) for line in lines] == [("node-1:9093/__cluster_metadata-0", name) for name in "ab"]
    array = json.loads(run(dump_log, *words, "--type", "CONFIG_RECORD", "-o", "json").stdout)
    assert array == lines


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["-C", "a:1", "-b", "b:1"], "--bootstrap-controller and --bootstrap-server exclude each other"),
        (["-C", "a:1", "-s", "x"], "--snapshot and --bootstrap-controller exclude each other"),
        (["--demo", "-b", "b:1"], "--bootstrap-server and --demo exclude each other"),
        (["-s", "x", "-c", "f"], "--command-config goes with --bootstrap-controller or --bootstrap-server"),
        (["-C", "a"], "'a' is not HOST:PORT"),
        (["-C", "a:1", "--address-map", "a:1"], "'a:1' is not HOST:PORT=HOST:PORT"),
    ],
)
def test_a_wrong_command_line_is_one_line(run: Run, given: list[str], message: str):
    assert run(kafka_shell, *given, "pwd") == Outcome(2, b"", f"kafka-shell: {message}\n")


def test_a_property_file_that_is_not_there_or_says_nonsense_is_named(run: Run, tmp_path: Path):
    missing = run(kafka_shell, "-C", "a:1", "-c", "nope", "pwd")
    assert (missing.status, missing.stderr) == (1, "kafka-shell: nope: No such file or directory\n")
    (tmp_path / "bad").write_text("security.protocol=TELNET\n")
    wrong = run(kafka_shell, "-C", "a:1", "--config", "bad", "pwd")
    assert wrong.status == 2
    assert wrong.stderr.startswith("kafka-shell: bad: security.protocol: ")


def test_forms_of_files_do_not_go_with_a_quorum(run: Run):
    assert run(dump_log, "-C", "a:1", "x.log").stderr == "dump-log: FILE goes with files, not with a quorum\n"
    assert run(dump_log, "-C", "a:1", "-o", "kafka").stderr == "dump-log: -o kafka goes with files, not with a quorum\n"


def target(*given: str) -> Target:
    values = parse_command(KAFKA_SHELL, [*given])
    assert names_quorum(values)
    return target_of(values)


@pytest.mark.parametrize("name", ["--bootstrap-controller", "--controllers", "-C"])
def test_controllers_have_all_their_names_and_ids_are_left_out(name: str):
    assert target(name, "1@a:1, 22@[::1]:2,c:3").controllers == (Address("a", 1), Address("::1", 2), Address("c", 3))


def test_a_time_that_is_given_holds_also_where_nobody_is():
    assert (target("-C", "a:1").timeout_s, target("-C", "a:1").absent_s) == (10, 2)
    assert (target("-C", "a:1", "--timeout", "60").timeout_s, target("-C", "a:1", "--timeout", "60").absent_s) == (60, 60)


def test_addresses_are_mapped_also_those_of_ipv6():
    found = target("-b", "b:1", "--address-map", "[::1]:9093=[fe80::1]:1", "--address-map", "c:3=d:4,e:5=f:6").address_map
    assert found.resolve(Address("::1", 9093)) == Address("fe80::1", 1)
    assert [found.resolve(Address(host, port)) for host, port in (("c", 3), ("e", 5), ("g", 7))] == [
        Address("d", 4),
        Address("f", 6),
        Address("g", 7),
    ]


def test_no_quorum_is_named_by_nothing():
    assert not names_quorum(parse_command(KAFKA_SHELL, ["-s", "x"]))
    with pytest.raises(UsageError, match="not HOST:PORT"):
        target("-C", "a:1,b")


class FakeLoop:
    def call_later(self, delay_s: float, call: Callable[[], None]) -> None:
        return


def test_time_in_which_we_were_stopped_is_no_silence_of_the_quorum(monkeypatch: pytest.MonkeyPatch):
    now = 100.0
    monkeypatch.setattr("metashell.quorum.observer.follow_loop.time.monotonic", lambda: now)
    follow = FollowLoop(Target(controllers=(Address("a", 1),)), None, None, None)
    assert follow.refused == "", "nobody was asked so far"
    follow._loop = FakeLoop()
    follow._heard = (now, now)
    for _ in range(7):
        now += 1.0
        follow._beat()
    assert follow.silent_s == 7.0
    now += 3600.0
    follow._beat()
    assert follow.silent_s == 7.0
