"""Parses the words of a step, on a command line or in a plan: `kill-broker 3`, `roll-brokers --max-offline 2`.

`FORMS` lists all steps. A test compares it with the help text in `metashell/cli/cluster/rehearse.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias, TypeVar

from metashell.codec.releases import METADATA_VERSION, NEWEST_LEVEL, OLDEST_LEVEL, metadata_version_name
from metashell.common.errors import PathError, UsageError
from metashell.common.options import did_you_mean, size_bytes, whole_number
from metashell.common.values import duration_ms, uuid_from_text, uuid_text
from metashell.metadata.image import MetadataImage
from metashell.rehearse.steps import (
    AFTER,
    AT,
    DEFAULT_NAME,
    EMPTY_ALL,
    RESOURCE_TYPES,
    AddBroker,
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    FeatureUpgrade,
    KillBroker,
    LoseController,
    LoseDirectory,
    LoseRack,
    Move,
    Reassign,
    RemoveController,
    RestartBroker,
    RollBrokers,
    Step,
    StepTimes,
    Unregister,
    UnregisterController,
    has_secrets,
    shown_words,
    step_text,
)

ReadMoves: TypeAlias = Callable[[str], tuple[Move, ...]]
"""Reads a file of reassignments. Errors: UsageError that begins with its name."""
ALL_PARTITIONS: Final = -1
_INT32_MAX: Final = (1 << 31) - 1
Made = TypeVar("Made")


class WordError(UsageError):
    """A word of a step is wrong: `index` is its place among the words.

    Shape: `is_path` says that it is a file that cannot be read; `excerpt` shows the wrong line of a file, if any.
    """

    def __init__(self, message: str, index: int, *, is_path: bool = False, excerpt: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.index = index
        self.is_path = is_path
        self.excerpt = excerpt


@dataclass(frozen=True, slots=True)
class ParsedStep:
    """A step and its words; `places` maps a field of the step to the word that it came from."""

    step: Step
    words: tuple[str, ...]
    places: Mapping[str, int]

    def place_of(self, field_name: str) -> int:
        """The word to point at for a field; the step's own name if the field came from no word."""
        return self.places.get(field_name, 0)

    @property
    def text(self) -> str:
        """The step as it was written, without values that may be secrets."""
        return step_text(self.step) if has_secrets(self.step) else shown_words(self.words)


class _Words:
    """The words of one step: first the options are taken out, then the others one by one. Each is noted with its field."""

    def __init__(self, words: Sequence[str], form: Form, at_ms: int | None, read_moves: ReadMoves) -> None:
        self.at_ms = at_ms
        self.read_moves = read_moves
        self.places: dict[str, int] = {}
        self._form = form
        self._end = len(words)
        self._plain: list[tuple[int, str]] = []
        self._options: dict[str, list[tuple[int, str]]] = {}
        rest = list(enumerate(words))[len(form.name.split()) :]
        while rest:
            index, word = rest.pop(0)
            if not word.startswith("--") or word == "--":
                self._plain.append((index, word))
                continue
            name, equals, value = word.partition("=")
            takes = form.options.get(name)
            if takes is None:
                raise WordError(f"{form.name}: unknown option {name}{did_you_mean(name, list(form.options))}", index)
            if takes and not equals:
                if not rest:
                    raise WordError(f"{form.name}: option {name} needs a value", index)
                index, value = rest.pop(0)
            elif equals and not takes:
                raise WordError(f"{form.name}: option {name} takes no value", index)
            self._options.setdefault(name, []).append((index, value))

    def next_word(self, label: str, field: str) -> str:
        """Take the next word. Errors: WordError if there is none."""
        if not self._plain:
            raise WordError(f"{self._form.name}: {label} is missing ({self._form.usage})", max(0, self._end - 1))
        index, word = self._plain.pop(0)
        self.places[field] = index
        return word

    def has_more(self) -> bool:
        return bool(self._plain)

    def number(self, label: str, field: str) -> int:
        word = self.next_word(label, field)
        return self.checked(field, lambda: _id(word))

    def option(self, name: str, field: str) -> str | None:
        """The value of an option, the last one if it is given twice; None without it."""
        found = self._options.get(name)
        if found is None:
            return None
        self.places[field], value = found[-1]
        return value

    def each(self, name: str, field: str) -> list[str]:
        """The values of an option that may be repeated."""
        found = self._options.get(name, [])
        if found:
            self.places[field] = found[-1][0]
        return [value for _, value in found]

    def duration(self, name: str, field: str) -> int | None:
        word = self.option(name, field)
        return None if word is None else self.checked(field, lambda: duration_ms(word))

    def count(self, name: str, field: str, default: int) -> int:
        word = self.option(name, field)
        return default if word is None else self.checked(field, lambda: whole_number(word))

    def checked(self, field: str, make: Callable[[], Made]) -> Made:
        """Return the result of `make`; a UsageError from it becomes one that points at the field's word."""
        try:
            return make()
        except UsageError as error:
            index = self.places.get(field, 0)
            excerpt = getattr(error, "excerpt", ())
            raise WordError(f"{self._form.name}: {error}", index, is_path=isinstance(error, PathError), excerpt=excerpt) from None

    def end(self) -> None:
        """Check that no word is left. Errors: WordError."""
        if self._plain:
            index, word = self._plain[0]
            raise WordError(f"{self._form.name}: unexpected word {word!r} ({self._form.usage})", index)


