"""Pretended credentials have the forms of the real ones, and say nothing about which names are known."""

from __future__ import annotations

from base64 import b64decode
from collections import Counter

from metashell.net.sasl import ScramServer, StaticCredentials
from metashell.net.scram_credentials import KAFKA_FORM, Form, Pretence, ScramCredential, form_of, make_credential

MECHANISM = "SCRAM-SHA-256"
NAMES = [f"user{number}" for number in range(400)]


def known(form: Form, salt: bytes = b"") -> ScramCredential:
    salt = salt or (b"1abcdefghijklmnopqrstuvwxy" if form.salt_size == 0 else bytes(range(128, 128 + form.salt_size)))
    return ScramCredential(salt, b"s" * 32, b"k" * 32, form.iterations)


def test_without_users_each_name_looks_like_one_that_kafkas_tool_made() -> None:
    pretence = Pretence(lambda mechanism: [], ["a secret"])
    shown = [pretence.credential(MECHANISM, name) for name in NAMES]
    assert {form_of(each) for each in shown} == {KAFKA_FORM}
    sizes = Counter(len(each.salt) for each in shown)
    # 2^130 is 1.68 times 36^25, so numbers of 26 digits begin with 1 alone.
    assert set(sizes) <= {24, 25, 26} and sizes[25] > 200 and sizes[26] > 100
    assert all(each.salt.startswith(b"1") for each in shown if len(each.salt) == 26)


def test_forms_are_those_of_the_known_users_as_often_as_those_have_them() -> None:
    users = [known(Form(8192, 0))] * 3 + [known(Form(4096, 24))]
    pretence = Pretence(lambda mechanism: users, ["a secret"])
    counted = Counter(form_of(pretence.credential(MECHANISM, name)) for name in NAMES)
    assert set(counted) == {Form(8192, 0), Form(4096, 24)}
    assert 250 < counted[Form(8192, 0)] < 350


def test_a_name_always_looks_the_same_on_all_controllers_with_one_secret_and_after_a_user_is_added() -> None:
    few, more = [known(Form(8192, 0))], [known(Form(8192, 0)), known(Form(8192, 0), b"1zzzzzzzzzzzzzzzzzzzzzzzzz")]
    one, other, stranger = (Pretence(lambda mechanism: few, [secret]) for secret in ("a", "a", "b"))
    grown = Pretence(lambda mechanism: more, ["a"])
    for name in NAMES[:20]:
        assert one.credential(MECHANISM, name) == other.credential(MECHANISM, name) == grown.credential(MECHANISM, name)
        assert one.credential(MECHANISM, name).salt != stranger.credential(MECHANISM, name).salt
        assert one.credential("SCRAM-SHA-512", name).salt != one.credential(MECHANISM, name).salt
        assert len(one.credential("SCRAM-SHA-512", name).stored_key) == 64


def test_without_a_secret_the_credentials_themselves_are_one() -> None:
    users = [known(Form(4096, 0))]
    one, other = (Pretence(lambda mechanism: users) for _ in range(2))
    assert one.credential(MECHANISM, "x") == other.credential(MECHANISM, "x")
    empty = Pretence(lambda mechanism: [])
    assert empty.credential(MECHANISM, "x") == empty.credential(MECHANISM, "x") != Pretence(lambda mechanism: []).credential(MECHANISM, "x")


def test_the_first_answer_to_an_unknown_name_cannot_be_told_from_that_to_a_known_one() -> None:
    class Users(StaticCredentials):
        """Users of Kafka's tool, with a count of the administrator's."""

        def __init__(self) -> None:
            super().__init__({})
            self.known = [make_credential(MECHANISM, "pw", salt=b"1abcdefghijklmnopqrstuvwxy", iterations=8192)]
            self.pretence = Pretence(lambda mechanism: self.known, ["a secret"])

        def scram(self, mechanism: str, username: str) -> ScramCredential | None:
            return self.known[0] if username == "alice" else None

        def pretend(self, mechanism: str, username: str, *, is_token: bool) -> ScramCredential:
            return self.pretence.credential(mechanism, username)

    users = Users()
    seen = set()
    for name in ("alice", "nobody", "root", "x"):
        answer = ScramServer(MECHANISM, users).next(f"n,,n={name},r=abc".encode()).decode()
        fields = dict(field.split("=", 1) for field in answer.split(","))
        seen.add(form_of(ScramCredential(b64decode(fields["s"]), b"", b"", int(fields["i"]))))
    assert seen == {Form(8192, 0)}
