"""What to do about a refusal of the cluster: what the rulebook finds about the thing that was refused; without a finding, nothing.

The code of an error says only what a refusal is about. Why it is so, and what helps, is what checks find in the metadata.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec import error_codes as codes
from metashell.errors import MetashellError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from metashell.admin.errors import AdminError
    from metashell.checks import Facts
    from metashell.checks.facts import QuorumAnswers
    from metashell.checks.model import Found
    from metashell.image import MetadataImage

FEATURE: Final = "feature"
BROKER: Final = "broker"
PARTITION: Final = "partition"
_ABOUT: Final = {
    codes.INVALID_UPDATE_VERSION: FEATURE,
    codes.FEATURE_UPDATE_FAILED: FEATURE,
    codes.INVALID_REPLICATION_FACTOR: BROKER,
    codes.INVALID_REPLICA_ASSIGNMENT: BROKER,
    codes.PREFERRED_LEADER_NOT_AVAILABLE: PARTITION,
    codes.ELIGIBLE_LEADERS_NOT_AVAILABLE: PARTITION,
}
"""What a refusal is about. All other codes are about what was typed, or say themselves what they mean."""
_NO_CONTROLLER: Final = (codes.NOT_CONTROLLER, codes.NOT_LEADER_OR_FOLLOWER)
_OF_QUORUM: Final = ("probes", "quorum", "migration")
"""Subjects of checks that say why no controller takes changes."""
SHOWN: Final = 5
_SEARCHED: Final = 100_000
"""Things of one finding that are compared with what was refused."""


class Advice(NamedTuple):
    """One thing that a check found about what was refused: `words` are the finding, `steps` what to do, most often a command."""

    id: str
    words: str
    steps: tuple[str, ...]


def advice_on(
    error: AdminError, image: Callable[[], MetadataImage] | None, quorum: Callable[[], QuorumAnswers] | None = None
) -> list[Advice]:
    """What the checks find about what was refused, the worst first; nothing where the facts cannot be had.

    Shape: `image` gives the metadata, `quorum` what the controllers say.
    """
    from metashell.checks import Facts, Health, judge

    if quorum is not None and error.code in _NO_CONTROLLER:
        return _on_quorum(quorum(), image)
    if image is None or error.code not in _ABOUT:
        return []
    try:
        facts = Facts(health=Health(image()))
    except MetashellError:
        return []
    subject = _subject(error, facts)
    found = []
    for finding in judge(facts).findings if subject else ():
        for one in islice(_matching(islice(finding, _SEARCHED), subject), SHOWN):
            words = f"{one.name}: {one.cause}" if one.cause else f"{one.name} ({finding.check.words})"
            found.append(Advice(finding.check.id, words, one.steps or tuple(filter(None, [finding.check.step]))))
    return found


def _on_quorum(quorum: QuorumAnswers, image: Callable[[], MetadataImage] | None) -> list[Advice]:
    """Why no controller takes changes."""
    from metashell.checks import Facts, Health, judge

    facts = Facts(quorum=quorum)
    if quorum.leader_id is not None and image is not None:
        with suppress(MetashellError):  # what the controllers said remains
            facts = Facts(quorum=quorum, health=Health(image()))
    return [
        Advice(finding.check.id, f"{finding.check.words}: {one.name}{f' ({one.cause})' if one.cause else ''}", one.steps)
        for finding in judge(facts).bad
        if finding.check.subject in _OF_QUORUM
        for one in finding.first(SHOWN)
    ]


def _matching(found: Iterable[Found], subject: tuple[object, ...]) -> Iterator[Found]:
    return (one for one in found if one.key[: len(subject)] == subject)


def _subject(error: AdminError, facts: Facts) -> tuple[object, ...]:
    """The beginning of the keys of findings that are about what was refused; empty where nothing can be."""
    kind = _ABOUT.get(error.code, "")
    if kind == FEATURE:
        return (FEATURE, error.thing) if error.thing else (FEATURE,)
    if kind == PARTITION:
        name, colon, number = error.thing.rpartition(":")
        topic = facts.image.topics.by_name.get(name)
        return (PARTITION, topic.id, int(number)) if topic is not None and colon and number.isdigit() else ()
    return (kind,) if kind else ()


def lines_of(advice: Iterable[Advice]) -> Iterator[str]:
    """The advice as lines, each step after what it is for."""
    steps: dict[str, None] = {}
    for one in advice:
        yield one.words
        steps |= dict.fromkeys(one.steps)
    yield from (f"next: {step}" for step in steps)


def with_remark(error: MetashellError) -> str:
    """Kafka's code and words, and what else is known of the answer; between two sentences is a full stop."""
    text, remark = str(error), getattr(error, "remark", "")
    if not remark:
        return text
    return f"{text} {remark}" if text.endswith((".", "!", "?")) else f"{text}. {remark}"
