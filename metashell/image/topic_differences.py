"""Which topics and partitions differ between two images, found by what they share.

Two images of one history share every topic that did not change. Those of two files share nothing, but nearly all of their bytes are
equal: runs of partition records are compared as bytes, and only what is left is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metashell.image.spans import Span, walk_span

if TYPE_CHECKING:
    from metashell.image.topics import TopicImage, TopicsImage


def different_topics(before: TopicsImage, after: TopicsImage) -> Iterator[bytes]:
    """The ids of topics that are in one image only, or may differ; in no order."""
    if before is after:
        return
    was, now = before.by_id, after.by_id
    for id, topic in was.items():
        other = now.get(id)
        if other is not topic and (other is None or not _are_alike(topic, other)):
            yield id
    yield from (id for id in now if id not in was)


def different_partitions(before: TopicImage | None, after: TopicImage) -> list[int]:
    """The partitions of a topic that differ, in order; without one before, all."""
    if before is None:
        return sorted(after.partition_ids())
    if before.spans is after.spans or _are_same(before.spans, after.spans):
        numbers = {number for number in {**before.overlay, **after.overlay} if before.overlay.get(number) is not after.overlay.get(number)}
    else:
        numbers = _numbers_with_other_bytes(before, after)
    olds, news = before.partitions, after.partitions
    return sorted(number for number in numbers if olds.get(number) != news.get(number))


def _are_alike(before: TopicImage, after: TopicImage) -> bool:
    """Whether two topics lie in the same bytes, and nothing was said of them later."""
    if before.name != after.name or before.overlay or after.overlay or len(before.spans) != len(after.spans):
        return False
    for (buf, start, end, _), (other, other_start, other_end, _) in zip(before.spans, after.spans, strict=True):
        if end - start != other_end - other_start or not other.startswith(buf[start:end], other_start):
            return False
    return True


def _are_same(before: tuple[Span, ...], after: tuple[Span, ...]) -> bool:
    return len(before) == len(after) and all(
        old.buf is new.buf and old.start == new.start and old.end == new.end for old, new in zip(before, after, strict=True)
    )


def _numbers_with_other_bytes(before: TopicImage, after: TopicImage) -> set[int]:
    """The partitions whose records are not the same bytes, or of which later records say something."""
    olds, news = _values(before), _values(after)
    differing = {number for number in olds.keys() | news.keys() if olds.get(number) != news.get(number)}
    return differing | {*before.overlay, *after.overlay}


def _values(topic: TopicImage) -> dict[int, bytes]:
    values: dict[int, bytes] = {}
    for span in topic.spans:
        numbers, starts, ends = walk_span(span)
        values |= {number: span.buf[start:end] for number, start, end in zip(numbers, starts, ends, strict=True)}
    return values
