"""Who may not change or see what: one line with Kafka's code, its words and the right that is missing; a listener of the wrong kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.cli.main import tool_of
from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import AUTHORIZER, HERE, lines
from tests.running import run_main


@pytest.fixture(scope="module")
def strict() -> Iterator[EmbeddedQuorum]:
    """A quorum in which nobody who did not log in may do anything."""
    with EmbeddedQuorum(controllers=1, properties={**AUTHORIZER, "super.users": "User:admin"}) as quorum:
        yield quorum


@pytest.mark.parametrize(
    ("noun", "words", "right"),
    [
        ("acls", ["list"], "DESCRIBE"),
        ("acls", ["add", "--allow", "a", "--operation", "read", "--topic", "t"], "ALTER"),
        ("acls", ["remove", "--all", "--yes"], "DESCRIBE"),
        ("quotas", ["set", "--user", "a", "producer_byte_rate=1"], "ALTER_CONFIGS"),
        ("quotas", ["unset", "--user", "a", "producer_byte_rate"], "ALTER_CONFIGS"),
        ("scram", ["set", "a"], "ALTER"),
    ],
)
def test_missing_rights(noun: str, words: list[str], right: str, strict: EmbeddedQuorum) -> None:
    told = lines(strict, noun, *words, stdin="secret", status=1)
    assert (
        len(told) == 1 and "CLUSTER_AUTHORIZATION_FAILED: " in told[0] and told[0].endswith(f" It needs the right {right} on the cluster.")
    )


@pytest.mark.parametrize("noun", ["quotas", "scram"])
def test_the_metadata_log_may_be_read_by_brokers_alone(noun: str, strict: EmbeddedQuorum) -> None:
    told = lines(strict, noun, "list", status=1)
    assert len(told) == 1 and "CLUSTER_ACTION" in told[0]


@pytest.mark.parametrize("noun", ["acls", "quotas", "scram"])
def test_a_controller_where_a_broker_is_wanted(noun: str, strict: EmbeddedQuorum) -> None:
    main = tool_of(noun)
    done = run_main(main, ["list", "-b", strict.bootstrap_controllers], cwd=HERE)
    assert done.status == 1 and done.stdout == b""
    assert done.stderr == f"metashell {noun} list: {strict.bootstrap_controllers} is a controller's listener: use --bootstrap-controller\n"
