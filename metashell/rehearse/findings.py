"""Which findings of `metashell health` the steps begin and end: the same checks on the image before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.checks import Facts, Health, all_checks, judge
from metashell.rehearse.steps import static_min_isr

if TYPE_CHECKING:
    from metashell.checks import Check, Finding, Verdict
    from metashell.image import MetadataImage
    from metashell.rehearse.outcome import Outcome

NAMES_MAX: Final = 3
_NAMED_MAX: Final = 10_000
"""Of more things than these only the numbers are compared: to name a million partitions takes a minute."""


class FindingChange(NamedTuple):
    """A check that finds other things after the steps than before.

    Shape: `begun` and `ended` count what is found anew and no more; `names_begun` and `names_ended` are the first few of them, in order,
    and none where there are too many to compare: then the counts are what there is more or less.
    """

    check: Check
    before: int
    after: int
    begun: int
    ended: int
    names_begun: tuple[str, ...]
    names_ended: tuple[str, ...]


def finding_changes(outcome: Outcome) -> Iterator[FindingChange]:
    """The checks of which something begins or ends, the bad ones first.

    Only what the metadata alone shows is judged: a rehearsal has no files, no probes, and no brokers to ask.
    """
    before, after = (_verdict(outcome, image).findings for image in (outcome.before, outcome.after))
    was, now = ({finding.check.id: finding for finding in findings} for findings in (before, after))
    for check in all_checks():
        change = _change(check, was.get(check.id), now.get(check.id))
        if change.begun or change.ended:
            yield change


def _change(check: Check, old: Finding | None, new: Finding | None) -> FindingChange:
    before, after = (0 if one is None else one.count for one in (old, new))
    if max(before, after) > _NAMED_MAX:
        return FindingChange(check, before, after, max(0, after - before), max(0, before - after), (), ())
    names_before, names_after = (dict.fromkeys(one.name for one in finding or ()) for finding in (old, new))
    begun = [name for name in names_after if name not in names_before]
    ended = [name for name in names_before if name not in names_after]
    return FindingChange(check, before, after, len(begun), len(ended), tuple(begun[:NAMES_MAX]), tuple(ended[:NAMES_MAX]))


def _verdict(outcome: Outcome, image: MetadataImage) -> Verdict:
    assumed = outcome.assumptions
    return judge(Facts(health=Health(image, static_min_isr=static_min_isr(assumed), voter_ids=lambda: assumed.voters)))
