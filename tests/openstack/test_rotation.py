"""A service's accounts are rotated on a real MariaDB, RabbitMQ and Keystone while its clients work."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import openstack
import pymysql
import pytest
from cryptography.fernet import Fernet

from controller.adapters.accounts.json_api import Answer, JsonApi
from controller.adapters.accounts.servers import RealAccountServers
from controller.domain.credentials.clouds_yaml import Administrator
from controller.domain.credentials.rotation.accounts import Account, Server
from controller.domain.credentials.rotation.servers import ServerPlace
from controller.errors import RightRefused, ServerUnavailable
from controller.ports.accounts import RegionAccounts, ServerLogin, WrappedKeys
from sandbox.errors import SandboxError
from sandbox.openstack.series import DEFAULT, HOST, find_series
from tests.fakes.kube import Request
from tests.openstack.account_servers import ROOT, ROOT_PASSWORD, AccountServersBed, Client, account_servers
from tests.reconcile.credentials.rotation_bed import NS, RotationBed, logins_of
from tests.reconcile.credentials.test_secrets import Killed

pytestmark = [pytest.mark.openstack, pytest.mark.slow]
KINDS = {Server.DATABASE: "database", Server.BROKER: "broker", Server.KEYSTONE: "keystone"}
PODS = 2


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AccountServersBed]:
    series = find_series(os.environ.get("OPENSTACK_SERIES") or DEFAULT)
    try:
        with account_servers(series, tmp_path_factory.mktemp("accounts")) as made:
            yield made
    except SandboxError as error:
        if "this machine has" in str(error):
            pytest.skip(str(error))
        raise


class RealBed(RotationBed):
    """Glance, whose Jobs and clients meet real servers."""

    services = ("image",)

    def __init__(self, real: AccountServersBed) -> None:
        self.real = real
        self.pods: list[Client] = []
        self.counted: list[dict[str, Any]] = []
        super().__init__()

    def prepare(self) -> None:
        """The administrators of the servers."""
        given = {
            "database-credentials": {"root-password": ROOT_PASSWORD},
            "messaging-credentials": {"admin-password": self.real.administrators["broker"]},
            "identity-credentials": {"admin-password": self.real.administrators["keystone"]},
        }
        for name, texts in given.items():
            meta = {"name": name, "namespace": NS}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": texts}
            self.kube.create(secret)

    def account_servers(self) -> RegionAccounts:
        return RealAccountServers()

    def wrapped_keys(self) -> WrappedKeys:
        return RealAccountServers()

    def values(self, service: str) -> dict[str, Any]:
        values = super().values(service)
        endpoints = values["endpoints"]
        here = {"host_fqdn_override": {"default": HOST}}
        endpoints["oslo_db"] |= {**here, "port": {"mysql": {"default": self.real.port("mariadb")}}}
        endpoints["oslo_db"]["auth"]["admin"]["username"] = ROOT
        endpoints["oslo_messaging"] |= {**here, "port": {"http": {"default": self.real.management}}}
        endpoints["oslo_messaging"]["auth"]["admin"]["username"] = "guest"
        endpoints["identity"] |= {
            **here,
            "port": {"api": {"default": self.real.port("keystone"), "internal": self.real.port("keystone")}},
        }
        return values

    def run_jobs(self, chart: str, values: Mapping[str, Any]) -> None:
        auth = {name: values["endpoints"][name]["auth"]["admin"] for name in ("identity", "oslo_messaging")}
        self.real.administrators["keystone"] = auth["identity"]["password"]
        self.real.administrators["broker"] = auth["oslo_messaging"]["password"]
        self.real.run_jobs(named(values))

    def run_pods(self, chart: str, values: Mapping[str, Any]) -> None:
        """One after the other, as a Deployment replaces them: the next one works before one before ends."""
        before, self.pods = self.pods, []
        for _ in range(PODS):
            pod = self.real.client(named(values))
            pod.ready()
            self.pods.append(pod)
            if before:
                self.counted.append(before.pop().end())
        while before:
            self.counted.append(before.pop().end())

    def end(self) -> dict[str, Any]:
        """All that the clients have counted."""
        while self.pods:
            self.counted.append(self.pods.pop().end())
        return {
            "requests": sum(one["requests"] for one in self.counted),
            "failures": [text for one in self.counted for text in one["failures"]],
        }


@pytest.fixture
def bed(real: AccountServersBed) -> Iterator[RealBed]:
    made = RealBed(real)
    yield made
    made.end()


def named(values: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    return {KINDS[server]: (name, password) for server, name, password in logins_of(values, "glance")}


def refused(real: AccountServersBed, logins: Mapping[str, tuple[str, str]]) -> list[str]:
    """The servers that refuse these names and passwords."""
    found = []
    name, password = logins["database"]
    try:
        pymysql.connect(host=HOST, port=real.port("mariadb"), user=name, password=password).close()
    except pymysql.err.OperationalError as error:
        assert error.args[0] == 1045
        found.append("database")
    login = ("guest", real.administrators["broker"])
    api = JsonApi(f"http://{HOST}:{real.management}/api", login=login)
    if name_of_broker := logins["broker"][0]:
        found += [] if api.get(f"/users/{name_of_broker}") else ["broker"]
    name, password = logins["keystone"]
    account = {"username": name, "password": password, "project_name": "service"}
    domains = {"user_domain_name": "service", "project_domain_name": "service"}
    login = {"auth_url": real.configuration.identity_url, **account, **domains}
    cloud = openstack.connect(load_envvars=False, load_yaml_config=False, auth=login)
    try:
        cloud.authorize()
    except openstack.exceptions.SDKException as error:
        assert "401" in str(error)
        found.append("keystone")
    return found


def known(real: AccountServersBed, logins: Mapping[str, tuple[str, str]]) -> list[str]:
    """The servers that have accounts of these names, as they tell their administrators."""
    account = {"username": "admin", "project_name": "admin"}
    domains = {"user_domain_name": "Default", "project_domain_name": "Default"}
    admin = Administrator(real.configuration.identity_url, {**account, **domains}, "sandbox")
    places = {
        Server.DATABASE: (ServerPlace(Server.DATABASE, HOST, real.port("mariadb"), ROOT), ROOT_PASSWORD),
        Server.BROKER: (ServerPlace(Server.BROKER, HOST, real.management, "guest"), "guest"),
        Server.KEYSTONE: (ServerPlace(Server.KEYSTONE, keystone=admin), "sandbox"),
    }
    servers = RealAccountServers()
    return [
        KINDS[server]
        for server, (place, password) in places.items()
        if servers.has(
            ServerLogin(place, password),
            Account(server, logins[KINDS[server]][0], "glance", "any", "service"),
        )
    ]


def test_a_service_is_rotated_while_its_clients_work(bed: RealBed, real: AccountServersBed) -> None:
    before = named(bed.resolved("image"))
    bed.ask("image")
    bed.settle()
    after = named(bed.resolved("image"))
    assert {name for name, _ in after.values()} == {"glance-2"}
    assert bed.rotation("image") == {}, bed.rotation("image")
    assert refused(real, before) == ["database", "broker", "keystone"]
    assert refused(real, after) == []
    assert known(real, before) == []
    assert known(real, after) == ["database", "broker", "keystone"]
    counted = bed.end()
    print(f"{counted['requests']} requests, {len(counted['failures'])} failed")
    assert counted["requests"] > 100
    assert counted["failures"] == []


def test_killed_before_and_after_each_step_it_ends_with_one_account_each(
    bed: RealBed, real: AccountServersBed
) -> None:
    before = named(bed.resolved("image"))
    bed.ask("image")
    at = 0

    def kill(request: Request) -> None:
        nonlocal at
        at += 1
        if at % 2:
            raise Killed

    for _ in range(20):
        bed.kube.before_write = bed.kube.after_write = kill
        try:
            bed.reconcile()
        except Killed:
            bed.restart()
        finally:
            bed.kube.before_write = bed.kube.after_write = lambda request: None
        if bed.resolved("image") != bed.deployed("image"):
            bed.upgrade("image")
            bed.replace_pods("image")
        bed.clock.advance(10)
    bed.settle()
    assert bed.rotation("image") == {}
    assert refused(real, before) == ["database", "broker", "keystone"]
    assert refused(real, named(bed.resolved("image"))) == []
    assert bed.end()["failures"] == []


def test_who_still_works_with_the_account_before_keeps_it(bed: RealBed, real: AccountServersBed) -> None:
    before = named(bed.resolved("image"))
    other = real.client(before)
    other.ready()
    bed.ask("image")
    bed.settle(4)
    name = before["database"][0]
    assert bed.rotation("image")["phase"] == "Removing"
    assert f"account {name} still has" in bed.rotation("image")["message"]
    assert refused(real, before) == []
    assert other.end()["failures"] == []
    bed.settle()
    assert bed.rotation("image") == {}
    assert refused(real, before) == ["database", "broker", "keystone"]


def test_an_application_credential_keeps_a_rotation_from_beginning(
    bed: RealBed, real: AccountServersBed
) -> None:
    name, password = named(bed.resolved("image"))["keystone"]
    account = {"username": name, "password": password, "project_name": "service"}
    domains = {"user_domain_name": "service", "project_domain_name": "service"}
    login = {"auth_url": real.configuration.identity_url, **account, **domains}
    cloud = openstack.connect(load_envvars=False, load_yaml_config=False, auth=login)
    user = cloud.current_user_id
    made = cloud.identity.create_application_credential(user, name="kept")
    bed.ask("image")
    bed.settle(2)
    assert "1 application credentials" in bed.rotation("image")["message"]
    assert named(bed.resolved("image"))["keystone"] == (name, password)
    cloud.identity.delete_application_credential(user, made.id)
    bed.settle()
    assert bed.rotation("image") == {}


class Gap:
    """Who logs in to Keystone as its administrator all the time, with what the Secret says just then."""

    def __init__(self, bed: RealBed, real: AccountServersBed) -> None:
        self._bed, self._url = bed, real.configuration.identity_url
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._log_in)
        self.seen: list[tuple[float, bool]] = []

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _log_in(self) -> None:
        while not self._stopped.is_set():
            admitted = self.lets_in(self._bed.texts("identity-credentials")["admin-password"])
            self.seen.append((time.monotonic(), admitted))

    @property
    def refused_seconds(self) -> float:
        """From the first refusal to the next login that was admitted."""
        first = next((at for at, admitted in self.seen if not admitted), None)
        if first is None:
            return 0.0
        return next(at for at, admitted in self.seen if admitted and at > first) - first

    @property
    def said(self) -> str:
        refused = sum(not admitted for _, admitted in self.seen)
        return f"{len(self.seen)} logins, {refused} refused, for {self.refused_seconds:.3f} s"

    def lets_in(self, password: str) -> bool:
        return self._answer(password).status != 401

    def user(self) -> dict[str, Any]:
        """The administrator's account."""
        answer = self._answer(self._bed.texts("identity-credentials")["admin-password"])
        token = next(text for name, text in answer.headers.items() if name.lower() == "x-subject-token")
        api = JsonApi(self._url, headers={"X-Auth-Token": token})
        return dict(api.get(f"/users/{answer.content['token']['user']['id']}")["user"])

    def _answer(self, password: str) -> Answer:
        user = {"name": "admin", "domain": {"name": "Default"}, "password": password}
        identity = {"methods": ["password"], "password": {"user": user}}
        scope = {"project": {"name": "admin", "domain": {"name": "Default"}}}
        body = {"auth": {"identity": identity, "scope": scope}}
        return JsonApi(self._url).call("POST", "/auth/tokens", body=body, also=(401,))


