"""Which nodes are meant: patterns of paths, walks down the tree, and tests of what is found.

`globs` reads patterns as Kafka's shell reads them, `patterns` as our own does; `walk` goes down the tree one node at a time.
"""
