"""Who leads and who votes, as far as the records, the node's quorum-state or a live leader say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from metashell.values import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from metashell.image import MetadataImage
    from metashell.image.voters import Leader

LOG: Final = "log"
NOTE: Final = "quorum-state"


def leader_of(image: MetadataImage, noted: Callable[[], Leader | None]) -> tuple[Leader | None, str | None]:
    """The newest election and its source: the log or, where that knows a newer epoch, what `noted` gives, the node's quorum-state.

    An id of -1 is an epoch in which the node knows no leader.
    """
    election = noted()
    if image.leader is not None and (election is None or election.epoch <= image.leader.epoch):
        return image.leader, LOG
    return (election, NOTE) if election is not None and (election.id >= 0 or election.epoch > 0) else (None, None)


def voters_of(image: MetadataImage, noted: Callable[[], Leader | None]) -> tuple[list[dict[str, Any]], str | None]:
    """The voters, each with its `id` and `directory_id`, and their source; none where nothing says who votes."""
    if image.voters is not None:
        return [{"id": voter.id, "directory_id": uuid_text(voter.directory_id)} for voter in image.voters.voters], LOG
    # Static voters have no record of their own; each election lists their ids.
    election = image.leader or noted()
    if election is None or not election.voter_ids:
        return [], None
    return [{"id": id, "directory_id": None} for id in election.voter_ids], NOTE if image.leader is None else LOG
