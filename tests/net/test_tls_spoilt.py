"""TLS handshakes that stop anywhere, or have a byte changed anywhere: the listener closes them and serves the next."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from metashell.codec.messages import DescribeClusterRequest
from metashell.net.addresses import Address
from metashell.net.frames import encode_request
from metashell.net.security import tls_config
from metashell.net.tls import client_context, server_context
from metashell.net.transport import connect
from tests.net.certificates import Authority
from tests.net.loops import listening, run

ASK = encode_request(DescribeClusterRequest(), 1, 1, "x")


class Contexts:
    """Of a server that wants certificates, and of a client that has one."""

    def __init__(self, folder: Path) -> None:
        authority = Authority()
        ca = authority.write_pem(folder)
        stores = {name: authority.sign(name, ["localhost", "127.0.0.1"]).write_pem(folder) for name in ("server", "client")}
        common = {"ssl.truststore.location": str(ca)}
        self.server = server_context(tls_config({**common, "ssl.keystore.location": str(stores["server"]), "ssl.client.auth": "required"}))
        self.client = client_context(tls_config({**common, "ssl.keystore.location": str(stores["client"])}))


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    return Contexts(tmp_path_factory.mktemp("tls"))


async def talk(address: Address, context: ssl.SSLContext, place: int, *, spoil: bool) -> int:
    """Shake hands, ask, and read on until the other side hangs up; the byte at `place` is changed, or the stream ends there.

    How many bytes there were to send.
    """
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    reader, writer = await asyncio.open_connection(*address)
    sent = 0
    is_done = is_asked = False
    try:
        while True:
            try:
                if not is_done:
                    tls.do_handshake()
                    is_done = True
                if not is_asked:
                    tls.write(ASK)
                    is_asked = True
                if tls.read(1 << 16):
                    return sent
            except ssl.SSLWantReadError:
                pass
            data = bytearray(outgoing.read())
            at = place - sent
            sent += len(data)
            if 0 <= at < len(data):
                if not spoil:
                    writer.write(bytes(data[:at]))
                    return sent
                data[at] ^= 0x41
            writer.write(bytes(data))
            more = await reader.read(1 << 16)
            if not more:
                return sent
            incoming.write(more)
    except (ssl.SSLError, ConnectionError):
        return sent
    finally:
        writer.close()


@pytest.mark.parametrize("spoil", [False, True], ids=["cut", "spoilt"])
def test_a_handshake_with_a_fault_anywhere_costs_one_connection(contexts: Contexts, spoil: bool) -> None:
    async def work() -> None:
        async with listening(tls=contexts.server, handshake_timeout_s=1.5) as (listener, address):
            size = await talk(address, contexts.client, 1 << 30, spoil=False)
            assert size > 1000
            await asyncio.gather(*(talk(address, contexts.client, place, spoil=spoil) for place in range(0, size, 7)))
            assert await (await connect(address, tls=contexts.client)).request(DescribeClusterRequest())
            while listener.counters.open > 1:
                await asyncio.sleep(0.01)
            assert listener.counters.tls_failures + listener.counters.handshake_timeouts > (50 if spoil else -1)
            assert listener.held_size == 0

    run(work)
