"""The rules, a few subjects a file. Importing this package registers them."""

# ruff: noqa: F401
from metashell.metadata.checks.rules import brokers, controllers, identity, lint, live_quorum, metadata, partitions, quorum, strays
from metashell.metadata.checks.rules import brokers as disks
from metashell.metadata.checks.rules import brokers as incarnations
from metashell.metadata.checks.rules import lint as acls
from metashell.metadata.checks.rules import lint as throttles
from metashell.metadata.checks.rules import metadata as checkpoints
from metashell.metadata.checks.rules import metadata as features
from metashell.metadata.checks.rules import metadata as migration
from metashell.metadata.checks.rules import partitions as leader_elections
from metashell.metadata.checks.rules import partitions as transactions
from metashell.metadata.checks.rules import quorum as quorum_state
from metashell.metadata.checks.rules import quorum as voters
