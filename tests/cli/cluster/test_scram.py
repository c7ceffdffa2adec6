"""metashell scram, through controllers; and where its passwords come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.net.scram_credentials import make_credential
from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import command, lines, objects, on_terminal

PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1) as quorum:
        yield quorum


@pytest.fixture
def quorum(running: EmbeddedQuorum) -> Iterator[EmbeddedQuorum]:
    yield running
    users = {user for by_user in running.image.scram.values() for user in by_user}
    if users:
        lines(running, "scram", "delete", *users, "--yes")


def opens(quorum: EmbeddedQuorum, user: str, mechanism: str, password: str) -> bool:
    """Whether a login with this password would succeed."""
    code = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}[mechanism]
    kept = quorum.image.scram[code][user]
    made = make_credential(mechanism, password, salt=kept.salt, iterations=kept.iterations)
    return (made.stored_key, made.server_key) == (kept.stored_key, kept.server_key)


def test_a_password_is_set_and_replaced(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "scram", "set", "alice", stdin=f"{PASSWORD}\n") == ["alice: SCRAM-SHA-512, 4096 iterations: set"]
    assert opens(quorum, "alice", "SCRAM-SHA-512", PASSWORD)
    salt = quorum.image.scram[2]["alice"].salt
    lines(quorum, "scram", "set", "alice", "--iterations", "5000", stdin="other")
    assert opens(quorum, "alice", "SCRAM-SHA-512", "other") and not opens(quorum, "alice", "SCRAM-SHA-512", PASSWORD)
    assert quorum.image.scram[2]["alice"].salt != salt and quorum.image.scram[2]["alice"].iterations == 5000
    assert len(salt) >= 16


def test_both_mechanisms_at_once(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "scram", "set", "bob", "--mechanism", "SCRAM-SHA-256", "--mechanism", "SCRAM-SHA-512", stdin=PASSWORD)
    assert opens(quorum, "bob", "SCRAM-SHA-256", PASSWORD) and opens(quorum, "bob", "SCRAM-SHA-512", PASSWORD)
    assert lines(quorum, "scram", "list") == [
        "USER  MECHANISM      ITERATIONS",
        "bob   SCRAM-SHA-256        4096",
        "bob   SCRAM-SHA-512        4096",
    ]
    assert objects(quorum, "scram", "list", "bob")[0] == {"type": "scram", "user": "bob", "mechanism": "SCRAM-SHA-256", "iterations": 4096}


def test_places_of_a_password(quorum: EmbeddedQuorum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    file.write_text("from a file\r\n")
    monkeypatch.setenv("ALICES_PASSWORD", "from a variable")
    for words, password in (
        (["--password-file", str(file)], "from a file"),
        (["--password-env", "ALICES_PASSWORD"], "from a variable"),
        (["--password-file", "-"], "from the input"),
        ([], "from the input"),
    ):
        lines(quorum, "scram", "set", "alice", *words, stdin="from the input\n")
        assert opens(quorum, "alice", "SCRAM-SHA-512", password)


def test_deletion_is_asked_about(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "scram", "set", "bob", "--mechanism", "SCRAM-SHA-256", "--mechanism", "SCRAM-SHA-512", stdin=PASSWORD)
    warning, refusal = lines(quorum, "scram", "delete", "bob", "--mechanism", "SCRAM-SHA-256", status=2)
    assert warning.endswith("warning: bob will not be able to log in by SCRAM-SHA-256") and "--yes" in refusal
    assert lines(quorum, "scram", "delete", "bob", "--dry-run") == [
        "bob: SCRAM-SHA-256, 4096 iterations: would be deleted",
        "bob: SCRAM-SHA-512, 4096 iterations: would be deleted",
    ]
    lines(quorum, "scram", "delete", "bob", "--mechanism", "SCRAM-SHA-256", "--yes")
    assert [one["mechanism"] for one in objects(quorum, "scram", "list")] == ["SCRAM-SHA-512"]
    assert lines(quorum, "scram", "delete", "bob", "--mechanism", "SCRAM-SHA-256", "--yes", status=1) == [
        "metashell scram delete: bob: has no credential of SCRAM-SHA-256"
    ]


def test_a_user_who_is_not_there_fails_alone(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "scram", "set", "alice", stdin=PASSWORD)
    told = objects(quorum, "scram", "delete", "nobody", "alice", "--yes", status=1)
    assert [(one["user"], one["result"]) for one in told] == [("nobody", "failed"), ("alice", "deleted")]
    assert told[0]["error"].startswith("RESOURCE_NOT_FOUND")
    assert lines(quorum, "scram", "list", "nobody", status=1)[0].startswith("metashell scram list: nobody: RESOURCE_NOT_FOUND")


def test_a_dry_run_reads_the_password_and_sets_nothing(quorum: EmbeddedQuorum) -> None:
    assert objects(quorum, "scram", "set", "alice", "--dry-run", stdin=PASSWORD)[0]["result"] == "would be made"
    assert "standard input: the password is empty" in lines(quorum, "scram", "set", "alice", "--dry-run", status=2)[0]
    lines(quorum, "scram", "set", "alice", stdin=PASSWORD)
    assert objects(quorum, "scram", "set", "alice", "--dry-run", stdin="x")[0]["result"] == "would be replaced"
    assert opens(quorum, "alice", "SCRAM-SHA-512", PASSWORD)


SECRET = "s3cr3t-Pa55"


@pytest.mark.parametrize(
    "words",
    [
        ["set", "alice", SECRET],
        ["set", "alice", "--password", SECRET],
        ["set", "alice", f"--password={SECRET}"],
        ["set", "alice", "--password-env", SECRET],
        ["set", "alice", "--password-env", "THERE_IS_NONE"],
        ["set", "alice", "--mechanism", "SCRAM-SHA-1"],
        ["set", "alice", "--iterations", "4095"],
        ["set", "alice", "--iterations", "16385"],
        ["set", "alice", "--password-file", "-", "--password-env", "HOME"],
        ["set"],
        ["delete"],
    ],
)
def test_no_error_repeats_what_may_be_a_password(words: list[str], quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "scram", *words, stdin=SECRET, status=2)
    assert len(told) == 1 and SECRET not in told[0]


@pytest.mark.parametrize("text", [f"{SECRET}\nsecond line\n", "", "\n", f"{SECRET}\0", SECRET * 2000])
def test_a_password_that_is_none_is_refused_without_repeating_it(text: str, quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "scram", "set", "alice", stdin=text, status=2)
    assert len(told) == 1 and SECRET not in told[0] and told[0].startswith("metashell scram set: standard input: ")
    assert 2 not in quorum.image.scram


def test_nothing_that_is_printed_holds_the_password(quorum: EmbeddedQuorum) -> None:
    for words in (["set", "alice"], ["set", "alice", "-o", "json"], ["set", "alice", "--dry-run"], ["set", "", "-o", "jsonl"]):
        done = command(quorum, "scram", *words, stdin=SECRET)
        assert SECRET not in done.stdout.decode() + done.stderr


def test_a_file_that_is_not_there_is_a_failure(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "scram", "set", "alice", "--password-file", "/no/such.file", status=1) == [
        "metashell scram set: /no/such.file: No such file or directory"
    ]


def asked(first: str, second: str) -> tuple[str, str]:
    """What `read_password` gives on a terminal where this is typed, and all that the terminal showed."""
    code = "from metashell.cli.connection import read_password\n"
    code += "try: print('read', len(read_password('Password of alice', file=None, variable=None)))\n"
    code += "except Exception as error: print('refused', error)"
    _, shown = on_terminal(code, [("alice: ", first), *([("again: ", second)] if second else [])])
    return shown.splitlines()[-1], shown


def test_a_terminal_asks_twice_and_shows_nothing() -> None:
    last, shown = asked(SECRET, SECRET)
    assert last == f"read {len(SECRET)}" and SECRET not in shown
    last, shown = asked(SECRET, f"{SECRET}x")
    assert last == "refused the two passwords differ: nothing was changed" and SECRET not in shown


def test_who_types_no_password_changes_nothing() -> None:
    last, _ = asked("\x04", "")
    assert last == "refused no password was typed"
    _, shown = asked("\x03", "")
    assert "\nnothing was changed\n" in shown
