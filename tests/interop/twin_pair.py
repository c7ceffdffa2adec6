"""A real controller and ours in lockstep: the same request to both, and whether they answered and wrote the same."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from metashell.controller.access.tokens import token_hmac
from metashell.values import uuid_text
from tests.controller.canon import Canon, translated
from tests.controller.golden import EPOCH_MS, Outcome, Process, outcome_of, perform
from tests.controller.live import Live
from tests.interop.real_controllers import CLUSTER_ID, Format, RealControllers, settings_of

EQUAL = ("equal", "order", "varies", "stays", "raft")


class Twins:
    """One pair; `outcomes` are the rows so far, the first of them the start."""

    def __init__(self, pool: RealControllers, kind: Format, settings: Mapping[str, str]) -> None:
        self.real = pool.start(kind, settings)
        self._live = Live(self.real)
        startup = self._live.startup()
        config = {
            key: str(value) for key, value in {**settings_of(kind, self.real.port, self.real.config.parent / "log"), **settings}.items()
        }
        header = {
            "scenario": "twins",
            "spec": {"static": kind.is_static},
            "config": config,
            "cluster_id": CLUSTER_ID,
            "port": self.real.port,
            "startup": startup,
        }
        self.process = Process(header)
        self.process.end_offset = sum(1 for record in startup if record.get("control")) - 1
        ours = self.process.lead(EPOCH_MS) + self.process.register_itself(EPOCH_MS)
        self._theirs, self._ours = Canon(self.real.log.end_offset, self.real.port), Canon(self.process.end_offset, self.real.port)
        self.outcomes: list[Outcome] = []
        self._began = time.monotonic()
        data = [record for record in startup if not record.get("control")]
        own = [record for record in ours if not record.get("control")]
        self._compare({"n": 0, "api": "startup"}, (None, None, data), (None, None, own))

    @property
    def has_ended(self) -> bool:
        """Whether the real one is gone."""
        return self._live.has_ended

    def close(self) -> None:
        self.real.close()

    def send(
        self, api: str, version: int, request: Any, *, principal: str | None = None, is_placed: bool = False, varies: str = ""
    ) -> Outcome:
        """Send a request to both, ids and epochs as ours has them; enveloped where a principal is named."""
        row: dict[str, Any] = {"n": len(self.outcomes), "api": api, "version": version, "placement": is_placed, "varies": varies}
        if principal is not None:
            row |= {"api": "Envelope", "version": 0, "inner": {"api": api, "version": version, "principal": principal}}
        now_ms = EPOCH_MS + round((time.monotonic() - self._began) * 1000)
        answer, records = self._live.ask(row, translated(request, self._ours, self._theirs))
        periodic = self.process.run_to(now_ms)
        sent, own, written = perform(self.process, row, request, now_ms)
        written = periodic + written
        if any(record["type"] == "LEADER_CHANGE" for record in records):
            # It gave up its leadership, and was elected again: so that later rows compare, so does ours.
            self.process.controller.renounce()
            written += self.process.lead(now_ms)
        if registered := self.process.register_itself(now_ms):
            # The level is one now at which controllers register; the real one does so a moment later.
            written += registered
            records += self._live.registration(records)
        row["closed"] = answer is None
        row["died"] = self.has_ended
        return self._compare(row, (translated(request, self._ours, self._theirs), answer, records), (sent, own, written))

    def restart(self) -> Outcome:
        """Stop the real controller and start it again; ours too."""
        now_ms = EPOCH_MS + round((time.monotonic() - self._began) * 1000)
        row: dict[str, Any] = {"n": len(self.outcomes), "api": "restart", "version": 0}
        _, _, written = perform(self.process, row, {"config": {}}, now_ms)
        registers = any(record["type"] == "REGISTER_CONTROLLER_RECORD" for record in written)
        records = self._live.restart({}, registers=registers)
        return self._compare(row, (None, None, records), (None, None, written))

    def canon_name(self, topic_id: bytes) -> str:
        """What the id of a topic is called in compared rows."""
        text = uuid_text(topic_id)
        return self._ours.theirs.get(text, text)

    def hmacs(self) -> list[str]:
        """The HMACs of the tokens that ours has made, in base64."""
        controller = self.process.controller
        return [b64encode(token_hmac(controller.state, id)).decode() for id in controller.image.delegation_tokens]

    def _compare(self, row: dict[str, Any], theirs: tuple[Any, Any, Any], ours: tuple[Any, Any, Any]) -> Outcome:
        outcome = outcome_of(row, self._theirs, self._ours, theirs, ours)
        self.outcomes.append(outcome)
        return outcome
