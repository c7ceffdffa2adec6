"""Runs the golden scenarios of a real controller against ours, in this process: no sockets, no log, a clock that the rows set.

python -m tests.quorum.controller.golden [-v] [SCENARIO ...]     what differs
"""

from __future__ import annotations

import functools
import itertools
import json
import lzma
import random
import sys
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from pathlib import Path
from struct import pack
from typing import Any, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import NONE
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from metashell.metadata.image import Voter, VoterSet
from metashell.metadata.image.provenance import VersionedRecord
from metashell.net.addresses import host_text
from metashell.quorum.controller import Decision, QuorumController, Request, Settings
from metashell.quorum.controller.decision import SUPPORTED_FEATURES
from tests.quorum.controller.canon import NODE, Canon, breaks, stays, translated, unordered, verdict
from tests.quorum.controller.json_objects import from_json
from tests.recordings import Compared, differing, show

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "controller"
RAFT = {"answered by": "raft"}
"""What stands for an answer that the controller's core does not give: raft does, or the listener by itself."""
EPOCH_MS = 1_700_000_000_000
LOOPBACK = "127.0.0.1"
_VOTERS = VoterSet(0, (Voter(NODE, bytes(16)),))
LEADER_CHANGE = {"type": "LEADER_CHANGE", "version": 0, "data": None, "control": True}


@functools.cache
def scenarios() -> dict[str, dict[str, Any]]:
    """Every scenario by its name."""
    text = lzma.decompress((FOLDER / "scenarios.jsonl.xz").read_bytes()).decode()
    return {scenario["scenario"]: scenario for scenario in map(json.loads, text.splitlines())}


def _usual_startup(release: str) -> list[dict[str, Any]]:
    """What a controller writes first that was formatted with a release and nothing else; for who may not fetch the log."""
    plain = (one for one in scenarios().values() if not {"features", "static", "scram", "directory"} & one["spec"].keys())
    return next(one["startup"] for one in plain if one["startup"] and one["metadata_version"] == release)


class Outcome(NamedTuple):
    """One row: how it compares, and both sides in comparable form."""

    n: int
    api: str
    verdict: str
    golden: dict[str, Any]
    actual: dict[str, Any]
    note: str


