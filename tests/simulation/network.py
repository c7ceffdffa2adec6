"""Messages on their way: delayed, lost, doubled, overtaken, spoilt, told in an older version.

A `Flight` is one request; its answers, several if it was doubled, go back the same way. Everything is a plain function over the world.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from metashell.codec.error_codes import BROKER_NOT_AVAILABLE, UNSUPPORTED_VERSION
from metashell.codec.registry import message_type
from metashell.quorum.raft.messages import FetchResponse, FetchSnapshotResponse, Request, Response
from metashell.quorum.raft.ready import Reply, Send
from metashell.quorum.raft.wire import UnsupportedVersionError, api_key_of, decode_request, decode_response, encode_request, encode_response
from tests.quorum.raft.wire.dropping import drop
from tests.quorum.raft.wire.generations import GENERATIONS, message_versions
from tests.simulation.checkers.clients import check_answer
from tests.simulation.checkers.protocol import check_delivery, check_request, check_response

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World


STRANGER = -1
"""The number of a request whose answer nobody waits for."""


class Flight:
    """A request on its way: who asked, in which life, under which name of the destination; `source` is None for a client's."""

    __slots__ = ("arrived", "correlation_id", "destination", "life", "receiver", "request", "source")

    def __init__(self, source: Host | None, life: int, destination: int, correlation_id: int, request: Request, receiver: Host) -> None:
        self.source = source
        self.life = life
        self.destination = destination
        self.correlation_id = correlation_id
        self.request = request
        self.receiver = receiver
        self.arrived = 0
        """When it came in last, on the receiver's own clock."""


def send(world: World, host: Host, message: Send) -> None:
    """A request leaves `host`."""
    request = message.message
    receiver = world.by_endpoint.get(message.endpoint)
    flight = Flight(host, host.life, message.destination, message.correlation_id, request, receiver or host)
    check_request(world, host, request, flight)
    if world.trace is not None:
        world.trace.sends(world, host, receiver, request)
    if receiver is None:
        world.push(world.now + 1, fail, flight, BROKER_NOT_AVAILABLE)
        return
    versions = world.versions
    if versions is not None or world.codec_countdown <= 1:
        try:
            flight.request = request = told(world, request, host, receiver, is_request=True)
        except UnsupportedVersionError:
            world.push(world.now, fail, flight, UNSUPPORTED_VERSION)
            return
    else:
        world.codec_countdown -= 1
    if world.blocked and receiver.index in world.blocked:
        return
    route(world, host.index, receiver.index, 0, deliver_request, flight, None)


def reply(world: World, host: Host, message: Reply) -> None:
    """An answer leaves `host`."""
    flight: Flight = message.token
    response = message.message
    if world.trace is not None:
        world.trace.replies(world, host, flight.source, response)
    source = flight.source
    if source is None and flight.destination == STRANGER:
        return
    if source is None:
        check_answer(world, host, flight.request, response)
        world.work.answered(flight, response)
        return
    check_response(world, host, flight, response)
    if world.versions is not None or world.codec_countdown <= 1:
        response = told(world, response, host, source, is_request=False)
    else:
        world.codec_countdown -= 1
    size = len(response.records) if response.__class__ is FetchResponse or response.__class__ is FetchSnapshotResponse else 0
    if size and world.late_read_chance and world.chance() < world.late_read_chance:
        world.push(world.now + int(world.chance() * 1_500), reply_late, flight, response)
        return
    route(world, host.index, source.index, size, deliver_response, flight, response)


def reply_late(world: World, flight: Flight, response: Response) -> None:
    """An answer waited for its bytes to be read from disk, which may be others by now (KAFKA-18723)."""
    host, source = flight.receiver, flight.source
    assert source is not None
    if response.__class__ is FetchResponse and host.up:
        log = host.log
        start = flight.request.fetch_offset  # type: ignore[union-attr]
        records = log.read(start, log.end_offset, len(response.records)) if start >= log.start_offset else b""
        if records and records != response.records:
            world.counts["late reads"] += 1
            response = replace(response, records=records)
    route(world, host.index, source.index, 0, deliver_response, flight, response)


def told(world: World, message: Any, host: Host, receiver: Host, *, is_request: bool) -> Any:
    """The message as the receiver reads it. Errors: UnsupportedVersionError where it cannot be said."""
    versions = (world.versions or world.own_versions)[host.generation, receiver.generation]
    version = versions.get(message.__class__)
    if version is None:
        raise UnsupportedVersionError(f"no version of {message.__class__.__name__}")
    world.codec_countdown -= 1
    if world.codec_countdown > 0:
        return drop(message, version)
    world.codec_countdown = world.options.codec_share
    key = api_key_of(message)
    kind = message_type("request" if is_request else "response", message.__class__.__name__)
    if is_request:
        return decode_request(key, version, kind.read(kind.write(encode_request(message, version), version), version))
    return decode_response(key, version, kind.read(kind.write(encode_response(message, version), version), version))