def _id(word: str) -> int:
    number = whole_number(word)
    if number > _INT32_MAX:
        raise UsageError(f"{word!r} does not fit in 32 bits", word)
    return number


def _kill_broker(words: _Words) -> Step:
    return KillBroker(words.number("ID", "broker"), at_ms=words.at_ms)


def _restart(words: _Words) -> Step:
    broker, down_ms = words.number("ID", "broker"), words.duration("--down", "down_ms")
    listed = words.option("--empty", "empty")
    empty = None if listed is None else words.checked("empty", lambda: _directories(listed))
    return RestartBroker(broker, down_ms, empty, at_ms=words.at_ms)


def _lose_directory(words: _Words) -> Step:
    broker = words.number("ID", "broker")
    word = words.next_word("DIRECTORY", "directory") if words.has_more() else None
    directory = None if word is None else words.checked("directory", lambda: _directory(word))
    return LoseDirectory(broker, directory, at_ms=words.at_ms)


def _directories(words: str) -> tuple[str, ...]:
    return () if words == EMPTY_ALL else tuple(map(_directory, words.split(",")))


def _directory(word: str) -> str:
    """Parse the id of a log directory, as brokers register it. Errors: UsageError."""
    try:
        return uuid_text(uuid_from_text(word))
    except ValueError:
        raise UsageError(f"{word!r} is not the id of a log directory: meta.properties and `brokers describe` show them", word) from None


def _roll(words: _Words) -> Step:
    brokers = None
    if words.has_more():
        listed = words.next_word("ID,...", "brokers")
        brokers = words.checked("brokers", lambda: tuple(map(_id, listed.split(","))))
    offline = words.count("--max-offline", "max_offline", 1)
    return RollBrokers(brokers, offline, words.duration("--down", "down_ms"), at_ms=words.at_ms)


def _lose_rack(words: _Words) -> Step:
    return LoseRack(words.next_word("RACK", "rack"), at_ms=words.at_ms)


def _unregister(words: _Words) -> Step:
    return Unregister(words.number("ID", "broker"), at_ms=words.at_ms)


def _unregister_controller(words: _Words) -> Step:
    return UnregisterController(words.number("ID", "controller"), at_ms=words.at_ms)


def _remove_controller(words: _Words) -> Step:
    return RemoveController(words.number("ID", "controller"), at_ms=words.at_ms)


def _reassign(words: _Words) -> Step:
    path = words.next_word("FILE", "moves")
    limit = words.option("--throttle", "throttle_bytes")
    throttle = None if limit is None else words.checked("throttle_bytes", lambda: _rate(limit))
    return Reassign(words.checked("moves", lambda: words.read_moves(path)), throttle, at_ms=words.at_ms)


def _rate(word: str) -> int:
    rate = size_bytes(word)
    if rate == 0:
        raise UsageError(f"{word!r}: nothing would ever move", word)
    return rate


def _add_broker(words: _Words) -> Step:
    return AddBroker(words.number("ID", "broker"), words.option("--rack", "rack"), at_ms=words.at_ms)


def _elect(words: _Words) -> Step:
    kind = words.next_word("preferred|unclean", "unclean")
    if kind not in ("preferred", "unclean"):
        raise WordError(
            f"elect: {kind!r} is not preferred or unclean{did_you_mean(kind, ['preferred', 'unclean'])}", words.places["unclean"]
        )
    named: list[tuple[str, int]] = []
    while words.has_more():
        word = words.next_word("TOPIC:PARTITION,...", "partitions")
        named += words.checked("partitions", lambda word=word: _partitions(word))  # type: ignore[misc]
    return Elect(tuple(dict.fromkeys(named)) or None, kind == "unclean", at_ms=words.at_ms)


