"""The history of the source: images at earlier moments, when a node was created and last changed, since when brokers are fenced.

Everything is read from the log up to the current image."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.common.errors import MetashellError
from metashell.common.values import moment_text
from metashell.metadata.checks.partitions import is_leaderless, is_reassigning, is_under_replicated
from metashell.metadata.history import Target, Timeline, parse_moment
from metashell.metadata.history.touched import PartitionsTarget, target_of
from metashell.metadata.image.image import EMPTY_IMAGE
from metashell.metadata.nodes import Directory
from metashell.metadata.nodes.places import paths_of

if TYPE_CHECKING:
    from metashell.metadata.checks.health import PartitionKey
    from metashell.metadata.history import Past, Touch
    from metashell.metadata.image import MetadataImage, PartitionRegistration
    from metashell.metadata.image.differences import Origin, Place
    from metashell.metadata.nodes import Node
    from metashell.shell.context import Context


_OTHER_NAMES: Final = {
    "topics": ("image", "topics", "byName"),
    "topicIds": ("image", "topics", "byId"),
    "brokers": ("image", "cluster", "brokers"),
}
"""Directories of the second view that hold the same nodes as one below /image."""


def history_of(ctx: Context) -> Past:
    """Return the history of the source. Errors: MetashellError if it has none."""
    if ctx.past is None:
        raise MetashellError(f"{ctx.source_label}: this source has no history: open a file, a directory, or a quorum with -C")
    return ctx.past()


def image_at(ctx: Context, text: str) -> MetadataImage:
    """Return the image as of a moment. Errors: UsageError for text that is not a moment, MetashellError if nothing is known of it."""
    moment = parse_moment(text, now_ms())
    return newest_image(ctx) if moment.is_end else history_of(ctx).image_of(moment)


def is_certain(image: MetadataImage) -> bool:
    """Return whether all that an image shows is committed."""
    position = image.provenance
    return position.certain_to is not None and position.certain_to >= position.end_offset


def newest_image(ctx: Context) -> MetadataImage:
    """Return the newest image, as other commands would see it now; read it if the shell has not loaded it."""
    if ctx.feed is not None:
        return ctx.feed.view().image
    image = ctx.present or ctx.image
    return history_of(ctx).newest() if image is EMPTY_IMAGE and ctx.past is not None else image


def now_ms() -> int:
    return round(time.time() * 1000)


def position_text(image: MetadataImage) -> str:
    """Return the position of the last record in an image: `offset 312, epoch 4, 2026-11-20T03:12:09Z`."""
    position = image.provenance
    return f"offset {position.end_offset}, epoch {position.epoch}, {moment_text(position.timestamp_ms)}"


def usual_path(components: Sequence[str]) -> list[str]:
    """Return the path below /image of a node that also has names in the second view."""
    if components and components[0] in _OTHER_NAMES:
        return [*_OTHER_NAMES[components[0]], *components[1:]]
    return list(components)


_CHANGES_ONLY: Final = {
    "PARTITION_CHANGE_RECORD",
    "BROKER_REGISTRATION_CHANGE_RECORD",
    "FENCE_BROKER_RECORD",
    "UNFENCE_BROKER_RECORD",
    "CLEAR_ELR_RECORD",
}
"""Records that neither create nor remove a node."""


class Life(NamedTuple):
    """The records that created a node and that changed it last, None if the log holds none.

    Shape: before the offset `start` only the state is known; `was_there` says that this state had the node.
    """

    created: Origin | None
    changed: Origin | None
    records: int
    start: int
    was_there: bool
    faults: list[str]


def life_of(ctx: Context, path: Sequence[str]) -> Life:
    """Return the life of a node below /image in one pass over the log. Errors: MetashellError if the source has no past."""
    story = Timeline(history_of(ctx), target_of(path))
    exists = was_there = False
    created = changed = None
    records = 0
    is_first = True
    for touch in _touches(ctx, story, path):
        if is_first:
            is_first = False
            exists = was_there = _exists(ctx, touch.before, path)
        records += 1
        changed = touch.origin
        if touch.origin.record not in _CHANGES_ONLY:
            existed, exists = exists, _exists(ctx, touch.after, path)
            if exists and not existed:
                created, was_there, records = touch.origin, False, 1
    return Life(created, changed, records, story.start, was_there or is_first, story.faults)


class Since(NamedTuple):
    """The times since when states hold: the records that began them, or two times around the beginning if the log has a gap.

    Shape: `before_ms` is the time of the oldest known state, for states that already held then. Units: Unix ms; None if nothing is
    known.
    """

    origins: dict[Any, Origin]
    before_ms: int | None
    spans: dict[Any, tuple[int, int]] = {}  # noqa: RUF012 - never changed

    def latest_ms(self, key: Any) -> int | None:
        """Return the latest possible time since which the state holds."""
        if key in self.spans:
            return self.spans[key][1]
        origin = self.origins.get(key)
        return self.before_ms if origin is None else origin.timestamp_ms

    def words(self, key: Any) -> str | None:
        """Return `2026-11-20T03:12:09Z`, `between TIME and TIME`, or `before` the oldest known state; None if nothing is known."""
        if key in self.spans:
            return " and ".join(map(moment_text, self.spans[key])).join(("between ", ""))
        origin = self.origins.get(key)
        if origin is not None:
            return moment_text(origin.timestamp_ms)
        return None if self.before_ms is None else f"before {moment_text(self.before_ms)}"


NOTHING_KNOWN: Final = Since({}, None)


def fenced_since(ctx: Context, ids: Iterable[int]) -> Since:
    """Return which records fenced these brokers, in one pass over the log. Errors: MetashellError if the source has no past."""
    wanted = frozenset(ids)
    return _since(ctx, lambda: _brokers(wanted), {("broker", id): [(id, _is_fenced)] for id in wanted})


def partitions_since(ctx: Context, partitions: Iterable[tuple[str, PartitionKey]]) -> Since:
    """Return which records brought partitions into the state of one of SINCE_KINDS, by kind and partition. Errors: as above."""
    questions: dict[Place, list[Question]] = {}
    for kind, key in partitions:
        questions.setdefault(("partition", *key), []).append(((kind, key), partial(_is_of_kind, SINCE_KINDS[kind])))
    return _since(ctx, lambda: PartitionsTarget((id, number) for _, id, number in questions), questions)


SINCE_KINDS: Final[dict[str, Callable[[PartitionRegistration], object]]] = {
    "leaderless": is_leaderless,
    "under_replicated": lambda partition: is_under_replicated(partition.isr, partition.replicas, partition.adding_replicas),
    "unclean": lambda partition: partition.leader_recovery_state,
    "reassigning": is_reassigning,
    "stuck_reassignment": is_reassigning,
}
"""Kinds whose beginning the partition's own records show."""

