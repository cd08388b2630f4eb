"""Which values charts write into files of options, and what numbers look like there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.option_files import option_files

with_numbers_as_text = option_files().with_numbers_as_text

LARGE, TEXT = 2_592_000, "2592000"


def nested(path: str, value: Any) -> dict[str, Any]:
    for key in reversed(path.split(".")):
        value = {key: value}
    return value  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "path",
    [
        "conf.keystone.token.expiration",
        "conf.cinder.DEFAULT.backup_s3_object_size",
        "conf.backends.fast.rados_size",
        "conf.plugins.ml2_conf.ml2.path_mtu",
        "conf.nova_api_uwsgi.uwsgi.limit-post",
        "conf.ceph.global.osd_max_object_size",
        "conf.rabbitmq.max_message_size",
        "conf.rabbitmq.disk_free_limit.absolute",
        "conf.qemu.max_files",
        "conf.logging.handler_file.size",
        "overrides.libvirt_libvirt.labels.role::gpu.values.conf.qemu.max_files",
    ],
)
def test_a_large_whole_number_in_a_file_of_options_is_text(path: str) -> None:
    assert with_numbers_as_text(nested(path, LARGE)) == nested(path, TEXT)


def test_large_numbers_in_lists_and_in_values_of_nodes_are_text_too() -> None:
    option = {"type": "multistring", "values": [1, -LARGE]}
    label = {"label": {"key": "role", "values": ["gpu"]}, "conf": {"nova": {"DEFAULT": {"ids": [LARGE]}}}}
    given = {"conf": {"nova": {"x": {"y": option}}, "overrides": {"nova_compute": {"labels": [label]}}}}
    found = with_numbers_as_text(given)
    assert found["conf"]["nova"]["x"]["y"]["values"] == [1, f"-{TEXT}"]
    [written] = found["conf"]["overrides"]["nova_compute"]["labels"]
    assert written == {**label, "conf": {"nova": {"DEFAULT": {"ids": [TEXT]}}}}
    assert label["conf"] == {"nova": {"DEFAULT": {"ids": [LARGE]}}}, "what was given is as it was"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("conf.keystone.token.expiration", 999_999),
        ("conf.keystone.token.expiration", -999_999),
        ("conf.keystone.token.allow", True),
        ("conf.keystone.token.ratio", 2592000.5),
        ("conf.keystone.token.expiration", TEXT),
        # Written as JSON or YAML, where a number keeps its digits and a text would be another thing.
        ("conf.ks_domains.staff.ldap.page_size", LARGE),
        ("conf.rally_tests.tests.nova.size", LARGE),
        ("conf.auto_bridge_add.br-ex", LARGE),
        ("pod.security_context.nova.pod.runAsUser", LARGE),
        ("volume.size", LARGE),
    ],
)
def test_everything_else_stays_as_it_is(path: str, value: Any) -> None:
    given = nested(path, value)
    assert with_numbers_as_text(given) is given


def test_a_chart_that_no_service_has_writes_the_file_of_its_own_name() -> None:
    path = ("conf", "trove", "DEFAULT", "secret")
    assert not option_files().has(path)
    assert option_files().with_chart("trove").has(path)
    assert option_files().with_chart("libvirt") is option_files()
