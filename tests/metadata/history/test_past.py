"""Images as of an offset or a time, what touched a path, and what differs: each held to a replay of everything."""

from __future__ import annotations

import gc
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batches import RecordBatch
from metashell.codec.dispatch import METADATA_TYPES
from metashell.common.errors import MetashellError, UsageError
from metashell.common.values import uuid_text
from metashell.demo import demo_directory
from metashell.disk.source import DirectorySource
from metashell.metadata.history import Moment, OffsetsWithImage, Past, Target, Timeline, common_offset, parse_moment
from metashell.metadata.history.sources import opener_of
from metashell.metadata.history.touched import ALL_TYPES, target_of
from metashell.metadata.image import MetadataImage, load_image
from metashell.metadata.image.differences import _PLACES as PLACES
from metashell.metadata.image.differences import Origin, Step, differences
from metashell.metadata.image.loader import ImageLoader
from metashell.metadata.image.writer import image_digest
from metashell.shell.differences import ChangeWatch
from tests.metadata.history.worlds import busy_log, leaves, past_of, tree_of
from tests.metadata.image.batches import ListSource, batch_of_values, record, value
from tests.quick import quick

PATHS = (
    "image/topics/byName/orders",
    "image/topics/byName/orders/0",
    "image/topics/byName/größen/0",
    "image/topics/byName/a",
    "image/cluster/brokers/1",
    "image/cluster/controllers/2",
    "image/cluster",
    "image/configs/TOPIC:orders",
    "image/configs/TOPIC:orders/retention.ms",
    "image/configs/BROKER:1",
    "image/configs/BROKER",
    "image/configs",
    "image/features",
    "image/acls",
    "image/scram",
    "image/delegationToken",
    "image/producerIds",
)


def changes_of(past: Past, target: Target, path: str) -> list[tuple[object, ...]]:
    """Every change of a path as a target's story gives it."""
    watch = ChangeWatch([path.split("/")])
    found = []
    for touch in Timeline(past, target):
        step = Step(touch.before, touch.after, None)
        places = [(place, touch.origin) for place in touch.places]
        for change in watch.changes_at(places, step, tree_of(touch.before), tree_of(touch.after), False):
            found.append((change.origin, change.kind, change.path, change.before, change.after))
    return found


SEEDS = (1, 2, 3, 4)


def test_every_record_that_changes_an_image_can_touch_a_path() -> None:
    assert {type for type, name in METADATA_TYPES.items() if name in PLACES} == ALL_TYPES


@pytest.mark.parametrize("seed", quick(SEEDS, 2))
def test_an_image_at_an_offset_is_that_of_all_records_before_it_in_whatever_order_offsets_are_asked_for(seed: int, monkeypatch):
    monkeypatch.setattr("metashell.metadata.history.past.ANCHOR_SPACING", 1)
    batches = busy_log(seed)
    past = past_of(batches)
    for end in (200, 30, *range(1, 240, 2)):
        direct = load_image(ListSource(log=batches), end_offset=end)
        assert image_digest(past.image(end)) == image_digest(direct), end


@pytest.mark.parametrize("seed", quick(SEEDS, 2))
def test_what_touched_a_path_is_what_a_replay_of_everything_finds(seed: int):
    past = past_of(busy_log(seed))
    for path in PATHS:
        found = changes_of(past, target_of(path.split("/")), path)
        assert found == changes_of(past, Target(ALL_TYPES, has_controls=True), path), path
        assert found, path


@pytest.mark.parametrize("seed", quick(SEEDS, 2))
def test_a_path_by_id_has_what_happened_to_that_topic_alone(seed: int):
    past = past_of(busy_log(seed))
    ids = {touch.places[0][1] for touch in Timeline(past, Target(ALL_TYPES)) if touch.origin.record == "TOPIC_RECORD"}
    for id in ids:
        for path in (f"image/topics/byId/{uuid_text(id)}", f"image/topics/byId/{uuid_text(id)}/0"):
            found = changes_of(past, target_of(path.split("/")), path)
            assert found == changes_of(past, Target(ALL_TYPES), path)
            assert found


