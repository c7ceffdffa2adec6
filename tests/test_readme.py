"""README, CONTRIBUTING and docs/ show real output: every `console` block is run, and what it prints is compared.

A comment above a block says what the block needs, or why it is not run:

    <!-- live -->            three controllers at controller-1:9093 to controller-3:9093, which hold what `--demo` shows
    <!-- spark -->           Java and pyspark; where they are missing, the test is skipped and says so
    <!-- ports 9093 -->      it starts a quorum, whose first port is that one; the test takes another one and stops what is left
    <!-- not run: WHY -->    the reason, for a reader of the source

A block in another language needs the third one, but for `python`, a program that must end with status 0, and `schema`, a message that the
codec must understand.
`pytest --rewrite` takes what is printed now.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from metashell.codec.schema import parse_schema
from metashell.common.errors import UsageError
from metashell.quorum.embedded.layout import reserve_these
from tests.java import java
from tests.quorum.observer.demo_quorum import demo_quorum
from tools.gen_man import pages as man_pages
from tools.interop.nodes import free_ports

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")))
BLOCK = re.compile(r"^(?:<!-- (?P<marker>[^\n]*) -->\n)? *```(?P<language>\w*)\n(?P<body>.*?)^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
REASON = "not run: "
PORTS = "ports "
QUORUM_SIZE = 3
LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page, with the marker above it ("" without one)."""

    page: str
    number: int
    marker: str
    language: str
    body: str

    @property
    def is_run(self) -> bool:
        return self.language in ("console", "python", "schema") and not self.marker.startswith(REASON)

    def __str__(self) -> str:
        return f"{self.page}:{self.number}"


def blocks() -> Iterator[Block]:
    """All blocks of all pages; the number is that of the block's first line."""
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            number = text.count("\n", 0, found.start("body"))
            yield Block(page, number, found["marker"] or "", found["language"], found["body"])


def commands(block: str) -> list[tuple[str, str]]:
    """The command lines of a block, each with the output that follows it. A line that ends with a backslash goes on."""
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like the top of a checkout; what commands leave in it does not stay."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for entry in ROOT.iterdir():
        (folder / entry.name).symlink_to(entry)
    return folder


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run as a user would at the top of a checkout; both streams together, as on a terminal."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    surroundings = {"PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "100", "XDG_STATE_HOME": str(folder.parent)}
    return subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **surroundings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=LIMIT_S,
    )


def missing_tools(block: Block) -> list[str]:
    """The programs that a block pipes into and that are not installed here."""
    return [tool for tool in ("jq",) if f"| {tool} " in block.body and shutil.which(tool) is None]


@pytest.mark.slow
@pytest.mark.parametrize("block", [block for block in blocks() if block.is_run], ids=str)
def test_a_block_prints_what_it_shows(request: pytest.FixtureRequest, checkout: Path, block: Block) -> None:
    if missing := missing_tools(block):
        pytest.skip(f"{', '.join(missing)}: not installed")
    if block.marker == "spark":
        java()
        pytest.importorskip("pyspark")
    if block.language == "python":
        done = run([sys.executable, "-c", block.body], checkout)
        assert done.returncode == 0, done.stdout
    elif block.language == "schema":
        assert parse_schema(dedent(block.body)).fields
    elif block.marker == "live":
        with demo_quorum() as address_map:
            names = ("kafka-shell", "dump-log")
            compare(
                request, block, checkout, "".join(f'{name}() {{ command {name} --address-map {address_map} "$@"; }}\n' for name in names)
            )
    elif block.marker.startswith(PORTS):
        try:
            compare(request, block, checkout, "", other_ports(int(block.marker.removeprefix(PORTS))))
        finally:
            run(["metashell", "quorum", "stop"], checkout)
    else:
        compare(request, block, checkout, "")


def other_ports(first: int) -> dict[str, str]:
    """Free ports in a row, as text, for those that a page shows."""
    while True:
        (base,) = free_ports(1)
        with contextlib.suppress(UsageError, OSError):
            reserve_these(range(base, base + QUORUM_SIZE)).close()
            return {str(first + number): str(base + number) for number in range(QUORUM_SIZE)}


