"""What a command works with: the tree, the working directory, and where output goes in which form.

Commands write through a `Context` and fail through `Context.fail`, so wording, streams and statuses are decided here. Our own
format has errors on stderr and status 1; Kafka's prints them on stdout and has status 0.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from metashell.escape import terminal_line
from metashell.shell.globs import Match, expand, has_wildcards
from metashell.shell.paths import ROOT, absolute_components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metashell.forms import Display, TextSink
    from metashell.image import MetadataImage
    from metashell.image.voters import Leader
    from metashell.nodes import Node
    from metashell.shell.administrator import Administrator
    from metashell.shell.feed import Feed

STATUS_FAILED = 1
STATUS_USAGE = 2

MISSING = "missing"
IS_DIRECTORY = "is directory"
NOT_DIRECTORY = "not directory"

_OWN_MESSAGES = {
    MISSING: "No such file or directory.",
    IS_DIRECTORY: "Is a directory.",
    NOT_DIRECTORY: "Not a directory.",
}
# Kafka's commands differ in capitals and periods.
_KAFKA_MESSAGES = {
    ("cat", MISSING): "No such file or directory.",
    ("cat", IS_DIRECTORY): "Is a directory",
    ("cd", MISSING): "no such directory.",
    ("cd", NOT_DIRECTORY): "not a directory.",
    ("find", MISSING): "no such file or directory.",
    ("ls", MISSING): "no such file or directory.",
    ("tree", MISSING): "No such file or directory.",
}


@dataclass(slots=True, kw_only=True)
class Context:
    """One run of the shell.

    Shape: `display` is where answers go and `output` their form (text, json, jsonl, table, csv or kafka); `history` holds typed
    lines. `feed` is the source of newer images where there is one, and `make_root` the tree over one, given the tree before.
    `election` gives the election in quorum-state, None without one.
    `administrator` changes the cluster, None where that is off. `is_last` says that no command follows, which could see what was done.
    """

    root: Node
    image: MetadataImage
    display: Display
    err: TextIO
    voice: str = "own"
    output: str = "text"
    source_label: str = ""
    cwd: str = ROOT
    redact: bool = True
    status: int = 0
    leaving: bool = False
    command: str = ""
    history: list[str] = field(default_factory=list)
    feed: Feed | None = None
    make_root: Callable[[MetadataImage, Node], Node] | None = None
    election: Callable[[], Leader | None] | None = None
    administrator: Administrator | None = None
    is_last: bool = False
    write: Callable[[str], None] = field(init=False)
    """Writes text that may hold data."""
    line: Callable[[str], None] = field(init=False)
    """Writes a line of text that may hold data."""

    def __post_init__(self) -> None:
        self.write, self.line = self.display.text, self.display.line
        self.display.note = lambda text: self.complain(f"{self.command}: {text}", 0)

    @property
    def out(self) -> TextSink:
        """Where to write text that holds no data or is escaped already."""
        return self.display.out

    @property
    def speaks_kafka(self) -> bool:
        """Whether messages, statuses and interaction are those of kafka-metadata-shell."""
        return self.voice == "kafka"

    def refresh(self) -> None:
        """Take the newest image; commands see it until the next call."""
        if self.feed is not None:
            self.show(self.feed.view().image)

    def show(self, image: MetadataImage) -> None:
        """Make `image` the one that commands see."""
        if image is not self.image and self.make_root is not None:
            self.root = self.make_root(image, self.root)
            self.image = image

    def resolve(self, targets: Sequence[str]) -> Iterator[Match]:
        """Every node that the targets name, in order; a target that names nothing is reported in its turn."""
        for target in targets:
            found = False
            for match in self.matches(target):
                found = True
                yield match
            if not found:
                self.fail(target, MISSING)

    def matches(self, target: str) -> Iterator[Match]:
        """Every node that one target names."""
        return expand(self.root, absolute_components(target, self.cwd), lenient=not self.speaks_kafka)

    def is_single(self, targets: Sequence[str]) -> bool:
        """Whether the targets can only name one node: one path without wildcards."""
        return len(targets) == 1 and not has_wildcards("/".join(absolute_components(targets[0], self.cwd)))

    def fail(self, thing: str, problem: str) -> None:
        """Report a thing and what is wrong with it: one of the problems above, or any text."""
        if self.speaks_kafka:
            self.say(f"{self.command}: {thing}: {_KAFKA_MESSAGES.get((self.command, problem), problem)}")
        else:
            self.complain(f"{self.command}: {thing}: {_OWN_MESSAGES.get(problem, problem)}", STATUS_FAILED)

    def say(self, message: str) -> None:
        """Print a line as Kafka's shell does, on stdout; for our own forms, which programs read there, on stderr."""
        if self.output in ("text", "kafka"):
            self.line(message)
        else:
            self.complain(message, 0)

    def complain(self, message: str, status: int) -> None:
        """Write one line to stderr, after what stdout already holds, and remember the status."""
        with suppress(BrokenPipeError):
            self.out.flush()
        self.err.write(terminal_line(message) + "\n")
        self.status = max(self.status, status)

    def certainty(self) -> dict[str, int | None]:
        """How far the image is certain, for every JSON object: `certain_to` and `end_offset`."""
        provenance = self.image.provenance
        return {"certain_to": provenance.certain_to, "end_offset": provenance.end_offset}
