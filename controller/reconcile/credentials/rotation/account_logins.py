"""How the servers of accounts are administered: by the Secrets that the values of releases name."""

from __future__ import annotations

from collections.abc import Iterable

from controller.domain.credentials.certificates import AUTHORITY, CERTIFICATE
from controller.domain.credentials.clouds_yaml import KeyOfSecret
from controller.domain.credentials.rotation.accounts import Account, Release
from controller.domain.credentials.rotation.servers import ServerPlace, server_of
from controller.errors import SecretReserved, ServerUnavailable
from controller.ports.accounts import ServerLogin
from controller.ports.kubernetes import Kube
from controller.reconcile.shared.secret_values import SecretValues

PRIVATE_KEY = "tls.key"


class AccountLogins:
    """For one pass: each Secret is read once."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._namespace = namespace
        self._values = SecretValues(kube, namespace)

    def of(self, account: Account, releases: Iterable[Release]) -> ServerLogin:
        """The login of the administrator of the account's server. Raises ServerUnavailable, KubeError."""
        release = next((one for one in releases if one.name == account.release), None)
        place = server_of(account, release, self._namespace) if release else None
        if place is None:
            raise ServerUnavailable(
                f"the values of release {account.release} do not name an administrator of its "
                f"{account.server}"
            )
        return self.at(place)

    def at(self, place: ServerPlace) -> ServerLogin:
        """The login of the administrator of this server. Raises ServerUnavailable, KubeError."""
        password = self._text(place.password)
        if not password:
            raise ServerUnavailable(f"the password of the administrator of {place.shown} is missing")
        if place.client:
            return self._with_certificate(place, password)
        ca = place.keystone.ca if place.keystone else None
        return ServerLogin(place, password, self._text(ca) if ca else "")

    def _with_certificate(self, place: ServerPlace, password: str) -> ServerLogin:
        found = [self._text(KeyOfSecret(place.client, key)) for key in (AUTHORITY, CERTIFICATE, PRIVATE_KEY)]
        if not all(found):
            # Never in clear, nor without knowing the server.
            raise ServerUnavailable(f"Secret {place.client} has no certificate to show {place.shown}")
        return ServerLogin(place, password, *found)

    def _text(self, source: KeyOfSecret | str) -> str:
        if isinstance(source, str):
            return source
        try:
            return self._values.lookup(source.name, source.key) or ""
        except SecretReserved as error:
            raise ServerUnavailable(str(error)) from None
