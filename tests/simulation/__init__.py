"""Whole quorums on a seeded clock, network and disk, with every rule of the protocol checked after every event.

`python -m tests.simulation SEED` replays one. A seed draws its `Options` (who takes part, which faults, how often); a `World` runs the real
core of `metashell.quorum.raft` in as many `Host`s, and `run.run` leads it through faults, healing and a restart of all from disk. What must
hold is in `checkers`, what the checkers must find is in `planted`.
"""
