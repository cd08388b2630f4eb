"""Values of Secrets for one pass at one bundle, and the logins that they give: each Secret is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US, UNUSED_ANNOTATION
from controller.domain.credentials.certificates import AUTHORITY, CERTIFICATE
from controller.domain.credentials.clouds_yaml import KeyOfSecret
from controller.domain.credentials.rotation.accounts import Account, Release
from controller.domain.credentials.rotation.servers import ServerPlace, server_of
from controller.domain.shared.secret_text import as_put_in, decode_text
from controller.domain.values.chart_values import Values
from controller.domain.values.secret_refs import find_references, reserved
from controller.errors import SecretReserved, ServerUnavailable, SpecInvalid
from controller.ports.accounts import ServerLogin
from controller.ports.kubernetes import SECRET, Kube, KubeObject, KubeObjects

PRIVATE_KEY = "tls.key"


class SecretValues:
    """A reader of `$secretRef` leaves. Holds what it read as long as one pass lasts."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._read: dict[str, dict[str, str] | None] = {}
        self._generated: frozenset[str] | None = None

    def generated(self) -> frozenset[str]:
        """Every text in the Secrets that we made: what an error might quote when nothing else is known."""
        if self._generated is None:
            labels = f"{MANAGED_BY}={MANAGED_BY_US}"
            self._generated = _texts(self._kube.list(SECRET, self._namespace, labels=labels))
        return self._generated

    def of_no_release(self) -> frozenset[str]:
        """Every text in the Secrets that no release has made: ours, and those that people keep."""
        labels = f"{MANAGED_BY}!=Helm,owner!=helm"
        return _texts(self._kube.list(SECRET, self._namespace, labels=labels))

    def referenced(self, values: Values) -> frozenset[str]:
        """The texts that the values refer to, of those that are there."""
        try:
            references = find_references(values)
        except SpecInvalid:
            return frozenset()
        found = set()
        for reference in references:
            if reference.prefix is not None:
                continue
            with suppress(SecretReserved):
                found.add(self.lookup(reference.name, reference.key))
        return frozenset(text for text in found if text)

    def lookup(self, name: str, key: str) -> str | None:
        """The text under a key of a Secret; None when either is missing, or is not UTF-8 text.

        One that is about to be deleted counts as missing: nothing begins with what goes a moment later.
        Raises SecretReserved.
        """
        if name not in self._read:
            secret = self._kube.get(SECRET, name, self._namespace)
            what = reserved(name, str((secret or {}).get("type") or ""))
            if what:
                raise SecretReserved(name, what)
            there = secret is not None and not _is_unused(secret)
            self._read[name] = dict((secret or {}).get("data") or {}) if there else None
        return decode_text((self._read[name] or {}).get(key) or "")


def _is_unused(secret: KubeObject) -> bool:
    return UNUSED_ANNOTATION in (secret["metadata"].get("annotations") or {})


def _texts(secrets: KubeObjects) -> frozenset[str]:
    return frozenset(
        text
        for secret in secrets
        for encoded in (secret.get("data") or {}).values()
        for text in _both(encoded)
    )


def _both(encoded: str) -> Iterator[str]:
    """As values have it, and as it was put in."""
    yield from filter(None, {decode_text(encoded), as_put_in(encoded)})


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
