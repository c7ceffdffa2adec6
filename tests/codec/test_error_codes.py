"""The codes are those of the wire, as another client has them."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from metashell.codec import error_codes, messages
from metashell.codec.error_codes import first_error_code

CODES = {name: code for name, code in vars(error_codes).items() if name.isupper() and isinstance(code, int)}


def test_the_codes_are_those_of_kafka() -> None:
    theirs = {code.name.upper(): code.value for code in ErrorCode}
    later = {name: code for name, code in CODES.items() if name not in theirs}
    assert theirs == {name: code for name, code in CODES.items() if name not in later}
    assert set(later.values()) <= set(range(134, max(CODES.values()) + 1)), "kio knows the codes up to 133"


@pytest.mark.parametrize(("code", "text"), [(-1, "UNKNOWN_SERVER_ERROR (-1)"), (41, "NOT_CONTROLLER (41)"), (999, "error 999")])
def test_a_code_is_shown_with_its_name(code: int, text: str) -> None:
    assert error_codes.error_text(code) == text


# ---- what an answer says as a whole


def test_the_first_error_of_an_answer_is_found_in_its_parts() -> None:
    response = messages.CreateTopicsResponse
    good, bad = response.CreatableTopicResult(name="a"), response.CreatableTopicResult(name="b", error_code=17)
    assert [first_error_code(response(topics=topics)) for topics in ((), (good,), (good, bad))] == [0, 0, 17]
    assert first_error_code(messages.BrokerHeartbeatResponse(error_code=77)) == 77
    assert first_error_code(None) == 0
