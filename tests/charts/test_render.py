"""What the lean charts render: upstream's objects and hooks, the same each time, secrets in Secrets only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.charts.lean import (
    CHARTS,
    LEAN,
    NAMESPACE,
    REQUIRED,
    ROOT,
    chart,
    credentials,
    decoded,
    manifests,
    merged,
    nest,
    objects,
    own_values,
    planted,
    pod_specs,
    the,
)
from tests.helm_program import HelmError, lint

# Objects that upstream, rendered with its own values, has not: why ours has them.
OWN_OBJECTS = {
    ("mariadb", "ConfigMap", "mariadb-mariadb-state"): "upstream's servers make theirs themselves",
    ("rabbitmq", "Secret", "rabbitmq-rabbitmq-etc"): "upstream has a ConfigMap; ours holds the users",
    ("glance", "PersistentVolumeClaim", "glance-images"): "upstream's default storage is swift",
    ("keystone", "Role", "keystone-openstack-keystone-rabbit-init"): "upstream's waits for nothing",
}


def upstream_objects(name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Upstream's objects by kind and name, as they would be called in our namespace."""
    read = json.loads((ROOT / "tests" / "data" / "upstream-shape.json").read_text())[name]["objects"]
    renamed = {}
    for kind, names in read.items():
        for given, facts in names.items():
            hook = {key: facts[key] for key in ("hook", "weight") if key in facts}
            ours = given.replace("release-name-default-", f"{name}-{NAMESPACE}-").replace(
                "release-name", name
            )
            renamed[kind, ours] = hook
    return renamed


@pytest.mark.parametrize("name", LEAN)
def test_objects_are_called_as_upstreams(name: str) -> None:
    theirs = upstream_objects(name)
    ours = [(item["kind"], item["metadata"]["name"]) for item in objects(name)]
    extra = [
        (kind, called)
        for kind, called in ours
        if (kind, called) not in theirs and kind != "RoleBinding" and (name, kind, called) not in OWN_OBJECTS
    ]
    assert extra == []


@pytest.mark.parametrize("name", LEAN)
def test_hooks_have_upstreams_events_and_weights(name: str) -> None:
    theirs = upstream_objects(name)
    ours = {}
    for item in objects(name):
        notes = item["metadata"].get("annotations", {})
        if "helm.sh/hook" in notes or item["kind"] == "Job":
            weight = int(notes.get("helm.sh/hook-weight", 0))
            hook = {"hook": notes["helm.sh/hook"], "weight": weight} if "helm.sh/hook" in notes else {}
            ours[item["kind"], item["metadata"]["name"]] = hook
    assert ours == {key: theirs[key] for key in ours}


@pytest.mark.parametrize("name", LEAN)
def test_a_hook_job_is_replaced_by_the_next_and_stays_until_then(name: str) -> None:
    policies = {
        item["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
        for item in objects(name)
        if item["kind"] == "Job" and "helm.sh/hook" in item["metadata"].get("annotations", {})
    }
    assert policies <= {"before-hook-creation"}


@pytest.mark.parametrize("name", LEAN)
def test_no_object_is_rendered_twice(name: str) -> None:
    keys = [(item["kind"], item["metadata"]["name"]) for item in objects(name)]
    assert len(keys) == len(set(keys))


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAN)
def test_a_render_gives_the_same_bytes_again(name: str) -> None:
    first = manifests(name)
    assert chart(name).render(credentials(name), name=name, namespace=NAMESPACE) == first


@pytest.mark.parametrize(("name", "path"), [(name, path) for name in LEAN for path in REQUIRED[name]])
def test_a_missing_secret_ends_the_render_and_names_its_path(name: str, path: str) -> None:
    with pytest.raises(HelmError) as refused:
        chart(name).render(merged(credentials(name), nest(path, None)), name=name, namespace=NAMESPACE)
    assert path in str(refused.value)
    assert len(str(refused.value)) < 2000


def test_an_unresolved_reference_in_place_of_a_secret_is_refused() -> None:
    reference = nest("endpoints.identity.auth.admin.password", {"$secretRef": {"name": "a", "key": "b"}})
    with pytest.raises(HelmError, match=r"endpoints\.identity\.auth\.admin\.password must be text"):
        manifests("keystone", reference)


@pytest.mark.parametrize("name", LEAN)
def test_secrets_reach_secrets_only(name: str) -> None:
    found = objects(name)
    open_text = json.dumps([item for item in found if item["kind"] != "Secret"])
    assert [path for path in REQUIRED[name] if planted(path) in open_text] == []
    kept = "".join(text for item in found if item["kind"] == "Secret" for text in decoded(item).values())
    assert [path for path in REQUIRED[name] if planted(path) not in kept] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAN)
