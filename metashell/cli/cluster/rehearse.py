"""The command `metashell rehearse`, which tries steps on a copy of a cluster's metadata, or reports which single failures it survives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.cli.cluster.rehearse_recovery import RECOVERY, run_recovery
from metashell.cli.cluster.rehearse_subject import (
    SECTIONS,
    check_parts,
    is_live,
    live_statics,
    print_outcome,
    print_standing,
    read_subject,
    run_rehearsal,
)
from metashell.cli.connection import ADDRESS_MAP, BOOTSTRAP_SERVER, COMMAND_CONFIG, CONTROLLERS, ENVIRONMENT, TIMEOUT
from metashell.cli.shell_options import KAFKA_SHELL
from metashell.cli.sources import choose_named, is_path, split_options
from metashell.cli.tool import chosen_settings, named_values, parsed, write_page
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, Tool, complain
from metashell.common.errors import PathError, UsageError
from metashell.common.forms import standard_output
from metashell.common.options import Argument, CommandSpec, Option, did_you_mean, file_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import SimpleNamespace

    from metashell.cli.cluster.rehearse_subject import Subject
    from metashell.common.forms import Display
    from metashell.metadata.image import MetadataImage
    from metashell.rehearse.assumptions import Statics
    from metashell.rehearse.plan_file import RehearsalPlan
    from metashell.rehearse.step_grammar import ParsedStep
    from metashell.rehearse.steps import Assumptions, Move, Step


STEPS = (
    *(
        "kill-broker",
        "restart-broker",
        "roll-brokers",
        "lose-rack",
        "lose-directory",
        "unregister",
        "unregister-controller",
        "remove-controller",
        "reassign",
        "add-broker",
        "elect",
        "feature",
    ),
    *("lose-controller", "topic", "config"),
)
"""The first words of steps."""
_RECOVERY = RECOVERY.name.rpartition("-")[2]

_STEPS = """\
kill-broker ID
    the broker dies at once, as by kill -9, and stays away
restart-broker ID [--down TIME] [--empty all|DIRECTORY,...]
    it shuts down in order, is off for TIME, and comes back; a dead one starts;
    --empty: with new disks in place of all log directories, or these
roll-brokers [ID,...] [--max-offline N] [--down TIME]
    restart all brokers, or these, N at a time
lose-rack RACK
    all brokers of a rack die at once
lose-directory ID [DIRECTORY]
    a log directory of a broker fails; a broker without another one dies
unregister ID
    remove the registration of a broker, dead or alive
unregister-controller ID
    remove that of a controller; one that runs registers again at once
remove-controller ID
    take a voter out of the voter set, alive or dead
reassign FILE [--throttle SIZE]
    move partitions as Kafka's JSON says; each broker SIZE bytes a second
add-broker ID [--rack RACK]
    a new broker joins
elect preferred|unclean [TOPIC[:PARTITION,...]...]
    elect leaders, everywhere or in these partitions
feature upgrade NAME LEVEL
    finalise a higher level; metadata.version takes names such as 4.4-IV2
feature downgrade NAME LEVEL [--unsafe]
    finalise a lower level
lose-controller [ID] [--back TIME]
    a controller dies, the active one without ID; it is back after TIME
topic create NAME [--partitions N] [--replication-factor N]
    [--config KEY=VALUE]
topic delete NAME
config set TYPE:NAME KEY=VALUE...
    TYPE is topic, broker, group or client-metrics; broker:default is for all
config unset TYPE:NAME KEY..."""

_PLAN = """\
title = "Patch day"
[assume]
copy-rate = "100M"          # as --assume copy-rate=100M
[[step]]
do = "kill-broker 3"        # the words of a step, as above
[[step]]
at = "2m"                   # or after = "30s", since the step before began;
do = "restart-broker 3"     # with neither: once nothing changes any more"""

