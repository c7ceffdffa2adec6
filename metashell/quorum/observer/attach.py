"""Attaching to a quorum: `attach` gives a `LiveSource` of images, `attach_chunks` a source of batches.

`StepHub` hands steps from image to image from the thread that makes them to those that read them."""

from __future__ import annotations

import time
from collections import deque
from queue import Empty
from threading import Condition, Event, Lock, Thread
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.errors import MetashellError
from metashell.metadata.image import MetadataImage
from metashell.metadata.image.differences import Step
from metashell.quorum.observer.controllers import AttachError, dial_with
from metashell.quorum.observer.observer import Chunk, ChunkConsumer, ImageConsumer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from metashell.codec.batches import RecordBatch
    from metashell.common.values import OffsetAndEpoch
    from metashell.quorum.observer.controllers import Dial, Target
    from metashell.quorum.observer.follow_loop import FollowLoop, OlderLog
    from metashell.quorum.observer.observer import Consumer


LOST_AFTER_S: Final = 6.0
"""No leader has answered for so long: longer than an election takes after a leader died."""
REFUSED_MAX_S: Final = 20.0
"""Our credential is refused for so long, and nobody has answered since: who waits for changes is told that none will come."""
_WAIT_S = 0.2


class LiveView(NamedTuple):
    """The state of a live source. `lag` counts committed records that the image lacks, None before a leader has said how many there are."""

    image: MetadataImage
    lag: int | None
    trouble: str
    high_watermark: int
    leader_id: int
    epoch: int
    voter_ids: tuple[int, ...] = ()
    """Static voters, as the leader named them where neither snapshot nor log does."""

    @property
    def details(self) -> dict[str, object]:
        """The fields that `status` shows of a quorum."""
        leader = None if self.leader_id < 0 else {"id": self.leader_id, "epoch": self.epoch}
        shown: dict[str, object] = {
            "leader": leader,
            "high_watermark": self.high_watermark,
            "lag": self.lag,
            "trouble": self.trouble or None,
        }
        if names_no_voters(self.image) and self.voter_ids:
            return {"voters": [{"id": id, "directory_id": None} for id in self.voter_ids], **shown}
        return shown


def names_no_voters(image: MetadataImage) -> bool:
    """Whether nothing that was read names the voters: static voters, and a log that begins at a snapshot."""
    return image.voters is None and (image.leader is None or not image.leader.voter_ids)


class _Position(NamedTuple):
    """The position that the loop publishes beside the image."""

    high_watermark: int = -1
    end_offset: int = 0
    leader_id: int = -1
    epoch: int = 0


class _Session:
    """The thread with the loop, and whether it is attached: everything that was committed at first has been consumed."""

    def __init__(self, target: Target, consumer: Consumer, dial: Dial, failed: Callable[[str], None]) -> None:
        """`failed` is called on the thread, with the reason, when it ends by itself."""
        from metashell.quorum.observer.follow_loop import FollowLoop

        self.target = target
        self._failed = failed
        self.position = _Position()
        self.failure = ""
        self._attached = Event()
        self._error: BaseException | None = None
        self._first_high_watermark = -1
        self._began_s = 0.0
        self._follow = FollowLoop(target, consumer, dial, self._moved)
        self._thread = Thread(target=self._run, name="quorum", daemon=True)

    def start(self) -> None:
        """Start the thread, and the time in which it has to attach."""
        self._began_s = time.monotonic()
        self._thread.start()

    def attach(self) -> None:
        """Wait until the image has all that was committed at the start. Errors: AttachError; our own bugs pass."""
        try:
            while not self.is_attached:
                self._attached.wait(_WAIT_S)
        except BaseException:
            self.close()
            raise

    @property
    def is_attached(self) -> bool:
        """Whether all has been consumed that was committed when it began. Errors: as `attach`."""
        if self._error is not None:
            raise self._error
        if self._attached.is_set():
            return True
        limit_s = self.target.timeout_s
        if self._follow.is_hopeless:
            limit_s = min(limit_s, self.target.absent_s)
        elapsed_s, load_s = time.monotonic() - self._began_s + self.target.waited_s, self.target.load_timeout_s
        if elapsed_s > limit_s and not self._is_loading():
            raise AttachError(f"not attached within {limit_s:g} s: {self._follow.failure_text()}")
        if load_s is not None and elapsed_s > load_s:
            reason = self._follow.failure_text() or "the leader still sends what is missing"
            raise AttachError(f"not attached within {load_s:g} s: {reason}")
        return False

    def _is_loading(self) -> bool:
        """Whether a leader still answers: a large snapshot takes time."""
        return self._follow.observer is not None and self._follow.observer.epoch > 0 and self.silent_s() < LOST_AFTER_S

    def silent_s(self) -> float:
        """Seconds since a leader last answered."""
        return self._follow.silent_s

    @property
    def trouble(self) -> str:
        """The reason why nothing more comes, in a few words; empty while all is well."""
        if self.failure:
            return f"stopped: {self.failure}"
        silent_s = int(self.silent_s())
        if forbidden := self._follow.forbidden:
            return f"refused for {silent_s} s: {forbidden}"
        if self.silent_s() < LOST_AFTER_S:
            return ""
        refused = self._follow.refused
        return f"refused for {silent_s} s: {refused}" if refused else f"no leader for {silent_s} s"

    def refusal(self) -> str:
        """The reason to stop waiting (the credential has been refused for long), else empty."""
        forbidden = self._follow.forbidden
        return f"refused for {int(self.silent_s())} s: {forbidden}" if forbidden and self.silent_s() > REFUSED_MAX_S else ""

    @property
    def cluster_id(self) -> str:
        return self._follow.cluster_id

    def voter_ids(self) -> tuple[int, ...]:
        """The voters as the leader names them, empty where it does not answer soon."""
        return self._follow.voter_ids()

    def older_log(self, snapshot: OffsetAndEpoch) -> OlderLog | None:
        """Fetch the leader's log from before a snapshot; None where it has none."""
        return self._follow.older_log(snapshot)

    def close(self) -> None:
        """End the thread; a second call does nothing."""
        self._follow.stop()
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        import asyncio

        try:
            asyncio.run(self._follow.run())
        except BaseException as error:  # raised again in the thread that waits for this one
            self._error = error
            self.failure = str(error) or type(error).__name__
            self._failed(f"the observer stopped: {self.failure}")
        self._attached.set()

    def _moved(self, follow: FollowLoop) -> None:
        observer = follow.observer
        assert observer is not None
        self.position = _Position(observer.high_watermark, observer.end_offset, observer.leader_id, observer.epoch)
        if self._attached.is_set():
            return
        if follow.failures.are_final(follow.controllers):
            raise AttachError(follow.failure_text())
        if observer.high_watermark >= 0:
            if self._first_high_watermark < 0:
                self._first_high_watermark = observer.high_watermark
            if observer.end_offset >= self._first_high_watermark:
                self._attached.set()


