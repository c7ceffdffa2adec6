"""What a person has to decide about what a release changed: one entry for each thing, with the place where it is decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.releases import FEATURES, NEWEST_LEVEL, RELEASES
from metashell.codec.schema import parse_schema, snake_case
from metashell.metadata.image.image import _ROUTES
from metashell.tables.dictionary import dictionary_rows
from tools.release.facts import Difference, Facts

_LOG_ONLY: Final = frozenset(("BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord", "AccessControlRecord"))
"""Records that change no image: the loader takes those of transactions, the last one was never written."""
_COORDINATORS: Final = ("offsets", "share", "transactions")


THEN: Final = (
    "python -m tools.release.golden FOLDER",
    "python -m tools.make_voice_golden",
    "python -m tools.make_admin_golden --check",
    "python -m tools.make_handmade_golden",
    "python -m tools.interop.brokers_story --controllers {versions} --release {before} --seconds 600",
    "pytest tests/interop/test_storage.py tests/interop/test_mixed_quorum.py tests/interop/test_brokers.py tests/interop/test_twins.py",
)
"""What makes golden data of the release, and runs its nodes beside ours and those of the release before."""


def decisions(found: list[Difference], release: Facts) -> Iterator[str]:
    """Lines for a person, none where the tree is complete."""
    lines = [*_of_records(release), *_of_levels(found, release), *_of_features(found)]
    changed = [name for one in found if one.area == "messages" and (name := _changed_api(one))]
    if changed:
        lines.append(
            f"{', '.join(dict.fromkeys(changed))}: who writes and who reads what is new; which versions are advertised and answered"
        )
    for difference in found:
        lines += _of_difference(difference, release)
    if lines:
        yield "\nTo decide (docs/new-release.md):"
        yield from (f"  - {line}" for line in dict.fromkeys(lines))
        yield "Then, with the release in RELEASES, golden data and nodes of both makers:"
        before = next(one for one in reversed(RELEASES) if one.patch != release.source)
        words = {"versions": f"ours,{release.source},{before.patch}", "before": before.name}
        yield from (f"  $ {command.format(**words)}" for command in THEN)


def _of_records(release: Facts) -> Iterator[str]:
    """Records that some part of this tree does not take, whether or not their schema is here already."""
    since = {table: words.split() for table, words, _ in dictionary_rows("tables.tsv")}
    for name in sorted(release.messages):
        family, _, record = name.partition("/")
        if family != "metadata":
            continue
        message = parse_schema(release.messages[name].text)
        if message.key is not None and message.key not in METADATA_TYPES:
            yield f"{record}: since which release (_RECORD_TYPES_SINCE, codec/releases.py), and its paths (metadata/history/touched.py)"
        if record not in _ROUTES and record not in _LOG_ONLY:
            yield f"{record}: what it does to an image (_ROUTES of metadata/image/image.py), and its writer (metadata/image/writer.py)"
        newest = message.versions.high
        if len(since.get(snake_case(record.removesuffix("Record")), ())) <= newest:
            yield f"{record} version {newest}: its first level, what it holds (tables.tsv, fields.tsv of tables/meanings)"


def _of_levels(found: list[Difference], release: Facts) -> Iterator[str]:
    names = [one.name for one in found if one.area == "levels"]
    for level in names:
        told = release.questions.get(level, "").replace("\n", ", ")
        yield f"level {level} ({release.levels.get(level, 'gone')}): what begins there; Kafka says {told or 'nothing new'}"
    if names:
        yield "downgrades: a level with didMetadataChange is not left downwards (quorum/controller/cluster.py)"


def _of_features(found: list[Difference]) -> Iterator[str]:
    for one in found:
        if one.area != "features" or one.new is None:
            continue
        name, _, level = one.name.partition(" ")
        if name == "metadata.version":
            yield f"a row for the release in RELEASES of codec/releases.py: it supports {one.new[0]}, names here end at {NEWEST_LEVEL}"
        elif level and name in FEATURES:
            yield f'{name} level {level}, {one.new[0]}: FeatureLevel("{_next_release()}", ...) in FEATURES, and what it means here'
        elif level == "0":
            yield f"the feature {name} is new: a row in FEATURES of codec/releases.py, and what the controller does with it"


def _changed_api(one: Difference) -> str:
    """The api of a request or response that is not new, nothing for another message."""
    family, _, name = one.name.partition("/")
    return name.removesuffix("Request").removesuffix("Response") if family in ("request", "response") and one.old and one.new else ""


def _next_release() -> str:
    major, minor = RELEASES[-1].name.split(".")
    return f"{major}.{int(minor) + 1}"


def _of_difference(one: Difference, release: Facts) -> Iterator[str]:
    family, _, name = one.name.partition("/")
    if one.area == "messages":
        if family in ("request", "response"):
            message = None if one.new is None else parse_schema(release.messages[one.name].text)
            if message is not None and one.old is None and message.listeners:
                yield f"{name} (api {message.key}, {', '.join(message.listeners)}): who answers it, who asks it (codec/codes.py)"
        elif family in _COORDINATORS:
            yield f"{name}: what dump-log prints of it, what the coordinator keeps of it, its table (tables/meanings)"
        elif one.new is None:
            yield f"{name}: no release has it any more: `last in` in its head"
        elif family != "metadata":
            yield f"{name}: who reads and who writes it"
    elif one.area == "apis":
        told = "gone" if one.new is None else one.new[0]
        yield f"api {one.name} ({told}): its row in quorum/controller/authorizer.py, and its route (controller.py beside it) or another"
    elif one.area == "settings" and one.old is not None and one.new is not None and one.old[0] != one.new[0]:
        yield f"setting {one.name}: its type, default or check changed"
    elif one.area == "help":
        yield f"kafka-{one.name}: its options, in metashell/cli; then the golden cases"
