"""Whether a log that recovery has cut had more that was durable, and how much: the rule of `damage`, on what a scan found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metashell.log.names import RECOVERY_POINT
from metashell.log.recovery import Run, Scan
from metashell.log.recovery_point import DurableTo


@dataclass(frozen=True, slots=True)
class Loss:
    """Lost records; `reason` says it in words.

    `until_offset` is where the log ended, None where that is not known; `epoch` the newest that it had.
    """

    until_offset: int | None
    epoch: int
    reason: str


def find_loss(
    scan: Scan,
    found: Run | None,
    kept: Run | None,
    start: int,
    *,
    point: DurableTo | None,
    trusted: DurableTo | None,
    is_contradicted: bool,
    is_headless: bool,
    epochs: Sequence[tuple[int, int]],
    rotten: Sequence[str],
) -> Loss | None:
    """The loss of a log that becomes `kept`, or begins anew at `start`; None where it loses nothing that it has to have.

    `found` is the run that would be the log; where `is_headless` its beginning is missing, so that it cannot be. `point` is the recovery
    point, `trusted` the same where it still counts; `epochs` are the entries of leader-epoch-checkpoint as they were found, `rotten` the
    snapshots that cannot be read.
    """
    if is_contradicted:
        return None
    end = kept.end_offset if kept is not None else start
    whole_end = max((flaw.whole_end or 0 for flaw in scan.flaws.values()), default=0)
    whole_end = max(whole_end, scan.end_offset)
    reason = _headless(found, rotten) if is_headless else None
    if found is None and rotten:
        reason = "; ".join(rotten)
    reason = reason or _reason(scan, found, kept, end, whole_end, point, trusted, epochs)
    if reason is None:
        return None
    known = max(whole_end, trusted.offset if trusted is not None else 0)
    claimed = max((flaw.claimed_end for flaw in scan.flaws.values()), default=0)
    last = scan.runs[-1].segments[-1] if scan.runs else None
    flaw = scan.flaws.get(last.path) if last is not None else None
    # What is bad in the last segment may have been followed by more, unless it leads on to the file's end.
    is_bounded = (flaw is None or flaw.is_read_to_end) and known <= max(whole_end, claimed)
    until = max(known, claimed)
    last_epoch = max((run.last_epoch for run in scan.runs), default=0)
    return Loss(until if is_bounded and until > end else None, max(last_epoch, point.epoch if point is not None else 0), reason)


def _headless(found: Run | None, rotten: Sequence[str]) -> str:
    assert found is not None, "there are segments without a beginning"
    missing = f"the log starts at offset {found.base_offset}, and no snapshot stands for what was before it"
    return "; ".join((*rotten, missing))


def _reason(
    scan: Scan,
    found: Run | None,
    kept: Run | None,
    end: int,
    whole_end: int,
    point: DurableTo | None,
    trusted: DurableTo | None,
    epochs: Sequence[tuple[int, int]],
) -> str | None:
    """Why something was lost, None where nothing was."""
    flaw = None if found is None else scan.flaws.get(found.segments[-1].path)
    is_behind = whole_end > end or (kept is found and flaw is not None and flaw.whole_end is not None)
    place = f"{flaw.file}: byte {flaw.position}: {flaw.reason}" if flaw is not None else f"the log ends at offset {end}"
    if trusted is not None and end < trusted.offset:
        return f"{place}; {RECOVERY_POINT} says that all before offset {trusted.offset} was on disk"
    if is_behind and not ((flaw is None or flaw.may_be_torn) and point is not None):
        return f"{place}; whole batches lie behind it"
    if point is None:
        later = max((start for _, start in epochs), default=0)
        bases = max((segment.base_offset for run in scan.runs for segment in run.segments), default=0)
        if max(later, bases) > end:
            return f"{place}; other files beside it go on to offset {max(later, bases)}"
    return None
