"""rabbitmq.conf as the chart renders it, read by RabbitMQ's own reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart_repositories.certificates import authority
from tests.charts.broker import read_configuration
from tests.charts.lean import NAMESPACE, chart, decoded, merged, nest, objects, the
from tests.charts.test_region import resolved
from tests.render.region import core_spec, render
from tests.render.specs import EMBEDDED, FEATURES
from tests.sweeps import swept

pytestmark = pytest.mark.slow

FILES = {
    "/var/lib/rabbitmq/definitions.json": "{}",
    "/etc/rabbitmq/certs/ca.crt": authority().ca,
    "/etc/rabbitmq/certs/tls.crt": authority().certificate,
    "/etc/rabbitmq/certs/tls.key": authority().key,
}


def written(found: list[dict[str, Any]], release: str = "rabbitmq") -> str:
    return decoded(the(found, "Secret", f"{release}-rabbitmq-etc"))["rabbitmq.conf"]


def read(values: Mapping[str, Any] | None, directory: Path) -> str:
    return read_configuration(written(objects("rabbitmq", values)), directory, FILES)


@pytest.mark.parametrize(
    ("address", "listener"),
    swept(
        [("::", '{"::",5672}'), ("::1", '{"::1",5672}'), ("0.0.0.0", '{"0.0.0.0",5672}')],
        daily=[("::1", '{"::1",5672}')],
    ),
)
def test_the_broker_listens_at_the_address_of_the_values(address: str, listener: str, tmp_path: Path) -> None:
    assert f"{{tcp_listeners,[{listener}]}}" in read(nest("conf.bind_address", address), tmp_path)


def test_a_listener_for_tls_is_beside_the_plain_one(tmp_path: Path) -> None:
    ssl = {"cacertfile": "ca.crt", "certfile": "tls.crt", "keyfile": "tls.key"}
    given = merged(
        nest("conf.rabbitmq.listeners.ssl.default", 5671),
        nest("conf.rabbitmq.ssl_options", {key: f"/etc/rabbitmq/certs/{file}" for key, file in ssl.items()}),
    )
    found = read(given, tmp_path)
    assert "{ssl_listeners,[5671]}" in found
    assert '{tcp_listeners,[{"::",5672}]}' in found
    assert f'{{certfile,"{tmp_path}/etc/rabbitmq/certs/tls.crt"}}' in found


def test_options_of_encryption_inside_the_region_are_read(tmp_path: Path) -> None:
    """Those that the values give to upstream's chart, which writes options the same way."""
    upstream = {**core_spec(), **FEATURES["tls-internal"]}
    conf = release_values(upstream, "rabbitmq")["conf"]["rabbitmq"]
    found = read({"conf": {"rabbitmq": conf}}, tmp_path)
    assert "{verify,verify_peer}" in found
    assert "{fail_if_no_peer_cert,true}" in found


def release_values(spec: dict[str, Any], name: str) -> dict[str, Any]:
    found = (
        release for bundle in render(spec).bundles for release in bundle.releases if release.spec.name == name
    )
    return dict(resolved(dict(next(found).spec.values)))


def brokers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every region whose values may differ for the broker."""
    for size in ("single", "tiny", "small", "medium", "large"):
        yield f"size {size}", core_spec(size=size, charts={})
    for version in ("2025.1", "2025.2", "2026.1"):
        yield f"version {version}", core_spec(openstackVersion=version, charts={})
    for feature in sorted({*EMBEDDED} - {"external-servers"}):
        yield f"feature {feature}", core_spec(charts={}, **FEATURES[feature])


def test_the_broker_of_every_region_is_read(tmp_path: Path) -> None:
    texts: dict[str, str] = {}
    for region, spec in brokers():
        rendered = chart("rabbitmq").render(
            release_values(spec, "rabbitmq"), name="rabbitmq", namespace=NAMESPACE
        )
        found = [item for text in rendered.values() for item in yaml.load_all(text, yaml.CSafeLoader) if item]
        texts.setdefault(written(found), region)
    for text, region in texts.items():
        assert "tcp_listeners" in read_configuration(text, tmp_path, FILES), region