def test_keystones_administrator_gets_another_password_while_its_clients_work(
    bed: RealBed, real: AccountServersBed
) -> None:
    before = bed.texts("identity-credentials")["admin-password"]
    gap = Gap(bed, real)
    bed.ask("identity")
    with gap:
        bed.reconcile()
        bed.upgrade("image")
    after = bed.texts("identity-credentials")["admin-password"]
    assert after != before
    # A pod that has the one before goes on trying: enough to lock the account, if it counted.
    assert [gap.lets_in(before) for _ in range(10)] == [False] * 10
    assert gap.lets_in(after)
    assert gap.user()["options"]["ignore_lockout_failure_attempts"] is True
    bed.settle()
    assert bed.rotation("identity") == {}, bed.rotation("identity")
    assert "ignore_lockout_failure_attempts" not in gap.user()["options"]
    assert gap.lets_in(after)
    assert not gap.lets_in(before)
    counted = bed.end()
    print(f"{gap.said}; {counted['requests']} requests of services, {len(counted['failures'])} failed")
    assert gap.refused_seconds < 2
    assert counted["failures"] == []


def test_an_account_that_a_trust_names_gets_another_password_and_keeps_the_trust(
    real: AccountServersBed,
) -> None:
    names = {"username": "admin", "project_name": "admin"}
    domains = {"user_domain_name": "Default", "project_domain_name": "Default"}
    admin = Administrator(real.configuration.identity_url, {**names, **domains}, "any")
    login = ServerLogin(ServerPlace(Server.KEYSTONE, keystone=admin), real.administrators["keystone"])
    cloud = openstack.connect(
        load_envvars=False,
        load_yaml_config=False,
        auth={"auth_url": admin.auth_url, **names, **domains, "password": login.password},
    )
    identity = cloud.identity
    service = identity.find_domain("service") or identity.create_domain(name="service")
    trustee = identity.create_user(name="trustee", domain_id=service.id, password="first")
    me, project = cloud.current_user_id, cloud.current_project_id
    trust = identity.create_trust(
        trustor_user_id=me,
        trustee_user_id=trustee.id,
        project_id=project,
        impersonation=True,
        roles=[{"name": "admin"}],
    )

    def lets_in(password: str) -> bool:
        user = {"id": trustee.id, "password": password}
        scope = {"OS-TRUST:trust": {"id": trust.id}}
        body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
        return JsonApi(admin.auth_url).call("POST", "/auth/tokens", body=body, also=(401,)).status != 401

    account, servers = (
        Account(Server.KEYSTONE, "trustee", "heat", "identity", "service"),
        RealAccountServers(),
    )
    for _ in range(2):
        servers.give_password(login, account, "second")
        assert [lets_in(one) for one in ("first", "second")] == [False, True]
        assert [servers.has_password(login, account, one) for one in ("first", "second")] == [False, True]
        assert identity.get_user(trustee.id).options == {"ignore_lockout_failure_attempts": True}
    for _ in range(2):
        servers.restore_lockout(login, account)
        assert identity.get_user(trustee.id).options == {}
    servers.give_password(login, replace(account, name="of-nobody"), "second")
    assert not servers.has_password(login, replace(account, name="of-nobody"), "second")


