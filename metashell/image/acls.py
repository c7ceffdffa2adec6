"""Access control entries, by id."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from immutables import Map

from metashell.codec.registry import message_type
from metashell.image.faults import ReplayError
from metashell.image.loss import VersionedRecord
from metashell.values import uuid_text


class Acl(NamedTuple):
    """One access control entry; types, operation and permission are Kafka's codes of them."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


_of_record = attrgetter(*Acl._fields)


def acl_of(record: Any) -> Acl:
    """The entry that an AccessControlEntryRecord describes."""
    return Acl._make(_of_record(record))


class AclsImage(NamedTuple):
    """All entries by their 16-byte ids."""

    by_id: Map[bytes, Acl] = Map()

    def write(self) -> Iterator[VersionedRecord]:
        """The records of all entries, ordered by id."""
        make = message_type("metadata", "AccessControlEntryRecord").cls
        for id, acl in sorted(self.by_id.items()):
            yield make(id=id, **acl._asdict()), 0


class AclsDelta:
    """Gathers entries that come and go."""

    def __init__(self, image: AclsImage) -> None:
        self._by_id = image.by_id.mutate()

    def replay_access_control_entry(self, record: Any) -> None:
        self._by_id[record.id] = acl_of(record)

    def replay_remove_access_control_entry(self, record: Any) -> None:
        """Errors: ReplayError for an id that has no entry."""
        if self._by_id.pop(record.id, None) is None:
            raise ReplayError(f"no access control entry has the id {uuid_text(record.id)}")

    def apply(self) -> AclsImage:
        return AclsImage(self._by_id.finish())
