"""KRaft consensus as a core without I/O: events in, a `Ready` out.

It promises that nothing leaves a replica before what it rests on is durable (`ready`), that every decision is a function of its state,
the event, the time given with it and the random source handed in, and that no exception leaves it for anything that a peer sends.
It never opens a file or socket and never reads a clock. Source: KIP-595, KIP-630, KIP-853, KIP-996, KIP-1166, KIP-1186.
"""
