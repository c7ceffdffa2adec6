"""Rehearses changes of a cluster on a copy of its metadata.

Promises:
- `Rehearsal(image, assumptions, sizes).run(steps)` in `rehearsal` runs the real `QuorumController` on a copy of an image and returns an
  `Outcome`. The image never changes.
- The controller is not a model: each record comes from the code that runs in a quorum. Modelled are the brokers (heartbeats, deaths,
  controlled shutdowns, replication), the delays of the quorum, and the clock.
- No I/O, no clock, and no random source but a seed: the same image, steps and assumptions give the same outcome. Only the order of
  records within one decision can differ, since it depends on hashes of topic ids, as in Kafka.
- A verdict of 0 means that every partition was watched and none went offline from the first step to the end. The outcome lists what was
  assumed.

The cost depends on the changes, not on the size of the cluster: heartbeats of undisturbed brokers are noted in bulk, and only partitions
that a record or the death of a broker touches are examined.

`step_grammar`, `plan_file` and `assumptions` parse a request; `step_checks` refuses impossible steps before anything runs; `render_text`
and `render_rows` write the outcome. `single_failures` finds the brokers, racks and controllers that a cluster cannot lose, in one pass
over its partitions, and agrees with rehearsals of each loss. The room `placement` computes reassignment plans."""
