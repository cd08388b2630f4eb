"""A file that an option names is reported if no pod of its release has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.domain.validation.dangling import made_by
from controller.domain.validation.spec.mounted_files import named_files, unmounted
from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers
from controller.domain.values.names.file_options import is_in_images, names_a_file
from tests.fakes.option_files import option_files
from tests.render.region import ROOT

CA = "/etc/s3/ca.crt"
NO_FEATURES: dict[str, Any] = {"identity": {"federation": {"directives": []}}}
KEYS = {"kind": "Secret", "metadata": {"name": "authority"}, "data": {"ca.crt": "eA=="}}


def pod(mounts: list[dict[str, Any]], volumes: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "a", "image": "a", "volumeMounts": mounts}], "volumes": volumes, **more}
    return {"kind": "Deployment", "metadata": {"name": "glance-api"}, "spec": {"template": {"spec": spec}}}


def told(
    options: dict[str, Any],
    *objects: dict[str, Any],
    features: dict[str, Any] | None = None,
    ours: bool = False,
) -> list[tuple[str, str]]:
    values = {"conf": {"glance": {"objects": options}}}
    layer = Layer("service image" if ours else "services", values, root=() if ours else ("spec", "v"))
    merged = merge_layers({"conf": {"glance": {}}}, [layer])
    named = named_files("glance", merged, option_files(), {**NO_FEATURES, **(features or {})})
    return [(one.path, one.message) for one in unmounted("glance", named, objects, made_by(objects))]


def test_a_file_that_no_pod_mounts_is_reported_with_its_field() -> None:
    path = "spec.v.conf.glance.objects.s3_store_cacert"
    assert told({"s3_store_cacert": CA}, pod([], [])) == [
        (path, f"no pod of release glance has the file {CA}")
    ]


SECRET = {"name": "ca", "secret": {"secretName": "authority"}}
MOUNTED = [
    pod([{"name": "ca", "mountPath": "/etc/s3"}], [SECRET]),
    pod([{"name": "ca", "mountPath": "/etc/s3/"}], [{"name": "ca", "hostPath": {"path": "/etc/s3"}}]),
    pod([{"name": "ca", "mountPath": CA, "subPath": "ca.crt"}], [SECRET]),
    pod(
        [{"name": "ca", "mountPath": "/etc/s3"}],
        [{"name": "ca", "emptyDir": {}}],
        initContainers=[{"name": "i", "image": "a", "volumeMounts": [{"name": "ca", "mountPath": "/x"}]}],
    ),
    pod(
        [{"name": "ca", "mountPath": "/etc/s3"}],
        [{"name": "ca", "secret": {"secretName": "x", "items": [{"key": "a", "path": "ca.crt"}]}}],
    ),
]
ABSENT = [
    pod([{"name": "ca", "mountPath": "/etc/s"}], [SECRET]),
    pod([{"name": "ca", "mountPath": "/etc/s3"}], [{"name": "ca", "emptyDir": {}}]),
    pod(
        [{"name": "ca", "mountPath": "/etc/s3"}],
        [{"name": "ca", "secret": {"secretName": "x", "items": [{"key": "ca.crt", "path": "tls.crt"}]}}],
    ),
    pod([{"name": "ca", "mountPath": "/etc/s3"}], [{"name": "ca", "configMap": {"name": "other"}}]),
]
OTHER = {"kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a.crt": "x"}}


@pytest.mark.parametrize("place", range(len(MOUNTED)))
def test_a_file_that_a_pod_has_is_not_reported(place: int) -> None:
    assert told({"s3_store_cacert": CA}, MOUNTED[place], KEYS) == []


@pytest.mark.parametrize("place", range(len(ABSENT)))
def test_a_mount_that_does_not_bring_the_file_does_not_count(place: int) -> None:
    assert len(told({"s3_store_cacert": CA}, ABSENT[place], OTHER)) == 1


def test_files_of_images_and_names_that_are_no_paths_are_not_reported() -> None:
    assert told({"s3_store_cacert": "/etc/ssl/certs/ca-certificates.crt", "ca_file": "ca.pem"}) == []
    assert not is_in_images("/usr/local/share/ca-certificates/own.crt")
    assert not is_in_images("/etc/ssl/certs/own.pem")


def test_what_our_own_values_name_is_reported_only_where_a_feature_has_it() -> None:
    options = {"s3_store_cacert": CA}
    assert told(options, ours=True) == []
    stores = {"image": {"backends": [{"conf": options}]}}
    [(path, _)] = told(options, ours=True, features=stores)
    assert path == "spec.features.image.backends[0].conf.s3_store_cacert"


def test_files_of_directives_for_sign_in_are_reported_too() -> None:
    directives = ["OIDCCABundlePath /etc/oidc-ca/ca.crt", "OIDCCookiePath /", "OIDCPassClaimsAs environment"]
    directives += ['OIDCOAuthVerifyCertFiles "one#/etc/oidc-ca/one.crt"']
    merged = merge_layers({}, [])
    features = {"identity": {"federation": {"directives": directives}}}
    found = named_files("keystone", merged, option_files(), features)
    root = "spec.features.identity.federation.directives"
    assert [(one.path, one.file) for one in found] == [
        (f"{root}[0]", "/etc/oidc-ca/ca.crt"),
        (f"{root}[3]", "/etc/oidc-ca/one.crt"),
    ]
    assert named_files("glance", merged, option_files(), features) == []


def test_options_of_all_packages_that_are_files_are_known_by_their_names() -> None:
    recorded = json.loads((ROOT / "values" / "charts" / "option-names.json").read_text())["options"]
    texts = [text for chart in recorded.values() for text in chart.values()]
    names = {word.partition("@")[0] for text in texts for word in text.split()}
    files = {name for name in names if names_a_file(name)}
    endings = ("cacert", "cafile", "ca_file", "certfile", "cert_file", "keyfile", "key_file", "cert_path")
    written = {"gpfs_hosts_key_file", "ssh_hosts_key_file", "cert_path"}
    assert {name for name in names if name.endswith(endings)} - files == written
    assert {"s3_store_cacert", "tls_cacertdir", "san_private_key", "property_protection_file"} <= files
    assert {"nfs_shares_config", "vendordata_jsonfile_path", "rest_notifier_certificate_key"} <= files
    assert not files & {"state_path", "log_file", "lock_path", "fixed_key", "disable_by_file_path"}
    assert len(files) > 200
