"""metashell rehearse: steps tried on a copy of a cluster's metadata, or the standing questions."""

from __future__ import annotations

import os

from metashell.cli.common import STATUS_FAILED, STATUS_OK, Tool, chosen_settings, complain, parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import SimpleNamespace

    from metashell.cli.rehearsing import Subject
    from metashell.forms import Display
    from metashell.image import MetadataImage
    from metashell.rehearse import Assumptions
    from metashell.rehearse.statics import Statics
    from metashell.rehearse.steps import Move, Step
    from metashell.rehearse.words.plan_file import Plan
    from metashell.rehearse.words.step_words import ParsedStep

NAME = "metashell rehearse"


def run(words: list[str]) -> int:
    """Rehearse what the command line asks for."""
    from metashell.cli.lifting import split_options
    from metashell.cli.sources import choose_named, is_path
    from metashell.options.rehearse_tools import REHEARSE

    own, rest = split_options(REHEARSE.options, words)
    if rest and is_path(rest[0]):
        own += ["--snapshot", rest.pop(0)]
    values = parsed(REHEARSE._replace(name=NAME), [*own, "--", *rest])
    if values is None:
        return STATUS_OK
    choose_named(values, chosen_settings)
    return _rehearse(values)


def _rehearse(values: SimpleNamespace) -> int:
    from metashell.cli.rehearsing import check_parts, subject_of
    from metashell.errors import UsageError
    from metashell.forms import standard_output
    from metashell.image.newer import lacks_some

    if values.seeds is not None and values.seeds < 1:
        raise UsageError(f"--seeds: {values.seeds} rehearsals show nothing", "--seeds")
    show = check_parts(values.show, values.output)
    plan, steps = _asked(values.words)
    subject = subject_of(values)
    assumptions = _assumptions(plan, values.assume, _statics(values))
    display = standard_output(no_color=values.no_color)
    if steps:
        status = _run_steps(values, display, subject, plan, steps, assumptions, show)
    else:
        status = _answer_standing(values, display, subject, assumptions)
    return max(status, STATUS_FAILED if lacks_some(subject.image) else STATUS_OK)


# ---- the command line


def _asked(words: Sequence[str]) -> tuple[Plan | None, tuple[ParsedStep, ...]]:
    """The plan that the words name, or the steps that they are. Errors: UsageError."""
    from metashell.errors import UsageError
    from metashell.options.values import did_you_mean
    from metashell.rehearse.words.step_times import AFTER, AT
    from metashell.rehearse.words.step_words import FIRST_WORDS

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
    """The steps that words are. Errors: UsageError."""
    from metashell.errors import PathError
    from metashell.rehearse.words.step_words import WordError, parse_steps

    try:
        return parse_steps(words, _read_moves)
    except WordError as error:
        if error.is_path:
            raise PathError(str(error), words[error.index]) from None
        raise


def _read_plan(path: str) -> Plan:
    from metashell.rehearse.words.plan_file import parse_plan

    folder = os.path.dirname(path)
    # A plan names files from where it lies: it may be run from anywhere.
    return parse_plan(_text_of(path), path, lambda name: _read_moves(os.path.join(folder, name)))


def _text_of(path: str) -> str:
    """The text of a file that the command line names. Errors: PathError; UsageError for what is no text."""
    from metashell.errors import PathError, UsageError

    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise PathError.of(path, error) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8", path) from None


def _read_moves(path: str) -> tuple[Move, ...]:
    from metashell.placement.plan_file import read_plan
    from metashell.rehearse.steps import Move

    return tuple(Move(one.topic, one.partition, one.replicas) for one in read_plan(_text_of(path), path).assignments)


def _statics(values: SimpleNamespace) -> list[Statics]:
    """What the files of -c say, else what the live cluster tells of itself. Errors: MetashellError for a file that cannot be read."""
    from metashell.cli.rehearsing import is_live, live_statics
    from metashell.facts.configuration import read_configuration
    from metashell.rehearse.statics import NAMES, Statics, differences

    if values.server_config:
        read = [read_configuration(path) for path in values.server_config]
        found = [Statics(one.path, one.roles, {name: one.values[name] for name in NAMES if name in one.values}) for one in read]
    else:
        found = live_statics(values) if is_live(values) else []
    for text in differences(found):
        complain(NAME, text)
    return found


