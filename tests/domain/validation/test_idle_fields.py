"""A field that has no effect without another one is reported, and one that has it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.backups.backup_rules import backup_warnings
from controller.domain.validation.spec.idle_fields import DEFAULTS, NEEDS, idle_fields
from controller.domain.validation.spec.pairs import broken_pairs
from tests.render.region import core_spec, deployment, schema

SERVICES = frozenset(("database", "messaging", "block-storage"))


def told(spec: Mapping[str, Any], services: frozenset[str] = SERVICES) -> dict[str, str]:
    made = deployment(core_spec(**spec))
    tree = made.spec.features.tree
    idle, pairs = idle_fields(made.document, tree, services), broken_pairs(made.document, tree, "openstack")
    ages = backup_warnings(made.document, tree["database"]["backup"])
    return {one.path: f"{one.message}; {one.remedy}" for one in (*idle, *pairs, *ages)}


def features(**given: Any) -> dict[str, Any]:
    return {"features": given}


BACKUPS = {"enabled": True}
NAMED_USERS = {"user_name_attribute": "uid"}
NAMED = {**NAMED_USERS, "group_name_attribute": "cn"}


@pytest.mark.parametrize(
    ("given", "path", "needs"),
    [
        ({"database": {"backup": {"keepDays": 30}}}, "database.backup.keepDays", "database.backup.enabled"),
        ({"networkPolicies": {"nodeNetworks": ["10.0.0.0/16"]}}, "networkPolicies.nodeNetworks", ".enabled"),
        ({"nodes": {"fencing": {"url": "https://x.example.org"}}}, "nodes.fencing", "evacuation: Auto"),
        ({"audit": {"services": ["compute"]}}, "audit.services", "audit.enabled"),
        ({"gateway": {"className": "envoy"}}, "gateway", 'service "gateway"'),
        ({"readOnlyAccount": {"offeredTo": ["billing/a"]}}, "readOnlyAccount.offeredTo", ".enabled: true"),
        (
            {"networking": {"backend": "ml2/ovn", "dhcpAgentsPerNetwork": 3}},
            "networking.dhcpAgentsPerNetwork",
            "ml2/ovs",
        ),
        ({"tls": {"public": {"issuer": "acme"}}}, "tls.public.issuer", "tls.public.enabled"),
    ],
)
def test_what_needs_something_else_is_reported_with_it(given: dict[str, Any], path: str, needs: str) -> None:
    [(found, message)] = told(features(**given)).items()
    assert found == f"spec.features.{path}"
    assert needs in message


@pytest.mark.parametrize(
    "given",
    [
        {"database": {"backup": {"enabled": True, "keepDays": 30}}},
        {"database": {"backup": {"enabled": False}}, "messaging": {"notifications": {}}},
        {"audit": {"enabled": True, "services": ["compute"]}},
        {"readOnlyAccount": {"enabled": True, "offeredTo": ["billing/a"]}},
        {"networking": {"floatingNetwork": {"enabled": False}}},
    ],
)
def test_what_has_its_effect_and_what_the_api_server_fills_in_are_not_reported(given: dict[str, Any]) -> None:
    assert told(features(**given)) == {}


def test_parts_of_a_service_that_the_region_lacks_are_reported_once() -> None:
    metering = {"gnocchi": {"pool": "x"}, "alarms": {"enabled": False}}
    assert list(told(features(metering=metering))) == ["spec.features.metering"]
    assert told(features(metering=metering), SERVICES | {"metering"}) == {}


def test_an_age_of_backups_without_backups_is_reported() -> None:
    age = {"upgrade": {"backupMaxAge": "24h"}}
    assert list(told(age)) == ["spec.upgrade.backupMaxAge"]
    assert told({**age, **features(database={"backup": BACKUPS})}) == {}


def test_an_exporter_behind_policies_without_monitoring_is_reported() -> None:
    exporter = {"database": {"exporter": {"enabled": True}}}
    closed = {"enabled": True, "nodeNetworks": ["10.0.0.0/16"]}
    assert list(told(features(**exporter, networkPolicies=closed))) == ["spec.features.database.exporter"]
    opened = {**closed, "monitoring": [{"namespace": "monitoring"}]}
    assert told(features(**exporter, networkPolicies=opened)) == {}
    assert told(features(**exporter)) == {}


def test_an_account_that_is_offered_to_its_own_namespace_is_reported() -> None:
    account = {"enabled": True, "offeredTo": ["billing/a", "openstack/b"]}
    assert list(told(features(readOnlyAccount=account))) == ["spec.features.readOnlyAccount.offeredTo[1]"]


def test_an_approval_without_the_mode_that_asks_for_it_is_reported() -> None:
    plan = {"approvedPlan": f"sha256:{'0' * 64}"}
    assert list(told(plan)) == ["spec.approvedPlan"]
    assert told({**plan, "mode": "Plan"}) == {}


@pytest.mark.parametrize(
    ("tree", "below"),
    [
        ("ou=users,dc=example,dc=org", True),
        ("OU=Users, DC=Example, DC=org", True),
        ("dc=example,dc=org", True),
        ("ou=users,dc=example,dc=com", False),
        ("ou=users", False),
        ("ou=users,dc=myexample,dc=org", False),
    ],
)
def test_a_subtree_that_is_not_below_the_suffix_is_reported(tree: str, below: bool) -> None:
    domain = {
        "name": "people",
        "url": "ldaps://ldap.example.org",
        "suffix": "dc=example,dc=org",
        "userTreeDN": tree,
        "conf": NAMED,
    }
    found = told(features(identity={"ldap": {"domains": [domain]}}))
    assert list(found) == ([] if below else ["spec.features.identity.ldap.domains[0].userTreeDN"])


@pytest.mark.parametrize(
    ("every", "days", "rare"),
    [
        ("1d", ["Sunday"], True),
        ("6d", ["Sunday"], True),
        ("7d", ["Sunday"], False),
        ("3d", ["Monday", "Thursday"], True),
        ("4d", ["Monday", "Thursday"], False),
        ("1d", [], False),
    ],
)
def test_a_window_that_opens_less_often_than_credentials_are_to_be_new_is_reported(
    every: str, days: list[str], rare: bool
) -> None:
    window = {"start": "02:00", "duration": "4h", **({"days": days} if days else {})}
    found = told(features(credentialRotation={"every": every, "window": window}))
    assert list(found) == (["spec.features.credentialRotation.every"] if rare else [])


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("(memberOf=cn=cloud,dc=example,dc=org)", True),
        ("(&(objectClass=person)(!(a=b)))", True),
        ("(memberOf=cn=cloud", False),
        ("memberOf=cn=cloud", False),
        ("(a=b)(c=d)", False),
        ("(a=b))", False),
    ],
)
def test_a_filter_that_a_directory_cannot_read_is_reported(text: str, right: bool) -> None:
    domain = {"name": "people", "url": "ldaps://ldap.example.org", "suffix": "dc=example,dc=org"}
    found = told(
        features(identity={"ldap": {"domains": [{**domain, "conf": {**NAMED, "user_filter": text}}]}})
    )
    assert list(found) == ([] if right else ["spec.features.identity.ldap.domains[0].conf.user_filter"])


def test_dumps_that_are_gone_or_too_old_before_the_next_one_are_reported() -> None:
    monthly = {"database": {"backup": {"enabled": True, "schedule": "0 1 1 * *", "keepDays": 7}}}
    assert list(told(features(**monthly))) == ["spec.features.database.backup.keepDays"]
    daily = features(database={"backup": {"enabled": True}})
    assert list(told({**daily, "upgrade": {"backupMaxAge": "1h"}})) == ["spec.upgrade.backupMaxAge"]
    assert told({**daily, "upgrade": {"backupMaxAge": "26h"}}) == {}


def test_backups_of_the_region_are_what_an_upgrade_asks_for() -> None:
    weekly = features(backup={"destination": {"claim": {}}, "schedule": "0 1 * * 0"})
    assert told({**weekly, "upgrade": {"backupMaxAge": "192h"}}) == {}
    found = told({**weekly, "upgrade": {"backupMaxAge": "24h"}})
    assert "spec.features.backup.schedule" in str(found["spec.upgrade.backupMaxAge"])


def test_a_directory_that_names_entries_by_keystones_defaults_is_reported() -> None:
    domain = {"name": "people", "url": "ldaps://ldap.example.org", "suffix": "dc=example,dc=org"}
    [(path, text)] = told(features(identity={"ldap": {"domains": [{**domain, "conf": NAMED_USERS}]}})).items()
    assert path == "spec.features.identity.ldap.domains[0].conf"
    assert "group_name_attribute is not set" in text and "from ou" in text


@pytest.mark.parametrize(
    ("image", "named"),
    [
        ("registry.example.org:5000/nova", False),
        ("nova", False),
        ("registry.example.org:5000/nova:2025.2", True),
        ("nova@sha256:abc", True),
    ],
)
def test_an_image_without_a_tag_is_reported(image: str, named: bool) -> None:
    found = told({"images": {"overrides": {"nova_api": image}}})
    assert list(found) == ([] if named else ["spec.images.overrides.nova_api"])


def test_the_fields_are_those_of_the_definition_with_its_defaults() -> None:
    root = schema().root["properties"]["spec"]["properties"]["features"]
    defaults = {}
    for text in NEEDS:
        node = root
        for key in text.split("."):
            node = node["properties"][key]
        if node.get("default"):
            defaults[text] = node["default"]
    assert defaults == DEFAULTS