def test_the_brokers_administrator_gets_another_password_while_clients_work(
    bed: RealBed, real: AccountServersBed
) -> None:
    before = bed.texts("messaging-credentials")["admin-password"]
    bed.ask("messaging")
    bed.settle()
    assert bed.rotation("messaging") == {}, bed.rotation("messaging")
    after = bed.texts("messaging-credentials")["admin-password"]
    found = []
    for password in (before, after):
        api = JsonApi(f"http://{HOST}:{real.management}/api", login=("guest", password))
        found.append(api.call("GET", "/whoami", also=(401,)))
    assert [one.status for one in found] == [401, 200]
    assert "administrator" in found[1].content["tags"]
    counted = bed.end()
    assert counted["requests"] > 10
    assert counted["failures"] == []


def test_the_database_knows_two_passwords_of_root_until_it_is_settled(real: AccountServersBed) -> None:
    real.sql("CREATE USER chief@'%' IDENTIFIED BY 'first'", "GRANT ALL ON *.* TO chief@'%' WITH GRANT OPTION")
    login = ServerLogin(ServerPlace(Server.DATABASE, HOST, real.port("mariadb"), "chief"), "first")
    servers = RealAccountServers()
    for _ in range(2):
        servers.add_password(login, "second")
        assert [database_lets_in(real, one) for one in ("first", "second", "third")] == [True, True, False]
    for _ in range(2):
        servers.drop_other_passwords(replace(login, password="second"))
        assert [database_lets_in(real, one) for one in ("first", "second")] == [False, True]
    servers.add_password(login, "second")  # of a process that stood still meanwhile
    assert [database_lets_in(real, one) for one in ("first", "second")] == [False, True]
    with pytest.raises(ServerUnavailable, match=r"refuses chief$"):
        servers.add_password(login, "third")


