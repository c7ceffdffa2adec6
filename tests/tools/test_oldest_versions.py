"""The script for oldest versions finds them all, and tries every extra that has some."""

from __future__ import annotations

import tomllib

from tools.oldest_versions import ROOT, jobs, oldest


def test_every_bound_of_an_extra_is_tried() -> None:
    found = oldest(["arrow", "sql", "spark"])
    assert {"click", "pyarrow", "numpy", "duckdb", "pyspark"} <= set(found)
    assert all(version[0].isdigit() for version in found.values())


def test_the_extra_of_clusters_is_that_of_columns() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["cluster"] == extras["arrow"]


def test_a_cluster_without_duckdb_is_asked_for_no_question(tmp_path) -> None:
    names = [name for name, _ in jobs(tmp_path, is_cluster=True, has_spark=False)]
    assert names and not {"reports", "sql, state"} & set(names)
