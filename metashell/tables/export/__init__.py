"""Export of logs to files, one table each, by a pool of processes over splits.

`job` is the driver, `plan` what to write and what an earlier export left, `split_writer` the work of one process, `workers` the
processes. `parquet`, `column_chunks` and Thrift's compact protocol make Parquet files faster and smaller than pyarrow's own defaults do."""
