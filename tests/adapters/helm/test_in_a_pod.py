"""Helm in a pod: the API server and the account are those that the kubelet gives, without a kubeconfig."""

from __future__ import annotations

import shlex
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.program import find_program
from controller.ports.helm import UninstallRequest
from sandbox.image.debian import lacking
from tests.adapters.helm.empty_api import EmptyApi, empty_api
from tests.chart_repositories.certificates import authority
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.skipif(bool(lacking()), reason=lacking())

ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmptyApi]:
    made = authority()
    (tmp_path / "account").mkdir()
    (tmp_path / "account" / "ca.crt").write_text(made.ca)
    (tmp_path / "account" / "token").write_text("of-the-pod")
    (tmp_path / "account" / "namespace").write_text("osctl")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*made.write(tmp_path))
    with empty_api(context) as server:
        yield server


def in_a_pod(directory: Path) -> Path:
    """Helm's program with the files of a pod's account, which it looks for in one place only."""
    script = (
        "mount -t tmpfs none /run",
        f"mkdir -p {ACCOUNT}",
        f"cp {shlex.quote(str(directory / 'account'))}/* {ACCOUNT}",
        f'exec {shlex.quote(str(find_program()))} "$@"',
    )
    program = directory / "helm"
    inner = shlex.quote("\n".join(("set -eu", *script)))
    program.write_text(f'#!/bin/sh\nexec unshare --mount --propagation private sh -c {inner} helm "$@"\n')
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("account", "user"), [("charts", "system:serviceaccount:openstack:charts"), ("", "")]
)
def test_helm_asks_as_the_pods_account_and_acts_as_that_of_charts(
    tmp_path: Path, server: EmptyApi, monkeypatch: pytest.MonkeyPatch, account: str, user: str
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "localhost")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.server_port))
    # A kubeconfig of whoever runs the tests is none of a pod's.
    monkeypatch.setenv("HOME", str(tmp_path))
    helm = HelmProgram(FakeKube(), in_a_pod(tmp_path), service_account=account)

    helm.uninstall(UninstallRequest("web", "openstack"))

    assert {(one.authorization, one.user) for one in server.asked} == {("Bearer of-the-pod", user)}
