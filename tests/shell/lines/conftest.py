"""What tests of lines share with those of commands."""

from tests.cli.conftest import run

__all__ = ["run"]
