"""Streams between simulated processes, against what TCP gives: order, back pressure, cuts that heal, resets, and silence."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import Any

import pytest

from metashell.net.listener import Listener, serve
from metashell.net.listener_options import ListenerOptions
from tests.simulation.bugs import patched
from tests.simulation.production.loop import system
from tests.simulation.production.network import Listening
from tests.simulation.production.replica import Process
from tests.simulation.production.world import ProductionWorld
from tests.simulation.production.worlds import begin, processes, wait

PORT = 9_000


class End(asyncio.Protocol):
    """One end of a connection, that keeps what it gets."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.data = b""
        self.ended: list[Exception | None] = []
        self.is_full = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.append(exc)

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False


def listen(process: Process) -> list[End]:
    """Let a process accept connections on its host's endpoint; the ends that it gets."""
    ends: list[End] = []

    def accept() -> End:
        ends.append(End())
        return ends[-1]

    async def main() -> None:
        name, port = process.host.endpoint
        loop = process.loop
        held = process.world.network.listen(loop, (name, port))
        loop.add_reader(held, lambda: loop.create_task(loop.connect_accepted_socket(accept, held.accept()[0])))

    process.loop.start(main())
    process.loop.run()
    return ends


def connect(process: Process, other: Process) -> asyncio.Task[Any]:
    async def main() -> End:
        name, port = other.host.endpoint
        _, end = await asyncio.get_running_loop().create_connection(End, name, port)
        return end

    return process.loop.start(main())


def connected(world: ProductionWorld, one: Process, two: Process) -> tuple[End, End]:
    ends = listen(two)
    task = connect(one, two)
    wait(world, 100)
    return task.result(), ends[0]


def cut(world: ProductionWorld, one: Process, two: Process) -> None:
    a, b = one.host.index, two.host.index
    world.cuts.update(((a, b), (b, a)))


def test_bytes_arrive_whole_and_in_order_whatever_pieces_they_come_in() -> None:
    with processes(delay_ms=20, split_chance=0.5) as (world, (one, two, _)):
        near, far = connected(world, one, two)
        pieces = [bytes((number,)) * (1 + number) for number in range(100)]
        for piece in pieces:
            near.transport.write(piece)
        wait(world, 5_000)
        assert far.data == b"".join(pieces)
        far.transport.write(b"and back")
        wait(world, 100)
        assert near.data == b"and back"


def test_connections_overtake_each_other() -> None:
    orders = set()
    for seed in range(12):
        with processes(seed, delay_ms=5) as (world, (one, two, _)):
            ends = listen(two)
            tasks = [connect(one, two), connect(one, two)]
            wait(world, 100)
            order: list[bytes] = []
            for end in ends:
                end.data_received = order.append  # type: ignore[method-assign]
            for name, task in zip((b"a", b"b"), tasks, strict=True):
                task.result().transport.write(name)
            wait(world, 100)
            orders.add(tuple(order))
    assert orders == {(b"a", b"b"), (b"b", b"a")}


def test_what_a_cut_holds_up_arrives_when_it_heals() -> None:
    with processes() as (world, (one, two, _)):
        near, far = connected(world, one, two)
        cut(world, one, two)
        near.transport.write(b"held up")
        wait(world, 5_000)
        assert not far.data and not near.ended
        world.cuts.clear()
        wait(world, 4_000)
        assert far.data == b"held up"


def test_a_sender_gives_up_when_a_cut_lasts() -> None:
    with processes() as (world, (one, two, _)):
        near, far = connected(world, one, two)
        cut(world, one, two)
        near.transport.write(b"lost")
        wait(world, 30_000)
        assert isinstance(near.ended[0], TimeoutError) and not far.data and not far.ended


def test_a_call_through_a_cut_gets_through_when_it_heals() -> None:
    with processes() as (world, (one, two, _)):
        listen(two)
        cut(world, one, two)
        task = connect(one, two)
        wait(world, 900)
        assert not task.done()
        world.cuts.clear()
        wait(world, 3_000)
        assert task.done() and task.result().transport is not None


