"""Gathers the facts that checks need from disks: log directories with all that lies in them, and server.properties.

Promises: what is read is never written, locked or deleted; what cannot be read is a fact with its reason, and never raises.
"""

from metashell.facts.sources import gather

__all__ = ["gather"]
