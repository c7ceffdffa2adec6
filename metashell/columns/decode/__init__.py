"""A split as Arrow: batches and records by columns, a table for each record type."""
