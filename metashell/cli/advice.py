"""What to do about a refusal of the cluster: what the rulebook finds about the thing that was refused; without a finding, nothing.

The code of an error says only what a refusal is about. Why it is so, and what helps, is what checks find in the metadata.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.checks.facts import QUORUM
from metashell.checks.model import BAD
from metashell.codec import error_codes as codes
from metashell.errors import MetashellError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import SimpleNamespace

    from metashell.admin.errors import AdminError
    from metashell.checks import Check, Facts, Found, Verdict
    from metashell.image import MetadataImage

_FEATURE: Final = frozenset({codes.INVALID_UPDATE_VERSION, codes.FEATURE_UPDATE_FAILED})
_BROKERS: Final = frozenset({codes.INVALID_REPLICATION_FACTOR})
_PARTITION: Final = frozenset({codes.PREFERRED_LEADER_NOT_AVAILABLE, codes.ELIGIBLE_LEADERS_NOT_AVAILABLE})
_QUORUM: Final = frozenset({codes.NOT_CONTROLLER, codes.NOT_LEADER_OR_FOLLOWER, codes.REQUEST_TIMED_OUT})
"""What a refusal is about. All other codes are about what was typed, or say themselves what they mean."""
_MIGRATION: Final = "migration"
"""The subject of checks that say why a controller that leads takes no changes."""
_ON_FEATURES: Final = frozenset({"stale_controller", "holds_upgrade", "unsupported_feature"})
"""The checks of what the registered nodes support."""
SHOWN: Final = 5
_SEARCHED: Final = 100_000
"""Things of one finding that are compared with what was refused."""


class Advice(NamedTuple):
    """One thing that a check found about what was refused: `words` are the finding, `steps` what to do, most often a command."""

    id: str
    words: str
    steps: tuple[str, ...]


class Adviser:
    """Asks the rulebook about refusals; the facts are gathered once. `image` gives the metadata, `named` the cluster's addresses."""

    def __init__(self, image: Callable[[], MetadataImage], named: Callable[[], SimpleNamespace]) -> None:
        self._image = image
        self._named = named
        self._judged: dict[bool, tuple[Facts, Verdict]] = {}

    def advice_on(self, error: AdminError, *, has_image: bool) -> list[Advice]:
        """What the checks find about what was refused; nothing where the facts cannot be had.

        `has_image`: the metadata is at hand; for a refused feature level it is worth an attempt to reach the controllers through brokers.
        """
        from metashell.checks import judge

        of_quorum = error.code in _QUORUM
        if not (of_quorum or error.code in _FEATURE or (has_image and error.code in _BROKERS | _PARTITION)):
            return []
        if of_quorum not in self._judged:
            try:
                facts = self._gather(of_quorum=of_quorum)
            except MetashellError:
                return []
            self._judged[of_quorum] = facts, judge(facts)
        return advice_on(error, *self._judged[of_quorum])

    def _gather(self, *, of_quorum: bool) -> Facts:
        from metashell.checks import Facts, Health
        from metashell.cli.live_facts import ask_quorum

        quorum = ask_quorum(self._named())
        if of_quorum and (quorum.leader_id is None or not self._named().bootstrap_controller):
            return Facts(quorum=quorum)
        return Facts(health=Health(self._image()), quorum=quorum)


def advice_on(error: AdminError, facts: Facts, verdict: Verdict) -> list[Advice]:
    """What a verdict on the facts says about what was refused, the worst first."""
    found = []
    for finding in verdict.findings:
        about = (one for one in islice(finding, _SEARCHED) if _is_about(error, facts, finding.check, one))
        for one in islice(about, SHOWN):
            words = f"{one.name}: {one.cause}" if one.cause else f"{one.name} ({finding.check.words})"
            found.append(Advice(finding.check.id, words, one.steps or tuple(filter(None, [finding.check.step]))))
    return found


def _is_about(error: AdminError, facts: Facts, check: Check, one: Found) -> bool:
    if error.code in _QUORUM:
        return check.severity == BAD and (check.needs == (QUORUM,) or check.subject == _MIGRATION)
    if error.code in _FEATURE:
        # Other refusals are about the level itself. A controller that is gone names all that it supports, and behind that what it refuses.
        is_about_nodes = error.thing in error.words and ("only supports" in error.words or "does not support" in error.words)
        return is_about_nodes and check.id in _ON_FEATURES and error.thing in f"{one.name} {one.cause}".rpartition("refused: ")[2]
    if error.code in _BROKERS:
        # Where the factor is above what is registered, it is the factor that is wrong.
        return check.id in ("fenced", "shutting_down") and "fenced" in error.words
    if error.code not in _PARTITION:
        return False
    name, _, number = error.thing.rpartition(":")
    topic = facts.image.topics.by_name.get(name) if facts.health is not None else None
    return topic is not None and one.key == ("partition", topic.id, int(number))


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


def is_refusal(error: MetashellError) -> bool:
    """Whether the cluster does not take who asks: a password or certificate, or the right that is missing."""
    from metashell.admin.rights import REFUSALS

    return getattr(error, "authentication", False) or getattr(error, "credential", False) or getattr(error, "code", None) in REFUSALS
