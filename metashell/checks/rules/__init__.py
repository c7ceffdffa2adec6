"""The rules, one file a subject. Importing this package registers them."""

from metashell.checks.rules import (
    acls,
    brokers,
    features,
    metadata,
    partitions,
    probes,
    quorum,
)

__all__ = ["acls", "brokers", "features", "metadata", "partitions", "probes", "quorum"]
