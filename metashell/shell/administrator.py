"""What the shell needs to change the cluster: somebody who runs administration commands; cli hands one in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.nodes.subjects import Subject
    from metashell.shell.deeds import Deed


class Administrator(Protocol):
    """Who runs administration commands on the cluster that the shell shows."""

    def perform(self, called: str, deed: Deed, options: Sequence[str]) -> int:
        """Run a command, which prints its answer, under the name `called`; its status. Errors: MetashellError."""

    def committed_offset(self) -> int | None:
        """An offset below which all lies that was done; None where that cannot be said."""

    def keys(self, subject: Subject) -> Sequence[str]:
        """The keys that a resource or an entity may have."""
