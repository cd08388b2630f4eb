"""The estimate of a record's size, against the Secret that Helm really writes."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.charts.source import ChartStore
from controller.domain.releases.bundle import ChartRef
from controller.domain.releases.sizes.release_size import LIMIT, release_octets
from controller.errors import ControllerError
from controller.ports.helm import HelmRequest
from controller.ports.kubernetes import SECRET
from tests.contract.conftest import CHARTS, Bench

pytestmark = pytest.mark.cluster

LEAN = Path(__file__).parents[2] / "charts"


def blob(octets: int) -> str:
    """Text that cannot be packed to less than three quarters."""
    return base64.b64encode(random.Random(7).randbytes(octets)).decode()


def estimated(bench: Bench, chart: Path, values: dict[str, Any]) -> int:
    store, ref = ChartStore(chart.parent), ChartRef(chart.name, path=chart.name)
    rendered = bench.helm.render(HelmRequest("probe", bench.namespace, str(chart), values))
    return release_octets(store.files(ref), store.defaults(ref), values, rendered.text)


def stored(bench: Bench) -> int:
    secret = bench.kube.get(SECRET, "sh.helm.release.v1.probe.v1", bench.namespace)
    assert secret is not None
    return len(base64.b64decode(secret["data"]["release"]))


@pytest.mark.parametrize(
    ("chart", "values", "tolerance"),
    [
        (CHARTS / "small", {}, 0.25),
        (CHARTS / "small", {"data": {"large": blob(150_000)}}, 0.03),
        (LEAN / "memcached", {"secrets": {"tls": {}}}, 0.1),
        (LEAN / "openvswitch", {}, 0.1),
    ],
    ids=["tiny", "large", "memcached", "openvswitch"],
)
def test_the_estimate_is_near_what_is_stored(
    bench: Bench, chart: Path, values: dict[str, Any], tolerance: float
) -> None:
    bench.helm.install(HelmRequest("probe", bench.namespace, str(chart), values, timeout=300))
    true, guess = stored(bench), estimated(bench, chart, values)
    assert abs(guess - true) / true < tolerance, (guess, true)


def test_what_is_estimated_to_be_too_large_is_refused_by_the_api_server(bench: Bench) -> None:
    values = {"data": {"large": blob(350_000)}, "more": blob(90_000)}
    assert estimated(bench, CHARTS / "small", values) > LIMIT
    with pytest.raises(ControllerError):
        bench.helm.install(HelmRequest("probe", bench.namespace, str(CHARTS / "small"), values, timeout=300))
