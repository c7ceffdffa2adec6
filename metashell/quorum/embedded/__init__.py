"""A quorum of controllers inside a Python process: for tests, for tools, and for `metashell quorum`.

    with EmbeddedQuorum(controllers=3) as quorum:
        quorum.bootstrap_controllers        # "localhost:37211,localhost:40105,localhost:33417"
        quorum.kill(quorum.leader_id)
        quorum.wait_for_leader()
        quorum.image                        # metashell.metadata.image.MetadataImage: what is committed

Promises:
- The controllers are those of `metashell server`: same listeners, same files, same protocol. Only where they run differs: on one loop, in
  one thread, with ports that the system picks and short timeouts (`layout.QUICK`).
- Every method and attribute may be used from any thread. What ends a controller reaches the caller: by the next wait, and by `stop`.
- Nothing is left behind: no thread, no port, no file but those in a `directory` that was given; also when a start fails or is interrupted,
  and at the end of an interpreter that never called `stop`. Only a process that is killed leaves its temporary directory.
- A directory that is kept is a quorum of Kafka: each controller has its `server.properties` there, and Kafka's server runs on it.
- Importing this package costs nothing; asyncio and the controller are imported when a quorum is started.

Modules: `quorum` (`EmbeddedQuorum`), `layout` (files, formatting, ports, errors), `members` (the controllers on the loop, and a group
server), `fake_brokers` (brokers without data, topics), `background` (the quorum that `metashell quorum start` leaves running),
`pytest_plugin` (the fixture `kafka_quorum`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.quorum.embedded.fake_brokers import create_topic as create_topic
    from metashell.quorum.embedded.layout import QuorumError as QuorumError
    from metashell.quorum.embedded.layout import RefusedError as RefusedError
    from metashell.quorum.embedded.quorum import EmbeddedQuorum as EmbeddedQuorum

_MODULES = {"EmbeddedQuorum": "quorum", "QuorumError": "layout", "RefusedError": "layout", "create_topic": "fake_brokers"}
__all__ = ["EmbeddedQuorum", "QuorumError", "RefusedError", "create_topic"]


def __getattr__(name: str) -> object:
    """The public names, imported when they are first used: pytest imports this package in every project."""
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(f"metashell.quorum.embedded.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
