"""What is generated and committed is what its generator makes today."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tools import gen_completions, gen_dictionary, gen_man, gen_slow
from tools.generated import ROOT, stale

PAGES = gen_man.pages()


def test_man_pages_are_fresh() -> None:
    assert stale(PAGES, gen_man.FOLDER) == []


def test_completions_are_fresh() -> None:
    assert stale(gen_completions.files(), gen_completions.FOLDER) == []


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
def test_a_man_page_has_nothing_that_linters_complain_about(name: str) -> None:
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
    for linter in LINTERS:
        if shutil.which(linter[0]):
            result = subprocess.run([*linter, ROOT / name], capture_output=True, text=True, check=False)
            assert (result.returncode, result.stdout + result.stderr) == (0, "")
