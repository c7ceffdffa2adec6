"""metashell health: all facts of the sources, joined, and what the checks say of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.cli.common import STATUS_OK, declared_tool
from metashell.errors import PathError, UsageError
from metashell.options.health_tools import HEALTH

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.checks import Facts
    from metashell.image import MetadataImage
    from metashell.shell.context import Context

NAME = "metashell health"


def _health(values: SimpleNamespace) -> int:
    from metashell.progress import shown_while
    from metashell.shell.commands.health import run_health

    if values.list:
        return _list(values)
    if not (values.sources or values.config or values.bootstrap_controller or values.bootstrap_server):
        raise UsageError("name a directory, a server.properties (-c), controllers (-C) or brokers (-b), or try --demo")
    with shown_while("gathering facts"):
        facts = gather_facts(values)
    context = _context(values, facts)
    run_health(context, values)
    context.out.flush()
    return context.status


def gather_facts(values: SimpleNamespace) -> Facts:
    """The facts of every source of the command line. Errors: PathError for one that is not there."""
    from dataclasses import replace

    from metashell.codec.releases import NEWEST_RELEASE, RELEASES
    from metashell.facts import gather

    for path in values.sources:
        if not os.path.exists(path):
            raise PathError(f"{path}: No such file or directory", path)
    directories = [path for path in values.sources if os.path.isdir(path)]
    release = next((one for one in RELEASES if one.name == values.release), NEWEST_RELEASE)
    facts = gather(directories, values.config or (), release=release, max_decompressed=values.max_decompressed)
    for path in values.sources:
        if not os.path.isdir(path):
            facts = _with_image(facts, _image_of_file(path, values.max_decompressed))
    facts = replace(facts, label=", ".join(values.sources))
    if values.bootstrap_controller or values.bootstrap_server:
        facts = _with_live(facts, values)
    return facts


def _with_live(facts: Facts, values: SimpleNamespace) -> Facts:
    """The facts of disks joined with what a live cluster answers now: its image is the newest."""
    from dataclasses import replace

    from metashell.cli.live_facts import LAG_MS, gather_live

    live = gather_live(values, LAG_MS if values.lag_after is None else values.lag_after)
    # What brokers tell is a part of what is in the log.
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
    from metashell.cli.loading import load

    return load(path, certain_only=False, max_decompressed=max_decompressed).image


def _with_image(facts: Facts, image: MetadataImage) -> Facts:
    """The facts with the image of a file, where it is newer than the one they have."""
    from dataclasses import replace

    from metashell.checks import Health

    at = image.provenance
    if facts.health is not None:
        known = facts.image.provenance
        if (known.epoch, known.end_offset) >= (at.epoch, at.end_offset):
            return facts
    return replace(facts, health=Health(image), now_ms=at.timestamp_ms)


def _context(values: SimpleNamespace, facts: Facts) -> Context:
    from metashell.cli.earlier import past_of_path
    from metashell.cli.loading import Loaded, make_context
    from metashell.image import EMPTY_IMAGE

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
    from metashell.checks import all_checks
    from metashell.forms import standard_output, write_rows

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


main = declared_tool(NAME, HEALTH, _health)
