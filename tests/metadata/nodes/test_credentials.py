"""SCRAM credentials and delegation tokens."""

from __future__ import annotations

from metashell.codec.registry import message_type
from metashell.metadata.image.settings import DelegationToken, ScramCredential
from tests.metadata.nodes.stand_in import at, kafka_root, own_root

SCRAM = {2: {"alice": ScramCredential(b"\x01\x02", b"\xab" * 3, b"\xff", 8192), "a/b": ScramCredential(b"", b"", b"", 1)}}
TOKEN = DelegationToken("User:tom", "User:req", ("User:ann", "User:bea"), 1, 3, 2, "Js6nET9vRSC_eUM7mPCo-Q")


def test_both_mechanisms_are_there_with_and_without_users():
    scram = at(kafka_root(scram=SCRAM), "image/scram")
    assert scram.child_names() == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert scram.child("SCRAM-SHA-256").child_names() == []
    assert scram.child("SCRAM-SHA-512").child_names() == ["a/b", "alice"]
    assert scram.child("UNKNOWN") is None


def test_a_mechanism_that_java_does_not_know_shows_in_our_voice_only():
    scram = {7: SCRAM[2]}
    assert "UNKNOWN-7" in at(own_root(scram=scram), "image/scram").child_names()
    assert at(own_root(scram=scram), "image/scram/UNKNOWN-7/alice").value()["mechanism"] == 7
    assert len(at(kafka_root(scram=scram), "image/scram").child_names()) == 2


def test_kafka_prints_credentials_in_hex_and_its_own_redaction_hides_every_field():
    leaf = at(kafka_root(scram=SCRAM), "image/scram/SCRAM-SHA-512/alice")
    assert leaf.kafka_text() == "ScramCredentialData(salt=0102, storedKey=ababab, serverKey=ff, iterations=8192)"
    assert leaf.kafka_text(redact=True) == (
        "ScramCredentialData(salt=[redacted], storedKey=[redacted], serverKey=[redacted], iterations=[redacted])"
    )


def test_our_voice_redacts_salt_and_keys_unless_asked_and_gives_the_records_json():
    leaf = at(own_root(scram=SCRAM), "image/scram/SCRAM-SHA-512/alice")
    message = message_type("metadata", "UserScramCredentialRecord")
    clear = message.to_json_value(message.cls(name="alice", mechanism=2, **SCRAM[2]["alice"]._asdict()), 0)
    assert leaf.value(redact=False) == clear
    assert leaf.value() == clear | dict.fromkeys(("salt", "storedKey", "serverKey"), "[redacted]")
    assert leaf.envelope_info == {"mechanism": "SCRAM-SHA-512", "sensitive": True}
    assert leaf.type == "scram"
    assert at(own_root(scram=SCRAM), "image/scram/SCRAM-SHA-512/a%2Fb").value()["name"] == "a/b"


def test_a_token_is_written_with_kafkas_unbalanced_parentheses():
    leaf = at(kafka_root(tokens={TOKEN.token_id: TOKEN}), f"image/delegationToken/{TOKEN.token_id}")
    assert leaf.kafka_text() == (
        "DelegationTokenDatatokenId=Js6nET9vRSC_eUM7mPCo-Q(owner=User:tom(tokenRequester=User:req"
        "(renewers=User:ann User:bea, issueTimestamp=1, maxTimestamp=3), expiryTimestamp=2"
    )


def test_a_tokens_value_is_the_json_of_its_record():
    leaf = at(own_root(tokens={TOKEN.token_id: TOKEN}), f"image/delegationToken/{TOKEN.token_id}")
    message = message_type("metadata", "DelegationTokenRecord")
    assert leaf.value() == message.to_json_value(message.cls(**TOKEN._asdict()), 0)
    assert leaf.type == "token"
