"""The metadata image: a frozen value, deltas that make the next one, and the way from batches to it and back.

Promises:
- An image never changes. Older images stay valid and cost only what differs, so time travel is an older reference.
- `MetadataDelta.replay(record)` and `apply()` are the only things that make a new image; `load_image` and `ImageLoader`
  use nothing else. One function folds changes into a partition, whether it lies here as bytes or as an object.
- Partitions stay bytes until someone looks: opening a snapshot finds and checks them without decoding; one is decoded
  when it is read. Every batch that holds partitions is kept alive by the image; nothing is mapped.
- What cannot be applied is in `metadata.image.provenance`, with its place; everything else is applied. Nothing here raises for what
  a log contains.
- No I/O: batches come through a Protocol.

Values are NamedTuples rather than frozen dataclasses: a dataclass costs each start of a command half a millisecond, and
partitions are made by the million. Maps are `immutables.Map`, which have no order: sort where order shows.
"""

from __future__ import annotations

from metashell.metadata.image.cluster import BrokerRegistration, ClusterImage, ControllerRegistration, FeaturesImage, Listener
from metashell.metadata.image.image import EMPTY_IMAGE, MetadataDelta, MetadataImage, ProducerIdsImage
from metashell.metadata.image.loader import ImageLoader, load_image
from metashell.metadata.image.partitions import PartitionRegistration
from metashell.metadata.image.provenance import (
    Batch,
    Fault,
    ImageLossError,
    Leader,
    Provenance,
    ReplayError,
    Source,
    Voter,
    VoterEndpoint,
    VoterSet,
)
from metashell.metadata.image.settings import (
    Acl,
    AclsImage,
    ClientQuotasImage,
    ConfigsImage,
    DelegationToken,
    DelegationTokensImage,
    QuotaEntity,
    ScramCredential,
    ScramImage,
)
from metashell.metadata.image.topics import PartitionMap, TopicImage, TopicsImage

__all__ = [
    "EMPTY_IMAGE",
    "Acl",
    "AclsImage",
    "Batch",
    "BrokerRegistration",
    "ClientQuotasImage",
    "ClusterImage",
    "ConfigsImage",
    "ControllerRegistration",
    "DelegationToken",
    "DelegationTokensImage",
    "Fault",
    "FeaturesImage",
    "ImageLoader",
    "ImageLossError",
    "Leader",
    "Listener",
    "MetadataDelta",
    "MetadataImage",
    "PartitionMap",
    "PartitionRegistration",
    "ProducerIdsImage",
    "Provenance",
    "QuotaEntity",
    "ReplayError",
    "ScramCredential",
    "ScramImage",
    "Source",
    "TopicImage",
    "TopicsImage",
    "Voter",
    "VoterEndpoint",
    "VoterSet",
    "load_image",
]
