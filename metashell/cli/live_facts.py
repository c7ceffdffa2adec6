"""Facts of a live cluster, from its controllers or its brokers: what the rulebook is given where nobody has a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.errors import MetashellError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from metashell.admin.admin import Admin
    from metashell.checks import Facts, Verdict
    from metashell.checks.facts import LogEvent, QuorumAnswers
    from metashell.codec.batches import RecordBatch
    from metashell.live.attach import LiveSource
    from metashell.live.target import Target

LAG_MS: Final = 10_000
"""How long a replica of the metadata may lag."""
LEADER_S: Final = 2.0
"""So long an attempt to attach waits for a leader before each controller is asked for itself."""
LOOK_S: Final = 0.6
"""Between two looks at a quorum that may just elect a leader, or of which a voter may have gone: one that runs fetches twice a second."""

_BATCH_MAX: Final = 256 << 10
_LOG_MAX: Final = 32 << 20
"""Bytes of a batch, and of all batches, that are searched for rare records."""


def named_target(named: SimpleNamespace) -> Target:
    """What options name that already went through `cluster_of`. Errors: UsageError."""
    from types import SimpleNamespace

    from metashell.cli.attaching import target_of
    from metashell.codec.compression import MAX_DECOMPRESSED

    given = {"max_decompressed": MAX_DECOMPRESSED, **vars(named)}
    return target_of(SimpleNamespace(**given | ({"bootstrap_server": None} if named.bootstrap_controller else {})))


def ask_quorum(named: SimpleNamespace, lag_after_ms: int = LAG_MS, *, looks_twice: bool = True) -> QuorumAnswers:
    """What the quorum says: controllers each for itself, brokers what they are told. Within 5 s. Errors: UsageError.

    Where something is amiss it looks twice, unless the caller has waited already.
    """
    if named.bootstrap_controller:
        return _ask_controllers(named_target(named), lag_after_ms, looks_twice=looks_twice)
    from metashell.cli.broker_facts import ask_through_brokers

    return ask_through_brokers(named, lag_after_ms)


def _ask_controllers(target: Target, lag_after_ms: int, *, looks_twice: bool = True) -> QuorumAnswers:
    import time
    from dataclasses import replace

    from metashell.checks.rules.probes import is_settled, looked_twice
    from metashell.live.probes import probe

    answers = probe(target)
    if looks_twice and not is_settled(answers) and all(one.elapsed_ms < 1000 for one in answers.probes):
        time.sleep(LOOK_S)
        answers = looked_twice(answers, probe(target))
    return replace(answers, lag_after_ms=lag_after_ms)


class LeaderlessError(MetashellError):
    """Nobody leads, or nobody can be asked; `answers` are what the controllers said instead."""

    def __init__(self, message: str, answers: QuorumAnswers) -> None:
        super().__init__(message)
        self.answers = answers


def attached(target: Target, seen: Callable[[list[RecordBatch]], None] | None = None) -> LiveSource:
    """An observer of a quorum; where nobody leads, that is found out within 5 s. `seen` is as in `attach`.

    Errors: LeaderlessError with what the checks find of the quorum; AttachError.
    """
    from dataclasses import replace

    from metashell.live.attach import attach
    from metashell.live.failures import AttachError
    from metashell.live.target import ATTACH_TIMEOUT_S

    if target.brokers:
        limit_s = target.timeout_s if target.timeout_s > ATTACH_TIMEOUT_S else min(target.timeout_s, 2 * LEADER_S)
        return attach(replace(target, timeout_s=limit_s), seen=seen)
    try:
        return attach(replace(target, timeout_s=min(target.timeout_s, LEADER_S), absent_s=min(target.absent_s, LEADER_S)), seen=seen)
    except AttachError as error:
        answers = _ask_controllers(target, LAG_MS, looks_twice=False)
        if answers.leader_id is None and any(one.outcome != "forbidden" for one in answers.probes):
            raise LeaderlessError(troubles_of(answers) or str(error), answers) from None
        if any(one.outcome == "wrong_cluster" for one in answers.probes):
            raise MetashellError(troubles_of(answers)) from None
        if target.timeout_s <= LEADER_S:
            raise
    return attach(target, seen=seen)


class SeenLog:
    """The batches of a live log in which rare records may lie, for `attach`: without those of thousands of partitions.

    A log that is too large to be walked within a second has no events: then nobody says since when something is so.
    """

    def __init__(self) -> None:
        self._batches: list[RecordBatch] | None = []
        self._size = 0

    def take(self, batches: list[RecordBatch]) -> None:
        for batch in batches:
            if self._batches is not None and batch.header.size_bytes <= _BATCH_MAX:
                self._batches.append(batch)
                self._size += batch.header.size_bytes
                if self._size > _LOG_MAX:
                    self._batches = None

    def events(self) -> tuple[LogEvent, ...]:
        from metashell.facts.events import read_events

        return read_events(iter(self._batches or ())).events


def gather_live(values: SimpleNamespace, lag_after_ms: int = LAG_MS) -> Facts:
    """All that controllers (-C) and brokers (-b) tell: the quorum, the image, what brokers say of their disks.

    Errors: UsageError; MetashellError where brokers were named and none answers.
    """
    from dataclasses import replace
    from types import SimpleNamespace

    from metashell.cli.broker_facts import of_brokers
    from metashell.cli.named_cluster import cluster_of
    from metashell.options.administering import TIMEOUT_S

    named = cluster_of(values)
    named.timeout = named.timeout or TIMEOUT_S
    told = of_brokers(SimpleNamespace(**{**vars(named), "bootstrap_controller": None}), lag_after_ms) if named.bootstrap_server else None
    if not named.bootstrap_controller:
        assert told is not None
        return told
    facts = _of_controllers(named, lag_after_ms)
    if told is None:
        return facts
    if facts.health is None:
        # Who leads nothing still answers what brokers know.
        facts = replace(facts, health=told.health, told=told.told)
    return replace(facts, brokers=told.brokers, holes=tuple(dict.fromkeys((*facts.holes, *told.holes))))


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
    refused = dict.fromkeys(f"the quorum: {one.words}" for one in quorum.probes if one.outcome == "forbidden")
    if quorum.leader_id is None and not refused:
        return facts
    from dataclasses import replace

    from metashell.cli.named_cluster import open_admin
    from metashell.live.attach import attach

    seen = SeenLog()
    try:
        limit_s = target.timeout_s if quorum.leader_id is not None else min(target.timeout_s, LEADER_S)
        # The metadata is that of the cluster whose quorum was told of.
        others = {one.address for one in quorum.probes if one.outcome == "wrong_cluster"}
        ours = tuple(address for address in target.controllers if str(address) not in others)
        with attach(replace(target, controllers=ours, timeout_s=limit_s), seen=seen.take) as source, open_admin(named) as admin:
            image = source.view().image
            usual = static_min_isr(admin)
    except MetashellError as error:
        return replace(facts, holes=(*refused, f"the metadata log: {error}"))
    health = Health(image, static_min_isr=usual, voter_ids=lambda: [voter.id for voter in quorum.voters])
    return replace(facts, health=health, events=seen.events(), holes=tuple(refused))


def static_min_isr(admin: Admin) -> int:
    """min.insync.replicas as a broker has it, or the active controller, which stands for the brokers; 1 where nobody says."""
    from metashell.admin.configs import Resource, describe_configs
    from metashell.admin.nodes import Kind
    from metashell.checks.min_isr import MIN_ISR
    from metashell.codec.config_types import BROKER_RESOURCE

    try:
        nodes = admin.nodes()
        id = admin.active_id() if admin.kind is Kind.CONTROLLERS else nodes[0].id if nodes else None
        found = {} if id is None else describe_configs(admin, [Resource(BROKER_RESOURCE, str(id))], (MIN_ISR,))
    except MetashellError:
        return 1
    settings = [one for told in found.values() if not isinstance(told, MetashellError) for one in told]
    return max((int(one.value) for one in settings if one.name == MIN_ISR and one.value), default=1)


def judge_quorum(answers: QuorumAnswers) -> Verdict:
    """What the checks that need nothing else say of a quorum."""
    from metashell.checks import Facts, all_checks, judge
    from metashell.checks.facts import QUORUM

    return judge(Facts(quorum=answers), [one.id for one in all_checks() if one.needs == (QUORUM,)])


_WRONG_KIND: Final = frozenset({"controller", "broker", "tls", "plain", "wrong_cluster"})
"""Outcomes of a probe that come of what was typed."""


def troubles_of(answers: QuorumAnswers) -> str:
    """What is wrong with a quorum, in one line; empty where the checks find nothing. Beside a wrong kind of address is what to give."""
    from metashell.checks.rules.probes import STEPS

    told = lines_of(judge_quorum(answers))
    kinds = dict.fromkeys(one.outcome for one in answers.probes if one.outcome in _WRONG_KIND) if told else {}
    return "; ".join([*told, *(STEPS[kind] for kind in kinds)])


def troubles_at(named: SimpleNamespace) -> str:
    """Why nobody answered who has been waited for, in one line; empty where somebody does now."""
    if not named.bootstrap_controller:
        return troubles_of_brokers(named)
    answers = ask_quorum(named, looks_twice=False)
    return troubles_of(answers) if answers.leader_id is None else ""


def troubles_of_brokers(named: SimpleNamespace) -> str:
    """What is at the addresses of brokers, in one line, with what to do; empty where a broker answers at one of them."""
    from metashell.checks.rules.probes import STEPS
    from metashell.live.probes import probe_brokers

    probes = probe_brokers(named_target(named))
    if any(one.outcome == "answers" for one in probes):
        return ""
    steps = dict.fromkeys(STEPS[one.outcome] for one in probes if one.outcome in STEPS)
    each = "; ".join(f"{one.address} ({one.words})" for one in probes)
    return f"no broker answers: {each}" + "".join(f"; {step}" for step in steps)


def lines_of(verdict: Verdict) -> list[str]:
    """Each bad finding as a line, causes first."""
    from metashell.shell.verdict_text import in_order

    found = []
    # What it comes to is said before the cause: a line may be cut off.
    for finding, _ in sorted(in_order(verdict), key=lambda told: not told[1]):
        if finding in verdict.bad:
            things = "; ".join(f"{one.name} ({one.cause})" if one.cause else one.name for one in finding.first(5))
            found.append(f"{finding.check.words}: {things}")
    return found
