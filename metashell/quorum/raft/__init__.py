"""KRaft consensus as a core without I/O: events in, a `Ready` out.

It promises that nothing leaves a replica before what it rests on is durable (`ready`), that every decision is a function of its state,
the event, the time given with it and the random source handed in, and that nothing a peer sends raises an exception.
It never opens a file or socket and never reads a clock. Source: KIP-595, KIP-630, KIP-853, KIP-996, KIP-1166, KIP-1186.

A driver is a loop around it. The smallest one, for a log that syncs when it is told to; `next_event` waits until the time it is given for
something to happen, and returns it as a call of the node, or None. `metashell.quorum.server.driver` does the same with threads, and
completes downloaded snapshots (`freeze`), which is left out here:

    def drive(node, log, store, next_event, send, notify, clock):
        todo = [node.take_ready()]
        while not node.is_shut_down:
            while todo:
                ready = todo.pop(0)
                if ready.election is not None:
                    durable = store.write(ready.election, ready.kraft_version)
                for message in ready.messages(durable):
                    send(message)
                if ready.flush_to is not None:
                    log.flush_to(ready.flush_to)
                    todo.append(node.flushed(clock()))
                for notice in ready.notices:
                    notify(notice)
            call = next_event(node.next_poll_ms()) or node.poll
            todo.append(call(clock()))

Where to begin: `messages` (with the settings), `ready` and `replicated_log` are its borders. `node` takes every call to its part; `replica`
is the state that all parts share, `roles` what each state of the quorum knows. Then `transitions` (how a leader comes about, and what every
message is checked for first), `elections`, `fetch`, `progress` (what is committed). `polling` does what time asks for, `appending` alone
changes the log. `snapshots` and `reconfiguration` have the rules that their names say; `wire` goes to bytes and back.

Where it is stricter or kinder than Kafka:
- a leader counts its own log only as far as it is durable, and resigns whenever the committed voters do without it;
- votes, pre-votes and fetches name the end of the log only when all of it is durable (`ready.DurableEnd`), and a candidacy ends with its
  process; a vote is given again in the same epoch only to a log that is still long enough;
- a step that changes the role appends nothing, so that the log is never ahead of quorum-state;
- no messages use up the epochs: who is no voter, and a pre-vote, never moves one, and a voter far ahead is asked itself (`epoch_guard`);
- what would kill a Kafka replica is refused, counted in `complaints` and followed by a pause; none of it is sent: an answer names a leader
  only with an endpoint, and never its asker;
- a leader that is named without endpoints is remembered, and followed as soon as they are known;
- a request whose answer brought nothing new, or came from a replica that is behind, is repeated after the pause, not at once;
- a replica that resigns says where it is, so that a voter that does not know it as one yet learns that it led;
- what a voter wants written into the log (listeners, hosts, ranges of levels) is bounded, and readable for Kafka;
- the cleaner never deletes what a listener that knows its replica leads has still to read;
- a replica whose log lost records that were on disk has no vote until it has them again from a leader (`polling`); Kafka's cuts its
  log at the first damaged batch, deletes the whole ones behind it, and votes with the rest;
- a downloaded snapshot is checked while it arrives, and also replaces a log of a later epoch that nobody else knew."""
