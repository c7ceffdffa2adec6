"""Checks before a downgrade: records that an older release or another protocol cannot read; and the progress of a Kafka Streams upgrade.

Streams groups are checked by the versions of their members' metadata (KIP-268), or by their topology (KIP-1071)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final, NamedTuple

from metashell.codec.coordinator import coordinator_type_names, int16_at
from metashell.codec.primitives import kafka_text
from metashell.common.errors import UsageError
from metashell.common.forms import counted
from metashell.common.terminal import terminal_line
from metashell.groups.log import group_of_key
from metashell.groups.log.fold import RawRecord
from metashell.groups.log.queries import LoadedLogs, describe_found_group, find_group, group_summaries
from metashell.groups.log.timeline_events import listed
from metashell.groups.topics import KnownTopics, Topics
from metashell.groups.view import GroupDescription, MemberDescription

Release = tuple[int, int, int]


class DowngradeCheck(NamedTuple):
    """The result of one check: `ok`, `lost` (data disappears silently), `breaks`, or `refused` (the broker refuses, nothing changes)."""

    group_id: str
    kind: str
    check: str
    result: str
    text: str

    def as_object(self) -> dict[str, Any]:
        return {
            "type": "check",
            "group": self.group_id,
            "group_type": self.kind,
            "check": self.check,
            "result": self.result,
            "text": self.text,
        }


class _Need(NamedTuple):
    """The first release that reads a record, and whether an older one fails (or skips the record)."""

    release: Release
    fails: bool


_READABLE_SINCE: Final[dict[int, tuple[tuple[int, Release], ...]]] = {
    0: ((0, (0, 8, 0)),),
    1: ((0, (0, 9, 0)), (2, (2, 1, 0)), (4, (3, 4, 1))),
    2: ((0, (0, 9, 0)), (1, (0, 10, 0)), (2, (2, 1, 0)), (3, (2, 3, 0)), (4, (3, 4, 1))),
}
"""Types that every release knows -> versions of the value, each with its first release. An older release does not load the partition."""
_KNOWN_SINCE: Final[tuple[tuple[int, Release], ...]] = ((3, (3, 8, 0)), (9, (4, 0, 0)), (17, (4, 1, 0)))
"""Record types, each with the first release that knows this type and those up to the next. An older release skips the records."""
_SKIPS_SINCE: Final[Release] = (3, 4, 1)
"""The first release that skips records of types that it does not know. An older one does not load the partition (KIP-915)."""
_REPORTS_SINCE: Final[Release] = (4, 0, 0)
"""The first release whose coordinator refuses the groups of a partition that it could not load. An older one takes it for empty."""
_DELETED: Final = -1
"""Stands for the version of a record without a value."""
_VERSION_MAX: Final = {0: 4, 1: 4, 2: 4}
"""The newest version that any known release reads, for types whose values have versions above 0."""
_OLDEST: Final[Release] = (0, 8, 0)
_NEVER: Final[Release] = (9999, 0, 0)
"""Stands for no known release."""
_EXPRESSION: Final = 16
_LATER_TYPE: Final = 24
"""Written by releases after 4.3."""


class Census:
    """Counts the values of each group by type and version, while a log is read.

    `counts` has all values, since a broker reads them all when it loads the partition. `live` has those that no later record replaced.
    """

    def __init__(self) -> None:
        self.counts: dict[bytes, Counter[tuple[int, int]]] = {}
        self._newest: dict[bytes, tuple[int, int]] = {}

    def takes(self, raw: RawRecord) -> bool:
        """Count a record. Returns False, so that `Fold` keeps none."""
        if raw.key is None or len(raw.key) < 4:
            return False
        type_id = int16_at(raw.key, 0)
        if raw.value is None:
            self._newest.pop(raw.key, None)
            if type_id not in _READABLE_SINCE:
                self.counts.setdefault(group_of_key(raw.key), Counter())[type_id, _DELETED] += 1
        elif len(raw.value) > 1:
            types = type_id, int16_at(raw.value, 0)
            self.counts.setdefault(group_of_key(raw.key), Counter())[types] += 1
            if type_id not in _READABLE_SINCE:
                self._newest[raw.key] = types
        return False

    def live(self) -> dict[bytes, Counter[tuple[int, int]]]:
        """Return by group the newest values of the newer protocols, which a broker that does not know them skips."""
        found: dict[bytes, Counter[tuple[int, int]]] = {}
        for key, types in self._newest.items():
            found.setdefault(group_of_key(key), Counter())[types] += 1
        return found


def release_of(text: str) -> Release:
    """Parse the number of a release, without its patch as the first of its kind: 3.4 is 3.4.0. Errors: UsageError."""
    parts = text.split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
        raise UsageError(f"option --to: {text!r} is not a release such as 3.9 or 4.0.1", text)
    return int(parts[0]), int(parts[1]), int(parts[2]) if len(parts) > 2 else 0


def downgrade_checks(loaded: LoadedLogs, census: Census, pattern: str, to: Release | None) -> list[DowngradeCheck]:
    """Return the checks of all groups whose id matches the pattern, and of deleted groups whose records are still in the log.

    With a release, only the checks that fail there.
    """
    checks: list[DowngradeCheck] = []
    live = census.live()
    for raw, every in sorted(census.counts.items()):
        group_id = kafka_text(raw)
        if not fnmatchcase(group_id, pattern) and not {group_id, terminal_line(group_id)} & {pattern}:
            continue
        found = find_group(loaded, group_id)
        kind = found[0].group.type if found else "deleted"
        # A type that the broker skips matters only for live records. A version that it cannot read stops it even in replaced records.
        counts = Counter({types: count for types, count in every.items() if _fails(types, to)})
        counts += Counter({types: count for types, count in live.get(raw, Counter()).items() if not _fails(types, to)})
        has_offsets = any(one.log.fold.offset_count(one.raw) for one in found)
        checks += _of_records(group_id, kind, counts, to, is_there=bool(found), has_offsets=has_offsets)
        if found and to is None:
            checks.append(_of_protocol(found[0].group.description(KnownTopics()), has_offsets=has_offsets))
    return checks


def _of_records(
    group_id: str, kind: str, counts: Counter[tuple[int, int]], to: Release | None, *, is_there: bool, has_offsets: bool
) -> Iterator[DowngradeCheck]:
    needs = {types: _need(*types) for types in counts}
    if to is None:
        if is_there:
            is_known = all(need.release != _NEVER for need in needs.values())
            yield DowngradeCheck(group_id, kind, "release", "ok" if is_known else "breaks", _oldest_text(needs, has_offsets))
        return
    for fails in (True, False):
        # For a deleted group only records that stop the whole partition from loading matter.
        unread = {types: need for types, need in needs.items() if need.release > to and _fails(types, to) == fails and (fails or is_there)}
        if unread:
            newest = max(need.release for need in unread.values())
            count = sum(counts[types] for types in unread)
            text = (
                f"{counted(count, 'record needs', 'records need')} {_text(newest)} ({_types_text(unread)}): "
                f"the broker {_consequence(unread, fails, has_offsets, to)}"
            )
            yield DowngradeCheck(group_id, kind, f"release {_text(to)}", "breaks" if fails else "lost", text)


def _oldest_text(needs: Mapping[tuple[int, int], _Need], has_offsets: bool) -> str:
    oldest = max((need.release for need in needs.values()), default=_OLDEST)
    because = {types: need for types, need in needs.items() if need.release == oldest}
    fails = any(need.fails for need in because.values())
    older = _consequence(because, fails, has_offsets)
    if not fails and needs:
        older += f"; one before {_text(_SKIPS_SINCE)} does not load this partition"
    if oldest == _NEVER:
        return f"{_types_text(because)} is written by no release that we know: one that does not know it {older}"
    return f"all is read by {_text(oldest)} and newer, because of {_types_text(because)}; an older one {older}"


def _types_text(types: Iterable[tuple[int, int]]) -> str:
    names = _type_names()
    return listed(
        (f"{names.get(type_id, type_id)} {'(deleted)' if version == _DELETED else f'v{version}'}" for type_id, version in sorted(types)), 2
    )


@cache
def _type_names() -> dict[int, str]:
    return coordinator_type_names("offsets")


def _need(type_id: int, version: int) -> _Need:
    if type_id not in _type_names() or type_id == _LATER_TYPE:
        return _Need(_NEVER, fails=False)
    if version > _VERSION_MAX.get(type_id, 0):
        return _Need(_NEVER, fails=True)
    if type_id in _READABLE_SINCE:
        return _Need(max(release for since, release in _READABLE_SINCE[type_id] if version >= since or since == 0), fails=True)
    return _Need(max((release for since, release in _KNOWN_SINCE if type_id >= since), default=_OLDEST), fails=False)


def _fails(types: tuple[int, int], to: Release | None) -> bool:
    """Return whether a release that does not read a record fails to load the partition. Without a release, one that skips unknown types."""
    type_id, version = types
    if type_id in _READABLE_SINCE:
        return _need(type_id, version).fails
    return to is not None and to < _SKIPS_SINCE


def _consequence(types: Iterable[tuple[int, int]], fails: bool, has_offsets: bool, to: Release | None = None) -> str:
    """Say how a broker behaves that does not read records of these types."""
    if fails and to is not None and to < _REPORTS_SINCE:
        return "does not load this partition: every group in it is gone without an error, and consumers begin by auto.offset.reset"
    if fails:
        return "does not load this partition, and every group in it is unreachable"
    if {type_id for type_id, _ in types} == {_EXPRESSION}:
        return "skips them, and subscriptions by expression find no topics; the rest of the group stays"
    left = "; its committed offsets stay" if has_offsets else ""
    return f"skips them, and the group is lost with its members{left}"


def _text(release: Release) -> str:
    return "a release that we do not know" if release == _NEVER else ".".join(map(str, release if release[2] else release[:2]))


# ---- from one protocol to the other


_CHANGES: Final = {"classic": "consumer", "consumer": "classic", "share": "classic", "streams": "classic"}
"""Kind of group -> the protocol that the check is about."""


def _of_protocol(description: GroupDescription, *, has_offsets: bool) -> DowngradeCheck:
    summary = description.summary
    to = _CHANGES[summary.kind]
    result, text = _change(description, to, ", and keeps its offsets" if has_offsets else "")
    return DowngradeCheck(summary.group_id, summary.kind, f"to {to} protocol", result, text)


def _change(description: GroupDescription, to: str, keeps: str) -> tuple[str, str]:
    """Say whether and how a group changes its protocol. Source: KIP-848, Group Upgrade & Downgrade; KIP-932; KIP-1071."""
    kind = description.summary.kind
    if kind == "share":
        return "refused", "a share group never changes its protocol, not even when it is empty: it refuses members of other protocols"
    if not description.members and description.summary.state == "Empty":
        return "ok", f"it is empty: it becomes a {to} group when the first member of that protocol joins{keeps}"
    if kind == "classic":
        if reasons := list(_against_upgrade(description)):
            return "refused", f"not while it has members: {'; '.join(reasons)}"
        return "ok", f"becomes a consumer group when the first member of the consumer protocol joins{keeps}"
    if kind == "streams":
        return "refused", "not while it has members: stop them all first"
    modern = [member.member_id for member in description.members if member.member_type == "consumer"]
    steps = [f"start {len(modern)} of {counted(len(description.members), 'member')} with group.protocol=classic"] if modern else []
    steps.append(f"it becomes a classic group when its last member of the consumer protocol leaves and classic members are left{keeps}")
    if regexes := sorted({member.regex for member in description.members if member.regex}):
        return "lost", "; ".join([f"subscriptions by RE2 expressions end: {', '.join(regexes)}", *steps])
    return "ok", "; ".join(steps)


def _against_upgrade(description: GroupDescription) -> Iterator[str]:
    """Yield reasons why a classic group with members cannot be upgraded. Source: GroupMetadataManager.validateOnlineUpgrade of Kafka."""
    summary = description.summary
    if summary.protocol_type != "consumer":
        yield f"its protocol type is {summary.protocol_type or 'not known'}"
        return
    for member in description.members:
        if member.findings:
            yield f"{member.member_id}: {member.findings[0]}"
        assignment = member.details.get("assignment")
        if isinstance(assignment, dict) and assignment.get("userData"):
            yield f"the assignment of {member.member_id} has user data of its assignor ({description.assignor}), which would be lost"


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
"""The newest version of Streams' metadata -> the releases that write it. Source: KIP-268; StreamsAssignmentProtocolVersions of Kafka."""
_ERRORS: Final = {1: "source topics are missing", 2: "version probing", 3: "the leader could not assign", 4: "a shutdown was asked for"}