_ASSUME = """\
session-timeout     9 s      a broker that is silent for so long is fenced
heartbeat-interval  2 s      brokers send heartbeats this often
commit              5 ms     the quorum needs this long to commit a record
boot                10 s     a broker needs this long to start and register
recovery            20 s     and this much longer after a crash
down                30 s     a broker that restarts is off for so long
catch-up-percent    10%      a replica that was away takes this part of it
catch-up-min        1 s      and at least this long
copy-rate           50 MB/s  of all replicas that a broker copies
partition-size      1 GB     of a partition for which no size is given
replica-lag         30 s     a follower so far behind leaves the ISR
quorum-failover     3 s      the quorum needs this long to elect a leader
shutdown-timeout    5 min    a controlled shutdown is given up then
patience            1 d      the rehearsal ends here, whatever still changes
lagging-catch-up    no       replicas that are out of sync at first catch up
seed                0        draws heartbeats and the places of new replicas
voters                       1,2,3: the controllers, if the image names none
A name with dots is a setting of server.properties, which no image holds:
min.insync.replicas, auto.leader.rebalance.enable. -c reads those that count,
and a live node is asked for them; the answer says which were read. Times are
90s, 2m, 1h30m or 250ms, sizes 5000000, 64k or 100M."""

REHEARSE = CommandSpec(
    name="metashell-rehearse",
    summary="what would happen to a cluster: steps tried on a copy of its metadata",
    description="""
        Puts the real quorum controller on a copy of a cluster's metadata, in memory, with modelled brokers and a clock that nobody waits
        for, and runs steps on it. Nothing is changed anywhere, neither the files nor the cluster.

        The first line of the answer is the verdict. Then come what happens when, which partitions are in trouble and for how long,
        leaders and replicas of each broker before and after, what the controller writes, and what was assumed. The steps are words of
        the command line, with `then` between two of them, or a plan in TOML. A step begins as soon as nothing changes any more after the
        one before, or `at` a time: `kill-broker 3 then after 2s kill-broker 4`.

        Without a step it answers the standing questions: which single broker, rack or controller can this cluster not lose?

        `recovery SOURCE` is a drill of another kind: it loses controllers on a copy of the metadata, and somebody recovers them
        (`metashell rehearse recovery --help`).
        """,
    options=(
        KAFKA_SHELL.option("snapshot"),
        CONTROLLERS,
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG._replace(names=("--command-config",)),
        ADDRESS_MAP,
        TIMEOUT,
        KAFKA_SHELL.option("demo"),
        Option(
            names=("--server-config", "-c"),
            metavar="FILE",
            kind="file",
            multiple=True,
            help="a server.properties, of a controller and of a broker: its timeouts and defaults in place of assumed ones",
        ),
        file_option("--sizes", help="sizes of partitions: what `kafka-log-dirs --describe` prints"),
        Option(names=("--assume",), metavar="NAME=VALUE", multiple=True, help="assume something else; ASSUMPTIONS lists the names"),
        Option(
            names=("--seeds",),
            metavar="N",
            type="int",
            help="rehearse N times with other chance, and show the worst of them and what differs: from the least to the most",
        ),
        file_option("--html", help="write the answer as one HTML page with a timeline, too")._replace(type="page"),
        Option(
            names=("--show",),
            metavar="PART,...",
            help=f"print only these parts, whole: {', '.join(SECTIONS)}",
        ),
        options.output("text", "json", "jsonl", "table", "csv", default="text"),
        options.CERTAIN_ONLY,
        options.MAX_DECOMPRESSED,
        options.VERBOSE,
        options.NO_COLOR,
        options.VERSION,
    ),
    arguments=(
        Argument(
            choices=(*STEPS, _RECOVERY),
            name="words",
            metavar="STEP|PLAN",
            nargs="*",
            help="the name of a plan, or a step and its words; before them may stand the path to rehearse on, or @NAME of the settings",
        ),
    ),
    examples=(
        ("metashell rehearse /var/lib/kafka", "what can this cluster not lose?"),
        ("metashell rehearse DIR kill-broker 3", "what if broker 3 dies?"),
        ("metashell rehearse -C controller-1:9093 roll-brokers --max-offline 2", "a rolling restart, tried on what a live quorum has now"),
        ("metashell rehearse DIR kill-broker 3 then unregister 3 then topic create orders-2 --partitions 12", "several steps"),
        ("metashell rehearse DIR --sizes log-dirs.json reassign moves.json", "how long moving data takes, and what suffers"),
        ("metashell rehearse DIR roll-brokers --seeds 20", "how much of the answer is chance?"),
        ("metashell rehearse DIR plan.toml --html plan.html", "a plan, as a page to show around"),
        ("metashell rehearse DIR lose-rack a --show troubles -o csv", "each partition in trouble, as rows"),
        ("metashell rehearse recovery DIR --auto", "watch how lost controllers are recovered, on a copy"),
    ),
    epilog=(
        ("STEPS", _STEPS),
        ("PLANS", _PLAN),
        ("ASSUMPTIONS", _ASSUME),
        (
            "EXIT STATUS",
            "0  nothing went offline; without a step: any one of them can be lost\n"
            "1  something went offline, was refused, or costs records; without a step:\n"
            "   something cannot be lost; or the metadata could not be read\n"
            "2  the command line or the plan is wrong",
        ),
    ),
    files=options.METADATA_FILES,
    environment=(*ENVIRONMENT, *options.TERMINAL_ENVIRONMENT),
)


