"""The common frame of the administration commands: the cluster, confirmation, output formats, waiting, and errors.

A command is a function of one `Work`. It reads its options from `work.values` and sends requests through `work.admin`. It reports results
with `work.rows`, `work.one` and `work.tell`, and errors with `work.failed`, so that output and statuses are the same everywhere:

- A command on several things reports each of them. If one fails, the others are still done, and the status is 1.
- In text, a success is a line on stdout, and an error a line on stderr with what the checks find about it. In the other formats both are
  also objects on stdout: a failed one has `result: failed`, `error`, `message`, `advice` and `findings`.
- If a part could not be read (`work.miss`), it is reported, the status is 1, counts are lower bounds, and JSON has `complete: false`.
- A change that can lose data or availability goes through `work.confirm` first, which stops it if a part could not be read.
- A command that ends early (an error, Ctrl-C) prints the results that it has gathered.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from errno import EBADF
from typing import TYPE_CHECKING, TypeVar

from metashell.cli.connection import cluster_of, open_admin
from metashell.cli.images import load_image, report_image
from metashell.cli.sources import name_stored, with_source
from metashell.cli.tool import can_ask, chosen_settings, confirm, parsed, run_sub_command
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.command import STATUS_FAILED, STATUS_OK, Tool, complain, drop_output
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import standard_output, write_objects
from metashell.common.terminal import CLEAR_LINE, terminal_line
from metashell.net.addresses import ConnectError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import SimpleNamespace

    from metashell.cli.admin.client import Admin
    from metashell.cli.cluster.live_facts import Advice, Adviser
    from metashell.common.command import TimeLimit
    from metashell.common.errors import MetashellError
    from metashell.common.options import CommandSpec
    from metashell.metadata.image import MetadataImage
    from metashell.net.addresses import ConnectError
    from metashell.quorum.observer.attach import LiveSource

T = TypeVar("T")
POLL_S = 0.1
POLL_MAX_S = 1.0
REFUSALS_MAX = 3
_CLEAR_SCREEN = "\x1b[H\x1b[J"


class NounTool(Tool):
    """The tool `metashell NOUN`. `commands` has a function for each command name; a noun without commands has one with the empty name."""

    def __init__(self, noun: str, spec: CommandSpec, commands: Mapping[str, Callable[[Work], None]]) -> None:
        super().__init__(f"metashell {noun}", self._run_words)
        self._spec = spec
        self._commands = commands

    def declared(self) -> CommandSpec:
        """Return the declaration of the command line, under the full name `metashell NOUN`."""
        return self._spec._replace(name=self.name)

    def _run_words(self, words: list[str]) -> int:
        declared = self.declared()
        if not declared.commands:
            return run_command(declared, words, self._commands[""])
        return run_sub_command(declared, words, self.perform)

    def perform(self, command: CommandSpec, words: Sequence[str], called: str = "") -> int:
        """Run a command and return its status. `called` is its name in the shell, which confirms every change. Errors: MetashellError."""
        act = self._commands[command.name.rpartition(" ")[2]]
        return run_command(command._replace(name=called or command.name), words, act, asks_always=bool(called))


def noun_tool(noun: str, spec: CommandSpec, commands: Mapping[str, Callable[[Work], None]]) -> NounTool:
    """Return the tool `metashell NOUN` with the functions of the commands that its command line declares."""
    return NounTool(noun, spec, commands)


def run_command(command: CommandSpec, words: Sequence[str], act: Callable[[Work], None], *, asks_always: bool = False) -> int:
    """Parse the words of a command, run it, and return its status."""
    values = parsed(command, with_source(command, words, chosen_settings))
    if values is None:
        return STATUS_OK
    name_stored(values, chosen_settings)
    return Work(command.name, values, asks_always=asks_always).run(act)


class Work:
    """One run of a command. `values` has its parsed options; `asks_always`: ask for confirmation even if nothing can be lost."""

    def __init__(self, name: str, values: SimpleNamespace, *, asks_always: bool = False) -> None:
        self.name = name
        self.values = values
        self._asks_always = asks_always
        self.form: str = values.output
        self.display = standard_output(note=self.note)
        self._opened: Admin | None = None
        self._followed: LiveSource | None = None
        self._loaded: MetadataImage | None = None
        self._adviser: Adviser | None = None
        self._status = STATUS_OK
        self._objects: list[Mapping[str, object]] = []
        self._columns: Sequence[str] = ()
        self._is_single = self._is_written = False
        self._noted: set[str] = set()
        self.holes: list[str] = []
        """The parts of the answer that could not be read, with the reasons; if there are any, counts are lower bounds."""
        self._told: list[str] = []
        self._is_mute = False
        self._shows_progress = False

    def run(self, act: Callable[[Work], None]) -> int:
        """Run the command, print the rest of the answer, and return the status. Errors: MetashellError, except AdminError."""
        from metashell.cli.admin.protocol import AdminError

        is_whole = False
        try:
            try:
                act(self)
                is_whole = True
            except AdminError as error:
                self.failed(error)
            except ConnectError as error:
                raise _explained(error, cluster_of(self.values)) from None
        finally:
            self._end_progress()
            self._close_admin()
            if self._followed is not None:
                self._followed.close()
            if is_whole or self._objects:
                self._finish()
        return self._status

    def _finish(self) -> None:
        try:
            self._write()
            sys.stdout.flush()
        except OSError as error:
            if not self._told:
                raise
            if self._lose_output(error):
                for text in self._told:
                    self.note(text)

    # ---- the cluster

    @property
    def admin(self) -> Admin:
        """The client of the cluster that the options or the environment name. Errors: UsageError, also if metadata on disk is named."""
        if self.stored is not None:
            raise UsageError(f"{self.stored} is metadata on disk: this needs a live cluster (-b or -C)", self.stored)
        if self._opened is None:
            self._opened = open_admin(self.values)
        return self._opened

    def _close_admin(self) -> None:
        if self._opened is not None:
            for address, reason in self._opened.skipped.items():
                self.note_once(f"{address}: {reason}; others were asked")
            self._opened.close()
            self._opened = None

    @property
    def stored(self) -> str | None:
        """The path of metadata on disk that was named in place of a cluster, None for a live cluster."""
        return getattr(self.values, "snapshot", None)

    @property
    def asks_controllers(self) -> bool:
        """Whether the metadata log is the source: controllers, or metadata on disk, were named. Errors: UsageError."""
        return self.stored is not None or bool(cluster_of(self.values).bootstrap_controller)

    @property
    def place(self) -> str:
        """The given addresses or path: a confirmation shows which cluster is about to be changed."""
        if self.stored is not None:
            return self.stored
        named = cluster_of(self.values)
        return str(named.bootstrap_controller or named.bootstrap_server)

    def image(self) -> MetadataImage:
        """Return the newest committed metadata, read by an observer that stays attached to the quorum, or the metadata on disk.

        Errors: MetashellError.
        """
        from metashell.quorum.observer.controllers import Refused

        if self.stored is not None:
            if self._loaded is None:
                self._loaded = load_image(self.stored, certain_only=False, max_decompressed=MAX_DECOMPRESSED).image
            image = self._loaded
        else:
            if self._followed is None:
                from metashell.cli.cluster.live_facts import attach_observer, named_target

                self._followed = attach_observer(named_target(cluster_of(self.values)))
            view = self._followed.view()
            if refusal := self._followed.refusal:
                raise Refused(refusal, credential=True)
            if view.trouble:
                self.miss(f"what has happened since: {view.trouble}")
            image = view.image
        if report_image(image, self.note_once):
            self.fail()
        return image

    def note_newer(self, levels: Mapping[str, int]) -> list[dict[str, object]]:
        """Note the finalized levels that are newer than this release knows, and return them as objects."""
        from metashell.metadata.image.image import newer_levels, newer_line, newer_values

        found = newer_levels(levels)
        if line := newer_line(found):
            self.note_once(line)
        return newer_values(found)

    # ---- the answer

    def rows(self, objects: Iterable[Mapping[str, object]], columns: Sequence[str] = (), *, none: str = "") -> None:
        """Report a list of objects, each with its `type`; in text as a table. For an empty list, text and table show `none` instead."""
        found = list(objects)
        if not found and none and self.form in ("text", "table"):
            self.note(f"{none}, as far as can be seen" if self.holes else none)
            return
        self._columns = columns
        if self.form == "text":
            self._table(found)
        else:
            self._gather(found)

    def one(self, found: Mapping[str, object], lines: Iterable[str]) -> None:
        """Report one thing: in text these lines, in JSON one object with `complete` and `missing`."""
        if self.form == "text":
            for line in lines:
                self.display.line(line)
            return
        self._is_single = not self._objects
        self._gather([{**found, **({} if "complete" in found else self._view())}])

    def tell(self, text: str, **fields: object) -> None:
        """Report a change that was made, or with --dry-run would be: in text a line, at once; in other formats an object of the fields."""
        self._end_progress()
        if self._is_mute:
            self.note(text)
            return
        try:
            if self.form == "text":
                self.display.line(terminal_line(text))
                sys.stdout.flush()
            else:
                self._told.append(text)
                self._gather([fields])
        except OSError as error:
            # The command goes on without its output: the remaining changes are still made.
            if self._lose_output(error):
                self.note(text)

    def _lose_output(self, error: OSError) -> bool:
        """Go on without standard output. Return whether results go to stderr instead: not if the reader of a pipe has left."""
        drop_output()
        self._status = STATUS_FAILED
        is_closed = isinstance(error, BrokenPipeError) or error.errno == EBADF
        self.note_once("standard output is closed; going on" if is_closed else f"standard output: {error.strerror}; going on")
        self._is_mute = not isinstance(error, BrokenPipeError)
        return self._is_mute

    def failed(self, error: MetashellError, **fields: object) -> None:
        """Report an error of one thing as a line on stderr, and with `fields` as an object; the status becomes 1."""
        from metashell.cli.admin.protocol import AdminError
        from metashell.cli.cluster.live_facts import Adviser, advice_lines, with_remark

        self._status = STATUS_FAILED
        self._end_progress()
        advice: list[Advice] = []
        reason: dict[str, object] = {"error": None, "message": str(error), "advice": ""}
        if isinstance(error, AdminError):
            error.right = error.right or (self._opened.right_refused if self._opened is not None else "")
            error.was_asked_again = self._opened is not None and self._opened.again > 0
            self._adviser = self._adviser or Adviser(self.image, lambda: cluster_of(self.values))
            advice = self._adviser.advice_on(error, has_image=bool(self._followed or (self._opened and self.asks_controllers)))
            reason = {"error": error.name, "message": error.words, "advice": error.remark}
        self.note(with_remark(error))
        for text in advice_lines(advice):
            self.note_once(text)
        if self.form != "text" and fields:
            self._gather([{**fields, "result": "failed", **reason, "findings": [one._asdict() for one in advice]}])

    def note(self, text: str) -> None:
        """Print a remark on stderr."""
        self._end_progress()
        complain(self.name, text)

    def note_once(self, text: str) -> None:
        """Print a remark on stderr, unless this run has printed the same one before."""
        if text not in self._noted:
            self._noted.add(text)
            self.note(text)

    def fail(self, text: str = "") -> None:
        """Set the status to 1, and print a remark if the answer itself does not show the reason."""
        self._status = STATUS_FAILED
        if text:
            self.note(text)

    def miss(self, *holes: str) -> None:
        """Report parts that could not be read, with the reasons: the status becomes 1, and a change needs --force."""
        for hole in holes:
            if hole not in self.holes:
                self.holes.append(hole)
                self.note_once(f"not seen: {hole}")
                self.fail()

    def at_least(self, count: int) -> int | str:
        """Return a count that may be too low, because parts could not be read; text and table then show it as `>=3`."""
        return f">={count}" if self.holes and self.form in ("text", "table") else count

    def _view(self) -> dict[str, object]:
        return {"complete": not self.holes, "missing": list(self.holes)}

    def _gather(self, objects: Iterable[Mapping[str, object]]) -> None:
        if self.form != "jsonl":
            self._objects += objects
            return

        write_objects(self.display, "jsonl", objects)
        sys.stdout.flush()

    def _table(self, objects: Iterable[Mapping[str, object]]) -> None:
        shown = ({name: _for_people(value) for name, value in found.items()} for found in objects)
        write_objects(self.display, "table", shown, columns=self._columns, constant=("type",))

    def _write(self) -> None:
        objects, self._objects = self._objects, []
        if not objects and self._is_written:
            return
        self._is_written = True
        if self.holes and self.form in ("json", "jsonl") and not self._is_single:
            objects.append({"type": "view", **self._view()})
        if self.form == "table":
            self._table(objects)
        elif self.form in ("json", "jsonl", "csv"):
            is_single = self._is_single and len(objects) == 1
            write_objects(self.display, self.form, objects, columns=self._columns, constant=("type",), single=is_single)

    # ---- confirmation

    @property
    def is_dry(self) -> bool:
        """Whether this is a dry run, which changes nothing."""
        return bool(getattr(self.values, "dry_run", False))

    def confirm(self, *warnings: str, question: str) -> None:
        """Print what can be lost, and return only if a person agrees, or with --yes; a dry run only prints the warnings.

        Without warnings it asks only if `asks_always` is set. Parts that could not be read stop the change, except with --force.
        Errors: UsageError if there is no terminal to ask on; MetashellError if the person does not agree, or if parts could not be read.
        """
        if self.holes and not self.is_dry:
            if not getattr(self.values, "force", False):
                raise MetashellError("nothing was changed, since not all of what it does can be seen; --force does it all the same")
            warnings = (f"--force overrides that this was not seen: {'; '.join(self.holes)}", *warnings)
        for warning in warnings:
            self.note(f"warning: {warning}")
        if self.is_dry or self.values.yes or not (warnings or (self._asks_always and can_ask())):
            return
        if not can_ask():
            raise UsageError("nothing was changed: add --yes to go on (there is no terminal on which to ask)", "--yes")
        if not confirm(question, self.place):
            raise MetashellError("nothing was changed")
        # The answer may have taken so long that the cluster has closed the connection, which is not noticed here.
        self._close_admin()

    @contextmanager
    def looking_after(self, look: Callable[[], str]) -> Iterator[None]:
        """Wrap a change: if it is not known whether it was made, the error also reports the state that `look` finds."""
        from metashell.cli.admin.protocol import UncertainError

        try:
            yield
        except UncertainError as error:
            try:
                found = look()
            except MetashellError as second:
                found = f"looking failed: {second}"
            raise UncertainError(f"{error}. Now {found}") from None

    # ---- progress and waiting

    def progress(self, text: str) -> None:
        """Show the progress on a terminal, in one line that the next call replaces."""
        if sys.stderr.isatty():
            self._shows_progress = True
            sys.stderr.write(f"{CLEAR_LINE}{terminal_line(text)}")
            sys.stderr.flush()

    def _end_progress(self) -> None:
        if self._shows_progress:
            self._shows_progress = False
            sys.stderr.write(CLEAR_LINE)
            sys.stderr.flush()

    def wait(self, what: str, look: Callable[[], str | None], limit_s: float) -> None:
        """Call `look` until it returns None; its text says what is left to wait for. Errors: MetashellError after `limit_s` seconds."""
        ends_at, pause = time.monotonic() + limit_s, POLL_S
        while (left := self._renewed(look)) is not None:
            if time.monotonic() > ends_at:
                raise MetashellError(f"{what}: not within {limit_s:g} s: {left}")
            self.progress(f"{what}: {left}")
            time.sleep(pause)
            pause = min(pause * 1.5, POLL_MAX_S)
        self._end_progress()

    def _renewed(self, look: Callable[[], T]) -> T:
        """Look at the cluster with all the time of --timeout, however long the command has run."""
        limit: TimeLimit | None = getattr(self.values, "time_limit", None)
        if limit is not None:
            limit.renew()
        return look()

    def renew_time(self) -> None:
        """Give the next calls all the time of --timeout: for a command that makes progress, or waits with a limit of its own."""
        self._renewed(lambda: None)

    def watch(self, every_s: int | None, show: Callable[[], bool]) -> None:
        """Call `show`, which adds to the answer, once, or with --watch every `every_s` seconds until it returns False.

        Each answer is printed by itself; on a terminal it replaces the one before. An error of the cluster is reported, and the watch goes
        on. If the cluster refuses the user, the pauses grow, and after a few refusals the error is raised. Ctrl-C ends it with status 130.
        """
        from metashell.cli.cluster.live_facts import is_refusal

        if every_s is None:
            show()
            return
        is_drawn = self.display.is_terminal and self.form in ("text", "table")
        goes_on, refusals = True, 0
        while goes_on:
            self._status = STATUS_OK
            self.holes.clear()
            if is_drawn:
                self.display.out.write(_CLEAR_SCREEN)
            try:
                goes_on, refusals = self._renewed(show), 0
            except UsageError:
                raise
            except MetashellError as error:
                refusals = refusals + 1 if is_refusal(error) else 0
                if refusals > REFUSALS_MAX:
                    raise
                self.failed(error)
            self._write()
            sys.stdout.flush()
            if goes_on:
                time.sleep(every_s * 2**refusals)


def _explained(error: ConnectError, named: SimpleNamespace) -> MetashellError:
    """Return an error that says what is at each address that did not answer; the error itself if one answers now."""
    from metashell.cli.cluster.live_facts import troubles_of_cluster

    text = troubles_of_cluster(named)
    return MetashellError(text) if text else error


def _for_people(value: object) -> object:
    """Return a value for a table: a list as one word, as in Kafka's tools (`1,2,3`), None for an empty one."""
    return (",".join(map(str, value)) or None) if isinstance(value, list) else value
