"""The rulebook as a whole: each check is told once, looks only where its facts are, and a verdict says which did not look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import metashell.metadata.checks.rules
from metashell.metadata.checks import BAD, Check, Facts, Finding, Found, Health, Verdict, all_checks, judge
from metashell.metadata.checks.facts import _MISSING as NEEDS
from metashell.metadata.checks.model import UNUSUAL
from metashell.metadata.image import EMPTY_IMAGE
from tools import gen_checks
from tools.generated import ROOT, stale
from tools.tool_list import TOOLS

CHECKS = all_checks()


def test_each_check_is_described_once() -> None:
    assert len({one.id for one in CHECKS}) == len({one.words for one in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda one: one.id)
def test_a_check_names_facts_and_causes_that_there_are(check: Check) -> None:
    assert check.needs and set(check.needs) <= set(NEEDS)
    assert set(check.follows) <= {one.id for one in CHECKS} - {check.id}
    assert check.severity in (BAD, UNUSUAL)
    assert "\n" not in check.words and not check.words.endswith(".")


def test_no_check_follows_from_itself_by_others() -> None:
    follows = {one.id: set(one.follows) for one in CHECKS}
    for id in follows:
        seen: set[str] = set()
        wanted = set(follows[id])
        while wanted:
            cause = wanted.pop()
            assert cause != id, f"{id} is a cause of itself"
            if cause not in seen:
                seen.add(cause)
                wanted |= follows[cause]


def test_without_facts_no_check_runs_and_each_says_what_it_lacks() -> None:
    verdict = judge(Facts())
    assert (verdict.findings, verdict.ran, len(verdict.not_run)) == ((), 0, len(CHECKS))
    assert all(one.because for one in verdict.not_run)


def test_a_check_that_was_not_asked_for_is_neither_run_nor_missing() -> None:
    verdict = judge(Facts(health=Health(EMPTY_IMAGE)), {"empty"})
    assert ([finding.check.id for finding in verdict.findings], verdict.ran, verdict.not_run) == (["empty"], 1, ())


def check_of(id: str, severity: str, *follows: str) -> Finding:
    check = Check(id=id, severity=severity, words=id, needs=("image",), find=lambda facts: (), subject="x", follows=follows)
    return Finding(check, (Found("one"),))


def test_causes_come_first_each_with_all_that_follows() -> None:
    found = (
        check_of("alone", BAD),
        check_of("far", BAD, "near"),
        check_of("near", BAD, "cause"),
        check_of("cause", BAD),
        check_of("odd", UNUSUAL),
    )
    told = [(root.check.id, [one.check.id for one in below]) for root, below in Verdict(found, 5, ()).causes()]
    assert told == [("cause", ["near", "far"]), ("alone", []), ("odd", [])]


def test_the_page_of_checks_is_fresh() -> None:
    assert stale(gen_checks.files(), "docs/checks.md") == [] and (ROOT / "docs/checks.md").read_text() == gen_checks.page()


RULES = sorted(Path(metashell.metadata.checks.rules.__file__).parent.glob("*.py"))
WORDS = re.compile(r"metashell ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?((?: --[a-z-]+(?: [A-Z]+)?)*)")


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_a_step_names_commands_and_options_that_there_are(path: Path) -> None:
    text = re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
    for noun, verb, options in WORDS.findall(text):
        words = f"metashell {noun} {verb}{options}"
        if f"metashell-{noun}" not in TOOLS:
            continue
        command = TOOLS[f"metashell-{noun}"]
        verbs = {one.name: one for one in command.commands}
        if verbs:
            assert verb in verbs, words
            command = verbs[verb]
        known = {name for option in command.options for name in option.names}
        assert set(re.findall(r"--[a-z-]+", options)) <= known, words
