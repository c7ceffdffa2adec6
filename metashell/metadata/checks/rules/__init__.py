"""The rules, a few subjects a file. Importing this package registers them."""

# ruff: noqa: F401
from metashell.metadata.checks.rules import brokers, controllers, identity, lint, live_quorum, metadata, partitions, quorum, strays
