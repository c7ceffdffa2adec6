"""Voters as processes on real directories, killed again and again: what was acknowledged is there in the end, the same at all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from metashell.disk.metadata_log import MetadataLog
from metashell.quorum.server.records import batches_in
from tests.coroutines import run
from tests.quorum.server.test_on_disk import Place

pytestmark = pytest.mark.slow

ROUNDS = 6
APPENDS_A_ROUND = 20


class Process:
    """A driven voter; `ask` gives None when it does not answer any more."""

    def __init__(self, config: Path) -> None:
        self._config = config
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        argv = [sys.executable, "-m", "tools.interop.driven_voter", str(self._config)]
        self._process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe)

    async def ask(self, command: str) -> dict[str, Any] | None:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(f"{command}\n".encode())
            await process.stdin.drain()
            if line := await process.stdout.readline():
                answer: dict[str, Any] = json.loads(line)
                return answer
        return None

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
            await self._process.wait()


def test_what_was_acknowledged_survives_kills_of_any_voter_at_any_time(tmp_path: Path) -> None:
    acknowledged: dict[int, str] = {}
    chance = random.Random(11)

    async def put_some(processes: dict[int, Process], first: int) -> None:
        number = first
        while number < first + APPENDS_A_ROUND:
            for process in processes.values():
                answer = await process.ask(f"put v{number}")
                if answer is not None and "offset" in answer:
                    acknowledged[answer["offset"]] = f"v{number}"
                    number += 1
                    break

    async def main() -> None:
        place = Place(tmp_path, {}, dynamic=True)
        processes = {id: Process(config) for id, config in place.configs.items()}
        try:
            for process in processes.values():
                await process.start()
            for turn in range(ROUNDS):
                victim = chance.choice(list(processes))
                others = {id: process for id, process in processes.items() if id != victim}
                writing = asyncio.ensure_future(put_some(others, turn * 1000))
                await processes[victim].ask("state")
                await processes[victim].kill()
                await writing
                await processes[victim].start()
            await put_some(processes, ROUNDS * 1000)
        finally:
            for process in processes.values():
                await process.kill()

    run(main)
    assert len(acknowledged) == (ROUNDS + 1) * APPENDS_A_ROUND
    logs = []
    for id in (1, 2, 3):
        log = MetadataLog.open(str(tmp_path / f"node-{id}"))
        data = log.read(0, log.end_offset, 1 << 30)
        log.close()
        values = {}
        for batch in batches_in(data, str(id)):
            if not batch.header.is_control:
                values |= {record.offset: (record.value or b"").decode() for record in batch.records()}
        logs.append((data, values))
    # What is committed is at two of three at least, and a shorter log is the beginning of a longer one, up to what nobody acknowledged.
    for offset, value in acknowledged.items():
        assert sum(values.get(offset) == value for _, values in logs) >= 2
    assert sum(max(acknowledged) in values for _, values in logs) >= 2
