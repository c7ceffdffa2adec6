"""Which access control entries may be about a resource: too many rather than too few, as `partitions/hints.py` has it for partitions.

What is found here is held against an image before it counts, so one of these serves the newest image and the stable one alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from metashell.controller.steps import Steps
from metashell.image import Acl, AclsImage

PREFIXED: Final = 4
_PIECE: Final = 1000
_Place = tuple[int, int, str]
"""(resource type, pattern type, name)."""


class AclHints:
    """The ids of entries by what they are about."""

    def __init__(self) -> None:
        self._ids: dict[_Place, dict[bytes, None]] = {}
        # How many prefixes of each length there are, by type: a name is looked up by its beginnings of these lengths alone.
        self._lengths: dict[int, dict[int, int]] = {}

    def add_image(self, acls: AclsImage) -> Steps[None]:
        for number, (id, acl) in enumerate(acls.by_id.items(), 1):
            self.add(id, acl)
            if not number % _PIECE:
                yield

    def add(self, id: bytes, acl: Acl) -> None:
        place = _place(acl)
        ids = self._ids.get(place)
        if ids is None:
            ids = self._ids[place] = {}
            if acl.pattern_type == PREFIXED:
                lengths = self._lengths.setdefault(acl.resource_type, {})
                lengths[len(acl.resource_name)] = lengths.get(len(acl.resource_name), 0) + 1
        ids[id] = None

    def forget(self, id: bytes, acl: Acl) -> None:
        """Drop an entry that no view knows."""
        place = _place(acl)
        ids = self._ids.get(place)
        if ids is None or id not in ids:
            return
        del ids[id]
        if not ids:
            del self._ids[place]
            if acl.pattern_type == PREFIXED:
                lengths = self._lengths[acl.resource_type]
                lengths[len(acl.resource_name)] -= 1
                if not lengths[len(acl.resource_name)]:
                    del lengths[len(acl.resource_name)]

    def at(self, acls: AclsImage, resource_type: int, pattern_type: int, name: str) -> Iterator[Acl]:
        """The entries of an image that name exactly this."""
        for id in self._ids.get((resource_type, pattern_type, name), ()):
            acl = acls.by_id.get(id)
            if acl is not None and _place(acl) == (resource_type, pattern_type, name):
                yield acl

    def prefixed(self, acls: AclsImage, resource_type: int, name: str) -> Iterator[Acl]:
        """The entries of an image whose prefix a name begins with."""
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name):
                yield from self.at(acls, resource_type, PREFIXED, name[:length])


def _place(acl: Acl) -> _Place:
    return acl.resource_type, acl.pattern_type, acl.resource_name
