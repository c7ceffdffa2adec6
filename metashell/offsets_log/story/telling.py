"""The story of one group from the raw records of its log."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from metashell.errors import DecodeError
from metashell.groups.record import Record
from metashell.groups.topics import Topics
from metashell.offsets_log.decoding import COMMIT_TYPES, GROUP_METADATA, Decoder, UnknownTypeError
from metashell.offsets_log.fold import RawRecord
from metashell.offsets_log.story.classic import ClassicTeller
from metashell.offsets_log.story.commits import CommitTeller
from metashell.offsets_log.story.events import Event, Moment, Story
from metashell.offsets_log.story.modern import ROLES, ModernTeller


def story_of(group_id: str, raw_records: Iterable[RawRecord], topics: Topics, decoder: Decoder) -> Story:
    """The events and rebalances of a group. What does not decode is an event too. Shape: the records are in the order of the log."""
    story = Story(group_id)
    teller = _Teller(story, topics)
    for _, batch in groupby(raw_records, key=lambda raw: raw.batch):
        decoded: list[tuple[Record, RawRecord]] = []
        for raw in batch:
            story.ended = Moment(raw.offset, raw.timestamp_ms)
            try:
                decoded.append((decoder.record(raw.key, raw.value), raw))
            except UnknownTypeError as error:
                story.events.append(Event(moment=story.ended, kind="unknown", text=str(error)))
            except DecodeError as error:
                story.events.append(Event(moment=story.ended, kind="unreadable", text=str(error)))
        teller.tell(decoded)
    teller.end()
    return story


class _Teller:
    def __init__(self, story: Story, topics: Topics) -> None:
        self.story = story
        self.classic = ClassicTeller(story)
        self.modern = ModernTeller(story, topics)
        self.commits = CommitTeller(story)

    def tell(self, batch: list[tuple[Record, RawRecord]]) -> None:
        values = [record.value for record, _ in batch if record.type == GROUP_METADATA and record.value is not None]
        kinds = {ROLES[record.type][0] for record, _ in batch if record.type in ROLES and record.value is not None}
        is_ended = any(record.type in ROLES and ROLES[record.type][1] == "group" and record.value is None for record, _ in batch)
        kept = {member.member_id for value in values for member in value.members}
        self.modern.becomes_classic = is_ended and bool(values)
        self.modern.carried = self.classic.member_ids if kinds else frozenset(kept) if is_ended else frozenset()
        removed: list[tuple[Record, RawRecord]] = []
        if any(raw.after_gap for _, raw in batch):
            self.classic.has_gap = self.modern.has_gap = True
        for record, raw in batch:
            moment = Moment(raw.offset, raw.timestamp_ms)
            if record.type in COMMIT_TYPES:
                if record.value is None:
                    removed.append((record, raw))
                else:
                    self.commits.tell(record, moment, is_held_back=raw.producer_id >= 0)
            elif record.type == GROUP_METADATA and record.value is None:
                if kinds:
                    kind = sorted(kinds)[0]
                    self.classic.end(moment, kind="upgraded", text=f"the group became a {kind} group")
                else:
                    self.classic.end(moment)
            elif record.type == GROUP_METADATA:
                self.classic.tell(record.value, moment, self.modern.causes_of_downgrade(moment) if is_ended and kept else ())
            elif record.type in ROLES:
                self.modern.tell(record, moment)
        if removed:
            first = Moment(removed[0][1].offset, removed[0][1].timestamp_ms)
            self.commits.removed([(record.key.topic, record.key.partition) for record, _ in removed], first)

    def end(self) -> None:
        self.modern.end()
        self.commits.end()
