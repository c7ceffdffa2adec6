"""README, docs and tests name the releases of the one table, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metashell.cli.inspect.checks import JUDGED
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.releases import (
    METADATA_VERSION,
    NEWEST_RELEASE,
    RELEASES,
    Release,
    knows_record_type,
    metadata_version_name,
    releases_from,
    supported_features,
)
from metashell.codec.schema import parse_schema
from metashell.groups.members.version_probing import LATEST_VERSIONS
from tests import golden_cases
from tests.java import TRIED
from tools.release.jars import release_facts

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
UP_TO = re.compile(r"Kafka 3\.\d+ to (\d+\.\d+)")
MEASURED = ("speed.md",)
"""Figures stay those of the release that they were taken beside."""
ACCESS_CONTROL = 6
"""A type of record that no release ever wrote; the last one that defined it was 3.3."""
VOICE = re.compile(r"Apache Kafka\s+(\d+\.\d+\.\d+)")


def table_line(release: Release) -> str:
    """A release as the page shows it."""
    features = {name.removesuffix(".version"): f"{low}-{high}" for name, (low, high) in supported_features(release).items()}
    levels = features.pop(METADATA_VERSION.removesuffix(".version"))
    others = ", ".join(f"{name} {levels}" for name, levels in features.items())
    return f"| {release.name} | {release.patch} | {levels} ({metadata_version_name(release.newest_level)}) | {others} |"


def test_the_page_about_new_releases_has_the_table() -> None:
    lines = (ROOT / "docs" / "new-release.md").read_text().splitlines()
    start = lines.index("| release | tried | metadata.version | other features |") + 2
    assert lines[start : lines.index("", start)] == [table_line(release) for release in RELEASES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_the_newest_release(page: Path) -> None:
    """`Kafka 3.9 to 4.4` is what runs beside ours, `Apache Kafka 4.4.0` whose voice ours is."""
    text = page.read_text(encoding="utf-8")
    assert set(UP_TO.findall(text)) <= {NEWEST_RELEASE.name}
    assert page.name in MEASURED or set(VOICE.findall(text)) <= {NEWEST_RELEASE.patch}


@pytest.mark.slow
@pytest.mark.parametrize(
    "release", [release for release in RELEASES if release.patch and release.name != "3.3"], ids=lambda release: release.name
)
def test_each_release_supports_what_the_table_says(release: Release) -> None:
    """What a class of it says; a feature that it has at level 0 alone is one that it does not have."""
    facts = release_facts(release.patch, frozenset({"messages"}))
    ranges = {name: text for name, text in facts.features.items() if "default" not in text}
    ours = {name: f"{low}-{high}" for name, (low, high) in supported_features(release).items()}
    assert ours == {name: text for name, text in ranges.items() if text != "0-0"}
    records = {parse_schema(message.text).key for name, message in facts.messages.items() if name.startswith("metadata/")}
    known = {type for type in METADATA_TYPES if knows_record_type(release, type)}
    assert known == records | {ACCESS_CONTROL}


def test_other_lists_of_releases_end_with_the_newest() -> None:
    assert tuple(release.name for release in releases_from(JUDGED[0])) == JUDGED
    assert [*LATEST_VERSIONS][-1] == NEWEST_RELEASE.name


def test_golden_data_is_of_releases_that_were_tried_and_of_the_newest() -> None:
    assert set(golden_cases.VERSIONS) <= set(TRIED)
    assert NEWEST_RELEASE.patch == golden_cases.NEWEST
