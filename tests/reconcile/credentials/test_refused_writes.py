"""One write is refused, by a quota, a policy or a right: it is reported, and all else goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.domain.api.names import AUTHORITY_SECRET, CA_BUNDLE_SECRET, CLOUDS_SECRET, COPIES_CONFIGMAP
from controller.domain.credentials.x509.read import read_leaf
from controller.errors import Forbidden, KubeError, ObjectRefused
from controller.ports.kubernetes import DEPLOYMENT, HELMBUNDLE, OSDPL, SECRET
from controller.reconcile.credentials.steps import SOON_SECONDS
from tests.fakes.kube import Request
from tests.reconcile.credentials.rotation_bed import RotationBed
from tests.reconcile.credentials.test_clouds_export import put_keystone
from tests.reconcile.credentials.test_namespace_exchange import THERE, put, texts
from tests.reconcile.credentials.test_own_certificates import NS, REGION, Bed, operators

REFUSALS = (Forbidden('secrets "x" is forbidden: hunter2'), ObjectRefused("hunter2 is refused"))
pytestmark = pytest.mark.slow
refused = pytest.mark.parametrize("error", REFUSALS, ids=["forbidden", "refused"])


def refuse(*names: str, error: KubeError = REFUSALS[0], verb: str = "") -> Callable[[Request], None]:
    """What the API server does with writes of these objects from now on."""

    def answer(request: Request) -> None:
        if request.name in names and verb in ("", request.verb):
            raise error

    return answer


def runs_with(bed: Bed) -> None:
    for release in ("keystone", "nova"):
        bed.deploy(release)


def is_told(bed: Bed, name: str, kind: str = "Secret") -> bool:
    condition = bed.condition()
    assert "hunter2" not in condition["message"]
    return (
        condition["status"] == "False" and f'{kind} "{name}": the API server refuses' in condition["message"]
    )


@pytest.fixture
def bed() -> Bed:
    """A region whose services have their certificates."""
    bed = Bed(**{"with": ["database"]})
    bed.reconcile()
    bed.put_releases()
    runs_with(bed)
    bed.reconcile()
    return bed


@refused
def test_credentials_that_cannot_be_written_are_reported_and_certificates_do_not_end(
    bed: Bed, error: KubeError
) -> None:
    bed.kube.before_write = refuse("identity-credentials", error=error)
    bed.edit(**{"with": ["identity", "database"]})
    assert bed.reconcile() == SOON_SECONDS
    assert is_told(bed, "identity-credentials")
    bed.days(31)
    bed.days(31)
    leaf = read_leaf(bed.text("nova-tls-api", "tls.crt"), bed.text("nova-tls-api", "tls.key"))
    assert leaf is not None and leaf.end > bed.clock.now()
    bed.kube.before_write = lambda request: None
    bed.reconcile()
    assert bed.condition()["status"] == "True"


@refused
def test_lost_credentials_that_cannot_be_written_hold_up_no_others(error: KubeError) -> None:
    bed = RotationBed()
    before = bed.texts("image-credentials")
    for name in ("compute-credentials", "image-credentials"):
        bed.kube.delete(SECRET, name, NS)
    bed.kube.before_write = refuse("compute-credentials", error=error)
    bed.reconcile()
    assert bed.texts("image-credentials") == before
    [condition] = (bed.kube.get(OSDPL, REGION, NS) or {})["status"]["conditions"]
    assert condition["reason"] == "CredentialsLost" and "hunter2" not in condition["message"]


@refused
@pytest.mark.parametrize("name", [AUTHORITY_SECRET, CA_BUNDLE_SECRET, "keystone-tls-api"])
def test_a_certificate_that_cannot_be_written_is_reported(bed: Bed, name: str, error: KubeError) -> None:
    bed.kube.before_write = refuse(name, error=error)
    bed.give(operators(1))
    bed.days(40)
    assert is_told(bed, name)
    bed.kube.before_write = lambda request: None
    for _ in range(3):
        runs_with(bed)
        bed.reconcile()
    assert bed.condition()["status"] == "True"
    assert bed.signers(operators(1)) == {0}


def test_no_certificate_is_made_of_an_authority_that_could_not_be_recorded(bed: Bed) -> None:
    before = {name: bed.texts(name) for name in (CA_BUNDLE_SECRET, "keystone-tls-api", "nova-tls-api")}
    bed.kube.before_write = refuse(AUTHORITY_SECRET)
    bed.days(31)
    assert {name: bed.texts(name) for name in before} == before


def test_a_certificate_that_cannot_be_deleted_is_reported(bed: Bed) -> None:
    bed.kube.before_write = refuse("nova-tls-api", verb="delete")
    bed.wanted = bed.wanted[:1]
    for bundle in ("keystone", "nova"):
        bed.taken_up(bundle)
    bed.kube.delete(HELMBUNDLE, "nova", NS)
    bed.kube.delete(DEPLOYMENT, "nova", NS)
    bed.reconcile()
    assert is_told(bed, "nova-tls-api")
    bed.kube.before_write = lambda request: None
    bed.reconcile()
    assert bed.secret("nova-tls-api") is None


@refused
def test_a_clouds_yaml_that_cannot_be_written_is_reported(error: KubeError) -> None:
    bed = Bed()
    put_keystone(bed)
    bed.kube.before_write = refuse(CLOUDS_SECRET, error=error)
    bed.reconcile()
    assert is_told(bed, CLOUDS_SECRET)
    bed.kube.before_write = lambda request: None
    bed.reconcile()
    assert bed.condition()["status"] == "True"
    bed.kube.before_write = refuse(CLOUDS_SECRET, error=error)
    bed.kube.delete(SECRET, "identity-credentials", NS)
    bed.put_secret("identity-credentials", {"admin-password": "another", "database-password": "another"})
    bed.reconcile()
    assert is_told(bed, CLOUDS_SECRET)


@refused
def test_a_copy_that_cannot_be_noted_is_not_made_and_is_reported(error: KubeError) -> None:
    bed = Bed()
    put(bed, NS, "reader", "offer", f"{THERE}/openstack", account="reader")
    put(bed, THERE, "openstack", "request", f"{NS}/reader")
    bed.kube.before_write = refuse(COPIES_CONFIGMAP, error=error)
    bed.reconcile()
    assert texts(bed, THERE, "openstack") == {}
    message = bed.condition()["message"]
    assert f"ConfigMap {NS}/{COPIES_CONFIGMAP}: the API server refuses" in message
    assert "hunter2" not in message
    bed.kube.before_write = lambda request: None
    bed.reconcile()
    assert texts(bed, THERE, "openstack") == {"account": "reader"}


@refused
def test_a_copy_of_ours_that_cannot_be_filled_is_reported(error: KubeError) -> None:
    bed = Bed()
    put(bed, THERE, "ldap-bind", "offer", f"{NS}/ldap", password="one")
    put(bed, NS, "ldap", "request", f"{THERE}/ldap-bind")
    bed.kube.before_write = refuse("ldap", error=error)
    bed.reconcile()
    assert is_told(bed, "ldap")


@refused
def test_a_rotation_waits_for_a_write_that_is_refused(error: KubeError) -> None:
    bed = RotationBed()
    bed.ask("image")
    bed.kube.before_write = refuse("image-credentials", error=error)
    bed.reconcile()
    assert bed.rotation("image")["phase"] == "Waiting"
    assert "the API server refuses" in bed.rotation("image")["message"]
    bed.kube.before_write = lambda request: None
    bed.reconcile()
    bed.upgrade("image")
    bed.replace_pods("image")
    bed.kube.before_write = refuse("image-credentials", error=error)
    bed.reconcile()
    assert bed.rotation("image")["phase"] == "Removing"
    assert "the API server refuses" in bed.rotation("image")["message"]
    assert "hunter2" not in bed.rotation("image")["message"]
    bed.kube.before_write = lambda request: None
    bed.settle()
    assert bed.rotation("image") == {}
