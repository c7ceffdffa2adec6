"""What a bundle says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.amounts import moment_text

if TYPE_CHECKING:
    from metashell.bundle.copying import Copy

_LISTED_MAX: Final = 1000
_REMOVED: Final = {
    "secrets": "secrets taken out",
    "texts_replaced": "texts replaced",
    "unknown_tags": "tagged fields that are not known taken out",
    "record_keys": "records that lost a key or headers, which Kafka never writes here",
}


def removed(copy: Copy) -> dict[str, int]:
    """How much of each kind was taken out or replaced."""
    return {what: copy.counts[what] for what in _REMOVED}


def removed_words(copy: Copy) -> list[str]:
    """The same in words, where there was any: `42 secrets taken out`."""
    return [f"{copy.counts[what]} {words}" for what, words in _REMOVED.items() if copy.counts[what]]


def readme(name: str, copy: Copy, *, made: str, is_anonymised: bool) -> str:
    """The text of README.md. Nothing of the source goes in but numbers, and what is in the copy too."""
    lines = [
        f"# {name}",
        "",
        "The metadata log of an Apache Kafka node (KRaft), written again record by record for somebody else to look at.",
        "",
        f"- made by {made}",
    ]
    if copy.cluster_id is not None:
        lines.append(f"- cluster {copy.cluster_id}{' (not its real id)' if is_anonymised else ''}, node {copy.node_id}")
    lines.append(f"- {copy.counts['records']} records, end offset {copy.end_offset or 'unknown: there is no segment'}")
    if copy.first_timestamp >= 0:
        lines.append(f"- batches from {moment_text(copy.first_timestamp)} to {moment_text(copy.last_timestamp)}")
    lines += [
        "",
        "## How to look at it",
        "",
        f"    kafka-shell -s {name} health",
        f"    kafka-shell -s {name}                  # a prompt; `help` lists the commands",
        f"    metashell sql {name}",
        f"    dump-log --cluster-metadata-decoder {name}",
        "",
        "Kafka's own kafka-dump-log and kafka-metadata-shell open its files too. Offsets, epochs and times are those of the source.",
        "",
        "## What is in it",
        "",
        *(f"- {file}" for file in copy.files),
        "- status.txt, status.json, health.txt, health.json, verify.txt: what metashell says of this copy",
        "- verify-source.txt: where metashell verify found something in the source (places only)",
        "",
        "## What is not in it",
        "",
        "- Secrets: SCRAM salts and keys are empty, values of passwords and of unknown settings of brokers are `[redacted]`.",
        "- Indexes, producer snapshots, compression, keys and headers of records, tagged fields that are not known.",
    ]
    if is_anonymised:
        lines += [
            "- Names: topics, groups, users, client ids, transactional ids, hosts, racks, listeners of one's own, tokens, unknown",
            "  settings and the cluster's id have other names, the same each time; free text is `[anonymised]`, and so are values of",
            "  settings that are not numbers or words of Kafka's. Ids of nodes, topics, directories and incarnations, ports, offsets",
            "  and times are the real ones: who has the cluster can tell by them which one it is.",
        ]
    lines += [f"- {words}" for words in removed_words(copy)]
    lines += [f"- the torn or empty tail of {file}, as a node leaves it that was stopped" for file in copy.tails]
    lines += ["", "## What could not be copied", ""]
    if not copy.left:
        lines.append("Nothing: every record of the source has its place here.")
    else:
        lines.append("A NoOpRecord stands at each of these offsets, unless the line says that the offsets are gone:")
        lines.append("")
        lines += [f"- {left}" for left in copy.left[:_LISTED_MAX]]
        if len(copy.left) > _LISTED_MAX:
            lines.append(f"- and {len(copy.left) - _LISTED_MAX} more")
    return "\n".join(lines) + "\n"
