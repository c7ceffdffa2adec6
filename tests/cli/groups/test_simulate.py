"""metashell simulate rebalance: its forms, its statuses, its page, and what a wrong command line gets."""

from __future__ import annotations

import io
import json
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from metashell.cli.groups.simulate import _how_far, _print, main
from metashell.common.forms import Display, text_width
from metashell.common.terminal import show_progress
from metashell.groups.simulation import ASSUMPTIONS, SCENARIO_SUMMARIES, STRATEGIES, STRATEGY_SUMMARIES, Plan, Span, apply_assumptions
from metashell.groups.simulation.report import COLUMNS, HEAD, _seen
from metashell.groups.simulation.scenarios import SCENARIOS
from metashell.groups.simulation.scenarios import simulate as played
from tests.running import Outcome, run_main
from tests.simulation.bugs import patched
from tests.simulation.groups.planted import partitions_go_to_their_new_owner_at_once

SMALL = ("--members", "3", "--partitions", "8", "--scenario", "join")


def simulate(*words: str, cwd: Path = Path()) -> Outcome:
    return run_main(main, ["rebalance", *words], cwd=cwd)


def test_text_compares_the_strategies() -> None:
    done = simulate(*SMALL)
    assert done.status == 0
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "join: one member joins; 3 members, 8 partitions of 4 topics; seed 0"
    assert [line.split()[0] for line in lines[1:]] == ["STRATEGY", "eager", "cooperative", "consumer"]


@pytest.mark.parametrize("form", ["csv", "table"])
def test_rows_have_every_figure(form: str) -> None:
    lines = simulate(*SMALL, "-o", form).stdout.decode().splitlines()
    assert len([line for line in lines if line.strip("-+| ")]) == 4
    if form == "csv":
        assert lines[0] == "strategy," + ",".join(COLUMNS)


def test_json_is_one_object_and_jsonl_one_for_each_strategy() -> None:
    whole = json.loads(simulate(*SMALL, "-o", "json").stdout)
    assert (whole["scenario"], whole["members"], whole["partitions"], whole["topics"]) == ("join", 3, 8, 4)
    runs = [json.loads(line) for line in simulate(*SMALL, "-o", "jsonl").stdout.splitlines()]
    assert runs == whole["runs"]
    for one in runs:
        assert [step["text"] for step in one["steps"]] == ["a member joins"]
        assert len(one["assignments"]) == one["rounds"] > 0
        assert sum(one["owned"].values()) == 8


def test_a_seed_gives_the_same_answer_again() -> None:
    assert simulate(*SMALL, "--seed", "7", "-o", "json") == simulate(*SMALL, "--seed", "7", "-o", "json")


class _Tags(HTMLParser):
    """What a page is made of; it fails where tags do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_has_pictures_and_loads_nothing(tmp_path: Path) -> None:
    done = simulate(*SMALL, "--html", "page.html", cwd=tmp_path)
    assert done.status == 0
    text = (tmp_path / "page.html").read_text()
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.seen["svg"] > 6
    assert "default-src 'none'" in text
    assert not {"script", "img", "link", "a"} & tags.seen.keys()
    for name in ("eager", "cooperative", "consumer"):
        assert f"<h2>{name}: {STRATEGY_SUMMARIES[name].split('(')[0].strip()}"[:30] in text


def test_a_page_of_very_many_rebalances_shows_all_of_the_time() -> None:
    spans = [
        Span(state, 10 * number, 10 * number + 10) for number in range(3_000) for state in (("idle",) if number == 2_999 else ("working",))
    ]
    seen = _seen([span for span in spans if span.from_ms % 50], 30_000)
    assert len(seen) <= 150
    assert (seen[0].state, seen[0].from_ms) == ("working", 0)
    assert (seen[-1].state, seen[-1].to_ms) == ("idle", 30_000)


def test_a_broken_rule_is_reported_with_status_1() -> None:
    with patched(partitions_go_to_their_new_owner_at_once()):
        done = simulate(*SMALL, "--strategy", "cooperative")
    assert done.status == 1
    assert "rule owners: a partition has at most one owner at any time" in done.stderr
    assert done.stdout.decode().splitlines()[2].startswith("cooperative")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--strategy", "lazy"], "option --strategy: 'lazy' is not one of"),
        (["--scenario", "bounced"], "'bounced' is not one of"),
        (["--members", "1"], "option --members: 1 is not from 2 to 5000"),
        (["--partitions", "0"], "option --partitions: 0 is not from 1 to 100000"),
        (["--members", "many"], "'many' is not a whole number"),
        (["--assume", "away"], "option --assume: 'away' is not NAME=VALUE"),
        (["--html", "-"], "option --html: '-' is no file"),
        (["--assume", "away=5"], "option --assume: '5' is not a time such as"),
        (["--assume", "session-timeout=0"], "option --assume: '0': session-timeout cannot be nothing"),
        (["--assume", "luck=1"], "option --assume: 'luck' is not one of"),
        (["--strategy", "eager", "--scenario", "to-classic"], "option --strategy: the scenario to-classic begins with consumer"),
    ],
)
def test_a_wrong_command_line_is_one_line(words: list[str], says: str) -> None:
    done = simulate(*words)
    assert done.status == 2
    assert says in done.stderr
    assert done.stdout == b""


def test_every_assumption_is_a_field_of_the_plan_and_its_default_is_what_the_help_says() -> None:
    plan = Plan(strategy=STRATEGIES["eager"])
    for name, text in ASSUMPTIONS.items():
        assert apply_assumptions(plan, {name: text.partition(":")[0]}) == plan


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
def test_a_table_is_not_wider_than_its_terminal_and_what_has_no_room_is_named(width: int) -> None:
    plan = Plan(strategy=STRATEGIES["eager"], members=2, partitions=4)
    outcome = played(plan, SCENARIOS["join"])
    out, notes = io.StringIO(), list[str]()
    _print(Display(out, is_terminal=True, width=width, note=notes.append), "text", plan, SCENARIOS["join"], [outcome])
    _, head, row = out.getvalue().splitlines()
    assert max(text_width(head), text_width(row)) <= width
    missing = [name for name in HEAD if name not in head]
    assert bool(missing) == bool(notes) == (width < text_width("  ".join(HEAD)))
    assert all(", ".join(missing) in note for note in notes)
    assert row.startswith("eager")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_takes_long_says_on_a_terminal_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(terminal: io.StringIO, every_s: float) -> str:
        monkeypatch.setattr(sys, "stderr", terminal)
        with show_progress(lambda seconds: _how_far(SCENARIOS["bounce"], 1, 3, seconds), every_s):
            ends_at = time.monotonic() + 120
            while every_s < 1 and terminal.isatty() and not terminal.getvalue() and time.monotonic() < ends_at:
                time.sleep(0.01)
        return terminal.getvalue()

    text = shown(_Terminal(), 0.01)
    assert text.startswith("\r\x1b[Kbounce: 1 of 3 strategies played, 0 s")
    assert text.endswith("\r\x1b[K")
    assert shown(_Terminal(), 60) == shown(io.StringIO(), 0.01) == ""


@pytest.mark.parametrize("summary", [*SCENARIO_SUMMARIES.values(), *STRATEGY_SUMMARIES.values()])
def test_a_summary_stands_alone(summary: str) -> None:
    assert not summary.startswith(("the same", "and ", "its "))


def test_every_scenario_has_a_line_of_help() -> None:
    text = simulate("--help").stdout.decode()
    for name in (*SCENARIO_SUMMARIES, *STRATEGY_SUMMARIES, *ASSUMPTIONS):
        assert f"  {name} " in text
