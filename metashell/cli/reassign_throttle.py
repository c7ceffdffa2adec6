"""The throttle of a plan, as `metashell reassign` sets it, removes it, and tells what stays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from metashell.admin.throttle import Copy, Found, Throttle
from metashell.cli.reassign_view import broker_states, look, settings
from metashell.codec.config_types import THROTTLE_RATES, THROTTLED_REPLICAS
from metashell.errors import MetashellError
from metashell.placement.progress import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metashell.admin.configs import Resource
    from metashell.cli.administering import Work
    from metashell.placement import Plan
    from metashell.placement.progress import Standing

_KEYS = (*THROTTLE_RATES, *THROTTLED_REPLICAS)


def set_throttle(work: Work, plan: Plan, standings: Sequence[Standing]) -> Throttle | None:
    """Errors: MetashellError if it could not be set everywhere; then nothing is moved."""
    if work.values.throttle is None:
        return None
    throttle = Throttle(work.admin, partial(settings, work), work.values.throttle)
    copies = [Copy(one.wanted.topic, one.wanted.partition, one.now.goal, one.adding) for one in standings if one.now is not None]
    up = {one.id for one in broker_states(work) if not one.is_fenced}
    found = throttle.set(copies, {id for copy in copies for id in copy.sources} - up)
    if _tell(work, found):
        if throttle.is_set:
            clear_throttle(work, plan, throttle)
        raise MetashellError("nothing was begun: the throttle could not be set everywhere")
    return throttle


def clear_throttle(work: Work, plan: Plan, throttle: Throttle | None = None) -> Found:
    """Remove the throttle of a plan, and tell what stays: what moves that are under way need, and rates that are not --throttle's."""
    from metashell.admin.reassign import list_reassignments

    throttle = throttle or Throttle(work.admin, partial(settings, work), work.values.throttle)
    standings = look(work, plan)
    # Whoever moves a partition now needs what is set for it.
    moves = list_reassignments(work.admin)
    places = {(one.wanted.topic, one.wanted.partition) for one in standings if not _is_another(one)}
    brokers = {id for one in standings for id in _brokers(one)}
    found = throttle.clear(places - moves.keys(), brokers, {id for one in moves.values() for id in one.replicas})
    for topic, partition in sorted(places & moves.keys()):
        found.notes.append(f"{topic}:{partition}: its throttled replicas stay: it is being moved")
    is_failed = _tell(work, found)
    if is_failed:
        work.note(f"not all is removed (with -C, brokers that are down are reached too); to go on: {how_to_clear(work)}")
    elif found.kept and work.values.throttle is None:
        work.note("rates are removed only if --throttle names them: " + how_to_clear(work))
    return found


def _throttle_settings(work: Work) -> tuple[dict[Resource, Mapping[str, str]], dict[Resource, MetashellError]]:
    """What is set of throttles, of all brokers and topics, and the error of what cannot be read. Errors: MetashellError."""
    from metashell.admin.configs import Resource
    from metashell.cli.cluster_view import all_topics
    from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE

    if work.asks_controllers:
        resources = [Resource(kind, name) for kind, name in work.image().configs if kind in (BROKER_RESOURCE, TOPIC_RESOURCE)]
    else:
        resources = [Resource(BROKER_RESOURCE, name) for name in ("", *(str(one.id) for one in broker_states(work)))]
        resources += [Resource(TOPIC_RESOURCE, topic.name) for topic in all_topics(work)]
    found: dict[Resource, Mapping[str, str]] = {}
    errors = {}
    for resource, values in settings(work, resources).items():
        if isinstance(values, MetashellError):
            errors[resource] = values
        elif set_here := {name: value for name, value in values.items() if name in _KEYS}:
            found[resource] = set_here
    return found, errors


def clear_all_throttles(work: Work) -> None:
    """Remove every throttle of replication in the cluster, and tell what it was; while partitions are moved, they stay."""
    from metashell.admin.reassign import list_reassignments
    from metashell.admin.throttle import clear_all

    moves = list_reassignments(work.admin)
    if moves:
        work.fail(f"the throttles stay: {len(moves)} partitions are being moved")
        return
    present, unread = _throttle_settings(work)
    for resource, error in [*sorted(clear_all(work.admin, present).items()), *unread.items()]:
        fields: dict[str, object] = {"type": "throttle", "resource": str(resource), "was": dict(present.get(resource, {}))}
        if error is not None:
            work.failed(error, **fields)
            continue
        was = ", ".join(f"{name}={value}" for name, value in sorted(present[resource].items()))
        work.tell(f"{resource}: {was} removed", **fields, result="removed")
    if not present and not unread:
        work.tell("no throttle is set", type="throttle", result="unchanged")


def left_throttle_lines(work: Work) -> list[str]:
    """What the rulebook says of throttles where no partition is being moved; nothing where there are none."""
    from metashell.checks.registry import CHECKS
    from metashell.checks.rules.throttles import throttle_words, throttled

    try:
        present, unread = _throttle_settings(work)
    except MetashellError as error:
        work.miss(f"throttles of replication: {error}")
        return []
    if unread:
        work.miss(f"throttles of replication on {', '.join(map(str, unread))}: {next(iter(unread.values()))}")
    found = throttled({(one.kind, one.name): values for one, values in present.items()})
    if not found:
        return []
    check = CHECKS["left_throttles"]
    what, time = throttle_words(found)
    return [f"{check.severity}: {check.words}: {what}; {time}", f"next: {check.step}"]


def _is_another(one: Standing) -> bool:
    """Whether its topic was deleted and made anew: what is set there is not ours."""
    return one.now is not None and bool(one.wanted.topic_id and one.now.topic_id) and one.wanted.topic_id != one.now.topic_id


def _brokers(one: Standing) -> set[int]:
    """Those that `apply` can have set a rate for."""
    now = one.now.replicas if one.now is not None and one.stage is not Stage.CHANGED else ()
    return {*one.wanted.replicas, *(one.wanted.before or ()), *now}


def how_to_clear(work: Work) -> str:
    """The command that removes the throttle of a plan."""
    from shlex import quote

    rate = "RATE" if work.values.throttle is None else work.values.throttle
    return f"`metashell reassign status {quote(work.values.plan)} --clear-throttle --throttle {rate}`"


def _tell(work: Work, found: Found) -> bool:
    """Tell what came of a change of throttles; whether anything failed."""
    for note in found.notes:
        work.note(note)
    for resource, error in found.errors.items():
        work.failed(error, type="throttle", resource=str(resource))
    return bool(found.errors)
