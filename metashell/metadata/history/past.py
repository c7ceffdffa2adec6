"""Images as of an offset, and the offset at which a time lies.

A `Moment` is a point of the log as people write it: an offset, a time, an age, or the end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.errors import MetashellError, UsageError
from metashell.common.options import past_ms
from metashell.common.runtime import PausedCollector
from metashell.common.values import moment_text
from metashell.disk.source import OffsetsWithImage
from metashell.metadata.image.image import MetadataImage
from metashell.metadata.image.loader import ImageLoader, placed
from metashell.metadata.image.provenance import Source, batches_before

if TYPE_CHECKING:
    from metashell.codec.batches import BatchHeader
    from metashell.metadata.image.provenance import Batch


ANCHOR_SPACING: Final = 1 << 15
"""The least distance between two images that are kept on the way to a later one."""
_ANCHORS_MAX: Final = 128
_ATTEMPTS: Final = 3


class OpenedSource(Source, Protocol):
    """A source that has open files."""

    def close(self) -> None: ...


class Opener(Protocol):
    """Opens the source of a past, anew for each question, since a node may go on writing."""

    @property
    def path(self) -> str: ...
    def starts(self) -> list[int]:
        """The offsets at which images can begin, in order: 0 if the log begins there, and the ends of checkpoints."""

    def lone_checkpoints(self) -> list[int]:
        """The ends of older checkpoints that no log follows, in order."""

    def cluster_id(self) -> str:
        """The id of the cluster, empty if it is not known."""

    def open(self, start: int) -> OpenedSource:
        """The source of the checkpoint that ends at `start`, one of `starts`, and the log after it.

        If that checkpoint is damaged an older one is opened, and `snapshot_id` says which.
        """

    def open_log(self, offset: int) -> OpenedSource:
        """The log alone, from the segment on that may hold `offset`."""


class _Anchor(NamedTuple):
    """A kept image; `last` is the batch before it, which shows whether the log was truncated since, None for a checkpoint."""

    offset: int
    image: MetadataImage
    last: BatchHeader | None


class Past:
    """The history in a source. Images of nearby offsets share equal parts, so that a second one costs only the difference.

    A node may go on writing, delete old segments and checkpoints, and truncate its log: each question reads the present files.
    """

    def __init__(self, opener: Opener, *, max_decompressed: int = MAX_DECOMPRESSED) -> None:
        self._opener = opener
        self.max_decompressed = max_decompressed
        self._anchors: list[_Anchor] = []
        self._certain: tuple[int, int | None] = (0, None)
        """The end of a checkpoint, and the offset before which it shows that all is committed: None if it is damaged."""

    @property
    def path(self) -> str:
        return self._opener.path

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, empty if it is not known."""
        return self._opener.cluster_id()

    def starts(self) -> list[int]:
        """See Opener. Errors: MetashellError where there is none."""
        starts = self._opener.starts()
        if not starts:
            raise MetashellError(f"{self.path}: no image can begin here: there is neither a checkpoint nor a log from offset 0 on")
        return starts

    def image_before(self, start: int) -> MetadataImage | None:
        """The image of the newest checkpoint before the oldest start, which no log follows; None without one."""
        ends = [end for end in self._opener.lone_checkpoints() if end < start]
        if not ends:
            return None
        with closing(self._opener.open(ends[-1])) as source:
            if source.snapshot_id is None or source.snapshot_id.offset >= start:
                return None
            loader = ImageLoader(snapshot_id=source.snapshot_id, max_decompressed=self.max_decompressed)
            for batch in source.snapshot_batches():
                loader.load_snapshot_batch(batch)
            return placed(loader.image(), source, is_cut=True)

    def open_oldest(self) -> OpenedSource:
        """The source from the oldest known state on."""
        return self._opener.open(self.starts()[0])

    def open(self, start: int) -> OpenedSource:
        """The source from one of `starts` on."""
        return self._opener.open(start)

    def open_log(self, offset: int) -> OpenedSource:
        """The log from an offset on."""
        return self._opener.open_log(offset)

    def image(self, end: int) -> MetadataImage:
        """The image of all records before offset `end`. Errors: MetashellError where there is none."""

        def load(starts: list[int]) -> MetadataImage:
            if end < starts[0]:
                raise MetashellError(f"{self.path}: no image at offset {end}: the oldest state here is that of offset {starts[0]}")
            return self._load(end, starts[bisect_right(starts, end) - 1])

        image = self._settled(load)
        if image.provenance.end_offset != end:
            trouble = f" ({image.faults[0]})" if image.faults else ""
            ends = max(image.provenance.end_offset, 0)
            raise MetashellError(f"{self.path}: no image at offset {end}: what is here ends at {ends}{trouble}")
        return image

    def newest(self) -> MetadataImage:
        """The image at the end."""
        return self._settled(lambda starts: self._load(None, starts[-1]))

    def image_of(self, moment: Moment) -> MetadataImage:
        """The image as of a moment. Errors: MetashellError for a moment before the oldest known state."""
        return self.newest() if moment.is_end else self.image(self.offset_of(moment))

    def end_offset(self) -> int:
        """The end of the log, found without replaying it."""
        return self._end(self.starts()[-1])[0]

    def reach(self) -> OffsetsWithImage:
        """The offsets that have images, and up to where they are committed, found without replaying the log."""
        starts = self.starts()
        end, certain_to = self._end(starts[-1])
        return OffsetsWithImage(starts[0], end, certain_to if certain_to is not None or not starts[-1] else self._certain_by(starts[-1]))

    def _end(self, start: int) -> tuple[int, int | None]:
        with closing(self._opener.open_log(start)) as source:
            end = start
            for batch in source.log_batches(start):
                end = batch.header.last_offset + 1
            return end, source.certain_to

    def offset_of(self, moment: Moment) -> int:
        """The end offset of the image as of a moment. Errors: MetashellError for a moment before the oldest known state.

        Shape: for a time it is the base offset of the first later batch. The search starts at the newest checkpoint whose last record is
        not later. Controllers' clocks differ, so batches after that one may have earlier times.
        """
        if moment.offset is not None:
            return moment.offset
        starts = self.starts()
        if moment.time_ms is None:
            return self.end_offset()
        # Checkpoints keep the time of the last record that they hold.
        for start in reversed(starts):
            found = self._offset_after(start, moment.time_ms)
            if found is not None:
                return found
        known = self.image(starts[0]).provenance.timestamp_ms if starts[0] else self.first_time_ms()
        since = "" if known is None or known < 0 else f" at {moment_text(known)}"
        raise MetashellError(f"{self.path}: nothing is known of {moment.text}: what is here begins with offset {starts[0]}{since}")

    def _offset_after(self, start: int, time_ms: int) -> int | None:
        """The offset of the first batch after `start` that was written after a time; None if the state at `start` was too."""
        with closing(self._opener.open_log(start)) as source:
            end = start
            for batch in source.log_batches(start):
                header = batch.header
                if header.base_timestamp > time_ms:
                    break
                end = header.last_offset + 1
        if end > start:
            return end
        # Not even the first batch: the time lies between the checkpoint's last record and that, or earlier.
        if start and 0 <= self.image(start).provenance.timestamp_ms <= time_ms:
            return start
        return None

    def first_time_ms(self) -> int | None:
        """The time of the first record after the oldest known state; None without any."""
        start = self.starts()[0]
        with closing(self._opener.open_log(start)) as source:
            return next((batch.header.base_timestamp for batch in source.log_batches(start)), None)

    def oldest_time_ms(self) -> int | None:
        """The time of the oldest known state: from its checkpoint's header, else that of the first record after it."""
        start = self.starts()[0]
        with closing(self._opener.open(start)) as source:
            first = next(iter(source.snapshot_batches()), None) if start else None
            if first is not None:
                loader = ImageLoader(snapshot_id=source.snapshot_id, max_decompressed=self.max_decompressed)
                loader.load_snapshot_batch(first)
                if (time_ms := loader.image().provenance.timestamp_ms) >= 0:
                    return time_ms
        return self.first_time_ms()

    def times(self, limit: int) -> list[tuple[int, int]]:
        """The newest `limit` of `starts` that a record follows, each with the time of that record."""
        found = []
        for start in self.starts()[-limit:]:
            with closing(self._opener.open_log(start)) as source:
                first = next(iter(source.log_batches(start)), None)
            if first is not None:
                found.append((start, first.header.base_timestamp))
        return found

    # ---- loading

    def _settled(self, load: Callable[[list[int]], MetadataImage]) -> MetadataImage:
        """The loaded image; it is loaded again if a node removed files meanwhile."""
        for _ in range(_ATTEMPTS):
            starts = self.starts()
            try:
                image = load(starts)
            except MetashellError:
                if self.starts() == starts:
                    raise
                continue
            if not image.faults or self.starts() == starts:
                return self._with_certainty(image, starts[-1])
        raise MetashellError(f"{self.path}: files vanish faster than they can be read: retention, or new checkpoints")

    def _with_certainty(self, image: MetadataImage, newest: int) -> MetadataImage:
        """The image with the most that is known to be committed: everything before the end of a later checkpoint is too."""
        position = image.provenance
        certain_to = position.certain_to
        if newest and (certain_to is None or certain_to < min(newest, position.end_offset)):
            certain_to = _later(certain_to, self._certain_by(newest))
        if certain_to is not None:
            certain_to = min(certain_to, position.end_offset)
        return image._replace(provenance=position._replace(certain_to=certain_to))

    def _certain_by(self, start: int) -> int | None:
        """The offset before which the newest checkpoint shows that all is committed; it is read to see whether it is complete."""
        if self._certain[0] != start:
            with closing(self._opener.open(start)) as source:
                self._certain = (start, source.certain_to)
        return self._certain[1]

    def _load(self, end: int | None, start: int) -> MetadataImage:
        with PausedCollector(freezes=True):
            while (anchor := self._anchor_before(end, start)) is not None:
                image = self._load_on(anchor, end)
                if image is not None:
                    break
                # The log was truncated before that image's end, so later images are wrong too.
                self._anchors = [other for other in self._anchors if other.offset < anchor.offset]
            else:
                with closing(self._opener.open(start)) as source:
                    loader = ImageLoader(snapshot_id=source.snapshot_id, max_decompressed=self.max_decompressed)
                    for batch in source.snapshot_batches():
                        loader.load_snapshot_batch(batch)
                    # A damaged checkpoint gives way to an older one.
                    begin = 0 if source.snapshot_id is None else source.snapshot_id.offset
                    image = self._replay(loader, source, source.log_batches(begin), begin, end, None)
                    if start and end == start and source.snapshot_id is None:
                        # The beginning of a log that lacks its first records.
                        image = image._replace(provenance=image.provenance._replace(offset=end - 1, end_offset=end))
            return image._replace(faults=tuple(dict.fromkeys(image.faults)))

    def _load_on(self, anchor: _Anchor, end: int | None) -> MetadataImage | None:
        """A later image made from a kept one; None if the log was truncated and written again since."""
        last = anchor.last
        if last is None and anchor.offset == end:
            return anchor.image
        with closing(self._opener.open_log(anchor.offset if last is None else anchor.offset - 1)) as source:
            batches: Iterator[Batch] = iter(source.log_batches(anchor.offset if last is None else anchor.offset - 1))
            if last is not None:
                found = next(batches, None)
                if found is None or _identity(found.header) != _identity(last):
                    return None
                if anchor.offset == end:
                    return anchor.image
                if found.header.last_offset >= anchor.offset:
                    batches = chain((found,), batches)
            loader = ImageLoader(anchor.image, max_decompressed=self.max_decompressed)
            image = self._replay(loader, source, batches, anchor.offset, end, last)
            certain_to = _later(image.provenance.certain_to, anchor.image.provenance.certain_to)
            return image._replace(provenance=image.provenance._replace(certain_to=certain_to))

    def _replay(
        self, loader: ImageLoader, source: OpenedSource, batches: Iterable[Batch], start: int, end: int | None, last: BatchHeader | None
    ) -> MetadataImage:
        kept = start
        if end is None or end > start:
            for batch in batches if end is None else batches_before(batches, end):
                header = batch.header
                if header.base_offset - kept >= ANCHOR_SPACING:
                    kept = header.base_offset
                    self._keep(placed(loader.image(), source, is_cut=True), last)
                loader.load_batch(batch, start)
                last = header
        # Where reading stops on purpose an open transaction is no fault: its end may come later in the log.
        image = placed(loader.finish() if end is None else loader.image(), source, is_cut=end is not None)
        self._keep(image, last)
        return image

    def _anchor_before(self, end: int | None, start: int) -> _Anchor | None:
        """The nearest kept image before `end`, unless the snapshot at `start` is nearer."""
        index = len(self._anchors) if end is None else bisect_right(self._anchors, end, key=attrgetter("offset"))
        anchor = self._anchors[index - 1] if index else None
        return anchor if anchor is not None and anchor.offset >= start else None

    def _keep(self, image: MetadataImage, last: BatchHeader | None) -> None:
        position = image.provenance
        # An image in the middle of a transaction lacks its records, so the rest cannot be replayed on it.
        if position.offset + 1 != position.end_offset:
            return
        anchors = self._anchors
        if len(anchors) >= _ANCHORS_MAX:
            anchors = [anchors[0], *anchors[2::2]]
        index = bisect_right(anchors, position.end_offset, key=attrgetter("offset"))
        if index and anchors[index - 1].offset == position.end_offset:
            return
        self._anchors = [*anchors[:index], _Anchor(position.end_offset, image, last), *anchors[index:]]


