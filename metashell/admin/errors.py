"""What a question to a cluster ends in when it is not answered as hoped, and what to do then."""

from __future__ import annotations

from typing import Final

from metashell.admin.rights import REFUSALS
from metashell.codec import error_codes as codes
from metashell.codec.error_messages import error_message
from metashell.errors import MetashellError


class AdminError(MetashellError):
    """The cluster answered with an error: `orders: TOPIC_ALREADY_EXISTS: Topic 'orders' already exists.`

    `code` is Kafka's number and `name` its name; `words` are the message that came with it, or Kafka's own for the code; `thing` is what it
    is about, empty for the cluster as a whole; `advice` is what to do, often empty. For the advice, whoever knows it may set `right`, the
    right that was missing (`Admin.right_refused`), and `was_asked_again`, that the request had to be sent twice (`Admin.again`).
    """

    def __init__(self, code: int, message: str | None = None, thing: str = "") -> None:
        self.code = code
        self.name = codes.error_name(code)
        self.words = message or error_message(code)
        self.thing = thing
        self.right = ""
        self.was_asked_again = False
        super().__init__(": ".join(part for part in (thing, self.name, self.words) if part))

    @property
    def advice(self) -> str:
        """What to do about it."""
        if self.was_asked_again and self.code in _OWN_WORK:
            return _ASKED_AGAIN
        if self.right and self.code in REFUSALS:
            return f"It needs the right {self.right}. {advice(self.code)}"
        if self.code == codes.POLICY_VIOLATION and _TOO_LARGE in self.words:
            return _SMALLER
        if self.code == codes.INVALID_REQUEST and (_UNKNOWN_RESOURCE in self.words or self.words == error_message(self.code)):
            return _TOO_OLD
        return advice(self.code)


def check_answer(code: int, message: str | None = None, thing: str = "") -> None:
    """Errors: AdminError for a code that is not NONE."""
    if code != codes.NONE:
        raise AdminError(code, message, thing)


class WrongListenerError(MetashellError):
    """An address is a broker's where a controller's is wanted, or the other way round."""


class UnsupportedError(MetashellError):
    """The cluster lacks an API, or a version of it; `api` is its name, `since` the first release that has it, if known.

    `java` is the message of the exception that Kafka's own client raises.
    """

    def __init__(self, message: str, *, api: str, since: str = "", java: str = "") -> None:
        super().__init__(message)
        self.api = api
        self.since = since
        self.java = java or message


class UncertainError(MetashellError):
    """The connection broke after a change was asked for: it may or may not have been done."""


def advice(code: int) -> str:
    """What to do about an error of a cluster, in a sentence; empty where the error itself says enough."""
    return _ADVICE.get(code, "")


