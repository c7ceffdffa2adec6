"""What makes the rows of two controllers comparable: ids, epochs and times that each of them chose are named, not compared.

The rules are those of the golden set's own README ("Normalisation"); the verdict says how two rows differ once they are comparable.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.recordings import sorted_structs

DROPPED = {
    *("throttleTimeMs", "lastFetchTimestamp", "lastCaughtUpTimestamp", "finalizedFeaturesEpoch", "issueTimestampMs", "expiryTimestampMs"),
    *("maxTimestampMs", "issueTimestamp", "expirationTimestamp", "maxTimestamp", "responseData", "requestData"),
}
OFFSETS = {"brokerEpoch", "previousBrokerEpoch", "currentMetadataOffset", "highWatermark", "logEndOffset"}
UUID_KEYS = {
    *("topicId", "id", "incarnationId", "directories", "logDirs", "offlineLogDirs", "cordonedLogDirs", "replicaDirectoryId"),
    *("voterDirectoryId", "tokenId", "hmac"),
}
NODE = 3000
_UUID = re.compile(r"[A-Za-z0-9_-]{22}|[A-Za-z0-9+/]{86}==")
_REFUSED = re.compile(r"Request Request\(processor=.*", re.DOTALL)
_RESERVED = "A" * 20
UNSUPPORTED_VERSION = 35
"""What an envelope says when what is inside cannot be read; without an envelope the connection is closed."""
_OFFSET_MAX = 1 << 60
_PLACED = ("partitionId", "topicId", "leaderEpoch", "partitionEpoch", "removingReplicas", "addingReplicas")


class Canon:
    """Makes the rows of one side comparable, in order: an id that the controller chose is named after its topic or entry, or by number."""

    def __init__(self, start: int, port: int) -> None:
        self.start, self.port = start, port
        self.skipped: list[int] = []
        """Offsets of records that the other side did not write: offsets behind them count that much less."""
        self.ours: set[str] = set()
        self.theirs: dict[str, str] = {}
        self._racks: dict[int, str | None] = {}
        self._counts: Counter[str] = Counter()

    def see(self, request: Any, key: str = "") -> None:
        """Note the ids of a request: those not known yet are of the scenario's own making."""
        if isinstance(request, dict):
            for name, item in request.items():
                self.see(item, name)
        elif isinstance(request, list):
            for item in request:
                self.see(item, key)
        elif isinstance(request, str) and key in UUID_KEYS and request not in self.theirs:
            self.ours.add(request)

    def value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            self._christen(value)
            if value.get("port") == self.port and "host" in value:
                value = {**value, "host": "$host", "port": 0}
            return {name: self.value(item, name) for name, item in value.items() if name not in DROPPED}
        if isinstance(value, list):
            return [self.value(item, key) for item in value]
        if isinstance(value, str) and key in UUID_KEYS:
            return self._uuid(value)
        if isinstance(value, str) and key == "errorMessage":
            for text, name in self.theirs.items():
                value = value.replace(text, name)
            return _REFUSED.sub("$request", value)
        if isinstance(value, int) and key in OFFSETS and self.start <= value < _OFFSET_MAX:
            return f"$start+{self.counted(value)}"
        return value

    def counted(self, offset: int) -> int:
        """An offset as it counts from the start."""
        return offset - self.start - sum(1 for skipped in self.skipped if skipped < offset)

    def row(self, request: Any, response: Any, records: list[dict[str, Any]], *, is_placed: bool) -> dict[str, Any]:
        """A row that can be compared; what is placed at random is reduced to its properties."""
        self.see(request)
        return {"response": self.value(response), "records": [self._record(record, is_placed) for record in records]}

    def _record(self, record: dict[str, Any], is_placed: bool) -> dict[str, Any]:
        kind, data = record["type"], record["data"]
        if kind == "REGISTER_BROKER_RECORD":
            self._racks[data["brokerId"]] = data["rack"]
        if record.get("control") or (kind == "REGISTER_CONTROLLER_RECORD" and data["controllerId"] == NODE):
            return {"type": kind, "version": record["version"], "data": "own"}
        data = self.value(data)
        if is_placed and kind == "PARTITION_RECORD":
            data = self._placement(data)
        return {"type": kind, "version": record["version"], "data": data}

    def _placement(self, data: dict[str, Any]) -> dict[str, Any]:
        replicas, isr = data["replicas"], data["isr"]
        return {
            **{name: data[name] for name in _PLACED},
            "count": len(replicas),
            "distinct": len(set(replicas)),
            "racks": len({self._racks.get(id) for id in replicas}),
            "leaderIsFirstOfIsr": data["leader"] == isr[0],
            "isrInOrderOfReplicas": isr == [id for id in replicas if id in isr],
            "directories": len(data.get("directories", [])),
        }

    def _christen(self, value: dict[str, Any]) -> None:
        """Name a new topic's id by its name, an entry's by what it says: a difference then does not shift the names of later ids."""
        if isinstance(value.get("topicId"), str) and isinstance(value.get("name"), str):
            text, name = value["topicId"], f"$topic {value['name']}"
        elif isinstance(value.get("id"), str) and "principal" in value and "permissionType" in value:
            text, name = value["id"], "$acl " + " ".join(str(item) for key, item in value.items() if key != "id")
        else:
            return
        if text not in self.ours and text not in self.theirs and not text.startswith(_RESERVED):
            self._counts[name] += 1
            self.theirs[text] = f"{name} #{self._counts[name]}"

    def _uuid(self, text: str) -> str:
        if not _UUID.fullmatch(text) or text in self.ours or text.startswith(_RESERVED):
            return text
        return self.theirs.setdefault(text, f"$uuid-{len(self.theirs) + 1}")


