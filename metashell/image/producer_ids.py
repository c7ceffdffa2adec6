"""The block of producer ids that was handed out last."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from metashell.codec.registry import message_type
from metashell.image.loss import VersionedRecord


class ProducerIdsImage(NamedTuple):
    """Who got the last block of producer ids, and the first id of the next; all -1 when none was handed out.

    A snapshot keeps only the next id, so `broker_id` and `broker_epoch` are -1 after one was read, as in Kafka.
    """

    next_producer_id: int = -1
    broker_id: int = -1
    broker_epoch: int = -1

    def write(self) -> Iterator[VersionedRecord]:
        if self.next_producer_id >= 0:
            make = message_type("metadata", "ProducerIdsRecord").cls
            yield make(broker_id=self.broker_id, broker_epoch=self.broker_epoch, next_producer_id=self.next_producer_id), 0


class ProducerIdsDelta:
    """Gathers allocations of producer ids."""

    def __init__(self, image: ProducerIdsImage) -> None:
        self._image = image

    def replay_producer_ids(self, record: Any) -> None:
        self._image = ProducerIdsImage(record.next_producer_id, record.broker_id, record.broker_epoch)

    def apply(self) -> ProducerIdsImage:
        return self._image
