"""The codes are those of the wire, as another client has them."""

from __future__ import annotations

import pytest

from metashell.raft import error_codes

CODES = {name: code for name, code in vars(error_codes).items() if name.isupper()}


@pytest.mark.parametrize("name", CODES)
def test_a_code_is_that_of_kafka(name: str) -> None:
    from kio.schema.errors import ErrorCode

    assert ErrorCode[name.lower()].value == CODES[name]
