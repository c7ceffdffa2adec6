"""The attached shell with --allow-changes: it asks on a terminal, and shows at once what was done."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from metashell.cli.inspect import kafka_shell
from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import AUTHORIZER, HERE, lines, on_terminal
from tests.quick import quick
from tests.running import Outcome, run_main


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=3, properties=AUTHORIZER) as running:
        running.create_topic("orders", 3, 2)
        yield running


def shell(quorum: EmbeddedQuorum, *words: str, stdin: str = "") -> Outcome:
    return run_main(kafka_shell.main, ["-C", quorum.bootstrap_controllers, "--allow-changes", *words], cwd=HERE, stdin=stdin)


def terminal(quorum: EmbeddedQuorum, words: list[str], *answers: tuple[str, str]) -> tuple[int, str]:
    line = ["-C", quorum.bootstrap_controllers, "--allow-changes", *words]
    return on_terminal(f"import sys; from metashell.cli.inspect.kafka_shell import main; sys.exit(main({line!r}))", answers)


def test_a_person_is_asked_before_anything_is_changed(quorum: EmbeddedQuorum) -> None:
    words = ["set", "/image/topics/byName/orders", "flush.messages=100"]
    status, shown = terminal(quorum, words, ("[y/N] ", "n"))
    assert status == 1 and "Change flush.messages of topic:orders? (cluster at localhost:" in shown
    assert shown.endswith("set: nothing was changed\n") and (2, "orders") not in quorum.image.configs
    status, shown = terminal(quorum, words, ("[y/N] ", "y"))
    assert status == 0 and "topic:orders: flush.messages: set to 100" in shown
    assert quorum.image.configs[2, "orders"]["flush.messages"] == "100"


@pytest.mark.parametrize(
    ("words", "question"),
    quick(
        [
            (["set", "/image/clientQuotas/user(bob)", "producer_byte_rate=1"], "Set producer_byte_rate of user bob? (cluster at "),
            (["create", "/image/topics/byName/new"], "Create new? (cluster at "),
            (["elect", "/image/topics/byName/orders"], "Elect the preferred leaders of orders? (cluster at "),
            (["delete", "/image/topics/byName/orders"], "Delete 1 topic? (cluster at "),
            (["alter", "/image/topics/byName/orders", "-p", "9"], "Let orders from 3 have 9 partitions? (cluster at "),
        ]
    ),
)
def test_every_verb_asks_once(words: list[str], question: str, quorum: EmbeddedQuorum) -> None:
    status, shown = terminal(quorum, words, ("[y/N] ", ""))
    assert status == 1 and shown.count("[y/N]") == 1 and question in shown and shown.endswith(": nothing was changed\n")


def test_yes_and_a_dry_run_ask_nobody(quorum: EmbeddedQuorum) -> None:
    for option, result in (("--dry-run", "would be set to"), ("--yes", "set to")):
        status, shown = terminal(quorum, ["set", "/image/clientQuotas/user(carol)", "producer_byte_rate=1", option])
        assert (status, shown) == (0, f"user=carol: producer_byte_rate: {result} 1\n")


def test_changes_go_where_the_shell_is_attached(quorum: EmbeddedQuorum, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METASHELL_COMMAND_CONFIG", "/no/such.file")
    monkeypatch.setenv("METASHELL_BOOTSTRAP_SERVER", "localhost:1")
    assert shell(quorum, "set", "/image/clientQuotas/user(gus)", "producer_byte_rate=1").status == 0
    assert dict(quorum.image.client_quotas[(("user", "gus"),)]) == {"producer_byte_rate": 1.0}


def test_a_script_sees_what_it_changed(quorum: EmbeddedQuorum) -> None:
    script = "".join(
        f"set /image/clientQuotas/user(u{number}) producer_byte_rate={number}\ncat /image/clientQuotas/user(u{number})/producer_byte_rate\n"
        for number in range(1, 6)
    )
    done = shell(quorum, stdin=script)
    assert done.status == 0, done.stderr
    assert done.stdout.decode().splitlines()[1::2] == [f"{number}.0" for number in range(1, 6)]


def test_entries_of_access_and_credentials_are_deleted(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "acls", "add", "--allow", "alice", "--operation", "read,write", "--topic", "orders")
    lines(quorum, "scram", "set", "alice", stdin="secret")
    id = json.loads(shell(quorum, "ls", "-l", "/image/acls/byId", "-o", "json").stdout)[0]["name"]
    refused = shell(quorum, "delete", f"/image/acls/byId/{id}")
    assert refused.status == 2 and "add --yes" in refused.stderr and len(quorum.image.acls.by_id) == 2
    assert shell(quorum, "delete", f"/image/acls/byId/{id}", "--yes").status == 0
    assert len(quorum.image.acls.by_id) == 1
    assert shell(quorum, "delete", "/image/scram/SCRAM-SHA-512/alice", "--yes").stdout == (
        b"alice: SCRAM-SHA-512, 4096 iterations: deleted\n"
    )


def test_a_password_is_asked_for_and_not_shown(quorum: EmbeddedQuorum) -> None:
    status, shown = terminal(quorum, ["set", "/image/scram/SCRAM-SHA-256/dora"], ("dora: ", "s3cret"), ("again: ", "s3cret"))
    assert status == 0 and "s3cret" not in shown and shown.endswith("dora: SCRAM-SHA-256, 4096 iterations: set\n")
    assert "dora" in quorum.image.scram[1]


def test_the_next_line_of_a_script_is_no_password(quorum: EmbeddedQuorum) -> None:
    done = shell(quorum, "--keep-going", stdin="set /image/scram/SCRAM-SHA-256/frank\nls /image/scram\n")
    assert done.status == 2 and done.stdout == b"SCRAM-SHA-256\nSCRAM-SHA-512\n"
    assert done.stderr == "set: a password is asked for on a terminal; in scripts use `metashell scram set`\n"
    assert "frank" not in quorum.image.scram.get(1, {})


def test_forms_are_those_of_the_commands(quorum: EmbeddedQuorum) -> None:
    done = shell(quorum, "set", "/image/clientQuotas/user(eve)", "producer_byte_rate=7", "-o", "jsonl")
    assert json.loads(done.stdout) == {
        "type": "quota",
        "entity": "user=eve",
        "names": {"user": "eve"},
        "quota": "producer_byte_rate",
        "value": 7,
        "value_before": None,
        "result": "set",
    }


@pytest.mark.parametrize("words", [["--demo", "--allow-changes", "ls"], ["--allow-changes"], ["--allow-changes", "-s", "x", "ls"]])
def test_changes_need_a_live_quorum(words: list[str]) -> None:
    done = run_main(kafka_shell.main, words, cwd=HERE)
    assert done.status == 2
    assert done.stderr == "kafka-shell: --allow-changes goes with --bootstrap-controller or --bootstrap-server\n"
