"""The stored answers of real Kafka tools: where they are, and which of them we have to match.

They are in `tests/golden/kafka`, so that every checkout runs the same tests. `tools/copy_golden.py` makes that folder from the set as it
was recorded ($METASHELL_GOLDEN, else `shared/golden` beside the checkout): the same layout, with the case files compressed and their
outputs inside. Case arguments name files relative to the set's root.
"""

from __future__ import annotations

import base64
import difflib
import functools
import json
import lzma
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
SUBSET_ROOT = REPOSITORY / "tests" / "golden" / "kafka"
VOICE = REPOSITORY / "tests" / "golden" / "voice"
VERSIONS = ("4.4.0", "4.3.1", "3.9.2", "3.3.2")
NEWEST, PREVIOUS, *_ = VERSIONS
"""The releases that left data. Tools of the previous one answered for older ones too; of it are damaged files and captured frames."""
OLDER_VERSIONS = VERSIONS[1:]
CLUSTERS = ("main", "default", "damage")

# Kafka's shell answers for a segment that starts in the middle from an empty image, always (tools.md 12, no. 9).
LATER_SEGMENT = re.compile(r"/(?!0{20}\.)\d{20}\.log$")


@dataclass(frozen=True, slots=True)
class Case:
    """One command line and what the real tool answered; `root` is the working directory.

    `status` is None where the real tool did not end by itself.
    """

    id: str
    root: Path
    tool: str
    argv: tuple[str, ...]
    status: int | None
    tags: tuple[str, ...]
    stdin: str
    raw_stdout: dict[str, Any]
    raw_stderr: dict[str, Any]

    @property
    def stdout(self) -> bytes:
        """What the real tool wrote, byte for byte."""
        return _content(self.root, self.raw_stdout)

    @property
    def stderr(self) -> str:
        """Standard error as stored: log lines and stack frames included."""
        return _content(self.root, self.raw_stderr).decode("utf-8", "replace")

    @property
    def files(self) -> list[str]:
        """The file arguments of a dump-log or shell case."""
        flag = "--files" if self.tool == "dump-log" else "--snapshot"
        return self.argv[self.argv.index(flag) + 1].split(",") if flag in self.argv else []


def _content(root: Path, stored: dict[str, Any]) -> bytes:
    if "file" in stored:
        return (root / stored["file"]).read_bytes()
    if "base64" in stored:
        return base64.b64decode(stored["base64"])
    return str(stored["text"]).encode()


def full_root() -> Path | None:
    """The folder of the set as it was recorded, or None where there is none."""
    told = os.environ.get("METASHELL_GOLDEN")
    # Tools print the place that the system knows, not the link by which it was reached.
    root = (Path(told) if told else REPOSITORY.parent / "shared" / "golden").resolve()
    return root if (root / NEWEST).is_dir() else None


def golden_root() -> Path:
    """The committed set."""
    return SUBSET_ROOT


def json_lines(root: Path, name: str) -> list[dict[str, Any]]:
    """The rows of `NAME.jsonl`, or of `NAME.jsonl.xz`; none if neither is there."""
    plain, packed = root / f"{name}.jsonl", root / f"{name}.jsonl.xz"
    if plain.exists():
        text = plain.read_bytes()
    elif packed.exists():
        text = lzma.decompress(packed.read_bytes())
    else:
        return []
    return [json.loads(line) for line in text.splitlines()]


@functools.cache
def read_cases(root: Path, name: str) -> tuple[Case, ...]:
    """All cases of one file, e.g. `4.3.1/main/files`."""
    return tuple(
        Case(
            id=row["id"],
            root=root,
            tool=row["argv"][0],
            argv=tuple(row["argv"][1:]),
            tags=tuple(row.get("tags", ())),
            stdin=row.get("stdin", ""),
            **answer_of(row),
        )
        for row in json_lines(root, name)
    )


def answer_of(row: dict[str, Any]) -> dict[str, Any]:
    """The fields of a case that say what a tool answered."""
    return {"status": row["rc"], "raw_stdout": row["stdout"], "raw_stderr": row["stderr"]}


def as_answered_now(cases: Iterable[Case]) -> list[Case]:
    """Cases of older tools with what the newest answers, where that is something else (`tools/make_voice_golden.py`)."""
    changed = {row["id"]: answer_of(row) for row in json_lines(VOICE, NEWEST)}
    return [replace(case, **changed.get(case.id, {})) for case in cases]


def dump_log_cases() -> list[Case]:
    """Every dump-log case as the newest release answers it."""
    newest = [case for cluster in CLUSTERS for case in read_cases(golden_root(), f"{NEWEST}/{cluster}/files") if case.tool == "dump-log"]
    return [*newest, *as_answered_now(older_dump_log_cases())]


def older_dump_log_cases() -> list[Case]:
    """Every dump-log case as 4.3.1 answered it, but for those that it answered from a file which it had changed before."""
    root = golden_root()
    names = [f"{PREVIOUS}/{cluster}/files" for cluster in CLUSTERS]
    names += [f"{version}/{cluster}/voice-{PREVIOUS}" for version in OLDER_VERSIONS[1:] for cluster in CLUSTERS]
    return [case for name in names for case in read_cases(root, name) if case.tool == "dump-log" and not _saw_cut_index(case)]


