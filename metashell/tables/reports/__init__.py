"""Questions that operators ask of a cluster's logs: reports, each one SQL text over the tables of events.

A report NAME is `sql/NAME.sql`, the question, and `sql/NAME.toml`, its description; `catalog` has them all as `REPORTS`. DuckDB runs the
question on this machine (`local`), and Spark at scale (spark_reports), so it keeps to the SQL that both read alike: window functions
instead of recursion, no IGNORE NULLS, no literals of lists, and of Spark's own functions only those that `local.DUCKDB_MACROS` gives to
DuckDB. `output` writes an answer as Parquet, CSV or JSON and to standard output, `page` as one HTML file; `page` also makes the index of
all reports. The current state is judged by the checks of `health`, never derived from events.

A view that several questions are built on is made once a run. Most of a log is changes of partitions: on this machine numpy makes their
views (`numpy_views`) while the logs are read, and Spark makes them by their SQL. Tests compare the two.

Promises: a record that several replicas keep counts once, clusters are never mixed, and a record in a checkpoint is state, not an event.
Records of aborted or open transactions do not count (`uncommitted`, and the view `offset_commits`), nor do those of a leader whose log was
cut off, if the log of the next leader was read too. Pages load nothing from anywhere, run no script, and escape every text that
comes from data. Secrets are redacted already in `tables.columns`. Rows that are not needed at once are in unnamed temporary files: memory
does not grow with a log.
"""

from metashell.tables.reports.catalog import REPORTS, Report

__all__ = ["REPORTS", "Report"]
