"""How pods of APIs are replaced: a new one serves before an old one goes, which serves on for seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.render.region import core_spec, render

LEAN: dict[str, Any] = {"charts": {}}


def sent(**spec: Any) -> dict[str, Mapping[str, Any]]:
    """The values of each release."""
    bundles = render(core_spec(**spec)).bundles
    return {one.spec.name: one.spec.values for bundle in bundles for one in bundle.releases}


def unavailable(values: Mapping[str, Any]) -> Any:
    upgrades = values.get("pod", {}).get("lifecycle", {}).get("upgrades", {})
    return upgrades.get("deployments", {}).get("rolling_update", {}).get("max_unavailable")


@pytest.mark.parametrize("size", ["single", "small"])
@pytest.mark.parametrize("source", [{}, LEAN], ids=["upstream", "lean"])
def test_no_pod_is_missed_while_it_is_replaced(source: dict[str, Any], size: str) -> None:
    found = {name: unavailable(values) for name, values in sent(**source, size=size).items()}
    assert {found[name] for name in ("keystone", "placement", "nova", "neutron")} == {0}
    assert {found[name] for name in ("mariadb", "rabbitmq", "memcached")} == {None}


def test_a_claim_that_one_node_has_is_let_go_first() -> None:
    ceph = {"image": {"backends": [{"name": "rbd", "type": "ceph"}]}}
    assert unavailable(sent()["glance"]) == 1
    assert unavailable(sent(features=ceph)["glance"]) == 0


@pytest.mark.slow
def test_backups_on_a_claim_have_one_pod_at_a_time() -> None:
    def cinder(**backup: Any) -> Any:
        features = {
            "services": {"enabled": ["block-storage"]},
            "blockStorage": {
                "backends": [{"name": "x", "type": "custom", "conf": {"volume_driver": "x.y"}}],
                "backup": {"enabled": True, **backup},
            },
        }
        return unavailable(sent(features=features)["cinder"])

    assert cinder(driver="posix") == 1
    assert cinder(driver="nfs", share="nas:/backups") == 0


def test_a_proxy_with_a_port_of_its_node_is_let_go_first() -> None:
    assert unavailable(sent(features={"compute": {"console": {"type": "spice"}}})["nova"]) == 1


def test_an_operator_may_say_otherwise() -> None:
    own = {"pod": {"lifecycle": {"upgrades": {"deployments": {"rolling_update": {"max_unavailable": 1}}}}}}
    services = {"identity": {"keystone": {"values": own}}}
    assert unavailable(sent(services=services)["keystone"]) == 1


def hooks(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    conf = values.get("conf", {})
    return [part["uwsgi"] for part in conf.values() if isinstance(part, Mapping) and "uwsgi" in part]


def test_servers_of_openstack_helm_wait_until_no_request_comes_any_more() -> None:
    """The handler of the signal 15 is alarm(15), and that of the alarm, 14, ends when all is answered."""
    found = sent(features={"services": {"enabled": ["block-storage", "orchestration"]}})
    servers = {"placement": 1, "glance": 1, "neutron": 1, "nova": 2, "cinder": 1, "heat": 2}
    for release, number in servers.items():
        assert len(hooks(found[release])) == number, release
        for options in hooks(found[release]):
            assert options["hook-master-start"] == "unix_signal:15 alarm"
            assert options["hook-as-user"] == "unix_signal:14 gracefully_kill_them_all"
        grace = found[release]["pod"]["lifecycle"].get("termination_grace_period", {})
        assert all(part["timeout"] >= 60 for part in grace.values())
    assert "sleep 10" in found["keystone"]["conf"]["software"]["apache2"]["binary"]


def test_lean_charts_have_hooks_of_their_own() -> None:
    found = [options for values in sent(**LEAN).values() for options in hooks(values)]
    assert not any(name.startswith("hook") for options in found for name in options)
