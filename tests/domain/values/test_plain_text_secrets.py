"""Secrets in clear are found wherever they hide, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.layer_order import SpecSource
from controller.domain.values.merge import merge_layers
from controller.domain.values.names.known_names import KnownNames
from controller.domain.values.plain_text_secrets import literal_secrets, password_problems
from controller.errors import Problem
from tests.fakes.option_files import chart_options, option_files

REF = {"$secretRef": {"name": "a", "key": "b"}}


@pytest.mark.parametrize(
    "values",
    [
        {"auth": {"admin": {"password": "password"}}},
        {"auth": {"admin": {"password": 12345}}},
        {"metadata_proxy_shared_secret": "x"},
        {"horizon_secret_key": "9aee62c0"},
        {"memcache_secret_key": "x"},
        {"erlang_cookie": "openstack-cookie"},
        {"ssh": {"private_key": "AAAA"}},
        {"heartbeat_key": "insecure"},
        {"tmpurlkey": "supersecret"},
        {"s3": {"access_key": "x"}},
        {"ca_private_key_passphrase": "x"},
        {"powerdns": {"auth": {"service": {"token": "chiave"}}}},
        {"simple_crypto_plugin": {"kek": "dGhp"}},
        {"DEFAULT": {"transport_url": "rabbit://nova:s3cret@rabbitmq:5672/nova"}},
        {"env": [{"name": "OS_PASSWORD", "value": "x"}]},
        {"list": [[{"password": "x"}]]},
        {"key": "-----BEGIN RSA PRIVATE KEY-----\nAAAA"},
        {"admin-password": "x"},
        {"Password": "x"},
        {"api_key": "x"},
        {"apikey": "x"},
        {"apitoken": "x"},
        {"clientSecret": "x"},
        {"oidcClientSecret": "x"},
        {"adminPassword": "x"},
        {"secretKey": "x"},
        {"oidc": {"authToken": "x"}},
        {"credentials": "user:pw"},
        {"extraObjects": {"a": {"kind": "Secret", "stringData": {"config": "x"}}}},
        {"extraObjects": {"a": {"kind": "Secret", "data": {"config": "eA=="}}}},
        {"extraObjects": ["apiVersion: v1\nkind: Secret\nstringData: {config: x}\n"]},
    ],
)
def test_a_secret_in_clear_is_found(values: Any) -> None:
    assert list(literal_secrets(values))


@pytest.mark.parametrize(
    "values",
    [
        {"password": REF},
        {"password": None},
        {"password": ""},
        {"token": {"provider": "fernet", "expiration": 43200}},
        {"secret_name": "keystone-admin"},
        {"user_secret_name": "pvc-ceph-client-key"},
        {"manifests": {"secret_db": True}},
        {"disable_password_reveal": "True"},
        {"password_autocomplete": "False"},
        {"secret": {"tls": {"internal": "mariadb-tls-direct"}}},
        {"ca_private_key": "/etc/octavia/certs/private/server_ca.key.pem"},
        {"os-server-password": "None"},
        {"private_key": "null"},
        {"secret_uuid": "457eb676-33da-42ec-9a8c-9293d545c337"},
        {"password": "{{ .Values.password }}"},
        {"password": "${DB_PASSWORD}"},
        {"url": "http://keystone:5000/v3"},
        {"url": "http://$(USER):$(PASS)@host/"},
        {"extraObjects": {"a": {"kind": "Secret", "stringData": {"config": REF}}}},
        {"extraObjects": {"a": {"kind": "SecretProviderClass", "data": {"config": "x"}}}},
        {"policy": {"identity:validate_token": "rule:admin", "os_compute_api:os-server-password": "rule:a"}},
        {"node_selector_key": "openstack-control-plane"},
        {"max_active_keys": 7},
        {"existingSecret": "keystone-admin"},
        {"credentialsSecret": "registry"},
        {"imagePullSecrets": ["registry"]},
        {"automountServiceAccountToken": True},
        {"credentials": "keystone"},
        {
            "extraObjects": {
                "a": {"apiVersion": "x/v1", "kind": "ExternalSecret", "data": [{"secretKey": "a"}]}
            }
        },
        {"env": [{"name": "OS_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]},
    ],
)
def test_what_is_no_secret_is_left_alone(values: Any) -> None:
    assert list(literal_secrets(values)) == []


def test_every_place_is_named() -> None:
    values = {"a": {"password": "x", "b": [{"token": "y"}]}, "c": REF}
    assert list(literal_secrets(values)) == [("a", "password"), ("a", "b", 0, "token")]


LINES = {("spec", "services"): 4, ("spec", "services", "hosts", 1, "password"): 9}
CLEAR = {"hosts": [{"name": "a"}, {"password": "hunter2"}]}


def problem_of(layer: Layer, features: Any = None) -> Problem:
    merged = merge_layers({}, [layer])
    [problem] = password_problems("nova", merged, SpecSource({"features": features or {}}))
    return problem


def test_a_secret_within_a_list_is_named_with_its_own_field_and_line() -> None:
    problem = problem_of(Layer("services", CLEAR, "region.yaml", ("spec", "services"), LINES))
    assert (problem.path, problem.source) == ("spec.services.hosts[1].password", "region.yaml:9")
    assert problem.message == "release nova would get a secret in plain text"


def test_a_secret_that_a_template_passes_on_is_named_with_the_field_that_holds_it() -> None:
    written = Layer("service compute", CLEAR, "values/services/compute/releases.yaml.j2", ("releases",))
    features = {"backends": [{"conf": {"user": "hunter2", "password": "hunter2"}}]}
    assert problem_of(written, features).path == "spec.features.backends[0].conf.password"
    renamed = {"backends": [{"conf": {"user": "hunter2", "san_password": "hunter2"}}]}
    assert problem_of(written, renamed).path == "spec.features.backends[0].conf.san_password"


def test_of_fields_with_the_same_secret_each_one_is_named() -> None:
    values = {name: {"san_password": "hunter2"} for name in ("a", "b")}
    merged = merge_layers(
        {}, [Layer("service block-storage", values, "values/services/block-storage/releases.yaml.j2")]
    )
    backends = [{"conf": {"san_password": "hunter2"}}, {"conf": {"san_password": "hunter2"}}]
    problems = password_problems("cinder", merged, SpecSource({"features": {"backends": backends}}))
    assert [problem.path for problem in problems] == [
        "spec.features.backends[0].conf.san_password",
        "spec.features.backends[1].conf.san_password",
    ]


def test_a_secret_of_a_template_itself_is_named_with_the_template() -> None:
    written = Layer("service compute", CLEAR, "values/services/compute/releases.yaml.j2", ("releases",))
    assert problem_of(written).source == "values/services/compute/releases.yaml.j2"


def test_a_secret_of_the_charts_defaults_is_said_to_be_theirs() -> None:
    merged = merge_layers(CLEAR, [])
    [problem] = password_problems("nova", merged, SpecSource({}))
    assert problem.path == "nova: hosts[1].password"
    assert problem.message.endswith("from the chart's defaults")


NAMES = KnownNames(
    series=("2026.1",),
    options={"cinder": {"vault": "root_token_id kv_path"}, "keystone": {"auth": "methods password token"}},
    secrets={
        "cinder": {"vault": "root_token_id", "DEFAULT": "backup_swift_key", "database": "connection"},
    },
    files=option_files(),
    charts=chart_options(),
)


def told(chart: str, conf: dict[str, Any]) -> list[str]:
    merged = merge_layers({}, [Layer("services", {"conf": conf}, root=("spec",))])
    found = password_problems(chart, merged, SpecSource({}), NAMES.of(chart, "2026.1"))
    return [problem.path for problem in found]


def test_an_option_that_the_packages_call_secret_is_one_whatever_its_name_is() -> None:
    cinder = {"vault": {"root_token_id": "s.1", "kv_path": "a"}, "DEFAULT": {"backup_swift_key": ["k"]}}
    assert told("cinder", {"cinder": cinder}) == [
        "spec.conf.cinder.vault.root_token_id",
        "spec.conf.cinder.DEFAULT.backup_swift_key[0]",
    ]


def test_an_address_without_a_password_is_no_secret_and_one_with_a_password_is_reported_once() -> None:
    assert told("cinder", {"cinder": {"database": {"connection": "sqlite:///a"}}}) == []
    url = "mysql+pymysql://u:secret@db/cinder"
    assert told("cinder", {"cinder": {"database": {"connection": url}}}) == [
        "spec.conf.cinder.database.connection"
    ]


def test_options_that_name_plugins_are_no_secrets() -> None:
    auth = {"methods": "password,token,totp", "password": "default", "token": "default"}
    assert told("keystone", {"keystone": {"auth": auth}}) == []
    assert told("keystone", {"keystone": {"ldap": {"password": "x"}}}) == ["spec.conf.keystone.ldap.password"]


def test_what_the_packages_do_not_call_secret_is_still_guessed_by_its_name() -> None:
    assert told("cinder", {"cinder": {"vendor": {"api_token": "x"}}}) == ["spec.conf.cinder.vendor.api_token"]


def test_a_secret_of_labelled_nodes_is_one_too() -> None:
    label = {"label": {"key": "a", "values": ["b"]}, "conf": {"cinder": {"vault": {"root_token_id": "s.1"}}}}
    [path] = told("cinder", {"overrides": {"cinder_volume": {"labels": [label]}}})
    assert path.endswith(".conf.cinder.vault.root_token_id")
