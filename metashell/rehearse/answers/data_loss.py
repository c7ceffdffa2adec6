"""What steps do to records: topics that are deleted, and settings by which records are deleted or may be lost.

Nothing goes offline by these, so the engine's verdict is silent about them; but nobody may read "safe".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from metashell.amounts import duration_text, size_text
from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.controller.configs.effective import topic_value
from metashell.controller.configs.keys import config_keys
from metashell.controller.records import UNCLEAN_ELECTION
from metashell.controller.settings import Settings
from metashell.forms import counted
from metashell.image import MetadataImage
from metashell.rehearse.outcome import Outcome
from metashell.rehearse.steps import DeleteTopic

RETENTION_TIME: Final = "retention.ms"
RETENTION_SIZE: Final = "retention.bytes"
CLEANUP: Final = "cleanup.policy"
NO_LIMIT: Final = -1
NAMED_MAX: Final = 5


def data_losses(outcome: Outcome) -> tuple[str, ...]:
    """A sentence for each way in which the steps cost records; empty if they cost none."""
    return (*_deleted(outcome), *_emptied(outcome), *_by_settings(outcome))


def _deleted(outcome: Outcome) -> Iterator[str]:
    topics = outcome.before.topics.by_name
    done = [report.step for report in outcome.steps if not report.refusals]
    deleted = dict.fromkeys(step.topic for step in done if isinstance(step, DeleteTopic) and step.topic in topics)
    if len(deleted) > NAMED_MAX:
        yield f"{len(deleted)} topics are deleted with all their records"
        return
    for name in deleted:
        yield f"topic {name} is deleted with all its records ({counted(topics[name].partition_count, 'partition')})"


def _emptied(outcome: Outcome) -> Iterator[str]:
    if names := outcome.emptied:
        which = f"partition {names[0]}" if len(names) == 1 else f"{len(names)} partitions, such as {names[0]},"
        yield f"{which} lost all records: nobody else had them, and the disk came back empty"


def _by_settings(outcome: Outcome) -> Iterator[str]:
    """Compares what counts for each topic whose settings changed, and for those without settings of their own where a broker's did."""
    settings = Settings(dict(outcome.assumptions.settings), "", -1)
    there = outcome.after.topics.by_name
    changed = {diff.resource_name for diff in outcome.diff.configs if diff.resource_type == TOPIC_RESOURCE and diff.resource_name in there}
    subjects = [(f"topic {name}", (TOPIC_RESOURCE, name)) for name in sorted(changed & set(outcome.before.topics.by_name))]
    if any(diff.resource_type == BROKER_RESOURCE and not diff.resource_name for diff in outcome.diff.configs):
        subjects.append(("topics without a setting of their own", (TOPIC_RESOURCE, "")))
    for subject, resource in subjects:
        before, after = (_values(settings, image, resource) for image in (outcome.before, outcome.after))
        yield from (f"{subject}: {text}" for text in _compared(before, after))


def _values(settings: Settings, image: MetadataImage, resource: tuple[int, str]) -> Mapping[str, str]:
    own: Mapping[str, str] = image.configs.get(resource, {})
    keys = config_keys("topic")
    names = (RETENTION_TIME, RETENTION_SIZE, CLEANUP, UNCLEAN_ELECTION)
    return {name: (topic_value(settings, image.configs, own, keys[name]).value or "").strip() for name in names}


def _compared(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    policies = {part.strip() for part in after[CLEANUP].split(",")}
    if "delete" in policies:
        newly = "delete" not in before[CLEANUP]
        if (limit := _shrunk(before[RETENTION_TIME], after[RETENTION_TIME], newly=newly)) is not None:
            yield f"records older than {duration_text(limit)} are deleted"
        if (limit := _shrunk(before[RETENTION_SIZE], after[RETENTION_SIZE], newly=newly)) is not None:
            yield f"the oldest records of each partition above {size_text(limit)} are deleted"
    if "compact" in policies and "compact" not in before[CLEANUP]:
        yield "of records with the same key only the newest is kept"
    if after[UNCLEAN_ELECTION].lower() == "true" != before[UNCLEAN_ELECTION].lower():
        yield "a replica that is not in sync may become the leader, and records be lost"


def _shrunk(before: str, after: str, *, newly: bool) -> int | None:
    """The limit that holds from now on, where it is a smaller one, or the first."""
    old, new = _limit(before), _limit(after)
    if new is None or new == NO_LIMIT:
        return None
    return new if newly or old is None or old == NO_LIMIT or new < old else None


def _limit(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None
