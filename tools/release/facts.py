"""What is known of a release of Kafka or of this tree, by area, and how two of them differ."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from metashell.codec.schema import parse_schema
from tools.release.lines import meaning

AREAS: Final = ("messages", "apis", "levels", "questions", "features", "errors", "settings", "help")
KNOWN: Final = "redaction"
"""The kind of a setting's entry in the list by which values of brokers are shown or redacted."""
_SHOWN_MAX: Final = 200
"""Characters of a line; documentation of settings is longer."""
_BEFORE: Final = 40


class Message(NamedTuple):
    """A message's schema text. `is_partial`: it comes from a class, which does not say everything."""

    text: str
    is_partial: bool = False


@dataclass
class Facts:
    """Everything by a name: messages by `family/Name`, controllers' APIs by key, levels by number, settings by `kind key`.

    `questions` has, for a level, what Kafka's own class of levels says of it that is not said of the level before.
    `unread` says what could not be found out.
    """

    source: str
    messages: dict[str, Message] = field(default_factory=dict)
    apis: dict[str, str] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    help: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


class Difference(NamedTuple):
    """One name that differs: what the older side says of it, and what the newer one does; None where it has nothing."""

    area: str
    name: str
    old: tuple[str, ...] | None
    new: tuple[str, ...] | None

    def lines(self) -> Iterator[str]:
        """A heading, and below it the lines of a diff."""
        yield f"{self.area} {self.name}" + ("" if self.old else ": new") + ("" if self.new else ": gone")
        matcher = difflib.SequenceMatcher(None, self.old or (), self.new or (), autojunk=False)
        for kind, low, high, start, end in matcher.get_opcodes():
            if kind == "equal":
                continue
            gone, come = (self.old or ())[low:high], (self.new or ())[start:end]
            # Of one long line that changed, the part from just before the first change on.
            skipped = _same_start(gone[0], come[0]) - _BEFORE if len(gone) == len(come) == 1 else 0
            yield from (_shown("-", line, skipped) for line in gone)
            yield from (_shown("+", line, skipped) for line in come)


def _same_start(one: str, other: str) -> int:
    return next((index for index, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), min(len(one), len(other)))


def _shown(sign: str, line: str, skipped: int) -> str:
    if len(line) <= _SHOWN_MAX:
        return f"    {sign} {line}"
    start = max(0, skipped)
    end = "..." if len(line) > start + _SHOWN_MAX else ""
    return f"    {sign} {'...' if start else ''}{line[start : start + _SHOWN_MAX]}{end}"


def differences(old: Facts, new: Facts, areas: Iterable[str]) -> list[Difference]:
    """What differs, area by area; of messages only in the versions that the newer side has."""
    found: list[Difference] = []
    for area in AREAS:
        if area not in areas:
            continue
        if area == "messages":
            found += _message_differences(old.messages, new.messages)
            continue
        before, after = getattr(old, area), getattr(new, area)
        if area == "settings":
            # A kind that could not be read of one side is no difference: `unread` says so.
            kinds = {name.partition(" ")[0] for name in before} & {name.partition(" ")[0] for name in after}
            before, after = ({name: text for name, text in side.items() if name.partition(" ")[0] in kinds} for side in (before, after))
        for name in sorted({*before, *after}, key=_natural):
            if before.get(name) != after.get(name):
                found.append(Difference(area, name, _lines(before.get(name)), _lines(after.get(name))))
    return found


def _message_differences(old: Mapping[str, Message], new: Mapping[str, Message]) -> Iterator[Difference]:
    for name in sorted({*old, *new}):
        one, other = old.get(name), new.get(name)
        if other is None:
            assert one is not None
            if parse_schema(one.text).last_release is None:
                yield Difference("messages", name, tuple(one.text.splitlines()[:1]), None)
            continue
        span = parse_schema(other.text).versions
        if one is None:
            yield Difference("messages", name, None, tuple(meaning(other.text, span.low, span.high)))
            continue
        ours = parse_schema(one.text).versions
        is_partial = other.is_partial or one.is_partial
        before = tuple(meaning(one.text, span.low, max(span.high, ours.high), is_partial=is_partial))
        after = tuple(meaning(other.text, span.low, span.high, is_partial=is_partial))
        if before == after and ours.low >= span.low and not is_partial:
            # The release says all that the text can say: words without a meaning for bytes too, as `entity`.
            before, after = tuple(one.text.splitlines()), tuple(other.text.splitlines())
        if before != after:
            yield Difference("messages", name, before, after)


def _lines(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(text.splitlines())


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.lstrip("-").isdigit() else (0, name)


def levels_with_questions(levels: Iterable[tuple[int, str, bool, list[str]]]) -> tuple[dict[str, str], dict[str, str]]:
    """The lines of levels, and what each of them answers otherwise than the one before; `isSupported` names are Kafka's."""
    shown, questions = {}, {}
    before: set[str] = set()
    for level, name, is_released, answers in levels:
        versions = dict(answer.split("=") for answer in answers if "=" in answer)
        records = f"RegisterBrokerRecord {versions['registerBrokerRecordVersion']}, PartitionRecord {versions['partitionRecordVersion']}"
        shown[str(level)] = level_line(name, records, is_released=is_released)
        changed = sorted({*answers} - before - {"didMetadataChange"}) + ["didMetadataChange"] * ("didMetadataChange" in answers)
        if changed:
            questions[str(level)] = "\n".join(changed)
        before = {*answers}
    return shown, questions


def level_line(name: str, records: str, *, is_released: bool) -> str:
    """One level as both sides write it."""
    return f"{name}{'' if is_released else ' (unreleased)'}: {records}"


def settings_of(kind: str, text: str) -> dict[str, str]:
    """The lines of one of our files of settings, by kind and key."""
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {f"{kind} {key}": "\n".join(" ".join(rest[:2] + rest[2:5]).split("\n") + rest[5:]) for key, *rest in lines}
