"""No voice of ours lets a secret out: every command, decoder, form, table and path of faults, on logs that are full of secrets.

The command lines are made from the registries of options, decoders, forms, tables, reports and shell commands, so that a new one
is tried here before anybody thinks of it; an option whose use cannot be guessed has to be added to a table of tests/secret_runs.py.
Where choices meet (a log, a decoder, an option, a form), each two of them stand together in a line: see tests/pairs.py.
With --show-secrets the same command lines, or every few of them, must bring the secrets out: that shows that there is something to find.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.cluster.rehearse import REHEARSE
from metashell.cli.connection import CLUSTER_OPTIONS
from metashell.cli.controllers import storage
from metashell.cli.controllers.storage import STORAGE
from metashell.cli.groups.command import ASSIGN, GROUPS, LOG_COMMANDS
from metashell.cli.inspect import dump_log, kafka_shell
from metashell.cli.inspect.bundle import BUNDLE
from metashell.cli.inspect.checks import VERIFY
from metashell.cli.inspect.dump_log import DUMP_LOG
from metashell.cli.kafka import file_tools
from metashell.cli.shell_options import KAFKA_SHELL
from metashell.cli.tables.export import EXPORT
from metashell.cli.tables.report import REPORT
from metashell.cli.tables.sql import SQL
from metashell.codec.redaction import REDACTED, holds_secrets, secrets_of
from metashell.common.options import ALL_REPORTS, LOG_KINDS
from metashell.inspect.dump.kafka_records import DECODER_CLASSES
from metashell.shell.commands import NAMES as SHELL_COMMANDS
from metashell.tables.dictionary import COMMON_TABLES, table_names
from metashell.tables.schemas import tables_of_log
from tests.inspect.dump.making import LOG_NAME
from tests.inspect.unpacking import unpacked
from tests.pairs import pairs
from tests.quick import quick
from tests.running import Outcome, command_line, run_main
from tests.secret_logs import CHECKPOINT_NAME, CONNECT_GROUPS, SECRETS, found_in, found_in_files, secret_values, write_group_log, write_logs
from tests.secret_logs import LOGS as MADE_LOGS
from tests.secret_runs import ENDLESS, MAINS, Ran, run, shell_scripts, single_options, some, variants
from tools.tool_list import TOOLS

NOT_HERE = {
    "metashell": "runs the other tools",
    "metashell-kafka": "runs the tools of Kafka's names",
    "metashell-completion": "prints a file that ships with the package, and takes no input",
    "metashell-tables": "prints what ships with the package, and takes no input",
    "metashell-lake": "reads what an export has written: tests/cli/tables/test_lake.py",
    "spark-reports": "tests/spark_reports/test_secrets.py",
    "metashell-quorum": "reads no logs; passwords in settings: tests/cli/controllers/test_quorum.py",
    "metashell-topics": "reads no logs, and a topic has no secrets",
    "metashell-configs": "reads no logs; passwords in settings: tests/cli/cluster/test_configs.py",
    "metashell-cluster": "reads no logs, and shows no settings",
    **dict.fromkeys((f"metashell-{name}" for name in ("status", "ls", "cat", "find", "log", "diff", "why")), "a door to kafka-shell"),
    "metashell-health": "shows no settings but those that its findings name",
    "metashell-brokers": "reads no logs, and shows no settings",
    "metashell-features": "reads no logs, and a feature has no secrets",
    "metashell-elect": "reads no logs, and a partition has no secrets",
    "metashell-reassign": "shows topics and brokers alone",
    "metashell-acls": "there are no secrets in what it reads",
    "metashell-quotas": "there are no secrets in what it reads",
    "metashell-scram": "a cluster tells no secrets; passwords: tests/cli/cluster/test_scram.py",
    "metashell-simulate": "reads nothing",
    "metashell-server": "prints nothing of its log; passwords in settings: tests/cli/controllers/test_server.py",
    "kafka-storage": "Kafka's voice",
    "kafka-cluster": "Kafka's voice",
    "kafka-metadata-quorum": "Kafka's voice",
    "kafka-features": "Kafka's voice",
    "kafka-dump-log": "Kafka's voice",
    "kafka-metadata-shell": "Kafka's voice",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets")
    write_logs(folder)
    return folder


def test_every_tool_is_tried() -> None:
    assert {*MAINS, *NOT_HERE} == set(TOOLS)
    assert {spec.name for spec in TOOLS.values() if spec.voice == "kafka"} == {name for name in NOT_HERE if name.startswith("kafka-")}


# ---- dump-log --------------------------------------------------------------------------------------------------------


def readings() -> list[list[str]]:
    """Every way of decoding, and none."""
    decoders = [option.names[0] for option in DUMP_LOG.options if option.dest.endswith("_decoder")]
    sides = [option.names[0] for option in DUMP_LOG.options if option.dest.endswith("_decoder_class")]
    assert len(decoders) >= 5 and len(sides) == 2
    classes = [["--print-data-log", side, f"org.apache.kafka.tools.api.{name}"] for side in sides for name in DECODER_CLASSES]
    return [*([decoder] for decoder in decoders), *classes, ["--print-data-log"], ["--deep-iteration"], []]


def folder_for(reading: list[str], folder: str) -> str:
    """Where a log lies that can be read so: with another log's decoder only where it is not known for what it is."""
    is_other = bool(reading) and reading[0].endswith("-decoder") and reading[0] != "--cluster-metadata-decoder"
    return "hidden" if is_other else folder


