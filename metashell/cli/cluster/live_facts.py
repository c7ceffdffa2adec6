"""Facts of a live cluster for the checks, from its controllers or brokers, and advice on a refused change.

An error code names only the subject of a refusal. The reason and the remedy are what the checks find in the metadata about that subject.
Without a finding there is no advice."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.cli.admin.protocol import REFUSALS, Kind
from metashell.cli.connection import TIMEOUT_S, cluster_of, open_admin, target_of
from metashell.codec import error_codes as codes
from metashell.codec.codes import BROKER_RESOURCE
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.errors import MetashellError
from metashell.metadata.checks import Facts, Health, all_checks, judge
from metashell.metadata.checks.facts import QUORUM
from metashell.metadata.checks.model import BAD
from metashell.metadata.checks.partitions import MIN_ISR
from metashell.metadata.checks.rules.live_quorum import STEPS, is_settled, looked_twice
from metashell.metadata.directory_facts import read_events
from metashell.quorum.observer.controllers import ATTACH_TIMEOUT_S, AttachError
from metashell.shell.health_text import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import SimpleNamespace

    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.protocol import AdminError
    from metashell.codec.batches import RecordBatch
    from metashell.metadata.checks import Check, Facts, Found, Verdict
    from metashell.metadata.checks.facts import LogEvent, QuorumAnswers
    from metashell.metadata.image import MetadataImage
    from metashell.quorum.observer.attach import LiveSource
    from metashell.quorum.observer.controllers import Target


LAG_MS: Final = 10_000
"""The longest lag of a replica of the metadata log that is not reported, in ms."""
LEADER_S: Final = 2.0
"""The time that an attempt to attach waits for a leader, before each controller is asked by itself."""
LOOK_S: Final = 0.6
"""The pause between two looks at a quorum that may be in an election or have lost a voter: a running voter fetches twice a second."""

_BATCH_MAX: Final = 256 << 10
_LOG_MAX: Final = 32 << 20
"""The largest size in bytes of one batch, and of all batches, that are searched for rare records."""


def named_target(named: SimpleNamespace) -> Target:
    """Return the target that options from `cluster_of` name; controllers take precedence over brokers. Errors: UsageError."""
    given = {"max_decompressed": MAX_DECOMPRESSED, **vars(named)}
    return target_of(SimpleNamespace(**given | ({"bootstrap_server": None} if named.bootstrap_controller else {})))


def ask_quorum(named: SimpleNamespace, lag_after_ms: int = LAG_MS, *, looks_twice: bool = True) -> QuorumAnswers:
    """Return the quorum as each controller reports it, or as brokers do, within 5 s. Errors: UsageError.

    If something looks wrong, it looks twice, unless `looks_twice` is False because the caller has already waited.
    """
    if named.bootstrap_controller:
        return _ask_controllers(named_target(named), lag_after_ms, looks_twice=looks_twice)
    from metashell.cli.cluster.broker_facts import ask_through_brokers

    return ask_through_brokers(named, lag_after_ms)


def _ask_controllers(target: Target, lag_after_ms: int, *, looks_twice: bool = True) -> QuorumAnswers:
    from metashell.quorum.observer.probes import probe

    answers = probe(target)
    if looks_twice and not is_settled(answers) and all(one.elapsed_ms < 1000 for one in answers.probes):
        time.sleep(LOOK_S)
        answers = looked_twice(answers, probe(target))
    return replace(answers, lag_after_ms=lag_after_ms)


class LeaderlessError(MetashellError):
    """No controller leads, or none can be reached; `answers` has the answers of the controllers."""

    def __init__(self, message: str, answers: QuorumAnswers) -> None:
        super().__init__(message)
        self.answers = answers


def attach_observer(target: Target, seen: Callable[[list[RecordBatch]], None] | None = None) -> LiveSource:
    """Attach an observer to a quorum and return it; if no controller leads, fail within 5 s. `seen` is as in `attach`.

    Errors: LeaderlessError with the findings of the checks about the quorum; MetashellError for another cluster; AttachError.
    """

    from metashell.quorum.observer.attach import attach

    if target.brokers:
        limit_s = target.timeout_s if target.timeout_s > ATTACH_TIMEOUT_S else min(target.timeout_s, 2 * LEADER_S)
        return attach(replace(target, timeout_s=limit_s), seen=seen)
    began_s = time.monotonic()
    try:
        return attach(replace(target, timeout_s=min(target.timeout_s, LEADER_S), absent_s=min(target.absent_s, LEADER_S)), seen=seen)
    except AttachError as error:
        if target.load_timeout_s is not None and time.monotonic() - began_s > target.load_timeout_s > LEADER_S:
            raise
        answers = _ask_controllers(target, LAG_MS, looks_twice=False)
        if answers.leader_id is None and any(one.outcome != "forbidden" for one in answers.probes):
            raise LeaderlessError(quorum_troubles(answers) or str(error), answers) from None
        if any(one.outcome == "wrong_cluster" for one in answers.probes):
            raise MetashellError(quorum_troubles(answers)) from None
        if target.timeout_s <= LEADER_S:
            raise
        # Somebody answers, and may lead soon: what is left of the time, and a moment at least.
        waited_s = 0.0 if target.load_timeout_s is None else min(time.monotonic() - began_s, target.timeout_s - MOMENT_S)
    return attach(replace(target, waited_s=waited_s), seen=seen)


MOMENT_S: Final = 0.5


class SeenLog:
    """The batches of a live log that may hold rare records, collected for `attach`; without large ones, as of thousands of partitions.

    A log that is too large to be searched within a second gives no events: findings then do not say since when they hold.
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
        return read_events(iter(self._batches or ())).events


