"""No read ends with 0 and no gate passes where a user's rights leave a hole: each right is taken away in turn, on a real broker.

The user has all rights one by one, none by `ALL`. One is removed, or denied: what is still answered with 0 has to be what the user with all
rights gets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.protocol import Kind
from metashell.cli.admin.users import AclEntry, create_acls, delete_acls, filter_for
from metashell.cli.connection import addresses_of, client_config_of
from metashell.cli.main import tool_of
from metashell.codec import messages
from tests.administering import AUTHORIZER
from tests.administering import command as controller_command
from tests.administering import lines as controller_lines
from tests.interop.one_broker import BROKER_ID, OneBroker, one_broker
from tests.running import Outcome, run_main, wait_until

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SETTINGS: Final = {
    "listeners": "SASL_PLAINTEXT://localhost:{port}",
    "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{LOGIN} username="root" password="pw" user_root="pw" user_op="pw";',
    **AUTHORIZER,
    "super.users": "User:root;User:ANONYMOUS",
}
ON_TOPIC: Final = ("DESCRIBE", "DESCRIBE_CONFIGS", "ALTER", "ALTER_CONFIGS", "DELETE", "READ", "WRITE")
ON_GROUP: Final = ("DESCRIBE", "DESCRIBE_CONFIGS", "READ", "DELETE")
ON_CLUSTER: Final = ("DESCRIBE", "DESCRIBE_CONFIGS", "ALTER", "ALTER_CONFIGS", "CREATE", "CLUSTER_ACTION")
RIGHTS: Final = (
    *(("TOPIC", "*", right) for right in ON_TOPIC),
    *(("GROUP", "*", right) for right in ON_GROUP),
    *(("CLUSTER", "kafka-cluster", right) for right in ON_CLUSTER),
)
READS: Final = (
    ("topics", "list"),
    ("topics", "describe", "hidden", "orders"),
    ("topics", "describe", "--unhealthy"),
    ("brokers", "list"),
    ("brokers", "describe", str(BROKER_ID)),
    ("configs", "get", "topic:orders", f"broker:{BROKER_ID}"),
    ("features", "describe"),
    ("quorum", "describe"),
    ("groups", "list"),
    ("groups", "describe", "readers"),
    ("groups", "offsets", "readers", "--lag"),
    ("features", "apis"),
    ("acls", "list", "--topic", "orders"),
    ("quotas", "list"),
    ("scram", "list"),
    ("reassign", "status"),
)
VOLATILE: Final = frozenset(
    {"fetched_ms_ago", "caught_up_ms_ago", "log_end_offset", "high_watermark", "lag", "epoch", "total_bytes", "usable_bytes", "size_bytes"}
)
JUDGES: Final = (("cluster",), ("health",))
"""They find brokers that are not there, whoever asks."""
GATES: Final = (
    ("brokers", "unregister", "103"),
    ("elect", "unclean", "--all"),
    ("reassign", "cancel", "--all"),
)
"""Verbs that have to know all of something before they ask."""
STOPPED: Final = dict(zip(GATES, (2, 1, 0), strict=True))
"""How they end with all rights: a question that nobody answers; nothing that could be elected; nothing to cancel."""
Right = tuple[str, ...]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    return login(tmp_path_factory, "root")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    return login(tmp_path_factory, "op")


def login(folders: pytest.TempPathFactory, user: str) -> str:
    path = folders.mktemp("client") / f"{user}.properties"
    jaas = f'{LOGIN} username="{user}" password="pw";'
    path.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n")
    return str(path)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, root: str) -> Iterator[OneBroker]:
    with one_broker(tmp_path_factory.mktemp("rights"), properties=AUTHORIZER, settings=SETTINGS, fake_brokers=3) as broker:
        places = (("orders", f"{BROKER_ID}:101"), ("hidden", f"103,{BROKER_ID}"), ("__consumer_offsets", str(BROKER_ID)))
        for name, assignment in places:
            controller_lines(broker.quorum, "topics", "create", name, "--assignment", assignment)
        commit(broker, root)
        grant(broker, root, "add", RIGHTS)
        yield broker


def commit(broker: OneBroker, root: str) -> None:
    """A group that has read both topics."""
    made = messages.OffsetCommitRequest
    part = made.OffsetCommitRequestPartition
    topics = (("orders", 0), ("hidden", 1))
    request = made(
        group_id="readers",
        topics=tuple(
            made.OffsetCommitRequestTopic(name=name, partitions=(part(partition_index=id, committed_offset=0),)) for name, id in topics
        ),
    )
    options = client_config_of(root).options()
    del options["deadline_ms"]
    with Admin(Kind.BROKERS, addresses_of(broker.bootstrap), **options) as admin:
        wait_until(lambda: not any(one.error_code for topic in admin.ask(request, version=8).topics for one in topic.partitions))


def grant(broker: OneBroker, root: str, verb: str, rights: Sequence[Right], how: str = "ALLOW") -> None:
    """Add entries for the user, or remove them, and wait until the broker goes by them."""
    entries = [
        AclEntry(kind, name, pattern, "User:op", "*", operation, how)
        for kind, name, operation, pattern in ((*right, "LITERAL")[:4] for right in rights)
    ]
    with Admin(Kind.CONTROLLERS, addresses_of(broker.quorum.bootstrap_controllers)) as admin:
        done = create_acls(admin, entries) if verb == "add" else delete_acls(admin, list(map(filter_for, entries)))
    assert [error for _, error in done] == [None] * len(entries)
    wanted = controller_command(broker.quorum, "acls", "list", "-o", "json").stdout
    wait_until(lambda: run(broker, root, "acls", "list").stdout == wanted)


@contextmanager
def taken(broker: OneBroker, root: str, rights: Sequence[Right], how: str) -> Iterator[None]:
    """Without these rights, or with their denial, while the block runs."""
    verb, back = ("remove", "add") if how == "ALLOW" else ("add", "remove")
    grant(broker, root, verb, rights, how)
    yield
    grant(broker, root, back, rights, how)


def run(broker: OneBroker, config: str, *words: str) -> Outcome:
    main = tool_of(words[0])
    done = run_main(main, [*words[1:], "-b", broker.bootstrap, "--command-config", config, "--timeout=60", "-o", "json"], cwd=HERE)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def answer(done: Outcome) -> Any:
    """What was answered, without what changes by the moment, and without who may see it."""

    def steady(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: steady(one) for name, one in value.items() if name not in VOLATILE}
        return [steady(one) for one in value] if isinstance(value, list) else value

    return steady(json.loads(done.stdout)) if done.stdout else None


def verdict_of(done: Outcome) -> Any:
    found = json.loads(done.stdout)
    return found if isinstance(found, dict) else found[-1]


CASES: Final = (
    *(("ALLOW", (right,)) for right in RIGHTS),
    # A denial is what a missing right is, but for what it is called.
    *(("DENY", (right,)) for right in RIGHTS[::4]),
    ("ALLOW", tuple(("TOPIC", "*", right) for right in ON_TOPIC)),
    ("ALLOW", tuple(("GROUP", "*", right) for right in ON_GROUP)),
    ("ALLOW", tuple(("CLUSTER", "kafka-cluster", right) for right in ON_CLUSTER)),
    ("ALLOW", RIGHTS),
    ("DENY", (("TOPIC", "hidden", "DESCRIBE"),)),
    ("DENY", (("TOPIC", "hid", "DESCRIBE", "PREFIXED"),)),
    ("DENY", (("TOPIC", "hidden", "ALL"),)),
)


def test_no_read_ends_well_and_no_gate_passes_with_a_hole(broker: OneBroker, root: str, config: str) -> None:
    whole = {words: run(broker, config, *words) for words in (*READS, *JUDGES, *GATES)}
    assert {words: done.status for words, done in whole.items()} == {**dict.fromkeys(READS, 0), **dict.fromkeys(JUDGES, 1), **STOPPED}, (
        whole
    )
    assert all(verdict_of(whole[words])["complete"] for words in JUDGES)
    holes = set()
    for how, rights in CASES:
        with taken(broker, root, rights, how):
            for words in READS:
                done = run(broker, config, *words)
                if done.status == 0:
                    assert answer(done) == answer(whole[words]), (how, rights, words, done)
                else:
                    assert done.status == 1 and done.stderr, (how, rights, words, done)
                    holes.add(words[0])
            for words in JUDGES:
                seen, verdict = verdict_of(run(broker, config, *words)), verdict_of(whole[words])
                assert seen["complete"] is not bool(seen["missing"])
                assert seen["found"] == verdict["found"] or not seen["complete"], (how, rights, words, seen)
            for words in GATES:
                done = run(broker, config, *words)
                if done.stderr == whole[words].stderr:
                    continue
                assert done.status == 1, (how, rights, words, done)
                assert run(broker, config, *words, "--yes").status == 1, (how, rights, words)
                assert 103 in broker.quorum.image.cluster.brokers
    assert holes == {words[0] for words in READS} - {"features"}, "features need no right"


def test_a_hidden_topic_is_a_hole_that_force_overrides(broker: OneBroker, root: str, config: str) -> None:
    with taken(broker, root, (("TOPIC", "hidden", "DESCRIBE"),), "DENY"):
        done = run(broker, config, "topics", "list")
        *_, view = json.loads(done.stdout)
        hole = "topic hidden, if there is one: DESCRIBE is denied to this user"
        assert done.status == 1 and view == {"type": "view", "complete": False, "missing": [hole]}
        (told,) = json.loads(run(broker, config, "brokers", "list").stdout)[-1]["missing"]
        assert told == hole
        refused = run(broker, config, "brokers", "unregister", "103", "--yes")
        assert refused.status == 1 and "nothing was changed, since not all of what it does can be seen" in refused.stderr
        assert 103 in broker.quorum.image.cluster.brokers
        forced = run(broker, config, "brokers", "unregister", "103", "--yes", "--force")
        assert f"warning: --force overrides that this was not seen: {hole}" in forced.stderr
        broker.quorum.wait_for(lambda image: 103 not in image.cluster.brokers)
