"""How far the upgrade of a Kafka Streams application is: versions of its members' metadata (KIP-268), or of its topology (KIP-1071)."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, MemberDescription
from metashell.offsets_log.asking import describe, find_group, summaries
from metashell.offsets_log.checks import Check
from metashell.offsets_log.loading import Loaded

_ASSIGNOR: Final = "stream"
_PROBING_SINCE: Final = 3
_RELEASES: Final = {
    1: "0.10.0",
    2: "0.10.1 to 1.1",
    3: "2.0",
    4: "2.1 to 2.3",
    5: "2.4",
    6: "2.5",
    8: "2.6 and 2.7",
    9: "2.8",
    10: "3.0 and 3.1",
    11: "3.2 and later",
}
"""The newest version of Streams' metadata -> the releases that write it. Source: groups.md 3.5."""
_ERRORS: Final = {1: "source topics are missing", 2: "version probing", 3: "the leader could not assign", 4: "a shutdown was asked for"}


class _Versions(NamedTuple):
    """What a member's blobs say: the version it uses, the newest it knows, and what it was assigned with; None where that is not known."""

    used: int | None
    latest: int | None
    received: int | None
    error: int


def streams_checks(loaded: Loaded, pattern: str, topics: Topics) -> list[Check]:
    """The checks of all groups of Streams whose id is like the pattern."""
    checks: list[Check] = []
    for summary in summaries(loaded):
        if not (fnmatchcase(summary.group_id, pattern) or summary.group_id == pattern) or summary.kind not in ("classic", "streams"):
            continue
        for found in find_group(loaded, summary.group_id):
            description = describe(found, topics)
            if summary.kind == "streams":
                checks += _of_streams_group(description)
            elif description.assignor == _ASSIGNOR:
                checks += _of_classic(description)
    return checks


def _of_classic(description: GroupDescription) -> Iterator[Check]:
    group_id = description.summary.group_id
    known = {member.member_id: _versions(member) for member in description.members}
    for member in description.members:
        yield Check(group_id, "classic", f"member {member.member_id}", *_member_words(member, known[member.member_id]))
    yield Check(group_id, "classic", "upgrade", *_progress(list(known.values())))


def _versions(member: MemberDescription) -> _Versions:
    said, got = _user_data(member.details.get("subscription")), _user_data(member.details.get("assignment"))
    return _Versions(said.get("version"), said.get("latestSupportedVersion"), got.get("version"), got.get("errorCode", 0))


def _user_data(blob: Any) -> dict[str, Any]:
    found = blob.get("userData") if isinstance(blob, dict) else None
    return found if isinstance(found, dict) else {}


def _member_words(member: MemberDescription, versions: _Versions) -> tuple[str, str]:
    if versions.used is None:
        return "breaks", f"its metadata does not decode: {'; '.join(member.findings) or 'it sent none'}"
    latest = "does not say what it knows" if versions.latest in (None, -1) else f"knows {versions.latest} ({_release(versions.latest)})"
    received = "nothing was assigned to it" if versions.received is None else f"was assigned with {versions.received}"
    text = f"uses {versions.used}, {latest}, {received}"
    if versions.error:
        return "breaks", f"{text}, with error {versions.error}: {_ERRORS.get(versions.error, 'not known')}"
    return "ok", text


def _release(version: int | None) -> str:
    if version is not None and version > max(_RELEASES):
        return "newer than any we know"
    return f"releases {_RELEASES[version]}" if version in _RELEASES else "no release"


def _progress(found: list[_Versions]) -> tuple[str, str]:
    """What the group as a whole is doing. The leader assigns with the lowest version that a member uses."""
    used = {versions.used for versions in found if versions.used is not None}
    latest = {versions.latest if versions.latest is not None else -1 for versions in found if versions.used is not None}
    if not used:
        return "breaks", "no member's metadata decodes"
    low, high = min(used), max(used)
    if any(versions.error for versions in found):
        return "breaks", "members have errors in their assignments"
    if low < _PROBING_SINCE:
        old = sum(versions.used is not None and versions.used < _PROBING_SINCE for versions in found)
        return (
            "breaks",
            f"{old} of {len(found)} members use version {low}, which has no probing: start all with upgrade.from, then once more without "
            "(4.0 and newer need a stop at 2.4 to 3.9 between)",
        )
    if len(latest) > 1:
        newest = max(latest)
        count = sum(versions.latest == newest for versions in found)
        return "ok", f"{count} of {len(found)} members know version {newest}; all use {low} until the last one is started anew"
    (common,) = latest
    if low < common:
        waiting = sum(versions.used != common for versions in found)
        return "ok", f"all know version {common}, {waiting} of {len(found)} still use {low}: one more rebalance, or unset upgrade.from"
    return "ok", f"done: all use version {high} ({_release(high)})"


def _of_streams_group(description: GroupDescription) -> Iterator[Check]:
    """Groups of the streams protocol go by the epoch of their topology."""
    group_id = description.summary.group_id
    epochs = {member.member_id: member.details.get("topology_epoch") for member in description.members}
    newest = max((epoch for epoch in epochs.values() if isinstance(epoch, int)), default=None)
    for member_id, epoch in epochs.items():
        is_behind = newest is not None and epoch != newest
        yield Check(group_id, "streams", f"member {member_id}", "breaks" if is_behind else "ok", f"topology epoch {epoch}")
    yield Check(
        group_id, "streams", "upgrade", "ok", "the broker assigns: versions of metadata do not matter; a topology changes its epoch"
    )