def gather_live(values: SimpleNamespace, lag_after_ms: int = LAG_MS) -> Facts:
    """Return all facts that controllers (-C) and brokers (-b) report: the quorum, the image, and the log directories of brokers.

    Errors: UsageError; MetashellError if brokers were named and none answers.
    """

    from metashell.cli.cluster.broker_facts import of_brokers

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
        # Without a leader there is no image from the controllers: use the one from the brokers.
        facts = replace(facts, health=told.health, told=told.told)
    return replace(facts, brokers=told.brokers, holes=tuple(dict.fromkeys((*facts.holes, *told.holes))))


def _of_controllers(named: SimpleNamespace, lag_after_ms: int) -> Facts:
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

    from metashell.quorum.observer.attach import attach

    seen = SeenLog()
    try:
        limit_s = target.timeout_s if quorum.leader_id is not None else min(target.timeout_s, LEADER_S)
        # Read the metadata of the cluster whose quorum was reported, not of an address that belongs to another cluster.
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
    """Return the min.insync.replicas of a broker's configuration, or through controllers of the active one's; 1 if it cannot be read."""
    from metashell.cli.admin.configs import Resource, describe_configs

    try:
        nodes = admin.nodes()
        id = admin.active_id() if admin.kind is Kind.CONTROLLERS else nodes[0].id if nodes else None
        found = {} if id is None else describe_configs(admin, [Resource(BROKER_RESOURCE, str(id))], (MIN_ISR,))
    except MetashellError:
        return 1
    settings = [one for told in found.values() if not isinstance(told, MetashellError) for one in told]
    return max((int(one.value) for one in settings if one.name == MIN_ISR and one.value), default=1)


def judge_quorum(answers: QuorumAnswers) -> Verdict:
    """Return the verdict of the checks that need only the quorum."""
    return judge(Facts(quorum=answers), [one.id for one in all_checks() if one.needs == (QUORUM,)])


_WRONG_KIND: Final = frozenset({"controller", "broker", "tls", "plain", "wrong_cluster"})
"""The outcomes of a probe that are caused by a wrong address or option."""


def quorum_troubles(answers: QuorumAnswers) -> str:
    """Return the findings about a quorum in one line, with what to do about a wrong kind of address; empty if there are none."""
    told = finding_lines(judge_quorum(answers))
    kinds = dict.fromkeys(one.outcome for one in answers.probes if one.outcome in _WRONG_KIND) if told else {}
    return "; ".join([*told, *(STEPS[kind] for kind in kinds)])


def troubles_of_cluster(named: SimpleNamespace) -> str:
    """Return in one line why no node of the cluster answered; empty if one answers now."""
    if not named.bootstrap_controller:
        return troubles_of_brokers(named)
    answers = ask_quorum(named, looks_twice=False)
    return quorum_troubles(answers) if answers.leader_id is None else ""


def troubles_of_brokers(named: SimpleNamespace) -> str:
    """Return in one line what is at each address of brokers, and what to do; empty if a broker answers at one of them."""
    from metashell.quorum.observer.probes import probe_brokers

    probes = probe_brokers(named_target(named))
    if any(one.outcome == "answers" for one in probes):
        return ""
    steps = dict.fromkeys(STEPS[one.outcome] for one in probes if one.outcome in STEPS)
    each = "; ".join(f"{one.address} ({one.words})" for one in probes)
    return f"no broker answers: {each}" + "".join(f"; {step}" for step in steps)


