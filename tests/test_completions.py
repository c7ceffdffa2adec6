"""Completions in real shells: in bash, and in zsh and fish where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from tools.gen_completions import files
from tools.generated import ROOT

SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
# What is typed, and all that may come of its last word.
CASES = [
    ("kafka-shell --outp", {"--output"}),
    ("kafka-shell -o js", {"json", "jsonl"}),
    ("kafka-shell --demo tre", {"tree"}),
    ("kafka-shell -s l ls --lon", {"--long"}),
    ("kafka-shell --demo find -type to", {"topic", "token"}),
    ("kafka-shell --demo ls /image/c", {"/image/clientQuotas", "/image/cluster", "/image/configs"}),
    ("kafka-shell LICEN", {"LICENSE"}),
    ("kafka-metadata-shell -s x tr", {"tree"}),
    ("dump-log LICEN", {"LICENSE"}),
    ("dump-log --type GROUP_METADATA_", set()),
    ("dump-log --type REGISTER_B", {"REGISTER_BROKER_RECORD"}),
    ("kafka-dump-log --fil", {"--files"}),
    ("kafka-storage form", {"format"}),
    ("kafka-storage format --standa", {"--standalone"}),
    ("spark-reports leader", {"leadership_churn"}),
    ("spark-reports leadership_churn LICEN", {"LICENSE"}),
    ("metashell du", {"dump-log"}),
    ("metashell shell --dem", {"--demo"}),
    ("metashell report under", {"under_replicated"}),
    ("metashell report all LICEN", {"LICENSE"}),
    ("metashell report all --on-error s", {"skip"}),
    ("metashell storage form", {"format"}),
    ("metashell storage format --standa", {"--standalone"}),
    ("metashell storage random-uuid LICEN", set()),
    ("metashell export x --tables partition_c", {"partition_change"}),
    ("metashell export x --tables topic,partition_c", {"topic,partition_change"}),
    ("metashell sql LICEN", set()),
    ("metashell sql x LICEN", {"LICENSE"}),
    ("metashell completion f", {"fish"}),
    ("metashell kafka kafka-sto", {"kafka-storage"}),
    ("metashell kafka kafka-storage form", {"format"}),
    ("metashell kafka kafka-dump-log --fil", {"--files"}),
    ("metashell kafka kafka-shell --outp", {"--output"}),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all completions, as the build makes it."""
    top = tmp_path_factory.mktemp("made")
    for name, text in files().items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return top / "completions"


def in_bash(line: str, path: str, scripts: Path) -> set[str]:
    words = " ".join(f"'{word}'" for word in line.split(" "))
    script = f"""
        compopt() {{ :; }}
        source '{scripts}/bash/metashell'
        COMP_WORDS=({words}) COMP_CWORD={line.count(" ")}
        _metashell '{line.split(" ")[0]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=ROOT, env={"PATH": path})
    assert result.stderr == ""
    return set(result.stdout.split())


def in_fish(line: str, path: str, scripts: Path) -> set[str]:
    script = f"source {scripts}/fish/metashell.fish; complete -C '{line}'"
    environment = {"PATH": path, "HOME": str(ROOT / "tests")}
    result = subprocess.run(["fish", "-N", "-c", script], capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    assert result.stderr == ""
    return {row.split("\t")[0] for row in result.stdout.split("\n")} - {""}


def in_zsh(line: str, path: str, scripts: Path) -> set[str]:
    """What zsh lists; of a list and of a path it lists the last part alone."""
    shell = pexpect.spawn(
        "zsh", ["-f", "-i"], encoding="utf-8", dimensions=(50, 300), cwd=str(ROOT), env={"PATH": path, "TERM": "dumb"}, use_poll=True
    )
    shell.delaybeforesend = None
    # Matches are counted as the completion system is given them, and shown by a key of our own.
    shell.sendline(
        f"PS1='>'; fpath=({scripts}/zsh $fpath); autoload -Uz compinit; compinit -u -D; compadd() {{ local -a hits; "
        'builtin compadd -O hits "$@"; seen+=($hits); builtin compadd "$@"; }; '
        "look() { seen=(); local before=$BUFFER; zle complete-word; zle -I; print -rl -- BEGIN $seen -END-; BUFFER=; }; "
        "zle -N look; zle -C complete-word complete-word _main_complete; bindkey '^G' look; print RE''ADY"
    )
    shell.expect("READY\r")
    shell.send(f"{line}\x07")
    shell.expect("BEGIN\r\n(.*?)-END-\r")
    hits = set(shell.match[1].split("\r\n")) - {""}
    shell.close(force=True)
    before = re.match(r"(.*[,/])?", line.split(" ")[-1])
    return {f"{before[0] if before else ''}{hit}" for hit in hits}


RUNNERS: dict[str, Callable[[str, str, Path], set[str]]] = {"bash": in_bash, "fish": in_fish, "zsh": in_zsh}


@pytest.mark.parametrize("shell", [name for name in RUNNERS if shutil.which(name)])
@pytest.mark.parametrize(("line", "offered"), CASES)
def test_a_shell_offers_what_may_come_next(shell: str, line: str, offered: set[str], scripts: Path) -> None:
    path = f"{ROOT}/.venv/bin:{os.environ['PATH']}"
    assert RUNNERS[shell](line, path, scripts) == offered


def test_bash_completes_commands_and_paths_behind_a_path_to_open(scripts: Path) -> None:
    path = f"{ROOT}/.venv/bin:{os.environ['PATH']}"
    assert in_bash("kafka-shell metashell/demo/data tre", path, scripts) == {"tree"}
    assert in_bash("kafka-shell metashell/demo/data ls /image/sc", path, scripts) == {"/image/scram"}


def test_bash_takes_an_equals_sign_for_a_word(scripts: Path) -> None:
    assert in_bash("kafka-shell --output = js", os.environ["PATH"], scripts) == {"json", "jsonl"}


@pytest.mark.parametrize(("folder", "suffix"), [("bash", ""), ("fish", ".fish")])
def test_shells_find_the_completions_by_the_name_of_each_command(folder: str, suffix: str, scripts: Path) -> None:
    assert {path.name for path in (scripts / folder).iterdir()} == {f"{name}{suffix}" for name in SCRIPTS}


def test_bash_loads_the_completions_of_one_command_from_the_file_of_its_name(tmp_path: Path, scripts: Path) -> None:
    script = f"source {scripts}/bash/dump-log; complete -p dump-log"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert result.stdout == "complete -F _metashell dump-log\n"