Question = tuple[Any, "Callable[[MetadataImage, Place], bool]"]


def _is_fenced(image: MetadataImage, place: Place) -> bool:
    broker = image.cluster.brokers.get(place[1])
    return broker is not None and broker.fenced


def _is_of_kind(is_so: Callable[[PartitionRegistration], object], image: MetadataImage, place: Place) -> bool:
    topic = image.topics.by_id.get(place[1])
    partition = None if topic is None else topic.partitions.get(place[2])
    return partition is not None and bool(is_so(partition))


def _since(ctx: Context, target: Callable[[], Target], questions: dict[Place, list[Question]]) -> Since:
    """Return which records brought places into their state; each question has a key for its answer."""
    if not questions:
        return NOTHING_KNOWN
    past = history_of(ctx)
    begin = past.starts()[0]
    at = ctx.image.provenance
    if at.end_offset == begin and at.timestamp_ms >= 0 and past.starts() == [begin]:
        return Since({}, at.timestamp_ms, {})  # The only state there is, with no record after it.
    older = past.image_before(begin) if begin else None
    first = None if older is None else past.image(begin)
    before_ms = past.oldest_time_ms()
    if before_ms is None:
        return NOTHING_KNOWN
    origins: dict[Any, Origin] = {}
    story = Timeline(past, target(), since=begin)
    for touch in _up_to(ctx, story):
        for place in touch.places:
            for key, is_so in questions.get(place, ()):
                if not is_so(touch.after, place):
                    origins.pop(key, None)
                elif not is_so(touch.before, place):
                    origins[key] = touch.origin
    spans: dict[Any, tuple[int, int]] = {}
    if older is not None and first is not None:
        _add_spans(spans, origins, questions, older, first)
    for end, _ in story.gaps:
        # Records after a gap build on an unknown state, up to the next checkpoint.
        after = next((start for start in past.starts() if start > end), None)
        if after is not None and after <= ctx.image.provenance.end_offset:
            _add_spans(spans, origins, questions, past.image(end), past.image(after))
    return Since(origins, before_ms, spans)


