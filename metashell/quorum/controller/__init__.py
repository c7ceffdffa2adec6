"""The quorum controller of KIP-631 as it is in Kafka 4.4.0, without I/O: a request and the state give records and an answer.

Promises:
- `QuorumController.decide(request, now)` reads state and returns a `Decision(answer, records, atomic)`; it changes nothing that a
  follower would have to know. `replay(records, base_offset)` is the only thing that changes the state of the cluster, on the active
  controller, on standbys and at start alike.
- No clock, no random source, no sockets, no files: `now_ms` and a `Chance` (uuids, numbers, shuffles) are handed in, deadlines out.
- A decision never raises for a request that decodes. Where Kafka gives up its leadership, closes the connection or halts because of
  what one client sent, the answer is INVALID_REQUEST or the API's own code, and leadership stays.
- Order of checks, error codes and error messages are Kafka's: tools show them to people.

Shape of the state (`state.py`). A `View` is a value: an image, the offset of each broker's registration record, and the view before an
open transaction. The state has two of them: `tip`, with every record that was written, and `committed`, with every record that the quorum
committed. A batch that is replayed makes the next tip; a commit moves `committed` to the view of that offset; losing leadership is
`tip = committed`. What readers may see is `stable`: `committed`, or the view before its open transaction. So a transaction that is
aborted, a leader that is deposed in the middle of one, and a snapshot that must not contain half of one are the same reference.

Lookups are hints (`hints.py`). "Which partitions does broker 7 lead?" cannot be asked of a million partitions that are bytes.
The hints name partitions that *may* be meant, and each is held against the image before it counts. A hint may name too much, never too
little, so hints need no versions: nothing is undone in them when the tip goes back. The one about brokers goes by replica lists, which
change only when partitions are made or reassigned; ISR, ELR and leaders are subsets of these, so changes of ISRs, the hot path, never
touch it. A hint is dropped once both the committed view and the tip deny it.

What is no part of the log lives beside it and dies with leadership: contact times and metadata offsets of brokers and the buckets of
mutation quotas (`leader_state.py`), the schedule of periodic tasks (`controller.py`), and in the server the answers that wait for their
offset (`Purgatory`).

Flow of a write:

    decision = controller.decide(request, now_ms)             # or decide_steps, for all that follows goes by steps too
    for batch in decision.batches():                          # one if atomic, else runs of 10 000
        base_offset = raft.prepare_append(batch)              # real offsets; not yet visible to anybody
        controller.replay(batch, base_offset)
        raft.schedule_prepared_append()
    purgatory.add(controller.written(decision), waiter)   # a decision without records waits for the highest pending offset
    ...
    controller.commit(offset); purgatory.complete_to(controller.stable_offset)

Decisions and replay make no cycles: a driver collects garbage between decisions, where looking for it in the middle of a large one
takes longer than the decision.

Within one decision everything is computed on the view before it, also where two records change one partition: a partition change carries
absolute values and epochs only count up, so replay gives what Kafka's does. The view never changes while a decision is made.

Long work comes in steps (`decision.py`): a generator that yields where it may rest, after some milliseconds at most, and returns what it
came to. `decide_steps` gives a Decision, or the steps to one; `run_due_steps`, `claim_steps`, `replay_steps` and `load_steps` are the
others. `decide`, `run_due`, `claim`, `replay` and `load` are the same without a rest. Between the steps of one of these nothing may touch
the controller but `contact` (heartbeats as they arrive) and what only reads: `image`, `stable_offset`, `next_due_ms`. Also a commit waits
until the work is done, and leadership that is lost meanwhile is given up after it. Work that is begun is finished; only a decision may be
dropped half way, for it has changed nothing that counts. `background_steps` is another matter: nobody waits for it, it may be left after
any step for any other call, and asked again it goes on.

One module holds one subject: functions from the state and a request to records and an answer. `controller.py` only routes: its table leads
from api key and versions to the function, with the right that each API needs. Record versions follow metadata.version in one place,
`decision.py`. `partition_change.py` is the one procedure that changes a partition. `config_keys/` holds Kafka's definitions as data.

Per-request lists are bounded by 10 000 records (POLICY_VIOLATION); fencing, registration, heartbeats and AlterPartition are unbounded
and not atomic. Periodic tasks are rows of a table: name, period, function; `run_due(now)` runs one of them, and one that finds more work
comes again after 10 ms."""

from __future__ import annotations

from metashell.quorum.controller.controller import QuorumController
from metashell.quorum.controller.decision import Decision, Purgatory, Request, Steps
from metashell.quorum.controller.settings import Settings

__all__ = ["Decision", "Purgatory", "QuorumController", "Request", "Settings", "Steps"]
