"""The metadata of a cluster at one offset."""

from typing import NamedTuple

from immutables import Map

from metashell.image.acls import AclsImage
from metashell.image.client_quotas import ClientQuotasImage
from metashell.image.cluster import ClusterImage
from metashell.image.configs import ConfigsImage
from metashell.image.delegation_tokens import DelegationTokensImage
from metashell.image.faults import Fault
from metashell.image.features import FeaturesImage
from metashell.image.producer_ids import ProducerIdsImage
from metashell.image.provenance import Provenance
from metashell.image.scram import ScramImage
from metashell.image.topics import TopicsImage
from metashell.image.voters import Leader, VoterSet


class MetadataImage(NamedTuple):
    """Everything that metadata records describe, and what control records say of the quorum; it never changes.

    An image costs what differs from the one it was made from, so keeping old ones is cheap. `voters` and `leader` are
    None where no control record named them. `faults` is what could not be applied; `unread` is what is newer than the known schemas in
    records that were applied all the same, one entry for all records of a kind; `torn_tails` are no faults, but the normal end of a
    node's last segment.
    """

    features: FeaturesImage = FeaturesImage()
    cluster: ClusterImage = ClusterImage()
    topics: TopicsImage = TopicsImage()
    configs: ConfigsImage = Map()
    client_quotas: ClientQuotasImage = Map()
    producer_ids: ProducerIdsImage = ProducerIdsImage()
    acls: AclsImage = AclsImage()
    scram: ScramImage = Map()
    delegation_tokens: DelegationTokensImage = Map()
    voters: VoterSet | None = None
    leader: Leader | None = None
    provenance: Provenance = Provenance()
    faults: tuple[Fault, ...] = ()
    unread: tuple[Fault, ...] = ()
    torn_tails: tuple[Fault, ...] = ()

    @property
    def is_as_formatted(self) -> bool:
        """Whether no server has written to it: neither a leader nor a node nor a topic."""
        return not (self.leader or self.cluster.brokers or self.cluster.controllers or self.topics.by_id)

    def has_same_metadata(self, other: "MetadataImage") -> bool:
        """Whether both would write the same metadata records: all but quorum, provenance and faults, and kraft.version."""
        mine, others = self._metadata(), other._metadata()
        return mine == others

    def _metadata(self) -> tuple[object, ...]:
        return (
            self.features._replace(kraft_version=0),
            self.cluster,
            self.topics,
            self.configs,
            self.client_quotas,
            self.producer_ids,
            self.acls,
            self.scram,
            self.delegation_tokens,
        )


EMPTY_IMAGE = MetadataImage()
"""What there is before the first record."""
