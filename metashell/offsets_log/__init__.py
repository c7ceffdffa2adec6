"""The logs of groups on disk: what `__consumer_offsets` says of groups and offsets, and how it came to that.

Promises: files are only read. Of a partition of which several brokers' copies are given the newest counts, and clusters are never mixed.
What can be read of a log is shown; what cannot is a fault of the file (`load`) or a finding of the state, with its place. No commit is
decoded that nobody asks for: `Fold` keeps the newest bytes of each, after a look at their sizes that says that they decode.

What groups are is decided by the replay of `groups`; the room `story` tells how a group came to where it is, from its records in their
order, as far as records tell, and says where they do not.
"""
