"""What is generated and committed is what its generator makes today; what the build makes can be made, and is complete."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tools import gen_completions, gen_dictionary, gen_man, gen_slow
from tools.generated import ROOT
from tools.tool_list import TOOLS

PAGES = gen_man.pages()


def test_every_tool_has_a_man_page_that_names_it() -> None:
    assert list(PAGES) == [f"man/{name}.1" for name in TOOLS]
    for name, page in zip(TOOLS, PAGES.values(), strict=True):
        assert f".TH {name.upper()} 1" in page


def test_every_command_has_its_completions_in_each_shell() -> None:
    made = gen_completions.files()
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert set(made) == {
        "completions/zsh/_metashell",
        *(f"completions/bash/{name}" for name in scripts),
        *(f"completions/fish/{name}.fish" for name in scripts),
    }
    for name in ("bash/metashell", "zsh/_metashell", "fish/metashell.fish"):
        text = made[f"completions/{name}"]
        assert not re.search(r"@[A-Z]+@", text), "a part of the template was left"
        assert [tool for tool in TOOLS if tool not in text] == []


def test_nothing_is_committed_that_the_build_makes() -> None:
    made = {*PAGES, *gen_completions.files()}
    tracked = subprocess.run(
        ["git", "ls-files", "man", "completions"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    assert not made & set(tracked)


def test_the_data_dictionary_is_fresh() -> None:
    assert gen_dictionary.out_of_date() == [], "python -m tools.gen_dictionary"


def test_the_list_of_slow_tests_names_tests_that_are_there() -> None:
    names = gen_slow.listed()
    assert names and [name for name in names if not gen_slow.is_for_list(name)] == [], "python -m tools.gen_slow"


SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"]
REQUESTS = {"TH", "SH", "SS", "TP", "PP", "BR", "nf", "fi", "nh", "ad"}
LINTERS = (("mandoc", "-T", "lint"), ("groff", "-ww", "-man", "-Tutf8", "-z"))


@pytest.mark.parametrize("name", PAGES)
def test_a_man_page_has_the_sections_that_people_look_for_in_the_usual_order(name: str) -> None:
    headings = [line[4:] for line in PAGES[name].split("\n") if line.startswith(".SH ")]
    assert [heading for heading in headings if heading in SECTIONS] == SECTIONS
    assert len(headings) == len(set(headings))


@pytest.mark.parametrize("name", PAGES)
def test_a_man_page_has_nothing_that_linters_complain_about(name: str, tmp_path: Path) -> None:
    page = PAGES[name]
    bodies = [section.split("\n", 1)[1] for section in page.split("\n.SH ")[1:]]
    assert all(bodies), "a section without text"
    for line in page.removesuffix("\n").split("\n"):
        assert line == line.rstrip() != "", line
        assert len(line) <= 80 or line.startswith(".") or " " not in line, line
        assert "\t" not in line, line
        assert line.isascii(), line
        assert not line.startswith("'"), line
        if line.startswith("."):
            assert line[1:].split(" ")[0] in REQUESTS or line.startswith('.\\"'), line
    assert not re.search(r"(?<!\\)-", re.sub(r"(?m)^\..*$", "", page)), "a hyphen where a minus is meant"
    written = tmp_path / Path(name).name
    written.write_text(page, encoding="utf-8")
    for linter in LINTERS:
        if shutil.which(linter[0]):
            result = subprocess.run([*linter, written], capture_output=True, text=True, check=False)
            assert (result.returncode, result.stdout + result.stderr) == (0, "")
