"""The logs of groups on disk: what `__consumer_offsets` says of groups and offsets, and how it came to that.

Promises: files are only read. A partition of which several brokers' copies are given counts once, and clusters are never mixed. Whatever a
log holds, what can be read of it is shown; what cannot be is a fault of the file (`load`) or a finding of the state, with its place. No
record is decoded that nobody asks for: `Fold` keeps the newest bytes of each commit.

What groups are is decided by the replay of `groups`; the room `story` tells how a group came to where it is, from its records in their
order, as far as records tell, and says where they do not.
"""
