"""Each named key is that of the messages of its name."""

from __future__ import annotations

import pytest

from metashell.codec import codes
from metashell.codec.dispatch import REQUESTS, RESPONSES

KEYS = {name: key for name, key in vars(codes).items() if name.isupper() and isinstance(key, int) and not name.endswith("_RESOURCE")}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_is_that_of_its_messages(name: str) -> None:
    message = name.replace("_", "").lower()
    assert REQUESTS[KEYS[name]].lower() == f"{message}request"
    assert RESPONSES[KEYS[name]].lower() == f"{message}response"
