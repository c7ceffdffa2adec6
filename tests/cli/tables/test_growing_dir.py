"""A directory that its node goes on writing, cuts off and rolls: each look gives what was added, or an image made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.controllers.storage import clock_and_chance
from metashell.cli.inspect.live_tree import GrowingDirectory, Growth
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.releases import NEWEST_RELEASE
from metashell.common.errors import MetashellError
from metashell.disk.config import config_of
from metashell.disk.format import FormatRequest, plan_format, write_format
from metashell.disk.source import open_source
from metashell.metadata.image import load_image
from metashell.metadata.image.differences import touched_places
from tests.metadata.image.batches import record, value

FIRST = "00000000000000000000.log"


def batch_bytes(key: str, base_offset: int, epoch: int = 1) -> bytes:
    body = record("ConfigRecord", resource_type=2, resource_name="orders", name=key, value="1")
    return write_batch(base_offset, [Record(base_offset, 1, None, value(body))], leader_epoch=epoch)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "__cluster_metadata-0"
    place.mkdir()
    (place / FIRST).write_bytes(batch_bytes("a", 0) + batch_bytes("b", 1))
    return place


def growth_of(directory: Path) -> Growth:
    with open_source(str(directory)) as source:
        image = load_image(source)
    return Growth(GrowingDirectory(str(directory), image, 1 << 20), pause=lambda seconds: None)


def add(path: Path, data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data)


def keys(growth: Growth) -> list[str]:
    step = growth.look()
    assert step is not None
    return [place[3] for place in touched_places(step)]


def test_what_formatting_left_gives_way_to_the_first_log(directory: Path):
    config = {"process.roles": "controller", "node.id": "1", "controller.listener.names": "C", "listeners": "C://localhost:9093"}
    config |= {"controller.quorum.voters": "1@localhost:9093", "log.dirs": str(directory.parent / "log")}
    write_format(plan_format(config_of(config), FormatRequest(cluster_id="c"), clock_and_chance()), lambda planned: None)
    place = directory.parent / "log" / directory.name
    growth = growth_of(place)
    assert growth.start.features.metadata_version == NEWEST_RELEASE.newest_level
    assert growth.look() is None
    (place / FIRST).write_bytes((directory / FIRST).read_bytes())
    step = growth.look()
    assert step is not None and step.after.features.metadata_version is None
    add(place / FIRST, batch_bytes("c", 2))
    assert keys(growth) == ["c"]


def test_a_look_gives_what_was_added_and_only_once(directory: Path):
    growth = growth_of(directory)
    assert growth.look() is None
    add(directory / FIRST, batch_bytes("c", 2))
    assert keys(growth) == ["c"]
    assert growth.look() is None
    add(directory / FIRST, batch_bytes("d", 3) + batch_bytes("e", 4))
    assert keys(growth) == ["d", "e"]
    assert growth.next(1.0) is None


def test_half_a_batch_waits_for_its_other_half(directory: Path):
    growth = growth_of(directory)
    data = batch_bytes("c", 2)
    add(directory / FIRST, data[:30])
    assert growth.look() is None
    add(directory / FIRST, data[30:])
    assert keys(growth) == ["c"]


def test_a_new_segment_is_followed(directory: Path):
    growth = growth_of(directory)
    (directory / "00000000000000000002.log").write_bytes(batch_bytes("c", 2))
    assert keys(growth) == ["c"]


def test_what_is_cut_off_again_leads_to_an_image_made_anew(directory: Path):
    growth = growth_of(directory)
    add(directory / FIRST, batch_bytes("c", 2))
    assert keys(growth) == ["c"]
    whole = (directory / FIRST).read_bytes()
    (directory / FIRST).write_bytes(whole[: -len(batch_bytes("c", 2))])
    step = growth.look()
    assert step is not None and step.batches is None
    assert [place[3] for place in touched_places(step)] == ["c"]
    assert step.after.provenance.end_offset == 2


@pytest.mark.parametrize("looked", [False, True])
def test_another_batch_in_place_of_the_last_one_leads_to_an_image_made_anew(directory: Path, looked: bool):
    growth = growth_of(directory)
    add(directory / FIRST, batch_bytes("c", 2))
    if looked:
        assert keys(growth) == ["c"]
    else:
        growth = growth_of(directory)
    (directory / FIRST).write_bytes(batch_bytes("a", 0) + batch_bytes("b", 1) + batch_bytes("x", 2, 2) + batch_bytes("y", 3, 2))
    assert keys(growth) == ["c", "x", "y"]


def test_a_directory_that_goes_away_is_told(directory: Path):
    growth = growth_of(directory)
    (directory / FIRST).unlink()
    directory.rmdir()
    with pytest.raises(MetashellError, match=r"__cluster_metadata-0: No such file"):
        growth.look()


def test_each_view_but_the_first_is_of_what_is_there_then(directory: Path):
    feed = GrowingDirectory(str(directory), growth_of(directory).start, 1 << 20)
    add(directory / FIRST, batch_bytes("c", 2))
    ends = [feed.view().image.provenance.end_offset for _ in range(2)]
    add(directory / FIRST, batch_bytes("d", 3))
    ends.append(feed.view().image.provenance.end_offset)
    other = feed.subscribe()
    add(directory / FIRST, batch_bytes("e", 4))
    assert other.look() is not None
    ends.append(feed.view().image.provenance.end_offset)
    (directory / FIRST).write_bytes(batch_bytes("a", 0))
    ends.append(feed.view().image.provenance.end_offset)
    (directory / FIRST).unlink()
    directory.rmdir()
    ends.append(feed.view().image.provenance.end_offset)
    assert ends == [2, 3, 4, 5, 1, 1]
