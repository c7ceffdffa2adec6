"""Who leads goes on as long as a majority asks, and no longer (V5, V8): looked at when a leader resigns, and when it is polled.

What a leader heard is noted here by the rules of the protocol, not by the core's own count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.error_codes import NONE
from metashell.common.values import ZERO_UUID
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.history import Key
    from tests.simulation.host import Host
    from tests.simulation.network import Flight
    from tests.simulation.world import World


def on_leading(host: Host) -> None:
    """A replica begins to lead."""
    host.heard = {}
    host.contacts = {}
    host.polled_after = 0
    host.led_since = host.replica.now_ms


def on_asked(host: Host, flight: Flight, response: Any) -> None:
    """A leader answers a fetch of its epoch that is valid: it heard from who asked when that came in."""
    request = flight.request
    if response.diverging is None and response.snapshot_id is None and response.error == NONE == response.top_error:
        key = request.replica_id, request.directory_id
        host.heard[key] = max(host.heard.get(key, 0), flight.arrived)


def window_ms(world: World) -> int:
    """Within so long a leader has to hear from a majority."""
    return world.options.fetch_timeout_ms * 3 // 2


def count(host: Host, times: dict[Key, int], since_ms: int) -> int:
    """How many of the voters of its last set a leader heard from since a time, itself among them."""
    heard = {key for key, at in times.items() if at > since_ms}
    ids = {id for id, _ in heard}
    # A voter without a directory id is whoever has its id.
    return sum(
        key == host.key or key in heard or (key[1] == ZERO_UUID and (key[0] in ids or key[0] == host.id)) for key in host.log.tail.voters
    )


def on_resigned(world: World, host: Host, before: Any) -> None:
    """A leader gave up, which needs a reason: it was asked to, a majority was silent, or the committed voters do without it."""
    if host.asked_to_resign == before.epoch or host.is_stopping:
        return
    voters = host.log.tail.voters
    now = host.replica.now_ms
    since = now - window_ms(world)
    if host.voters_since > since:
        # Who was heard counted for the set of voters of that time: its own word on the time has to do.
        is_silent = now >= before.check_deadline_ms
    else:
        is_silent = host.led_since <= since and count(host, host.heard, since) <= len(voters) // 2
    if is_silent:
        return
    committed = host.log.entry_ending_at(max(host.replica.committed, host.log.start_offset))
    if committed is not None and not host.is_among(committed.voters) and not host.is_among(voters):
        return
    heard = {key[0]: now - at for key, at in sorted(host.heard.items())}
    raise Violation(
        "V5 StableLeadership",
        f"{host.name} resigns in epoch {before.epoch} unasked, heard ms ago from {heard} of {sorted(id for id, _ in voters)}",
    )


def on_polled(world: World, host: Host) -> None:
    """A leader was polled and leads on: it had a request of any kind from a majority within twice the time that it has for that."""
    now = host.replica.now_ms
    if now < host.polled_after:
        return
    # Not at each poll: that would cost more than all else that is checked then.
    host.polled_after = now + window_ms(world) // 4
    voters = host.log.tail.voters
    since = now - 2 * window_ms(world)
    if max(host.led_since, host.voters_since) > since or count(host, host.contacts, since) > len(voters) // 2:
        return
    if len(voters) == 1 and host.is_among(voters):
        return
    heard = {key[0]: now - at for key, at in sorted(host.contacts.items())}
    raise Violation("V8", f"{host.name} leads on in epoch {host.role.epoch}, heard ms ago from {heard} of {sorted(id for id, _ in voters)}")