class _Versions(NamedTuple):
    """The versions in a member's blobs: the one it uses, the newest it knows, and the one of its assignment; None if not known."""

    used: int | None
    latest: int | None
    received: int | None
    error: int


def streams_checks(loaded: LoadedLogs, pattern: str, topics: Topics) -> list[DowngradeCheck]:
    """Return the checks of all groups of Kafka Streams whose id matches the pattern."""
    checks: list[DowngradeCheck] = []
    for summary in group_summaries(loaded):
        if not (fnmatchcase(summary.group_id, pattern) or summary.group_id == pattern) or summary.kind not in ("classic", "streams"):
            continue
        for found in find_group(loaded, summary.group_id):
            description = describe_found_group(found, topics)
            if summary.kind == "streams":
                checks += _of_streams_group(description)
            elif description.assignor == _ASSIGNOR:
                checks += _of_classic(description)
    return checks


def _of_classic(description: GroupDescription) -> Iterator[DowngradeCheck]:
    group_id = description.summary.group_id
    known = {member.member_id: _versions(member) for member in description.members}
    for member in description.members:
        yield DowngradeCheck(group_id, "classic", f"member {member.member_id}", *_member_words(member, known[member.member_id]))
    yield DowngradeCheck(group_id, "classic", "upgrade", *_progress(list(known.values())))


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
    """Say how far the group's upgrade is. The leader assigns with the lowest version that any member uses (KIP-268)."""
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


def _of_streams_group(description: GroupDescription) -> Iterator[DowngradeCheck]:
    """Check a group of the streams protocol, where only the epochs of topologies matter."""
    group_id = description.summary.group_id
    epochs = {member.member_id: member.details.get("topology_epoch") for member in description.members}
    newest = max((epoch for epoch in epochs.values() if isinstance(epoch, int)), default=None)
    for member_id, epoch in epochs.items():
        is_behind = newest is not None and epoch != newest
        yield DowngradeCheck(group_id, "streams", f"member {member_id}", "breaks" if is_behind else "ok", f"topology epoch {epoch}")
    yield DowngradeCheck(
        group_id, "streams", "upgrade", "ok", "the broker assigns: versions of metadata do not matter; a topology changes its epoch"
    )
