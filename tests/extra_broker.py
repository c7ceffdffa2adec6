"""A broker of a test's own beside the fake ones of a quorum: it is fenced, and shrinks ISRs, when the test says so."""

from __future__ import annotations

import hashlib

from metashell.codec import messages
from metashell.codec.releases import FEATURES
from metashell.disk.bootstrap import NEWEST_RELEASE_LEVEL, OLDEST_RELEASE_LEVEL
from metashell.quorum.embedded import EmbeddedQuorum

PATIENT = {"broker.session.timeout.ms": 3_600_000}
"""What a quorum with extra brokers needs: on a slow machine the controller would fence them, for they send nothing by themselves."""


class ExtraBroker:
    """Registered and unfenced when made; it sends nothing by itself, see `PATIENT`."""

    def __init__(self, quorum: EmbeddedQuorum, id: int, rack: str | None = None) -> None:
        self.id = id
        self._quorum = quorum
        digest = hashlib.sha256(f"extra {id}".encode()).digest()
        request = messages.BrokerRegistrationRequest
        levels = {
            "metadata.version": (OLDEST_RELEASE_LEVEL, NEWEST_RELEASE_LEVEL),
            **{name: (0, len(found) - 1) for name, found in FEATURES.items()},
        }
        answer = quorum.request(
            request(
                broker_id=id,
                cluster_id=quorum.cluster_id,
                incarnation_id=digest[:16],
                listeners=(request.Listener(name="PLAINTEXT", host="localhost", port=1, security_protocol=0),),
                features=tuple(
                    request.Feature(name=name, min_supported_version=low, max_supported_version=high)
                    for name, (low, high) in levels.items()
                ),
                rack=rack,
                log_dirs=(digest[16:],),
            )
        )
        assert answer.error_code == 0, answer
        self.epoch = answer.broker_epoch
        self.fence(False)

    def fence(self, is_fenced: bool = True) -> None:
        """Have the controller fence it, or let it serve again."""
        answer = self._quorum.request(
            messages.BrokerHeartbeatRequest(
                broker_id=self.id,
                broker_epoch=self.epoch,
                current_metadata_offset=self.epoch,
                want_fence=is_fenced,
                want_shut_down=False,
            )
        )
        assert answer.error_code == 0 and answer.is_fenced == is_fenced, answer
        self._quorum.wait_for(lambda image: image.cluster.brokers[self.id].fenced == is_fenced)

    def shrink(self, topic: str, id: int = 0) -> None:
        """As the leader of a partition, drop all others from its ISR."""
        image = self._quorum.image.topics.by_name[topic]
        partition = image.partitions[id]
        request = messages.AlterPartitionRequest
        state = request.BrokerState(broker_id=self.id, broker_epoch=self.epoch)
        data = request.PartitionData(
            partition_index=id,
            leader_epoch=partition.leader_epoch,
            new_isr_with_epochs=(state,),
            leader_recovery_state=0,
            partition_epoch=partition.partition_epoch,
        )
        topics = (request.TopicData(topic_id=image.id, partitions=(data,)),)
        answer = self._quorum.request(request(broker_id=self.id, broker_epoch=self.epoch, topics=topics))
        assert answer.error_code == 0 and answer.topics[0].partitions[0].error_code == 0, answer
        self._quorum.wait_for(lambda image: image.topics.by_name[topic].partitions[id].isr == (self.id,))
