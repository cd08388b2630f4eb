"""What objects refer to and no one makes."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.validation.dangling import (
    ACCOUNT,
    CLAIM,
    CONFIGMAP,
    IMAGE,
    SECRET,
    VOLUME,
    Reference,
    dangling,
    made_by,
)


def _named(kind: str, name: str = "web", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, **more}


def _pod(*volumes: dict[str, Any], account: str = "", **container: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "volumes": list(volumes),
        "containers": [{"name": "main", "image": "web:1", **container}],
    }
    return {**spec, "serviceAccountName": account} if account else spec


def _deployment(*volumes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return _named("Deployment", spec={"template": {"spec": _pod(*volumes, **more)}})


def _missing(*objects: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one.kind, one.name, one.key) for one in dangling(objects, made_by(objects))]


CONF = {"name": "conf", "configMap": {"name": "web-conf"}}
MOUNTED = {"volumeMounts": [{"name": "conf", "mountPath": "/etc/web.conf", "subPath": "web.conf"}]}


def test_a_pod_lacks_its_configuration_until_it_is_made() -> None:
    assert _missing(_deployment(CONF)) == [(CONFIGMAP, "web-conf", "")]
    assert _missing(_deployment(CONF), _named("ConfigMap", "web-conf", data={})) == []


def test_a_mounted_key_that_is_not_written_is_missing() -> None:
    config = _named("ConfigMap", "web-conf", data={"other.conf": ""})
    assert _missing(_deployment(CONF, **MOUNTED), config) == [(CONFIGMAP, "web-conf", "web.conf")]
    config["data"]["web.conf"] = ""
    assert _missing(_deployment(CONF, **MOUNTED), config) == []


@pytest.mark.parametrize(
    ("volume", "missing"),
    [
        ({"secret": {"secretName": "keys"}}, [(SECRET, "keys", "")]),
        ({"secret": {"secretName": "keys", "optional": True}}, []),
        ({"persistentVolumeClaim": {"claimName": "data"}}, [(CLAIM, "data", "")]),
        ({"projected": {"sources": [{"secret": {"name": "keys"}}]}}, [(SECRET, "keys", "")]),
        (
            {"secret": {"secretName": "keys", "items": [{"key": "a", "path": "b"}]}},
            [(SECRET, "keys", ""), (SECRET, "keys", "a")],
        ),
        ({"emptyDir": {}}, []),
    ],
    ids=str,
)
def test_each_kind_of_volume_says_what_it_shows(
    volume: dict[str, Any], missing: list[tuple[str, str, str]]
) -> None:
    assert _missing(_deployment({"name": "one", **volume})) == missing


def test_a_key_that_items_rename_is_not_looked_for_under_its_new_name() -> None:
    volume = {
        "name": "conf",
        "secret": {"secretName": "keys", "items": [{"key": "a", "path": "web.conf"}]},
    }
    assert _missing(_deployment(volume, **MOUNTED), _named("Secret", "keys", stringData={"a": ""})) == []


def test_variables_name_keys() -> None:
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a"}}}]
    env_from = [{"configMapRef": {"name": "web-env"}}, {"secretRef": {"name": "other", "optional": True}}]
    found = _missing(_deployment(env=env, envFrom=env_from), _named("Secret", "keys", data={"b": ""}))
    assert found == [(SECRET, "keys", "a"), (CONFIGMAP, "web-env", "")]


def test_a_volume_and_an_image_belong_to_the_pod_itself() -> None:
    assert _missing(_deployment(image="", **MOUNTED)) == [
        (IMAGE, "of container main", ""),
        (VOLUME, "conf", ""),
    ]


def test_the_claims_of_a_stateful_set_are_its_volumes() -> None:
    template = {"metadata": {"name": "conf"}}
    spec = {"template": {"spec": _pod(**MOUNTED)}, "volumeClaimTemplates": [template]}
    assert _missing(_named("StatefulSet", spec=spec)) == []


def test_accounts_and_roles_are_bound_to_what_there_is() -> None:
    binding = _named(
        "RoleBinding",
        roleRef={"kind": "Role", "name": "reader"},
        subjects=[{"kind": "ServiceAccount", "name": "web"}, {"kind": "User", "name": "me"}],
    )
    assert _missing(binding) == [("Role", "reader", ""), (ACCOUNT, "web", "")]
    assert _missing(_deployment(account="web")) == [(ACCOUNT, "web", "")]
    assert _missing(_deployment()) == []  # every namespace has the account default


def test_cert_manager_makes_the_secret_of_a_certificate() -> None:
    volume = {"name": "conf", "secret": {"secretName": "web-tls"}}
    mount = {"volumeMounts": [{"name": "conf", "mountPath": "/tls.crt", "subPath": "tls.crt"}]}
    certificate = _named("Certificate", spec={"secretName": "web-tls"})
    assert _missing(_deployment(volume, **mount), certificate) == []


def test_routes_and_listeners_refer_to_services_and_certificates() -> None:
    route = _named("HTTPRoute", spec={"rules": [{"backendRefs": [{"name": "web", "port": 80}]}]})
    listener = {"tls": {"certificateRefs": [{"name": "public-tls"}]}}
    assert _missing(route, _named("Gateway", spec={"listeners": [listener]})) == [
        ("Service", "web", ""),
        (SECRET, "public-tls", "tls.crt"),
        (SECRET, "public-tls", "tls.key"),
    ]


def test_jobs_of_cron_jobs_are_looked_at_and_each_reference_is_reported_once() -> None:
    pod = {"spec": {"template": {"spec": _pod(CONF, {**CONF, "name": "again"})}}}
    [found] = dangling([_named("CronJob", spec={"jobTemplate": pod})], made_by([]))
    assert found == Reference("CronJob/web", CONFIGMAP, "web-conf")


def test_an_account_lacks_what_its_pods_pull_images_with() -> None:
    account = _named("ServiceAccount", imagePullSecrets=[{"name": "login"}])
    assert _missing(account) == [(SECRET, "login", "")]
    assert _missing(account, _named("Secret", "login")) == []
