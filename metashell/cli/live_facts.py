"""Facts of a live cluster, from its controllers or its brokers: what the rulebook is given where nobody has a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.checks import Facts, Verdict
    from metashell.checks.facts import QuorumAnswers
    from metashell.live.attach import LiveSource
    from metashell.live.target import Target

LAG_MS: Final = 10_000
"""How long a replica of the metadata may lag."""
LEADER_S: Final = 2.0
"""So long an attempt to attach waits for a leader before each controller is asked for itself."""
_ELECTION_S: Final = 1.2
"""Between two looks at a quorum that may just elect a leader, or of which a voter has just gone."""
_BROKERS_S: Final = 4
"""For a broker's word on the quorum: one that has lost the controllers waits for them for longer than anybody does here."""


def named_target(named: SimpleNamespace) -> Target:
    """What options name that already went through `cluster_of`. Errors: UsageError."""
    from types import SimpleNamespace

    from metashell.cli.attaching import target_of
    from metashell.codec.compression import MAX_DECOMPRESSED

    return target_of(SimpleNamespace(**{"max_decompressed": MAX_DECOMPRESSED, **vars(named)}))


def ask_quorum(named: SimpleNamespace, lag_after_ms: int = LAG_MS) -> QuorumAnswers:
    """What the quorum says: controllers each for itself, brokers what they are told. Within 5 s. Errors: UsageError."""
    if named.bootstrap_controller:
        return _ask_controllers(named_target(named), lag_after_ms)
    return _ask_through_brokers(named, lag_after_ms)


def _ask_controllers(target: Target, lag_after_ms: int, *, looks_twice: bool = True) -> QuorumAnswers:
    import time
    from dataclasses import replace

    from metashell.checks.rules.probes import is_settled
    from metashell.live.probes import probe

    answers = probe(target)
    if looks_twice and not is_settled(answers) and all(one.elapsed_ms < 1000 * _ELECTION_S for one in answers.probes):
        time.sleep(_ELECTION_S)
        answers = probe(target)
    return replace(answers, lag_after_ms=lag_after_ms)


def _ask_through_brokers(named: SimpleNamespace, lag_after_ms: int) -> QuorumAnswers:
    from dataclasses import replace
    from types import SimpleNamespace

    from metashell.admin.quorum import describe_quorum_answer
    from metashell.checks.facts import QuorumAnswers
    from metashell.cli.named_cluster import open_admin
    from metashell.live.probes import described

    timed = SimpleNamespace(**{**vars(named), "timeout": min(named.timeout or _BROKERS_S, _BROKERS_S)})
    try:
        with open_admin(timed) as admin:
            return replace(QuorumAnswers(**described(describe_quorum_answer(admin))), lag_after_ms=lag_after_ms)
    except MetashellError as error:
        return QuorumAnswers(trouble=f"the brokers do not tell of the quorum: {error}", lag_after_ms=lag_after_ms)


class LeaderlessError(MetashellError):
    """Nobody leads, or nobody can be asked; `answers` are what the controllers said instead."""

    def __init__(self, message: str, answers: QuorumAnswers) -> None:
        super().__init__(message)
        self.answers = answers


def attached(target: Target) -> LiveSource:
    """An observer of a quorum; where nobody leads, that is found out within 5 s.

    Errors: LeaderlessError with what the checks find of the quorum; AttachError.
    """
    from dataclasses import replace

    from metashell.live.attach import attach
    from metashell.live.failures import AttachError
    from metashell.live.target import ATTACH_TIMEOUT_S

    if target.brokers:
        limit_s = target.timeout_s if target.timeout_s > ATTACH_TIMEOUT_S else min(target.timeout_s, 2 * LEADER_S)
        return attach(replace(target, timeout_s=limit_s))
    try:
        return attach(replace(target, timeout_s=min(target.timeout_s, LEADER_S), absent_s=min(target.absent_s, LEADER_S)))
    except AttachError as error:
        answers = _ask_controllers(target, LAG_MS, looks_twice=False)
        if answers.leader_id is None:
            raise LeaderlessError(troubles_of(answers) or str(error), answers) from None
        if target.timeout_s <= LEADER_S:
            raise
    return attach(target)


def gather_live(named: SimpleNamespace, lag_after_ms: int = LAG_MS) -> Facts:
    """All that controllers (-C) or brokers (-b) tell: the quorum, the image, what brokers say of their disks. Errors: UsageError."""
    if named.bootstrap_controller:
        return _of_controllers(named, lag_after_ms)
    from metashell.cli.broker_facts import of_brokers

    return of_brokers(named, lag_after_ms)


def _of_controllers(named: SimpleNamespace, lag_after_ms: int) -> Facts:
    from metashell.checks import Facts, Health

    target = named_target(named)
    quorum = _ask_controllers(target, lag_after_ms)
    facts = Facts(
        quorum=quorum,
        now_ms=-1 if quorum.now_ms is None else quorum.now_ms,
        label=target.label,
        cluster_id=next((one.cluster_id for one in quorum.probes if one.cluster_id and one.outcome != "wrong_cluster"), ""),
    )
    if quorum.leader_id is None:
        return facts
    from dataclasses import replace

    from metashell.live.attach import attach

    try:
        with attach(target) as source:
            image = source.view().image
    except MetashellError as error:
        return replace(facts, holes=(f"the metadata log: {error}",))
    return replace(facts, health=Health(image, voter_ids=lambda: [voter.id for voter in quorum.voters]))


def judge_quorum(answers: QuorumAnswers) -> Verdict:
    """What the checks that need nothing else say of a quorum."""
    from metashell.checks import Facts, all_checks, judge
    from metashell.checks.facts import QUORUM

    return judge(Facts(quorum=answers), [one.id for one in all_checks() if one.needs == (QUORUM,)])


def troubles_of(answers: QuorumAnswers) -> str:
    """What is wrong with a quorum, in one line; empty where the checks find nothing."""
    return "; ".join(lines_of(judge_quorum(answers)))


def lines_of(verdict: Verdict) -> list[str]:
    """Each bad finding as a line, causes first."""
    from metashell.shell.verdict_text import in_order

    found = []
    for finding, _ in in_order(verdict):
        if finding in verdict.bad:
            things = "; ".join(f"{one.name} ({one.cause})" if one.cause else one.name for one in finding.first(5))
            found.append(f"{finding.check.words}: {things}")
    return found