def database_lets_in(real: AccountServersBed, password: str) -> bool:
    try:
        pymysql.connect(host=HOST, port=real.port("mariadb"), user="chief", password=password).close()
    except pymysql.err.OperationalError as error:
        assert error.args[0] == 1045
        return False
    return True


def test_what_a_user_of_keystone_was_given_by_hand_is_passed_on(real: AccountServersBed) -> None:
    account = {"username": "admin", "project_name": "admin"}
    domains = {"user_domain_name": "Default", "project_domain_name": "Default"}
    password = real.administrators["keystone"]
    login = {"auth_url": real.configuration.identity_url, "password": password, **account, **domains}
    identity = openstack.connect(load_envvars=False, load_yaml_config=False, auth=login).identity
    group = identity.create_group(name="auditors", domain_id="default")
    before, after = (
        identity.create_user(name=name, domain_id="default", password="hand") for name in ("hand", "hand-2")
    )
    identity.add_user_to_group(before, group)
    options = {"user": {"options": {"ignore_password_expiry": True}}}
    assert identity.patch(f"/users/{before.id}", json=options).ok
    admin = Administrator(real.configuration.identity_url, {**account, **domains}, password)
    place = ServerPlace(Server.KEYSTONE, keystone=admin)
    users = [Account(Server.KEYSTONE, one.name, "glance", "identity", "Default") for one in (before, after)]
    for _ in range(2):
        RealAccountServers().copy_grants(ServerLogin(place, password), *users)
        assert sorted(one.name for one in identity.group_users(group)) == ["hand", "hand-2"]
        assert identity.get(f"/users/{after.id}").json()["user"]["options"] == {
            "ignore_password_expiry": True
        }