def _partitions(word: str) -> list[tuple[str, int]]:
    """The partitions in `orders:0`, `orders:0,1,2` or, for all of them, `orders`. A topic's name has no colon."""
    topic, mark, numbers = word.partition(":")
    if not topic or (mark and not all(number.isascii() and number.isdigit() for number in numbers.split(","))):
        raise UsageError(f"{word!r} is not TOPIC:PARTITION,... such as orders:0,1", word)
    return [(topic, _id(number)) for number in numbers.split(",")] if mark else [(topic, ALL_PARTITIONS)]


def _feature(words: _Words) -> Step:
    return _feature_step(words, downgrade=False)


def _feature_down(words: _Words) -> Step:
    return _feature_step(words, downgrade=True)


def _feature_step(words: _Words, *, downgrade: bool) -> Step:
    name, mark, level = words.next_word("NAME", "feature").partition("=")
    if mark:
        words.places["level"] = words.places["feature"]
    else:
        level = words.next_word("LEVEL", "level")
    number = words.checked("level", lambda: _level(name, level))
    unsafe = downgrade and words.option("--unsafe", "unsafe") is not None
    return FeatureUpgrade(name, number, downgrade, unsafe, at_ms=words.at_ms)


def _level(feature: str, word: str) -> int:
    if feature == METADATA_VERSION and not word.isdigit():
        names = {metadata_version_name(level): level for level in range(OLDEST_LEVEL, NEWEST_LEVEL + 1)}
        if word not in names:
            raise UsageError(f"{word!r} is not a metadata.version{did_you_mean(word, list(names))}", word)
        return names[word]
    number = whole_number(word)
    if number >= 1 << 15:
        raise UsageError(f"{word!r} is not a level", word)
    return number


def _lose_controller(words: _Words) -> Step:
    controller = words.number("ID", "controller") if words.has_more() else None
    return LoseController(controller, words.duration("--back", "back_after_ms"), at_ms=words.at_ms)


def _create(words: _Words) -> Step:
    topic = words.next_word("NAME", "topic")
    partitions = words.count("--partitions", "partitions", -1)
    replication = words.count("--replication-factor", "replication_factor", -1)
    settings = words.each("--config", "configs")
    configs = words.checked("configs", lambda: tuple(_setting(word) for word in settings))
    return CreateTopic(topic, partitions, replication, (), configs, at_ms=words.at_ms)


def _delete_topic(words: _Words) -> Step:
    return DeleteTopic(words.next_word("NAME", "topic"), at_ms=words.at_ms)


def _set(words: _Words) -> Step:
    type, name = _resource(words)
    values: list[tuple[str, str | None]] = []
    while True:
        word = words.next_word("KEY=VALUE", "values")
        values.append(words.checked("values", lambda word=word: _setting(word)))  # type: ignore[misc]
        if not words.has_more():
            return ConfigSet(type, name, tuple(values), at_ms=words.at_ms)


def _unset(words: _Words) -> Step:
    type, name = _resource(words)
    keys: list[tuple[str, str | None]] = [(words.next_word("KEY", "values"), None)]
    while words.has_more():
        keys.append((words.next_word("KEY", "values"), None))
    return ConfigSet(type, name, tuple(keys), at_ms=words.at_ms)


def _resource(words: _Words) -> tuple[int, str]:
    word = words.next_word("TYPE:NAME", "resource_name")
    type, mark, name = word.partition(":")
    type = type.lower()
    if not mark or not name or type not in RESOURCE_TYPES:
        known = ", ".join(f"{kind}:NAME" for kind in RESOURCE_TYPES)
        raise WordError(f"config: {word!r} is none of {known}", words.places["resource_name"])
    words.places["resource_type"] = words.places["resource_name"]
    is_default = name == DEFAULT_NAME and type == "broker"
    return RESOURCE_TYPES[type], "" if is_default else name


def _setting(word: str) -> tuple[str, str]:
    key, mark, value = word.partition("=")
    if not mark or not key:
        # The value may be a secret, so the message does not repeat it.
        raise UsageError(f"{key!r} is not KEY=VALUE", key)
    return key, value


class Form(NamedTuple):
    """The form of a step. `options` are its options, True for those that take a value."""

    name: str
    arguments: str
    make: Callable[[_Words], Step]
    options: Mapping[str, bool] = {}

    @property
    def usage(self) -> str:
        return f"{self.name} {self.arguments}".rstrip()


