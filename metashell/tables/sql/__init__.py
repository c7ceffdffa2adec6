"""SQL over the tables of logs and of lakes, by a DuckDB that reaches nothing else.

DuckDB (`confined`) has no file and no network. It asks for the rows of a table when a query scans it (`served`), and says under which
condition; what that proves about offsets, epochs, times and types (`proven`) limits what is read. `events` reads logs that way, into
temporary files (`spool`), `lakes` the files that the commits of a lake name. `query` puts both together with the tables of the state.

A condition that is not understood reads more, never less: rows are judged by the condition itself in the end.
"""
