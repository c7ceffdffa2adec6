"""Elections that an operator asks for.

Source: KIP-460.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from metashell.admin.errors import AdminError, check_answer
from metashell.codec import messages
from metashell.codec.error_codes import ELECTION_NOT_NEEDED, NONE

if TYPE_CHECKING:
    from metashell.admin.admin import Admin


class ElectionType(IntEnum):
    """Who may win: the preferred replica if it is in sync, or any replica that is alive, which loses what it does not have."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Elected:
    """What came of the election of one partition; `is_needed` is False where the leader was right already."""

    topic: str
    partition: int
    is_needed: bool = True
    error: AdminError | None = None


def elect_leaders(admin: Admin, kind: ElectionType, partitions: Mapping[str, Sequence[int]] | None) -> list[Elected]:
    """Hold elections for these partitions, or without any for all that need one. Errors: AdminError for what is refused as a whole."""
    make = messages.ElectLeadersRequest
    asked = (
        None if partitions is None else tuple(make.TopicPartitions(topic=name, partitions=tuple(ids)) for name, ids in partitions.items())
    )
    answer = admin.ask_active(make(election_type=int(kind), topic_partitions=asked, timeout_ms=admin.timeout_ms))
    check_answer(answer.error_code)
    found = []
    for topic in answer.replica_election_results:
        for result in topic.partition_result:
            code = result.error_code
            error = (
                None
                if code in (NONE, ELECTION_NOT_NEEDED)
                else AdminError(code, result.error_message, f"{topic.topic}:{result.partition_id}")
            )
            found.append(Elected(topic=topic.topic, partition=result.partition_id, is_needed=code != ELECTION_NOT_NEEDED, error=error))
    return sorted(found, key=lambda elected: (elected.topic, elected.partition))