def translated(value: Any, golden: Canon, actual: Canon, key: str = "") -> Any:
    """A golden request for the other controller: with its ids and its epochs."""
    if isinstance(value, dict):
        return {name: translated(item, golden, actual, name) for name, item in value.items()}
    if isinstance(value, list):
        return [translated(item, golden, actual, key) for item in value]
    if isinstance(value, str) and key in UUID_KEYS and value in golden.theirs:
        wanted = golden.theirs[value]
        return next((text for text, name in actual.theirs.items() if name == wanted), value)
    if isinstance(value, int) and not isinstance(value, bool) and key in OFFSETS and golden.start <= value < _OFFSET_MAX:
        return golden.counted(value) + actual.start
    return value


def verdict(golden: dict[str, Any], actual: dict[str, Any]) -> str:
    """`equal`; `order` where Kafka's order comes from hash maps; `message` where only error messages differ; or `different`."""
    if golden == actual:
        return "equal"
    golden, actual = unordered(golden), unordered(actual)
    if golden == actual:
        return "order"
    return "message" if _without_messages(golden) == _without_messages(actual) else "different"


def breaks(response: Any) -> bool:
    """Whether an answer says that the server met something unforeseen."""
    return '"errorCode": -1' in json.dumps(response) or response == {"envelope": UNSUPPORTED_VERSION}


def stays(golden: dict[str, Any], actual: dict[str, Any]) -> bool:
    """Whether ours refuses what makes the real one close the connection, or answer with a server error, and all else is the same."""
    if unordered(golden)["records"] != unordered(actual)["records"]:
        return False
    golden, actual = _by_what_is_named(golden["response"]), _by_what_is_named(actual["response"])
    if golden is None or golden == {"envelope": UNSUPPORTED_VERSION}:
        # It could not be read, or was refused while it was.
        return _refuses_all(actual)
    return _is_same_but_refused(golden, actual)


def _by_what_is_named(value: Any) -> Any:
    """A value with its lists of structs in an order that no error code changes."""
    if isinstance(value, dict):
        return {key: _by_what_is_named(item) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        items = [_by_what_is_named(item) for item in value]
        return sorted(items, key=lambda item: json.dumps({**item, "errorCode": 0, "errorMessage": ""}, sort_keys=True))
    return value


def _refuses_all(value: Any) -> bool:
    codes = list(_codes(value))
    return bool(codes) and all(code > 0 for code in codes)


def _codes(value: Any) -> Iterator[int]:
    for key, item in value.items() if isinstance(value, dict) else [("", item) for item in value] if isinstance(value, list) else []:
        if key == "errorCode":
            yield item
        else:
            yield from _codes(item)


def _is_same_but_refused(golden: Any, actual: Any) -> bool:
    if isinstance(golden, dict) and isinstance(actual, dict):
        refused = golden.get("errorCode") == -1 and actual.get("errorCode", 0) > 0
        skipped = {"errorCode", "errorMessage"} if refused else set()
        return golden.keys() == actual.keys() and all(
            _is_same_but_refused(golden[key], actual[key]) for key in golden if key not in skipped
        )
    if isinstance(golden, list) and isinstance(actual, list):
        return len(golden) == len(actual) and all(map(_is_same_but_refused, golden, actual))
    return bool(golden == actual)


def unordered(row: dict[str, Any]) -> dict[str, Any]:
    """A row with lists of structs in a fixed order, and runs of records of one type too."""
    runs: list[list[Any]] = []
    for record in row["records"]:
        if not runs or runs[-1][0]["type"] != record["type"]:
            runs.append([])
        runs[-1].append(record)
    return {
        **{key: sorted_structs(item) for key, item in row.items() if key != "records"},
        "records": [sorted_structs(run) for run in runs],
    }


def _without_messages(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_messages(item) for key, item in value.items() if key != "errorMessage"}
    if isinstance(value, list):
        return [_without_messages(item) for item in value]
    return value