_JOIN_S = 2.0


class LiveSource:
    """A source that follows a quorum: images, steps between them, and its state. Close it, or let it end with the process."""

    is_live = True

    def __init__(self, target: Target, dial: Dial, seen: Callable[[list[RecordBatch]], None] | None = None) -> None:
        self._consumer = ImageConsumer(target.label, self._publish, target.max_decompressed, seen)
        self._image = self._consumer.image
        self._hub = StepHub(self._image, lambda: self._session.refusal())
        self.label = target.label
        self._session = _Session(target, self._consumer, dial, self._hub.fail)
        self._session.start()
        self._session.attach()
        self._voter_ids = self._session.voter_ids() if names_no_voters(self._image) else ()

    def _publish(self, step: Step) -> None:
        self._image = step.after
        self._hub.publish(step)

    def view(self) -> LiveView:
        """Return the current state."""
        image, position = self._image, self._session.position
        lag = None if position.high_watermark < 0 else max(position.high_watermark - image.provenance.end_offset, 0)
        return LiveView(image, lag, self._session.trouble, position.high_watermark, position.leader_id, position.epoch, self._voter_ids)

    @property
    def refusal(self) -> str:
        """The reason why no more changes will come; empty while some may."""
        return self._session.refusal()

    def subscribe(self) -> StepQueue:
        """Every step from the newest image on."""
        return self._hub.subscribe()

    def close(self) -> None:
        """Leave the quorum."""
        self._session.close()

    def __enter__(self) -> LiveSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ChunkSource:
    """A source of a quorum's committed bytes: its snapshot, then its log, in order."""

    def __init__(self, target: Target, dial: Dial) -> None:
        self._consumer = ChunkConsumer()
        self._session = _Session(target, self._consumer, dial, lambda reason: None)
        self.label = target.label

    def chunks(self, *, follow: bool, say: Callable[[str], object] = lambda text: None) -> Iterator[Chunk]:
        """The newest snapshot and the batches after it; without `follow` no further than what was committed when it began.

        `say` is called when nothing more comes, and when it does again. Errors: AttachError.
        """
        self._session.start()
        said = ""
        while True:
            try:
                yield self._consumer.chunks.get(timeout=_WAIT_S)
            except Empty:
                if self._consumer.is_closed:
                    return
                if not self._session.is_attached:
                    continue
                if not follow and self._consumer.chunks.empty():
                    return
                if refusal := self._session.refusal():
                    raise AttachError(refusal) from None
                if bool(now := self._session.trouble) != bool(said):
                    said = now
                    say(now or "it goes on")

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, empty while no node has named it."""
        return self._session.cluster_id

    def older_log(self, snapshot: OffsetAndEpoch) -> OlderLog | None:
        """Fetch the leader's log from before a given snapshot; None where it has none."""
        return self._session.older_log(snapshot)

    def close(self) -> None:
        """Leave the quorum."""
        self._consumer.is_closed = True
        self._session.close()


def attach(target: Target, dial: Dial | None = None, seen: Callable[[list[RecordBatch]], None] | None = None) -> LiveSource:
    """Attach to the quorum that `target` names; the image is at least as new as the quorum was at the call.

    `seen` is called on the thread that follows, with the batches of the log that controllers still have; what a snapshot says has none.
    Errors: AttachError in one line.
    """
    return LiveSource(target, dial or _dial(target), seen)


def attach_chunks(target: Target, dial: Dial | None = None) -> ChunkSource:
    """Return a source of the bytes of `target`'s quorum; nothing is sent before the first call of `chunks`."""
    return ChunkSource(target, dial or _dial(target))


def _dial(target: Target) -> Dial:

    return dial_with(target.security)


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
                step = join_steps(self._steps.pop(), step)
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


def join_steps(first: Step, second: Step) -> Step:
    """Two steps as one."""
    batches = None
    if first.batches is not None and second.batches is not None and len(first.batches) + len(second.batches) <= BATCHES_MAX:
        batches = (*first.batches, *second.batches)
    return Step(first.before, second.after, batches)


class StepHub:
    """All subscriptions to one source. `refusal` returns why no step will come any more, empty while one may."""

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
        """End all subscriptions: no step will come any more."""
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
