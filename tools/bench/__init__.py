"""Measurements beside Kafka's own tools; `make bench` runs them all.

Each script prints the interpreter, its build flags and a table in which every figure of ours stands beside Kafka's of
the same run. Run one as `python -m tools.bench startup`; `--list` names them all.
"""
