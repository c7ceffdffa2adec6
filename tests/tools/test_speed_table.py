"""The tables of speed are made from what the benches print, and from nothing else."""

from __future__ import annotations

from pathlib import Path

from tools.bench.table import BEGIN, END, PAGE, ROWS, kept, made, write

STARTUP = """# /venv/bin/python: CPython 3.11.2, recorded flags -O2, plain loop 48 ns a turn; 2 cores, load 4.9
kafka-shell --version                           0.022 s    0.016 s cpu      16 MiB | goal 25 ms met
kafka-shell --snapshot FILE ls /                0.133 s    0.074 s cpu      21 MiB | Kafka    1.698 s    1.062 s cpu      90 MiB |  12.8 x
"""
LIVE = """attach to 100000 partitions, one answer         1.322 s    0.276 s cpu      66 MiB | goal 2 s met
follow, a quiet quorum                          0.20 % of one core over 10 s  goal 2% met
"""


def test_a_pair_has_both_sides_and_their_ratios() -> None:
    (row,) = made(STARTUP, "startup").values()
    assert row == "| `kafka-shell ... ls /` of a small file | 0.133 s, 21 MiB | 1.70 s, 90 MiB | 12.8 | 14.4 | `startup`, 4.9 |"


def test_figures_without_a_kafka_beside_them_stand_alone() -> None:
    assert list(made(LIVE, "live").values()) == [
        "| attach to a live quorum of 100 000 partitions and answer | 1.32 s, 66 MiB |  |  |  | `live`, ? |",
        "| follow it while nothing happens | 0.20 % of one core |  |  |  | `live`, ? |",
    ]


def test_lines_of_another_bench_and_lines_without_a_figure_are_no_rows() -> None:
    assert made(STARTUP, "shell") == {}
    assert made("kafka-shell --snapshot FILE ls /   failed\n", "startup") == {}


def test_rows_that_were_not_measured_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}| work |\n| --- |\n| b | 1 |\n| c | 2 |\n{END}after\n")
    write(page, {"a": "| a | 3 |", "c": "| c | 4 |"}, ["a", "b", "c"])
    assert page.read_text() == f"before\n{BEGIN}| work |\n| --- |\n| a | 3 |\n| b | 1 |\n| c | 4 |\n{END}after\n"


def test_the_page_has_rows_of_the_tool_in_its_order_and_no_other() -> None:
    found = list(kept(PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].splitlines()[2:]))
    assert found
    assert found == [name for name in (row.shown for row in ROWS) if name in found]
