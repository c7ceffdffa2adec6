"""What to do about a refusal of the cluster: what the rulebook finds about the thing that was refused; without a finding, nothing.

The code of an error says only what a refusal is about. Why it is so, and what helps, is what checks find in the metadata.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec import error_codes as codes
from metashell.errors import MetashellError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from metashell.admin.admin import Admin
    from metashell.admin.errors import AdminError
    from metashell.checks import Facts
    from metashell.checks.model import Found
    from metashell.image import MetadataImage

_FEATURE: Final = frozenset({codes.INVALID_UPDATE_VERSION, codes.FEATURE_UPDATE_FAILED})
_BROKERS: Final = frozenset({codes.INVALID_REPLICATION_FACTOR})
_PARTITION: Final = frozenset({codes.PREFERRED_LEADER_NOT_AVAILABLE, codes.ELIGIBLE_LEADERS_NOT_AVAILABLE})
"""What a refusal is about. All other codes are about what was typed, or say themselves what they mean."""
_ON_FEATURES: Final = frozenset({"stale_controller", "holds_upgrade", "unsupported_feature"})
"""The checks of what the registered nodes support."""
SHOWN: Final = 5
LAG_MS: Final = 10_000
_SEARCHED: Final = 100_000
"""Things of one finding that are compared with what was refused."""


class Advice(NamedTuple):
    """One thing that a check found about what was refused: `words` are the finding, `steps` what to do, most often a command."""

    id: str
    words: str
    steps: tuple[str, ...]


def advice_on(error: AdminError, facts_of: Callable[[], Facts] | None) -> list[Advice]:
    """What the checks find about what was refused, the worst first; nothing where the facts cannot be had."""
    from metashell.checks import judge

    if facts_of is None or error.code not in _FEATURE | _BROKERS | _PARTITION:
        return []
    try:
        facts = facts_of()
    except MetashellError:
        return []
    found = []
    for finding in judge(facts).findings:
        about = (one for one in islice(finding, _SEARCHED) if _is_about(error, facts, finding.check.id, one))
        for one in islice(about, SHOWN):
            words = f"{one.name}: {one.cause}" if one.cause else f"{one.name} ({finding.check.words})"
            found.append(Advice(finding.check.id, words, one.steps or tuple(filter(None, [finding.check.step]))))
    return found


def _is_about(error: AdminError, facts: Facts, check_id: str, one: Found) -> bool:
    if error.code in _FEATURE:
        return check_id in _ON_FEATURES and error.thing in f"{one.name} {one.cause}"
    if error.code in _BROKERS:
        # Where the factor is above what is registered, it is the factor that is wrong.
        return check_id in ("fenced", "shutting_down") and "fenced" in error.words
    name, _, number = error.thing.rpartition(":")
    topic = facts.image.topics.by_name.get(name)
    return topic is not None and one.key == ("partition", topic.id, int(number))


def gather(image: Callable[[], MetadataImage], admin: Admin) -> Facts:
    """What controllers have: the newest metadata, and what their leader says of the quorum. Errors: MetashellError."""
    from metashell.admin.quorum import describe_quorum
    from metashell.checks import Facts, Health
    from metashell.cli.quorum_health import answers_of

    return Facts(health=Health(image()), quorum=answers_of(describe_quorum(admin), LAG_MS))


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
