"""What the end of a line may become."""

from __future__ import annotations

import pytest

from metashell.shell import run_line
from metashell.shell.completion import CANDIDATES_MAX, complete
from tests.shell.fake_nodes import FakeDirectory, fake_context, printed


def completed(line: str, **fields) -> list[str]:
    """The lines that the candidates would make."""
    return [line[: candidate.start] + candidate.text for candidate in complete(fake_context(**fields), line)]


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("c", ["cat ", "cd ", "create "]),
        ("st", ["status "]),
        ("frob ", []),
        ("ls /im", ["ls /image/"]),
        ("cat /image/brokers/1", ["cat /image/brokers/1 ", "cat /image/brokers/10 "]),
        ("ls /image/topics/byName/", [f"ls /image/topics/byName/{name}/" for name in ("a\\ b", "orders", "other")]),
        ("ls /image/topics/byName/a\\ b/na", ["ls /image/topics/byName/a\\ b/name "]),
        ("ls -l /lo", ["ls -l /local/"]),
        ("ls -o js", ["ls -o json ", "ls -o jsonl "]),
        ("find / -type to", ["find / -type topic ", "find / -type token "]),
        ("find / -ma", ["find / -maxdepth "]),
        ("find / -maxdepth 2 /lo", ["find / -maxdepth 2 /local/"]),
        ("man h", ["man help ", "man history "]),
        ("cd / /", []),
        ("history ", []),
        ("cat /nope/", []),
        ("cat /local/version/", []),
        ("cat /image/*/", []),
    ],
)
def test_a_line_is_completed(line, lines):
    assert completed(line) == lines


def test_paths_are_completed_from_the_working_directory_and_dots_are_kept_as_typed():
    assert completed("cat ver", cwd="/local") == ["cat version "]
    assert completed("cat ../image/fe", cwd="/local") == ["cat ../image/features/"]


def test_kafkas_voice_completes_its_own_commands_and_no_options():
    assert completed("s", voice="kafka") == []
    assert completed("status ", voice="kafka") == []
    assert completed("ls -", voice="kafka") == []
    assert completed("ls /lo", voice="kafka") == ["ls /local/"]


def test_flags_come_with_what_they_do():
    (flag,) = complete(fake_context(), "ls --lo")
    assert (flag.text, flag.meta) == ("--long ", "one line for each name, with its type and what matters about it")


def test_a_directory_of_a_hundred_thousand_names_costs_a_capped_number_of_nodes():
    ctx = fake_context()
    big = FakeDirectory("", {f"topic-{index:06}": "x" for index in range(100_000)})
    ctx.root = big
    names = [candidate.display for candidate in complete(ctx, "cat topic-0500")]
    assert names == [f"topic-0500{index:02}" for index in range(100)]
    big.asked.clear()
    assert len(complete(ctx, "cat /")) == CANDIDATES_MAX
    assert len(big.asked) == CANDIDATES_MAX


def test_a_name_that_is_a_pattern_is_completed_with_escapes_that_reach_it():
    ctx = fake_context({"q*x": "found", "q-x": "other"})
    (candidate,) = complete(ctx, "cat /q*")
    assert candidate.text == "/q\\\\*x "
    assert run_line(ctx, f"cat {candidate.text}") == 0
    assert printed(ctx) == "found\n"
