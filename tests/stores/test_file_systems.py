"""What a URI is opened with, and what stores say as errors of one line."""

from __future__ import annotations

import pytest

from metashell.stores import file_systems


def test_googles_client_is_told_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        file_systems, "FileSystem", type("Asked", (), {"from_uri": staticmethod(lambda uri: asked.append(uri) or (None, ""))})
    )
    for uri in ("gs://bucket/x", "gs://bucket/x?scheme=http", "gs://bucket/x?retry_limit_seconds=5", "file:///x"):
        file_systems.file_system(uri)
    limit = "retry_limit_seconds=20"
    assert asked == [f"gs://bucket/x?{limit}", f"gs://bucket/x?scheme=http&{limit}", "gs://bucket/x?retry_limit_seconds=5", "file:///x"]
