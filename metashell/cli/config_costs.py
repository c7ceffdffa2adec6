"""What a change of settings can cost: records, or the availability of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.admin.configs import Operation
from metashell.codec.java_text import java_int

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metashell.admin.configs import Change, Resource, Setting

_LESS_KEPT = frozenset(
    f"{prefix}{key}"
    for prefix, keys in (
        ("", ("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes", "delete.retention.ms")),
        (
            "log.",
            ("retention.ms", "retention.bytes", "retention.hours", "retention.minutes", "local.retention.ms", "local.retention.bytes"),
        ),
    )
    for key in keys
)


def warnings_of(resources: Sequence[Resource], changes: Sequence[Change], before: Mapping[tuple[Resource, str], Setting]) -> list[str]:
    """What the changes can lose, in words."""
    found = []
    for resource in resources:
        for change in changes:
            setting = before.get((resource, change.name))
            is_vain = change.operation is Operation.DELETE and (setting is None or not setting.is_set_on(resource))
            if not is_vain and (cost := _cost(change, setting)) is not None:
                found.append(f"{resource}: {change.name}: {cost}")
    return found


def value_after(change: Change, before: Setting | None) -> str | None:
    """The value that a change makes; of a key that is unset, what stands behind it."""
    if change.operation is Operation.DELETE:
        if before is not None and before.behind is not None:
            return before.behind
        # Kafka does not say what stands behind some keys, such as retention.ms: then it is taken for Kafka's own default.
        from metashell.controller.configs.keys import config_keys

        known = config_keys("topic").get(change.name) or config_keys("broker").get(change.name)
        return None if known is None else known.default
    return change.value


def _cost(change: Change, before: Setting | None) -> str | None:
    key, was = change.name, None if before is None else before.value
    value = value_after(change, before) or ""
    is_whole = change.operation in (Operation.SET, Operation.DELETE)
    if key in _LESS_KEPT and is_whole:
        return f"{value.strip()} is less than {was or 'before'}: older records are deleted for good" if _keeps_less(value, was) else None
    if key in ("cleanup.policy", "log.cleanup.policy") and change.operation is not Operation.SUBTRACT:
        added = _words(value) - _words(was or "")
        lost = {"delete": "records older than the retention are deleted", "compact": "all but the newest record of each key are deleted"}
        return "; ".join(f"{policy}: {lost[policy]} for good" for policy in sorted(added & lost.keys())) or None
    if key == "unclean.leader.election.enable" and _is(value, "true") and not _is(was, "true"):
        return "a replica that is not in sync may then lead, and acknowledged records are lost"
    if key == "min.insync.replicas" and is_whole and (now := _number(value)) is not None:
        then = _number(was)
        if then is not None and now < then:
            return "records are acknowledged with fewer copies than before"
        return "producers with acks=all are refused where fewer replicas are in sync" if now > (then or 1) else None
    if key in ("max.message.bytes", "message.max.bytes") and is_whole and (now := _number(value)) is not None:
        then = _number(was)
        return "producers of larger batches are refused" if then is not None and now < then else None
    if key == "remote.storage.enable" and _is(value, "false") and _is(was, "true"):
        return "what lies in the remote storage is deleted or cannot be read any more"
    return None


def _words(text: str) -> set[str]:
    """The entries of a list, as Kafka trims them."""
    return {word.strip() for word in text.split(",")} - {""}


def _is(text: str | None, word: str) -> bool:
    return text is not None and text.strip().lower() == word


def _number(text: str | None) -> int | None:
    """A number as Kafka takes it: blanks around it, and a plus, do not count."""
    return None if text is None else java_int(text.strip(), 64)


def _keeps_less(value: str, was: str | None) -> bool:
    """Whether less is kept than before; -1 is for ever. What cannot be compared is taken for less."""
    now, then = _number(value), _number(was)
    if now is None or now < 0:
        return False
    return then is None or then < 0 or now < then
