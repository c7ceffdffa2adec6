"""metashell bundle: packs a metadata log without its secrets into one archive, to pass on."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import time
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final

from metashell.cli.images import check_path
from metashell.cli.inspect.checks import verify_main as verify
from metashell.cli.inspect.kafka_shell import main as kafka_shell
from metashell.cli.tool import declared_tool
from metashell.codec.codes import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.redaction import broker_config_keys
from metashell.codec.releases import metadata_version_name
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, complain
from metashell.common.errors import PathError, UsageError
from metashell.common.forms import compact_json, counted, spaced_json, standard_output
from metashell.common.options import Argument, CommandSpec, file_option, flag
from metashell.common.terminal import show_progress, update_progress
from metashell.common.values import uuid_text
from metashell.inspect.bundle_names import KEPT, Aliases, Names, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import SimpleNamespace

    from metashell.inspect.bundle import Copy, Plan
    from metashell.inspect.bundle_names import Names, Settings


BUNDLE = CommandSpec(
    name="metashell-bundle",
    summary="pack a metadata log for a colleague or a ticket, without its secrets",
    description="""
        Writes an archive with the checkpoints and segments of a metadata directory, what `status`, `health` and `verify` say of them, and a
        README that says what it holds. Unpacked it opens like the directory of a node: with kafka-shell, dump-log, metashell sql,
        verify, Kafka's own tools. Offsets, epochs and times are those of the source, so that `--at` and `log` work in the copy.

        Every record is decoded and written again. Secrets are taken out as everywhere: SCRAM salts and keys, values of passwords, values
        of unknown settings of brokers. What does not decode, or is of an unknown type or version, could hold anything:
        a NoOpRecord stands in its place, the README lists it, and the status is 1.

        --anonymise also replaces names: topics, groups, users, client ids, hosts, racks, own listeners, tokens, unknown settings, the
        cluster id. One name has one alias in all records, also in access control and quotas; prefixed patterns match what they
        matched. Values of settings stay where they are numbers or words of Kafka's. Ids of nodes, topics and directories stay:
        who has the cluster can tell by them which one it is. Aliases are drawn by chance, anew for each bundle; --mapping keeps
        them for you.
        """,
    options=(
        file_option("--out", required=True, help="the archive (.tar.gz), which must not be there yet; - is standard output"),
        flag("--anonymise", help="replace names too"),
        file_option(
            "--mapping",
            help="with --anonymise: write each name and its alias here, a JSON object a line, for your eyes alone; it is not in the bundle",
        )._replace(type="page"),
        options.DEMO,
        options.output("text", "json"),
        options.MAX_DECOMPRESSED,
        options.VERSION,
    ),
    arguments=(
        Argument(
            name="path",
            metavar="PATH",
            type="path",
            kind="source",
            help="a log directory, a metadata directory, one segment or checkpoint, or @NAME of the settings",
        ),
    ),
    examples=(
        ("metashell bundle /var/lib/kafka --out case.tar.gz", "all of it, without secrets"),
        ("metashell bundle /var/lib/kafka --anonymise --mapping names.jsonl --out case.tar.gz", "and without names"),
        ("metashell bundle DIR --out - | ssh host tar xz", "to another machine"),
    ),
    epilog=(options.EXIT_STATUS,),
    files=options.LOG_FILES,
)


NAME = "metashell bundle"
_STDOUT: Final = "-"
_USUAL_NAME: Final = "metashell-bundle"
_TOP_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", re.ASCII)
_SUFFIXES: Final = (".tar.gz", ".tgz", ".gz")


def _bundle(values: SimpleNamespace) -> int:
    """Write the archive and print one line about its contents."""
    from tempfile import TemporaryDirectory

    from metashell.disk.file_system import refuse_beside_logs, temporary_files
    from metashell.inspect.bundle import new_file, pack_directory, plan_copy

    if values.mapping is not None and not values.anonymise:
        raise UsageError("--mapping goes with --anonymise: without it every name is as it was", "--mapping")
    if values.out == _STDOUT and sys.stdout.isatty():
        raise UsageError("--out -: an archive is not for a terminal; name a file, or send it through a pipe", "--out")
    for path in (values.out, values.mapping):
        if path not in (None, _STDOUT):
            refuse_beside_logs(path, (values.path,))
            _refuse_existing(path)
    name = _top_name(values.out)
    with _cleaned_up(), TemporaryDirectory(prefix="metashell-bundle-") as work, show_progress("reading"):
        folder = os.path.join(work, name)
        with temporary_files():
            os.mkdir(folder, 0o700)
            check_path(values.path)
            plan = plan_copy(values.path)
            names = _names(plan, values.max_decompressed) if values.anonymise else None
            cluster_id = None if names is None else _random_cluster_id()
            date = _now("%a %b %d %H:%M:%S UTC %Y")
            copy = plan.write(folder, names, cluster_id=cluster_id, date=date, max_decompressed=values.max_decompressed)
            _add_answers(work, name, plan, values)
            _add_readme(folder, name, copy, is_anonymised=names is not None)
        update_progress("packing")
        if values.out == _STDOUT:
            pack_directory(folder, name, sys.stdout.buffer)
        with ExitStack() as files:
            # The mapping is written last, so that it never exists without the archive.
            if values.mapping is not None and names is not None:
                files.enter_context(new_file(values.mapping)).write(_mapping(names, copy, cluster_id))
            if values.out != _STDOUT:
                pack_directory(folder, name, files.enter_context(new_file(values.out)))
    _report_bundle(values, name, copy)
    return STATUS_FAILED if copy.left else STATUS_OK


@contextmanager
def _cleaned_up() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit inside the block, so that temporary files are removed."""

    def stop(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    # An ignored signal, as under nohup, stays ignored.
    before = {
        number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _refuse_existing(path: str) -> None:
    if os.path.lexists(path):
        raise PathError(f"{path}: is there already; nothing was written", path)


def _top_name(out: str) -> str:
    """Return the name of the folder inside the archive: the archive's own, if that is a plain name."""
    name = os.path.basename(out)
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            name = name.removesuffix(suffix)
            break
    return name if out != _STDOUT and _TOP_NAME.fullmatch(name) else _USUAL_NAME


def _now(form: str) -> str:
    return time.strftime(form, time.gmtime())


# ---- names ---------------------------------------------------------------------------------------------------------------


def _names(plan: Plan, max_decompressed: int) -> Names:
    aliases = Aliases(SystemRandom().randrange, patterns=plan.prefixed_patterns(max_decompressed), kept=KEPT)
    return Names(aliases, _settings())


def _settings() -> Settings:
    """Return the settings that Kafka knows, and the words of its own lists."""
    from metashell.quorum.controller.settings import config_keys

    kinds = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker", CLIENT_METRICS_RESOURCE: "client_metrics", GROUP_RESOURCE: "group"}
    keys = {resource: frozenset(config_keys(kind)) for resource, kind in kinds.items()}
    keys[BROKER_RESOURCE] |= frozenset(broker_config_keys())
    words = {"true", "false", "none"}
    for kind in kinds.values():
        for key in config_keys(kind).values():
            _, _, listed = key.check.partition("validStrings=")
            words.update(filter(None, listed.partition(" ")[0].split(",")))
    words.update(metadata_version_name(level) for level in range(1, 64))
    return Settings(keys, frozenset(words))


def _random_cluster_id() -> str:
    return uuid_text(os.urandom(16))


def _mapping(names: Names, copy: Copy, cluster_id: str | None) -> bytes:
    rows: list[dict[str, Any]] = [{"kind": kind, "name": name, "alias": alias} for kind, name, alias in names.aliases.dealt()]
    if copy.cluster_id is not None:
        rows.insert(0, {"kind": "cluster", "name": copy.source_cluster_id, "alias": cluster_id})
    return "".join(f"{compact_json(row)}\n" for row in rows).encode("utf-8", "surrogateescape")


# ---- what the copy says of itself ----------------------------------------------------------------------------------------


def _add_answers(work: str, name: str, plan: Plan, values: SimpleNamespace) -> None:
    """Add the output of our own tools about the copy. About the source, add only the places of what verify finds there."""
    limit = ("--max-decompressed", str(values.max_decompressed))
    runs: tuple[tuple[str, Callable[[Sequence[str]], int], tuple[str, ...]], ...] = (
        ("status.txt", kafka_shell, (*limit, "-s", name, "status")),
        ("status.json", kafka_shell, (*limit, "-s", name, "status", "-o", "json")),
        ("health.txt", kafka_shell, (*limit, "-s", name, "health")),
        ("health.json", kafka_shell, (*limit, "-s", name, "health", "-o", "json")),
        ("verify.txt", verify, (*limit, "--deep", name)),
    )
    answers = {}
    for file, main, words in runs:
        update_progress(f"asking for {file}")
        answers[file] = _output_of(main, words, work)
    update_progress("verifying the source")
    source = plan.metadata or values.path
    found = _output_of(verify, (*limit, "-o", "jsonl", os.path.abspath(source)), work)
    answers["verify-source.txt"] = _places(found)
    for file, text in answers.items():
        with open(os.path.join(work, name, file), "x", encoding="utf-8", errors="surrogateescape", newline="\n") as opened:
            opened.write(text)


def _output_of(main: Callable[[Sequence[str]], int], words: Sequence[str], folder: str) -> str:
    """Return what one of our tools prints with `folder` as its working directory; add the status if it is not 0."""
    out = io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(out):
        status = main(list(words))
    return out.getvalue() if not status or words[-1] in ("json", "jsonl") else f"{out.getvalue()}(status {status})\n"


_FINDING: Final = re.compile(
    r"[0-9]{20}(-[0-9]{10})?\.[a-z]{1,16}|quorum-state|partition\.metadata|leader-epoch-checkpoint|meta\.properties", re.ASCII
)


def _places(found: str) -> str:
    """Return the places of verify's findings in the source: file, position, offset and severity. Their texts may hold paths and names."""
    lines = []
    for text in found.splitlines():
        try:
            item = json.loads(text)
        except ValueError:
            continue
        if isinstance(item, dict) and item.get("severity") in ("error", "warning"):
            base = os.path.basename(str(item.get("file", "")))
            words = [base if _FINDING.fullmatch(base) else "another file", str(item["severity"])]
            words += [f"{key} {item[key]}" for key in ("position", "offset") if isinstance(item.get(key), int) and item[key] >= 0]
            lines.append(": ".join(words))
    return "".join(f"{line}\n" for line in lines) or "nothing was found\n"


def _add_readme(folder: str, name: str, copy: Copy, *, is_anonymised: bool) -> None:
    from metashell import __version__
    from metashell.inspect.bundle import readme

    text = readme(name, copy, made=f"metashell {__version__}, {_now('%Y-%m-%dT%H:%M:%SZ')}", is_anonymised=is_anonymised)
    with open(os.path.join(folder, "README.md"), "x", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _report_bundle(values: SimpleNamespace, name: str, copy: Copy) -> None:
    from metashell.inspect.bundle import removed, removed_words

    if values.output == "json" and values.out != _STDOUT:
        answer = {
            "path": values.out,
            "bytes": os.path.getsize(values.out),
            "folder": name,
            "files": copy.files,
            "records": copy.counts["records"],
            "end_offset": copy.end_offset,
            "removed": removed(copy),
            "left_out": [left._asdict() for left in copy.left],
        }
        display = standard_output()
        display.out.write(display.colored_json(spaced_json(answer)) + "\n")
    else:
        line = f"{counted(copy.counts['records'], 'record')} in {counted(len(copy.files), 'file')}"
        line = "; ".join((line, *removed_words(copy)))
        if values.out == _STDOUT:
            complain(NAME, line)
        else:
            standard_output().line(f"{values.out}: {line}")
    if copy.left:
        more = f" and {len(copy.left) - 1} more" if len(copy.left) > 1 else ""
        complain(NAME, f"left out: {copy.left[0]}{more}; README.md lists all")


main = declared_tool(NAME, BUNDLE, _bundle)
