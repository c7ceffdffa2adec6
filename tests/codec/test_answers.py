"""What an answer says as a whole."""

from __future__ import annotations

from metashell.codec import messages
from metashell.codec.error_codes import first_error_code


def test_the_first_error_of_an_answer_is_found_in_its_parts() -> None:
    response = messages.CreateTopicsResponse
    good, bad = response.CreatableTopicResult(name="a"), response.CreatableTopicResult(name="b", error_code=17)
    assert [first_error_code(response(topics=topics)) for topics in ((), (good,), (good, bad))] == [0, 0, 17]
    assert first_error_code(messages.BrokerHeartbeatResponse(error_code=77)) == 77
    assert first_error_code(None) == 0
