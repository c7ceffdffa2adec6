"""What happens in a run, a line each, and a digest of all lines: equal digests are equal runs."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.network import Flight
    from tests.simulation.violation import Violation
    from tests.simulation.world import World


class Trace:
    """Lines of a run. `out` None only sums them up; `last` keeps that many for a report."""

    def __init__(self, out: TextIO | None = None, *, last: int = 0, is_verbose: bool = False) -> None:
        self._out = out
        self._digest = sha256()
        self._last_max = last
        self.last: list[str] = []
        self.is_verbose = is_verbose

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def note(self, world: World, text: str) -> None:
        line = f"{world.now:>7} #{world.events:<5} {text}"
        self._digest.update(line.encode())
        if self._out is not None:
            self._out.write(line + "\n")
        if self._last_max:
            self.last.append(line)
            if len(self.last) > 2 * self._last_max:
                del self.last[: self._last_max]

    def sends(self, world: World, host: Host, receiver: Host | None, request: Any) -> None:
        self.note(world, f"{host.name} -> {receiver.name if receiver else 'nobody'}: {short(request)}")

    def replies(self, world: World, host: Host, receiver: Host | None, response: Any) -> None:
        self.note(world, f"{host.name} => {receiver.name if receiver else 'operator'}: {short(response)}")

    def arrives(self, world: World, host: Host, sender: Host | None, message: Any) -> None:
        self.note(world, f"{host.name} <- {sender.name if sender else 'operator'}: {short(message)}")

    def fails(self, world: World, host: Host, flight: Flight, error: int) -> None:
        self.note(world, f"{host.name}: {flight.request.__class__.__name__} to {flight.receiver.name} fails with {error}")

    def polls(self, world: World, host: Host) -> None:
        self.note(world, f"{host.name} is polled")

    def role(self, world: World, host: Host) -> None:
        role = host.role
        voted = "" if role.voted is None else f" voted {role.voted.id}"
        self.note(world, f"{host.name} is {role.name} of epoch {role.epoch}, leader {role.leader_id}{voted}, log to {host.log.end_offset}")

    def end(self, world: World, violation: Violation | None) -> None:
        self.note(world, f"end: {violation or 'all rules held'}")


HIDDEN = frozenset(("cluster_id", "shape_ok", "voter_directory_id", "candidate_directory_id", "directory_id", "max_size", "max_wait_ms"))


def short(message: Any) -> str:
    """A message's name and the fields that are not at rest."""
    parts = [message.__class__.__name__.replace("Request", "").replace("Response", " answer")]
    for name in message.__dataclass_fields__:
        value = getattr(message, name)
        if name in HIDDEN or value in (None, -1, b"", (), {}):
            continue
        if isinstance(value, bytes):
            value = f"{len(value)} bytes from {int.from_bytes(value[:8], 'big')}"
        parts.append(f"{name}={value}")
    return " ".join(parts)