_TOO_LARGE: Final = "Excessively large"
_SMALLER: Final = "One request may change about 10 000 records: ask for less at once."
_OWN_WORK: Final = frozenset(
    {
        codes.TOPIC_ALREADY_EXISTS,
        codes.UNKNOWN_TOPIC_OR_PARTITION,
        codes.INVALID_PARTITIONS,
        codes.RESOURCE_NOT_FOUND,
        codes.BROKER_ID_NOT_REGISTERED,
        codes.CONTROLLER_ID_NOT_REGISTERED,
        codes.DUPLICATE_VOTER,
        codes.VOTER_NOT_FOUND,
    }
)
"""What a change is answered with that has been made already."""
_ASKED_AGAIN: Final = "It was asked for twice, since the controller or the connection was lost: the first time may have done it. Look."
_UNKNOWN_RESOURCE: Final = "Unknown resource type"
_TOO_OLD: Final = "The cluster may be too old for it: settings of groups need Kafka 4.0, those of client metrics 3.7."
_RIGHTS: Final = "Ask an administrator for the right, or use a --command-config of a user who has it."
_ADVICE: Final = {
    codes.UNKNOWN_SERVER_ERROR: "The log of the active controller, or of the broker that was asked, has the reason.",
    codes.UNKNOWN_TOPIC_OR_PARTITION: "Check the name: `metashell topics list` shows what there is.",
    codes.UNKNOWN_TOPIC_ID: "Check the id: `metashell topics list` shows what there is.",
    codes.REQUEST_TIMED_OUT: "Look whether it was done before you try again; `metashell quorum describe` shows whether the quorum works.",
    codes.TOPIC_AUTHORIZATION_FAILED: _RIGHTS,
    codes.GROUP_AUTHORIZATION_FAILED: _RIGHTS,
    codes.CLUSTER_AUTHORIZATION_FAILED: _RIGHTS,
    codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED: _RIGHTS,
    codes.TOPIC_ALREADY_EXISTS: "Choose another name, or delete the topic first.",
    codes.INVALID_REPLICATION_FACTOR: "Use at most as many replicas as there are brokers: `metashell brokers list` shows them.",
    codes.INVALID_REPLICA_ASSIGNMENT: "Name registered brokers only, each once: `metashell brokers list` shows them.",
    codes.INVALID_PARTITIONS: "Partitions can only be added, never removed.",
    codes.NOT_CONTROLLER: "The quorum has no active controller for long: `metashell quorum describe` shows who is missing.",
    codes.NOT_LEADER_OR_FOLLOWER: "The quorum has no leader for long: `metashell quorum describe` shows who is missing.",
    codes.SECURITY_DISABLED: "Set authorizer.class.name on all brokers and controllers first.",
    codes.UNSUPPORTED_VERSION: "Upgrade the cluster, or its metadata.version: `metashell features describe` shows what it has.",
    codes.POLICY_VIOLATION: "The cluster's own policy (create.topic.policy.class.name or alter.config.policy.class.name) forbids it.",
    codes.PREFERRED_LEADER_NOT_AVAILABLE: "Start the preferred replica's broker, or wait until it is in the ISR.",
    codes.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Start a broker of the ISR or ELR; an unclean election loses what only they have.",
    codes.NO_REASSIGNMENT_IN_PROGRESS: "It is finished or was never started: `metashell reassign status` shows what moves.",
    codes.THROTTLING_QUOTA_EXCEEDED: "Try again later: the controller.mutation.rate quota of this user is used up.",
    codes.RESOURCE_NOT_FOUND: "Check the name of what you want to change.",
    codes.INCONSISTENT_VOTER_SET: "Describe the quorum again: its voters have changed meanwhile.",
    codes.FEATURE_UPDATE_FAILED: "`metashell features describe` shows the levels that all nodes support.",
    codes.INVALID_UPDATE_VERSION: "`metashell features describe` shows the levels that all nodes support.",
    codes.BROKER_ID_NOT_REGISTERED: "Check the id: `metashell brokers list` shows the registered ones.",
    codes.CONTROLLER_ID_NOT_REGISTERED: "Check the id: `kafka-cluster list-endpoints -C` shows the registered ones.",
    codes.DUPLICATE_BROKER_REGISTRATION: "Another broker with this id is alive: stop it first.",
    codes.MISMATCHED_ENDPOINT_TYPE: "Use --bootstrap-server for brokers and --bootstrap-controller for controllers.",
    codes.UNSUPPORTED_ENDPOINT_TYPE: "Use --bootstrap-server for brokers and --bootstrap-controller for controllers.",
    codes.INCONSISTENT_CLUSTER_ID: "The node belongs to another cluster: compare its meta.properties.",
    codes.DUPLICATE_VOTER: "It is a voter already: `metashell quorum describe` shows the voters.",
    codes.VOTER_NOT_FOUND: "`metashell quorum describe` shows the voters with their directory ids.",
    codes.INVALID_VOTER_KEY: "`metashell quorum describe` shows the voters with their directory ids.",
    codes.UNACCEPTABLE_CREDENTIAL: "Check the user's name, the mechanism and the iterations.",
    codes.DUPLICATE_RESOURCE: "Name each thing once.",
    codes.INVALID_CONFIG: "Check the key and the value: `metashell configs get` shows what is set.",
}