NAME = "metashell rehearse"


def run_rehearse(words: list[str]) -> int:
    """Run the rehearsal that the command line asks for, and return the status."""
    if words[:1] == [_RECOVERY]:
        return run_recovery(words[1:])
    own, rest = split_options(REHEARSE.options, words)
    if rest and is_path(rest[0]):
        own += ["--snapshot", rest.pop(0)]
    values = parsed(REHEARSE._replace(name=NAME), [*own, "--", *rest])
    if values is None:
        return STATUS_OK
    choose_named(values, chosen_settings)
    return _rehearse(values)


def _rehearse(values: SimpleNamespace) -> int:
    from metashell.metadata.image.image import lacks_some

    if values.seeds is not None and values.seeds < 1:
        raise UsageError(f"--seeds: {values.seeds} rehearsals show nothing", "--seeds")
    show = check_parts(values.show, values.output)
    plan, steps = _parse_plan(values.words)
    subject = read_subject(values)
    assumptions = _assumptions(plan, values.assume, _statics(values))
    display = standard_output(no_color=values.no_color)
    if steps:
        status = _run_steps(values, display, subject, plan, steps, assumptions, show)
    else:
        status = _answer_standing(values, display, subject, assumptions)
    return max(status, STATUS_FAILED if lacks_some(subject.image) else STATUS_OK)


# ---- the command line


def _parse_plan(words: Sequence[str]) -> tuple[RehearsalPlan | None, tuple[ParsedStep, ...]]:
    """Return the plan that the words name and its steps, or None and the steps that the words are. Errors: UsageError."""
    from metashell.rehearse.step_grammar import FIRST_WORDS
    from metashell.rehearse.steps import AFTER, AT

    if not words:
        return None, ()
    first = words[0]
    if first in (*FIRST_WORDS, AT, AFTER):
        return None, _steps_of(words)
    if not (first.endswith(".toml") or "/" in first or os.path.exists(first)):
        hint = did_you_mean(first, FIRST_WORDS) or f" (steps are {', '.join(FIRST_WORDS)})"
        raise UsageError(f"{first!r} is no step, and no plan has this name{hint}", first)
    if len(words) > 1:
        raise UsageError(f"unexpected argument {words[1]!r} after the plan", words[1])
    plan = _read_plan(first)
    return plan, plan.steps


def _steps_of(words: Sequence[str]) -> tuple[ParsedStep, ...]:
    """Parse words as steps. Errors: UsageError; PathError for a file that a step names."""
    from metashell.rehearse.step_grammar import WordError, parse_steps

    try:
        return parse_steps(words, _read_moves)
    except WordError as error:
        if error.is_path:
            raise PathError(str(error), words[error.index]) from None
        raise


def _read_plan(path: str) -> RehearsalPlan:
    from metashell.rehearse.plan_file import parse_plan

    folder = os.path.dirname(path)
    # Paths in a plan are relative to the plan's directory, so that it can be run from anywhere.
    return parse_plan(_text_of(path), path, lambda name: _read_moves(os.path.join(folder, name)))


