"""metashell health and metashell verify: checks of a cluster's state, and of the files that Kafka left on disk.

Health joins the facts of all sources and runs the checks on them. Verify also prints the digest of an image."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from metashell.cli.connection import ADDRESS_MAP, BOOTSTRAP_SERVER, COMMAND_CONFIG, CONTROLLERS, TIMEOUT
from metashell.cli.images import Loaded, load_image, make_context, past_of_path
from metashell.cli.tool import declared_tool
from metashell.codec.releases import NEWEST_RELEASE, RELEASES
from metashell.common import options
from metashell.common.command import STATUS_OK
from metashell.common.errors import PathError, UsageError
from metashell.common.forms import standard_output, write_rows
from metashell.common.options import CommandSpec, Option, choice, flag, source_argument
from metashell.common.terminal import show_progress
from metashell.common.uris import shown_uri
from metashell.inspect.verify import VerifyOptions

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.metadata.checks import Facts
    from metashell.metadata.image import MetadataImage
    from metashell.shell.context import Context


JUDGED = ("3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
"""Releases that --start-safe accepts; a test compares them with the table of releases."""

VERIFY = CommandSpec(
    name="metashell-verify",
    summary="check what Kafka left on disk: checksums, offsets, epochs, indexes, checkpoints",
    description="""
        Prints one line for each finding: file, byte, offset, severity, and what is wrong; and at the end what was checked.
        A directory is that of a partition (of metadata, groups, transactions or a user's topic), a log directory of a server, or
        a folder of log directories. The server may be running: nothing is written or locked. A torn or zero-filled tail of a log's last
        segment is normal and shown only with -v; in a file that is named it is a finding.

        --digest prints a hash of the metadata image: of the records that describe it, sorted by key, in their newest versions. It
        does not depend on the source or the history, so replicas, and a checkpoint and the log it was made from, have the
        same digest at the same offset. For an OFFSET the log of a directory is replayed, even if a checkpoint ends at that offset. Paths
        whose digests differ at the same offset are a finding. Without an OFFSET several paths are compared at the highest committed
        offset that all have, which is printed. kraft.version and the voters are part of the digest;
        the leader and the owner of the last block of producer ids are not: no checkpoint holds them.

        Directories of one cluster in one call are compared with each other: batches of the same epoch and offset, and everything
        before the end of a checkpoint of both, must be the same in each replica, and so must the images of checkpoints of one name. Where
        paths have no offset in common, digests that differ are a finding, because they could not be compared.

        The files of a node are also compared with each other, as `health` and `storage info` do: meta.properties of all its log directories
        and the voter set, directories of partitions and the topic ids of the log, quorum-state, checkpoints, and with -c the server's
        configuration. Such a finding has the id of its check and the next step; what is only unusual is printed and is no finding.
        A broker's other log directories beside the one that is named are read too.

        --start-safe predicts what Apache Kafka would do to the metadata log when it starts: a server of --release, which has to support
        every feature level and every type of record in the log. All other releases that would start are named too. Kafka cuts a log at
        the first bad batch and deletes all segments behind it, and accepts gaps, torn checkpoints, and changed offsets and epochs silently.
        The answer names each file that would be changed, with byte, offset, bytes and records; what of that exists nowhere else in the
        directory; and what is lost already. There is one answer for each node: where Kafka refuses one of its directories it starts on
        none. Directories of partitions that would become stray are lost; their logs are not read. Nothing is changed. A server that is
        one of several voters replays only what is committed, so it may start although replay of the whole log would end it.
        """,
    options=(
        flag("--deep", help="decode every record of metadata, groups, transactions and share groups"),
        Option(
            names=("--digest",),
            metavar="OFFSET",
            type="optional-int",
            choices=("end",),
            help="print a hash of each path's image of everything before OFFSET, as checkpoints are named; by default see above",
        ),
        flag("--start-safe", help="instead, predict whether Kafka would start, what it would cut or delete, and what would be lost"),
        choice("--release", metavar="RELEASE", choices=JUDGED, help="the release to predict for, from 3.9; by default the newest known"),
        options.CONFIG._replace(help="the server's configuration: its log directories are read too, and compared with it and the log"),
        options.DEMO,
        options.output("text", "json", "jsonl"),
        options.MAX_DECOMPRESSED,
        flag("--verbose", "-v", help="also report what is not a finding: torn tails, files that vanished meanwhile"),
        options.VERSION,
    ),
    arguments=(
        source_argument(
            "paths",
            "PATH",
            "+",
            "a directory, a .log, a .checkpoint, an index, a producer snapshot, one of the small files of a log directory, @NAME, or -",
        ),
    ),
    examples=(
        ("metashell verify /var/lib/kafka", "everything in a log directory"),
        ("metashell verify --deep -o json __cluster_metadata-0 | jq .summary", "the metadata log, every record decoded"),
        ("metashell verify --start-safe -c server.properties /var/lib/kafka", "what a restart would do"),
        ("metashell verify --start-safe --release 4.3 /var/lib/kafka", "whether one may go back to 4.3"),
        (
            "metashell verify --digest 329 node-1 node-2 00000000000000000329-0000000001.checkpoint",
            "whether these agree on the image at offset 329",
        ),
    ),
    epilog=(
        (
            "EXIT STATUS",
            "0  nothing was found; with --start-safe: Kafka would start and lose nothing\n"
            "1  there are findings, errors or warnings; with --digest: errors, or digests\n"
            "   that differ; Kafka would not start, or would lose something, or this cannot\n"
            "   be determined\n"
            "2  the command line is wrong",
        ),
    ),
    files=options.LOG_FILES,
)


HEALTH = CommandSpec(
    name="metashell-health",
    summary="say what is wrong with a cluster, why, and what to do next",
    description="""
        Gathers all facts from the sources, joins them, and runs every check on them: the metadata, the log files, quorum-state and
        meta.properties of each directory, the directories of partitions, server.properties, a live quorum and its brokers. Any number of
        sources of one cluster may be named. Causes come first, each with what follows from it; then the findings without a known cause.

        A check that lacks its facts is not run, and the last line says which and why. Silence is no answer: only a check that ran can
        find nothing. `metashell health --list` prints all checks; docs/checks.md explains them.

        --allow lets up to N of a kind (or any number) leave status 0. --kind shows only some kinds.
        """,
    options=(
        Option(
            names=("--config", "-c"),
            metavar="FILE",
            kind="file",
            multiple=True,
            help="a node's server.properties: it is compared with the log, and its log directories are read too",
        ),
        CONTROLLERS._replace(exclusive="", help="ask the quorum of these controllers too"),
        BOOTSTRAP_SERVER._replace(exclusive="", help="ask these brokers too, and the controllers behind them"),
        COMMAND_CONFIG._replace(names=("--command-config",)),
        ADDRESS_MAP,
        TIMEOUT,
        options.DEMO,
        Option(names=("--kind",), metavar="KIND", multiple=True, kind="health", help="show only this kind of finding; may be repeated"),
        Option(names=("--allow",), metavar="KIND[=N]", multiple=True, kind="health", help="up to N of a kind leave status 0"),
        Option(names=("--limit", "-n"), metavar="N", type="int", help="name the first N of each kind, by default 5"),
        Option(names=("--min-isr",), metavar="N", type="int", help="min.insync.replicas in server.properties, by default 1"),
        Option(names=("--stuck-after",), metavar="TIME", type="duration", help="reassignments that last longer, such as 6h, are bad"),
        Option(names=("--lag-after",), metavar="TIME", type="duration", help="how long a broker or voter may lag, by default 10s"),
        Option(
            names=("--release",),
            metavar="RELEASE",
            type="choice",
            choices=JUDGED,
            help="the release that is to run on these directories, by default the newest known",
        ),
        flag("--list", help="print every check with its severity, and end"),
        options.output("text", "json", "jsonl", "table", "csv"),
        options.MAX_DECOMPRESSED,
        options.NO_COLOR,
        options.SETTINGS,
        options.VERSION,
    ),
    arguments=(
        source_argument(
            "sources", "SOURCE", "*", "a log directory, a metadata directory, a checkpoint or segment, a folder of nodes, or @NAME"
        ),
    ),
    examples=(
        ("metashell health /var/lib/kafka -c server.properties", "one node: its disks against its configuration"),
        ("metashell health node-1 node-2 node-3", "the copied directories of several nodes, joined"),
        ("metashell health -C controller-1:9093,controller-2:9093", "a live quorum: each voter is asked for itself"),
        ("metashell health -b broker-1:9092 -o json | jq '.[] | select(.severity == \"bad\")'", "for a program"),
        ("metashell health /var/lib/kafka --allow not_preferred --allow under_replicated=5", "as a probe of a monitor"),
    ),
    epilog=(
        (
            "EXIT STATUS",
            "0  nothing bad was found by the checks that ran\n"
            "1  something bad was found, or a part of the cluster could not be seen\n"
            "2  the command line is wrong",
        ),
    ),
    files=(*options.METADATA_FILES, *options.SETTINGS_FILES),
    environment=(*options.SETTINGS_ENVIRONMENT, *options.TERMINAL_ENVIRONMENT),
)


HEALTH_NAME = "metashell health"


def _health(values: SimpleNamespace) -> int:
    from metashell.shell.commands.health import run_health

    if values.list:
        return _list(values)
    if not (values.sources or values.config or values.bootstrap_controller or values.bootstrap_server):
        raise UsageError("name a directory, a server.properties (-c), controllers (-C) or brokers (-b), or try --demo")
    with show_progress("gathering facts"):
        facts = gather_facts(values)
    context = _context(values, facts)
    run_health(context, values)
    context.out.flush()
    return context.status


def gather_facts(values: SimpleNamespace) -> Facts:
    """Return the facts of every source on the command line. Errors: PathError for a missing path."""

    from metashell.metadata.facts import gather_facts

    for path in values.sources:
        if not os.path.exists(path):
            raise PathError(f"{path}: No such file or directory", path)
    directories = [path for path in values.sources if os.path.isdir(path)]
    release = next((one for one in RELEASES if one.name == values.release), NEWEST_RELEASE)
    facts = gather_facts(directories, values.config or (), release=release, max_decompressed=values.max_decompressed)
    for path in values.sources:
        if not os.path.isdir(path):
            facts = _with_image(facts, _image_of_file(path, values.max_decompressed))
    facts = replace(facts, label=", ".join(values.sources))
    if values.bootstrap_controller or values.bootstrap_server:
        facts = _with_live(facts, values)
    return facts


def _with_live(facts: Facts, values: SimpleNamespace) -> Facts:
    """Return the facts from disks joined with those of a live cluster. The live image is the newest."""

    from metashell.cli.cluster.live_facts import LAG_MS, gather_live

    live = gather_live(values, LAG_MS if values.lag_after is None else values.lag_after)
    # Brokers only report a part of what the log holds, so their answer does not replace an image from it.
    is_newest = live.health is not None and (live.told is None or facts.health is None)
    return replace(
        facts,
        health=live.health if is_newest else facts.health,
        told=live.told if is_newest else None,
        events=live.events or facts.events,
        quorum=live.quorum,
        brokers=live.brokers,
        holes=(*facts.holes, *live.holes),
        not_followed=live.not_followed,
        now_ms=max(facts.now_ms, live.now_ms),
        cluster_id=live.cluster_id,
        label=", ".join(filter(None, (facts.label, live.label))),
    )


def _image_of_file(path: str, max_decompressed: int) -> MetadataImage:
    return load_image(path, certain_only=False, max_decompressed=max_decompressed).image


def _with_image(facts: Facts, image: MetadataImage) -> Facts:
    """Return the facts with the image of a file if it is newer than their own."""

    from metashell.metadata.checks import Health

    at = image.provenance
    if facts.health is not None:
        known = facts.image.provenance
        if (known.epoch, known.end_offset) >= (at.epoch, at.end_offset):
            return facts
    return replace(facts, health=Health(image), now_ms=at.timestamp_ms)


def _context(values: SimpleNamespace, facts: Facts) -> Context:
    from metashell.metadata.image import EMPTY_IMAGE

    image = EMPTY_IMAGE if facts.health is None else facts.image
    source = image.provenance.source
    context = make_context(
        Loaded(path=facts.label, kind=image.provenance.source_kind, image=image),
        voice="own",
        output=values.output,
        no_color=values.no_color,
        label=facts.label,
    )
    context.command = "health"
    context.gathered = lambda: facts
    if facts.health is not None:
        context.use_health(facts.health)
    if facts.health is not None and os.path.exists(source):
        context.past = past_of_path(source, values.max_decompressed)
    return context


def _list(values: SimpleNamespace) -> int:
    """Print every check."""
    from metashell.metadata.checks import all_checks

    rows: list[dict[str, object]] = [
        {
            "severity": one.severity,
            "kind": one.id,
            "description": one.words,
            "needs": list(one.needs),
            "follows": list(one.follows),
            "endangers": one.endangers or None,
            "next": one.step or None,
            "source": one.source or None,
        }
        for one in all_checks()
    ]
    form = values.output if values.output != "text" else "table"
    names = tuple(rows[0])[:3] if form in ("table", "csv") else tuple(rows[0])
    write_rows(standard_output(no_color=values.no_color), form, names, [[row[name] for name in names] for row in rows])
    return STATUS_OK


health_main = declared_tool(HEALTH_NAME, HEALTH, _health)


VERIFY_NAME = "metashell verify"


def _verify(values: SimpleNamespace) -> int:
    """Check what the command line names."""
    from metashell.inspect.verify.run import run_verify

    if values.start_safe and (values.deep or values.digest is not None):
        raise UsageError("--start-safe does not go with --deep or --digest", "--start-safe")
    if values.release is not None and not values.start_safe:
        raise UsageError("--release needs --start-safe", "--release")

    options = VerifyOptions(
        paths=tuple(map(shown_uri, values.paths)),
        deep=values.deep,
        digest=values.digest is not None,
        digest_offset=values.digest if isinstance(values.digest, int) else None,
        start_safe=values.start_safe,
        release=values.release,
        config=values.config,
        output=values.output,
        verbose=values.verbose,
        max_decompressed=values.max_decompressed,
    )
    with show_progress("verifying"):
        return run_verify(options, standard_output())


verify_main = declared_tool(VERIFY_NAME, VERIFY, _verify)
