"""Secrets in clear are found wherever they hide, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.password_guard import literal_secrets

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
        {"node_selector_key": "openstack-control-plane"},
        {"max_active_keys": 7},
        {"env": [{"name": "OS_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]},
    ],
)
def test_what_is_no_secret_is_left_alone(values: Any) -> None:
    assert list(literal_secrets(values)) == []


def test_every_place_is_named() -> None:
    values = {"a": {"password": "x", "b": [{"token": "y"}]}, "c": REF}
    assert list(literal_secrets(values)) == [("a", "password"), ("a", "b", 0, "token")]
