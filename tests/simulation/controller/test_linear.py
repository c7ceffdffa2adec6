"""The checker of histories finds an order where there is one, and only then."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from metashell.codec.error_codes import NONE, TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION
from tests.simulation.controller.linear import Operation, UndecidedError, is_linearizable
from tests.simulation.controller.models import MODELS, topic, value

ID = b"1" * 16
OTHER = b"2" * 16


def of(kind: str, *operations: Operation) -> bool:
    return is_linearizable(operations, *MODELS[kind])


def test_one_after_the_other_has_to_be_right_as_it_is() -> None:
    made = Operation("create", (1,), 1, 2, (NONE, ID))
    assert of("topic", made, Operation("create", (1,), 3, 4, (TOPIC_ALREADY_EXISTS, b"")))
    assert not of("topic", made, Operation("create", (1,), 3, 4, (NONE, OTHER)))
    assert not of("topic", Operation("create", (1,), 1, 2, (TOPIC_ALREADY_EXISTS, b"")), Operation("create", (1,), 3, 4, (NONE, ID)))


def test_requests_that_overlap_may_have_happened_in_either_order() -> None:
    assert of("topic", Operation("create", (1,), 1, 10, (TOPIC_ALREADY_EXISTS, b"")), Operation("create", (1,), 2, 9, (NONE, ID)))


def test_a_request_without_an_answer_may_have_happened_late_or_never() -> None:
    lost = Operation("create", (1,), 1)
    absent = Operation("delete", (), 2, 3, (UNKNOWN_TOPIC_OR_PARTITION, b""))
    assert of("topic", lost, absent, Operation("read", (), 5, 6, ()))
    assert of("topic", lost, absent, Operation("read", (), 5, 6, (ID, 1)))
    assert not of("topic", lost, Operation("read", (), 5, 6, (ID, 2)))


def test_what_was_acknowledged_and_is_gone_has_no_order() -> None:
    assert not of("topic", Operation("create", (1,), 1, 2, (NONE, ID)), Operation("read", (), 5, 6, ()))
    assert not of("topic", Operation("create", (1,), 1, 2, (NONE, ID)), Operation("read", (), 5, 6, (OTHER, 1)))


def test_a_topic_is_deleted_under_its_own_id() -> None:
    made = Operation("create", (1,), 1, 2, (NONE, ID))
    assert of("topic", made, Operation("delete", (), 3, 4, (NONE, ID)), Operation("read", (), 5, 6, ()))
    assert not of("topic", made, Operation("delete", (), 3, 4, (NONE, OTHER)))


def test_a_list_that_is_appended_to_keeps_the_order_of_some_run() -> None:
    both = Operation("append", ("a",), 1, 9, NONE), Operation("append", ("b",), 2, 8, NONE)
    assert of("config", *both, Operation("read", (), 10, 11, "b,a"))
    assert of("config", *both, Operation("subtract", ("a",), 12, 13, NONE), Operation("read", (), 14, 15, "b"))
    assert not of("config", *both, Operation("read", (), 10, 11, "b"))


def test_blocks_of_producer_ids_are_given_out_once() -> None:
    assert of("producer ids", Operation("take", (), 1, 2, (0, 1000)), Operation("take", (), 3), Operation("take", (), 4, 5, (2000, 1000)))
    assert not of("producer ids", Operation("take", (), 1, 2, (0, 1000)), Operation("take", (), 3, 4, (0, 1000)))
    assert not of("producer ids", Operation("take", (), 1, 2, (0, 1000)), Operation("take", (), 4, 5, (2000, 1000)))


def test_a_credential_that_is_deleted_twice_was_there_twice() -> None:
    once = Operation("put", (), 1, 2, NONE), Operation("delete", (), 3, 4, NONE)
    assert of("credential", *once, Operation("delete", (), 5, 6, 91))
    assert not of("credential", *once, Operation("delete", (), 5, 6, NONE))


def brute(operations: list[Operation]) -> bool:
    """By looking at every order of every choice of what never happened."""
    open_ones = [operation for operation in operations if operation.is_open]
    for mask in range(1 << len(open_ones)):
        left_out = {id(operation) for bit, operation in enumerate(open_ones) if mask >> bit & 1}
        chosen = [operation for operation in operations if id(operation) not in left_out]
        for order in permutations(chosen):
            if any(order[j].returned < order[i].called for i in range(len(order)) for j in range(i + 1, len(order))):
                continue
            state: str | None = None
            for operation in order:
                after = list(value(state, operation))
                if not after:
                    break
                state = after[0]
            else:
                return True
    return False


def test_it_says_what_looking_at_every_order_says() -> None:
    random = Random(5)
    verdicts = set()
    for _ in range(400):
        times = random.sample(range(40), 10)
        operations = []
        for first, second in zip(times[:5], times[5:], strict=True):
            called, returned = min(first, second), max(first, second)
            draw = random.random()
            if draw < 0.4:
                operations.append(Operation("read", (), called, returned, random.choice(("", "1", "2"))))
            elif draw < 0.6:
                operations.append(Operation("set", (random.choice("12"),), called))
            else:
                operations.append(Operation("set", (random.choice("12"),), called, returned, NONE))
        expected = brute(operations)
        verdicts.add(expected)
        assert is_linearizable(operations, None, value) == expected, [str(operation) for operation in operations]
    assert verdicts == {True, False}


def test_a_search_that_takes_too_long_says_so() -> None:
    many = [Operation("append", (str(number),), number) for number in range(12)]
    with pytest.raises(UndecidedError):
        is_linearizable([*many, Operation("read", (), 100, 101, "no such")], None, value, 1_000)
    assert not list(topic(None, Operation("delete", (), 1)))
