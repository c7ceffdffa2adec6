"""The table of docs/speed.md, from what the benches print: `python -m tools.bench.table` runs them and writes it.

    python -m tools.bench.table [BENCH...]        only the rows of these benches; the others stay as they are
    python -m tools.bench.table --from FILE...    no run: the output of benches that was kept in files

Best on an otherwise idle machine: the page says what the load was.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tools.generated import ROOT

PAGE = ROOT / "docs" / "speed.md"
BEGIN, END = "<!-- rows: python -m tools.bench.table -->\n", "<!-- end of rows -->\n"
PAIR = re.compile(
    r"^(?P<what>.+?)\s+(?P<wall>[\d.]+) s\s+(?P<cpu>[\d.]+) s cpu\s+(?P<mib>\d+) MiB(?: first byte (?P<first>[\d.]+) s)?"
    r"(?: \| Kafka\s+(?P<kafka_wall>[\d.]+) s\s+(?P<kafka_cpu>[\d.]+) s cpu\s+(?P<kafka_mib>\d+) MiB)?"
)
CONDITIONS = re.compile(r"CPython (?P<python>\S+),.* (?P<cores>\d+) cores, load (?P<load>[\d.]+)$")

RATE = r": (?P<ours>\d+/s)(?: \| Kafka (?P<kafka>\d+/s) \| (?P<times>[\d.]+) x)?"
SHORTEST = r": (?P<ours>[\d.]+ ms)(?:, goal \d+ ms)?(?: \| Kafka (?P<kafka>[\d.]+ ms) \| (?P<times>[\d.]+) x)?"
HOLD = r": (?P<ours>\d+ ms, longest hold \d+ ms)"


class Row(NamedTuple):
    """A row of the table: the bench that prints it, how its line begins, and what the table calls it.

    `pattern` finds the figure in a line that is no pair of ours and Kafka's; the groups `ours`, `kafka` and `times` are texts.
    """

    bench: str
    line: str
    shown: str
    pattern: str = ""


ROWS = (
    Row("startup", "kafka-shell --snapshot FILE ls /", "`kafka-shell ... ls /` of a small file"),
    Row("startup", "kafka-shell ... cat LEAF", "`kafka-shell ... cat` of a small file"),
    Row("startup", "dump-log FILE", "`dump-log` of a small file"),
    Row("startup", "kafka-dump-log --files FILE", "`kafka-dump-log` of a small file"),
    Row("dump_log", "JSON lines 1000000", "`dump-log` of 1 million records to a file, JSON lines"),
    Row("dump_log", "Kafka's text 1000000", "`kafka-dump-log` of the same, Kafka's text"),
    Row("shell", "cat of one broker", "`cat` of a broker, 1 million partitions in 100 000 topics"),
    Row("shell", "ls -l", "`ls -l` of those topics, first line"),
    Row("live", "attach to", "attach to a live quorum of 100 000 partitions and answer"),
    Row("live", "follow, a quiet quorum", "follow it while nothing happens", r"(?P<ours>[\d.]+ % of one core)"),
    Row("storage", "kafka-storage format", "`kafka-storage format`"),
    Row("admin", "kafka-cluster cluster-id -C", "`kafka-cluster cluster-id` of a live cluster"),
    Row("admin", "kafka-metadata-quorum -b B describe --replication", "`kafka-metadata-quorum describe --replication`, by way of a broker"),
    Row("admin", "kafka-metadata-quorum -C C describe --replication", "the same from the controllers"),
    Row("admin", "kafka-features -C C disable", "`kafka-features disable --dry-run`"),
    Row("admin", "metashell topics list -b", "`metashell topics list`, 20 topics; Kafka's kafka-topics --list"),
    Row("disk_files", "group log", "`kafka-dump-log` of a group log, 100 000 records"),
    Row("group_logs", "list 1000000 commits, ten a batch", "`metashell groups list` of 1 million committed offsets, ten a batch"),
    Row("group_logs", "list 1000000 commits, one a batch", "the same, each in a batch of its own"),
    Row("verify", "log of 1 000 000 records", "`metashell verify` of 1 million records"),
    Row("verify", "digest of", "`metashell verify --digest`, 1 million partitions"),
    Row("columns", "export of 10000000 records", "`metashell export` of 10 million records to Parquet", r"(?P<ours>[\d.]+ s) by two"),
    Row("embedded", "a controller, first answer", "`metashell server`: start to first answer, memory when idle"),
    Row("embedded", "first quorum", "a quorum of three in one process, until it answers", r"answered after (?P<ours>median [\d.]+ ms)"),
    Row("quorum", "failover, three of ours", "a new leader after the old one was killed", r"(?P<ours>median [\d.]+ s)"),
    Row(
        "server",
        "CreateTopics one at a time, linger default",
        "topics created one at a time, over sockets, with fsync",
        RATE,
    ),
    Row("server", "CreateTopics one at a time, linger 0", "the same with `controller.quorum.append.linger.ms=0`", RATE),
    Row("server", "CreateTopics 32 in flight", "topics created by 32 clients at once", RATE),
    Row("server", "heartbeats of", "heartbeats answered, 64 brokers that send the next one at once", RATE),
    Row("server", "a broker of 10000", "a broker that leads 10 000 partitions fenced", HOLD),
    Row("server", "a snapshot of 200000", "a snapshot of 200 000 partitions written beside requests", HOLD),
    Row("assignors", "cooperative-sticky  join", "`cooperative-sticky` when the 1 001st member joins, 10 000 partitions", SHORTEST),
    Row("assignors", "cooperative-sticky  uneven", "`cooperative-sticky` where members want different topics", SHORTEST),
    Row("assignors", "server-uniform      join", "the broker's `uniform`, likewise", SHORTEST),
    Row("assignors", "server-uniform      uneven", "`uniform` where members want different topics", SHORTEST),
)


def kept(lines: list[str]) -> dict[str, str]:
    """The rows of a table in a page, by what they are called."""
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}


def made(output: str, bench: str) -> dict[str, str]:
    """The rows that a bench's output gives."""
    rows = {}
    conditions = next((found for line in output.splitlines() if (found := CONDITIONS.search(line))), None)
    load = conditions["load"] if conditions else "?"
    for row in ROWS:
        line = next((line for line in output.splitlines() if line.startswith(row.line)), None) if row.bench == bench else None
        if line is not None and (cells := _cells(row, line)):
            rows[row.shown] = f"| {row.shown} | {' | '.join(cells)} | `{bench}`, {load} |"
    return rows


