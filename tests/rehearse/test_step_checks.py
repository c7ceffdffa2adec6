"""Plans that contradict themselves."""

from __future__ import annotations

import shlex

import pytest

from metashell.rehearse.step_checks import check_contradictions
from metashell.rehearse.step_grammar import parse_step
from metashell.rehearse.steps import Move, Step, StepError
from tests.rehearse.small_images import partition, small_image

IMAGE = small_image({1: "a", 2: "a", 3: "b"}, {"orders": [partition(1, 2)]}, voters=[1, 2, 3])


def moves(path: str) -> tuple[Move, ...]:
    return (Move("orders", 0, (1, 3)),)


def steps_of(text: str) -> list[Step]:
    return [parse_step(shlex.split(part), moves).step for part in text.split(" then ")]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kill-broker 3 then kill-broker 3", "broker 3 is dead since step 1; restart-broker 3 starts it"),
        ("lose-rack a then kill-broker 2", "broker 2 is dead since step 1; restart-broker 2 starts it"),
        ("kill-broker 1 then kill-broker 2 then lose-rack a", "every broker of rack a is dead since step 2"),
        ("lose-rack a then lose-rack a", "every broker of rack a is dead since step 1"),
        ("kill-broker 3 then roll-brokers 1,3", "broker 3 is dead since step 1; restart-broker 3 starts it"),
        ("unregister 3 then kill-broker 3", "broker 3 is unregistered since step 1"),
        ("unregister 3 then restart-broker 3", "broker 3 is unregistered since step 1"),
        ("unregister 3 then unregister 3", "broker 3 is unregistered since step 1"),
        ("unregister 3 then reassign moves.json", "broker 3 is unregistered since step 1"),
        ("add-broker 7 then add-broker 7", "broker 7 was added by step 1"),
        ("topic create x then topic create x", "topic x was created by step 1"),
        ("topic delete orders then topic delete orders", "topic orders is deleted since step 1"),
        ("topic delete orders then reassign moves.json", "topic orders is deleted since step 1"),
        ("topic delete orders then elect preferred orders:0", "topic orders is deleted since step 1"),
        ("topic delete orders then config set topic:orders a=b", "topic orders is deleted since step 1"),
        ("lose-controller 1 then lose-controller 1", "controller 1 is dead since step 1"),
    ],
)
def test_a_step_that_an_earlier_one_makes_senseless_is_refused_by_its_number(text: str, fault: str) -> None:
    steps = steps_of(text)
    with pytest.raises(StepError, match=f"^{fault}$") as caught:
        check_contradictions(IMAGE, steps)
    assert caught.value.index == len(steps) - 1 and caught.value.field_name


@pytest.mark.parametrize(
    "text",
    [
        "kill-broker 3 then restart-broker 3 then kill-broker 3",
        "kill-broker 1 then lose-rack a",
        "topic delete orders then topic create orders then topic delete orders",
        "unregister 3 then add-broker 3 --rack b then lose-rack b",
        "lose-controller 1 --back 5s then lose-controller 1",
        "lose-controller then lose-controller",
        "kill-broker 3 then unregister 3",
    ],
)
def test_what_makes_sense_is_taken(text: str) -> None:
    check_contradictions(IMAGE, steps_of(text))