def finding_lines(verdict: Verdict) -> list[str]:
    """Return a line for each bad finding, consequences before their causes."""
    found = []
    # A consequence comes before its cause, because a long line may be cut off.
    for finding, _ in sorted(in_order(verdict), key=lambda told: not told[1]):
        if finding in verdict.bad:
            things = "; ".join(f"{one.name} ({one.cause})" if one.cause else one.name for one in finding.first(5))
            found.append(f"{finding.check.words}: {things}")
    return found


_FEATURE: Final = frozenset({codes.INVALID_UPDATE_VERSION, codes.FEATURE_UPDATE_FAILED})
_BROKERS: Final = frozenset({codes.INVALID_REPLICATION_FACTOR})
_PARTITION: Final = frozenset({codes.PREFERRED_LEADER_NOT_AVAILABLE, codes.ELIGIBLE_LEADERS_NOT_AVAILABLE})
_QUORUM: Final = frozenset({codes.NOT_CONTROLLER, codes.NOT_LEADER_OR_FOLLOWER, codes.REQUEST_TIMED_OUT})
"""The codes of refusals that the checks can explain, by subject. Other codes are about the request itself, or need no advice."""
_MIGRATION: Final = "migration"
"""The subject of the checks that explain why an active controller accepts no changes."""
_ON_FEATURES: Final = frozenset({"stale_controller", "holds_upgrade", "unsupported_feature"})
"""The checks about the features that registered nodes support."""
SHOWN: Final = 5
_SEARCHED: Final = 100_000
"""The number of things of one finding that are compared with the subject of a refusal."""


class Advice(NamedTuple):
    """A finding about the subject of a refusal: `words` describes it, `steps` says what to do, most often a command."""

    id: str
    words: str
    steps: tuple[str, ...]


class Adviser:
    """Advice on refusals, from checks on facts that are gathered once. `image` returns the metadata, `named` the cluster's addresses."""

    def __init__(self, image: Callable[[], MetadataImage], named: Callable[[], SimpleNamespace]) -> None:
        self._image = image
        self._named = named
        self._judged: dict[bool, tuple[Facts, Verdict]] = {}

    def advice_on(self, error: AdminError, *, has_image: bool) -> list[Advice]:
        """Return the findings about the subject of a refusal; empty if the facts cannot be read.

        `has_image`: the metadata is at hand. For a refused feature level it is read even if not, from the controllers or through brokers.
        """
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
        quorum = ask_quorum(self._named())
        if of_quorum and (quorum.leader_id is None or not self._named().bootstrap_controller):
            return Facts(quorum=quorum)
        return Facts(health=Health(self._image()), quorum=quorum)


def advice_on(error: AdminError, facts: Facts, verdict: Verdict) -> list[Advice]:
    """Return the findings of a verdict about the subject of a refusal, the worst first."""
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
        # Other refusals are about the level itself. The finding on a stale controller lists all its features, then those that it refuses.
        is_about_nodes = error.thing in error.words and ("only supports" in error.words or "does not support" in error.words)
        return is_about_nodes and check.id in _ON_FEATURES and error.thing in f"{one.name} {one.cause}".rpartition("refused: ")[2]
    if error.code in _BROKERS:
        # Without "fenced" in the message, the factor exceeds the number of registered brokers: then no check explains it.
        return check.id in ("fenced", "shutting_down") and "fenced" in error.words
    if error.code not in _PARTITION:
        return False
    name, _, number = error.thing.rpartition(":")
    topic = facts.image.topics.by_name.get(name) if facts.health is not None else None
    return topic is not None and one.key == ("partition", topic.id, int(number))


def advice_lines(advice: Iterable[Advice]) -> Iterator[str]:
    """Yield the findings as lines, then each distinct step once."""
    steps: dict[str, None] = {}
    for one in advice:
        yield one.words
        steps |= dict.fromkeys(one.steps)
    yield from (f"next: {step}" for step in steps)


def with_remark(error: MetashellError) -> str:
    """Return the text of an error with its remark, separated by a full stop."""
    text, remark = str(error), getattr(error, "remark", "")
    if not remark:
        return text
    return f"{text} {remark}" if text.endswith((".", "!", "?")) else f"{text}. {remark}"


def is_refusal(error: MetashellError) -> bool:
    """Return whether the cluster refuses the user: the credentials, or for a missing right."""
    return getattr(error, "authentication", False) or getattr(error, "credential", False) or getattr(error, "code", None) in REFUSALS
