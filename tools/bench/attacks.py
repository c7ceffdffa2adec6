"""A controller under attack: how long honest requests take beside those of who floods, hoards and is refused.

    python -m tools.bench attacks [SECONDS [CONNECTIONS]]       how long each attack lasts (6), on how many connections (200)

One lone controller of ours with SASL, an authorizer, an administrator and `eve`, who has no rights, is a process of its own; so are
the attackers. For each attack: p50 and p99 of a small request on a connection that is logged in, of a new login with a small request,
and how many requests of 512 KiB were answered; first without any attack. `ratio` is of the two p99 of small requests. The longest hold of
the server's loop comes last, on the clock and in processor time.

| attack | by |
| --- | --- |
| versions | connections without a login that ask ApiVersions without end |
| strangers | connections that never log in, opened again when they are closed |
| reconnects | connections that are opened and closed |
| unfinished | eve, who keeps 360 KiB of an unfinished request on each connection |
| refused | eve, who asks for the configuration of 60 000 topics on each of 20 connections |
| creations | eve, who wants to create 60 000 topics on each of 20 connections |
"""

from __future__ import annotations

import asyncio
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from metashell.codec import messages
from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.frames import encode_request
from metashell.net.sasl import PlainClient
from metashell.net.transport import Connection, ConnectionFailedError, connect
from tools.bench.common import met
from tools.bench.controllers import ours_argv, voters
from tools.bench.rack import GOAL_HOLD_MS, longest_holds
from tools.interop.nodes import free_ports

SECONDS = 6.0
CONNECTIONS = 200
REQUESTERS = 20
GOAL_MS = 100.0
LARGE_TOPICS = 2_500
UNFINISHED_SIZE = 360 * 1024
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SETTINGS = {
    "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": f'{_LOGIN} username="admin" password="a" user_admin="a" user_eve="e";',
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
}
DESCRIBE = messages.DescribeConfigsRequest
CREATE = messages.CreateTopicsRequest
SMALL = DESCRIBE(resources=(DESCRIBE.DescribeConfigsResource(resource_type=4, resource_name="", configuration_keys=None),))
LARGE = CREATE(
    topics=tuple(
        CREATE.CreatableTopic(name=f"{'a-topic-with-a-long-name-' * 8}{at:06d}", num_partitions=1, replication_factor=1)
        for at in range(LARGE_TOPICS)
    ),
    timeout_ms=60_000,
    validate_only=True,
)


def main(argv: Sequence[str]) -> int:
    """Run all attacks; status 1 where an honest request took too long or was not answered."""
    if argv[:1] == ["--attack"]:
        asyncio.run(attack(argv[1], int(argv[2]), int(argv[3])))
        return 0
    seconds, connections = float(argv[0]) if argv else SECONDS, int(argv[1]) if len(argv) > 1 else CONNECTIONS
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory(prefix="metashell-attacks-") as folder:
        ((config, port),) = voters(Path(folder) / "attacked", range(1, 2), SETTINGS)
        (metrics,) = free_ports(1)
        argv = [*ours_argv(config), "--metrics-port", str(metrics)]
        with open(Path(folder) / "output", "ab") as output:
            server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            is_met = asyncio.run(measured(port, seconds, connections))
            hold_ms, cpu_ms = longest_holds(metrics)
            goal = f"goal {GOAL_HOLD_MS:.0f} of CPU {met(cpu_ms < GOAL_HOLD_MS)}"
            print(f"longest hold of the loop {hold_ms:.0f} ms, {cpu_ms:.0f} of CPU | {goal}")
            return 0 if is_met and cpu_ms < GOAL_HOLD_MS else 1
        finally:
            server.kill()
            server.wait()


async def measured(port: int, seconds: float, connections: int) -> bool:
    """Print a line for each attack; whether the goals are met."""
    while True:
        with suppress(ConnectionFailedError):
            await (await logged_in(port)).request(SMALL, timeout_s=60)
            break
        await asyncio.sleep(0.1)
    quiet_ms = await told(port, "none", seconds, 0.0)
    is_met = True
    for kind in ATTACKS:
        count = REQUESTERS if kind in ("refused", "creations") else connections
        words = [sys.executable, "-c", "import sys; from tools.bench.attacks import main; main(sys.argv[1:])"]
        attacker = subprocess.Popen([*words, "--attack", kind, str(port), str(count)], stderr=subprocess.DEVNULL)
        try:
            await asyncio.sleep(1.0)
            is_met &= await told(port, kind, seconds, quiet_ms) < GOAL_MS
        finally:
            attacker.kill()
            attacker.wait()
        await asyncio.sleep(1.0)
    return is_met


