"""Jobs of the lean charts in their pods, against the real services that they call."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import openstack
import pytest

from sandbox.openstack.cloud import Cloud
from sandbox.openstack.configuration import REGION
from sandbox.openstack.series import places_of
from tests.charts.lean import merged, nest
from tests.charts.node import Node, Pod, a_node

pytestmark = [pytest.mark.openstack, pytest.mark.slow]

TYPE = "osctl-test"
USER = "osctl-test-glance"
PASSWORD = "pass word'\"$-of-a-test"


@pytest.fixture
def node(cloud: Cloud) -> Iterator[Node]:
    with a_node(loopback=True) as made:
        yield made


@pytest.fixture
def admin(cloud: Cloud) -> Iterator[Any]:
    """A client of the cloud, and a cloud without what these tests make."""
    client = connected(cloud.credentials())
    clean(client)
    yield client
    clean(client)


def connected(login: dict[str, str]) -> Any:
    return openstack.connect(
        load_envvars=False, load_yaml_config=False, auth=login, region_name=REGION, interface="internal"
    )


def clean(client: Any) -> None:
    for service in client.identity.services(type=TYPE):
        client.identity.delete_service(service)
    for user in client.identity.users(name=USER):
        client.identity.delete_user(user)


def pod(cloud: Cloud, node: Node, chart: str, workload: str, values: dict[str, Any] | None = None) -> Pod:
    """The pod as this cloud's admin, with the cloud's own packages as those of the image."""
    login = cloud.credentials()
    own = {
        "username": login["username"],
        "password": login["password"],
        "project_name": login["project_name"],
    }
    domains = {name: login[name] for name in ("user_domain_name", "project_domain_name")}
    auth = {**own, **domains, "region_name": REGION, "auth_url": login["auth_url"]}
    made = Pod(node, chart, workload, merged(nest("endpoints.identity.auth.admin", auth), values or {}))
    venv = places_of(cloud.series).venv
    python = (venv / "bin/python").resolve().parents[1]
    made.files |= {"/var/lib/openstack": venv, str(venv): venv, str(python): python}
    return made


def user_pod(cloud: Cloud, node: Node, password: str = PASSWORD) -> Pod:
    glance = {"username": USER, "password": password, "role": "admin,member"}
    return pod(cloud, node, "glance", "Job/glance-ks-user", nest("endpoints.identity.auth.glance", glance))


def login_as_user(cloud: Cloud, password: str = PASSWORD) -> Any:
    login = {**cloud.credentials(), "username": USER, "password": password}
    return connected(
        login | {"user_domain_name": "service", "project_domain_name": "service", "project_name": "service"}
    )


def test_a_service_and_its_endpoints_are_registered_once_and_kept_true(
    cloud: Cloud, node: Node, admin: Any
) -> None:
    for url in ("http://first:1", "http://second:2", "http://second:2"):
        services = pod(cloud, node, "glance", "Job/glance-ks-service")
        desired = json.dumps([{"name": "tested", "type": TYPE}])
        code, said = services.run("ks-service", WANTED=desired)
        assert code == 0, said
        endpoints = pod(cloud, node, "glance", "Job/glance-ks-endpoints")
        each = [{"type": TYPE, "interface": one, "url": url} for one in ("admin", "internal", "public")]
        code, said = endpoints.run("ks-endpoints", WANTED=json.dumps(each))
        assert code == 0, said
        (service,) = admin.identity.services(type=TYPE)
        found = [(one.interface, one.url) for one in admin.identity.endpoints(service_id=service.id)]
        assert (service.name, sorted(found)) == (
            "tested",
            [(one, url) for one in ("admin", "internal", "public")],
        )


def test_a_service_that_is_there_twice_is_there_once_afterwards(cloud: Cloud, node: Node, admin: Any) -> None:
    for _ in range(2):
        admin.identity.create_service(name="twice", type=TYPE)
    desired = json.dumps([{"name": "twice", "type": TYPE}])
    code, said = pod(cloud, node, "glance", "Job/glance-ks-service").run("ks-service", WANTED=desired)
    assert code == 0, said
    assert len(list(admin.identity.services(type=TYPE))) == 1


def test_a_user_gets_its_password_and_roles_and_keeps_its_tokens(
    cloud: Cloud, node: Node, admin: Any
) -> None:
    code, said = user_pod(cloud, node).run("ks-user")
    assert code == 0, said
    assert PASSWORD not in said
    session = login_as_user(cloud).session
    roles = {role["name"] for role in session.auth.get_access(session)._data["token"]["roles"]}
    assert {"admin", "member"} <= roles
    # Again, as at each upgrade: who is logged in stays so.
    code, said = user_pod(cloud, node).run("ks-user")
    assert code == 0, said
    answer = session.get(
        cloud.credentials()["auth_url"] + "/auth/tokens", headers={"X-Subject-Token": session.get_token()}
    )
    assert answer.status_code == 200


def test_a_new_password_is_set(cloud: Cloud, node: Node, admin: Any) -> None:
    for password in (PASSWORD, "another"):
        code, said = user_pod(cloud, node, password).run("ks-user")
        assert code == 0, said
        assert login_as_user(cloud, password).session.get_token()


def test_a_user_that_was_disabled_serves_again(cloud: Cloud, node: Node, admin: Any) -> None:
    assert user_pod(cloud, node).run("ks-user")[0] == 0
    (user,) = admin.identity.users(name=USER)
    admin.identity.update_user(user, is_enabled=False)
    code, said = user_pod(cloud, node).run("ks-user")
    assert code == 0, said
    assert login_as_user(cloud).session.get_token()


def test_a_wrong_login_is_reported_without_its_password(cloud: Cloud, node: Node) -> None:
    code, said = user_pod(cloud, node).run("ks-user", OS_PASSWORD="not-the-admins")
    assert code == 1
    assert "Unauthorized" in said and "not-the-admins" not in said


def test_keystone_that_does_not_answer_is_waited_for_and_sigterm_ends_the_wait(
    cloud: Cloud, node: Node
) -> None:
    running = user_pod(cloud, node).start("ks-user", OS_AUTH_URL="http://127.0.0.1:9/v3")
    while "once more in" not in running.said():
        assert running.running(), running.said()
        time.sleep(0.05)
    assert running.terminate(within=10) == 143