def version_tables() -> dict[tuple[str, str], dict[type[object], int]]:
    """What any two generations talk with each other."""
    return {(a, b): message_versions(GENERATIONS[a], GENERATIONS[b]) for a in GENERATIONS for b in GENERATIONS}


def route(world: World, source: int, target: int, size: int, arrive: Any, flight: Flight, extra: Any) -> None:
    """Let something arrive at the other end some time, never, or twice."""
    options, random = world.options, world.chance
    if world.cuts and (source, target) in world.cuts:
        return
    if world.drop_chance and random() < world.drop_chance:
        return
    due = world.now + 1 + int(random() * world.delay_ms)
    if world.tail_chance and random() < world.tail_chance:
        due += int(random() * options.tail_ms)
    if size and world.slow_links:
        due += size // world.slow_links.get((source, target), 1 << 40)
    world.push(due, arrive, flight, extra)
    if world.duplicate_chance and random() < world.duplicate_chance:
        world.push(due + int(random() * 4 * (world.delay_ms + 50)), arrive, flight, extra)


def deliver_request(world: World, flight: Flight, extra: None) -> None:
    """A request arrives."""
    host = flight.receiver
    if not host.up:
        if flight.source is not None and world.chance() < world.options.refuse_chance:
            world.push(world.now + 1, fail, flight, BROKER_NOT_AVAILABLE)
        return
    if host.paused_until > world.now:
        world.push(host.paused_until, deliver_request, flight, None)
        return
    world.events += 1
    if world.trace is not None:
        world.trace.arrives(world, host, flight.source, flight.request)
    flight.arrived = local = host.local_ms(world.now)
    if flight.source is not None:
        host.contacts[flight.source.key] = local
    world.settle(host, host.node.handle_request(flight, flight.request, "CONTROLLER", local))  # type: ignore[union-attr]


def deliver_response(world: World, flight: Flight, response: Response) -> None:
    """An answer arrives."""
    host = flight.source
    assert host is not None
    if host.life != flight.life or not host.up:
        return
    if host.paused_until > world.now:
        world.push(host.paused_until, deliver_response, flight, response)
        return
    world.events += 1
    if response.__class__ is FetchResponse and response.records:
        response = spoil(world, flight, response)
    elif response.__class__ is FetchSnapshotResponse and response.records:
        response = spoil_page(world, response)
    if world.trace is not None:
        world.trace.arrives(world, host, flight.receiver, response)
    check_delivery(world, host, flight, response)
    ready = host.node.handle_response(flight.destination, flight.correlation_id, response, host.local_ms(world.now))  # type: ignore[union-attr]
    world.settle(host, ready)


def fail(world: World, flight: Flight, error: int) -> None:
    """The sender learns that its request did not get through."""
    host = flight.source
    if host is None or host.life != flight.life or not host.up:
        return
    if host.paused_until > world.now:
        world.push(host.paused_until, fail, flight, error)
        return
    world.events += 1
    if host.fetch_sent is not None and host.fetch_sent[0] == flight.correlation_id:
        host.fetch_sent = None
    if error == UNSUPPORTED_VERSION:
        host.unsupported = True
    if world.trace is not None:
        world.trace.fails(world, host, flight, error)
    world.settle(host, host.node.handle_failure(flight.destination, flight.correlation_id, error, host.local_ms(world.now)))  # type: ignore[union-attr]


def spoil_page(world: World, response: FetchSnapshotResponse) -> FetchSnapshotResponse:
    """A bit of a page may flip."""
    random = world.chance
    if not world.corrupt_chance or random() >= world.corrupt_chance:
        return response
    records = bytearray(response.records)
    records[int(random() * len(records))] ^= 1 << int(random() * 8)
    world.counts["spoilt pages"] += 1
    return replace(response, records=bytes(records))


def spoil(world: World, flight: Flight, response: FetchResponse) -> FetchResponse:
    """What the records may become under way: a bit flips."""
    random = world.chance
    if world.corrupt_chance and random() < world.corrupt_chance:
        records = bytearray(response.records)
        size = 12 + int.from_bytes(records[8:12], "big")
        position = int(random() * size)
        # The length would only make the rest incomplete; the epoch is outside the checksum, and a flip there is never found.
        if position < 8 or position >= 16:
            records[position] ^= 1 << int(random() * 8)
            world.counts["spoilt reads"] += 1
            return replace(response, records=bytes(records))
    return response