ALL_LOGS = (*MADE_LOGS, "checkpoint")
LOG_NAMES = [name if name == "sound" else pytest.param(name, marks=pytest.mark.slow) for name in ALL_LOGS]
"""In the short run of tests one log stands for all."""
DUMP_FORMS = [[], *variants(DUMP_LOG.option("output"))]


@pytest.mark.parametrize("show", [False, True])
@pytest.mark.parametrize("name", LOG_NAMES)
def test_dump_log_in_every_decoder_and_form(root: Path, name: str, show: bool) -> None:
    ran = Ran()
    file = CHECKPOINT_NAME if name == "checkpoint" else LOG_NAME
    for reading, form in (line[1:] for line in pairs(ALL_LOGS, readings(), DUMP_FORMS) if line[0] == name):
        words = [*reading, *form, file]
        folder = "__cluster_metadata-0" if name == "checkpoint" else folder_for(reading, "__cluster_metadata-0")
        ran.note(words, run(DUMP_LOG, words, root / name / folder, show))
    ran.check(show, KNOWN if name in ("sound", "damaged") else tuple(SECRETS))


@pytest.mark.slow
@pytest.mark.parametrize("show", [False, True])
def test_dump_log_with_every_option(root: Path, show: bool) -> None:
    ran = Ran()
    decoders: tuple[list[str], ...] = (["--cluster-metadata-decoder"], ["--offsets-decoder"], [])
    for name, reading, option in some(show, pairs(tuple(MADE_LOGS), decoders, single_options(DUMP_LOG))):
        words = [*reading, *(word.format(file=LOG_NAME) for word in option), LOG_NAME]
        ran.note(words, run(DUMP_LOG, words, root / name / folder_for(reading, "somewhere"), show))
    ran.check(show)


@pytest.mark.slow
def test_patterns_do_not_see_what_is_redacted(root: Path) -> None:
    for name, secret, option, reading in pairs(tuple(MADE_LOGS), tuple(SECRETS.values()), ("--value", "--key"), readings()):
        pattern = secret.decode() if secret.isalnum() else secret.hex()
        words = [*reading, "--batches=also", option, pattern[:12], LOG_NAME]
        lines = run(DUMP_LOG, words, root / name / folder_for(reading, "somewhere"), False).stdout.splitlines()
        assert [line for line in lines if b'"kind":"record"' in line] == []


# ---- export, sql, report, verify -------------------------------------------------------------------------------------


def at_places(root: Path, *choices: Sequence[Any]) -> Iterator[tuple[Path, Any]]:
    """Every log in every folder, the folder or the file in it, and each of the choices with each of these."""
    folders = sorted({folder.name for folder in root.glob("*/*")})
    for log, name, is_file, *more in pairs(ALL_LOGS, folders, (False, True), *choices):
        if (folder := root / log / name).exists():
            yield (next(folder.iterdir()) if is_file else folder, *more)


