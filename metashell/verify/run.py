"""A whole run: every path is checked, whatever is wrong with another, and the status says whether all is fine."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from metashell.codec.releases import NEWEST_RELEASE, RELEASES, Release
from metashell.errors import MetashellError
from metashell.forms import Display
from metashell.log.files import STREAM_NAMES
from metashell.verify.census import Census
from metashell.verify.finding import Report
from metashell.verify.options import VerifyOptions
from metashell.verify.output import Writer, make_writer

if TYPE_CHECKING:
    from metashell.checks.model import Verdict

STATUS_FINE = 0
STATUS_FINDINGS = 1


def run_verify(options: VerifyOptions, display: Display) -> int:
    """Check all paths and print what was found; gives the exit status."""
    writer = make_writer(options.output, display, verbose=options.verbose, has_starts=options.start_safe)
    report = Report(writer.finding)
    if options.start_safe:
        return _run_starts(options, writer, report)
    census = Census()
    for path in options.paths:
        _check(path, report, options, census)
    census.finish(report)
    judged = _judge(options, report)
    if options.digest:
        from metashell.verify.digests import Digest, common_offset_of, compare, digest_of, without_metadata

        others = without_metadata(options.paths)
        for path in others:
            report.note(path, "no digest: the metadata of this node is in another of its directories")
        paths = [path for path in options.paths if path not in others]
        if options.digest_offset is None and len(paths) > 1:
            common = common_offset_of(paths)
            if common is not None:
                options = replace(options, digest_offset=common.offset)
                writer.compared(common)
        digests: list[Digest] = []
        for path in paths:
            try:
                digest = digest_of(path, report, options)
            except (MetashellError, OSError) as error:
                report.error(path, _reason(path, error))
                continue
            digests.append(digest)
            writer.digest(digest)
        compare(digests, report)
    if judged is not None:
        writer.checks(*judged)
    writer.summary(report)
    # Digests answer whether images are equal: a warning about a small file beside them does not change that.
    is_fine = not report.by_severity["error"] if options.digest else report.is_fine
    return STATUS_FINE if is_fine else STATUS_FINDINGS


def _judge(options: VerifyOptions, report: Report) -> tuple[Verdict, str] | None:
    """What the directories of the run, and their node's others, say of each other, and what else is bad; None for mere files."""
    from metashell.checks.disks import elsewhere, judge_disks
    from metashell.facts import gather
    from metashell.verify.judged import report_verdict

    paths = [path for path in options.paths if path not in STREAM_NAMES and os.path.isdir(path)]
    facts = gather(paths, [options.config] if options.config else (), max_decompressed=options.max_decompressed)
    if not facts.directories and not facts.configurations:
        return None
    verdict = judge_disks(facts)
    report_verdict(verdict, report)
    return verdict, elsewhere(facts)


def _run_starts(options: VerifyOptions, writer: Writer, report: Report) -> int:
    """Say for each node whether a server would start on its directories; status 0 if all would, and lose nothing."""
    from metashell.checks.disks import elsewhere, judge_disks
    from metashell.facts import gather
    from metashell.verify.judged import report_verdict
    from metashell.verify.start_answers import report_starts, usable_paths

    paths = usable_paths(options.paths, report)
    configs = [options.config] if options.config else []
    facts = gather(paths, configs, release=_release(options), max_decompressed=options.max_decompressed)
    verdict = judge_disks(facts)
    report_verdict(verdict, report)
    is_safe = report_starts(facts, writer, report)
    writer.checks(verdict, elsewhere(facts))
    writer.summary(report)
    return STATUS_FINE if is_safe and report.is_fine else STATUS_FINDINGS


def _release(options: VerifyOptions) -> Release:
    """The release to judge for, by default the newest known."""
    return next((release for release in RELEASES if release.name == options.release), NEWEST_RELEASE)


def _check(path: str, report: Report, options: VerifyOptions, census: Census) -> None:
    if path in STREAM_NAMES and options.digest:
        return  # A stream is read once, for its image.
    try:
        if path not in STREAM_NAMES and os.path.isdir(path):
            from metashell.verify.tree import check_directory

            check_directory(path, report, options, census)
        else:
            from metashell.verify.files import check_file

            check_file(path, report, options)
    except (MetashellError, OSError) as error:
        report.error(path, _reason(path, error))


def _reason(path: str, error: MetashellError | OSError) -> str:
    text = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return text.removeprefix(f"{path}: ")
