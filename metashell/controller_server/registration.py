"""Makes this controller known to the active one, again after every start, so that features are upgraded only where all can follow.

This module imports asyncio, so it is itself imported inside functions.
Source: kafka.server.ControllerRegistrationManager; controller.md 14.
"""

from __future__ import annotations


class Registration:
    """Sends ControllerRegistration until the committed image has this process."""

    def look(self) -> None:
        """The committed image, or the leader, may have changed."""
        raise NotImplementedError

    async def close(self) -> None:
        """Send nothing more."""
        raise NotImplementedError
