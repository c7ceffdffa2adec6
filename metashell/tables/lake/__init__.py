"""A lake: Delta tables of many days and clusters in one folder, to which only what is new is added, exactly once.

    TABLE/part-*.parquet, TABLE/month=YYYY-MM/part-*.parquet, TABLE/_delta_log/    one table for each record type
    appends/                                                                       what each append took of which logs

Offsets are the identity of what is read, not files: compaction rewrites segments, dumps are copied, logs are rolled. A log is known by its
cluster, its node and its name (`input_conflicts`). The table `appends` says which offsets of it are there (`log_state`), so the plan of an
append (`plan`) is the rest. The same input a second time, or a copy of it, adds nothing.

An append is a commit to `appends`, which names its files; then each table gets its part, by a commit with the append's number as an
application transaction; then `appends` says that all have it (`appends`, `delta`). Whoever writes next completes what is not done. No lock
is taken: delta-rs refuses the second of two writers, and the store, by conditional writes, the second of two commits of one version.

`append` is the driver of `metashell export --append`; Spark's driver plans and commits by the same code. `write_tasks` runs in processes
of its own. `status` has the upkeep. Only `delta` knows deltalake.
"""
