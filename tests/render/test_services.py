"""Which services a region has, and what is said about a choice that cannot work."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import Problem, SpecInvalid
from tests.render.region import core_spec, render
from tests.render.specs import GATEWAY, INTERNAL_TLS, brought


def problems(**more: Any) -> tuple[Problem, ...]:
    with pytest.raises(SpecInvalid) as refusal:
        render(core_spec(**more))
    return refusal.value.problems


def services(**lists: list[str]) -> dict[str, Any]:
    return {"features": {"services": lists}}


def test_a_service_is_added_to_the_preset() -> None:
    region = render(core_spec(**services(enabled=["orchestration"])))
    assert "orchestration" in [bundle.name for bundle in region.bundles]


def test_a_service_is_taken_out_of_the_preset() -> None:
    region = render(core_spec(**services(disabled=["compute"])))
    assert "compute" not in [bundle.name for bundle in region.bundles]


def test_a_service_that_others_need_cannot_be_taken_out_and_they_are_named() -> None:
    found = problems(**services(disabled=["placement"]))
    assert [(p.path, p.message) for p in found] == [
        ("spec.features.services.disabled[0]", 'service "networking" needs "placement"'),
        ("spec.features.services.disabled[0]", 'service "compute" needs "placement"'),
    ]


def test_a_service_whose_need_is_not_enabled_names_what_to_add() -> None:
    [problem] = problems(**services(enabled=["shared-file-system"]))
    assert problem.path == "spec.features.services.enabled[0]"
    assert (
        problem.message
        == 'service "shared-file-system" needs "block-storage", which preset core does not include'
    )
    assert problem.remedy == 'add "block-storage" to spec.features.services.enabled'


def test_an_unknown_service_is_refused_with_the_nearest_name() -> None:
    [problem] = problems(**services(enabled=["orchestraton"]))
    assert (problem.path, problem.remedy) == (
        "spec.features.services.enabled[0]",
        'did you mean "orchestration"?',
    )


@pytest.mark.parametrize(
    ("spec", "path", "chart", "service"),
    [
        (services(disabled=["horizon"]), "features.services.disabled[0]", "horizon", "dashboard"),
        ({"services": {"nova": {"values": {}}}}, "services.nova", "nova", "compute"),
        ({"features": {"policies": {"nova": {"a:b": "@"}}}}, "features.policies.nova", "nova", "compute"),
        (
            {"features": {"credentials": {"nova": {"database-password": {"name": "a", "key": "b"}}}}},
            "features.credentials.nova",
            "nova",
            "compute",
        ),
    ],
)
def test_a_chart_in_the_place_of_its_service_is_reported(
    spec: dict[str, Any], path: str, chart: str, service: str
) -> None:
    [problem] = problems(**spec)
    assert (problem.path, problem.remedy) == (f"spec.{path}", f'{chart} is a chart of service "{service}"')


def test_a_service_that_the_chart_source_lacks_is_refused_saying_so() -> None:
    [problem] = problems(charts={}, **services(enabled=["orchestration"]))
    assert (
        problem.message == 'service "orchestration": the charts shipped with the controller do not have heat'
    )
    assert "spec.charts.repository" in problem.remedy


def test_values_for_a_service_that_is_not_enabled_are_refused() -> None:
    [problem] = problems(services={"orchestration": {"heat": {"values": {"a": 1}}}})
    assert problem.path == "spec.services.orchestration"
    assert problem.message == 'service "orchestration" is not enabled'


def test_values_for_an_unknown_service_are_refused_with_the_nearest_name() -> None:
    [problem] = problems(services={"comptue": {"nova": {"values": {"a": 1}}}})
    assert (problem.path, problem.remedy) == ("spec.services.comptue", 'did you mean "compute"?')


def test_values_for_an_unknown_release_of_a_group_are_refused() -> None:
    [problem] = problems(common={"openstack": {"releases": {"novva": {"values": {"a": 1}}}}})
    assert (problem.path, problem.remedy) == ("spec.common.openstack.releases.novva", 'did you mean "nova"?')


def test_a_release_of_the_other_group_is_no_release_of_this_one() -> None:
    [problem] = problems(common={"infra": {"releases": {"nova": {"values": {"a": 1}}}}})
    assert problem.path == "spec.common.infra.releases.nova"


def test_several_mistakes_are_all_reported() -> None:
    found = problems(
        services={"comptue": {}, "compute": {"nvoa": {}}}, common={"openstack": {"releases": {"x": {}}}}
    )
    assert len(found) == 3


@pytest.mark.parametrize(
    ("path", "features"),
    [
        (
            "spec.features.networking.extensions",
            {"networking": {"backend": "ml2/ovn", "extensions": ["metering"]}},
        ),
        ("spec.features.networking.tenantNetworkTypes", {"networking": {"tenantNetworkTypes": ["geneve"]}}),
        (
            "spec.features.networking.externalNetworks",
            {"networking": {"externalNetworks": [{"name": n, "bridge": "br-ex"} for n in ("a", "b")]}},
        ),
        ("spec.features.image.backends", {"image": {"backends": [{"name": "DEFAULT", "type": "pvc"}]}}),
        (
            "spec.features.tls.internal.traffic",
            {
                "services": {"enabled": ["load-balancer"]},
                "tls": {"internal": {"enabled": True, "traffic": ["database"]}},
            },
        ),
        (
            "spec.features.tls.internal.caSecret",
            {"tls": {"internal": {"enabled": True, "caSecret": "x"}}},
        ),
        (
            "spec.features.tls.internal.caSecret",
            {"tls": {"internal": {"enabled": True, "issuer": "x", "traffic": ["endpoints"]}}},
        ),
        ("spec.features.gateway.className", {"services": {"enabled": ["gateway"]}}),
        (
            "spec.features.tls.public.secretName",
            {"tls": {"public": {"enabled": True, "secretName": "x"}}},
        ),
        ("spec.features.tls.public.issuer", {"tls": {"public": {"enabled": True, "issuer": "x"}}}),
        ("spec.features.image.backends", {"image": {"backends": [{"name": "v", "type": "cinder"}]}}),
        ("spec.features.credentials.identiy", {"credentials": {"identiy": {"a": {"name": "x", "key": "y"}}}}),
        (
            "spec.features.credentials.identity.x",
            {"credentials": {"identity": {"x": {"name": "x", "key": "y"}}}},
        ),
        ("spec.features.policies.comptue", {"policies": {"comptue": {"rule": "role:reader"}}}),
        ("spec.features.messaging.dedicatedBrokers[0]", {"messaging": {"dedicatedBrokers": ["comptue"]}}),
        ("spec.features.logging.services.comptue", {"logging": {"services": {"comptue": "DEBUG"}}}),
        ("spec.features.audit.services[0]", {"audit": {"enabled": True, "services": ["comptue"]}}),
        ("spec.features.database.cleanup.image", {"database": {"cleanup": {"image": {}}}}),
    ],
)
def test_a_feature_that_cannot_be_served_is_refused_with_its_path(
    path: str, features: dict[str, Any]
) -> None:
    assert [problem.path for problem in problems(features=features)] == [path]


@pytest.mark.slow
def test_a_feature_of_the_embedded_charts_that_is_missing_is_refused_not_ignored() -> None:
    for features in (
        {"networking": {"backend": "ml2/ovn"}},
        {"database": {"backup": {"enabled": True}}},
        {"tls": {"internal": INTERNAL_TLS}},
        {"compute": {"libvirtTLS": {"enabled": True}}},
    ):
        [problem] = problems(charts={}, features=features)
        assert "the charts shipped with the controller" in problem.message


def test_the_problem_of_a_spec_from_a_file_has_the_line() -> None:
    spec = core_spec(services={"compute": {"nvoa": {}}})
    lines = {("spec", "services", "compute", "nvoa"): 31}
    with pytest.raises(SpecInvalid) as refusal:
        render(spec, lines=lines, source="region.yaml")
    assert [problem.source for problem in refusal.value.problems] == ["region.yaml:31"]


def test_services_whose_charts_cannot_encrypt_are_named_with_what_to_leave_out() -> None:
    more = {"enabled": ["dns", "load-balancer"]}
    found = problems(preset="compute", features={"services": more, "tls": {"internal": INTERNAL_TLS}})
    assert [problem.path for problem in found] == ["spec.features.tls.internal.traffic"] * 2
    assert "the charts of dns, load-balancer cannot use encrypted messaging" in found[0].message
    assert "the charts of key-manager, dns, load-balancer cannot use encrypted endpoints" in found[1].message
    assert found[1].remedy == 'remove "endpoints", or disable these services'


@pytest.mark.slow
def test_services_that_stay_in_clear_to_an_encrypted_database_are_warned_about() -> None:
    internal = {"enabled": True, "issuer": "region-ca", "traffic": ["database"]}
    more = {"enabled": ["dns", "load-balancer"]}
    features = {"services": more, "tls": {"internal": internal}}
    spec = core_spec(preset="compute", features=features, **brought("dns", "load-balancer"))
    found = render(spec).warnings
    assert ["dns, load-balancer" in w.message for w in found if "tls" in w.path] == [True]


@pytest.mark.slow
def test_the_gateway_comes_from_our_own_charts_whatever_the_source_of_the_others() -> None:
    for charts in ({}, {"repository": "https://charts.example.org/osh"}):
        release = render(core_spec(charts=charts, features=GATEWAY)).release("gateway")
        assert release is not None
        assert (release.spec.chart.path, release.spec.chart.repository) == ("gateway", "")


def test_a_public_endpoint_has_one_route_and_no_route_leads_to_a_console_that_is_off() -> None:
    region = render(core_spec(charts={}, features={**GATEWAY, "compute": {"console": {"type": "none"}}}))
    hosts = [
        (release.spec.name, *one["spec"]["hostnames"])
        for bundle in region.bundles
        for release in bundle.releases
        for one in release.merged.values.get("extraObjects", {}).values()
    ]
    assert hosts == [
        ("keystone", "identity.it.just.works"),
        ("placement", "placement.it.just.works"),
        ("glance", "image.it.just.works"),
        ("neutron", "networking.it.just.works"),
        ("nova", "compute.it.just.works"),
    ]


def test_credentials_of_a_repository_reach_its_charts() -> None:
    charts = {
        "repository": "https://charts.example.org/osh",
        "credentialsSecret": "chart-login",
        "caSecret": "chart-ca",
    }
    chart = render(core_spec(charts=charts)).bundles[0].releases[0].spec.chart
    assert (chart.credentials_secret, chart.ca_secret) == ("chart-login", "chart-ca")