def test_lint_is_content(name: str) -> None:
    lint(CHARTS / name, credentials(name), namespace=NAMESPACE)


@pytest.mark.parametrize("name", LEAN)
def test_a_switch_takes_every_object_away(name: str) -> None:
    off = {"manifests": dict.fromkeys(own_values(name)["manifests"], False)}
    left = {item["kind"] for item in objects(name, off)}
    assert left == set()


@pytest.mark.parametrize("name", LEAN)
def test_every_account_of_a_pod_exists(name: str) -> None:
    found = objects(name)
    accounts = {item["metadata"]["name"] for item in found if item["kind"] == "ServiceAccount"}
    assert {spec["serviceAccountName"] for _, spec in pod_specs(found)} == accounts


@pytest.mark.parametrize("name", LEAN)
def test_every_volume_that_a_container_mounts_is_there_and_mounted_once(name: str) -> None:
    found = objects(name)
    claims = {
        item["metadata"]["name"]: [
            claim["metadata"]["name"] for claim in item["spec"].get("volumeClaimTemplates", [])
        ]
        for item in found
        if item["kind"] == "StatefulSet"
    }
    for workload, spec in pod_specs(found):
        volumes = {volume["name"] for volume in spec["volumes"]} | set(claims.get(workload.split("/")[1], []))
        for container in spec.get("initContainers", []) + spec["containers"]:
            mounts = container.get("volumeMounts", [])
            assert {mount["name"] for mount in mounts} <= volumes, (workload, container["name"])
            paths = [mount["mountPath"] for mount in mounts]
            assert len(paths) == len(set(paths)), (workload, container["name"], paths)


@pytest.mark.parametrize("name", LEAN)
def test_every_file_that_a_pod_mounts_or_runs_is_in_its_secret_or_configmap(name: str) -> None:
    found = objects(name)
    data = {
        (item["kind"], item["metadata"]["name"]): set(item.get("data", {}))
        for item in found
        if item["kind"] in ("Secret", "ConfigMap")
    }
    for workload, spec in pod_specs(found):
        sources = {}
        for volume in spec["volumes"]:
            if volume["name"] == "config":
                sources["config"] = data["Secret", volume["secret"]["secretName"]]
            elif volume["name"] == "scripts":
                sources["scripts"] = data["ConfigMap", volume["configMap"]["name"]]
        for container in spec.get("initContainers", []) + spec["containers"]:
            for mount in container.get("volumeMounts", []):
                if mount["name"] == "config":
                    assert mount["subPath"] in sources["config"], (workload, mount)
            program = (container.get("command") or [""])[0]
            if program.startswith("/scripts/"):
                assert program.removeprefix("/scripts/") in sources["scripts"], (workload, program)


@pytest.mark.parametrize("name", LEAN)
def test_no_role_may_more_than_read_what_it_waits_for_unless_named(name: str) -> None:
    for item in objects(name):
        if item["kind"] != "Role":
            continue
        for rule in item["rules"]:
            assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"], item["metadata"]["name"]
            if not set(rule["verbs"]) <= {"get", "list"}:
                named = "resourceNames" in rule or rule["resources"] == ["pods"]
                assert named, (item["metadata"]["name"], rule)


def test_fernet_keys_are_made_before_everything_and_kept() -> None:
    for name in ("keystone-fernet-keys", "keystone-credential-keys"):
        secret = the(objects("keystone"), "Secret", name)
        assert secret["metadata"]["annotations"] == {
            "helm.sh/hook": "pre-install",
            "helm.sh/hook-delete-policy": "hook-failed",
            "helm.sh/resource-policy": "keep",
        }
        # An apply that names no data leaves alone what the set-up Job wrote.
        assert "data" not in secret


def test_volumes_with_data_outlive_their_release() -> None:
    claim = the(objects("glance"), "PersistentVolumeClaim", "glance-images")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    for chart_name, name in (("mariadb", "mariadb-server"), ("rabbitmq", "rabbitmq-rabbitmq")):
        spec = the(objects(chart_name), "StatefulSet", name)["spec"]
        assert spec["persistentVolumeClaimRetentionPolicy"] == {
            "whenDeleted": "Retain",
            "whenScaled": "Retain",
        }


@pytest.mark.slow
def test_a_release_fits_well_into_its_secret() -> None:
    # Helm keeps chart, values and manifest, compressed, in one Secret of at most 1 MiB.
    for name in LEAN:
        assert sum(len(text) for text in manifests(name).values()) < 400_000


@pytest.mark.parametrize("path", ["tls.identity", "tls.oslo_db", "manifests.certificates"])
def test_encryption_that_a_chart_does_not_have_is_refused_not_ignored(path: str) -> None:
    with pytest.raises(HelmError, match=f"{path}: the lean charts have no TLS"):
        manifests("keystone", nest(path, True))
