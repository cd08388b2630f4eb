"""The smallest region: what core sends for preset core."""

from __future__ import annotations

import pytest

from controller.domain.releases.bundle import DriftIgnore
from controller.errors import SpecInvalid
from tests.render.region import core_spec, render


def test_every_service_of_the_preset_becomes_one_bundle_in_catalogue_order() -> None:
    region = render(core_spec())
    assert [bundle.name for bundle in region.bundles] == [
        "database",
        "messaging",
        "cache",
        "identity",
        "placement",
        "image",
        "networking",
        "compute",
    ]
    names = [release.spec.name for bundle in region.bundles for release in bundle.releases]
    assert names == [
        "mariadb",
        "rabbitmq",
        "memcached",
        "keystone",
        "placement",
        "glance",
        "openvswitch",
        "neutron",
        "libvirt",
        "nova",
    ]


def test_a_release_depends_only_on_releases_of_the_region() -> None:
    region = render(core_spec())
    names = {release.spec.name for bundle in region.bundles for release in bundle.releases}
    for bundle in region.bundles:
        for release in bundle.releases:
            assert set(release.spec.depends_on) <= names - {release.spec.name}


def test_where_a_chart_has_a_controller_of_its_own_what_that_writes_is_no_drift() -> None:
    """It leads the Service to one server, so that no two clients write to different ones."""
    rule = DriftIgnore("Service", "mariadb", ("/spec/selector/statefulset.kubernetes.io~1pod-name",))
    own = {"driftRules": [{"release": "mariadb", "ignore": [{"paths": ["/metadata/labels"]}]}]}
    for spec, rules in ((core_spec(**own), 2), (core_spec(charts={}), 0)):
        release = render(spec).release("mariadb")
        assert release is not None
        assert len(release.spec.drift_ignore) == rules
        assert rules == 0 or release.spec.drift_ignore[0] == rule


def test_an_unknown_chart_is_refused_with_the_nearest_name() -> None:
    spec = core_spec(services={"compute": {"nvoa": {"values": {}}}})
    with pytest.raises(SpecInvalid) as refusal:
        render(spec)
    [problem] = refusal.value.problems
    assert problem.path == "spec.services.compute.nvoa"
    assert problem.message == 'no chart "nvoa" in service compute'
    assert problem.remedy == 'did you mean "nova"?'


def test_a_literal_password_in_the_spec_is_refused_with_its_path() -> None:
    auth = {"auth": {"admin": {"password": "hunter2"}}}
    spec = core_spec(services={"identity": {"keystone": {"values": {"endpoints": {"identity": auth}}}}})
    with pytest.raises(SpecInvalid) as refusal:
        render(spec)
    [problem] = refusal.value.problems
    path = "spec.services.identity.keystone.values.endpoints.identity.auth.admin.password"
    assert problem.path == path
    assert "hunter2" not in str(problem)
