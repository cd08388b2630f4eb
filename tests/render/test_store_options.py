"""Stores without what their driver does not work without are refused, whoever described them."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import SpecInvalid
from tests.render.region import core_spec, library, render

NETAPP = "cinder.volume.drivers.netapp.common.NetAppDriver"
PURE = "cinder.volume.drivers.pure.PureISCSIDriver"
S3 = {
    "s3_store_host": "https://s3.example.org",
    "s3_store_access_key": {"$secretRef": {"name": "s3", "key": "access"}},
    "s3_store_secret_key": {"$secretRef": {"name": "s3", "key": "secret"}},
    "s3_store_bucket": "images",
}


def refused(features: dict[str, Any], services: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    """Path and message of what is refused, nothing for a region that is not."""
    spec = core_spec(preset="compute", features=features, services=services or {})
    try:
        render(spec)
    except SpecInvalid as error:
        return [(problem.path, problem.message) for problem in error.problems]
    return []


def images(*stores: dict[str, Any]) -> dict[str, Any]:
    return {"image": {"backends": list(stores)}}


def volumes(**conf: Any) -> dict[str, Any]:
    return {"blockStorage": {"backends": [{"name": "array", "type": "custom", "conf": conf}]}}


def test_a_store_of_images_in_s3_needs_its_address_keys_and_bucket() -> None:
    bare = {"name": "objects", "type": "s3", "conf": {"s3_store_bucket": "images"}}
    assert refused(images({"name": "disk", "type": "pvc"}, bare)) == [
        (
            "spec.features.image.backends[1].conf",
            'store "objects" (driver s3) does not work without '
            "s3_store_host, s3_store_access_key, s3_store_secret_key",
        )
    ]
    assert refused(images({"name": "objects", "type": "s3", "conf": S3})) == []


def test_an_option_that_is_empty_is_not_there() -> None:
    [(_, message)] = refused(images({"name": "objects", "type": "s3", "conf": {**S3, "s3_store_bucket": ""}}))
    assert message.endswith("without s3_store_bucket")


@pytest.mark.parametrize(
    ("driver", "conf", "lacking"),
    [
        (PURE, {"san_ip": "192.0.2.1"}, "pure_api_token"),
        (
            NETAPP,
            {
                "netapp_storage_protocol": "nfs",
                "netapp_vserver": "svm",
                "netapp_server_hostname": "192.0.2.1",
                "netapp_password": {"$secretRef": {"name": "n", "key": "p"}},
            },
            "netapp_login or netapp_private_key_file",
        ),
    ],
)
def test_a_store_of_volumes_needs_what_its_driver_refuses_to_start_without(
    driver: str, conf: dict[str, Any], lacking: str
) -> None:
    found = refused(volumes(volume_driver=driver, **conf))
    message = f'store "array" (driver {driver}) does not work without {lacking}'
    assert found == [("spec.features.blockStorage.backends[0].conf", message)]


def test_options_that_all_stores_have_count() -> None:
    shared = {"backend_defaults": {"pure_api_token": {"$secretRef": {"name": "pure", "key": "token"}}}}
    services = {"block-storage": {"cinder": {"values": {"conf": {"cinder": shared}}}}}
    assert refused(volumes(volume_driver=PURE, san_ip="192.0.2.1"), services) == []


def test_backups_in_s3_need_their_address_and_keys() -> None:
    backup = {"backup": {"enabled": True, "driver": "s3", "conf": {"backup_s3_endpoint_url": "https://s3"}}}
    [(path, message)] = refused({"blockStorage": backup})
    assert path == "spec.features.blockStorage.backup.conf"
    assert message.startswith("driver cinder.backup.drivers.s3.S3BackupDriver does not work without")
    assert message.endswith("without backup_s3_store_access_key, backup_s3_store_secret_key")
    off = {"backup": {**backup["backup"], "enabled": False}}
    assert refused({"blockStorage": off}) == [], "backups that are not offered need nothing"


def test_a_store_that_is_written_as_values_is_looked_at_too() -> None:
    filer = {"share_driver": "manila.share.drivers.netapp.common.NetAppDriver"}
    conf = {"DEFAULT": {"enabled_share_backends": ["filer"]}, "filer": filer}
    services = {"shared-file-system": {"manila": {"values": {"conf": {"manila": conf}}}}}
    [(path, message)] = refused({"services": {"enabled": ["shared-file-system"]}}, services)
    assert path == "spec.services.shared-file-system.manila.values.conf.manila.filer"
    assert "without driver_handles_share_servers, netapp_server_hostname" in message


@pytest.mark.parametrize("series", ["2025.1", "2025.2", "2026.1"])
def test_each_option_that_stores_need_is_one_of_the_packages(series: str) -> None:
    for kind in library().stores:
        known = frozenset[str]().union(*library().names.sections(kind.release, series).values())
        needed = {either for option in (kind.always, *kind.drivers.values()) for either in option}
        assert needed, kind.release
        for either in needed:
            assert known & set(either), f"{kind.release} of {series} has none of {either}"
