"""Classes by name, and the generated files that describe them."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.codec.messages import RegisterBrokerRecord, TopicRecord, VoteRequest
from metashell.codec.registry import message_type
from tools import gen_dispatch, gen_stubs


def test_a_class_is_found_by_its_name_and_has_its_structs_below_it() -> None:
    assert TopicRecord is message_type("metadata", "TopicRecord").cls
    endpoint = RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host="h", port=9092)
    assert RegisterBrokerRecord(end_points=(endpoint,)).end_points[0].security_protocol == 0
    assert VoteRequest().voter_id == -1


def test_objects_show_their_fields_and_compare_by_them() -> None:
    assert repr(TopicRecord("a", bytes(16))) == f"TopicRecord(name='a', topic_id={bytes(16)!r})"
    assert TopicRecord("a") == TopicRecord("a") != TopicRecord("b")
    assert TopicRecord("a") != "a"
    assert "unknown_tags" in repr(TopicRecord(unknown_tags=((1, b""),)))


def test_two_objects_do_not_share_a_default_struct() -> None:
    left, right = messages.FetchRequest(), messages.FetchRequest()
    left.replica_state.replica_id = 7
    assert right.replica_state.replica_id == -1


def test_a_name_that_is_no_message_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nope"):
        messages.Nope  # noqa: B018


@pytest.mark.parametrize("tool", [gen_stubs, gen_dispatch], ids=lambda tool: tool.__name__)
def test_generated_files_are_fresh(tool: object) -> None:
    assert tool.main(["--check"]) == 0, f"run {tool.__file__}"
