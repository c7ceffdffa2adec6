"""An image written as the records of a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from metashell.codec.metadata_version import NEWEST_LEVEL, metadata_version_name
from metashell.image.client_quotas import write_client_quotas
from metashell.image.configs import write_configs
from metashell.image.delegation_tokens import write_delegation_tokens
from metashell.image.image import MetadataImage
from metashell.image.loss import ImageLossError, LossHandler, VersionedRecord
from metashell.image.scram import write_scram


def write_image(image: MetadataImage, level: int | None = None, *, on_loss: LossHandler | None = None) -> Iterator[VersionedRecord]:
    """The records of a snapshot of `image`, each with its version, in the order in which Kafka's controllers write them.

    Shape: for the metadata.version `level`, the image's own if None; an image that never had one is written without it, at the
    newest. Replayed on an empty image the records give this one again, if nothing was lost.
    Errors: ImageLossError for information that the level cannot hold, unless `on_loss` is given, which gets it.
    Source: org.apache.kafka.image.MetadataImage.write.
    """
    has_level = level is not None or image.features.metadata_version is not None
    level = level or image.features.metadata_version or NEWEST_LEVEL
    loss = _once(on_loss) if on_loss else _refuse(level)
    features = image.features.write(level, loss)
    if not has_level:
        next(features)
    return chain(
        features,
        image.cluster.write(level, loss),
        image.topics.write(level, loss),
        write_configs(image.configs),
        write_client_quotas(image.client_quotas),
        image.producer_ids.write(),
        image.acls.write(),
        write_scram(image.scram, level, loss),
        write_delegation_tokens(image.delegation_tokens, level, loss),
    )


def _refuse(level: int) -> LossHandler:
    def refuse(loss: str) -> None:
        raise ImageLossError(loss, metadata_version_name(level))

    return refuse


def _once(on_loss: LossHandler) -> LossHandler:
    told: set[str] = set()

    def tell(loss: str) -> None:
        if loss not in told:
            told.add(loss)
            on_loss(loss)

    return tell
