"""Generated credentials fit wherever charts put them."""

from __future__ import annotations

import base64
import re
import uuid
from urllib.parse import quote

import pytest
import yaml
from cryptography.fernet import Fernet

from controller.domain.credentials.generate import (
    KINDS,
    SSH_PUBLIC_KEY,
    CredentialUnusable,
    generate,
    private_name,
    public_key_of,
)
from tests.fakes.world import FakeRandomness

DRAWN = [kind for kind in KINDS if kind != SSH_PUBLIC_KEY]


@pytest.mark.parametrize("kind", DRAWN)
def test_no_two_credentials_are_the_same(kind: str) -> None:
    source = FakeRandomness()
    assert len({generate(kind, source) for _ in range(20)}) == 20


@pytest.mark.parametrize("kind", ["password", "hex32", "hex64", "uuid"])
def test_unquoted_in_urls_ini_files_and_yaml_a_credential_stays_itself(kind: str) -> None:
    source = FakeRandomness()
    for _ in range(200):
        text = generate(kind, source)
        assert quote(text, safe="") == text
        assert not set(text) & set("$%'\"\\#;= ")
        assert yaml.safe_load(f"value: {text}") == {"value": text}


def test_a_password_has_190_bits_and_begins_with_a_letter() -> None:
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]{31}", generate("password", FakeRandomness()))


@pytest.mark.parametrize(("kind", "digits"), [("hex32", 32), ("hex64", 64)])
def test_hexadecimal_credentials_have_the_digits_they_say_and_never_look_like_a_number(
    kind: str, digits: int
) -> None:
    source = FakeRandomness()
    for _ in range(20):
        assert re.fullmatch(rf"[a-f][0-9a-f]{{{digits - 1}}}", generate(kind, source))


def test_a_uuid_is_a_random_one() -> None:
    assert uuid.UUID(generate("uuid", FakeRandomness())).version == 4


def test_a_fernet_key_encrypts() -> None:
    key = Fernet(generate("fernet", FakeRandomness()))
    assert key.decrypt(key.encrypt(b"token")) == b"token"


def test_a_key_encryption_key_has_32_octets() -> None:
    assert len(base64.b64decode(generate("base64-32", FakeRandomness()), validate=True)) == 32


def test_a_public_key_belongs_to_its_private_key() -> None:
    private = generate("ssh-private-key", FakeRandomness())
    assert private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert public_key_of(private) == public_key_of(private)
    assert public_key_of(private).startswith("ssh-ed25519 ")
    assert private_name("ssh-public-key") == "ssh-private-key"


@pytest.mark.parametrize("text", ["", "ssh-ed25519 AAAA", "-----BEGIN OPENSSH PRIVATE KEY-----\nxx\n"])
def test_what_is_no_private_key_is_reported_without_showing_it(text: str) -> None:
    with pytest.raises(CredentialUnusable) as caught:
        public_key_of(text)
    assert "AAAA" not in str(caught.value)
