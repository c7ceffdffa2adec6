"""The members of lines for the records of a coordinator's log, and what the tight loop over them needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.codec.coordinator import PREFIX_SIZE, int16_at
from metashell.dump.fast_loop import Made, ValueText
from metashell.dump.keyed_loop import KeyTexts, Versions
from metashell.dump.own.members import Headers, Members, WantsType, fault_text, name_text, number_text
from metashell.errors import DecodeError

if TYPE_CHECKING:
    from metashell.codec.coordinator_text import CoordinatorTexts


class KeyedDecoder:
    """Records of a coordinator's log."""

    shows_headers = False

    def __init__(self, texts: CoordinatorTexts) -> None:
        self.texts = texts

    def members(self, key: bytes | None, value: bytes | None, headers: Headers) -> Members:
        shown = self.texts.text(key, value)
        text = (
            f'"type":{name_text(shown.type_name)},"type_id":{number_text(shown.type_id)},"key":{shown.key},'
            f'"version":{number_text(shown.version)},"data":{shown.data}{shown.derived}'
        )
        if value is None and shown.fault is None:
            return Members(f'{text},"tombstone":true', shown.type_id, shown.key, None)
        return Members(f"{text}{fault_text(shown.fault)}", shown.type_id, shown.key, f"{shown.data}{shown.derived}", shown.fault)


def keyed_loop_texts(texts: CoordinatorTexts, wants_type: WantsType) -> KeyTexts:
    """What the tight loop needs of a coordinator's log: the text of a key, and the writers of its values; None for unwanted types."""

    def versions(type_id: bytes) -> Versions | None:
        number = int16_at(type_id, 0)
        return Made(lambda version: _keyed_value(texts, number, version)) if wants_type(number) else None

    values = Made(versions)

    def make(key: bytes) -> tuple[str, Versions | None]:
        name, key_text = texts.usual_key(key)
        return f'"type":"{name}","type_id":{int16_at(key, 0)},"key":{key_text},"version":', values[key[:PREFIX_SIZE]]

    return KeyTexts(make)


def _keyed_value(texts: CoordinatorTexts, type_id: int, raw_version: bytes) -> tuple[ValueText | None, str]:
    if len(raw_version) < PREFIX_SIZE:
        raise DecodeError("no usual value")
    version = int16_at(raw_version, 0)
    return texts.usual_value(type_id, version), f'{version},"data":'