def _cells(row: Row, line: str) -> list[str]:
    """Ours, Kafka's, and how many times less ours is in time and in CPU time; empty where the line has no figure."""
    if row.pattern:
        found = re.search(row.pattern, line)
        if found is None:
            return []
        groups = {"kafka": "", "times": "", **{name: text or "" for name, text in found.groupdict().items()}}
        return [groups["ours"], groups["kafka"], groups["times"], ""]
    pair = PAIR.match(line)
    if pair is None:
        return []
    ours = _seconds(pair["first"]) if pair["first"] else f"{_seconds(pair['wall'])}, {pair['mib']} MiB"
    if pair["kafka_wall"] is None:
        return [ours, "", "", ""]
    ratios = [float(pair[f"kafka_{what}"]) / max(float(pair[what]), 0.001) for what in ("wall", "cpu")]
    return [ours, f"{_seconds(pair['kafka_wall'])}, {pair['kafka_mib']} MiB", *(f"{ratio:.1f}" for ratio in ratios)]


def _seconds(text: str) -> str:
    """Seconds with two digits after the first that is not 0, or with one after the point."""
    value = float(text)
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 1}f} s"


def write(page: Path, rows: dict[str, str], order: list[str]) -> None:
    """Put rows into a page's table, in that order; those that it had and that are not new stay."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    table, after = rest.split(END)
    head = table.splitlines()[:2]
    known = {**kept(table.splitlines()[2:]), **rows}
    lines = [*head, *(known[name] for name in order if name in known)]
    page.write_text(before + BEGIN + "".join(f"{line}\n" for line in lines) + END + after, encoding="utf-8")


def note_conditions(outputs: list[str]) -> None:
    """Say in the page what was measured with."""
    found = [match for output in outputs for line in output.splitlines() if (match := CONDITIONS.search(line))]
    if not found:
        return
    text = f"Measured with CPython {found[0]['python']} on {found[0]['cores']} cores."
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(r"^Measured with CPython .*$", text, page, flags=re.MULTILINE), encoding="utf-8")


def run(bench: str) -> str:
    """The output of one bench. Errors: SystemExit where it fails."""
    done = subprocess.run([sys.executable, "-m", "tools.bench", bench], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{bench}: status {done.returncode}")
    print(done.stdout, end="", flush=True)
    return done.stdout


def main() -> int:
    """Make the rows and write both pages."""
    benches = list(dict.fromkeys(row.bench for row in ROWS))
    parser = argparse.ArgumentParser(prog="python -m tools.bench.table", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("bench", nargs="*", metavar="BENCH", help=f"of {', '.join(benches)}; by default all")
    parser.add_argument("--from", dest="files", nargs="+", metavar="FILE", help="read what `python -m tools.bench` printed")
    given = parser.parse_args()
    outputs = [Path(file).read_text(encoding="utf-8") for file in given.files or ()] or [run(bench) for bench in given.bench or benches]
    rows = {}
    for part in re.split(r"^== ", "\n".join(outputs), flags=re.MULTILINE):
        name, _, output = part.partition("\n")
        rows.update(made(output, name.strip()))
    write(PAGE, rows, [row.shown for row in ROWS])
    note_conditions(outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
