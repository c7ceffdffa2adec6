"""The image that a rehearsal starts from, and the printing of its answer."""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from metashell.cli.connection import CONTROLLER_VARIABLE, SERVER_VARIABLE, cluster_of, names_quorum, open_admin, target_of
from metashell.cli.images import load_image, report_faults
from metashell.codec.codes import BROKER_RESOURCE
from metashell.common.command import complain
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import counted, write_objects
from metashell.common.options import one_of
from metashell.common.terminal import may_show_progress, show_progress, terminal_line, update_progress
from metashell.common.values import clock_text
from metashell.demo import demo_directory
from metashell.quorum.observer.attach import attach

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import SimpleNamespace

    from metashell.common.forms import Display
    from metashell.metadata.image import MetadataImage
    from metashell.rehearse.assumptions import Statics
    from metashell.rehearse.outcome import Outcome
    from metashell.rehearse.single_failures import SingleFailures
    from metashell.rehearse.steps import Assumptions, Step


SECTIONS = (
    *("steps", "events", "troubles", "quorum", "states", "brokers", "racks", "copied", "diff", "findings", "ranges", "records"),
    "assumptions",
)
"""The parts of an answer, in the order in which they are printed."""


NAME = "metashell rehearse"
RECORDS_MAX = 10_000
"""The most records in one JSON value without --show records."""
_TABLE_SECTION = "troubles"
_TELLING_S = 5
"""The default timeout in seconds for reading a node's settings."""
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_VERDICTS = {"SAFE: ": "\x1b[1;32m", "NO WORSE: ": "\x1b[1;33m", "WRITES REFUSED: ": "\x1b[1;33m", "NOT SAFE: ": "\x1b[1;31m"}


class Subject(NamedTuple):
    """The image that a rehearsal starts from, and a label that names its source."""

    image: MetadataImage
    label: str


def read_subject(values: SimpleNamespace) -> Subject:
    """Return the image that `--snapshot`, `--demo`, `-C`, `-b` or the environment names.

    Errors: UsageError if none is named; MetashellError if it cannot be read.
    """
    if is_live(values):
        return live_subject(cluster_of(values))
    if not (values.snapshot or values.demo):
        raise UsageError("no cluster: name a file or directory with --snapshot, a quorum with -C or -b, or try --demo", "--snapshot")

    path = values.snapshot
    if values.demo:
        path = demo_directory()
    loaded = load_image(path, certain_only=values.certain_only, max_decompressed=values.max_decompressed)
    report_faults(NAME, loaded, verbose=values.verbose)
    return Subject(loaded.image, _label("the demo" if values.demo else path, loaded.image))


def is_live(values: SimpleNamespace) -> bool:
    """Return whether an option or the environment names a live quorum."""
    is_stored = values.snapshot or values.demo
    return names_quorum(values) or (not is_stored and any(map(os.environ.get, (SERVER_VARIABLE, CONTROLLER_VARIABLE))))


def live_statics(values: SimpleNamespace) -> list[Statics]:
    """Return the static settings of one node of a live cluster, the active controller or a broker; empty if they cannot be read."""
    from metashell.cli.admin.configs import STATIC_SOURCE, Resource, describe_configs
    from metashell.rehearse.assumptions import NAMES, Statics

    try:
        named = cluster_of(values)
        named.timeout = named.timeout or _TELLING_S
        with open_admin(named) as admin:
            active = admin.active_id()
            role, id = ("broker", min(node.id for node in admin.nodes())) if active is None else ("controller", active)
            [found] = describe_configs(admin, [Resource(BROKER_RESOURCE, str(id))], NAMES).values()
            if isinstance(found, MetashellError):
                raise found
    except MetashellError as error:
        complain(NAME, f"the settings of servers are assumed, for nobody told them: {error}")
        return []
    told = {one.name: one.value for one in found if one.value is not None and one.source == STATIC_SOURCE}
    return [Statics(f"{role} {id}", frozenset((role,)), told)]


def live_subject(values: SimpleNamespace) -> Subject:
    """Return the newest committed image of a live quorum. Errors: MetashellError if it cannot be reached."""
    with attach(target_of(values)) as source:
        image = source.view().image
        return Subject(image, _label(source.label, image))


def _label(name: str, image: MetadataImage) -> str:
    """Return the label of an image: the answer is valid only for the state at this offset."""
    return f"state: {name}, up to offset {image.provenance.end_offset}"


def run_rehearsal(
    image: MetadataImage,
    steps: Sequence[Step],
    assumptions: Assumptions,
    sizes: Mapping[tuple[str, int], int] | None,
    *,
    keeps_all: bool,
) -> Outcome:
    """Rehearse steps and return the outcome; `keeps_all`: with all records. On a terminal it shows the progress.

    Errors: StepError if a step does not fit the image or the steps before it.
    """
    from metashell.rehearse.rehearsal import RECORDS_KEPT, Rehearsal
    from metashell.rehearse.step_checks import check_contradictions

    check_contradictions(image, steps)
    rehearsal = Rehearsal(image, assumptions, sizes, records_kept=sys.maxsize if keeps_all else RECORDS_KEPT)
    if not may_show_progress():
        return rehearsal.run(steps)
    with show_progress("rehearsing"):
        return rehearsal.run(steps, _show_progress)


