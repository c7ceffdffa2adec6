"""What a docstring or comment cites can be found: a KIP, an RFC, a class of Kafka, or a file of this repository."""

from __future__ import annotations

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from tests.test_layers import ROOT, modules, tracked_files

FILE = re.compile(r"(?<![\w/.*{<-])((?:[\w-]+/)*[\w-]+\.(?:md|py|schema|sql))\b(?! of )(?!/)")
# Names that stand for any file of a kind, or for files of other projects.
EXAMPLES = {"sql/NAME.sql", "schemas/FAMILY/Name.schema", "tables.sql"}
PROSE = re.compile(r"\bspec(?:ification)?s? (?:section|\d)|(?<!/)\b(?:controller|kraft|groups|tools|ecosystem|kafka-4\.4)\.md\b")


@cache
def texts(path: Path) -> list[tuple[int, str]]:
    """Comments and texts in quotes of a file, each with its line."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return [
        (token.start[0], token.string)
        for token in tokens
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""'))
    ]


SOURCES = [*modules(), *sorted((ROOT / "spark_reports").rglob("*.py"))]


@pytest.fixture(scope="module")
def known() -> set[str]:
    """Each file of the repository by its path, and by each end of its path."""
    found = set()
    for path in tracked_files():
        parts = path.relative_to(ROOT).parts
        found.update("/".join(parts[start:]) for start in range(len(parts)))
    return found


def test_a_file_that_is_cited_is_in_the_repository(known: set[str]) -> None:
    lost = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in SOURCES
        for line, text in texts(path)
        for name in FILE.findall(text)
        if name not in known | EXAMPLES
    ]
    assert lost == []


def test_no_text_cites_a_document_that_is_not_here() -> None:
    lost = [
        f"{path.relative_to(ROOT)}:{line}: {found[0]}" for path in SOURCES for line, text in texts(path) if (found := PROSE.search(text))
    ]
    assert lost == []
