"""Questions that operators ask of a cluster's logs: reports, each one SQL text over the tables of columns/.

A report NAME is `sql/NAME.sql`, the question, and `sql/NAME.toml`, its description; `catalog` has them all as `REPORTS`. DuckDB runs the
question on this machine (`local`), and Spark at scale (spark_reports), so it keeps to the SQL that both read alike: window functions
instead of recursion, no IGNORE NULLS, no literals of lists, and of Spark's own functions only those that `local.DUCKDB_MACROS` gives to
DuckDB. `forms` writes an answer as Parquet, CSV or JSON, `page` as one HTML file, `printed` puts it on standard output; `index` is the page
over all of them. Today's state is asked of `health`, never derived from events.

What several questions are built on is a view, which is made once a run. Most of a log is changes of partitions: on this machine numpy makes
the views of `folds` while the logs are read, and Spark makes them by their SQL. Tests hold one to the other.

Promises: a record that several replicas keep counts once, clusters are never mixed, what a checkpoint holds is a state and never an
event. What an aborted or open transaction holds has not happened (`undone`, and the view `offset_commits`), nor has what a leader wrote
that was cut off, where the log of the next one was read too. Pages load nothing from anywhere, run no script, and escape every text that
comes from data. Secrets are redacted in columns/ already. Rows that are not needed at once are in unnamed files below the folder for
temporary files: memory does not grow with a log.
"""

from metashell.tables.reports.catalog import REPORTS, Report

__all__ = ["REPORTS", "Report"]