def _show_progress(at_ms: int, text: str) -> None:
    update_progress(f"{clock_text(at_ms)} {text}")


def check_parts(words: str | None, form: str) -> tuple[str, ...]:
    """Return the parts that `--show` names. Errors: UsageError for an unknown part, and for several in a format with columns."""
    if words is None:
        return ()
    try:
        parts = tuple(dict.fromkeys(one_of(word.strip(), SECTIONS) for word in words.split(",")))
    except UsageError as error:
        raise UsageError(f"option --show: {error}", words) from None
    if len(parts) > 1 and form in ("table", "csv"):
        raise UsageError(f"option --show: -o {form} has room for one part", words)
    return parts


def print_outcome(
    display: Display, form: str, outcome: Outcome, *, texts: Sequence[str] = (), label: str = "", show: Sequence[str] = ()
) -> None:
    """Print an outcome in a format; with `show` only these parts of it. `texts` has the steps as they were written."""
    from metashell.rehearse.render_rows import section_rows, verdict_row

    if form == "text":
        _print_text(display, outcome, texts, label, show)
        return
    sections = list(show or _default_sections(outcome, form))
    _note_left_out(outcome, sections)
    rows = {section: section_rows(outcome, section, texts) for section in sections}
    verdict = {**verdict_row(outcome), "state": label}
    if form == "json":
        whole = {"type": "rehearsal", "verdict": verdict, **{section: list(found) for section, found in rows.items()}}
        write_objects(display, form, [whole], single=True)
    elif form == "jsonl":
        write_objects(display, form, chain([verdict], *rows.values()))
    else:
        for found in rows.values():
            write_objects(display, form, found, constant=("type",))


def _note_left_out(outcome: Outcome, sections: Sequence[str]) -> None:
    """Note how many records and troubles are left out of an answer, so that nobody takes it for complete."""
    if "records" in sections and outcome.records_left_out:
        complain(NAME, f"{counted(outcome.records_left_out, 'record')} more are left out: --show records has all")
    if "troubles" in sections and outcome.intervals_left_out:
        complain(NAME, f"{counted(outcome.intervals_left_out, 'trouble')} more are left out; the verdict counts them")


def _default_sections(outcome: Outcome, form: str) -> Sequence[str]:
    if form in ("table", "csv"):
        return (_TABLE_SECTION,)
    if outcome.record_count <= RECORDS_MAX or form == "jsonl":
        return SECTIONS
    complain(NAME, f"{outcome.record_count} records are left out: --show records has them, best as -o jsonl")
    return tuple(section for section in SECTIONS if section != "records")


def _print_text(display: Display, outcome: Outcome, texts: Sequence[str], label: str, show: Sequence[str]) -> None:
    from metashell.rehearse.render_rows import section_rows
    from metashell.rehearse.render_text import outcome_lines, verdict_line

    if not show:
        print_lines(display, outcome_lines(outcome, texts, label))
        return
    print_lines(display, [verdict_line(outcome)])
    _note_left_out(outcome, show)
    for section in show:
        print_lines(display, ["", section.upper()] if len(show) > 1 else [""])
        write_objects(display, "table", section_rows(outcome, section, texts), constant=("type",))


def print_lines(display: Display, lines: Iterable[str]) -> None:
    """Print lines of text, each safe for a terminal: verdicts in colour, lines in capitals in bold."""
    for line in lines:
        shown = terminal_line(line)
        style = next((found for word, found in _VERDICTS.items() if line.startswith(word)), _BOLD if line.isupper() else "")
        display.out.write(f"{style}{shown}{_PLAIN}\n" if display.color and style else f"{shown}\n")


def print_standing(display: Display, form: str, standing: SingleFailures, subject: Subject, assumptions: Assumptions) -> None:
    """Print the answer about single failures in a format; in text with the settings that were read from servers."""
    from metashell.rehearse.render_text import read_lines
    from metashell.rehearse.single_failures import loss_row, single_failures_lines, single_failures_value

    label = subject.label
    if form == "text":
        certain = subject.image.provenance.certain_to
        is_certain = certain is not None and certain >= subject.image.provenance.end_offset
        print_lines(display, single_failures_lines(standing, label if is_certain else f"{label}; committed up to {certain or 0}"))
        print_lines(display, read_lines(assumptions))
    elif form == "json":
        write_objects(display, form, [{**single_failures_value(standing), "state": label}], single=True)
    else:
        write_objects(display, form, map(loss_row, standing.losses), constant=("type",))
