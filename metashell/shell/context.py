"""The state that commands work with: the tree, the working directory, and the output and its form.

Commands write through a `Context` and fail through `Context.fail`, which decides wording, streams and statuses. Our own voice reports
errors on stderr with status 1; Kafka's prints them on stdout with status 0.

A source that changes is a `Feed`, which cli passes in: a live quorum, or a directory that its node is writing. The shell calls `view()`
before each command and each prompt, so that one command sees one image."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TextIO

from metashell.common.errors import MetashellError
from metashell.common.terminal import clear_progress, terminal_line
from metashell.shell.paths import DEEP, ROOT, absolute_components, expand_kafka, expand_path, has_wildcards, outermost

if TYPE_CHECKING:
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.image.differences import Step


if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from metashell.common.errors import MetashellError
    from metashell.common.forms import Display, TextSink
    from metashell.common.settings import Settings
    from metashell.metadata.checks import Facts, Health
    from metashell.metadata.checks.facts import QuorumAnswers
    from metashell.metadata.history import Past
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.image.cluster import ClusterImage
    from metashell.metadata.image.provenance import Leader
    from metashell.metadata.nodes import Node
    from metashell.shell.change_commands import Administrator
    from metashell.shell.paths import Match

    KeyGuide = tuple[str | None, str | None, tuple[str, ...]]
    """Of a setting: its default, what it does, and the words that it takes, none where it takes any number or text."""

STATUS_FAILED = 1
STATUS_USAGE = 2

_HINTS_MAX = 100
"""The most missing paths in a run for which a similar one is looked for, since a script may name thousands."""
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

    Shape: `display` is where answers go, `output` their form (text, json, jsonl, table, csv or kafka), and `history` the typed lines.
    `feed` is the source of newer images, and `make_root` makes the tree of an image, given the previous tree.
    `election` returns the election in quorum-state, or None. `ask_quorum` returns the answers of a live quorum (the limit of lag is in
    ms) and is None without one. `static_min_isr` returns the min.insync.replicas that the quorum uses if no record sets it, and
    `gathered` the facts beside the image.
    `past` returns the history of the source and is None if it has none; `other_past` returns that of another source (a path, or
    controllers). `at` is the end offset of the earlier image that is shown, None for the newest.
    `administrator` changes the cluster, and is None if changes are off.
    `chosen` are the settings of a file, if there is one. `config_guide` returns the keys of a type of resource, or of all types for
    None. `is_last` says that no command follows that could see a change.
    `open_output` returns the descriptor of a file to write or append to, and refuses files that are read; it is None if no files are
    written. `has_pager` says that a long answer may go to a pager. `timing` says whether times are shown, and is None if the user did
    not say.
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
    ask_quorum: Callable[[int], QuorumAnswers] | None = None
    static_min_isr: Callable[[], int] | None = None
    gathered: Callable[[], Facts] | None = None
    past: Callable[[], Past] | None = None
    other_past: Callable[[str | None, str | None], Past] | None = None
    at: int | None = None
    present: MetadataImage | None = None
    administrator: Administrator | None = None
    chosen: Settings | None = None
    config_guide: Callable[[int | None], Mapping[str, KeyGuide]] | None = None
    is_last: bool = False
    open_output: Callable[[str, bool, Sequence[str]], int] | None = None
    has_pager: bool = False
    timing: bool | None = None
    write: Callable[[str], None] = field(init=False)
    """Writes text that may hold data."""
    line: Callable[[str], None] = field(init=False)
    """Writes a line of text that may hold data."""
    _health: Health | None = field(init=False, default=None)
    _misses: int = field(init=False, default=0)
    _election_trouble: str = field(init=False, default="")
    fenced_times: tuple[ClusterImage, dict[int, str]] | None = field(init=False, default=None)
    """The cached answer of `fenced_times` for the brokers of an image."""

    def __post_init__(self) -> None:
        self._show_on(self.display)

    def _show_on(self, display: Display) -> None:
        self.display = display
        self.write, self.line = display.text, display.line
        display.note = lambda text: self.complain(f"{self.command}: {text}", 0)

    @contextmanager
    def writing_to(self, display: Display, err: TextIO | None = None) -> Iterator[None]:
        """Send answers to another display inside the block, and reports to another stream if one is given."""
        before, err_before = self.display, self.err
        self._show_on(display)
        self.err = err or self.err
        try:
            yield
        finally:
            self._show_on(before)
            self.err = err_before

    @property
    def is_timing(self) -> bool:
        """Return whether to show the time of each command."""
        return self.chosen is not None and self.chosen.timing if self.timing is None else self.timing

    @property
    def out(self) -> TextSink:
        """Return the sink for text that holds no data or is already escaped."""
        return self.display.out

    @property
    def health(self) -> Health:
        """Return the health of the current image; it keeps what it has computed."""
        if self._health is None or self._health.image is not self.image:
            from metashell.metadata.checks import Health

            usual = 1 if self.static_min_isr is None else self.static_min_isr()
            self._health = Health(self.image, static_min_isr=usual, voter_ids=self.voter_ids)
        return self._health

    def use_health(self, health: Health) -> None:
        """Use a health that was already computed when the facts of this image were gathered."""
        self._health = health

    def facts(self, health: Health | None = None, lag_after_ms: int = 10_000) -> Facts:
        """Return all facts about the cluster of the current image."""

        from metashell.metadata.checks import Facts
        from metashell.metadata.image import EMPTY_IMAGE

        facts = Facts() if self.gathered is None or self.at is not None else self.gathered()
        is_live = self.feed is not None and self.at is None
        trouble = self.feed.view().trouble if is_live and self.feed is not None else ""
        quorum = None
        if self.ask_quorum is not None and self.at is None:
            quorum = self.ask_quorum(lag_after_ms)
        if self.gathered is not None and facts.health is None and self.image is EMPTY_IMAGE:
            return facts  # No metadata was found anywhere.
        quorum = facts.quorum if self.ask_quorum is None else quorum
        return replace(facts, health=health or self.health, quorum=quorum, not_followed=trouble, label=self.source_label)

    def voter_ids(self) -> Sequence[int]:
        """Return the ids of the voters from records, quorum-state or a live leader; empty if none of them has any."""
        from metashell.shell.health_text import voters_of

        details = {} if self.feed is None or self.at is not None else self.feed.view().details
        voters = details.get("voters") or voters_of(self.image, self.noted_election)[0]
        assert isinstance(voters, list)
        return [voter["id"] for voter in voters]

    def noted_election(self) -> Leader | None:
        """Return the election in the node's quorum-state, for use if the log no longer has it. An unreadable file is reported."""
        try:
            return None if self.election is None else self.election()
        except MetashellError as error:
            message = f"{self.command}: {error}"
            # Several parts of one answer call this; each answer reports the error once.
            if message != self._election_trouble or self.status < STATUS_FAILED:
                self._election_trouble = message
                self.complain(message, STATUS_FAILED)
            return None

    @property
    def settings(self) -> Settings:
        """Return the settings from the user's file, else the defaults."""
        if self.chosen is None:
            from metashell.common.settings import DEFAULTS

            self.chosen = DEFAULTS
        return self.chosen

    @property
    def speaks_kafka(self) -> bool:
        """Return whether messages, statuses and interaction are those of kafka-metadata-shell."""
        return self.voice == "kafka"

    def refresh(self) -> None:
        """Take the newest image; commands see it until the next call."""
        if self.feed is not None and self.at is None:
            self.show(self.feed.view().image)

    def show(self, image: MetadataImage) -> None:
        """Make `image` the current one."""
        if image is not self.image and self.make_root is not None:
            self.root = self.make_root(image, self.root)
            self.image = image

    def resolve(self, targets: Sequence[str], *, as_starts: bool = False) -> Iterator[Match]:
        """Yield every node that the targets name, in order; a missing target is reported in its turn.

        With `as_starts`, for walks down from the nodes, a node below another one is left out.
        """
        for target in targets:
            found = False
            is_deep = as_starts and DEEP in target and not self.speaks_kafka
            for match in outermost(self.matches(target)) if is_deep else self.matches(target):
                found = True
                yield match
            if not found:
                self.fail(target, MISSING)

    def matches(self, target: str) -> Iterator[Match]:
        """Return every node that one target names."""
        expand = expand_kafka if self.speaks_kafka else expand_path
        return expand(self.root, absolute_components(target, self.cwd))

    def is_single(self, targets: Sequence[str]) -> bool:
        """Return whether the targets can only name one node: a single path without wildcards."""
        return len(targets) == 1 and not has_wildcards("/".join(absolute_components(targets[0], self.cwd)))

    def fail(self, thing: str, problem: str) -> None:
        """Report a thing and what is wrong with it: one of the problems above, or any text."""
        if self.speaks_kafka:
            self.say(f"{self.command}: {thing}: {_KAFKA_MESSAGES.get((self.command, problem), problem)}")
        else:
            if problem == MISSING and self.at is not None and absolute_components(thing, self.cwd)[:1] == ["groups"]:
                problem = "groups are shown at the end only: their logs have other offsets"
            words = (self._nearest_words(thing) if problem == MISSING else "") or _OWN_MESSAGES.get(problem, problem)
            self.complain(f"{self.command}: {thing}: {words}", STATUS_FAILED)

    def _nearest_words(self, target: str) -> str:
        """Return words about the path that was probably meant; empty if no path is similar."""
        from metashell.shell.words import nearest_path, quote_word

        self._misses += 1
        near = nearest_path(self.root, absolute_components(target, self.cwd)) if self._misses <= _HINTS_MAX else None
        return "" if near is None else f"No such file or directory (did you mean {quote_word(near)}?)"

    def say(self, message: str) -> None:
        """Print a line on stdout as Kafka's shell does, but on stderr for the forms that programs read."""
        if self.output in ("text", "kafka"):
            self.line(message)
        else:
            self.complain(message, 0)

    def complain(self, message: str, status: int) -> None:
        """Write one line to stderr after the output so far, and remember the status."""
        clear_progress()
        with suppress(BrokenPipeError):
            self.out.flush()
        self.err.write(terminal_line(message) + "\n")
        self.status = max(self.status, status)

    def complain_of(self, error: MetashellError, status: int) -> None:
        """Report an error of the command, with its text and a caret if the error has them."""
        self.complain(f"{self.command}: {error}", status)
        for line in getattr(error, "excerpt", ()):
            self.err.write(f"    {terminal_line(line)}\n")

    def certainty(self) -> dict[str, int | None]:
        """Return `certain_to` and `end_offset` of the image, which every JSON object has."""
        provenance = self.image.provenance
        return {"certain_to": provenance.certain_to, "end_offset": provenance.end_offset}


class View(Protocol):
    """The state of a source at one moment; it never changes."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def lag(self) -> int | None:
        """Return the number of committed records that the image lacks; None if unknown."""

    @property
    def trouble(self) -> str:
        """Return why the image is not updated, in a few words (`no leader for 14 s`); empty if it is."""

    @property
    def details(self) -> dict[str, object]:
        """Return facts about the source for `status`, in snake_case; empty for a directory."""


class Subscription(Protocol):
    """The steps from the image that was newest at its creation. None is missing, but several may come as one."""

    @property
    def start(self) -> MetadataImage:
        """Return the image before the first step."""

    def next(self, timeout_s: float) -> Step | None:
        """Return the next step, or None if none came in time. Errors: MetashellError if there can be no more."""

    def close(self) -> None: ...


class Feed(Protocol):
    """A source that changes."""

    is_live: bool
    """Whether `view` changes by itself, so that the prompt is redrawn regularly."""

    def view(self) -> View: ...
    def subscribe(self) -> Subscription: ...
