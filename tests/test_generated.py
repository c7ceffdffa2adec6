"""What is generated and committed is what its generator makes today."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tools import gen_completions, gen_man
from tools.generated import ROOT, stale


def test_man_pages_are_fresh() -> None:
    assert stale(gen_man.pages(), gen_man.FOLDER) == []


def test_completions_are_fresh() -> None:
    assert stale(gen_completions.files(), gen_completions.FOLDER) == []


def test_every_man_page_has_the_sections_that_people_look_for() -> None:
    for name, page in gen_man.pages().items():
        headings = [line[4:] for line in page.split("\n") if line.startswith(".SH ")]
        assert headings[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"], name
        assert "SEE ALSO" in headings, name


def complete(*words: str) -> set[str]:
    """What bash offers when Tab is pressed after the last of the words."""
    line = " ".join(f"'{word}'" for word in words)
    script = f"""
        compopt() {{ :; }}
        source '{ROOT}/completions/bash/metashell'
        COMP_WORDS=({line}) COMP_CWORD={len(words) - 1}
        _metashell '{words[0]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(result.stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("kafka-shell", "--ou"), {"--output"}),
        (("kafka-shell", "-o", "js"), {"json", "jsonl"}),
        (("kafka-shell", "--output", "=", "js"), {"json", "jsonl"}),
        (("kafka-shell", "--demo", "l"), {"ls"}),
        (("kafka-shell", "-s", "l", "ls", "--l"), {"--long"}),
        (("kafka-shell", "--demo", "find", "-type", "to"), {"topic", "token"}),
        (("kafka-metadata-shell", "-s", "x", ""), {"cat", "find", "ls", "tree"}),
        (("metashell", "du"), {"dump-log"}),
        (("metashell", "shell", "--dem"), {"--demo"}),
        (("dump-log", "LICEN"), {"LICENSE"}),
    ],
)
def test_bash_offers_what_may_come_next(words: tuple[str, ...], offered: set[str]) -> None:
    assert shutil.which("bash"), "make itself runs our scripts with bash"
    assert complete(*words) == offered
