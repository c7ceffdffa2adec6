"""Verbs on paths: which administration command each of them is, and what keeps one from being run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from io import StringIO
from types import SimpleNamespace

import pytest

from metashell.common.forms import Display
from metashell.common.option_parser import parse_command
from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.image import MetadataImage, load_image
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.metadata.nodes.places import Subject
from metashell.shell import Context, run_command, run_line
from metashell.shell.change_commands import AdminCommand
from metashell.shell.completion import complete
from metashell.shell.grammar import remember_line
from metashell.shell.paths import quote_glob
from tools.tool_list import TOOLS


class Recorded:
    """An `Administrator` that remembers what it was asked for."""

    def __init__(self, status: int = 0) -> None:
        self.deeds: list[AdminCommand] = []
        self.options: list[str] = []
        self._status = status

    def perform(self, called: str, deed: AdminCommand, options: Sequence[str]) -> int:
        self.deeds.append(deed)
        self.options = list(options)
        return self._status

    def committed_offset(self) -> int | None:
        return None

    def keys(self, subject: Subject) -> Sequence[str]:
        return ["retention.bytes", "retention.ms"] if subject == ("topic", "orders") else []


class LiveFeed(SimpleNamespace):
    is_live = True

    def view(self) -> SimpleNamespace:
        return SimpleNamespace(image=self.image, trouble="", lag=0)


@pytest.fixture(scope="module")
def image() -> MetadataImage:
    with open_source(demo_directory()) as source:
        return load_image(source)


def context(image: MetadataImage, administrator: Recorded | None) -> Context:
    root = build_root(image, voice="own", local=LocalInfo())
    return Context(
        root=root,
        image=image,
        display=Display(StringIO()),
        err=StringIO(),
        source_label="demo",
        administrator=administrator,
        feed=LiveFeed(image=image),
    )


def told(ctx: Context) -> str:
    assert isinstance(ctx.err, StringIO)
    return ctx.err.getvalue()


def asked(image: MetadataImage, line: str) -> list[str]:
    """The command lines that a line becomes."""
    recorded = Recorded()
    ctx = context(image, recorded)
    assert run_line(ctx, line) == 0, told(ctx)
    return [shlex.join((deed.noun, deed.verb, *deed.words)) for deed in recorded.deeds]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("set /image/configs/TOPIC:orders retention.ms=1 a=b=c", ["configs set -- topic:orders retention.ms=1 a=b=c"]),
        ("set /image/configs/TOPIC:not-there retention.ms=1", ["configs set -- topic:not-there retention.ms=1"]),
        ("set /image/configs/TOPIC:orders/cleanup.policy compact", ["configs set -- topic:orders cleanup.policy=compact"]),
        ("set /image/topics/byName/orders retention.ms=1", ["configs set -- topic:orders retention.ms=1"]),
        (
            "set /image/topics/byName/{orders,reassigned-1} retention.ms=1",
            ["configs set -- topic:orders topic:reassigned-1 retention.ms=1"],
        ),
        ("set /topics/orders retention.ms=1", ["configs set -- topic:orders retention.ms=1"]),
        ("set /image/cluster/brokers/4 log.cleaner.threads=2", ["configs set -- broker:4 log.cleaner.threads=2"]),
        ("set /image/configs/BROKER log.cleaner.threads=2", ["configs set -- broker:default log.cleaner.threads=2"]),
        ("set /image/configs/CLIENT_METRICS:m interval.ms=100", ["configs set -- client-metrics:m interval.ms=100"]),
        ("set /image/clientQuotas/user(alice) producer_byte_rate=1", ["quotas set --user=alice -- producer_byte_rate=1"]),
        (
            "set /image/clientQuotas/clientId(<default>)_user(a) request_percentage=1",
            ["quotas set --client-id-default --user=a -- request_percentage=1"],
        ),
        ("set /image/scram/SCRAM-SHA-256/carol", ["scram set --mechanism=SCRAM-SHA-256 -- carol"]),
        ("set /image/features/finalized_share.version 2", ["features upgrade -- share.version=2"]),
        ("set /image/features/finalized_transaction.version 1", ["features downgrade -- transaction.version=1"]),
        ("set /image/features/finalized_transaction.version 0", ["features disable -- transaction.version"]),
        ("set /image/features/metadataVersion 4.3", ["features upgrade -- metadata.version=4.3"]),
        ("set /image/features/metadataVersion 4.2-IV1", ["features downgrade -- metadata.version=4.2-IV1"]),
        ("set /image/features/metadataVersion 4", ["features downgrade -- metadata.version=4"]),
        (f"set /image/features/finalized_share.version {'9' * 5000}", [f"features upgrade -- share.version={'9' * 5000}"]),
        ("delete /image/features/finalized_share.version", ["features disable -- share.version"]),
        ("unset /image/configs/TOPIC:orders retention.ms x", ["configs unset -- topic:orders retention.ms x"]),
        ("unset /image/configs/TOPIC:orders/cleanup.policy", ["configs unset -- topic:orders cleanup.policy"]),
        ("unset /image/clientQuotas/user(alice) producer_byte_rate", ["quotas unset --user=alice -- producer_byte_rate"]),
        ("create /image/topics/byName/new", ["topics create -- new"]),
        ("create /image/topics/byName/new a=b -p 3 -r 2", ["topics create --partitions=3 --replication-factor=2 --config=a=b -- new"]),
        ("alter /image/topics/byName/orders --partitions 9", ["topics alter --partitions=9 -- orders"]),
        ("delete /image/topics/byName/{orders,payments}", ["topics delete -- orders payments"]),
        ("rm /image/configs/TOPIC:orders/cleanup.policy", ["configs unset -- topic:orders cleanup.policy"]),
        ("delete /image/scram/SCRAM-SHA-256/carol", ["scram delete --mechanism=SCRAM-SHA-256 -- carol"]),
        ("delete /image/clientQuotas/user(alice)", ["quotas unset --user=alice --all"]),
        ("elect /image/topics/byName/orders", ["elect preferred -- orders"]),
        ("elect /image/topics/byName/orders/{0,1}", ["elect preferred -- orders:0 orders:1"]),
        ("elect --unclean /image/topics/byName/orders/0", ["elect unclean -- orders:0"]),
        ("unregister /image/cluster/brokers/{4,5}", ["brokers unregister -- 4 5"]),
        ("unregister --force /image/cluster/brokers/4", ["brokers unregister --force -- 4"]),
        (
            "unregister /image/cluster/controllers/1 /image/cluster/brokers/4",
            ["brokers unregister -- 4", "quorum unregister-controller -- 1"],
        ),
    ],
)
def test_a_verb_is_an_administration_command(line: str, commands: list[str], image: MetadataImage) -> None:
    if "payments" in line and "payments" not in image.topics.by_name:
        line, commands = line.replace("{orders,payments}", "orders"), ["topics delete -- orders"]
    assert asked(image, line) == commands


def test_all_that_is_set_is_removed(image: MetadataImage) -> None:
    keys = sorted(image.configs[2, "orders"])
    assert asked(image, "delete /image/configs/TOPIC:orders") == [shlex.join(["configs", "unset", "--", "topic:orders", *keys])]


def test_an_entry_of_access_is_removed_alone(image: MetadataImage) -> None:
    lines = asked(image, "delete /image/acls/byId/*")
    assert len(lines) == len(image.acls.by_id) and len(set(lines)) == len(lines)
    for words in map(shlex.split, lines):
        assert words[:2] == ["acls", "remove"]
        assert [word.partition("=")[0] for word in words[3:]] == ["--pattern", "--principal", "--host", "--operation", "--permission"]


VERBS = {
    "alter": ["--partitions", "9"],
    "create": ["retention.ms=1", "-p", "1"],
    "delete": [],
    "elect": ["--unclean"],
    "set": ["a=b"],
    "unregister": ["--force"],
    "unset": ["a"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_on_every_path_a_verb_is_a_command_that_can_be_parsed_or_a_line_of_refusal(verb: str, image: MetadataImage) -> None:
    ctx = context(image, Recorded())
    run_line(ctx, "find / /image")
    assert isinstance(ctx.out, StringIO)
    paths = ctx.out.getvalue().splitlines()
    assert len(paths) > 300
    parsed = 0
    for path in paths:
        recorded = Recorded()
        ctx = context(image, recorded)
        status = run_command(ctx, [verb, quote_path(path), *VERBS[verb]])
        assert bool(recorded.deeds) == (status == 0) and len(told(ctx).splitlines()) == (status != 0), path
        for deed in recorded.deeds:
            spec = next(command for command in TOOLS[f"metashell-{deed.noun}"].commands if command.name == deed.verb)
            parse_command(spec, ["--dry-run", "-C", "localhost:1", *deed.words])
            parsed += 1
    assert parsed


def quote_path(path: str) -> str:
    """A path in which no character is a wildcard."""
    return "/".join(map(quote_glob, path.split("/")))


def test_options_and_the_form_go_along(image: MetadataImage) -> None:
    recorded = Recorded(status=1)
    ctx = context(image, recorded)
    ctx.output = "jsonl"
    assert run_line(ctx, "elect /image/topics/byName/orders --yes --dry-run") == 1
    assert recorded.options == ["--dry-run", "--yes", "--output=jsonl"]


def test_what_does_not_ask_by_itself_is_asked_about(image: MetadataImage) -> None:
    for line, question in (
        ("set /image/clientQuotas/user(alice) producer_byte_rate=1", "Set producer_byte_rate of user alice?"),
        ("delete /image/clientQuotas/user(alice)", "Remove all quotas of user alice?"),
        ("create /image/topics/byName/new", "Create new?"),
        ("elect /image/topics/byName/orders", "Elect the preferred leaders of orders?"),
        ("delete /image/topics/byName/orders", ""),
    ):
        recorded = Recorded()
        run_line(context(image, recorded), line)
        assert [deed.question for deed in recorded.deeds] == [question]


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("set /image/faults a=b", 1, "set: /image/faults: it cannot be changed"),
        ("set /image/configs/TOPIC:orders", 2, "set: missing KEY=VALUE"),
        ("set /image/configs/TOPIC:orders s3cret", 2, "set: a word is not KEY=VALUE"),
        ("set /image/configs/TOPIC:orders/cleanup.policy a b", 2, "set: cleanup.policy: name one value"),
        ("set /image/scram/SCRAM-SHA-256/carol s3cret", 2, "set: a password is not typed on the line"),
        ("set /image/topics/byName/orders/0 a=b", 2, "set: it has no settings"),
        ("set /image/configs/TOPIC:no* a=b", 1, "set: /image/configs/TOPIC:no*: No such file or directory."),
        ("unset /image/configs/TOPIC:orders", 2, "unset: missing KEY"),
        ("set /image/features/finalized_share.version", 2, "set: share.version: name one level"),
        ("unset /image/features/finalized_share.version x", 2, "unset: share.version: a feature has no keys"),
        ("unset /image/scram/SCRAM-SHA-256/carol x", 2, "unset: a credential has no keys: `delete` removes it"),
        ("unset /image/acls/byId/* x", 2, "unset: it has no settings"),
        ("unset /image/configs/TOPIC:orders/cleanup.policy x", 2, "unset: cleanup.policy: the path names the key already"),
        ("delete /image/topics/byName/no*", 1, "delete: /image/topics/byName/no*: No such file or directory."),
        ("delete /image/topics/byName/orders/0", 2, "delete: a partition cannot be deleted"),
        ("delete /image/cluster/brokers/4", 2, "delete: a broker is not deleted: `unregister`"),
        ("delete /image/configs/TOPIC:not-there", 2, "delete: topic:not-there: nothing is set"),
        ("elect /image/cluster/brokers/4", 2, "elect: leaders are elected for topics and partitions"),
        ("unregister /image/topics/byName/orders", 2, "unregister: only brokers and controllers are unregistered"),
        ("create /image/configs/TOPIC:x", 2, "create: only topics are created"),
        ("alter /image/cluster/brokers/4 -p 3", 2, "alter: only topics have a number of partitions"),
        ("alter /image/topics/byName/orders", 2, "alter: option --partitions is required"),
        ("delete", 2, "delete: missing PATH"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_done(line: str, status: int, said: str, image: MetadataImage) -> None:
    recorded = Recorded()
    ctx = context(image, recorded)
    assert run_line(ctx, line) == status
    assert told(ctx).startswith(said) and "s3cret" not in told(ctx)
    assert recorded.deeds == []


def test_nothing_is_done_by_halves(image: MetadataImage) -> None:
    recorded = Recorded()
    assert run_line(context(image, recorded), "delete /image/topics/byName/orders /image/faults") == 1
    assert recorded.deeds == []


def test_a_shell_without_changes_says_in_one_line_how_to_allow_them(image: MetadataImage) -> None:
    ctx = context(image, None)
    assert run_line(ctx, "delete /image/topics/byName/orders") == 1
    assert told(ctx) == "delete: demo: changes are off: start kafka-shell with --allow-changes\n"


def candidates(image: MetadataImage, line: str) -> list[str]:
    return [candidate.text for candidate in complete(context(image, Recorded()), line)]


def test_keys_are_completed(image: MetadataImage) -> None:
    assert candidates(image, "set /image/topics/byName/orders ret") == ["retention.bytes=", "retention.ms="]
    assert candidates(image, "set /image/topics/byName/orders retention.ms=") == []
    assert candidates(image, "unset /image/topics/byName/orders ") == [f"{key} " for key in sorted(image.configs[2, "orders"])]
    assert candidates(image, "unset /image/clientQuotas/user(alice) ") == [
        f"{key} " for key in sorted(image.client_quotas[(("user", "alice"),)])
    ]
    assert candidates(image, "elect /image/topics/byName/ord") == ["/image/topics/byName/orders/"]
    assert "--unclean " in candidates(image, "elect --")


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ("set /image/configs/TOPIC:orders retention.ms=1", True),
        ("set /image/configs/BROKER:1 log.cleaner.threads=2", True),
        ("set '/image/clientQuotas/user(a)' producer_byte_rate=1", True),
        ("set /image/configs/BROKER:1 ssl.keystore.password=x", False),
        ("set BROKER:1 listener.name.a.ssl.key.password=x", False),
        ("set 4 my.own.key=x", False),
        ("set /image/configs/BROKER:1/ssl.keystore.password x", False),
        ("set /image/configs/TOPIC:orders ssl.keystore.password=x", False),
        ("unset /image/configs/BROKER:1 ssl.keystore.password", True),
        ("cd /; set /image/configs/BROKER:1 ssl.keystore.password=x", False),
        ("pwd && time set 1 sasl.jaas.config=x # y", False),
        ("time set /image/configs/TOPIC:orders retention.ms=1", True),
        ("s /image/configs/BROKER:1 ssl.keystore.password=x", False),
        ("s /image/configs/TOPIC:orders retention.ms=1 | cat", True),
        ("create /image/topics/byName/x --config=ssl.keystore.password=x", False),
        ("create /image/topics/byName/x retention.ms=1", True),
        ("set 1 ssl.keystore.password='x", False),
        ("ls 'x", True),
        ("ls / # set . ssl.key.password=x", False),
        ("#set . ssl.key.password=x", False),
        ("## set /image/configs/BROKER:1/ssl.key.password x", False),
        ("ls /;# pwd # s 4 my.own.key=x", False),
        ("sett . ssl.key.password=x", False),
        ("create 'x --config ssl.key.password=x", False),
        ("set . ssl.key.password =x", False),
        ("# retention.ms=1 was here before", True),
        ("find / --where 'partitions==1", True),
        ("find / -name set", True),
        ("ls / # set . ssl.key.password=HUNTER4", False),
        ("#set . ssl.key.password=HUNTER4", False),
        ("# later: alter /image/cluster --config=ssl.key.password=HUNTER4", False),
        ("ls /;# s /image/configs/BROKER:1/ssl.key.password HUNTER4", False),
        ("ls / # a set of names", True),
        ("ls / # the configs", True),
        ("find / -name 'open=", True),
    ],
)
def test_lines_that_set_a_secret_are_not_remembered(line: str, is_kept: bool) -> None:
    history: list[str] = []
    remember_line(history, line, {"s": "set", "ll": "ls -l"})
    assert history == ([line] if is_kept else [])