def _text_of(path: str) -> str:
    """Return the text of a file that the command line names. Errors: PathError; UsageError if it is not UTF-8."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise PathError.of(path, error) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8", path) from None


def _read_moves(path: str) -> tuple[Move, ...]:
    from metashell.rehearse.placement.plan_file import read_plan
    from metashell.rehearse.steps import Move

    return tuple(Move(one.topic, one.partition, one.replicas) for one in read_plan(_text_of(path), path).assignments)


def _statics(values: SimpleNamespace) -> list[Statics]:
    """Return the static settings of the files of -c, or else of the live cluster. Errors: MetashellError if a file cannot be read."""
    from metashell.metadata.facts import read_configuration
    from metashell.rehearse.assumptions import NAMES, Statics, differences

    if values.server_config:
        read = [read_configuration(path) for path in values.server_config]
        found = [Statics(one.path, one.roles, {name: one.values[name] for name in NAMES if name in one.values}) for one in read]
    else:
        found = live_statics(values) if is_live(values) else []
    for text in differences(found):
        complain(NAME, text)
    return found


def _assumptions(plan: RehearsalPlan | None, given: Sequence[str], statics: Sequence[Statics]) -> Assumptions:
    """Return the defaults, overridden by servers' settings, the plan, and --assume. Errors: UsageError; PlanError for the plan."""
    from metashell.rehearse.assumptions import parse_assumption, parse_assumptions, with_statics
    from metashell.rehearse.steps import Assumptions

    assumptions = with_statics(Assumptions(), statics)
    for name, value in ({} if plan is None else plan.assume).items():
        try:
            assumptions = parse_assumption(assumptions, name, value)
        except UsageError as error:
            assert plan is not None
            raise plan.assumption_error(name, f"assume: {error}") from None
    named = named_values("--assume", given, may_be_secret=False)
    try:
        return parse_assumptions(assumptions, named)
    except UsageError as error:
        raise UsageError(f"option --assume: {error}", error.argument) from None


def _sizes(path: str, image: MetadataImage) -> Mapping[tuple[str, int], int]:
    """Return the sizes of partitions in a file, and note the topics that the image does not have. Errors: UsageError if it has none."""
    from metashell.rehearse.placement.plan_file import known_sizes, read_sizes

    sizes, remark = known_sizes(read_sizes(_text_of(path), path), image.topics.by_name, path)
    if remark:
        complain(NAME, remark)
    return sizes


# ---- the answers


def _run_steps(
    values: SimpleNamespace,
    display: Display,
    subject: Subject,
    plan: RehearsalPlan | None,
    parsed_steps: Sequence[ParsedStep],
    assumptions: Assumptions,
    show: Sequence[str],
) -> int:
    from metashell.rehearse.outcome import rehearse_seeds
    from metashell.rehearse.render_text import status_of
    from metashell.rehearse.step_grammar import with_all_partitions
    from metashell.rehearse.steps import StepError

    image, label = subject
    steps: list[Step] = [with_all_partitions(one.step, image) for one in parsed_steps]
    sizes = None if values.sizes is None else _sizes(values.sizes, image)
    try:
        outcome = rehearse_seeds(
            lambda assumed: run_rehearsal(image, steps, assumed, sizes, keeps_all="records" in show), assumptions, values.seeds or 1
        )
    except StepError as error:
        if plan is not None:
            raise plan.located(error) from None
        which = f"step {error.index + 1} ({parsed_steps[error.index].text})" if len(steps) > 1 else parsed_steps[0].text
        raise UsageError(f"{which}: {error}", error.argument) from None
    texts = [one.text for one in parsed_steps]
    if values.html is not None:
        from metashell.rehearse.render_rows import outcome_page

        page = outcome_page(outcome, texts, label, plan.title if plan else "", plan.notes if plan else ())
        write_page(values.html, page, source=values.snapshot)
    print_outcome(display, values.output, outcome, texts=texts, label=label, show=show)
    return status_of(outcome)


def _answer_standing(values: SimpleNamespace, display: Display, subject: Subject, assumptions: Assumptions) -> int:
    from metashell.rehearse.single_failures import find_single_failures, single_failures_status

    for name in ("show", "sizes", "seeds", "html"):
        if getattr(values, name) is not None:
            raise UsageError(f"--{name} goes with a step or a plan", f"--{name}")
    standing = find_single_failures(subject.image, assumptions)
    print_standing(display, values.output, standing, subject, assumptions)
    return single_failures_status(standing)


main = Tool(NAME, run_rehearse)
