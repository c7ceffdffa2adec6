"""Rehearsals: what would happen to a cluster, found out on a copy of its metadata.

Promises:
- `Rehearsal(image, assumptions, sizes).run(steps)` puts the real `QuorumController` on a copy of an image and gives an `Outcome`. The image
  stays as it is: images never change.
- What the controller does is no model: each record comes from the code that runs in a quorum. Modelled are the brokers (their heartbeats,
  deaths, controlled shutdowns, and how they catch up), the time that the quorum needs, and a clock that nobody has to wait for.
- No I/O, no clock, and no chance but a seed: the same image, steps and assumptions give the same outcome, apart from the order of records
  within one decision, which goes by hashes of topic ids, as in Kafka.
- Nothing is green that was not looked at: the verdict is 0 only if no partition went offline from the first step to the end. What was
  assumed is in the outcome.

It costs what changes: heartbeats of brokers with which nothing can happen are noted in bulk, and of the partitions only those are
looked at that a record or the death of a broker touches.

Around the engine: the room `words` reads what is asked for; `checks` and `contradictions` refuse what cannot be meant, before anything
runs; the room `answers` says what came of it, to people and programs. `standing` says what a cluster cannot lose, in one pass over its
partitions, with the answers that rehearsals would give.
"""

from __future__ import annotations

from metashell.rehearse.checks import check_steps
from metashell.rehearse.cluster import Rehearsal, rehearse_change
from metashell.rehearse.outcome import Outcome, Trouble, Verdict
from metashell.rehearse.steps import Assumptions, Step, StepError

__all__ = ["Assumptions", "Outcome", "Rehearsal", "Step", "StepError", "Trouble", "Verdict", "check_steps", "rehearse_change"]
