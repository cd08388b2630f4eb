"""A pod's containers as processes of this machine: what their volumes hide, and what they must not."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from sandbox import pod
from sandbox.patience import Patience

pytestmark = pytest.mark.slow


class NoCluster:
    """Answers what a pod asks of its cluster: the files of a ServiceAccount."""

    def service_account_kubeconfig(self, namespace: str, name: str, directory: Path) -> Path:
        token, authority = directory / "token", directory / "authority"
        token.write_text("token")
        authority.write_text("authority")
        cluster = {"server": "https://127.0.0.1:1", "certificate-authority": str(authority)}
        document = {"clusters": [{"cluster": cluster}], "users": [{"user": {"tokenFile": str(token)}}]}
        path = directory / "kubeconfig"
        path.write_text(json.dumps(document))
        return path


def deployment(mount: Path, *command: str) -> dict[str, Any]:
    container = {
        "name": "core",
        "command": list(command),
        "securityContext": {},
        "volumeMounts": [{"name": "tmp", "mountPath": str(mount)}],
    }
    spec = {
        "serviceAccountName": "osctl",
        "securityContext": {"runAsUser": 65532, "runAsGroup": 65532},
        "terminationGracePeriodSeconds": 5,
        "containers": [container],
    }
    meta = {"name": "controller", "namespace": "openstack"}
    return {"metadata": meta, "spec": {"template": {"spec": spec}}}


def test_a_checkout_below_a_volume_is_there_and_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = subprocess.run(["unshare", "--mount", "--map-root-user", "true"], check=False)
    if tried.returncode != 0:
        pytest.skip("this machine gives no namespaces of its kernel")
    volume = tmp_path / "temporary"
    checkout = volume / "a check out"
    checkout.mkdir(parents=True)
    (checkout / "program").write_text("ours\n")
    (volume / "of others").write_text("")
    monkeypatch.setattr(pod, "_own_places", lambda: [checkout])
    script = f"""
cat '{checkout}/program'
test -e '{volume}/of others' && echo "the volume hides nothing"
touch '{volume}/new' && echo "the volume can be written"
touch '{checkout}/new' 2>/dev/null && echo "so can the checkout"
ls /proc/self/fd | wc -w
"""
    made = pod.Pod(NoCluster(), deployment(volume, "sh", "-c", script), tmp_path / "pod", None)  # type: ignore[arg-type]
    made.start()
    patience = Patience(60)
    while made.ended("core") is None:
        assert not patience.is_over(), made.log("core")
        time.sleep(0.02)
    # Descriptors: the usual three, and the one that `ls` reads by.
    assert made.log("core").splitlines() == ["ours", "the volume can be written", "4"]
    made.stop()
