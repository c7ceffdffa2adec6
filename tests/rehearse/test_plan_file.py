"""Plans in TOML: what they mean, and errors that point at the word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.common.errors import UsageError
from metashell.rehearse.plan_file import PlanError, RehearsalPlan, parse_plan
from metashell.rehearse.steps import CreateTopic, Elect, KillBroker, Move, RestartBroker, StepError

GOOD = '''# Patch day
title = "Patch day"
assume.copy-rate = "100M"

[[step]]
do = "kill-broker 3"
note = "rack work"
[[step]]
at = "2m"
do = ["restart-broker", "3", "--down=60s"]
[[step]]
after = "30s"
do = 'topic create "a b" --partitions 3'
[[step]]
do = """elect unclean
 orders:0,1"""

[assume.min]
insync.replicas = 2
'''


def no_moves(path: str) -> tuple[Move, ...]:
    raise UsageError(f"{path}: No such file or directory", path)


def plan_of(text: str) -> RehearsalPlan:
    return parse_plan(text, "plan.toml", no_moves)


def test_a_plan_has_steps_with_times_notes_and_assumptions() -> None:
    plan = plan_of(GOOD)
    assert [one.step for one in plan.steps] == [
        KillBroker(3, at_ms=0),
        RestartBroker(3, 60_000, at_ms=120_000),
        CreateTopic("a b", 3, at_ms=150_000),
        Elect((("orders", 0), ("orders", 1)), True),
    ]
    assert (plan.title, plan.notes[0], dict(plan.assume)) == ("Patch day", "rack work", {"copy-rate": "100M", "min.insync.replicas": "2"})
    assert plan.steps[2].text == "topic create 'a b' --partitions 3"


# The plan, the line and column of the fault, and the fault.
BAD = [
    ("x = 1", "1:1: unknown key x (known: title, assume, step)"),
    ("titel = 'x'", "1:1: unknown key titel (did you mean title?)"),
    ("", "1:1: no step: write"),
    ("# only\n[assume]", "1:1: no step: write"),
    ("[[step]\ndo = 1", "1:7: not TOML: Expected"),
    ('a = "', "1:6: not TOML: Unterminated string before the end"),
    ("[[step]]\ndo = 'kill-broker 3'\n[[step]]\ndo = 'kill-broker'\ndo = 'x'", "5:9: not TOML: Cannot overwrite a value"),
    ("\x00", "1:1: not TOML"),
    ("step = 'x'", "1:8: step: a step is a table"),
    ("[[step]]", "1:1: step 1: nothing to do"),
    ("[[step]]\ndo = 'kill-broker three'", "2:19: step 1: kill-broker: 'three' is not a whole number"),
    ("[[step]]\n\tdo = 'kil-broker 3'", "2:8: step 1: unknown step 'kil-broker' (did you mean kill-broker?)"),
    ("[[step]]\ndo = 'kill-broker'", "2:7: step 1: kill-broker: ID is missing (kill-broker ID)"),
    ("[[step]]\ndo = 'kill-broker 3 4'", "2:21: step 1: kill-broker: unexpected word '4' (kill-broker ID)"),
    ("[[step]]\ndo = 'kill-broker 3 --down 4s'", "2:21: step 1: kill-broker: unknown option --down"),
    ("[[step]]\ndo = 'restart-broker 3 --down'", "2:24: step 1: restart-broker: option --down needs a value"),
    ("[[step]]\ndo = 'restart-broker 3 --down 4'", "2:31: step 1: restart-broker: '4' is not a time"),
    ("[[step]]\ndo = 'kill-broker 99999999999'", "2:19: step 1: kill-broker: '99999999999' does not fit in 32 bits"),
    ("[[step]]\ndo = 3", "2:6: step 1: do: not text, nor a list of words"),
    ("[[step]]\ndo = 'topic create \"a'", "2:6: step 1: do: No closing quotation"),
    ("[[step]]\ndo = 'topic'", "2:7: step 1: topic: follows with one of create, delete"),
    ("[[step]]\ndo = 'topic remove x'", "2:13: step 1: topic: 'remove' is not one of create, delete"),
    ("[[step]]\ndo = 'elect prefered'", "2:13: step 1: elect: 'prefered' is not preferred or unclean (did you mean preferred?)"),
    ("[[step]]\ndo = 'elect preferred orders-0:x'", "2:23: step 1: elect: 'orders-0:x' is not TOPIC:PARTITION"),
    ("[[step]]\ndo = 'config set topics:a b=c'", "2:18: step 1: config: 'topics:a' is none of topic:NAME"),
    ("[[step]]\ndo = 'config set topic:a secret'", "2:26: step 1: config set: 'secret' is not KEY=VALUE"),
    ("[[step]]\ndo = 'feature upgrade metadata.version 4.9'", "2:40: step 1: feature upgrade: '4.9' is not a metadata.version"),
    ("[[step]]\ndo = 'reassign moves.json'", "2:16: step 1: reassign: moves.json: No such file or directory"),
    ("[[step]]\ndo = ['kill-broker', 'x']", "2:6: step 1: kill-broker: 'x' is not a whole number"),
    ("step = [{do = 'kill-broker x'}]", "1:8: step 1: kill-broker: 'x' is not a whole number"),
    ("[[step]]\nat = 5\ndo = 'kill-broker 3'", '2:6: step 1: at: not text: write at = "90s"'),
    ("[[step]]\nat = '5'\ndo = 'kill-broker 3'", "2:6: step 1: at: '5' is not a time such as 90s"),
    ("[[step]]\nat = '5s'\nafter = '5s'\ndo = 'kill-broker 3'", "3:1: step 1: at and after exclude each other"),
    (
        "[[step]]\nat = '5m'\ndo = 'kill-broker 3'\n[[step]]\ndo = 'kill-broker 4'\n[[step]]\nat = '4m'\ndo = 'kill-broker 5'",
        "7:6: step 3: at is before an earlier step, which begins at 5m",
    ),
    (
        "[[step]]\ndo = 'kill-broker 3'\n[[step]]\ndo = 'kill-broker 4'\n[[step]]\nafter = '1s'\ndo = 'kill-broker 5'",
        "6:9: step 3: after: the previous step has no time",
    ),
    ("[[step]]\n'do' = 'kill-broker 3'\n\"at\" = '5'", "3:8: step 1: at: '5' is not a time such as 90s"),
    ("[assume]\n'copy-rate' = 1.5\n[[step]]\ndo = 'kill-broker 3'", "2:15: assume: copy-rate is neither text nor a whole number"),
    ("[[step]]\ndo = 'kill-broker 3'\nwhen = '5s'", "3:1: step 1: unknown key when (known: do, at, after, note)"),
    ("assume = 3\n[[step]]\ndo = 'kill-broker 3'", "1:10: assume: not a table"),
    ("[assume]\ncopy-rate = 1.5\n[[step]]\ndo = 'kill-broker 3'", "2:13: assume: copy-rate is neither text nor a whole number"),
]


@pytest.mark.parametrize(("text", "fault"), BAD)
def test_a_fault_is_reported_with_line_and_column(text: str, fault: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_of(text)
    assert str(caught.value).startswith(f"plan.toml:{fault}")
    assert "\n" not in str(caught.value)


def test_the_caret_stands_below_the_word() -> None:
    with pytest.raises(PlanError) as caught:
        plan_of("[[step]]\n\tdo = 'topic create orders --partition 3'")
    assert caught.value.excerpt == ("    do = 'topic create orders --partition 3'", "                              ^")


def test_a_long_line_is_cut_around_the_caret() -> None:
    with pytest.raises(PlanError) as caught:
        plan_of(f"[[step]]\ndo = 'config set topic:{'a' * 500} b'")
    line, caret = caught.value.excerpt
    assert len(line) <= 110 and line[len(caret) - 1] == "b"


def test_an_error_about_a_field_points_at_the_word_that_it_came_from() -> None:
    plan = plan_of("[[step]]\ndo = 'kill-broker 3'\n[[step]]\ndo = 'restart-broker 3 --down 4s'")
    found = plan.located(StepError("no such broker", 1, "broker"))
    assert str(found) == "plan.toml:4:22: step 2: no such broker"
    assert str(plan.located(StepError("too short", 1, "down_ms"))).startswith("plan.toml:4:31: ")
    assert str(plan.located(StepError("refused", 1))).startswith("plan.toml:4:7: ")


def test_an_assumption_is_pointed_at_however_its_name_is_written() -> None:
    plan = plan_of(GOOD)
    assert str(plan.assumption_error("min.insync.replicas", "no")).startswith("plan.toml:19:19: no")
    assert str(plan.assumption_error("copy-rate", "no")).startswith("plan.toml:3:20: no")


def test_the_plan_of_the_page_is_one() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "rehearse.md").read_text(encoding="utf-8")
    found = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert found is not None
    plan = plan_of(found[1])
    assert [one.text for one in plan.steps] == ["roll-brokers --max-offline 1", "lose-rack rack-a", "restart-broker 4"]
    assert [one.step.at_ms for one in plan.steps] == [0, 1_800_000, 2_400_000]


@settings(max_examples=max(300, settings().max_examples))
@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.text(alphabet="[]{}=.,'\"\\#\n\t 5ax\u00e9\u0000\U0001f600", max_size=6))
def test_a_spoilt_plan_is_a_plan_or_a_fault_in_one_line(at: int, cut: int, put: str) -> None:
    text = GOOD[:at] + put + GOOD[at + cut :]
    try:
        plan = plan_of(text)
    except PlanError as error:
        assert "\n" not in str(error) and "\n" not in "".join(error.excerpt)
        line, column = map(int, str(error).split(":")[1:3])
        assert 1 <= line <= text.count("\n") + 1 and column >= 1
    else:
        assert plan.steps
        for number in range(len(plan.steps)):
            assert str(plan.located(StepError("no", number, "broker"))).startswith("plan.toml:")
