"""Runs the jobs of the package with the oldest versions of its dependencies that pyproject.toml allows.

    python -m tools.oldest_versions                        export, SQL and reports
    python -m tools.oldest_versions --spark                and the same on Spark
    python -m tools.oldest_versions --use pyarrow==20.0    with another version of one package
    python -m tools.oldest_versions --cluster              only what reads and exports, as on a node of a cluster; says how large it is

It makes an environment below --folder (default: a temporary one), installs each requirement at its lower bound, and runs commands on the
directory that ships with the package. Each must succeed, and answer as this interpreter's environment does.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
DEMO: Final = str(ROOT / "metashell" / "demo" / "data")
_REQUIREMENT: Final = re.compile(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)")
_QUERY: Final = "select count(*) as n, count(distinct topic_id_text) as ids, min(timestamp) as first from partition"
_CONDITION: Final = "\"offset\" >= 251 and timestamp < '2100-01-01'"
_STATE: Final = "select topic, topic_id_text from topics order by topic limit 3"
_READ: Final = """
import pyarrow.parquet, sys
table = pyarrow.parquet.read_table(sys.argv[1] + '/topic.parquet')
found = [value for value in table['topic_id'].to_pylist() if value is not None]
assert len(found) == table.num_rows > 0, table
assert 'UUID' in str(pyarrow.parquet.ParquetFile(sys.argv[1] + '/topic.parquet').schema), 'no annotation'
print(table.num_rows, sorted(map(str, found))[0])
"""


def oldest(extras: Iterable[str]) -> dict[str, str]:
    """The lowest version that is allowed of each package of the base install and some extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    found = [_REQUIREMENT.match(text) for text in texts]
    return {match[1]: match[2] for match in found if match is not None}


def make_environment(folder: Path, wanted: Iterable[str]) -> Path:
    """An environment with packages at these versions; gives its Python. What is installed there already stays."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "-q", *wanted], check=True)
    return python


def jobs(out: Path, *, is_cluster: bool, has_spark: bool) -> Iterable[tuple[str, list[str]]]:
    """Command lines behind `python`, by what they show; behind a colon, what they have to print."""
    metashell = ["-c", "import sys; from metashell.cli.main import main; sys.exit(main())"]
    for form in ("parquet", "arrow", "csv", "jsonl"):
        yield f"export {form}", [*metashell, "export", "-f", form, DEMO, "--out", str(out / form)]
    yield "append", [*metashell, "export", "--append", DEMO, "--out", str(out / "lake")]
    yield "append again: nothing new", [*metashell, "export", "--append", DEMO, "--out", str(out / "lake")]
    yield "ids in Parquet", ["-c", _READ, str(out / "parquet")]
    if not is_cluster:
        yield "sql, events", [*metashell, "sql", _QUERY, DEMO, "-o", "jsonl"]
        yield "sql, condition", [*metashell, "sql", f"{_QUERY} where {_CONDITION}", DEMO, "-o", "jsonl"]
        yield "sql, lake", [*metashell, "sql", f"{_QUERY} where {_CONDITION}", str(out / "lake"), "-o", "jsonl"]
        yield "sql, state", [*metashell, "sql", _STATE, DEMO, "-o", "jsonl"]
        yield "reports", [*metashell, "report", "all", DEMO, "--out", str(out / "reports")]
    if has_spark:
        spark = ["-m", "spark_reports.main"]
        export = [*spark, "export", "--master", "local[2]", DEMO, "--out"]
        yield "spark export", [*export, str(out / "spark")]
        yield "spark append: nothing new", [*export, str(out / "lake"), "--mode", "append"]
        yield "spark overwrite", [*export, str(out / "spark"), "--mode", "overwrite"]
        yield "spark report", [*spark, "timeline", "--master", "local[2]", DEMO, "--out", str(out / "spark-report")]


def run(python: Path, folder: Path, *, is_cluster: bool, has_spark: bool) -> int:
    """Run all jobs; gives how many failed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYSPARK_PYTHON", None)
    failed = 0
    with tempfile.TemporaryDirectory(dir=folder) as out:
        for what, words in jobs(Path(out), is_cluster=is_cluster, has_spark=has_spark):
            done = subprocess.run([str(python), *words], cwd=out, env=environment, capture_output=True, text=True, check=False)
            said = [*done.stderr.splitlines(), *done.stdout.splitlines()] or [""]
            name, _, wanted = what.partition(": ")
            is_good = done.returncode == 0 and wanted in done.stdout
            print(f"{'ok' if is_good else 'FAILED':8}{name:16}{said[-1 if done.returncode else 0][:140]}", flush=True)
            failed += not is_good
    return failed


def size_mb(folder: Path) -> float:
    """How much the packages of an environment take, without what every environment has."""
    packages = next(folder.glob("lib/python*/site-packages"))
    own = [path for path in packages.rglob("*") if path.is_file() and path.relative_to(packages).parts[0] not in ("pip", "setuptools")]
    return sum(path.stat().st_size for path in own) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the environment is made; kept")
    parser.add_argument("--use", action="append", default=[], metavar="PACKAGE==VERSION", help="another version than the oldest")
    parser.add_argument("--spark", action="store_true", help="run on Spark, too: needs Java, and 500 MB")
    parser.add_argument("--cluster", action="store_true", help="only the extra `cluster`")
    values = parser.parse_args()
    extras = ["cluster"] if values.cluster else ["arrow", "sql", *(["spark"] if values.spark else [])]
    versions = {**oldest(extras), **dict(text.split("==") for text in values.use)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = values.folder or Path(temporary) / "environment"
        python = make_environment(folder, [f"{name}=={version}" for name, version in versions.items()])
        print(", ".join(f"{name} {version}" for name, version in versions.items()))
        if values.cluster:
            print(f"{size_mb(folder):.0f} MB")
        return min(run(python, folder, is_cluster=values.cluster, has_spark=values.spark), 1)


if __name__ == "__main__":
    sys.exit(main())