class Process:
    """A controller and its log, alone in its quorum: what it writes is committed at once."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header
        self.config = {key: str(value) for key, value in header["config"].items()}
        self.log: list[tuple[int, list[VersionedRecord]]] = []
        self.end_offset = 0
        self.epoch = 0
        self.incarnation = 0
        self.kraft_version = 0 if header["spec"].get("static") else 1
        self.chance = random.Random(header["scenario"])
        self.start()

    def start(self) -> None:
        """A new process on the log that is there."""
        self.incarnation += 1
        settings = Settings(self.config, self.header["cluster_id"], NODE)
        bootstrap = [
            _record_object(record)
            for record in self.header["startup"] or _usual_startup(self.header["metadata_version"])
            if record["type"] in ("FEATURE_LEVEL_RECORD", "USER_SCRAM_CREDENTIAL_RECORD")
        ]
        self.controller = QuorumController(settings, self.chance, bootstrap)
        self.controller.state.set_quorum(_VOTERS, self.kraft_version)
        for base_offset, batch in self.log:
            self.controller.replay(batch, base_offset)
            self.controller.commit(base_offset + len(batch) - 1)

    def lead(self, now_ms: int) -> list[dict[str, Any]]:
        """Win an election; the records of it."""
        self.epoch += 1
        self.end_offset += 1
        return [LEADER_CHANGE, *self.write(self.controller.claim(self.epoch, self.end_offset, now_ms))]

    def write(self, decision: Decision) -> list[dict[str, Any]]:
        """Append, replay and commit what a decision says; the records in their JSON form."""
        control = []
        if decision.kraft_version is not None:
            # Raft writes the level and the voters before the record that waits for them.
            control = [{"type": kind, "version": 0, "data": None, "control": True} for kind in ("KRAFT_VERSION", "KRAFT_VOTERS")]
            self.end_offset += len(control)
            self.kraft_version = decision.kraft_version
            self.controller.state.set_quorum(_VOTERS, decision.kraft_version)
        for batch in decision.batches():
            self.controller.replay(batch, self.end_offset)
            self.log.append((self.end_offset, list(batch)))
            self.end_offset += len(batch)
            self.controller.commit(self.end_offset - 1)
        self.controller.written(decision)
        return control + [json_record(record, version) for record, version in decision.records]

    def register_itself(self, now_ms: int) -> list[dict[str, Any]]:
        """What the registration manager of a controller process sends once the image has no registration of this process."""
        own = self.controller.image.cluster.controllers.get(NODE)
        incarnation = self.incarnation.to_bytes(16, "big")
        if self.controller.state.level < 15 or (own is not None and own.incarnation_id == incarnation):
            return []
        body = messages.ControllerRegistrationRequest(
            controller_id=NODE,
            incarnation_id=incarnation,
            listeners=(messages.ControllerRegistrationRequest.Listener(name="CONTROLLER", host="127.0.0.1", port=self.header["port"]),),
            features=tuple(
                messages.ControllerRegistrationRequest.Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in SUPPORTED_FEATURES.items()
            ),
        )
        return self.write(self.controller.decide(Request(70, 0, body), now_ms))

    def run_to(self, now_ms: int, records_max: int = 1 << 30) -> list[dict[str, Any]]:
        """Everything that periodic tasks do until then, or until they wrote so many records."""
        records: list[dict[str, Any]] = []
        while len(records) < records_max:
            due_ms = self.controller.next_due_ms()
            if due_ms is None or due_ms > now_ms:
                break
            decision = self.controller.run_due(due_ms)
            if decision is not None:
                records += self.write(decision)
        return records


def run(name: str) -> Iterator[Outcome]:
    """The rows of a scenario, each compared."""
    header = scenarios()[name]
    process = Process(header)
    control = [record for record in header["startup"] if record.get("control")]
    process.end_offset = len(control) - 1
    startup = process.lead(EPOCH_MS) + process.register_itself(EPOCH_MS)
    golden, actual = Canon(header["start_offset"], header["port"]), Canon(process.end_offset, header["port"])
    # Of raft's own records only the number counts here.
    expected = [LEADER_CHANGE, *(record for record in header["startup"] if not record.get("control"))]
    # Who may not fetch the log does not know what was written.
    is_blind = not header["startup"]
    if is_blind:
        process.end_offset = 0
    else:
        yield outcome_of({"n": 0, "api": "startup"}, golden, actual, (None, None, expected), (None, None, startup))
    rows = header["rows"]
    for row in rows:
        request, theirs = golden_exchange(row)
        now_ms = EPOCH_MS + row["time_ms"]
        records = process.run_to(now_ms)
        sent, answer, written = perform(process, row, translated(request, golden, actual), now_ms)
        if row["api"] not in ("restart",) and any(record["type"] == "LEADER_CHANGE" for record in row["records"]):
            # The real one gave up its leadership, and was elected again: so that later rows compare, so does ours.
            process.controller.renounce()
            written += process.lead(now_ms)
        yield outcome_of(row, golden, actual, (request, theirs, row["records"]), (sent, answer, [] if is_blind else records + written))
        if row.get("died"):
            return


def outcome_of(row: dict[str, Any], golden: Canon, actual: Canon, theirs: tuple[Any, Any, Any], ours: tuple[Any, Any, Any]) -> Outcome:
    is_placed = bool(row.get("placement"))
    left = golden.row(theirs[0], theirs[1], theirs[2], is_placed=is_placed)
    right = actual.row(ours[0], ours[1], ours[2], is_placed=is_placed)
    told = verdict(left, right)
    if told not in ("equal", "order"):
        if row.get("varies"):
            told = "varies"
        elif right["response"] == RAFT:
            told = "raft"
        elif (row.get("closed") or row.get("died") or breaks(left["response"])) and stays(left, right):
            told = "stays"
    return Outcome(row["n"], row["api"], told, left, right, row.get("note", ""))


def perform(process: Process, row: dict[str, Any], request: Any, now_ms: int) -> tuple[Any, Any, list[dict[str, Any]]]:
    """What ours does for a row: (the request that it got, its answer, the records)."""
    api = row["api"]
    if api == "restart":
        process.config |= {key: str(value) for key, value in request["config"].items() if value is not None}
        process.start()
        return request, None, process.lead(now_ms) + process.register_itself(now_ms)
    if api == "wait":
        records = process.register_itself(now_ms)
        return request, None, records + process.run_to(now_ms + request["limitMs"], request["count"] or 1 << 30)
    inner = row.get("inner")
    if request is None:
        return None, None if row["response_hex"] is None else RAFT, []
    if inner is not None:
        return request, *send_enveloped(process, inner, request, now_ms)
    return request, *_send(process, row, request, now_ms)


def send_enveloped(process: Process, inner: dict[str, Any], request: Any, now_ms: int) -> tuple[Any, list[dict[str, Any]]]:
    """Send a request in an envelope, as a broker does; the answer that comes back inside."""
    body = enveloped(inner, request)
    decision = process.controller.decide(Request(58, 0, body, client_id="broker", received_ms=now_ms), now_ms)
    records = process.write(decision)
    if decision.answer is None:
        return RAFT, records
    return opened(decision.answer, inner["api"], inner["version"]), records


def enveloped(inner: dict[str, Any], request: Any) -> Any:
    """The envelope in which a broker hands on a request of a principal."""
    api, version = inner["api"], inner["version"]
    message = message_type("request", f"{api}Request")
    header = pack(">hhih", message.key, version, 7, 6) + b"golden" + b"\0" * message.flexible(version)
    principal = b"\0\0\x05User" + bytes([len(inner["principal"]) + 1]) + inner["principal"].encode() + b"\0\0"
    data = header + message.write(from_json("request", f"{api}Request", request), version)
    address = ip_address(inner.get("address", LOOPBACK)).packed
    return messages.EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=address)


def opened(envelope: Any, api: str, version: int) -> Any:
    if envelope.error_code != NONE:
        return {"envelope": envelope.error_code}
    message = message_type("response", f"{api}Response")
    start = 4 + (message.flexible(version) and api != "ApiVersions")
    return message.to_json_value(message.read(bytes(envelope.response_data[start:]), version), version)


def _send(process: Process, row: dict[str, Any], request: Any, now_ms: int) -> tuple[Any, list[dict[str, Any]]]:
    api, version = row["api"], row["version"]
    body = from_json("request", f"{api}Request", request)
    # As it would come over the wire.
    message = message_type("request", f"{api}Request")
    body = message.read(message.write(body, version), version)
    host = host_text(row.get("source") or process.header["spec"].get("host", LOOPBACK))
    made = Request(message.key, version, body, client_id="golden", host=host, received_ms=now_ms)
    if api == "Fetch":
        return RAFT, []
    decision = process.controller.decide(made, now_ms)
    records = process.write(decision)
    if decision.answer is None:
        return RAFT, records
    response = message_type("response", f"{api}Response")
    return response.to_json_value(response.read(response.write(decision.answer, version), version), version), records


def golden_exchange(row: dict[str, Any]) -> tuple[Any, Any]:
    """The request and the answer of a row, in their JSON form; of an envelope, those inside."""
    if "request" in row:
        return row["request"], None
    api, version = row["api"], row["version"]
    body, answer = bytes.fromhex(row["request_hex"]), None if row["response_hex"] is None else bytes.fromhex(row["response_hex"])
    request_type, response_type = message_type("request", f"{api}Request"), message_type("response", f"{api}Response")
    shown = row.get("response_version", version)
    response = None if answer is None else response_type.read(answer, shown)
    answered = None if response is None else response_type.to_json_value(response, shown)
    try:
        request = request_type.read(body, version)
    except DecodeError:
        return None, answered
    if "inner" not in row:
        return request_type.to_json_value(request, version), answered
    inner = row["inner"]
    inner_request = message_type("request", f"{inner['api']}Request")
    is_flexible = inner_request.flexible(inner["version"])
    start = 8 + 2 + int.from_bytes(request.request_data[8:10], "big") + is_flexible
    sent = inner_request.read(bytes(request.request_data[start:]), inner["version"])
    return inner_request.to_json_value(sent, inner["version"]), opened(response, inner["api"], inner["version"])


def json_record(record: Any, version: int) -> dict[str, Any]:
    message = message_type("metadata", type(record).__name__)
    value = message.to_json_value(message.read(message.write(record, version), version), version)
    return {"type": kafka_name(message.name), "version": version, "data": value}


def kafka_name(name: str) -> str:
    return "".join(f"_{letter}" if letter.isupper() and at else letter for at, letter in enumerate(name)).upper()


def _record_object(record: dict[str, Any]) -> VersionedRecord:
    name = "".join(word.capitalize() for word in record["type"].split("_"))
    return from_json("metadata", name, record["data"]), record["version"]


def told(outcome: Outcome, width: int = 1500) -> str:
    """What differs in a row, Kafka's first."""
    left, right = unordered(outcome.golden), unordered(outcome.actual)
    places = list(itertools.islice(differing(left, right), 4))
    lines = [
        f"{outcome.api}: {outcome.verdict}",
        *(f"  {place}: {str(one)[:width]} of Kafka, {str(other)[:width]}" for place, one, other in places),
    ]
    for key in left:
        if left[key] != right[key]:
            lines += [f"  {key} of Kafka {str(left[key])[:width]}", f"  {key} of ours  {str(right[key])[:width]}"]
    return "\n".join(lines)


def compared(outcomes: Iterable[Outcome]) -> Iterator[Compared]:
    """Outcomes as `tests.recordings.show` prints them."""
    for outcome in outcomes:
        yield outcome.verdict, f"row {outcome.n} {outcome.note}\n{told(outcome)}"


def main(argv: list[str]) -> int:
    return show(argv, scenarios(), lambda name: compared(run(name)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
