"""A real controller and ours in lockstep: the same request to both, and whether they answered and wrote the same.

Ours is a process of its own kind in this one (`InProcess`), or a server behind its listener (`OverListener`).
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from metashell.common.values import uuid_text
from metashell.quorum.controller import QuorumController
from metashell.quorum.controller.acls_and_tokens import token_hmac
from tests.interop.real_controllers import CLUSTER_ID, Format, RealController, RealControllers, settings_of
from tests.quorum.controller.canon import Canon, translated
from tests.quorum.controller.golden import EPOCH_MS, Outcome, Process, outcome_of, perform
from tests.quorum.controller.live import Live
from tests.quorum.server.served import Served

EQUAL = ("equal", "order", "varies", "stays", "raft")
Records = list[dict[str, Any]]


class Ours(Protocol):
    """Our side of a pair."""

    port: int
    startup: Records
    can_resign: bool
    """Whether it gives up its leadership where the real one does, so that what dies with that is gone on both sides."""

    @property
    def controller(self) -> QuorumController: ...

    @property
    def end_offset(self) -> int: ...

    def ask(self, row: Mapping[str, Any], request: Any) -> tuple[Any, Any, Records]:
        """What was asked, what was answered, what was written."""

    def resign(self) -> Records:
        """Give up the leadership and win it again; the records of that."""

    def register_itself(self, before: Records) -> Records:
        """The records of its own registration, where its level is one now that has them."""

    def restart(self) -> Records: ...

    def close(self) -> None: ...


class InProcess:
    """Ours without sockets and a log, on a clock that goes as real time does."""

    can_resign = True

    def __init__(self, real: RealController, kind: Format, settings: Mapping[str, str], startup: Records) -> None:
        self.port = real.port
        header = {
            "scenario": "twins",
            "spec": {"static": kind.is_static},
            "config": {**settings_of(kind, real.port, real.config.parent / "log"), **settings},
            "cluster_id": CLUSTER_ID,
            "port": real.port,
            "startup": startup,
        }
        self._process = Process(header)
        self._process.end_offset = sum(1 for record in startup if record.get("control")) - 1
        self.startup = self._process.lead(EPOCH_MS) + self._process.register_itself(EPOCH_MS)
        self._began = time.monotonic()

    @property
    def controller(self) -> QuorumController:
        return self._process.controller

    @property
    def end_offset(self) -> int:
        return self._process.end_offset

    def _now_ms(self) -> int:
        return EPOCH_MS + round((time.monotonic() - self._began) * 1000)

    def ask(self, row: Mapping[str, Any], request: Any) -> tuple[Any, Any, Records]:
        now_ms = self._now_ms()
        periodic = self._process.run_to(now_ms)
        sent, answer, written = perform(self._process, dict(row), request, now_ms)
        return sent, answer, periodic + written

    def resign(self) -> Records:
        self._process.controller.renounce()
        return self._process.lead(self._now_ms())

    def register_itself(self, before: Records) -> Records:
        return self._process.register_itself(self._now_ms())

    def restart(self) -> Records:
        return perform(self._process, {"api": "restart", "version": 0}, {"config": {}}, self._now_ms())[2]

    def close(self) -> None:
        """There is nothing to close."""


class OverListener:
    """Ours behind its listener, with its own log."""

    can_resign = False

    def __init__(self, real: RealController, kind: Format, settings: Mapping[str, str], startup: Records) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=real.config.parent.parent))
        common = {key: value for key, value in settings_of(kind, 0, self._folder).items() if key not in _OWN_SETTINGS}
        self._served = Served(
            self._folder,
            {**common, **settings},
            cluster_id=CLUSTER_ID,
            release=kind.release,
            features=kind.features,
            is_static=kind.is_static,
        )
        self.port = self._served.port
        self._live = Live(self._served)
        self.startup = self._live.startup()
        self._served.settle()

    @property
    def controller(self) -> QuorumController:
        return self._served.controller

    @property
    def end_offset(self) -> int:
        return self._served.log.end_offset

    def ask(self, row: Mapping[str, Any], request: Any) -> tuple[Any, Any, Records]:
        answer, written = self._live.ask(row, request)
        assert not self._live.has_ended, "our server has ended"
        return request, answer, written

    def resign(self) -> Records:
        raise AssertionError("it stays")

    def register_itself(self, before: Records) -> Records:
        is_registered = self.controller.image.cluster.controllers
        return [] if self.controller.state.level < _REGISTERS_FROM or is_registered else self._live.registration(before)

    def restart(self) -> Records:
        return self._live.restart({}, registers=self.controller.state.level >= _REGISTERS_FROM)

    def close(self) -> None:
        self._served.close()
        shutil.rmtree(self._folder, ignore_errors=True)


_REGISTERS_FROM = 15
_OWN_SETTINGS = {"listeners", "log.dirs", "controller.quorum.voters", "controller.quorum.bootstrap.servers"}
Make = Callable[[RealController, Format, Mapping[str, str], Records], Ours]


class Twins:
    """One pair; `outcomes` are the rows so far, the first of them the start."""

    def __init__(self, pool: RealControllers, make: Make, kind: Format, settings: Mapping[str, str]) -> None:
        self.real = pool.start(kind, settings)
        self._live = Live(self.real)
        startup = self._live.startup()
        self.ours = make(self.real, kind, settings, startup)
        self._theirs, self._own = Canon(self.real.log.end_offset, self.real.port), Canon(self.ours.end_offset, self.ours.port)
        self.outcomes: list[Outcome] = []
        self.has_ended = False
        """Whether the real one is gone, or the two cannot be compared any more."""
        expected, written = ([record for record in side if not record.get("control")] for side in (startup, self.ours.startup))
        self._compare({"n": 0, "api": "startup"}, (None, None, expected), (None, None, written))

    def close(self) -> None:
        self.real.close()
        self.ours.close()

    def send(self, api: str, version: int, request: Any, *, principal: str | None = None, is_placed: bool = False) -> Outcome:
        """Send a request to both, ids and epochs as ours has them; enveloped where a principal is named."""
        row: dict[str, Any] = {"n": len(self.outcomes), "api": api, "version": version, "placement": is_placed}
        if principal is not None:
            row |= {"api": "Envelope", "version": 0, "inner": {"api": api, "version": version, "principal": principal}}
        asked = translated(request, self._own, self._theirs)
        answer, records = self._live.ask(row, asked)
        sent, own, written = self.ours.ask(row, request)
        if any(record["type"] == "LEADER_CHANGE" for record in records):
            # It gave up its leadership, and was elected again.
            if self.ours.can_resign:
                written += self.ours.resign()
            else:
                records = [record for record in records if record["type"] != "LEADER_CHANGE"]
                self.has_ended = True
        if registered := self.ours.register_itself(written):
            # The level is one now at which controllers register; the real one does so a moment later.
            written += registered
            records += self._live.registration(records)
        self.has_ended = self.has_ended or self._live.has_ended
        row["closed"] = answer is None
        row["died"] = self._live.has_ended
        if api == "DescribeConfigs":
            answer = json.loads(self._in_our_place(json.dumps(answer)))
        return self._compare(row, (asked, answer, records), (sent, own, written))

    def _in_our_place(self, text: str) -> str:
        """A text of the real one with our port and directory."""
        if self.real.port == self.ours.port:
            return text
        settings = self.ours.controller.state.settings.static
        return text.replace(str(self.real.port), str(self.ours.port)).replace(str(self.real.config.parent / "log"), settings["log.dirs"])

    def restart(self) -> Outcome:
        """Stop the real controller and start it again; ours too."""
        row: dict[str, Any] = {"n": len(self.outcomes), "api": "restart", "version": 0}
        written = self.ours.restart()
        registers = any(record["type"] == "REGISTER_CONTROLLER_RECORD" for record in written)
        records = self._live.restart({}, registers=registers)
        return self._compare(row, (None, None, records), (None, None, written))

    def canon_name(self, topic_id: bytes) -> str:
        """What the id of a topic is called in compared rows."""
        text = uuid_text(topic_id)
        return self._own.theirs.get(text, text)

    def hmacs(self) -> list[str]:
        """The HMACs of the tokens that ours has made, in base64."""
        controller = self.ours.controller
        return [b64encode(token_hmac(controller.state, id)).decode() for id in controller.image.delegation_tokens]

    def _compare(self, row: dict[str, Any], theirs: tuple[Any, Any, Any], ours: tuple[Any, Any, Any]) -> Outcome:
        outcome = outcome_of(row, self._theirs, self._own, theirs, ours)
        self.outcomes.append(outcome)
        return outcome
