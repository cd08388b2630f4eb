"""Which missing objects are reported, and how they are to be brought."""

from __future__ import annotations

from controller.domain.validation.dangling import CONFIGMAP, IMAGE, SECRET, Reference
from controller.domain.validation.known_references import KnownReferences

KNOWN = KnownReferences(
    frozenset(("Secret/made-by-a-job", "ConfigMap/web-bin/unused.sh")),
    {"Secret/ceph-key": "kubectl -n {namespace} create secret generic ceph-key --from-file=key"},
)


def _reported(*references: Reference, release: str = "web") -> list[str]:
    return [str(one) for one in KNOWN.problems({release: references}, "here")]


def test_what_a_job_makes_and_what_nothing_reads_is_not_reported() -> None:
    assert not _reported(
        Reference("Job/a", SECRET, "made-by-a-job", "key"),
        Reference("Pod/b", CONFIGMAP, "web-bin", "unused.sh"),
    )
    assert _reported(Reference("Pod/b", CONFIGMAP, "web-bin", "used.sh"))


def test_an_object_is_reported_once_with_its_keys_all_releases_and_the_way_to_make_it() -> None:
    whole, key = (Reference("Pod/a", SECRET, "ceph-key", name) for name in ("", "key"))
    found = {"nova": [whole, key], "cinder": [key]}
    [reported] = KNOWN.problems(found, "here")
    assert str(reported) == (
        "spec: Secret ceph-key (keys key) is not created by a release, but nova, cinder need it; create it: "
        "kubectl -n here create secret generic ceph-key --from-file=key"
    )


def test_without_a_known_way_kubectl_makes_it_from_files() -> None:
    [reported] = _reported(Reference("Pod/a", CONFIGMAP, "web-conf", "web.conf"))
    assert reported.endswith("create it: kubectl -n here create configmap web-conf --from-file=web.conf")


def test_a_password_from_a_file_is_to_have_no_newline_at_its_end() -> None:
    [reported] = _reported(Reference("values of nova", SECRET, "nova-db", "password"))
    way = "create it: kubectl -n here create secret generic nova-db --from-file=password"
    assert reported.endswith(f"{way} (write files without a newline at the end: printf %s)")


def test_a_certificate_and_its_key_are_brought_as_a_secret_of_that_type() -> None:
    [reported] = _reported(*(Reference("Gateway/a", SECRET, "public", key) for key in ("tls.crt", "tls.key")))
    assert reported.endswith(
        "create it: kubectl -n here create secret tls public --cert=tls.crt --key=tls.key"
    )


def test_a_key_that_an_object_lacks_is_not_brought_as_an_object_of_its_name() -> None:
    lacking = {"web": [Reference("Pod/a", SECRET, "web-etc", "web.conf")]}
    [reported] = KNOWN.problems(lacking, "here", {(SECRET, "web-etc")})
    assert str(reported) == (
        "spec: Secret web-etc has no key web.conf, and web needs it; add the key, or correct the reference"
    )


def test_a_fault_of_the_pod_itself_comes_first_and_asks_for_no_object() -> None:
    first, second = _reported(
        Reference("Pod/a", CONFIGMAP, "web-conf"), Reference("Pod/a", IMAGE, "of container main")
    )
    assert first.startswith("spec: Pod/a of web has no image of container main; ")
    assert "create it" not in first
    assert "create it" in second
