"""metashell quotas: how much users, client ids and addresses may use."""

from __future__ import annotations

import math
import re

from metashell.cli.administering import Work, noun_tool
from metashell.options.quota_tools import QUOTAS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import SimpleNamespace

    from metashell.admin.quotas import Entity, Quotas

COLUMNS = ("entity", "quota", "value")
_NAMES = {"user": ("user", "user_default"), "client-id": ("client_id", "client_id_default"), "ip": ("ip", "ip_default")}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_VALUE = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)([kmgt]?)", re.ASCII | re.IGNORECASE)


def _list(work: Work) -> None:
    wanted = dict(_names(work.values))
    rows = [row for found in _found(work, wanted, is_strict=work.values.strict) for row in _rows(found)]
    work.rows(rows, COLUMNS, none="no quota fits" if wanted else "no quotas")


def _found(work: Work, wanted: Mapping[str, str | None], *, is_strict: bool) -> list[Quotas]:
    from metashell.admin.quotas import describe_quotas, matching_quotas

    if work.asks_controllers:
        return matching_quotas(work.image().client_quotas, wanted, is_strict=is_strict)
    return describe_quotas(work.admin, wanted, is_strict=is_strict)


def _rows(found: Quotas) -> list[dict[str, object]]:
    return [{**_fields(found.entity), "quota": key, "value": _number(value)} for key, value in sorted(found.values.items())]


def _fields(entity: Entity) -> dict[str, object]:
    """What every object says of its entity; a null name is the default."""
    from metashell.admin.quotas import entity_text

    return {"type": "quota", "entity": entity_text(entity), "names": dict(entity)}


def _number(value: float) -> float | int:
    return int(value) if math.isfinite(value) and value == int(value) else value


def _set(work: Work) -> None:
    entity = _entity(work.values)
    changes = _assignments(work.values.quota)
    # Through controllers that would be the whole metadata log.
    _alter(work, entity, changes, None if work.asks_controllers else _present(work, entity))


def _unset(work: Work) -> None:
    from metashell.errors import UsageError

    entity, keys = _entity(work.values), list(work.values.key)
    if keys and work.values.all:
        raise UsageError("--all and names of quotas exclude each other", "--all")
    if not keys and not work.values.all:
        raise UsageError("name the quotas to remove, or give --all", "--all")
    before = _present(work, entity)
    if not keys:
        if before is None:
            # Say why not.
            _found(work, dict(entity), is_strict=True)
        keys = sorted(before or ())
        if not keys:
            from metashell.admin.quotas import entity_text

            work.fail(f"{entity_text(entity)}: it has no quotas")
            return
    _alter(work, entity, dict.fromkeys(keys), before)


def _present(work: Work, entity: Entity) -> Mapping[str, float] | None:
    """The quotas of an entity; None for who may change but not see them."""
    from metashell.errors import MetashellError

    try:
        return {key: value for found in _found(work, dict(entity), is_strict=True) for key, value in found.values.items()}
    except MetashellError:
        return None


def _hint(key: str) -> str:
    """What may have been meant by a key that is none."""
    from metashell.admin.quotas import QUOTAS
    from metashell.options.values import did_you_mean

    return "" if key in QUOTAS else did_you_mean(key, list(QUOTAS)) or f"; there are {', '.join(QUOTAS)}"


def _alter(work: Work, entity: Entity, changes: Mapping[str, float | None], before: Mapping[str, float] | None) -> None:
    """Make the changes, and tell each with what was there before, where that is known."""
    from metashell.admin.quotas import alter_quotas
    from metashell.codec.releases import NEWEST_RELEASE

    for _, error in alter_quotas(work.admin, [(entity, changes)], is_dry_run=work.is_dry):
        if error is not None:
            work.failed(error, **_fields(entity), quotas=list(changes))
            for key in changes:
                if hint := _hint(key):
                    work.note(f"{key}: Kafka {NEWEST_RELEASE.name} knows no such quota{hint}")
            return
    for key, value in changes.items():
        _tell(work, entity, key, value, before)


def _tell(work: Work, entity: Entity, key: str, value: float | None, before: Mapping[str, float] | None) -> None:
    from metashell.admin.quotas import entity_text

    name, was = entity_text(entity), None if before is None else before.get(key)
    fields = {**_fields(entity), "quota": key, "value": None if value is None else _number(value)}
    fields["value_before"] = None if was is None else _number(was)
    if value is None and before is not None and was is None:
        work.tell(f"{name}: {key}: is not set{_hint(key)}", **fields, result="not set")
        if _hint(key):
            work.fail()
        return
    result = f"{'would be ' if work.is_dry else ''}{'removed' if value is None else 'set'}"
    text = f"{name}: {key}: {result}{'' if value is None else f' to {_number(value)}'}"
    if before is not None:
        text += ", not set before" if was is None else f", {_number(was)} before"
    work.tell(text, **fields, result=result)


# ---- from the command line


def _names(values: SimpleNamespace) -> list[tuple[str, str | None]]:
    """The parts of an entity that are named, None for a default. Errors: UsageError."""
    from metashell.errors import UsageError

    found: list[tuple[str, str | None]] = []
    for kind, (name, default) in _NAMES.items():
        given, is_default = getattr(values, name), getattr(values, default)
        if given is not None and is_default:
            raise UsageError(f"--{kind} and --{kind}-default exclude each other", f"--{kind}")
        if given is not None or is_default:
            found.append((kind, given))
    return found


def _entity(values: SimpleNamespace) -> Entity:
    from metashell.errors import UsageError

    names = _names(values)
    if not names:
        raise UsageError("name whose quotas: --user, --client-id, --ip, or one of these with -default", "--user")
    if len(names) > 1 and names[-1][0] == "ip":
        raise UsageError("an address has its quotas alone, without --user and --client-id", "--ip")
    return tuple(names)


def _assignments(words: Sequence[str]) -> dict[str, float]:
    """KEY=VALUE words by key. Errors: UsageError."""
    from metashell.errors import UsageError

    found: dict[str, float] = {}
    for word in words:
        key, value = quota_assignment(word)
        if key in found:
            raise UsageError(f"{key}: given twice", word)
        found[key] = value
    return found


def quota_assignment(word: str) -> tuple[str, float]:
    """KEY=VALUE, of which a byte rate may be written as a size. Errors: UsageError."""
    from metashell.errors import UsageError

    key, equals, text = word.partition("=")
    match = _VALUE.fullmatch(text)
    if not equals or not key:
        raise UsageError(f"{word!r} is not KEY=VALUE", word)
    if match is None or (match[2] and not key.endswith("_byte_rate")) or not float(match[1]):
        raise UsageError(
            f"{key}: {text!r} is not a number above 0{' such as 1048576, 512k or 10M' if key.endswith('_byte_rate') else ''}", word
        )
    return key, float(match[1]) * _UNITS[match[2].lower()]


main = noun_tool("quotas", QUOTAS, {"list": _list, "set": _set, "unset": _unset})