def test_nobody_listens() -> None:
    with processes() as (world, (one, two, _)):
        task = connect(one, two)
        wait(world, 100)
        with pytest.raises(ConnectionRefusedError):
            task.result()


def test_a_killed_process_leaves_ended_connections_and_one_without_power_silence() -> None:
    with processes() as (world, (one, two, three)):
        to_two, _ = connected(world, one, two)
        to_three, _ = connected(world, one, three)
        world.kill(two.host, False)
        world.kill(three.host, True)
        two.host.is_resting = three.host.is_resting = True
        wait(world, 1_000)
        assert to_two.ended == [None] and not to_three.ended
        # Back, and without any memory of the connection.
        begin(world, three.host.index)
        to_three.transport.write(b"are you there")
        wait(world, 1_000)
        assert isinstance(to_three.ended[0], ConnectionResetError)


def test_who_is_not_read_is_told_to_pause() -> None:
    with processes() as (world, (one, two, _)):
        near, far = connected(world, one, two)
        far.transport.pause_reading()
        near.transport.write(bytes(200_000))
        wait(world, 100)
        assert near.is_full and not far.data
        far.transport.resume_reading()
        wait(world, 100)
        assert not near.is_full and len(far.data) == 200_000


def test_close_sends_what_was_written_and_abort_resets() -> None:
    with processes() as (world, (one, two, _)):
        near, far = connected(world, one, two)
        near.transport.write(b"last words")
        near.transport.close()
        wait(world, 100)
        assert far.data == b"last words" and near.ended == far.ended == [None]
    with processes() as (world, (one, two, _)):
        near, far = connected(world, one, two)
        near.transport.abort()
        wait(world, 100)
        assert near.ended == [None] and isinstance(far.ended[0], ConnectionResetError)


def test_who_was_not_accepted_when_the_socket_closes_is_reset() -> None:
    with processes() as (world, (one, two, _)):
        held = world.network.listen(two.loop, two.host.endpoint)
        task = connect(one, two)
        wait(world, 100)
        near = task.result()
        assert not near.ended
        held.close()
        wait(world, 100)
        assert isinstance(near.ended[0], ConnectionResetError)
        refused = connect(one, two)
        wait(world, 100)
        assert isinstance(refused.exception(), ConnectionRefusedError)


def test_who_resets_before_it_is_accepted_is_a_connection_that_ends_at_once() -> None:
    with processes() as (world, (one, two, _)):
        held = world.network.listen(two.loop, two.host.endpoint)
        task = connect(one, two)
        wait(world, 100)
        task.result().transport.abort()
        wait(world, 100)
        accepting = two.loop.start(two.loop.connect_accepted_socket(End, held.accept()[0]))
        wait(world, 1)
        assert isinstance(accepting.result()[1].ended[0], ConnectionResetError)
        with pytest.raises(BlockingIOError):
            held.accept()


def test_the_servers_listener_accepts_and_waits_while_there_is_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    accept, full, lines = Listening.accept, [True], []

    def refuse(held: Listening) -> Any:
        if full[0]:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return accept(held)

    async def main(process: Process) -> Listener:
        name, port = process.host.endpoint
        options = ListenerOptions(ranges={}, host=name, port=port, allow_plaintext=True)
        return await serve(lambda request: None, options, on_event=lines.append)

    monkeypatch.setattr(Listening, "accept", refuse)
    with processes() as (world, (one, two, _)), patched(system()):
        opening = two.loop.start(main(two))
        wait(world, 1)
        listener = opening.result()
        assert listener.port == two.host.endpoint[1]
        task = connect(one, two)
        wait(world, 1_000)
        assert listener.counters.table_full > 3 and len(lines) == 1 and not listener.counters.accepted
        full[0] = False
        wait(world, 200)
        assert listener.counters.accepted == 1 and len(two.world.network.sockets) == 2
        stopping = two.loop.start(listener.stop())
        wait(world, 5_000)
        assert stopping.done() and task.result().ended == [None]
        again = two.loop.start(main(two))
        wait(world, 1)
        assert again.result().port == listener.port
