"""The table of APIs is what the schemas of the requests say of controllers."""

from __future__ import annotations

import random

from metashell.codec import messages
from metashell.codec.registry import message_names, message_type
from metashell.metadata.image import Voter, VoterSet
from metashell.quorum.controller import QuorumController, Request, Settings
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.controller import ROUTES
from tests.seeds import shows

ANSWERED_ELSEWHERE = {"Fetch", "SaslHandshake", "SaslAuthenticate", "Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Envelope"} | {
    *("FetchSnapshot", "UpdateRaftVoter", "DescribeDelegationToken", "DescribeUserScramCredentials"),
}


@shows("KIP-631/api-keys")
def test_names_keys_and_versions_are_those_of_the_schemas() -> None:
    for key, api in APIS.items():
        message = message_type("request", f"{api.name}Request")
        assert message.key == key, api
        assert (message.versions[0] <= api.low) and (api.high <= message.versions[1]), api


def test_every_request_for_controllers_is_listed() -> None:
    listed = {api.name for api in APIS.values()}
    wanted = set()
    for name in message_names("request"):
        message = message_type("request", name)
        if "controller" in message.schema.listeners:
            wanted.add(name.removesuffix("Request"))

    assert wanted <= listed


def test_every_api_has_a_route_or_somebody_else_who_answers() -> None:
    assert {api.name for key, api in APIS.items() if key not in ROUTES} == ANSWERED_ELSEWHERE
    assert set(ROUTES) <= set(APIS)


def test_nothing_is_finalized_before_the_first_metadata_is_there() -> None:
    controller = QuorumController(Settings({}, "cluster", 1), random.Random(1))
    controller.state.set_quorum(VoterSet(0, (Voter(1, bytes(16)),)), 1)

    body = messages.ApiVersionsRequest(client_software_name="a", client_software_version="1")
    answer = controller.decide(Request(18, 4, body), 0).answer

    assert (answer.finalized_features, answer.finalized_features_epoch) == ((), -1)
    assert "kraft.version" in {one.name for one in answer.supported_features}
