"""Which credentials of a region that runs already the controller has to know before it takes the region over.

Pure. Values for OpenStack-Helm's charts have each credential in its place, whoever writes them. So the place
of a reference in the new values is where the values of the running release have the text. Databases, brokers
and encrypted data know these texts: a new one would lock the region out of itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.domain.credentials.generate import SSH_PUBLIC_KEY
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.chart_values import DocumentPath, Values, format_path, lookup
from controller.domain.values.option_files import OptionFiles, from_option_value, is_written_as_it_is
from controller.domain.values.secret_refs import SecretReference

# What services use where neither a chart nor a person gives them a key (heat.common.crypt,
# barbican.plugin.crypto.simple_crypto until 2025.1, octavia.certificates.common.local).
_OF_PACKAGES = {
    ("orchestration", "auth-encryption-key"): "notgood but just long enough i t",
    ("key-manager", "simple-crypto-key"): "dGhpcnR5X3R3b19ieXRlX2tleWJsYWhibGFoYmxhaGg=",
    ("load-balancer", "certs-passphrase"): "insecure-key-do-not-use-this-key",
}


class Origin(StrEnum):
    """The origin of the text of a credential."""

    RELEASE = "from releases"
    PACKAGE = "package default"
    NEW = "generated"
    CONFLICT = "differs"


@dataclass(frozen=True)
class AdoptedKey:
    """One credential. `place`: release and path of its text; `others`: places with another text."""

    key: str
    origin: Origin
    text: str = field(default="", repr=False)
    place: str = ""
    others: tuple[str, ...] = ()
    of_chart: bool = False


@dataclass(frozen=True)
class AdoptedSecret:
    """One Secret of generated credentials, with all its keys."""

    name: str
    service: str
    keys: tuple[AdoptedKey, ...]

    @property
    def data(self) -> dict[str, str]:
        """The texts to write; empty where the controller is to generate one."""
        return {one.key: one.text for one in self.keys}


@dataclass(frozen=True)
class NewRelease:
    """A release of the new region: what its values refer to, by service; `defaults` are its chart's."""

    name: str
    service: str
    references: Sequence[SecretReference]
    defaults: Values = field(default_factory=dict)


@dataclass(frozen=True)
class _Use:
    release: str
    own: bool
    text: str
    place: str
    of_chart: bool


def plan_adoption(
    desired: Iterable[CredentialSecret],
    releases: Sequence[NewRelease],
    running: Mapping[str, Values],
    files: OptionFiles,
) -> tuple[AdoptedSecret, ...]:
    """All keys of all Secrets, with the texts that the `running` releases have in their values.

    A text of the service's own releases counts more than that of others. Where two of its own differ, no text
    is right for both.
    """
    uses: dict[tuple[str, str], list[_Use]] = {}
    for release in releases:
        for reference in release.references:
            text = _text(running.get(release.name, {}), reference, files)
            if text:
                default = _text(release.defaults, reference, files)
                place = f"{release.name} {format_path(reference.path)}"
                own = reference.name == f"{release.service}-credentials"
                use = _Use(release.name, own, text, place, text == default)
                uses.setdefault((reference.name, reference.key), []).append(use)
    return tuple(_secret(one, releases, running, uses) for one in desired)


def renamed_accounts(
    releases: Sequence[NewRelease], running: Mapping[str, Values]
) -> Iterator[tuple[str, str, str]]:
    """Place, present name and new name of each account that the new values call otherwise."""
    for release in releases:
        for reference in release.references:
            if reference.prefix is None:
                continue
            name = lookup(running.get(release.name, {}), reference.path)
            if isinstance(name, str) and name and name != reference.prefix:
                yield f"{release.name} {format_path(reference.path)}", name, reference.prefix


def _secret(
    desired: CredentialSecret,
    releases: Sequence[NewRelease],
    running: Mapping[str, Values],
    uses: Mapping[tuple[str, str], Sequence[_Use]],
) -> AdoptedSecret:
    runs = any(one.name in running for one in releases if one.service == desired.service)
    keys = []
    for key, kind in desired.credentials.items():
        found = _key(key, uses.get((desired.name, key), ()))
        standard = _OF_PACKAGES.get((desired.service, key), "") if runs else ""
        if found.origin == Origin.NEW and standard:
            found = AdoptedKey(key, Origin.PACKAGE, standard, "the package's own default")
        if found.origin != Origin.NEW or kind != SSH_PUBLIC_KEY:  # it is derived
            keys.append(found)
    return AdoptedSecret(desired.name, desired.service, tuple(keys))


def _key(key: str, uses: Sequence[_Use]) -> AdoptedKey:
    own = [one for one in uses if one.own]
    chosen = own or uses
    if not chosen:
        return AdoptedKey(key, Origin.NEW)
    first = chosen[0]
    if any(one.text != first.text for one in chosen):
        # Only servers and data of the service itself remember one; what others only share may be new.
        origin = Origin.CONFLICT if own else Origin.NEW
        return AdoptedKey(key, origin, "", first.place, tuple(one.place for one in chosen[1:]))
    others = tuple(one.place for one in uses if one.text != first.text)
    return AdoptedKey(key, Origin.RELEASE, first.text, first.place, others, first.of_chart)


def _text(values: Values, reference: SecretReference, files: OptionFiles) -> str:
    """The text at the place of a reference; empty where there is none, or where it names an account."""
    if reference.prefix is not None:
        return ""
    path: DocumentPath = reference.path
    found: Any = lookup(values, path)
    if found is None and path[-2:] == ("values", 0):
        # An option of one line, where ours has several.
        found = lookup(values, path[:-2])
    if isinstance(found, bool) or not isinstance(found, str | int):
        return ""
    text = str(found)
    return from_option_value(text) if files.has(path) and not is_written_as_it_is(path) else text
