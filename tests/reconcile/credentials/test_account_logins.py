"""With what a server is asked for accounts: never in clear where it is encrypted."""

from __future__ import annotations

import base64

import pytest

from controller.domain.credentials.rotation.accounts import Server
from controller.domain.credentials.rotation.servers import ServerPlace
from controller.errors import ServerUnavailable
from controller.reconcile.shared.secret_values import AccountLogins
from tests.fakes.kube import FakeKube

PLACE = ServerPlace(Server.DATABASE, "mariadb", 3306, "root", "of-root", client="nova-client")
PAIR = {"ca.crt": "the authority", "tls.crt": "the certificate", "tls.key": "the key"}


def logins(texts: dict[str, str]) -> AccountLogins:
    kube = FakeKube()
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    meta = {"name": "nova-client", "namespace": "openstack"}
    kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data})
    return AccountLogins(kube, "openstack")


def test_an_encrypted_server_is_shown_the_certificate_that_the_values_name() -> None:
    login = logins(PAIR).at(PLACE)
    assert (login.ca, login.certificate, login.key) == ("the authority", "the certificate", "the key")
    assert "the key" not in repr(login)


@pytest.mark.parametrize("missing", PAIR)
def test_without_one_of_its_parts_the_server_is_not_asked(missing: str) -> None:
    texts = {key: text for key, text in PAIR.items() if key != missing}
    with pytest.raises(ServerUnavailable, match="Secret nova-client has no certificate to show mariadb:3306"):
        logins(texts).at(PLACE)
