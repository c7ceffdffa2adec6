"""What writing an image at a low metadata.version would drop, and who decides about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metashell.errors import MetashellError

VersionedRecord = tuple[Any, int]
"""A record's body and the version to write it in."""

LossHandler = Callable[[str], None]
"""Told once for each kind of information that does not fit; it raises, or the writing goes on without it."""


class ImageLossError(MetashellError):
    """Information that the wanted metadata.version cannot hold; `loss` says which."""

    def __init__(self, loss: str, level_name: str) -> None:
        super().__init__(f"metadata.version {level_name} cannot hold {loss}")
        self.loss = loss