def _assumptions(plan: Plan | None, given: Sequence[str], statics: Sequence[Statics]) -> Assumptions:
    """What is assumed: the defaults, what servers say, the plan, and the command line. Errors: UsageError; PlanError for a plan's."""
    from metashell.cli.common import named_values
    from metashell.errors import UsageError
    from metashell.rehearse import Assumptions
    from metashell.rehearse.statics import with_statics
    from metashell.rehearse.words.assumption_words import assume, assume_all

    assumptions = with_statics(Assumptions(), statics)
    for name, value in ({} if plan is None else plan.assume).items():
        try:
            assumptions = assume(assumptions, name, value)
        except UsageError as error:
            assert plan is not None
            raise plan.assumption_error(name, f"assume: {error}") from None
    named = named_values("--assume", given, may_be_secret=False)
    try:
        return assume_all(assumptions, named)
    except UsageError as error:
        raise UsageError(f"option --assume: {error}", error.argument) from None


def _sizes(path: str, image: MetadataImage) -> Mapping[tuple[str, int], int]:
    """The sizes of partitions in a file. Topics that the image lacks are told; where it lacks all, the file is another cluster's."""
    from metashell.placement.sizes import known_sizes, read_sizes

    sizes, remark = known_sizes(read_sizes(_text_of(path), path), image.topics.by_name, path)
    if remark:
        complain(NAME, remark)
    return sizes


# ---- the answers


def _run_steps(
    values: SimpleNamespace,
    display: Display,
    subject: Subject,
    plan: Plan | None,
    parsed_steps: Sequence[ParsedStep],
    assumptions: Assumptions,
    show: Sequence[str],
) -> int:
    from metashell.cli.rehearsing import print_outcome, rehearsed
    from metashell.errors import UsageError
    from metashell.rehearse import StepError
    from metashell.rehearse.answers.answer_text import status_of
    from metashell.rehearse.ranges import rehearse_seeds
    from metashell.rehearse.words.step_words import with_all_partitions

    image, label = subject
    steps: list[Step] = [with_all_partitions(one.step, image) for one in parsed_steps]
    sizes = None if values.sizes is None else _sizes(values.sizes, image)
    try:
        outcome = rehearse_seeds(
            lambda assumed: rehearsed(image, steps, assumed, sizes, keeps_all="records" in show), assumptions, values.seeds or 1
        )
    except StepError as error:
        if plan is not None:
            raise plan.located(error) from None
        which = f"step {error.index + 1} ({parsed_steps[error.index].text})" if len(steps) > 1 else parsed_steps[0].text
        raise UsageError(f"{which}: {error}", error.argument) from None
    texts = [one.text for one in parsed_steps]
    if values.html is not None:
        from metashell.cli.common import write_page
        from metashell.rehearse.answers.page import outcome_page

        page = outcome_page(outcome, texts, label, plan.title if plan else "", plan.notes if plan else ())
        write_page(values.html, page, source=values.snapshot)
    print_outcome(display, values.output, outcome, texts=texts, label=label, show=show)
    return status_of(outcome)


def _answer_standing(values: SimpleNamespace, display: Display, subject: Subject, assumptions: Assumptions) -> int:
    from metashell.cli.rehearsing import print_standing
    from metashell.errors import UsageError
    from metashell.rehearse.answers.standing_words import standing_status
    from metashell.rehearse.standing import standing_answers

    for name in ("show", "sizes", "seeds", "html"):
        if getattr(values, name) is not None:
            raise UsageError(f"--{name} goes with a step or a plan", f"--{name}")
    standing = standing_answers(subject.image, assumptions)
    print_standing(display, values.output, standing, subject, assumptions)
    return standing_status(standing)


main = Tool(NAME, run)
