"""The rights for OpenStack-Helm's charts: made of recorded facts, granted in sets, named after the region."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from controller.adapters.system.chart_rights_files import load_rights
from controller.domain.validation.chart_rights import Rights
from controller.domain.validation.rbac_union import permissions
from controller.domain.values.catalogue import UPSTREAM
from tests.helm_program import Chart, HelmError
from tests.render.region import library
from tools.chart_objects import CONTROLLER_CHART
from tools.upstream_rights import (
    ALWAYS,
    CEPH,
    RIGHTS,
    recorded_rights,
    rights_file,
    sets_of,
)

CHART = Chart.load(CONTROLLER_CHART)
SETS = load_rights(CONTROLLER_CHART).sets


def _granted(region: str = "openstack", **rbac: Any) -> Rights:
    """What our chart grants the account: in the region's namespace and in the whole cluster."""
    values = {"crds": {"install": False}, "region": {"namespace": region}, "rbac": rbac}
    found: dict[str, list[Any]] = {"Role": [], "ClusterRole": []}
    texts = CHART.render(values, name="osctl", namespace="controllers")
    for text in (text for path, text in texts.items() if not path.endswith("NOTES.txt")):
        for obj in yaml.load_all(text, Loader=yaml.CSafeLoader):
            if obj and obj["kind"] in found and obj["metadata"].get("namespace") in (None, region):
                found[obj["kind"]] += obj["rules"]
    cluster = permissions(found["ClusterRole"])
    return Rights(
        permissions(found["Role"]),
        cluster,
        frozenset(name for _, kind, name, _ in cluster if kind == "clusterroles"),
        frozenset(name for _, kind, name, _ in cluster if kind == "clusterrolebindings"),
    )


def _needed(rights: Rights, region: str) -> Rights:
    return Rights.read(rights.as_data(region))


def test_every_chart_of_openstack_helm_that_the_catalogue_uses_has_been_rendered() -> None:
    used = {
        chart
        for entry in library().catalogue.services.values()
        for chart, use in entry.charts.items()
        if UPSTREAM in use.sources
    }
    assert set(recorded_rights()) == used


def test_the_sets_are_made_of_what_was_rendered() -> None:
    assert RIGHTS.read_text(encoding="utf-8") == rights_file(sets_of(recorded_rights())), "run `make rbac`"


def test_as_shipped_every_chart_may_grant_what_it_grants_whatever_the_namespace() -> None:
    for region in ("openstack", "default"):
        held = _granted(region)
        for chart, flavours in recorded_rights().items():
            for flavour in (ALWAYS, CEPH):
                assert not _needed(flavours[flavour], region).beyond(held), chart


def test_a_set_that_is_not_chosen_is_not_granted() -> None:
    held = _granted(upstream={"sets": ["core"]})
    assert not _needed(SETS["core"], "openstack").beyond(held)
    ovn = _needed(SETS["ovn"], "openstack").beyond(held)
    assert "ovn-controller-list-nodes-role-openstack" in ovn.cluster_roles
    none = _granted(upstream={"sets": []})
    assert none.cluster_roles == none.cluster_role_bindings == frozenset()


def test_every_set_gives_something_that_core_does_not() -> None:
    assert next(iter(SETS)) == "core"
    for name, rights in SETS.items():
        assert name == "core" or rights.beyond(SETS["core"]) == rights


def test_a_set_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(HelmError, match=r'no set "ceph", only core, object-storage, ovn'):
        _granted(upstream={"sets": ["core", "ceph"]})


def test_charts_of_ones_own_may_make_cluster_roles_by_name() -> None:
    rule = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]}
    held = _granted(
        extraClusterRules=[rule], extraClusterRoles=["mine-{namespace}"], extraClusterRoleBindings=["mine"]
    )
    assert ("apps", "deployments", "", "list") in held.cluster_rules
    assert "mine-openstack" in held.cluster_roles
    assert "mine" in held.cluster_role_bindings


@pytest.mark.parametrize("name", ["*", "", "Mine", "{region}"])
def test_a_name_that_stands_for_more_than_one_role_is_refused(name: str) -> None:
    with pytest.raises(HelmError, match="don't meet the specifications of the schema"):
        _granted(extraClusterRoles=[name])