def test_rights_in_the_broker_that_were_given_by_hand_are_passed_on(real: AccountServersBed) -> None:
    password = real.administrators["broker"]
    api = JsonApi(f"http://{HOST}:{real.management}/api", login=("guest", password))
    rights = {"write": "^notifications", "read": "^notifications"}
    for name in ("hand", "hand-2"):
        api.call("PUT", f"/users/{name}", body={"password": name, "tags": ""})
    api.call("PUT", "/permissions/%2F/hand", body={"configure": "", **rights})
    api.call("PUT", "/topic-permissions/%2F/hand", body={"exchange": "amq.topic", **rights})
    login = ServerLogin(ServerPlace(Server.BROKER, HOST, real.management, "guest"), password)
    before, after = (Account(Server.BROKER, name, "glance", "oslo_messaging") for name in ("hand", "hand-2"))
    for _ in range(2):
        RealAccountServers().copy_grants(login, before, after)
    found = [api.get(f"/users/hand-2/{kind}")[0] for kind in ("permissions", "topic-permissions")]
    assert [one["write"] for one in found] == ["^notifications"] * 2
    assert found[1]["exchange"] == "amq.topic"


def test_rights_in_databases_that_were_given_by_hand_are_passed_on(real: AccountServersBed) -> None:
    real.sql(
        "CREATE DATABASE own",
        "CREATE DATABASE `an%odd``one`",
        "CREATE TABLE own.things (a INT, b INT)",
        "CREATE ROLE readers",
        f"GRANT readers TO {ROOT}@'%' WITH ADMIN OPTION",
        "CREATE USER hand@'%' IDENTIFIED BY 'one'",
        "GRANT ALL ON own.* TO hand@'%'",
        "GRANT PROCESS ON *.* TO hand@'%'",
        "GRANT SELECT ON `an%odd``one`.* TO hand@'%' WITH GRANT OPTION",
        "GRANT SELECT (a), UPDATE (b) ON own.things TO hand@'%'",
        "GRANT readers TO hand@'%'",
        "SET DEFAULT ROLE readers FOR hand@'%'",
    )
    login = ServerLogin(ServerPlace(Server.DATABASE, HOST, real.port("mariadb"), ROOT), ROOT_PASSWORD)
    before, after = (Account(Server.DATABASE, name, "glance", "oslo_db") for name in ("hand", "hand-2"))
    servers = RealAccountServers()
    servers.copy_grants(login, before, after)
    assert not servers.has(login, after)
    real.sql("CREATE USER `hand-2`@'%' IDENTIFIED BY 'two'", "GRANT ALL ON own.* TO `hand-2`@'%'")
    for _ in range(2):
        servers.copy_grants(login, before, after)
        found = shown_grants(real, "hand-2", "two")
        assert "PROCESS" in found and "hand`" not in found
        for right in (
            "GRANT SELECT ON `an%odd``one`.* TO `hand-2`@`%` WITH GRANT OPTION",
            "GRANT SELECT (`a`), UPDATE (`b`) ON `own`.`things` TO",
            "SET DEFAULT ROLE `readers` FOR `hand-2`@`%`",
        ):
            assert right in found
    assert "PROCESS" in shown_grants(real, "hand", "one")