@pytest.mark.parametrize("seed", SEEDS)
def test_touches_say_what_the_images_on_both_sides_say(seed: int):
    batches = busy_log(seed)
    path = "/image/topics/byName/orders/0"
    last = None
    for _, kind, where, before, after in changes_of(past_of(batches), target_of(path.split("/")[1:]), path[1:]):
        assert (where, before) == (path, last)
        last = None if kind == "removed" else after
    assert leaves(load_image(ListSource(log=batches))).get(path) == last


@pytest.mark.parametrize("seed", SEEDS)
def test_differences_are_exactly_the_leaves_that_differ(seed: int):
    batches = busy_log(seed)
    past = past_of(batches)
    for old_end, new_end in ((1, 240), (60, 180), (180, 60), (100, 101), (120, 150), (150, 150), (200, 210)):
        old = load_image(ListSource(log=batches), end_offset=old_end)
        new = load_image(ListSource(log=batches), end_offset=new_end)
        was, now = leaves(old), leaves(new)
        expected = {path for path in was.keys() | now.keys() if path not in was or path not in now or was[path] != now[path]}
        assert different_leaves(old, new) == expected
        # The same of images that share what did not change.
        assert different_leaves(past.image(old_end), past.image(new_end)) == expected


def different_leaves(old: MetadataImage, new: MetadataImage) -> set[str]:
    """The leaves that `differences` finds; of a topic as a whole its own, which are its id and its name."""
    was, now = leaves(old), leaves(new)
    found = set()
    places = [(place, Origin(-1, -1, -1, "")) for place in differences(old, new)]
    for change in ChangeWatch([]).changes_at(places, Step(old, new, None), tree_of(old), tree_of(new), False):
        if change.type == "topic":
            own = {f"{change.path}/id", f"{change.path}/name"}
            found |= {path for path in own if was.get(path) != now.get(path)}
        else:
            found.add(change.path)
    return found


def test_a_directory_is_read_from_its_older_checkpoints_and_from_the_log_alone():
    past = Past(opener_of(demo_directory()))
    for end in (521, 330, 329, 328, 200, 141, 140, 30):
        with DirectorySource(past.path, up_to=-1) as source:
            direct = load_image(source, end_offset=end)
        assert image_digest(past.image(end)) == image_digest(direct), end


def test_a_time_is_the_state_after_the_last_record_that_was_written_by_then():
    past = Past(opener_of(demo_directory()))
    image = past.image(300)
    written_ms = image.provenance.timestamp_ms
    end = past.offset_of(Moment("then", time_ms=written_ms))
    assert end >= 300
    assert past.image(end).provenance.timestamp_ms == written_ms
    assert past.offset_of(Moment("before", time_ms=written_ms - 1)) < end


@pytest.mark.parametrize("end", [522, 10**12])
def test_an_offset_after_the_end_is_refused(end: int):
    with pytest.raises(MetashellError, match="ends at 521"):
        Past(opener_of(demo_directory())).image(end)


def test_a_time_before_the_log_is_refused():
    with pytest.raises(MetashellError, match="begins with offset 0"):
        Past(opener_of(demo_directory())).offset_of(Moment("1970", time_ms=0))


