"""Whether a value that has leaked would be found as its region is taken down."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from controller.domain.credentials.generate import generate
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.leaks import ComponentLogs, Leaked, found_in, telling
from tests.cluster.region import Region, wait_until
from tests.fakes.world import FakeRandomness

PASSWORD = "tTq8yBzXw2LkPv6sNd3R"


def secret(texts: Mapping[str, str | bytes], **labels: str) -> dict[str, object]:
    raw = {key: text if isinstance(text, bytes) else text.encode() for key, text in texts.items()}
    data = {key: base64.b64encode(text).decode() for key, text in raw.items()}
    return {"metadata": {"name": "one", "labels": labels}, "data": data}


def values(**texts: str | bytes) -> dict[str, str]:
    return {value: key for key, value in telling(secret(texts))}


@pytest.mark.parametrize(
    "shown",
    [
        f"mysql://nova:{PASSWORD}@mariadb/nova",
        f'{{"data": "{base64.b64encode(PASSWORD.encode()).decode()}"}}',
        f"\\n{PASSWORD}\\n",
    ],
)
def test_a_password_is_found_as_it_is_and_as_secrets_have_it(shown: str) -> None:
    assert found_in(values(password=PASSWORD), [("the log", shown)]) == ["password in the log"]


def test_a_private_key_is_found_by_a_line_of_it_and_not_by_another_key() -> None:
    def pem() -> str:
        key = ec.generate_private_key(ec.SECP256R1())
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    mine, others = pem(), pem()
    assert found_in(values(key=mine), [("a", json.dumps(mine)), ("b", others)]) == ["key in a"]
    ssh = [generate("ssh-private-key", FakeRandomness(seed)) for seed in (1, 2)]
    assert found_in(values(key=ssh[0]), [("a", ssh[0]), ("b", ssh[1])]) == ["key in a"]


def test_what_is_no_text_is_found_as_secrets_have_it() -> None:
    content = bytes(range(200, 232))
    shown = base64.b64encode(content).decode()
    assert found_in(values(key=content), [("an annotation", shown)]) == ["key in an annotation"]


@pytest.mark.parametrize(
    "texts",
    [
        {"short": "password"},
        {"ceph-secret-uuid": "8a1b0f1e-5b7e-4c55-9d0e-5f0f5b1f3a77"},
        {"gnocchi-id": "8a1b0f1e-5b7e-4c55-9d0e-5f0f5b1f3a77"},
        {"ssh-public-key": "ssh-ed25519AAAAC3NzaC1lZDI1NTE5"},
        {"generation": "2026-08-01T12:00:00Z"},
        {"sentence": "several words of a person"},
    ],
)
def test_what_may_be_somewhere_by_chance_or_by_right_is_not_looked_for(texts: dict[str, str]) -> None:
    assert values(**texts) == {}


def test_what_components_said_before_is_not_looked_at_and_what_they_say_since_is(tmp_path: Path) -> None:
    old, begun_anew = tmp_path / "etcd.log", tmp_path / "kwok.log"
    old.write_text("said before\n")
    begun_anew.write_text("said long before\n")
    logs = ComponentLogs(tmp_path)
    old.write_text("said before\nsaid since\n")
    begun_anew.write_text("anew\n")
    (tmp_path / "kube-apiserver.log").write_text("first words\n")
    assert dict(logs.shown()) == {
        "log etcd.log of the control plane": "said since\n",
        "log kube-apiserver.log of the control plane": "first words\n",
        "log kwok.log of the control plane": "anew\n",
    }
    assert list(ComponentLogs(None).shown()) == []


@pytest.mark.cluster
def test_a_region_with_a_leak_is_not_taken_down_in_peace(
    sandbox: Sandbox, namespace: str, tmp_path: Path
) -> None:
    running = installed(sandbox, namespace, tmp_path, ("secrets",))
    region: Region = next(running)
    region.apply()
    names = ("compute-credentials/nova-password", "image-credentials/glance-password")
    wait_until("they are made", lambda: region.secret_texts().keys() >= {*names})
    shown, gone = (region.secret_texts()[name] for name in names)
    region.kubectl("annotate", "osdpl", "region-one", f"note=it is {gone}")
    region.kubectl("delete", "secret", "image-credentials")
    log = region.controllers.log_file("secrets")
    log.write_text(f"{log.read_text()}it is {shown}\n")
    with pytest.raises(Leaked) as caught:
        next(running)
    assert "compute-credentials/nova-password in file secrets.log" in str(caught.value)
    assert "image-credentials/glance-password in OpenStackDeployment region-one" in str(caught.value)
    assert shown not in str(caught.value) and gone not in str(caught.value)
