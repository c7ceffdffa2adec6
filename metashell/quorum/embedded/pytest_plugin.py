"""The pytest fixture `kafka_quorum`: a quorum of controllers for one test.

pytest imports this module in every project that has metashell installed, so it imports nothing: what it needs comes when a test asks for
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from metashell.quorum.embedded import EmbeddedQuorum

MARKER = "kafka_quorum"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(controllers=1, **options): what the fixture kafka_quorum starts, as metashell.quorum.embedded.EmbeddedQuorum takes it",
    )


@pytest.fixture
def kafka_quorum(request: pytest.FixtureRequest) -> Iterator[EmbeddedQuorum]:
    """A running `metashell.quorum.embedded.EmbeddedQuorum`: one controller, or as the marker `kafka_quorum` says.

    The test fails at its end where a controller ended by itself.
    """
    from metashell.quorum.embedded import EmbeddedQuorum

    options: dict[str, Any] = {"controllers": 1}
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        if marker.args:
            raise pytest.UsageError(f"@pytest.mark.{MARKER} takes options by name, as in controllers=3")
        options |= marker.kwargs
    with EmbeddedQuorum(**options) as quorum:
        yield quorum
