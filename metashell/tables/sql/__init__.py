"""SQL over the tables of logs and of lakes, by a DuckDB that reaches nothing else.

DuckDB (`database`) has no file and no network. It reads the rows of a table when a query scans it, and gives the condition of the scan; the
offsets, epochs, times and types that this condition allows limit what is read. `sources` reads logs that way, into temporary files, and
the files that the commits of a lake name. `query` puts both together with the tables of the state.

A condition that is not understood reads more, never less: the condition itself filters the rows in the end.
"""
