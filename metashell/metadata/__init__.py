"""Kafka's metadata as values: the image and its history, what is wrong with a cluster, and the image as a tree of nodes.

- `image`: the immutable image, the deltas that make the next one, and the loader that replays batches.
- `history`: images as of an earlier offset, and the records that changed a place.
- `checks`: the rules that judge a cluster from facts. `facts` and `directory_facts` gather those facts from disks.
- `nodes`: the image as directories and leaves, as the shell shows it.

The image and the checks do no I/O. Only history's sources and the gatherers of facts read files, and they never write."""
