"""The standing answers in words and as objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metashell.forms import aligned, counted
from metashell.rehearse.answers.answer_text import BROKERS_MAX, numbers_text
from metashell.rehearse.standing import BROKER, CONTROLLER, RACK, Loss, Standing

_KINDS = (BROKER, RACK, CONTROLLER)


def standing_line(standing: Standing) -> str:
    """The answer, for who reads one line."""
    grave = []
    if standing.offline:
        grave.append(f"{counted(standing.offline, 'partition is', 'partitions are')} offline now")
    if not _has_brokers(standing):
        grave.append("no broker is alive in this image")
    if standing.fatal:
        grave.append(f"this cluster cannot lose {_named(standing.fatal)}")
    if standing.faults:
        grave.append(f"{counted(standing.faults, 'record')} of the metadata could not be applied, so this is not what the cluster has")
    if grave:
        return f"NOT SAFE: {'; '.join(grave)}"
    refused = [loss for loss in standing.losses if loss.under_min_isr]
    end = f"; without {_named(refused)} some partitions refuse writes with acks=all" if refused else ""
    return f"SAFE: any single {_any_of(standing)} can be lost{end}"


def standing_status(standing: Standing) -> int:
    """0 if everything is online and stays so whatever single thing is lost."""
    return int(bool(standing.fatal or standing.offline or standing.faults or not _has_brokers(standing)))


def _has_brokers(standing: Standing) -> bool:
    return any(loss.kind == BROKER for loss in standing.losses)


def _named(losses: Sequence[Loss]) -> str:
    """`brokers 1-3, rack a and controller 7`."""
    parts = []
    for kind in _KINDS:
        names = [loss.name for loss in losses if loss.kind == kind]
        if names:
            shown = ", ".join(names) if kind == RACK else numbers_text(map(int, names)).replace(",", ", ")
            parts.append(f"{kind}{'s' if len(names) > 1 else ''} {shown}")
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + f" and {parts[-1]}"


def _any_of(standing: Standing) -> str:
    kinds = [kind for kind in _KINDS if any(loss.kind == kind for loss in standing.losses)]
    return kinds[0] if len(kinds) == 1 else ", ".join(kinds[:-1]) + f" or {kinds[-1]}"


def standing_lines(standing: Standing, label: str) -> Iterator[str]:
    """The whole answer; `label` says which state it is about."""
    yield standing_line(standing)
    head = ["WITHOUT", "OFFLINE", "UNCLEAN", "UNDER MIN ISR", "NEW LEADERS", "QUORUM", "SUCH AS"]
    shown = _shown(standing.losses)
    if shown:
        yield ""
        yield from aligned([head, *map(_cells, shown)], right=(1, 2, 3, 4))
    if len(shown) < len(standing.losses):
        yield f"{counted(len(standing.losses) - len(shown), 'broker')} more, of which less is lost: -o table has all"
    yield ""
    yield from now_lines(standing)
    yield label


def _shown(losses: Sequence[Loss]) -> list[Loss]:
    """All losses, but of many brokers only those that cost most."""
    brokers = [loss for loss in losses if loss.kind == BROKER]
    costly = sorted(brokers, key=lambda loss: (-loss.offline, -loss.unclean, loss.keeps_quorum is not False, -loss.under_min_isr))
    left_out = {loss.name for loss in costly[BROKERS_MAX:]}
    return [loss for loss in losses if loss.kind != BROKER or loss.name not in left_out]


def _cells(loss: Loss) -> list[str]:
    return [
        f"{loss.kind} {loss.name}",
        *(_count(loss, count) for count in (loss.offline, loss.unclean, loss.under_min_isr, loss.leaders)),
        "-" if loss.keeps_quorum is None else "kept" if loss.keeps_quorum else "LOST",
        loss.examples[0] if loss.examples else "",
    ]


def _count(loss: Loss, count: int) -> str:
    return "-" if loss.kind == CONTROLLER else str(count)


def now_lines(standing: Standing) -> Iterator[str]:
    """How things stand before anything is lost."""
    parts = [counted(standing.partitions, "partition")]
    parts.append(f"{standing.offline} offline" if standing.offline else "none offline")
    parts.append(f"{standing.under_min_isr} under min ISR" if standing.under_min_isr else "none under min ISR")
    if standing.dead_brokers:
        parts.append(f"fenced or leaving: {_numbered('broker', standing.dead_brokers)}")
    yield f"now: {', '.join(parts)}"
    if not standing.quorum:
        yield "the metadata names no voters: whether a controller can be lost is not known (--assume voters=1,2,3)"
    else:
        yield f"taken to be alive, for no metadata says so: {_numbered('controller', standing.quorum)}"
    if standing.brokers_without_rack:
        yield f"in no rack: {_numbered('broker', standing.brokers_without_rack)}"


def _numbered(noun: str, ids: Sequence[int]) -> str:
    return f"{noun}{'s' if len(ids) > 1 else ''} {numbers_text(ids).replace(',', ', ')}"


def standing_value(standing: Standing) -> dict[str, Any]:
    """All of it as one object of JSON."""
    return {
        "type": "standing",
        "status": standing_status(standing),
        "safe": standing_status(standing) == 0,
        "verdict": standing_line(standing),
        "faults": standing.faults,
        "partitions": standing.partitions,
        "offline": standing.offline,
        "under_min_isr": standing.under_min_isr,
        "dead_brokers": list(standing.dead_brokers),
        "brokers_without_rack": list(standing.brokers_without_rack),
        "voters": list(standing.quorum),
        "losses": [loss_row(loss) for loss in standing.losses],
    }


def loss_row(loss: Loss) -> dict[str, Any]:
    """One loss as an object."""
    return {
        "type": "loss",
        "kind": loss.kind,
        "name": loss.name,
        "can_be_lost": loss.can_be_lost,
        "offline": loss.offline,
        "unclean": loss.unclean,
        "under_min_isr": loss.under_min_isr,
        "new_leaders": loss.leaders,
        "keeps_quorum": loss.keeps_quorum,
        "brokers": list(loss.brokers),
        "voters": list(loss.voters),
        "examples": list(loss.examples),
    }
