"""Groups on a clock that nobody waits for: members, coordinator, assignors and network in one process, and checkers that look at all of it.

Promises:
- What decides is what decides elsewhere: `groups.members` are the clients, `groups.coordinator` the broker's side. Modelled here are only
  time, the network, the log in memory, and applications that poll, take their time in callbacks and process records.
- Chance comes from a seed: the same `Plan` and scenario give the same outcome, event by event.
- The checkers (`RULES`) never stop a run: what did not hold is in `Outcome`. They look at callbacks, batches and commits as they come,
  never at the whole group at each event.

Flow: `simulate(plan, scenario)` makes a `World`; it lets the group settle, plays the steps of one of `SCENARIOS`, and ends when the group
has settled again and nothing changes any more. `Watch` hears of every callback of a `Client` and every batch and answer of the `Node`;
its `Ledger` knows who owns what since when, its `GroupRecords` what the log says of it.

A member that the coordinator has given up, by its timeouts or because it was replaced, may still believe to own partitions that another one
got. That is no fault of the protocol and is counted as a zombie; that one of its commits were accepted would be one.
"""