KNOWN = tuple(name for name in SECRETS if not name.startswith("old") and name != "salted password")
"""What the records of Kafka's own hold."""
TABLE_FORMS = EXPORT.option("format").choices


def run_export(ran: Ran, words: Sequence[str], out: Path, show: bool) -> None:
    outcome = run(EXPORT, [*words, "--out", str(out)], out.parent, show)
    out.mkdir(exist_ok=True)
    ran.note(words, outcome, out)


@pytest.mark.slow
@pytest.mark.parametrize("show", [False, True])
def test_export_in_every_form_of_every_log(root: Path, tmp_path: Path, show: bool) -> None:
    ran = Ran()
    logs = [[], *variants(EXPORT.option("log"))]
    for number, (form, name, log) in enumerate(some(show, pairs(TABLE_FORMS, tuple(MADE_LOGS), logs))):
        place = root / name / ("hidden" if log else "somewhere") / LOG_NAME
        words = [*log, "--format", form, "--tables", "all", "--on-error", "skip", "--jobs", "1", str(place)]
        run_export(ran, words, tmp_path / str(number), show)
    ran.check(show, KNOWN)


@pytest.mark.parametrize("show", [False, True])
def test_export_of_faults(root: Path, tmp_path: Path, show: bool) -> None:
    ran = Ran()
    for number, (name, log) in enumerate((("odd", "offsets"), ("odd", "remote_log"), ("damaged", "metadata"))):
        words = ["--log", log, "--format", "jsonl", "--tables", "faults,records", "--on-error", "skip", "--jobs", "1"]
        run_export(ran, [*words, str(root / name / "hidden" / LOG_NAME)], tmp_path / str(number), show)
    ran.check(show, KNOWN)


def test_every_secret_of_a_table_has_a_column_of_its_own() -> None:
    # Redaction of columns looks no deeper.
    for log in LOG_KINDS:
        for table in tables_of_log(log).values():
            secrets = secrets_of(table.value)
            assert secrets.fields <= {column.field.json_name for column in table.columns}, table.name
            assert not secrets.has_configs or {"resource_type", "name", "value"} <= set(table.schema.names), table.name
            assert table.key is None or not holds_secrets(table.key), table.name


@pytest.mark.slow
def test_export_of_every_place(root: Path, tmp_path: Path) -> None:
    ran = Ran()
    for number, (place,) in enumerate(at_places(root)):
        words = ["--format", TABLE_FORMS[-1], "--tables", "all", "--on-error", "skip", "--jobs", "1", str(place)]
        run_export(ran, words, tmp_path / str(number), False)
    ran.check(False)


@pytest.mark.slow
@pytest.mark.parametrize("show", [False, True])
def test_export_of_every_table_by_itself(root: Path, tmp_path: Path, show: bool) -> None:
    ran = Ran()
    logs = [str(root / name / "somewhere" / LOG_NAME) for name in ("odd", "damaged")]
    for number, table in enumerate(some(show, table_names())):
        words = ["--tables", table, "--on-error", "skip", "--jobs", "1", *logs]
        run_export(ran, words, tmp_path / str(number), show)
    ran.check(show, KNOWN)


@pytest.mark.slow
@pytest.mark.parametrize("show", [False, True])
def test_export_that_fails_and_with_every_option(root: Path, tmp_path: Path, show: bool) -> None:
    ran = Ran()
    for number, (words, place) in enumerate(some(show, pairs([[], *single_options(EXPORT)], sorted(root.glob("*/somewhere"))))):
        run_export(ran, [*words, "--tables", "all", str(place)], tmp_path / str(number), show)
    ran.check(show, KNOWN)


