"""The data dictionary: what every table and column means, in our own words.

`tables.tsv` has a line for each table, `fields.tsv` one for each fact about a column: its unit, since when there is such a field, and
what it means, special values first of all. A fact that many tables share stands there once; `fields.py` says which line a column gets.

Promises: no column without a meaning (`tests/columns/test_meanings.py`), and one place for each. Reading it needs neither numpy nor
pyarrow; only `comments.py`, which puts meanings into schemas, imports the latter.
"""
