"""The account that may only read, on a real Keystone: what it is given, and what it can do with that."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import openstack
import pytest
import yaml
from keystoneauth1.exceptions import Forbidden, NotFound, Unauthorized
from openstack.exceptions import ForbiddenException

from controller.adapters.accounts.json_api import JsonApi
from controller.adapters.accounts.servers import RealAccountServers
from controller.domain.credentials.clouds_yaml import Administrator
from controller.domain.credentials.readers import READER_PREFIX, reader_account, reader_clouds
from controller.domain.credentials.rotation.accounts import Server
from controller.domain.credentials.rotation.servers import ServerPlace
from controller.ports.accounts import ServerLogin
from sandbox.openstack.cloud import Cloud
from tests.fakes.keystone_users import ADMIN_PASSWORD, FakeKeystone, served

pytestmark = [pytest.mark.openstack, pytest.mark.slow]
PASSWORD, NEXT_PASSWORD = "Rdr0123456789abcdefghijklmnopqrs", "Rdr9876543210abcdefghijklmnopqrs"
ACCOUNTS = RealAccountServers()


@dataclass
class Bed:
    """A Keystone, and names in it that no other test has. `api`: as its administrator."""

    admin: Administrator
    login: ServerLogin
    api: JsonApi
    mark: str
    suffix: str

    @property
    def account(self) -> Any:
        return reader_account(self.admin, self.suffix)

    def ensure(self, password: str = PASSWORD, suffix: str | None = None, *, project: bool = True) -> Any:
        account = reader_account(self.admin, self.suffix if suffix is None else suffix)
        return ACCOUNTS.ensure_reader(self.login, account, password, self.mark, project=project)

    def drop(self, *keep: str) -> tuple[str, ...]:
        return ACCOUNTS.drop_readers(
            self.login, self.account.domain, READER_PREFIX + self.suffix, self.mark, keep
        )

    def user(self, name: str = "") -> dict[str, Any] | None:
        users = self.api.get("/users", name=name or self.account.name)["users"]
        return users[0] if users else None

    def roles(self) -> set[str]:
        user = self.user()
        assert user
        listed = self.api.get("/role_assignments", **{"user.id": user["id"]})["role_assignments"]
        names = {role["id"]: role["name"] for role in self.api.get("/roles", name="reader")["roles"]}
        return {f"{names[one['role']['id']]} of {next(iter(one['scope']))}" for one in listed}

    def lets_in(self, password: str, name: str = "") -> bool:
        user = {"name": name or self.account.name, "domain": {"name": self.account.domain}}
        found = self.user(name)
        who = {"id": found["id"]} if found else user
        identity = {"methods": ["password"], "password": {"user": {**who, "password": password}}}
        anybody = JsonApi(self.admin.auth_url)
        answer = anybody.call("POST", "/auth/tokens", body={"auth": {"identity": identity}}, also=(401,))
        return answer.status == 201


def bed_of(admin: Administrator) -> Bed:
    login = ServerLogin(ServerPlace(Server.KEYSTONE, keystone=admin), str(admin.password))
    account = admin.account
    user = {
        "name": account["username"],
        "domain": {"name": account["user_domain_name"]},
        "password": admin.password,
    }
    scope = {"project": {"name": account["project_name"], "domain": {"name": account["project_domain_name"]}}}
    identity = {"methods": ["password"], "password": {"user": user}}
    answer = JsonApi(admin.auth_url).call(
        "POST", "/auth/tokens", body={"auth": {"identity": identity, "scope": scope}}
    )
    token = next(text for name, text in answer.headers.items() if name.lower() == "x-subject-token")
    unique = uuid.uuid4().hex[:8]
    api = JsonApi(admin.auth_url, headers={"X-Auth-Token": token})
    return Bed(admin, login, api, f"openstack/{unique}", f"-{unique}")


def real_administrator(cloud: Cloud) -> Administrator:
    auth = cloud.credentials()
    names = ("username", "project_name", "user_domain_name", "project_domain_name")
    account = {name: str(auth.get(name) or "Default") for name in names}
    return Administrator(
        f"{auth['auth_url'].rstrip('/').removesuffix('/v3')}/v3",
        {**account, "region_name": "RegionOne"},
        auth["password"],
    )


@pytest.fixture(params=["fake", "real"])
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Whatever holds for one holds for the other."""
    if request.param == "real":
        made = bed_of(real_administrator(request.getfixturevalue("cloud")))
        yield made
        made.drop()
        return
    names = ("username", "project_name", "user_domain_name", "project_domain_name")
    account = dict.fromkeys(names, "admin") | {
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }
    with served(FakeKeystone()) as keystone:
        yield bed_of(Administrator(keystone.url, account, ADMIN_PASSWORD))


def test_it_is_made_with_the_role_reader_and_no_other(bed: Bed) -> None:
    assert bed.ensure().made
    assert bed.roles() == {"reader of system", "reader of project"}
    assert bed.lets_in(PASSWORD) and not bed.lets_in("another")


def test_a_second_look_finds_all_as_it_is_to_be(bed: Bed) -> None:
    bed.ensure()
    before = bed.user()
    found = bed.ensure()
    assert not (found.made or found.foreign or found.disabled or found.others)
    assert bed.user() == before


def test_a_role_that_was_taken_away_is_given_again(bed: Bed) -> None:
    bed.ensure()
    user, role = bed.user(), bed.api.get("/roles", name="reader")["roles"][0]["id"]
    assert user
    bed.api.call("DELETE", f"/system/users/{user['id']}/roles/{role}")
    bed.ensure()
    assert bed.roles() == {"reader of system", "reader of project"}


