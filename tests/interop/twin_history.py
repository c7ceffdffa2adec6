"""A history of twins: how a pair begins, how both are asked, and what happens when they differ; twin_machine.py has what may be asked."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from metashell.codec.registry import message_type
from metashell.codec.releases import supported_features
from metashell.common.values import uuid_text
from metashell.metadata.image import MetadataImage
from metashell.quorum.controller.authorizer import APIS
from tests.interop.real_controllers import CLUSTER_ID, Format, RealControllers
from tests.interop.twin_contents import BROKERS, KINDS, SETTINGS, TOPICS
from tests.interop.twin_pair import EQUAL, InProcess, Make, Twins
from tests.interop.twin_spoiling import spoil
from tests.quorum.controller.canon import breaks
from tests.quorum.controller.golden import Outcome, told

Draw = Callable[[Any], Any]
T = TypeVar("T")


class Difference(AssertionError):
    """The two controllers answered or wrote something else."""


@functools.cache
def difference(signature: str) -> type[Difference]:
    """The class of one kind of difference."""
    return type(signature, (Difference,), {})


def signature_of(outcome: Outcome) -> str:
    """What kind of difference a row has: its API, and which codes the two gave."""
    name = outcome.api
    left, right = outcome.golden, outcome.actual
    parts = [key for key in left if left[key] != right[key]]
    return "_".join([name, outcome.verdict, *parts, *_codes(left, right)])


def _codes(left: Any, right: Any) -> list[str]:
    def all_codes(value: Any) -> set[int]:
        if isinstance(value, dict):
            own = {value["errorCode"]} if isinstance(value.get("errorCode"), int) else set()
            return own.union(*map(all_codes, value.values()))
        return set().union(*map(all_codes, value)) if isinstance(value, list) else set()

    kafkas, ours = all_codes(left["response"]), all_codes(right["response"])
    return [f"kafka{sorted(kafkas - ours)}", f"ours{sorted(ours - kafkas)}"] if kafkas != ours else []


def own_uuid(text: str) -> str:
    """A uuid of the history's own, by name."""
    raw = bytearray(hashlib.sha256(text.encode()).digest()[:16])
    raw[0] &= 0x7F
    return uuid_text(bytes(raw))


