"""Steps as words of a command line."""

from __future__ import annotations

import shlex

import pytest

from metashell.cli.cluster.rehearse import REHEARSE
from metashell.cli.cluster.rehearse import STEPS as NAMES
from metashell.common.errors import UsageError
from metashell.rehearse.step_grammar import FIRST_WORDS, FORMS, WordError, parse_step, parse_steps, split_steps, with_all_partitions
from metashell.rehearse.steps import (
    AddBroker,
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    FeatureUpgrade,
    KillBroker,
    LoseController,
    LoseDirectory,
    LoseRack,
    Move,
    Reassign,
    RemoveController,
    RestartBroker,
    RollBrokers,
    Step,
    Unregister,
    UnregisterController,
    step_text,
)
from tests.rehearse.small_images import partition, small_image

MOVES = (Move("orders", 0, (1, 2)),)
STEPS: list[tuple[str, Step]] = [
    ("kill-broker 3", KillBroker(3)),
    ("restart-broker 3", RestartBroker(3)),
    ("restart-broker 3 --down 1m30s", RestartBroker(3, 90_000)),
    ("restart-broker 3 --empty all", RestartBroker(3, empty=())),
    ("restart-broker 3 --empty AgMCAwIDAgMCAwIDAgMCAw", RestartBroker(3, empty=("AgMCAwIDAgMCAwIDAgMCAw",))),
    ("lose-directory 3", LoseDirectory(3)),
    ("lose-directory 3 AgMCAwIDAgMCAwIDAgMCAw", LoseDirectory(3, "AgMCAwIDAgMCAwIDAgMCAw")),
    ("roll-brokers --max-offline 1", RollBrokers()),
    ("roll-brokers 3,1 --max-offline 2 --down 5s", RollBrokers((3, 1), 2, 5000)),
    ("lose-rack 'rack 1'", LoseRack("rack 1")),
    ("unregister 3", Unregister(3)),
    ("unregister-controller 3000", UnregisterController(3000)),
    ("remove-controller 3000", RemoveController(3000)),
    ("add-broker 7", AddBroker(7)),
    ("add-broker 7 --rack a", AddBroker(7, "a")),
    ("elect preferred", Elect()),
    ("elect unclean orders:0 orders:2 a:1", Elect((("orders", 0), ("orders", 2), ("a", 1)), True)),
    ("feature upgrade group.version 1", FeatureUpgrade("group.version", 1)),
    ("feature downgrade metadata.version 25", FeatureUpgrade("metadata.version", 25, True)),
    ("lose-controller", LoseController()),
    ("lose-controller 2 --back 10s", LoseController(2, 10_000)),
    ("topic create orders", CreateTopic("orders")),
    ("topic delete orders", DeleteTopic("orders")),
    ("config set topic:orders retention.ms=5", ConfigSet(2, "orders", (("retention.ms", "5"),))),
    ("config unset broker:default a.b c", ConfigSet(4, "", (("a.b", None), ("c", None)))),
]


def read_moves(path: str) -> tuple[Move, ...]:
    assert path == "moves.json"
    return MOVES


def step_of(text: str) -> Step:
    return parse_step(shlex.split(text), read_moves).step


@pytest.mark.parametrize(("text", "step"), STEPS)
def test_words_make_a_step_and_a_step_makes_the_words(text: str, step: Step) -> None:
    assert step_of(text) == step
    assert step_text(step) == text


def test_what_has_another_spelling() -> None:
    assert step_of("elect unclean orders:0,2") == Elect((("orders", 0), ("orders", 2)), True)
    assert step_of("feature upgrade metadata.version=4.3-IV0") == FeatureUpgrade("metadata.version", 30)
    assert step_of("feature downgrade metadata.version 4.0-IV3 --unsafe") == FeatureUpgrade("metadata.version", 25, True, True)
    assert step_of("config set Topic:orders a=b=c d=") == ConfigSet(2, "orders", (("a", "b=c"), ("d", "")))
    assert step_of("reassign moves.json --throttle 5M") == Reassign(MOVES, 5 << 20)
    assert step_of("topic create t --config a=b --replication-factor 3 --partitions 9 --config c=d") == CreateTopic(
        "t", 9, 3, (), (("a", "b"), ("c", "d"))
    )


def test_a_secret_setting_is_shown_without_its_value() -> None:
    step = parse_step(["config", "set", "broker:1", "ssl.keystore.password=hunter2"], read_moves)
    assert step.text == "config set broker:1 ssl.keystore.password=..."


def test_a_topic_is_shown_with_its_settings_but_for_secrets() -> None:
    plain = ["topic", "create", "t", "--partitions", "3", "--config", "retention.ms=5"]
    assert parse_step(plain, read_moves).text == "topic create t --partitions 3 --config retention.ms=5"
    assert parse_step([*plain, "--config", "sasl.jaas.config=hunter2"], read_moves).text == "topic create t"


def test_a_wrong_setting_is_refused_without_its_value() -> None:
    with pytest.raises(WordError, match="no-equals") as caught:
        parse_step(["config", "set", "broker:1", "no-equals"], read_moves)
    assert caught.value.index == 3


@pytest.mark.parametrize("text", ["reassign moves.json --throttle 0", "roll-brokers 1,,2", "add-broker -1", "elect preferred :0", ""])
def test_a_step_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        step_of(text)


def test_steps_of_a_command_line_may_have_times() -> None:
    words = "kill-broker 1 then after 2s kill-broker 2 then lose-controller then at 5m restart-broker 1 then after 1m restart-broker 2"
    assert [one.step.at_ms for one in parse_steps(words.split(), read_moves)] == [0, 2000, None, 300_000, 360_000]
    at_once = "at 5s kill-broker 1 then at 5s kill-broker 2 then after 0s kill-broker 3"
    assert [one.step.at_ms for one in parse_steps(at_once.split(), read_moves)] == [5000, 5000, 5000]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("kill-broker 1 then at 5 kill-broker 2", "at: '5' is not a time"),
        ("kill-broker 1 then at", "at: '' is not a time"),
        ("kill-broker 1 then at 5s", "a step is missing"),
        ("at 5m kill-broker 1 then at 4m kill-broker 2", "at is before an earlier step, which begins at 5m"),
        ("at 5m kill-broker 1 then kill-broker 3 then after 1s kill-broker 2", "after: the previous step has no time"),
    ],
)
def test_a_time_that_cannot_be_is_refused(words: str, fault: str) -> None:
    with pytest.raises(WordError, match=f"^{fault}"):
        parse_steps(words.split(), read_moves)


def test_topics_without_partitions_mean_all_of_theirs() -> None:
    image = small_image({1: None}, {"orders": [partition(1), partition(1)]})
    step = step_of("elect preferred orders none:3 orders:1 none")
    expanded = with_all_partitions(step, image)
    assert expanded == Elect((("orders", 0), ("orders", 1), ("none", 3), ("none", -1)))


def test_then_divides_steps() -> None:
    assert split_steps(["kill-broker", "3", "then", "unregister", "3"]) == [(0, ["kill-broker", "3"]), (3, ["unregister", "3"])]
    for words in ("then kill-broker 3", "kill-broker 3 then", "kill-broker 3 then then unregister 3"):
        with pytest.raises(WordError, match="a step is missing"):
            split_steps(words.split())


def test_the_names_that_are_completed_are_those_that_there_are() -> None:
    assert NAMES == FIRST_WORDS


def test_help_lists_every_step_as_it_is_written() -> None:
    listed = " ".join(dict(REHEARSE.epilog)["STEPS"].split())
    for form in FORMS:
        assert form.usage in listed, form.usage
