"""A Secret with other contents gives the bundles that refer to it a pass at once."""

from __future__ import annotations

from typing import Any

from controller.reconcile.releases.events.secret_event_filter import SecretEventFilter

IMAGE, NETWORK = ("openstack", "image"), ("openstack", "network")


def bundle(name: str, *secrets: str, namespace: str = "openstack") -> dict[str, Any]:
    values = {f"key{at}": {"$secretRef": {"name": one, "key": "text"}} for at, one in enumerate(secrets)}
    spec = {"releases": [{"name": name, "values": values}]}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def region(**digests: str) -> dict[str, Any]:
    secrets = {name.replace("_", "-"): {"digest": digest} for name, digest in digests.items()}
    return {"metadata": {"name": "one", "namespace": "openstack"}, "status": {"secrets": secrets}}


def with_two_bundles() -> SecretEventFilter:
    found = SecretEventFilter()
    found.feed_bundle(None, bundle("image", "ceph-digests", "image-credentials"))
    found.feed_bundle(None, bundle("network", "network-credentials"))
    return found


def test_a_changed_digest_names_the_bundles_that_refer_to_its_secret() -> None:
    events = with_two_bundles()
    events.changed_bundles(None, region(ceph_digests="a", network_credentials="b"))
    assert events.changed_bundles("MODIFIED", region(ceph_digests="c", network_credentials="b")) == (IMAGE,)


def test_a_secret_that_appears_names_the_bundles_that_wait_for_it() -> None:
    events = with_two_bundles()
    events.changed_bundles(None, region())
    assert events.changed_bundles("MODIFIED", region(network_credentials="b")) == (NETWORK,)


def test_a_status_without_other_digests_names_no_bundle() -> None:
    events = with_two_bundles()
    events.changed_bundles(None, region(ceph_digests="a"))
    assert events.changed_bundles("MODIFIED", region(ceph_digests="a", other="d")) == ()


def test_the_first_look_at_a_region_names_no_bundle() -> None:
    assert with_two_bundles().changed_bundles(None, region(ceph_digests="a")) == ()


def test_bundles_of_another_namespace_and_deleted_ones_are_not_named() -> None:
    events = with_two_bundles()
    events.feed_bundle("ADDED", bundle("elsewhere", "ceph-digests", namespace="other"))
    events.feed_bundle("DELETED", bundle("image", "ceph-digests"))
    events.changed_bundles(None, region(ceph_digests="a"))
    assert events.changed_bundles("MODIFIED", region(ceph_digests="c")) == ()


def test_an_edit_of_a_bundle_changes_what_it_refers_to() -> None:
    events = with_two_bundles()
    events.feed_bundle("MODIFIED", bundle("network", "ceph-digests"))
    events.changed_bundles(None, region(ceph_digests="a"))
    assert set(events.changed_bundles("MODIFIED", region(ceph_digests="c"))) == {IMAGE, NETWORK}