def test_a_right_that_the_administrator_may_not_give_is_reported(real: AccountServersBed) -> None:
    real.sql(
        "CREATE USER poor@'%' IDENTIFIED BY 'poor'",
        "GRANT SELECT ON mysql.* TO poor@'%'",
        "CREATE USER rich@'%' IDENTIFIED BY 'rich'",
        "GRANT PROCESS ON *.* TO rich@'%'",
        "CREATE USER `rich-2`@'%' IDENTIFIED BY 'rich'",
    )
    place = ServerPlace(Server.DATABASE, HOST, real.port("mariadb"), "poor")
    before, after = (Account(Server.DATABASE, name, "glance", "oslo_db") for name in ("rich", "rich-2"))
    with pytest.raises(
        RightRefused, match="poor may not grant account rich-2 all privileges of account rich"
    ) as told:
        RealAccountServers().copy_grants(ServerLogin(place, "poor"), before, after)
    assert str(told.value).endswith(": GRANT PROCESS ON *.* TO `rich-2`@`%`")


@pytest.mark.parametrize("mode", ["", "ANSI_QUOTES"])
def test_every_kind_of_right_is_passed_on_or_reported(real: AccountServersBed, mode: str) -> None:
    name = f"odd{len(mode)}"
    real.sql(
        f"SET GLOBAL sql_mode = '{mode}'",
        f"CREATE USER {name}@'%' IDENTIFIED BY 'one'",
        f"CREATE USER `{name}-2`@'%' IDENTIFIED BY 'two'",
        f"GRANT PROXY ON 'boss'@'%' TO {name}@'%'",
        f"GRANT USAGE ON *.* TO {name}@'%' WITH GRANT OPTION MAX_QUERIES_PER_HOUR 9000",
        f"GRANT PROCESS ON *.* TO {name}@'%'",
    )
    login = ServerLogin(ServerPlace(Server.DATABASE, HOST, real.port("mariadb"), ROOT), ROOT_PASSWORD)
    before, after = (Account(Server.DATABASE, one, "glance", "oslo_db") for one in (name, f"{name}-2"))
    try:
        for _ in range(2):
            # The administrator may stand in for no one.
            with pytest.raises(RightRefused, match=rf": GRANT PROXY ON \S+ TO `{name}-2`@`%`$"):
                RealAccountServers().copy_grants(login, before, after)
    finally:
        real.sql("SET GLOBAL sql_mode = DEFAULT")
    found = shown_grants(real, after.name, "two")
    assert "GRANT PROCESS ON *.*" in found
    assert "WITH GRANT OPTION" in found


