"""Configuration files: what values say, what the charts fill in, and how it is written down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.charts.lean import decoded, merged, nest, objects, options, planted, the


def conf(name: str, file: str, values: dict[str, Any] | None = None) -> dict[str, dict[str, list[str]]]:
    return options(decoded(the(objects(name, values), "Secret", f"{name}-etc"))[file])


@pytest.mark.slow
def test_a_database_uri_is_made_from_the_endpoint() -> None:
    password = planted("endpoints.oslo_db.auth.keystone.password")
    assert conf("keystone", "keystone.conf")["database"]["connection"] == [
        f"mysql+pymysql://keystone:{password}@mariadb.openstack.svc.cluster.local:3306/keystone"
    ]


def test_null_leaves_the_database_uri_to_a_snippet() -> None:
    found = conf("keystone", "keystone.conf", nest("conf.keystone.database.connection", None))
    assert "connection" not in found["database"]


def test_a_value_wins_over_what_the_chart_would_fill_in() -> None:
    given = nest("conf.glance.DEFAULT.transport_url", "rabbit://elsewhere/")
    assert conf("glance", "glance-api.conf", given)["DEFAULT"]["transport_url"] == ["rabbit://elsewhere/"]


def test_a_false_value_is_written_not_dropped() -> None:
    given = nest("conf.keystone.cache.enabled", False)
    assert conf("keystone", "keystone.conf", given)["cache"]["enabled"] == ["false"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (43200000, ["43200000"]),
        (1.5, ["1.5"]),
        ([1, "b"], ["1,b"]),
        ({"type": "multistring", "values": ["a", "b"]}, ["a", "b"]),
        ({"type": "csv", "values": ["a", "b"]}, ["a,b"]),
        (None, None),
        ("a = b # c", ["a = b # c"]),
    ],
)
def test_an_option_is_written_as_oslo_reads_it(value: Any, written: list[str] | None) -> None:
    found = conf("keystone", "keystone.conf", nest("conf.keystone.DEFAULT.probe", value))
    assert found["DEFAULT"].get("probe") == written


def test_a_password_of_any_characters_survives_uris_and_substitution() -> None:
    awkward = "a/b@c:d?e#f%g$h i&j+k"
    given = merged(
        nest("endpoints.oslo_db.auth.placement.password", awkward),
        nest("endpoints.identity.auth.placement.password", awkward),
    )
    found = conf("placement", "placement.conf", given)
    assert found["placement_database"]["connection"] == [
        "mysql+pymysql://placement:a%2Fb%40c%3Ad%3Fe%23f%25g%24h%20i%26j%2Bk"
        "@mariadb.openstack.svc.cluster.local:3306/placement"
    ]
    # oslo.config substitutes "$name": a dollar sign is written twice.
    assert found["keystone_authtoken"]["password"] == [awkward.replace("$", "$$")]


@pytest.mark.slow
def test_the_transport_url_lists_every_broker() -> None:
    given = nest("endpoints.oslo_messaging.statefulset.replicas", 3)
    (url,) = conf("nova", "nova.conf", given)["DEFAULT"]["transport_url"]
    assert url.startswith("rabbit://nova:") and url.endswith("/nova")
    assert [part.rsplit("@", 1)[1] for part in url.removesuffix("/nova").split(",")] == [
        f"rabbitmq-rabbitmq-{ordinal}.rabbitmq.openstack.svc.cluster.local:5672" for ordinal in range(3)
    ]


@pytest.mark.slow
def test_the_transport_url_names_the_service_where_brokers_are_not_listed() -> None:
    (url,) = conf("nova", "nova.conf", nest("endpoints.oslo_messaging.statefulset", None))["DEFAULT"][
        "transport_url"
    ]
    assert url.endswith("@rabbitmq.openstack.svc.cluster.local:5672/nova")


def test_a_host_override_of_an_endpoint_reaches_catalogue_and_clients() -> None:
    public = {
        "host_fqdn_override": {"public": {"host": "image.it.just.works"}},
        "scheme": {"public": "https"},
    }
    given = nest("endpoints.image", {**public, "port": {"api": {"public": 443}}})
    job = the(objects("glance", given), "Job", "glance-ks-endpoints")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    desired = json.loads({env["name"]: env["value"] for env in container["env"]}["WANTED"])
    urls = {one["url"] for one in desired}
    internal = "http://glance-api.openstack.svc.cluster.local:9292"
    assert urls == {"https://image.it.just.works", internal}


def test_another_namespace_of_a_service_is_waited_for_and_may_be_read() -> None:
    given = nest("endpoints.oslo_db.namespace", "databases")
    found = objects("keystone", given)
    (role,) = [
        item
        for item in found
        if item["kind"] == "Role"
        and item["metadata"]["namespace"] == "databases"
        and "db-init" in item["metadata"]["name"]
    ]
    assert {resource for rule in role["rules"] for resource in rule["resources"]} == {
        "endpoints",
        "endpointslices",
        "services",
    }
    init = the(found, "Job", "keystone-db-init")["spec"]["template"]["spec"]["initContainers"][0]
    env = {item["name"]: item.get("value") for item in init["env"]}
    assert env["DEPENDENCY_SERVICE"] == "databases:mariadb"


@pytest.mark.slow
def test_a_job_that_is_switched_off_is_not_waited_for() -> None:
    found = objects("keystone", nest("manifests.job_credential_setup", False))
    env = the(found, "Deployment", "keystone-api")["spec"]["template"]["spec"]["initContainers"][0]["env"]
    assert {item["name"]: item.get("value") for item in env}[
        "DEPENDENCY_JOBS"
    ] == "keystone-db-sync,keystone-fernet-setup"


@pytest.mark.slow
def test_a_compute_node_learns_no_database() -> None:
    found = objects("nova")
    compute = options(decoded(the(found, "Secret", "nova-compute-default"))["nova.conf"])
    assert {"database", "api_database"} & set(compute) == set()
    assert planted("endpoints.oslo_db.auth.nova.password") not in str(compute)
    control = options(decoded(the(found, "Secret", "nova-etc"))["nova.conf"])
    assert {"database", "api_database"} <= set(control)


@pytest.mark.slow
def test_pods_roll_when_their_configuration_changes() -> None:
    def digest(values: dict[str, Any]) -> str:
        template = the(objects("placement", values), "Deployment", "placement-api")["spec"]["template"]
        found = template["metadata"]["annotations"]["configmap-etc-hash"]
        assert isinstance(found, str)
        return found

    assert digest({}) == digest({})
    assert digest({}) != digest(nest("conf.placement.DEFAULT.debug", True))


def test_snippets_of_an_operator_are_mounted_beside_the_main_file() -> None:
    source = {"secret": {"name": "more", "items": [{"key": "a", "path": "a.conf"}]}}
    spec = the(objects("glance", nest("pod.etcSources.glance_api", [source])), "Deployment", "glance-api")
    pod = spec["spec"]["template"]["spec"]
    assert {"name": "snippets", "projected": {"sources": [source]}} in pod["volumes"]
    mounts = {mount["mountPath"]: mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts["/etc/glance/glance-api.conf.d"] == "snippets"


@pytest.mark.slow
def test_volumes_and_containers_of_an_operator_are_added() -> None:
    volume = {"name": "extra", "emptyDir": {}}
    mount = {"name": "extra", "mountPath": "/extra"}
    sidecar = {"name": "sidecar", "image": "example.org/proxy:1"}
    given = merged(
        nest("pod.mounts.keystone_api.keystone_api", {"volumes": [volume], "volumeMounts": [mount]}),
        nest("pod.extraContainers.keystone_api", [sidecar]),
    )
    pod = the(objects("keystone", given), "Deployment", "keystone-api")["spec"]["template"]["spec"]
    assert volume in pod["volumes"]
    assert mount in pod["containers"][0]["volumeMounts"]
    assert sidecar in pod["containers"]


@pytest.mark.slow
def test_resources_are_set_when_enabled() -> None:
    given = nest("pod.resources.enabled", True)
    for name, deployment in (
        ("keystone", "keystone-api"),
        ("neutron", "neutron-server"),
        ("nova", "nova-api-osapi"),
    ):
        pod = the(objects(name, given), "Deployment", deployment)["spec"]["template"]["spec"]
        assert pod["containers"][0]["resources"]["requests"] == {"cpu": "100m", "memory": "128Mi"}


@pytest.mark.slow
def test_upstreams_templated_values_render_here_too() -> None:
    lookup = "helm-toolkit.endpoints.endpoint_port_lookup"
    listen = f'Listen {{{{ tuple "identity" "service" "api" . | include "{lookup}" }}}}'
    secret = the(objects("keystone", nest("conf.wsgi_keystone", listen)), "Secret", "keystone-etc")
    assert decoded(secret)["wsgi-keystone.conf"] == "Listen 5000"


def test_domains_are_configured_through_the_api() -> None:
    given = nest("conf.ks_domains.staff.ldap.url", "ldaps://ldap.example.org")
    found = conf("keystone", "keystone.conf", given)
    assert found["identity"]["domain_configurations_from_database"] == ["true"]
    assert "domain_configurations_from_database" not in conf("keystone", "keystone.conf")["identity"]


def test_network_policies_select_the_pods_of_the_release() -> None:
    policy = the(
        objects("keystone", nest("manifests.network_policy", True)), "NetworkPolicy", "keystone-netpol"
    )
    assert policy["spec"]["podSelector"]["matchLabels"] == {
        "release_group": "keystone",
        "application": "keystone",
    }


def test_extra_objects_are_rendered_with_their_templates() -> None:
    extra = {
        "route": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-extra"}}
    }
    assert the(objects("keystone", {"extraObjects": extra}), "ConfigMap", "keystone-extra")


def test_one_database_server_needs_no_controller_to_find_its_primary() -> None:
    alone = objects("mariadb", nest("pod.replicas.server", 1))
    assert "mariadb_role" not in the(alone, "Service", "mariadb")["spec"]["selector"]
    assert [item for item in alone if item["kind"] == "Deployment"] == []
    assert the(objects("mariadb"), "Service", "mariadb")["spec"]["selector"]["mariadb_role"] == "primary"


@pytest.mark.parametrize(
    ("values", "volume"),
    [
        (nest("volume.enabled", False), {"emptyDir": {}}),
        (
            merged(
                nest("pod.replicas.server", 1),
                nest("volume.use_local_path_for_single_pod_cluster.enabled", True),
            ),
            {"hostPath": {"path": "/tmp/mysql-data", "type": "DirectoryOrCreate"}},
        ),
    ],
)
def test_a_database_without_claims(values: dict[str, Any], volume: dict[str, Any]) -> None:
    spec = the(objects("mariadb", values), "StatefulSet", "mariadb-server")["spec"]
    assert "volumeClaimTemplates" not in spec
    assert {"name": "mysql-data", **volume} in spec["template"]["spec"]["volumes"]


@pytest.mark.parametrize(("storage", "store"), [("pvc", "file"), ("rbd", "rbd"), ("swift", "swift")])
def test_images_are_stored_where_storage_says(storage: str, store: str) -> None:
    found = objects("glance", {"storage": storage})
    section = options(decoded(the(found, "Secret", "glance-etc"))["glance-api.conf"])
    assert section["DEFAULT"]["enabled_backends"] == [f"{store}:{store}"]
    assert section["glance_store"]["default_backend"] == [store]
    assert ("PersistentVolumeClaim" in {item["kind"] for item in found}) == (storage == "pvc")


@pytest.mark.slow
def test_a_volume_for_one_node_is_let_go_before_it_is_taken_again() -> None:
    def strategy(modes: list[str]) -> str:
        found = objects("glance", nest("volume.accessModes", modes))
        kind = the(found, "Deployment", "glance-api")["spec"]["strategy"]["type"]
        assert isinstance(kind, str)
        return kind

    assert strategy(["ReadWriteOnce"]) == "Recreate"
    assert strategy(["ReadWriteMany"]) == "RollingUpdate"