FORMS: Final = (
    Form("kill-broker", "ID", _kill_broker),
    Form("restart-broker", "ID [--down TIME] [--empty all|DIRECTORY,...]", _restart, {"--down": True, "--empty": True}),
    Form("roll-brokers", "[ID,...] [--max-offline N] [--down TIME]", _roll, {"--max-offline": True, "--down": True}),
    Form("lose-rack", "RACK", _lose_rack),
    Form("lose-directory", "ID [DIRECTORY]", _lose_directory),
    Form("unregister", "ID", _unregister),
    Form("unregister-controller", "ID", _unregister_controller),
    Form("remove-controller", "ID", _remove_controller),
    Form("reassign", "FILE [--throttle SIZE]", _reassign, {"--throttle": True}),
    Form("add-broker", "ID [--rack RACK]", _add_broker, {"--rack": True}),
    Form("elect", "preferred|unclean [TOPIC[:PARTITION,...]...]", _elect),
    Form("feature upgrade", "NAME LEVEL", _feature),
    Form("feature downgrade", "NAME LEVEL [--unsafe]", _feature_down, {"--unsafe": False}),
    Form("lose-controller", "[ID] [--back TIME]", _lose_controller, {"--back": True}),
    Form(
        "topic create",
        "NAME [--partitions N] [--replication-factor N] [--config KEY=VALUE]",
        _create,
        {"--partitions": True, "--replication-factor": True, "--config": True},
    ),
    Form("topic delete", "NAME", _delete_topic),
    Form("config set", "TYPE:NAME KEY=VALUE...", _set),
    Form("config unset", "TYPE:NAME KEY...", _unset),
)
FIRST_WORDS: Final = tuple(dict.fromkeys(form.name.split()[0] for form in FORMS))
THEN: Final = "then"
"""The word between two steps on a command line."""


def parse_step(words: Sequence[str], read_moves: ReadMoves, at_ms: int | None = None) -> ParsedStep:
    """Parse the words of a step. Errors: WordError."""
    form = _form(words)
    taken = _Words(words, form, at_ms, read_moves)
    step = form.make(taken)
    taken.end()
    return ParsedStep(step, tuple(words), taken.places)


def _form(words: Sequence[str]) -> Form:
    if not words:
        raise WordError("a step is missing", 0)
    for form in FORMS:
        name = form.name.split()
        if list(words[: len(name)]) == name:
            return form
    seconds = [form.name.split()[1] for form in FORMS if form.name.startswith(f"{words[0]} ")]
    if seconds:
        given = f"{words[1]!r} is not one of" if len(words) > 1 else "follows with one of"
        raise WordError(f"{words[0]}: {given} {', '.join(seconds)}", min(1, len(words) - 1))
    raise WordError(f"unknown step {words[0]!r}{did_you_mean(words[0], FIRST_WORDS)}", 0)


def with_all_partitions(step: Step, image: MetadataImage) -> Step:
    """The step with all partitions of each topic that was named without partitions. An unknown topic stays as it is."""
    if not isinstance(step, Elect) or step.partitions is None:
        return step
    named: list[tuple[str, int]] = []
    for topic, partition in step.partitions:
        found = image.topics.by_name.get(topic) if partition == ALL_PARTITIONS else None
        named += [(topic, partition)] if found is None else [(topic, id) for id in sorted(found.partition_ids())]
    return replace(step, partitions=tuple(dict.fromkeys(named)))


def parse_steps(words: Sequence[str], read_moves: ReadMoves) -> tuple[ParsedStep, ...]:
    """Parse the steps of a command line, with `then` between two steps and `at TIME` or `after TIME` before one. Errors: WordError."""
    times = StepTimes()
    steps = []
    for start, step in split_steps(words):
        word = step[0] if step[:1] in ([AT], [AFTER]) else None
        try:
            at_ms = times.next(word, step[1] if word and len(step) > 1 else "")
            steps.append(parse_step(step[2:] if word else step, read_moves, at_ms))
        except WordError:
            raise
        except UsageError as error:
            raise WordError(str(error), start) from None
    return tuple(steps)


def split_steps(words: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Split words at `then`; return the words of each step and the place of its first one. Errors: WordError for an empty step."""
    steps: list[tuple[int, list[str]]] = [(0, [])]
    for index, word in enumerate(words):
        if word == THEN:
            if not steps[-1][1]:
                raise WordError("a step is missing before `then`", index)
            steps.append((index + 1, []))
        else:
            steps[-1][1].append(word)
    if len(steps) > 1 and not steps[-1][1]:
        raise WordError("a step is missing after `then`", len(words) - 1)
    return steps
