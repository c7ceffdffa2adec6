"""Commands about tables: export to files and lakes, SQL, reports, and the dictionary of tables and columns."""
