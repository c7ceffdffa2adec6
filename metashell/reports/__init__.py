"""What the logs of a cluster tell an operator: reports, each one SQL text over the tables of columns/.

A report is an entry of `catalog.REPORTS`: the tables it reads, the views it stands on (`sql/views/`), its question (`sql/NAME.sql`), the
columns of its answer and its charts. The same text is run by duckdb on this machine (`local`) and by Spark at scale (spark_reports), in
the part of SQL that both read alike: window functions instead of recursion, no IGNORE NULLS, no literals of lists, and five functions of
Spark's that `local.DUCKDB_MACROS` gives to duckdb. `forms` writes an answer as Parquet, CSV or JSON, `page` as one HTML file.

Promises: a record that several replicas keep counts once, clusters are never mixed, what a checkpoint holds is a state and never an
event; pages load nothing from anywhere, run no script, and escape every text that comes from data. Secrets come redacted
from columns/. Only this package knows duckdb, jinja2 and pygal, and imports them inside the functions that use them.
"""

from metashell.reports.catalog import REPORTS, Report

__all__ = ["REPORTS", "Report"]
