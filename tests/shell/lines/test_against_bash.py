"""Quotes, pipes, files and steps as bash has them: the same lines over the same names, there files in a folder, here leaves of a tree."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from metashell.disk.file_system import open_output
from metashell.shell import run_line
from tests.running import run_main
from tests.shell.fake_nodes import fake_context

NAMES = (
    "plain",
    "a b",
    "it's",
    'q"q',
    "semi;colon",
    "a&&b",
    "a|b",
    "a>b",
    "#hash",
    "a#b",
    "(round)",
    "<x>",
    "back\\slash",
    "two  blanks",
    "!",
)
VALUES = {name: f"value {number}" for number, name in enumerate(NAMES)}
PIPES = (
    "sort -r",
    "wc -l | tr -d ' '",
    "sed 's/value/a;b/; s/1/&&/'",
    'while read x y; do echo "<$x;$y>"; done',
    "{ cat; echo 'more && more'; }",
    "grep -c 'value [0-9]' || echo none",
    'echo "$(cat; echo \\")\\")" # a; b',
    "{ cat > piped; cat piped; }",
    "case $(wc -l) in *1) echo one;; *) echo many;; esac",
    "exit 3",
)


def escaped(name: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else f"\\{char}" for char in name)


def spelt(name: str) -> st.SearchStrategy[str]:
    """The ways of writing a name on which both shells agree: Kafka's keeps quotes within a word."""
    ways = [escaped(name)]
    if not set(name) & set("'\\"):
        ways.append(f"'{name}'")
    if not set(name) & set('"\\!$`'):
        ways.append(f'"{name}"')
    return st.sampled_from(ways)


names = st.sampled_from([*VALUES, "missing"]).flatmap(spelt)
files = st.sampled_from(("one", "two", "'in quotes; so'", "a\\ b.txt"))
answers = st.one_of(
    st.just(""),
    st.builds("{}{}{}{}".format, st.sampled_from((" ", "")), st.sampled_from((">", ">>")), st.sampled_from((" ", "")), files),
    st.builds(" | {}".format, st.sampled_from(PIPES)),
)
steps = st.builds("cat {}{}".format, st.lists(names, min_size=1, max_size=3).map(" ".join), answers)
before = st.lists(st.tuples(steps, st.sampled_from(("; ", ";", " && ", "&&", " ;  "))), max_size=3)
lines = st.builds(
    lambda some, last, end: "".join(map("".join, some)) + last + end,
    before,
    steps,
    st.sampled_from(("", " ", " # a comment; cat plain", ";")),
)


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in VALUES}


@given(st.lists(lines, min_size=8, max_size=8))
def test_a_line_does_what_bash_does(typed: list[str]) -> None:
    with tempfile.TemporaryDirectory() as theirs, tempfile.TemporaryDirectory() as ours:
        for name, value in VALUES.items():
            Path(theirs, name).write_text(f"{value}\n")
        script = 'for line; do eval "$line"; echo "-- $line"; done'
        bash = subprocess.run(["bash", "-c", script, "bash", *typed], cwd=theirs, capture_output=True, check=False)

        def ours_of(argv: list[str]) -> int:
            ctx = fake_context(
                dict(VALUES), out=sys.stdout, open_output=lambda path, append, others: open_output(path, append=append, sources=others)
            )
            for line in argv:
                run_line(ctx, line)
                print(f"-- {line}", flush=True)
            return 0

        done = run_main(ours_of, typed, cwd=Path(ours))
        assert done.stdout.decode() == bash.stdout.decode()
        assert files_in(Path(ours)) == files_in(Path(theirs))