@pytest.mark.slow
@pytest.mark.parametrize("show", quick([False, True]))
def test_sql_over_every_table_of_every_log(root: Path, tmp_path: Path, show: bool) -> None:
    ran = Ran()
    forms = variants(SQL.option("output"))
    asked = [(log, table.name) for log in LOG_KINDS for table in tables_of_log(log).values()]
    asked += [(log, table) for log in ("metadata", "offsets") for table in COMMON_TABLES]
    assert {table for _, table in asked} == set(table_names())
    for number, (log, table) in enumerate(some(show, asked)):
        form = forms[number % len(forms)]
        paths = [str(root / name / "hidden" / LOG_NAME) for name in MADE_LOGS]
        words = [f"select * from {table}", *paths, "--log", log, "--on-error", "skip", *form]
        ran.note(words, run(SQL, words, tmp_path, show))
    ran.check(show, KNOWN)


FAULTS_BESIDE_RECORDS = 'select f.bytes, f.reason, r.payload from faults f full join records r on f."offset" = r."offset"'


@pytest.mark.slow
@pytest.mark.parametrize("show", quick([False, True]))
def test_sql_over_faults_in_every_form(root: Path, tmp_path: Path, show: bool) -> None:
    ran = Ran()
    for form in variants(SQL.option("output")):
        words = [FAULTS_BESIDE_RECORDS, str(root / "odd/somewhere"), *form]
        ran.note(words, run(SQL, [*words, "--on-error", "skip"], tmp_path, show))
        ran.note(words, run(SQL, words, tmp_path, show))
    ran.check(show, KNOWN)


def test_no_condition_of_a_query_sees_what_is_redacted(root: Path, tmp_path: Path) -> None:
    for secret in ("password", "unknown key"):
        query = f"select count(*) as n from config where value like '%{SECRETS[secret].decode()}%'"
        outcome = run(SQL, [query, str(root / "sound/somewhere"), "-o", "csv"], tmp_path, False)
        assert outcome.stdout == b"n\n0\n"


def run_report(ran: Ran, words: Sequence[str], out: Path, show: bool) -> None:
    outcome = run(REPORT, [*words, "--out", str(out)], out.parent, show)
    out.mkdir(exist_ok=True)
    ran.note(words, outcome, out)


@pytest.mark.parametrize("show", quick([False, True]))
def test_the_report_on_settings(root: Path, tmp_path: Path, show: bool) -> None:
    ran = Ran()
    for words in ([ALL_REPORTS], ["topic_history", "-o", "csv"], [ALL_REPORTS, "-o", "jsonl"], ["timeline", "-o", "html"]):
        ran.note(words, run(REPORT, [*words, str(root / "sound" / "somewhere")], tmp_path, show))
    run_report(ran, ["topic_history", str(root / "sound" / "somewhere")], tmp_path / "out", show)
    ran.check(show, ("password", "unknown key"))


@pytest.mark.slow
def test_every_report_of_every_place(root: Path, tmp_path: Path) -> None:
    ran = Ran()
    for number, (place, on_error) in enumerate(at_places(root, REPORT.option("on_error").choices)):
        run_report(ran, [ALL_REPORTS, str(place), "--on-error", on_error], tmp_path / str(number), False)
    ran.check(False)


@pytest.mark.slow
def test_verify_with_every_option_and_form(root: Path) -> None:
    ran = Ran()
    for place, words, form in at_places(root, [[], *single_options(VERIFY)], variants(VERIFY.option("output"))):
        line = [*words, *form, str(place)]
        ran.note(line, run(VERIFY, line, root, False))
    ran.check(False)


