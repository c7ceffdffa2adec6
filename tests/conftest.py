"""Options that all tests share."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite`: transcripts take what is printed now as what is expected."""
    parser.addoption("--rewrite", action="store_true", default=False, help="accept new output in tests/transcripts")
