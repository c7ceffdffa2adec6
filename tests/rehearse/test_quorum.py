"""Voters that are removed: the majority is that of the smaller set."""

from __future__ import annotations

import pytest

from metashell.metadata.image import MetadataImage
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.steps import LoseController, RemoveController, StepError
from tests.rehearse.small_images import small_image

REFUSED = "kraft.version feature is 0"


def quorum(*voters: int, kraft_version: int = 1) -> MetadataImage:
    image = small_image({1: None}, {}, voters=voters)
    return image._replace(features=image.features._replace(kraft_version=kraft_version))


def test_a_dead_voter_that_is_removed_lets_the_quorum_lose_another_one() -> None:
    image = quorum(11, 12, 13)
    assert [gap.to_ms for gap in rehearse_change(image, [LoseController(13), LoseController(12)]).quorum_gaps][-1:] == [None]
    outcome = rehearse_change(image, [LoseController(13), RemoveController(13)])
    assert outcome.verdict.status == 0
    assert outcome.after.voters is not None
    assert [voter.id for voter in outcome.after.voters.voters] == [11, 12]


def test_a_living_voter_that_is_removed_beside_a_dead_one_ends_the_quorum() -> None:
    outcome = rehearse_change(quorum(11, 12, 13), [LoseController(13), RemoveController(12)])
    assert outcome.verdict.status == 1
    assert "1 of 2 controllers are left" in outcome.quorum_gaps[-1].why


def test_a_leader_that_is_removed_hands_over() -> None:
    image = quorum(11, 12, 13)
    outcome = rehearse_change(image, [RemoveController(11)])
    assert len(outcome.quorum_gaps) == 1
    assert outcome.quorum_gaps[0].to_ms is not None
    assert outcome.verdict.status == 0


def test_voters_of_the_configuration_cannot_be_removed() -> None:
    outcome = rehearse_change(quorum(11, 12, 13, kraft_version=0), [RemoveController(11)])
    assert REFUSED in outcome.steps[0].refusals[0].message


def test_the_last_voter_stays() -> None:
    assert rehearse_change(quorum(11), [RemoveController(11)]).steps[0].refusals


def test_who_was_removed_is_no_voter() -> None:
    with pytest.raises(StepError, match="is no voter"):
        rehearse_change(quorum(11, 12, 13), [RemoveController(11), RemoveController(11)])
