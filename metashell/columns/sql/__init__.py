"""SQL over the tables of logs, by a DuckDB that reaches nothing else."""
