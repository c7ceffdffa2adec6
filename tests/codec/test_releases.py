"""Levels and names of metadata.version."""

from __future__ import annotations

import pytest

from metashell.codec.releases import NEWEST_LEVEL, metadata_version_name, record_versions


@pytest.mark.parametrize(
    ("level", "name"),
    [(1, "3.0-IV1"), (7, "3.3-IV3"), (14, "3.6-IV2"), (21, "3.9-IV0"), (25, "4.0-IV3"), (30, "4.3-IV0"), (33, "4.4-IV2")],
)
def test_levels_have_kafkas_names(level: int, name: str):
    assert metadata_version_name(level) == name


def test_a_level_that_is_not_known_is_named_by_its_number():
    assert metadata_version_name(NEWEST_LEVEL + 1) == str(NEWEST_LEVEL + 1)
    assert metadata_version_name(0) == "0"


def test_record_versions_never_go_down_with_the_level():
    versions = [record_versions(level) for level in range(1, NEWEST_LEVEL + 1)]
    assert versions == sorted(versions)
    assert versions[0] == (0, 0)
    assert versions[-1] == (4, 2)
