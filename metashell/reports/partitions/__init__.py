"""The views `partition_states` and `unknown_changes` made by numpy: the same rows as their SQL, in a fraction of its time and memory.

Most of a metadata log is changes of partitions. While the logs are read, `gathering` keeps each as a few numbers on disk: a topic, a list
of brokers, a file is a number among the distinct ones. `folding` then makes the states of some topics at a time, so that memory does not
grow with the log, and `states` writes them as Arrow. On Spark the views are their SQL, `sql/views`; a test compares both.
"""