def _saw_cut_index(case: Case) -> bool:
    """Whether 4.3.1 had cut the index to whole entries by then (README, surprise 11): the check of the stored file fails."""
    return "/index-odd/" in ",".join(case.files) and "--index-sanity-check" in case.argv and b"passed" in case.stdout


def shell_cases() -> list[Case]:
    """Every shell case that binds, by the rules of the golden set's README, as the newest release answers it."""
    return as_answered_now(shell_cases_of(NEWEST) + shell_cases_of(PREVIOUS))


def shell_cases_of(version: str) -> list[Case]:
    """Those that the shell of a release answered for files of its own."""
    cases = [case for cluster in CLUSTERS for case in read_cases(golden_root(), f"{version}/{cluster}/files")]
    shell = [case for case in cases if case.tool == "shell"]
    empty = _files_seen_empty(shell)
    longest: dict[tuple[object, ...], int] = {}
    for case in shell:
        longest[case.argv, case.stdin] = max(longest.get((case.argv, case.stdin), 0), len(case.stdout))
    # Of two answers to one question the shorter was given before the file was read.
    whole = (case for case in shell if len(case.stdout) == longest[case.argv, case.stdin])
    return [case for case in whole if case.status is not None and not _is_loose(case, empty)]


def _files_seen_empty(cases: Iterable[Case]) -> set[str]:
    """Files whose provenance was once answered from Kafka's empty image."""
    return {case.files[0] for case in cases if case.files and case.stdout.startswith(b"offset -1,")}


def _is_loose(case: Case, empty: set[str]) -> bool:
    """Whether the answer came from an image that was not the file's."""
    if any(LATER_SEGMENT.search(file) for file in case.files):
        return True
    if "damage" in case.tags:
        return case.tags[1] in LOOSE_DAMAGE or _shows_no_entry(case)
    return bool(case.files) and case.files[0] in empty and "session" not in case.tags


def _shows_no_entry(case: Case) -> bool:
    """Whether a listing of everything shows no broker and no topic: all of the damaged files have one or the other."""
    listing = case.stdout
    return b"/image/cluster/brokers/" not in listing and b"/image/topics/byName/" not in listing


UNCHECKED = "Kafka's shell checks neither CRC nor magic (README, surprise 6); ours leaves the batch out and names it"
LOOSE_DAMAGE = {
    "craft-transaction-aborted": "answered before the last batch was applied (tools.md 12, no. 18)",
    "craft-batch-bad-crc": UNCHECKED,
    "craft-batch-magic-3": UNCHECKED,
    "flip-random-2": UNCHECKED,
}
"""Damaged files on which the shell differs from Kafka's, and why; the others that are not compared are found by rule."""


def wire_frames() -> list[dict[str, Any]]:
    """The captured requests and responses, rows as the golden set's README describes them (`hex` is the frame)."""
    return json_lines(golden_root(), f"{PREVIOUS}/wire/frames")


def metadata_files(*suffixes: str) -> Iterator[Path]:
    """Every metadata log and checkpoint of the clusters, damaged files left out."""
    root = golden_root()
    for version in VERSIONS:
        for cluster in ("main", "default"):
            for suffix in suffixes or (".log", ".checkpoint"):
                yield from sorted(root.glob(f"{version}/{cluster}/data/*/*/*/__cluster_metadata-0/*{suffix}"))


# Log lines of log4j ("[date] LEVEL text (class)") and of java.util.logging, and stack frames, are no part of an answer.
LOG_LINE = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] |^[A-Z][a-z]{2} \d{1,2}, \d{4} .* org\.jline|^WARNING: ")
STACK_FRAME = re.compile(
    r"^\s+at |^\s*\.\.\. \d+ more|^Caused by: |^Exception in thread |^(Unexpected error: )?[\w.$]+(Exception|Error)(:|$)"
)


def own_lines(stderr: str) -> list[str]:
    """Standard error without log lines, exceptions and stack frames: what the tool itself says."""
    kept = (line for line in stderr.splitlines() if not LOG_LINE.search(line) and not STACK_FRAME.search(line))
    return [line for line in kept if line]


def has_trace(stderr: str) -> bool:
    """Whether the real tool ended with a stack trace."""
    return "Exception in thread " in stderr


def with_local_paths(text: str, root: Path) -> str:
    """The text with the folder in which the data was made replaced by the set's root."""
    return text.replace("/made/goldn", str(root))


def small_diff(expected: bytes, actual: bytes, *, limit: int = 30) -> str:
    """The first lines that differ, shortened, for a failure message."""
    lines = difflib.unified_diff(
        expected.decode("utf-8", "backslashreplace").splitlines(),
        actual.decode("utf-8", "backslashreplace").splitlines(),
        "expected",
        "actual",
        lineterm="",
        n=1,
    )
    shown = [line if len(line) < 700 else f"{line[:700]}..." for line, _ in zip(lines, range(limit), strict=False)]
    return "\n".join(shown) or "equal but for line ends"