def _add_spans(
    spans: dict[Any, tuple[int, int]],
    origins: dict[Any, Origin],
    questions: dict[Place, list[Question]],
    before: MetadataImage,
    after: MetadataImage,
) -> None:
    """Add the states that began between two images, if records between these are missing."""
    known, position = before.provenance, after.provenance
    for place, asked in questions.items():
        for key, is_so in asked:
            if key in origins and origins[key].offset >= position.end_offset:
                continue
            if is_so(after, place) and not is_so(before, place):
                spans[key] = known.timestamp_ms, position.timestamp_ms


def fenced_times(ctx: Context) -> dict[int, str]:
    """Return since when the fenced brokers of the current image are fenced, as far as the log shows.

    For a live quorum this fetches the log once more, but only again after a record changes the brokers.
    """
    cluster = ctx.image.cluster
    fenced = [id for id, broker in sorted(cluster.brokers.items()) if broker.fenced]
    if ctx.past is None or not fenced:
        return {}
    if ctx.fenced_times is None or ctx.fenced_times[0] is not cluster:
        try:
            since = fenced_since(ctx, fenced)
        except MetashellError:
            # The files or the leader may be gone by now, but the state itself was read.
            since = NOTHING_KNOWN
        ctx.fenced_times = cluster, {id: words for id in fenced if (words := since.words(id)) is not None}
    return ctx.fenced_times[1]


def _brokers(ids: Iterable[int]) -> Target:
    """Return the target of all records that touch any of these brokers."""
    targets = [target_of(["image", "cluster", "brokers", str(id)]) for id in ids]
    return Target(targets[0].types, [needle for target in targets for needle in target.needles or ()])


def _up_to(ctx: Context, story: Timeline) -> Iterator[Touch]:
    """Yield the touches up to the current image."""
    end = ctx.image.provenance.end_offset
    for touch in story:
        if touch.origin.offset >= end:
            return
        yield touch


def _touches(ctx: Context, story: Timeline, path: Sequence[str]) -> Iterator[Touch]:
    """Yield the touches of the path or of anything below it."""
    wanted = tuple(path)
    size = len(wanted)
    for touch in _up_to(ctx, story):
        # This record touches all topics, even those it does not change.
        if touch.origin.record == "CLEAR_ELR_RECORD" and touch.before.has_same_metadata(touch.after):
            continue
        places: list[tuple[Any, ...]] = [tuple(place) for place in touch.places]
        if any(found[:size] == wanted for place in places for found in paths_of(place, touch.after, touch.before)):
            yield touch


def _exists(ctx: Context, image: MetadataImage, path: Sequence[str]) -> bool:
    assert ctx.make_root is not None
    node: Node | None = ctx.make_root(image, ctx.root)
    for name in path:
        node = node.child(name) if isinstance(node, Directory) else None
    return node is not None