async def told(port: int, kind: str, seconds: float, quiet_ms: float) -> float:
    """Print how long honest requests take while an attack goes on; p99 of small ones in ms."""
    warm = await logged_in(port)
    ends_at = time.perf_counter() + seconds

    async def small() -> None:
        await warm.request(SMALL, timeout_s=60)

    async def login() -> None:
        connection = await logged_in(port)
        await connection.request(SMALL, timeout_s=60)
        connection.close("done")

    async def large() -> None:
        connection = await logged_in(port)
        await connection.request(LARGE, timeout_s=60)
        connection.close("done")

    smalls, logins, larges = await asyncio.gather(times(small, ends_at, 0.05), times(login, ends_at, 0.1), times(large, ends_at, 1.0))
    warm.close("done")
    p99 = quantile(smalls[0], 0.99)
    line = f"{kind:<11} small p50 {quantile(smalls[0], 0.5):6.1f} ms p99 {p99:6.1f} ms"
    line += f" | login p50 {quantile(logins[0], 0.5):6.1f} ms p99 {quantile(logins[0], 0.99):6.1f} ms"
    line += f" | 512 KiB {len(larges[0])} of {len(larges[0]) + larges[1]} answered, longest {quantile(larges[0], 1.0):6.0f} ms"
    line += f" | failures {smalls[1] + logins[1]}"
    if quiet_ms:
        line += f" | ratio {p99 / quiet_ms:5.1f} | goal p99 {GOAL_MS:.0f} ms on a quiet machine {met(p99 < GOAL_MS)}"
    print(line, flush=True)
    return p99


async def times(ask: Callable[[], Coroutine[Any, Any, None]], ends_at: float, pause_s: float) -> tuple[list[float], int]:
    """How long each request took, in ms, and how many failed."""
    found, failures = [], 0
    while time.perf_counter() < ends_at:
        began = time.perf_counter()
        try:
            await ask()
            found.append((time.perf_counter() - began) * 1000)
        except ConnectionFailedError:
            failures += 1
        await asyncio.sleep(pause_s)
    return found, failures


def quantile(found: list[float], part: float) -> float:
    ordered = sorted(found)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else float("nan")


async def logged_in(port: int, name: str = "admin") -> Connection:
    core = ClientConnection(client_id="bench", sasl=PlainClient(name, name[0]))
    return await connect(Address("localhost", port), core=core, timeout_s=60)


# ---- attackers


async def attack(kind: str, port: int, count: int) -> None:
    """Attack on so many connections, until the process is killed."""

    async def again() -> None:
        while True:
            with suppress(OSError, ConnectionFailedError, asyncio.IncompleteReadError):
                await ATTACKS[kind](port)

    await asyncio.gather(*(again() for _ in range(count)))


async def versions(port: int) -> None:
    reader, writer = await asyncio.open_connection("localhost", port)
    asked = struct.pack(">ihhih", 10, 18, 0, 1, -1) * 400

    async def read() -> None:
        while await reader.read(1 << 16):
            pass
        writer.close()

    reading = asyncio.ensure_future(read())
    try:
        while not reading.done():
            writer.write(asked)
            await writer.drain()
    finally:
        reading.cancel()
        writer.close()


async def strangers(port: int) -> None:
    reader, writer = await asyncio.open_connection("localhost", port)
    try:
        await reader.read()
    finally:
        writer.close()


async def reconnects(port: int) -> None:
    _, writer = await asyncio.open_connection("localhost", port)
    writer.close()


async def unfinished(port: int) -> None:
    connection = await logged_in(port, "eve")
    transport = connection._transport
    assert transport is not None, "connected"
    transport.write(struct.pack(">ihhih", 90 << 20, 19, 7, 1, -1) + bytes(UNFINISHED_SIZE))
    await connection.wait_closed()


async def refused(port: int) -> None:
    await asked_again(port, DESCRIBE(resources=(DESCRIBE.DescribeConfigsResource(resource_type=2, resource_name="t"),) * 60_000))


async def creations(port: int) -> None:
    topics = tuple(CREATE.CreatableTopic(name=f"{at:08x}", num_partitions=1, replication_factor=1) for at in range(60_000))
    await asked_again(port, CREATE(topics=topics, timeout_ms=1000))


async def asked_again(port: int, message: Any) -> None:
    """Send one request as eve again and again."""
    connection = await logged_in(port, "eve")
    transport, lost = connection._transport, connection.wait_closed()
    assert transport is not None, "connected"
    reader = asyncio.StreamReader()
    transport.set_protocol(asyncio.StreamReaderProtocol(reader))
    lost.close()
    kind = {CREATE: 7, DESCRIBE: 4}[type(message)]
    frame = encode_request(message, kind, 1, "eve")
    while True:
        transport.write(frame)
        size = int.from_bytes(await reader.readexactly(4))
        while size:
            size -= len(data := await reader.read(min(size, 1 << 20)))
            if not data:
                return


ATTACKS: dict[str, Callable[[int], Coroutine[Any, Any, None]]] = {
    "versions": versions,
    "strangers": strangers,
    "reconnects": reconnects,
    "unfinished": unfinished,
    "refused": refused,
    "creations": creations,
}
