"""Rehearsals: what would happen to a cluster, found out on a copy of its metadata.

Promises:
- `Rehearsal(image, assumptions, sizes).run(steps)` in `rehearsal` runs the real `QuorumController` on a copy of an image and returns an
  `Outcome`. The image never changes.
- The controller is not a model: each record comes from the code that runs in a quorum. The brokers are modelled (their heartbeats, deaths,
  controlled shutdowns, and how they catch up), as are the time that the quorum needs and the clock.
- No I/O, no clock, and no chance but a seed: the same image, steps and assumptions give the same outcome, apart from the order of records
  within one decision, which goes by hashes of topic ids, as in Kafka.
- A verdict of 0 means that every partition was watched and none went offline from the first step to the end. The outcome lists what was
  assumed.

The cost is that of the changes: heartbeats of brokers to which nothing can happen are noted in bulk, and only partitions that a record
or the death of a broker touches are looked at.

`step_grammar`, `plan_file` and `assumptions` read the text of a request; `step_checks` refuses steps that make no sense for the cluster,
before anything runs; `render_text` and `render_rows` write the outcome. `single_failures` says what a cluster cannot lose, in one pass
over its partitions, with the answers that rehearsals would give. The room `placement` computes plans of reassignment."""