def _identity(header: BatchHeader) -> tuple[int, int, int]:
    """A key that differs for any two batches at one offset."""
    return header.base_offset, header.leader_epoch, header.crc


def _later(one: int | None, other: int | None) -> int | None:
    return max((offset for offset in (one, other) if offset is not None), default=None)


# ---- moments


END = "end"


class Moment(NamedTuple):
    """An offset, or a time in Unix milliseconds; the end of the log where both are None."""

    text: str
    offset: int | None = None
    time_ms: int | None = None

    @property
    def is_end(self) -> bool:
        return self.offset is None and self.time_ms is None


def parse_moment(text: str, now_ms: int) -> Moment:
    """The moment that `120400`, `2026-11-20T03:00`, `2026-11-20`, `-2h`, `2h` or `end` names; UTC where no zone is given.

    Shape: an offset stands for the state before the record of that offset, as the name of a checkpoint does.
    Errors: UsageError for anything else, and for a time that has not come.
    """
    word = text.strip()
    if word == END:
        return Moment(text)
    if word.isascii() and word.isdigit() and len(word) < 20:
        return Moment(text, offset=int(word))
    try:
        moment = past_ms(word, now_ms)
    except UsageError:
        raise UsageError(f"{text!r} is no moment: an offset, a time such as 2026-11-20T03:00, -2h, or end", text) from None
    if moment > now_ms:
        raise UsageError(f"{text!r} has not come yet", text)
    return Moment(text, time_ms=moment)
