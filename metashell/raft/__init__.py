"""KRaft consensus as a core without I/O: events in, a `Ready` out.

It promises that nothing leaves a replica before what it rests on is durable (`ready`), that every decision is a function of its state,
the event, the time given with it and the random source handed in, and that no exception leaves it for anything that a peer sends.
It never opens a file or socket and never reads a clock. Source: KIP-595, KIP-630, KIP-853, KIP-996, KIP-1166, KIP-1186.

To read it: `messages`, `ready` and `protocols` are its borders, `config` its settings. `node` routes what comes in; `replica` is the state
that all parts share and `roles` what each state of the quorum knows; `transitions` alone changes the role, `polling` does what time
asks for, `appending` alone changes the log. Each rule has a module: `startup`, `recovering`, `votes`, `epochs`, `common`, `fetch_server`,
`fetch_client`, `progress`, `leading`, `snapshot_server`, `snapshot_client`, `reconfiguration`, `voter_update`, `self_update`,
`listeners`. Below them lie values and pure parts: `voter_set`, `partition_state`, `epoch_cache`, `accumulator`, `connections`.

Where it is stricter or kinder than Kafka:
- a leader counts its own log only as far as it is durable, and resigns whenever the committed voters do without it;
- votes, pre-votes and fetches name the end of the log only when all of it is durable (`ready.DurableEnd`), and a candidacy ends with its
  process; a vote is given again in the same epoch only to a log that is still long enough;
- a step that changes the role appends nothing, so that the log is never ahead of quorum-state;
- no single message uses up the epochs (`common.is_plausible_epoch`);
- what would kill a Kafka replica is refused, told in `complaints` and followed by a pause; none of it is sent: a leader is named only with
  an endpoint, and never to who asks as if it led;
- a leader that is named without endpoints is remembered, and followed as soon as they are known;
- a question whose answer brought nothing new, or came from who is behind, is asked again after the pause, not at the speed of the network;
- who resigns says where it is, so that a voter that does not know it as one yet can take in that it led;
- what would be written into the log for good (listeners, hosts, ranges of levels of a voter) is bounded, and such as Kafka can read;
- the cleaner never overtakes a listener that was told that its replica leads;
- a replica whose log lost records that were on disk has no vote until it has them again from a leader (`recovering`); Kafka's cuts its
  log at the first damaged batch, deletes the whole ones behind it, and votes with the rest;
- a downloaded snapshot is checked while it comes, and replaces also a log of a later epoch that nobody else knew.
"""
