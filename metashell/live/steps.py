"""Steps from image to image on their way from the thread that makes them to one that reads them."""

from __future__ import annotations

from collections import deque
from threading import Condition, Lock
from typing import TYPE_CHECKING

from metashell.errors import MetashellError
from metashell.image import MetadataImage
from metashell.image.steps import Step

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS_MAX = 1024
"""Steps that wait one by one; of a slow reader later ones are joined to the last."""
BATCHES_MAX = 4096
"""Batches that one step may have; a longer one has none, and its images are compared."""


class StepQueue:
    """A subscription: every step from `start` on, in order, none left out. Safe between two threads."""

    def __init__(self, start: MetadataImage, hub: StepHub) -> None:
        self.start = start
        self._hub = hub
        self._steps: deque[Step] = deque()
        self._changed = Condition()
        self._failure = ""

    def put(self, step: Step) -> None:
        """Add a step; it never waits."""
        with self._changed:
            if len(self._steps) >= STEPS_MAX:
                step = joined(self._steps.pop(), step)
            self._steps.append(step)
            self._changed.notify()

    def fail(self, reason: str) -> None:
        """There will be no further step."""
        with self._changed:
            self._failure = reason
            self._changed.notify()

    def next(self, timeout_s: float) -> Step | None:
        """The oldest step, None if there was none in time. Errors: MetashellError where there will never be one."""
        with self._changed:
            if not self._steps and not self._failure:
                self._changed.wait(timeout_s)
            if self._steps:
                return self._steps.popleft()
            if failure := self._failure or self._hub.refusal():
                raise MetashellError(failure)
            return None

    def close(self) -> None:
        """End the subscription."""
        self._hub.drop(self)


def joined(first: Step, second: Step) -> Step:
    """Two steps as one."""
    batches = None
    if first.batches is not None and second.batches is not None and len(first.batches) + len(second.batches) <= BATCHES_MAX:
        batches = (*first.batches, *second.batches)
    return Step(first.before, second.after, batches)


class StepHub:
    """All subscriptions to one source. `refusal` says why nothing more is to be hoped for, empty while something is."""

    def __init__(self, image: MetadataImage, refusal: Callable[[], str] = str) -> None:
        self.refusal = refusal
        self._queues: list[StepQueue] = []
        self._image = image
        self._lock = Lock()
        self._failure = ""

    def publish(self, step: Step) -> None:
        """Give a step to all subscriptions."""
        with self._lock:
            self._image = step.after
            for queue in self._queues:
                queue.put(step)

    def fail(self, reason: str) -> None:
        """The source is over."""
        with self._lock:
            self._failure = reason
            for queue in self._queues:
                queue.fail(reason)

    def subscribe(self) -> StepQueue:
        """The steps from the newest image on."""
        with self._lock:
            queue = StepQueue(self._image, self)
            if self._failure:
                queue.fail(self._failure)
            self._queues.append(queue)
            return queue

    def drop(self, queue: StepQueue) -> None:
        with self._lock:
            self._queues = [each for each in self._queues if each is not queue]
