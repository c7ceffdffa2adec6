"""A voter of ours that may lead, and appends on command: commands are lines on standard input, answers are JSON lines on standard output.

append COUNT IN_FLIGHT SIZE    append COUNT records of SIZE bytes, each for itself, IN_FLIGHT at a time, and wait for their commits
no-ops COUNT IN_FLIGHT         the same with NoOpRecords, which Kafka's controllers accept
state                          role, epoch and offsets of the replica

python -m tools.interop.driven_voter CONFIG [--image] [-v]

--image keeps the metadata image and makes snapshots; -v prints its events on standard error.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from metashell.codec.messages import NoOpRecord
from metashell.codec.metadata_records import write_metadata_record
from metashell.quorum.raft.messages import RaftError
from metashell.quorum.server.records import NoMachine
from metashell.quorum.server.replica_server import ReplicaServer
from tools.interop.voter import start_voter


async def append(server: ReplicaServer, count: int, in_flight: int, value: bytes) -> dict[str, Any]:
    """Append and wait, `in_flight` at a time. Units: `latencies_ms` are of each append, ascending."""
    latencies: list[float] = []
    left = iter(range(count))

    async def worker() -> None:
        for _ in left:
            started = time.perf_counter()
            await server.append([value])
            latencies.append((time.perf_counter() - started) * 1000)

    started, cpu = time.perf_counter(), time.process_time()
    outcomes = await asyncio.gather(*(worker() for _ in range(in_flight)), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, RaftError):
            return {"error": str(outcome)}
        if outcome is not None:
            raise outcome
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "cpu_s": time.process_time() - cpu, "latencies_ms": sorted(latencies)}


async def put(server: ReplicaServer, value: bytes) -> dict[str, Any]:
    """Append one value, and tell its offset once it is committed."""
    try:
        return {"offset": await server.append([value])}
    except RaftError as error:
        return {"error": str(error)}


def state(server: ReplicaServer) -> dict[str, Any]:
    """The replica in a few words."""
    node = server.node
    return {"state": node.state_name, "epoch": node.epoch, "leader": node.leader_id, "high_watermark": node.high_watermark}


async def main(path: str, *, with_image: bool, verbose: bool) -> None:
    """See the module; ends when standard input does."""

    def tell(line: str) -> None:
        if verbose:
            print(line, file=sys.stderr, flush=True)

    voter = await start_voter(path, may_stand=True, machine=None if with_image else NoMachine(), on_event=tell)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        match line.decode().split():
            case ["append", count, in_flight, size]:
                answer = await append(voter.server, int(count), int(in_flight), bytes(int(size)))
            case ["no-ops", count, in_flight]:
                answer = await append(voter.server, int(count), int(in_flight), write_metadata_record(NoOpRecord()))
            case ["put", text]:
                answer = await put(voter.server, text.encode())
            case ["state"]:
                answer = state(voter.server)
            case other:
                answer = {"error": f"no such command: {other}"}
        print(json.dumps(answer), flush=True)
    await voter.server.kill()
    voter.log.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], with_image="--image" in sys.argv[2:], verbose="-v" in sys.argv[2:]))