@pytest.mark.parametrize(
    "log", [name if name in ("sound", "checkpoint") else pytest.param(name, marks=pytest.mark.slow) for name in ALL_LOGS]
)
def test_a_bundle_with_every_option(root: Path, tmp_path: Path, log: str) -> None:
    ran = Ran()
    source = root / log / "__cluster_metadata-0"
    assert found_in_files(source)
    for number, words in enumerate([[], *single_options(BUNDLE)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        line = [*words, str(source), "--out", "case.tar.gz"]
        outcome = run(BUNDLE, line, folder, False)
        assert outcome.status in (0, 1) and outcome.stdout, outcome.stderr
        assert (unpacked(folder) / "README.md").exists()
        ran.note(line, outcome, folder)
    assert ran.count >= 3
    ran.check(False)


SECRET_STEPS = "config set broker:default ssl.keystore.password=open-sesame then config set broker:9 my.own=open-sesame"


def test_rehearse_with_every_option_and_form(root: Path) -> None:
    ran = Ran()
    steps = ([], SECRET_STEPS.split(), ["unregister", "1"], ["topic", "create", "t", "--config", "sasl.jaas.config=open-sesame"])
    options, forms = [[], *single_options(REHEARSE)], variants(REHEARSE.option("output"))
    for place, made, words, form in pairs(("somewhere", "__cluster_metadata-0"), steps, options, forms):
        line = [*(word.format(file=LOG_NAME) for word in words), *form, "--snapshot", str(root / "sound" / place), *made]
        outcome = run(REHEARSE, line, root, False)
        ran.note(line, outcome)
        assert b"open-sesame" not in outcome.stdout and "open-sesame" not in outcome.stderr, line
    assert "open-sesame" not in (root / "page.html").read_text()
    ran.check(False)


# ---- the shell -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("show", [False, True])
@pytest.mark.parametrize("name", ALL_LOGS)
def test_every_command_of_the_shell(root: Path, name: str, show: bool) -> None:
    assert set(SHELL_COMMANDS) >= ENDLESS
    ran = Ran()
    sources = [(log, is_file) for log in ALL_LOGS for is_file in (False, True)]
    scripts = shell_scripts(sources)
    runs = [(source, ["--keep-going"], scripts[source]) for source in sources]
    runs += [(source, option, "status\nls -R /\n") for source, option in pairs(sources, [[], *single_options(KAFKA_SHELL)])]
    for (log, is_file), option, script in runs:
        if log == name:
            place = root / log / "__cluster_metadata-0"
            words = [*(["--show-secrets"] if show else []), "-s", str(next(place.iterdir()) if is_file else place), *option]
            ran.note(words, run_main(kafka_shell.main, words, cwd=root, stdin=script))
    if name == "legacy":
        # No metadata lies in messages of those days: there is nothing but a line on what it is.
        assert not ran.found and not ran.outputs
        return
    ran.check(show, KNOWN if name in ("sound", "checkpoint") else ())


# ---- live ------------------------------------------------------------------------------------------------------------


def _live_words(quorum: object) -> list[str]:
    addresses = ",".join(map(str, quorum.addresses))  # type: ignore[attr-defined]
    mapped = [f"{here}=127.0.0.1:{port}" for here, port in zip(quorum.addresses, quorum.ports.values(), strict=True)]  # type: ignore[attr-defined]
    return ["--bootstrap-controller", addresses, *(word for one in mapped for word in ("--address-map", one))]


@pytest.mark.slow
@pytest.mark.parametrize("show", [False, True])
def test_a_live_quorum(tmp_path: Path, show: bool) -> None:
    from tests.quorum.observer.fake_quorum import FakeQuorum
    from tests.secret_logs import harmless_values, odd_values

    ran = Ran()
    with FakeQuorum(1) as quorum:
        quorum.commit(*harmless_values(), *secret_values(), *odd_values())
        where = _live_words(quorum)
        for line in (["tree", "/"], ["cat", "/image/scram/*/*"], ["status"], ["ls", "-lR", "/"], ["cat", "/image/faults/*"]):
            ran.note(line, run(KAFKA_SHELL, [*where, *line], tmp_path, show))
        for form in ([], ["-o", "json"]):
            ran.note(form, run(DUMP_LOG, [*where, *form], tmp_path, show))
        for command in sorted(ENDLESS):
            words = [*(["--show-secrets"] if show else []), *where, command, *(["/image"] if command == "watch" else [])]
            ran.note(words, _followed(words, quorum, tmp_path))
    ran.check(show)


def _followed(words: list[str], quorum: object, folder: Path) -> Outcome:
    """What a command prints of secrets that are committed while it looks on; a topic tells that all of it was seen."""
    from tests.inspect.dump.making import topic

    name = f"seen-by-{words[-1].strip('/')}-{len(words)}"
    lines = command_line("metashell.cli.inspect.kafka_shell", *words, "-o", "jsonl")
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(lines, cwd=Path(__file__).parents[1], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        printed = b""
        number = 0
        os.set_blocking(process.stdout.fileno(), True)
        while name.encode() not in printed:
            # It may not look on yet: what is committed is another topic each time, and the secrets once more.
            number += 1
            quorum.commit(*secret_values(), topic(f"{name}-{number}", 1000 + number + len(words) * 100))  # type: ignore[attr-defined]
            printed += os.read(process.stdout.fileno(), 1 << 20) if _is_ready(process.stdout.fileno()) else b""
            assert process.poll() is None, process.stderr
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    return Outcome(0, printed + rest, errors.decode())


def _is_ready(descriptor: int) -> bool:
    from select import POLLHUP, POLLIN, poll

    # A process of many tests may have more descriptors open than select() takes.
    waiting = poll()
    waiting.register(descriptor, POLLIN | POLLHUP)
    return bool(waiting.poll(200))


# ---- other voices ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("show", [False, True])
def test_storage_shows_no_credential_that_it_writes(tmp_path: Path, show: bool) -> None:
    config = f"process.roles=controller\nnode.id=1\nlog.dirs={tmp_path}/logs\ncontroller.listener.names=C\nlisteners=C://localhost:9093\n"
    config += "controller.quorum.bootstrap.servers=localhost:9093\n"
    (tmp_path / "server.properties").write_text(config)
    spec = f"SCRAM-SHA-256=[name=a,password={SECRETS['password'].decode()}]"
    ran = Ran()
    for form in variants(STORAGE.commands[0].option("output")):
        words = ["format", "-c", "server.properties", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-s", "-S", spec, "--dry-run", *form]
        outcome = run_main(storage.main, [*words, *(["--show-secrets"] if show else [])], cwd=tmp_path)
        assert outcome.status == 0
        # The password itself is in no form of the answer; salts and keys are where they are asked for.
        ran.note(words, outcome)
        if "json" in form:
            assert (REDACTED.encode() in outcome.stdout) is not show
    ran.check(False)


def test_kafkas_own_voice_prints_clear(root: Path) -> None:
    folder = root / "sound" / "__cluster_metadata-0"
    dumped = run_main(dump_log.kafka_main, ["--cluster-metadata-decoder", "--files", LOG_NAME], cwd=folder)
    shown = run_main(file_tools.shell_main, ["--snapshot", LOG_NAME, "tree", "/"], cwd=folder)
    assert set(KNOWN) <= found_in(dumped.stdout)
    assert set(KNOWN) <= found_in(shown.stdout)


# ---- groups ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def groups_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    write_group_log(folder)
    return folder


def group_runs() -> Iterator[list[str]]:
    """Every command that reads logs, with every option by itself, and in every form."""
    of_cluster = {option.dest for option in CLUSTER_OPTIONS}
    for command in LOG_COMMANDS:
        own = command._replace(options=tuple(option for option in command.options if option.dest not in of_cluster))
        for words in ([], *single_options(own), *variants(command.option("output"))):
            for group in CONNECT_GROUPS if command.arguments[0].name == "group" else [""]:
                yield [command.name, *([group] if group else []), *words, "."]


def test_groups_in_every_command_and_form(groups_root: Path) -> None:
    """No option brings users and passwords of urls out: they are in the log."""
    ran = Ran()
    for words in group_runs():
        ran.note(words, run(GROUPS, words, groups_root, False))
    ran.check(False)
    assert ran.count > 100
    assert found_in_files(groups_root) >= {"password", "jaas"}
    shown = run(GROUPS, ["describe", CONNECT_GROUPS[0], "-o", "json", "."], groups_root, False).stdout
    assert b'"http://worker:8083/"' in shown and b'"http://leader:8083/"' in shown


def test_what_assign_reads_is_not_read_as_logs_are(groups_root: Path) -> None:
    """Its input is its user's own file: of one that is none it shows no line."""
    log = next(groups_root.glob("*/*.log"))
    ran = Ran()
    for form in variants(ASSIGN.option("output")):
        outcome = run(GROUPS, ["assign", "-a", "range", *form, str(log)], groups_root, False)
        assert outcome.status, form
        ran.note(form, outcome)
    assert ran.found == {}