def shown_grants(real: AccountServersBed, user: str, password: str) -> str:
    with (
        pymysql.connect(host=HOST, port=real.port("mariadb"), user=user, password=password) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SHOW GRANTS")
        return "\n".join(row[0] for row in cursor.fetchall())


def test_what_barbican_has_wrapped_is_wrapped_again_row_by_row(real: AccountServersBed) -> None:
    former, key, other = (Fernet.generate_key().decode() for _ in range(3))
    rows = {
        name: Fernet(by).encrypt(b"key").decode() for name, by in (("a", former), ("b", key), ("c", other))
    }
    plugin = "barbican.plugin.crypto.simple_crypto.SimpleCryptoPlugin"
    inserted = [
        f"INSERT INTO barbican.kek_data VALUES ('{name}', '{plugin}', '{row}')" for name, row in rows.items()
    ]
    table = "barbican.kek_data (id VARCHAR(36) PRIMARY KEY, plugin_name VARCHAR(255), plugin_meta TEXT)"
    no_meta = f"INSERT INTO barbican.kek_data VALUES ('d', '{plugin}', NULL), ('e', 'another', '{rows['a']}')"
    real.sql("CREATE DATABASE barbican", f"CREATE TABLE {table}", *inserted, no_meta)
    login = ServerLogin(ServerPlace(Server.DATABASE, HOST, real.port("mariadb"), ROOT), ROOT_PASSWORD)
    servers = RealAccountServers()
    assert [servers.rewrap(login, "barbican", key, former) for _ in range(2)] == [1, 0]
    with (
        pymysql.connect(
            host=HOST, port=real.port("mariadb"), user=ROOT, password=ROOT_PASSWORD
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT id, plugin_meta FROM barbican.kek_data")
        found = dict(cursor.fetchall())
    assert Fernet(key).decrypt(found.pop("a")) == b"key"
    assert found == {"b": rows["b"], "c": rows["c"], "d": None, "e": rows["a"]}
    with pytest.raises(ServerUnavailable, match="no name of a database"):
        servers.rewrap(login, "barbican`; --", key, former)


def test_a_wrong_password_of_an_administrator_is_reported_without_it(real: AccountServersBed) -> None:
    place = ServerPlace(Server.DATABASE, HOST, real.port("mariadb"), ROOT)
    with pytest.raises(ServerUnavailable, match=f"refuses {ROOT}$"):
        account = Account(Server.DATABASE, "glance", "glance", "oslo_db")
        RealAccountServers().sessions(ServerLogin(place, "not-the-password"), account)
    keystone = Administrator(
        real.configuration.identity_url,
        {"username": "admin", "project_name": "admin"}
        | {"user_domain_name": "Default", "project_domain_name": "Default"},
        "any",
    )
    broker = ServerPlace(Server.BROKER, HOST, real.management, "guest")
    places = {
        "mariadb": (place, ROOT_PASSWORD),
        "broker": (broker, real.administrators["broker"]),
        "keystone": (ServerPlace(Server.KEYSTONE, keystone=keystone), real.administrators["keystone"]),
    }
    for one, password in places.values():
        servers = RealAccountServers()
        asked = [ServerLogin(one, text) for text in (password, "not-the-password")]
        assert [servers.accepts(login) for login in asked] == [True, False]
    api = JsonApi(f"http://{HOST}:{real.management}/api", login=("guest", "not-the-password"))
    with pytest.raises(ServerUnavailable, match="answers GET /whoami with 401") as caught:
        api.call("GET", "/whoami")
    assert "not-the-password" not in str(caught.value)
