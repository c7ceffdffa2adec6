"""What a listener without messages refuses: Produce, producer ids that only Produce could use, and reads outside of any group.

Each is refused with POLICY_VIOLATION, which clients report and do not retry: an error that asks for patience, or a closed connection, makes
them try again until their own timeouts end, or for ever. A producer id is refused with CLUSTER_AUTHORIZATION_FAILED, as by a cluster whose
rights let this client write nowhere: librdkafka retries after every other error that fits. `KEEPS_NO_MESSAGES` is the text for people.

A member of a group has to fetch: a consumer without answers to its fetches leaves its group. So a client that takes part in a group, or
commits for one, gets partitions without records, and waits for new ones as at any broker. A client that has fetched for `PATIENCE_MS` and
was never in a group waits for messages alone, in vain, and is refused. The time is for a client that comes back: after a restart of this
listener its consumer may fetch before it finds its coordinator. `__consumer_offsets` has records, and is read by anybody.

Source: what clients were seen to do with each error; docs/quorum.md lists them."""

from __future__ import annotations

from typing import Any, Final

from metashell.codec import codes, messages
from metashell.codec.error_codes import POLICY_VIOLATION

KEEPS_NO_MESSAGES: Final = "this listener keeps no messages, start a broker of Kafka"
PATIENCE_MS: Final = 15_000
"""A member is heard of within this time: a third of the usual session is the longest pause between two heartbeats."""
CLIENTS_MAX: Final = 1_000
"""The most clients that are remembered; who was heard of longest ago is forgotten."""
_SEVERAL_TRANSACTIONS_FROM: Final = 4
OF_GROUPS: Final = frozenset(
    (
        codes.OFFSET_COMMIT,
        codes.JOIN_GROUP,
        codes.HEARTBEAT,
        codes.SYNC_GROUP,
        codes.CONSUMER_GROUP_HEARTBEAT,
        codes.STREAMS_GROUP_HEARTBEAT,
    )
)
"""APIs whose sender takes part in a group. Who only looks for a coordinator or for offsets may still want to read messages alone."""


def refuse_produce(request: Any, version: int) -> messages.ProduceResponse:
    """Refuse every partition of a Produce."""
    made = messages.ProduceResponse

    def partition(index: int) -> Any:
        return made.PartitionProduceResponse(
            index=index, error_code=POLICY_VIOLATION, base_offset=-1, error_message=f"T{KEEPS_NO_MESSAGES[1:]}."
        )

    return made(
        responses=tuple(
            made.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=tuple(partition(each.index) for each in topic.partition_data),
            )
            for topic in request.topic_data
        )
    )


def refuse_partitions(request: Any, version: int) -> messages.AddPartitionsToTxnResponse:
    """Refuse every partition of an AddPartitionsToTxn: a transaction has nothing but offsets here."""
    made = messages.AddPartitionsToTxnResponse

    def refuse(topics: Any) -> tuple[Any, ...]:
        return tuple(
            made.AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=tuple(
                    made.AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=POLICY_VIOLATION)
                    for index in topic.partitions
                ),
            )
            for topic in topics
        )

    if version < _SEVERAL_TRANSACTIONS_FROM:
        return made(results_by_topic_v3_and_below=refuse(request.v3_and_below_topics))
    return made(
        results_by_transaction=tuple(
            made.AddPartitionsToTxnResult(transactional_id=one.transactional_id, topic_results=refuse(one.topics))
            for one in request.transactions
        )
    )


class Clients:
    """The clients that fetch, by client id and host. Units: ms of a clock that never goes back."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], int | None] = {}
        """When a client first fetched; None for one that takes part in groups."""

    def joins_group(self, client_id: str, host: str) -> None:
        self._put((client_id, host), None)

    def may_fetch(self, client_id: str, host: str, now_ms: int) -> bool:
        """Return whether a client's fetch is answered as a consumer's."""
        key = client_id, host
        since = self._since.get(key, now_ms)
        self._put(key, since)
        return since is None or now_ms - since < PATIENCE_MS

    def _put(self, key: tuple[str, str], since: int | None) -> None:
        self._since.pop(key, None)
        self._since[key] = since
        if len(self._since) > CLIENTS_MAX:
            del self._since[next(iter(self._since))]