def replaced(text: str, others: dict[str, str]) -> str:
    """The text with each of these words replaced by its other."""
    return re.sub(r"\b(?:" + "|".join(others) + r")\b", lambda match: others[match[0]], text) if others else text


def compare(request: pytest.FixtureRequest, block: Block, folder: Path, before: str, ports: dict[str, str] | None = None) -> None:
    """Run the commands of a block one after another and compare what each prints, or put that in its place (`--rewrite`)."""
    shown = commands(block.body)
    assert shown, block
    ports = ports or {}
    back = {other: port for port, other in ports.items()}
    printed = [(command, replaced(run(["bash", "-c", before + replaced(command, ports)], folder).stdout, back)) for command, _ in shown]
    if request.config.getoption("--rewrite"):
        page = ROOT / block.page
        body = "".join(f"$ {command}\n{output}" for command, output in printed)
        page.write_text(page.read_text(encoding="utf-8").replace(block.body, body, 1), encoding="utf-8")
    else:
        assert printed == shown


README_LINES_MAX = 150
CODE_COLUMNS_MAX = 96
"""What GitHub shows in 830 px without scrolling sideways, at 13.6 px and with its padding."""


def test_the_readme_is_one_page_that_nobody_scrolls_sideways() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES_MAX
    wide = [line for block in blocks() if block.page == "README.md" for line in block.body.splitlines() if len(line) > CODE_COLUMNS_MAX]
    assert wide == []


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        targets = (found["target"].partition("#")[0] for found in LINK.finditer(page.read_text(encoding="utf-8")))
        waiting += [(page.parent / target).resolve() for target in targets if target.endswith(".md") and "://" not in target]
    assert [str(path) for path in (ROOT / "docs").glob("*.md") if path.resolve() not in seen] == []


def test_a_block_that_is_not_run_says_why() -> None:
    found = list(blocks())
    assert {block.marker.split(" ")[0] for block in found if block.is_run} <= {"", "live", "spark", PORTS.strip()}
    unexplained = [str(block) for block in found if not block.is_run and len(block.marker) < len(REASON) + 10]
    assert unexplained == []


def test_every_fence_is_one_of_a_block() -> None:
    for page in PAGES:
        fences = (ROOT / page).read_text(encoding="utf-8").count("```")
        assert fences == 2 * sum(block.page == page for block in blocks()), page


def test_every_page_and_file_that_is_linked_is_there() -> None:
    for page in PAGES:
        for found in LINK.finditer((ROOT / page).read_text(encoding="utf-8")):
            target, _, anchor = found["target"].partition("#")
            if "://" in target:
                continue
            linked = (ROOT / page).parent / target if target else ROOT / page
            assert linked.exists(), f"{page}: {found['target']}"
            assert not anchor or anchor in anchors(linked), f"{page}: {found['target']}"


def test_every_path_of_the_checkout_that_is_named_is_there() -> None:
    named = re.compile(r"`((?:metashell|tests|tools|spark_reports|docs|man)/[a-z0-9_/.*-]+)`")
    for page in PAGES:
        for path in named.findall((ROOT / page).read_text(encoding="utf-8")):
            assert any(ROOT.glob(path.rstrip("/"))), f"{page}: {path}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


WORDING = {
    r"\b(?:is|are|was|were|be|been|being) told\b": "say who shows, reports or prints it",
    r"\bunless told\b": "unless ... is given",
    r"\bno news\b": "is ignored",
    r"\bwhose business\b": "decides it",
    r"\bof note\b": "leave it out",
    r"\bsuch as came\b": "that came",
    r"\bby hand of\b": "by",
    r"\bspeaks? the voice\b": "prints what ... prints",
    r"\bheld against\b": "compared with",
    r"\bit is said\b": "say who says it",
}
"""What reads as if it were translated, and what to write in its place."""


@pytest.mark.parametrize("phrase", WORDING)
def test_pages_and_help_are_in_plain_english(phrase: str) -> None:
    pages = {page: (ROOT / page).read_text(encoding="utf-8") for page in (*PAGES, "CHANGELOG.md")} | man_pages()
    found = [
        f"{page}: {match[0]!r}: {WORDING[phrase]}"
        for page, text in pages.items()
        for match in re.finditer(phrase, " ".join(text.split()), flags=re.IGNORECASE)
    ]
    assert found == []
