"""The rules, one file a subject. Importing this package registers them; the order here is that of findings."""

from metashell.checks.rules import (
    acls,
    brokers,
    checkpoints,
    configuration,
    election,
    features,
    identity,
    metadata,
    partitions,
    quorum,
    strays,
)

__all__ = [
    "acls",
    "brokers",
    "checkpoints",
    "configuration",
    "election",
    "features",
    "identity",
    "metadata",
    "partitions",
    "quorum",
    "strays",
]
