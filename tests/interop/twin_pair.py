"""A real controller and ours in lockstep: the same request to both, and whether they answered and wrote the same."""

from __future__ import annotations

import itertools
import json
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from metashell.codec.registry import message_type
from metashell.controller.access.tokens import token_hmac
from metashell.values import uuid_text
from tests.controller.canon import Canon, translated, unordered
from tests.controller.golden import EPOCH_MS, Outcome, Process, enveloped, opened, outcome_of, perform
from tests.controller.json_objects import from_json
from tests.interop.real_controllers import CLUSTER_ID, Format, RealControllers, read_answer, settings_of

EQUAL = ("equal", "order", "varies", "stays", "raft")
PUBLISHED_READS = {"ApiVersions", "DescribeCluster", "DescribeAcls", "DescribeConfigs", "Envelope"}
"""What reads the published image, or asks an authorizer that follows it."""


class Twins:
    """One pair; `outcomes` are the rows so far, the first of them the start."""

    def __init__(self, pool: RealControllers, kind: Format, settings: Mapping[str, str]) -> None:
        self.real = pool.start(kind, settings)
        startup = self.real.log.read()
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
        if self.process.controller.state.level >= 15 and not any(record["type"] == "REGISTER_CONTROLLER_RECORD" for record in startup):
            startup += self._registration()
        self._theirs, self._ours = Canon(self.real.log.end_offset, self.real.port), Canon(self.process.end_offset, self.real.port)
        self.outcomes: list[Outcome] = []
        self.has_ended = False
        self._unpublished = False
        self._began = time.monotonic()
        data = [record for record in startup if not record.get("control")]
        own = [record for record in ours if not record.get("control")]
        self._compare({"n": 0, "api": "startup"}, (None, None, data), (None, None, own))

    def _registration(self) -> list[dict[str, Any]]:
        """The registration of the real controller itself, which it sends once it leads."""
        end = time.monotonic() + 5
        while time.monotonic() < end:
            if records := self.real.log.read():
                return records
            time.sleep(0.002)
        return []

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
        answer, records = self._ask_real(row, translated(request, self._ours, self._theirs))
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
            records += self._registration()
        row["closed"] = answer is None
        row["died"] = self.has_ended
        return self._compare(row, (translated(request, self._ours, self._theirs), answer, records), (sent, own, written))

    def restart(self) -> Outcome:
        """Stop the real controller and start it again; ours too."""
        now_ms = EPOCH_MS + round((time.monotonic() - self._began) * 1000)
        self.real.restart()
        records = self.real.log.read()
        row: dict[str, Any] = {"n": len(self.outcomes), "api": "restart", "version": 0}
        _, _, written = perform(self.process, row, {"config": {}}, now_ms)
        if len(records) < len(written):
            records += self._registration()
        self._unpublished = True
        return self._compare(row, (None, None, records), (None, None, written))

    def canon_name(self, topic_id: bytes) -> str:
        """What the id of a topic is called in compared rows."""
        text = uuid_text(topic_id)
        return self._ours.theirs.get(text, text)

    def hmacs(self) -> list[str]:
        """The HMACs of the tokens that ours has made, in base64."""
        controller = self.process.controller
        return [b64encode(token_hmac(controller.state, id)).decode() for id in controller.image.delegation_tokens]

    def _ask_real(self, row: dict[str, Any], request: Any) -> tuple[Any, list[dict[str, Any]]]:
        inner = row.get("inner")
        api, version = row["api"], row["version"]
        body = enveloped(inner, request) if inner else from_json("request", f"{api}Request", request)
        if self._unpublished and api in PUBLISHED_READS:
            self.real.settle()
            self._unpublished = False
        frame = self.real.wire.ask(version, body)
        records = self.real.log.read()
        if frame is None:
            # It hung up, or it is gone.
            self.has_ended = self.real.wire.ask(0, from_json("request", "ApiVersionsRequest", {})) is None
            return None, records
        answer = read_answer(api, version, frame)
        self._unpublished = self._unpublished or bool(records)
        if inner:
            message = message_type("response", "EnvelopeResponse")
            answer = opened(message.read(frame[4 + message.flexible(0) :], 0), inner["api"], inner["version"])
        if '"errorCode": -1' in json.dumps(answer):
            records += self._resignation()
        return answer, records

    def _resignation(self) -> list[dict[str, Any]]:
        """After a server error it may have given up its leadership, and wins it again."""
        self.real.settle()
        return self.real.log.read()

    def _compare(self, row: dict[str, Any], theirs: tuple[Any, Any, Any], ours: tuple[Any, Any, Any]) -> Outcome:
        outcome = outcome_of(row, self._theirs, self._ours, theirs, ours)
        self.outcomes.append(outcome)
        return outcome


def told(outcome: Outcome, width: int = 1500) -> str:
    """What differs in a row, Kafka's first."""
    left, right = unordered(outcome.golden), unordered(outcome.actual)
    places = list(itertools.islice(_differences(left, right, ""), 4))
    lines = [
        f"{outcome.api}: {outcome.verdict}",
        *(f"  {place}: {str(one)[:width]} of Kafka, {str(other)[:width]}" for place, one, other in places),
    ]
    for key in left:
        if left[key] != right[key]:
            lines += [f"  {key} of Kafka {str(left[key])[:width]}", f"  {key} of ours  {str(right[key])[:width]}"]
    return "\n".join(lines)


def _differences(left: Any, right: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """Where two values differ, as deep as they are alike."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in {**left, **right}:
            yield from _differences(left.get(key), right.get(key), f"{place}.{key}")
    elif isinstance(left, list) and isinstance(right, list):
        for at, (one, other) in enumerate(itertools.zip_longest(left, right)):
            yield from _differences(one, other, f"{place}[{at}]")
    elif left != right:
        yield place, left, right
