"""--dry-run of what the protocol cannot try: the real controller does it on a copy of the cluster's newest metadata.

The answers are those of the command itself, "would be" in place of "is"; what the rehearsal says beside that goes to stderr. It needs the
controllers: where they cannot be reached, or do not let an observer fetch, the command fails. It never says that nothing would happen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.admin.errors import AdminError
    from metashell.cli.administering import Work
    from metashell.rehearse import Outcome, Step


def rehearsed(work: Work, steps: Sequence[Step]) -> Outcome:
    """What would come of the steps. What else they would do to the cluster is noted. Errors: MetashellError."""
    from metashell.rehearse import rehearse_change

    image = work.image()
    outcome = rehearse_change(image, steps)
    work.note_once(f"rehearsed on a copy of the metadata at offset {image.provenance.end_offset}; nothing was changed")
    for reason in outcome.verdict.reasons:
        work.note(reason)
    if outcome.verdict.status:
        work.fail()
    return outcome


def refusals_of(outcome: Outcome) -> dict[int, AdminError]:
    """What was refused, by the place of the step."""
    from metashell.admin.errors import AdminError

    return {
        number: AdminError(refusal.code, refusal.message, refusal.thing)
        for number, report in enumerate(outcome.steps)
        for refusal in report.refusals
    }
