"""Subscriptions: every step in order, none lost, and no more memory than a bound."""

from __future__ import annotations

from itertools import pairwise

import pytest

from metashell.common.errors import MetashellError
from metashell.metadata.image import EMPTY_IMAGE
from metashell.metadata.image.differences import Step
from metashell.quorum.observer.attach import BATCHES_MAX, STEPS_MAX, StepHub
from tests.metadata.image.batches import batch, record

BATCH = batch(record("NoOpRecord"))


def steps(count: int, batches: int = 1) -> list[Step]:
    images = [EMPTY_IMAGE._replace(provenance=EMPTY_IMAGE.provenance._replace(offset=at)) for at in range(count + 1)]
    return [Step(before, after, (BATCH,) * batches) for before, after in pairwise(images)]


def test_a_subscription_begins_with_the_newest_image_and_gets_what_follows():
    first, second, third = steps(3)
    hub = StepHub(first.before)
    hub.publish(first)
    queue = hub.subscribe()
    assert queue.start is first.after
    hub.publish(second)
    hub.publish(third)
    assert (queue.next(0), queue.next(0), queue.next(0)) == (second, third, None)


def test_two_subscriptions_do_not_take_from_each_other_and_a_closed_one_gets_nothing():
    first, second = steps(2)
    hub = StepHub(first.before)
    one, two = hub.subscribe(), hub.subscribe()
    hub.publish(first)
    one.close()
    hub.publish(second)
    assert (one.next(0), one.next(0)) == (first, None)
    assert (two.next(0), two.next(0)) == (first, second)


def test_steps_that_nobody_takes_are_joined_and_stay_one_chain():
    made = steps(STEPS_MAX + 10)
    hub = StepHub(made[0].before)
    queue = hub.subscribe()
    for step in made:
        hub.publish(step)
    taken = []
    while (step := queue.next(0)) is not None:
        taken.append(step)
    assert len(taken) == STEPS_MAX
    assert [step.before for step in taken[1:]] == [step.after for step in taken[:-1]]
    assert taken[-1].after is made[-1].after
    assert taken[-1].batches == (BATCH,) * 11


def test_a_step_of_too_many_batches_or_of_a_snapshot_has_none():
    made = steps(STEPS_MAX + 1, batches=BATCHES_MAX // 2 + 1)
    hub = StepHub(made[0].before)
    queue, other = hub.subscribe(), hub.subscribe()
    for step in made:
        hub.publish(step)
    for _ in range(STEPS_MAX - 1):
        queue.next(0)
    last = queue.next(0)
    assert last is not None and last.batches is None
    other.put(made[-1]._replace(batches=None))
    assert other._steps[-1].batches is None


def test_what_is_over_says_why_after_the_steps_that_came_before():
    (first,) = steps(1)
    hub = StepHub(first.before)
    queue = hub.subscribe()
    hub.publish(first)
    hub.fail("over")
    assert queue.next(0) == first
    for each in (queue, hub.subscribe()):
        with pytest.raises(MetashellError, match="over"):
            each.next(0)