def test_a_role_that_was_given_is_taken_back_and_one_that_others_gave_is_not(bed: Bed) -> None:
    bed.ensure()
    user, role = bed.user(), bed.api.get("/roles", name="reader")["roles"][0]["id"]
    project = bed.api.get("/projects", name="service")["projects"][0]["id"]
    assert user
    bed.api.call("PUT", f"/projects/{project}/users/{user['id']}/roles/{role}")
    assert bed.ensure(project=False).others == 1
    listed = bed.api.get("/role_assignments", **{"user.id": user["id"]})["role_assignments"]
    scopes = [one["scope"] for one in listed]
    assert sorted(scope.get("project", {}).get("id", "system") for scope in scopes) == sorted(
        [project, "system"]
    )


def test_another_password_is_the_only_one_that_is_let_in(bed: Bed) -> None:
    bed.ensure()
    bed.ensure(NEXT_PASSWORD)
    assert bed.lets_in(NEXT_PASSWORD) and not bed.lets_in(PASSWORD)


def test_an_account_of_others_is_not_touched_and_not_deleted(bed: Bed) -> None:
    bed.ensure()
    bed = replace(bed, mark="openstack/another")
    before = bed.user()
    assert bed.ensure(NEXT_PASSWORD).foreign
    assert bed.drop() == ()
    assert bed.user() == before and bed.lets_in(PASSWORD)


def test_one_that_is_disabled_stays_so(bed: Bed) -> None:
    bed.ensure()
    user = bed.user()
    assert user
    bed.api.call("PATCH", f"/users/{user['id']}", body={"user": {"enabled": False}})
    assert bed.ensure().disabled
    assert not bed.lets_in(PASSWORD)


def test_those_that_are_not_kept_go(bed: Bed) -> None:
    bed.ensure()
    bed.ensure(NEXT_PASSWORD, f"{bed.suffix}-2")
    after = reader_account(bed.admin, f"{bed.suffix}-2").name
    assert bed.drop(after) == (bed.account.name,)
    assert bed.user() is None and bed.lets_in(NEXT_PASSWORD, after)
    assert bed.drop() == (after,)


# -- what it can do, on the real one


@dataclass
class Clouds:
    """What others get: with the rights in the project, and with those of the whole system."""

    project: Any
    system: Any


@pytest.fixture
def clouds(cloud: Cloud) -> Iterator[Clouds]:
    made = bed_of(real_administrator(cloud))
    made.ensure()
    text = yaml.safe_load(reader_clouds(made.admin, made.account, PASSWORD, in_project=True))["clouds"]

    def opened(name: str) -> Any:
        given = text[name]
        return openstack.connection.Connection(
            auth=given["auth"],
            region_name=given["region_name"],
            interface="internal",
            identity_api_version="3",
        )

    yield Clouds(opened("default"), opened("system"))
    made.drop()


READINGS: dict[str, Callable[[Clouds], Any]] = {
    "servers": lambda one: list(one.project.compute.servers()),
    "flavors": lambda one: list(one.project.compute.flavors()),
    "networks": lambda one: list(one.project.network.networks()),
    "images": lambda one: list(one.project.image.images()),
    "volumes": lambda one: list(one.project.block_storage.volumes()),
    "users": lambda one: list(one.system.identity.users()),
    "projects": lambda one: list(one.system.identity.projects()),
    "endpoints": lambda one: list(one.system.identity.endpoints()),
    "services": lambda one: list(one.system.identity.services()),
}
WRITINGS: dict[str, Callable[[Clouds], Any]] = {
    "server": lambda one: one.project.compute.create_server(
        name="of-a-reader", flavor_id="1", image_id=str(uuid.uuid4()), networks="none"
    ),
    "network": lambda one: one.project.network.create_network(name="of-a-reader"),
    "image": lambda one: one.project.image.create_image(name="of-a-reader", allow_duplicates=True),
    "project by the system": lambda one: one.system.identity.create_project(name="of-a-reader"),
    "project": lambda one: one.project.identity.create_project(name="of-a-reader"),
    "user by the system": lambda one: one.system.identity.create_user(name="of-a-reader"),
    "user": lambda one: one.project.identity.create_user(name="of-a-reader"),
}


@pytest.mark.parametrize("what", READINGS)
def test_it_reads(clouds: Clouds, what: str) -> None:
    found = READINGS[what](clouds)
    assert found or what not in ("users", "projects", "endpoints", "services")


@pytest.mark.parametrize("what", WRITINGS)
def test_it_writes_nothing(clouds: Clouds, what: str) -> None:
    with pytest.raises((ForbiddenException, Forbidden)) as caught:
        WRITINGS[what](clouds)
    assert "403" in str(caught.value) or getattr(caught.value, "status_code", 0) == 403


def test_it_cannot_change_its_own_password(clouds: Clouds) -> None:
    user = clouds.system.current_user_id
    body = {"user": {"original_password": PASSWORD, "password": NEXT_PASSWORD}}
    system = clouds.system.session
    identity = system.get_endpoint(service_type="identity", interface="internal")
    answer = system.post(f"{identity}/users/{user}/password", json=body, raise_exc=False)
    assert answer.status_code in (400, 403)


def test_deleted_it_is_refused_at_once(cloud: Cloud, clouds: Clouds) -> None:
    assert list(clouds.system.identity.services())
    made = bed_of(real_administrator(cloud))
    user = clouds.system.current_user_id
    made.api.call("DELETE", f"/users/{user}")
    with pytest.raises((Unauthorized, NotFound)):
        clouds.system.session.get("/services", endpoint_filter={"service_type": "identity"})
