"""Access control entries."""

from __future__ import annotations

from metashell.codec.registry import message_type
from metashell.metadata.image.settings import Acl, AclsDelta, AclsImage
from tests.metadata.nodes.stand_in import at, kafka_root, own_root

ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"
ACL = Acl(2, "ord", 4, "User:bob", "10.0.0.5", 8, 3)


def test_an_entry_is_written_as_4_3_1_writes_it():
    assert at(kafka_root(acls={ID: ACL}), f"image/acls/byId/{ID_TEXT}").kafka_text() == (
        "StandardAcl[resourceType=TOPIC, resourceName=ord, patternType=PREFIXED, principal=User:bob, host=10.0.0.5"
        ", operation=DESCRIBE, permissionType=ALLOW]"
    )


def test_codes_without_a_word_are_unknown():
    text = at(kafka_root(acls={ID: ACL._replace(resource_type=99, operation=-1)}), f"image/acls/byId/{ID_TEXT}").kafka_text()
    assert "resourceType=UNKNOWN" in text and "operation=UNKNOWN" in text


def test_an_entrys_value_is_the_json_of_its_record_with_words_beside_it():
    message = message_type("metadata", "AccessControlEntryRecord")
    record = message.cls(id=ID, **ACL._asdict())
    delta = AclsDelta(AclsImage())
    delta.replay_access_control_entry(record)
    root = own_root(acls=delta.apply().by_id)
    leaf = at(root, f"image/acls/byId/{ID_TEXT}")
    assert leaf.value() == message.to_json_value(record, 0)
    assert leaf.type == "acl"
    assert leaf.envelope_info == {
        "resource_type": "TOPIC",
        "pattern_type": "PREFIXED",
        "operation": "DESCRIBE",
        "permission_type": "ALLOW",
    }
    assert at(root, f"acl/id/{ID_TEXT}").value() == leaf.value()


def test_entries_are_sorted_by_the_text_of_their_id_and_only_ids_resolve():
    ids = [bytes([first]) * 16 for first in (0, 104, 248, 252, 208)]
    directory = at(kafka_root(acls=dict.fromkeys(ids, ACL)), "image/acls/byId")
    names = directory.child_names()
    assert list(names) == sorted(names) and len(names) == 5
    for name in ("", "x", names[0][:-1], "_____________________w="):
        assert directory.child(name) is None
