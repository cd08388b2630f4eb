"""Each credential that the controller generates can be brought from releases of OpenStack-Helm's charts."""

from __future__ import annotations

import pytest

from controller.domain.credentials.adoption import NewRelease, Origin, plan_adoption
from controller.domain.values.secret_refs import find_references
from tests.fakes.option_files import option_files
from tests.upstream.option_packages import SERIES
from tests.upstream.options_set import whole_region
from tests.upstream.regions import charts_given

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(charts_given() is None, reason="CHARTS names no checkout of OpenStack-Helm"),
]
# What a release of the charts has in no place of its own values: it may be new.
NEW = {
    # The charts make it at random, and it protects what memcached holds for minutes.
    ("cache", "memcache-secret-key"),
    # A further key, and the one before: there is nothing under them.
    *(("key-manager", "simple-crypto-next-key"), ("key-manager", "simple-crypto-former-key")),
    # Identifiers that the chart makes at random.
    *(("metering", "statsd-resource-id"), ("metering", "statsd-user-id"), ("metering", "statsd-project-id")),
    # Off by default: they have no key pair.
    ("compute", "ssh-private-key"),
    # Of features that the region does not ask for.
    *(("identity", "oidc-passphrase"), ("compute", "ceph-secret-uuid")),
}
OF_PACKAGES = {
    ("orchestration", "auth-encryption-key"),
    ("key-manager", "simple-crypto-key"),
    ("load-balancer", "certs-passphrase"),
}


@pytest.mark.parametrize("series", SERIES)
def test_each_credential_is_found_in_the_values_of_the_charts(series: str) -> None:
    region = whole_region(series)
    releases = [
        NewRelease(one.spec.name, bundle.service, find_references(one.spec.values), one.merged.defaults)
        for bundle in region.bundles
        for one in bundle.releases
    ]
    running = {one.name: one.defaults for one in releases}
    planned = plan_adoption(region.credentials, releases, running, option_files())
    origins: dict[Origin, set[tuple[str, str]]] = {}
    for secret in planned:
        for key in secret.keys:
            origins.setdefault(key.origin, set()).add((secret.service, key.key))
    assert origins.get(Origin.CONFLICT, set()) == set()
    assert origins[Origin.NEW] - NEW == set()
    assert origins[Origin.PACKAGE] == OF_PACKAGES
    assert len(origins[Origin.RELEASE]) > 80
