"""A lake: tables of many days and clusters in one folder, to which only what is new is added, exactly once.

    table=NAME/cluster_id=ID/date=YYYY-MM-DD/part-COMMIT-N-ID.parquet   rows
    _metashell/format.json                                             what holds for the whole lake
    _metashell/commits/00000001.json                                   what one export added, and of which offsets
    _metashell/pending/00000002-ID.json                                a commit that is being made, of parts below its folder of work

Offsets are the identity of what is read, not files: compaction rewrites segments, dumps are copied, logs are rolled. A log is known by its
cluster, its node and its name (`input_conflicts`). The lake's commits say which offsets of it are there (`ledger`), so the plan of an
append (`plan`) is the rest. The same input a second time, or a copy of it, adds nothing.

A commit (`commit`) happens in steps, each of which may be the last before a crash: parts are written below `_metashell/work`, then
its pending file names every move and every removal and holds the commit itself, then the parts are moved, then the commit gets its number.
The next writer completes a commit that has a pending file, and removes the parts of one that has none. So each record is there once, even
if a writer to a store sleeps, loses its lock and wakes: then it can do no step that undoes another's.

`append` is the driver of `metashell export --append`; Spark's driver plans and commits by the same code. `write_tasks` needs
pyarrow and runs in processes of its own; all else needs the base install.
"""