# ---- a node goes on meanwhile


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The metadata directory of a copy of the demo: a log from offset 0 in two segments, checkpoints at 141 and 329, and its end at 521."""
    shutil.copytree(demo_directory(), tmp_path / "node")
    return tmp_path / "node" / "__cluster_metadata-0"


FIRST, SECOND = f"{0:020d}.log", f"{251:020d}.log"


def direct(path: Path, end: int) -> MetadataImage:
    """The image of the log alone."""
    with DirectorySource(str(path), up_to=-1) as source:
        return load_image(source, end_offset=end)


def test_what_retention_has_removed_is_told_and_the_rest_is_as_before(node: Path):
    past = Past(opener_of(str(node)))
    before = {end: image_digest(past.image(end)) for end in (100, 200, 400)}
    assert past.starts() == [0, 141, 329]
    (node / FIRST).unlink()
    (node / f"{141:020d}-{1:010d}.checkpoint").unlink()
    assert past.starts() == [329]
    assert image_digest(past.image(400)) == before[400]
    for end in (100, 200):
        with pytest.raises(MetashellError, match="the oldest state here is that of offset 329"):
            past.image(end)


def test_a_log_that_was_cut_and_written_anew_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("metashell.metadata.history.past.ANCHOR_SPACING", 1)
    old, new = busy_log(1), busy_log(2)
    file = tmp_path / FIRST
    file.write_bytes(b"".join(batch.data for batch in old))
    past = Past(opener_of(str(tmp_path)))
    for end in (30, 150, 200, 239):
        assert image_digest(past.image(end)) == image_digest(load_image(ListSource(log=old), end_offset=end))
    # A follower has cut its log at the 20th batch, and a later leader gave it others.
    kept = old[:20]
    cut = kept[-1].header.last_offset + 1
    data = bytearray(b"".join(batch.data for batch in kept))
    while cut < 239:
        values = [record.value for batch in new for record in batch.records() if batch.header.base_offset >= 30][: min(7, 239 - cut)]
        data += batch_of_values(values, cut).data
        cut += len(values)
    file.write_bytes(data)
    with DirectorySource(str(tmp_path)) as source:
        rewritten = list(source.log_batches(0))
    assert {batch.header.crc for batch in rewritten} & {batch.header.crc for batch in old}
    for end in (200, 150, 239, 30):
        assert image_digest(past.image(end)) == image_digest(load_image(ListSource(log=rewritten), end_offset=end)), end


def test_a_damaged_checkpoint_is_named_and_the_log_before_it_is_used(node: Path):
    checkpoint = node / f"{329:020d}-{1:010d}.checkpoint"
    data = bytearray(checkpoint.read_bytes())
    data[400] ^= 1
    checkpoint.write_bytes(data)
    image = Past(opener_of(str(node))).image(400)
    assert image_digest(image) == image_digest(direct(node, 400))
    assert [fault.file for fault in image.faults] == [str(checkpoint)]
    assert image.provenance.certain_to == 141


def test_all_before_the_end_of_a_checkpoint_is_certain(node: Path):
    past = Past(opener_of(str(node)))
    assert [past.image(end).provenance.certain_to for end in (400, 100, 329, 330)] == [329, 100, 329, 329]
    assert past.newest().provenance.certain_to == 329
    assert past.reach() == OffsetsWithImage(0, 521, 329)
    alone = Past(opener_of(str(node / f"{141:020d}-{1:010d}.checkpoint")))
    assert alone.reach() == OffsetsWithImage(141, 141, 141)


def test_a_later_segment_alone_has_no_past(node: Path):
    with pytest.raises(MetashellError, match="begins with offset 251 and lacks what came before"):
        Past(opener_of(str(node / SECOND))).image(300)


@pytest.mark.parametrize("stop", range(1, 40, 6))
def test_ctrl_c_while_an_image_is_made_leaves_the_next_one_right(stop: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("metashell.metadata.history.past.ANCHOR_SPACING", 1)
    batches = busy_log(3)
    past = past_of(batches)
    real = ImageLoader.load_batch
    left = [stop]

    def load(loader: ImageLoader, *args: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        real(loader, *args)

    monkeypatch.setattr(ImageLoader, "load_batch", load)
    with pytest.raises(KeyboardInterrupt):
        past.image(200)
    assert gc.isenabled()
    for end in (200, 40, 239):
        assert image_digest(past.image(end)) == image_digest(load_image(ListSource(log=batches), end_offset=end))


def transaction() -> list[RecordBatch]:
    """Two settings in a metadata transaction, in three batches: offsets 1 to 4."""
    setting = partial(record, "ConfigRecord", resource_type=2, resource_name="t", value="1")
    bodies = [[record("NoOpRecord")], [record("BeginTransactionRecord"), setting(name="a")], [setting(name="b")]]
    bodies.append([record("EndTransactionRecord")])
    batches, at = [], 0
    for part in bodies:
        batches.append(batch_of_values([value(body) for body in part], at))
        at += len(part)
    return batches


def test_in_the_middle_of_a_transaction_nothing_of_it_shows_and_nothing_is_wrong():
    past = past_of(transaction())
    for end in (2, 3, 4):
        image = past.image(end)
        assert (image.faults, dict(image.configs), image.provenance.end_offset) == ((), {}, end)
    assert set(past.image(5).configs[2, "t"]) == {"a", "b"}
    for since, names in ((0, "ab"), (2, "ab"), (3, "b")):
        story = Timeline(past, Target(ALL_TYPES), since=since)
        assert "".join(touch.places[0][3] for touch in story) == names
    # What ends later has not happened yet.
    assert list(Timeline(past, Target(ALL_TYPES), until=4)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_story_up_to_an_offset_is_the_beginning_of_the_whole(seed: int):
    past = past_of(busy_log(seed))
    whole = list(Timeline(past, Target(ALL_TYPES)))
    assert len(whole) > 100
    for until in range(0, 240, 17):
        part = [touch.origin for touch in Timeline(past, Target(ALL_TYPES), until=until)]
        expected = [touch.origin for touch in whole if touch.origin.offset < until]
        assert part == expected[: len(part)]
        # Those of a transaction that is open there are missing.
        assert len(expected) - len(part) <= 5


def test_records_that_cannot_be_read_are_faults_of_the_story():
    batches = transaction()
    spoilt = batch_of_values([b"\x01\x04", b"\x01\x04\x09" + bytes(4)], 5)
    story = Timeline(past_of([*batches, spoilt]), Target(ALL_TYPES))
    assert len(list(story)) == 2
    assert len(story.faults) == 2 and all("offset" in fault for fault in story.faults)


reaches = st.tuples(st.integers(0, 30), st.integers(0, 30), st.none() | st.integers(0, 30)).map(
    lambda t: OffsetsWithImage(min(t[:2]), max(t[:2]), None if t[2] is None else min(t[2], max(t[:2])))
)


@given(st.lists(reaches, min_size=1, max_size=4))
def test_the_common_offset_is_the_highest_certain_one_that_all_have(made: list[OffsetsWithImage]):
    certain = [reach.certain_to for reach in made if reach.certain_to is not None]
    fitting = [offset for offset in range(31) if all(r.first <= offset <= r.end for r in made) and (not certain or offset <= max(certain))]
    common = common_offset(made)
    if common is None:
        # An offset below is of no use: it would have to lie before one's first image.
        assert min(min(r.end for r in made), max(certain, default=99)) < max(r.first for r in made)
    else:
        assert (common.offset, common.is_certain) == (max(fitting), bool(certain))


def test_where_images_begin_is_told_with_the_time_of_the_first_record_from_there_on():
    past = Past(opener_of(demo_directory()))
    starts, times = past.starts(), past.times(10)
    assert [offset for offset, _ in times] == [start for start in starts if start < past.end_offset()]
    assert times[-1:] == past.times(1) or times[-1][0] != starts[-1]
    assert [time for _, time in times] == sorted(time for _, time in times)
    assert past.first_time_ms() == times[0][1]


NOW_MS = 1_795_220_000_000


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("2026-11-20T03:00", 1_795_143_600_000),
        ("2026-11-20T03:00:00Z", 1_795_143_600_000),
        ("2026-11-20T04:00+01:00", 1_795_143_600_000),
        ("2026-11-20", 1_795_132_800_000),
        ("-2h", NOW_MS - 7_200_000),
        ("10m", NOW_MS - 600_000),
    ],
)
def test_a_time_is_utc_where_no_zone_is_given_or_counts_back_from_now(text, time_ms):
    assert parse_moment(text, NOW_MS).time_ms == time_ms


def test_a_number_is_an_offset_however_long():
    assert parse_moment("123456789012", NOW_MS).offset == 123_456_789_012


def test_end_is_neither():
    assert parse_moment("end", NOW_MS).is_end


@pytest.mark.parametrize("text", ["", "yesterday", "-5", "2026-13-01", "12.5", "٣", "9" * 30, "-2y", "2030-01-01"])
def test_anything_else_and_what_has_not_come_is_refused_in_one_line(text):
    with pytest.raises(UsageError) as caught:
        parse_moment(text, NOW_MS)
    assert "\n" not in str(caught.value)
