"""Machines of members, by the strategy that they are to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.groups.members.built_in import strategies
from metashell.groups.members.classic import ClassicMember
from metashell.groups.members.consumer import ConsumerMember
from metashell.groups.probing.strategy import StreamsStrategy

if TYPE_CHECKING:
    from metashell.groups.members.member import Member
    from metashell.groups.members.settings import MemberSettings
    from metashell.rebalance.plan import Strategy

_STREAM: Final = "stream:"


def new_member(strategy: Strategy, settings: MemberSettings, process_id: bytes) -> Member:
    """A machine for a strategy; `process_id` is what Kafka Streams tells its members apart by."""
    if strategy.is_consumer:
        return ConsumerMember(settings)
    if strategy.assignors[0].startswith(_STREAM):
        release, _, upgrade_from = strategy.assignors[0].removeprefix(_STREAM).partition(":")
        return ClassicMember(settings, [StreamsStrategy(process_id, release, upgrade_from or None)])
    return ClassicMember(settings, strategies(strategy.assignors))