class TwinHistory(RuleBasedStateMachine):
    """One history on a fresh pair; `pool` is set by who runs it."""

    pool: ClassVar[RealControllers]
    ignored: ClassVar[Callable[[Outcome], bool]] = staticmethod(lambda outcome: False)
    make: ClassVar[Make] = staticmethod(InProcess)

    def __init__(self) -> None:
        super().__init__()
        self.twins: Twins | None = None
        self.lives = dict.fromkeys(BROKERS, 0)
        self.is_over = False

    @initialize(kind=st.sampled_from(KINDS), brokers=st.integers(0, len(BROKERS)), topics=st.integers(0, 2))
    def begin(self, kind: tuple[Format, dict[str, str]], brokers: int, topics: int) -> None:
        note(f"--- {kind}")
        type(self).count_history()
        self.twins = Twins(self.pool, self.make, kind[0], {**SETTINGS, **kind[1]})
        self.check(self.twins.outcomes[0])
        for broker in BROKERS[:brokers]:
            self.ask("BrokerRegistration", min(4, 3 if self.level < 30 else 4), self.registration(broker))
            self.ask("BrokerHeartbeat", 1, self.beat(broker))
        for name in TOPICS[:topics] if brokers else ():
            assignments = [{"partitionIndex": at, "brokerIds": _turned(BROKERS[:brokers], at)[:3]} for at in range(2)]
            self.ask("CreateTopics", 7, {"topics": [self.topic(name, assignments)], "timeoutMs": 60000})

    @classmethod
    def count_history(cls) -> None:
        """For who counts."""

    def teardown(self) -> None:
        if self.twins is not None:
            self.twins.close()

    # --- what there is

    @property
    def image(self) -> MetadataImage:
        assert self.twins is not None
        return self.twins.ours.controller.image

    @property
    def level(self) -> int:
        assert self.twins is not None
        return self.twins.ours.controller.state.level

    @property
    def partitions(self) -> list[tuple[Any, int, Any]]:
        """(topic, index, partition), in order of names."""
        return sorted(self.image.topics.iter_partitions(), key=lambda found: (found[0].name, found[1]))

    def broker_epoch(self, broker: int) -> int:
        known = self.image.cluster.brokers.get(broker)
        return 0 if known is None else known.epoch

    # --- asking

    def ask(self, api: str, version: int, fields: dict[str, Any], **how: Any) -> Any:
        """Send a request to both; Kafka's answer. Errors: Difference."""
        assert self.twins is not None
        if self.is_over:
            return None
        message = message_type("request", f"{api}Request")
        fields = known_fields(message, message.schema, fields, version)
        is_placed = _places(api, fields)
        if is_placed and any(broker.in_controlled_shutdown for broker in self.image.cluster.brokers.values()):
            # Such a broker may be picked or not, and is then no leader.
            return None
        outcome = self.twins.send(api, version, fields, is_placed=is_placed, **how)
        note(f"{api} v{version} {fields} {how or ''} -> {outcome.golden['response']}")
        self.check(outcome)
        if is_placed:
            self._delete_placed(outcome)
        self.is_over = self.is_over or self.twins.has_ended
        return outcome.golden["response"]

    def check(self, outcome: Outcome) -> None:
        if outcome.verdict in EQUAL:
            return
        if "is not a valid IP or resolvable host." in str(outcome.golden["response"]):
            # A name server said so; ours asks none.
            self.is_over = outcome.golden["records"] != outcome.actual["records"]
            return
        if breaks(outcome.golden["response"]) and not breaks(outcome.actual["response"]):
            # The real one gave up over one of several items; ours refused that one, and did the others.
            self.is_over = True
            return
        if not self.ignored(outcome):
            raise difference(signature_of(outcome))(told(outcome))
        # From here on the two may differ everywhere.
        self.is_over = outcome.golden["records"] != outcome.actual["records"]

    def _delete_placed(self, outcome: Outcome) -> None:
        """Replicas placed at random differ: their topics go at once."""
        ids = {record["data"]["topicId"] for record in outcome.actual["records"] if record["type"] == "PARTITION_RECORD"}
        assert self.twins is not None
        for topic in list(self.image.topics):
            if self.twins.canon_name(topic.id) in ids:
                self.ask("DeleteTopics", 6, {"topics": [{"name": topic.name}], "timeoutMs": 60000})
                if topic.name in self.image.topics.by_name:
                    # Deletion is switched off.
                    self.is_over = True

    def request(self, draw: Draw, api: str, fields: dict[str, Any], *, low: int = 0) -> Any:
        """Send a request of some version, now and then spoilt, now and then for somebody else."""
        route = APIS[message_type("request", f"{api}Request").key]
        newest = min(route.high, 3 if api == "BrokerRegistration" and self.level < 30 else route.high)
        version = newest - draw(st.sampled_from([0, 0, 0, 1, 2, 3])) % (newest - max(low, route.low) + 1)
        how: dict[str, Any] = {}
        roll = draw(st.integers(0, 19))
        if roll >= 16:
            fields = spoil(
                draw,
                api,
                version,
                known_fields(message_type("request", f"{api}Request"), message_type("request", f"{api}Request").schema, fields, version),
            )
        elif roll >= 14:
            how["principal"] = draw(st.sampled_from(["alice", "bob", "ANONYMOUS"]))
        return self.ask(api, version, fields, **how)

    # --- what a healthy broker sends

    def registration(self, broker: int) -> dict[str, Any]:
        return {
            "brokerId": broker,
            "clusterId": CLUSTER_ID,
            "incarnationId": own_uuid(f"incarnation-{broker}-{self.lives[broker]}"),
            "listeners": [{"name": "PLAINTEXT", "host": f"b{broker}", "port": 9092, "securityProtocol": 0}],
            "features": supported(),
            "rack": "ab"[broker % 2] if broker < 4 else None,
            "logDirs": directories(broker),
            "previousBrokerEpoch": -1,
        }

    def beat(self, broker: int) -> dict[str, Any]:
        assert self.twins is not None
        return {
            "brokerId": broker,
            "brokerEpoch": self.broker_epoch(broker),
            "currentMetadataOffset": self.twins.ours.end_offset - 1,
        }

    def topic(self, name: str, assignments: Sequence[dict[str, Any]], configs: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        return {"name": name, "numPartitions": -1, "replicationFactor": -1, "assignments": list(assignments), "configs": list(configs)}


def supported() -> list[dict[str, Any]]:
    """The features of a node of the newest release."""
    ranges = supported_features().items()
    return [{"name": name, "minSupportedVersion": low, "maxSupportedVersion": high} for name, (low, high) in ranges]


def directories(broker: int) -> list[str]:
    """The log directories of a broker, as many as its id, at most two."""
    return [own_uuid(f"dir-{broker}-{at}") for at in range(min(broker, 2))]


def _turned(ids: Sequence[int], count: int) -> list[int]:
    return [*ids[count % len(ids) :], *ids[: count % len(ids)]]


def known_fields(message: Any, struct: Any, fields: dict[str, Any], version: int) -> dict[str, Any]:
    """The fields that a version has."""
    known = {field.json_name: field for field in struct.at(version)}
    made = {}
    for name, value in fields.items():
        field = known.get(name)
        if field is None:
            continue
        if field.is_struct and value is not None:
            inner = message.schema.structs[field.type]
            value = (
                [known_fields(message, inner, item, version) for item in value]
                if field.is_array
                else known_fields(message, inner, value, version)
            )
        made[name] = value
    return made


def _places(api: str, fields: dict[str, Any]) -> bool:
    """Whether the controller is to choose replicas."""
    if api == "CreateTopics":
        return any(not topic.get("assignments") for topic in fields.get("topics", ()))
    return api == "CreatePartitions" and any(topic.get("assignments") is None for topic in fields.get("topics", ()))
