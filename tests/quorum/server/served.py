"""A lone controller of ours on a loop in a thread, on a directory that our kafka-storage formatted."""

from __future__ import annotations

import asyncio
import threading
import time
from base64 import b64decode
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from metashell.quorum.controller import QuorumController
from metashell.quorum.server.config import load_config
from metashell.quorum.server.controller_server import ControllerServer
from tests.quorum.controller.live import LogTail, Wire
from tests.running import run_main
from tools.interop.nodes import free_ports, write_config

_LIMIT_S = 120.0


class Served:
    """See the module. `settings` are without paths and ports; close it, or use it as a context manager.

    Shape: `directory` has the files of a directory that somebody else formatted, as base64 by their paths; then nothing is formatted.
    """

    def __init__(
        self, folder: Path, settings: Mapping[str, object], *, cluster_id: str, release: str, features: tuple[str, ...] = (),
        scram: tuple[str, ...] = (), is_static: bool = False, host: str = "127.0.0.1", directory: Mapping[str, str] = {},
    ) -> None:  # fmt: skip
        self.port = free_ports(1)[0]
        node = settings["node.id"]
        address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        where = f"{node}@{address}" if is_static else address
        self._settings: dict[str, object] = {
            **settings,
            "listeners": f"CONTROLLER://{address}",
            "log.dirs": folder / "log",
            f"controller.quorum.{'voters' if is_static else 'bootstrap.servers'}": where,
        }
        self._path = write_config(folder / "server.properties", self._settings)
        for name, content in directory.items():
            path = folder / "log" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b64decode(content))
        if not directory:
            words = [word for feature in features for word in ("--feature", feature)]
            words += [word for one in scram for word in ("--add-scram", one)]
            words += [] if is_static else ["--standalone"]
            outcome = run_main(kafka_storage, ["format", "-t", cluster_id, "-c", str(self._path), "-r", release, *words], cwd=folder)
            assert outcome.status == 0, outcome
        self.wire = Wire(self.port, host)
        self.log = LogTail(folder / "log")
        self._start()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _start(self) -> None:
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.result(_LIMIT_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        self._server = server = ControllerServer(load_config(str(self._path)))
        await server.start()
        try:
            while not server.is_active and not server.failure.done():
                await asyncio.sleep(0.001)
            self._started.set_result(None)
            ending = asyncio.ensure_future(self._ending.wait())
            await asyncio.wait([ending, server.failure], return_when=asyncio.FIRST_COMPLETED)
            assert not server.failure.done(), f"it ended by itself: {server.failure.result()!r}"
        finally:
            await server.kill()

    @property
    def controller(self) -> QuorumController:
        """Its core, to look at between two requests."""
        return self._server.machine.controller

    def settle(self) -> bool:
        """Return once all that was written is committed: it is published in the same moment."""
        end = time.monotonic() + _LIMIT_S
        while self.controller.stable_offset + 1 < self.log.end_offset and time.monotonic() < end:
            time.sleep(0.001)
        return self._thread.is_alive()

    def restart(self, config: Mapping[str, str]) -> None:
        """End it at once and start it on its directory, with other settings too."""
        self.close()
        self._settings |= config
        write_config(self._path, self._settings)
        self._start()

    def close(self) -> None:
        self.wire.close()
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(_LIMIT_S)
        assert not self._thread.is_alive()
