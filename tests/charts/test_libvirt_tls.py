"""libvirtd by TLS, with the options that a region gives it and certificates of its own authority."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.domain.credentials.authority import StoredLeaf
from controller.domain.credentials.certificate_lifetimes import DAY
from controller.domain.credentials.certificate_secrets import leaf_texts
from controller.domain.credentials.x509.issued import new_authority, new_leaf
from controller.domain.credentials.x509.read import Authority, LeafNames, bundle
from controller.domain.values.chart_values import Values
from tests.charts.node import Node, Pod, Running, a_hypervisor
from tests.fakes.world import FakeRandomness
from tests.render.region import core_spec, render

pytestmark = pytest.mark.slow

ADDRESS = "192.0.2.10"
KEPT = Path("/var/lib/libvirt/pki")


def authority(seed: int) -> Authority:
    now = time.time()
    return new_authority(f"region {seed}", now - DAY, now + 100 * DAY, FakeRandomness(seed))


def certificate(
    signer: Authority, seed: int, *trusted: Authority, name: str = "libvirt-tls"
) -> dict[str, str]:
    """The files of a Secret for hypervisors, that of this node among them."""
    now = time.time()
    pair = new_leaf(LeafNames(name, (), (ADDRESS,)), now - 300, now + DAY, signer, FakeRandomness(seed))
    return leaf_texts(
        StoredLeaf(pair.chain, pair.key, bundle(one.anchors for one in trusted)), hypervisors=True
    )


def given() -> Values:
    """What a region gives libvirt's chart."""
    features = {"compute": {"libvirtTLS": {"enabled": True}}}
    release = render(core_spec(preset="core", features=features)).release("libvirt")
    assert release is not None
    conf: Values = release.spec.values["conf"]
    return conf


def started(node: Node, files: dict[str, str]) -> Running:
    conf = given()
    parts: dict[str, Any] = {key: conf[key] for key in ("libvirt", "qemu")}
    listen = {"libvirt": {"listen_address": ADDRESS}}
    pod = Pod(node, "libvirt", "DaemonSet/libvirt-libvirt", {"conf": {**parts, "dynamic_options": listen}})
    code, said = pod.run("init-dynamic-options")
    assert code == 0, said
    place = pod.directory / "certificates"
    place.mkdir()
    for name, text in files.items():
        (place / name).write_text(text)
    hook = pod.directory / "daemon"
    hook.write_text(conf["hooks"]["scripts"]["daemon"])
    hook.chmod(0o755)
    pki = "/etc/pki/libvirt"
    pod.files = {
        "/etc/pki/region": place,
        "/etc/libvirt/hooks/daemon": hook,
        "/etc/pki/CA/cacert.pem": place / "cacert.pem",
        f"{pki}/servercert.pem": place / "servercert.pem",
        f"{pki}/private/serverkey.pem": place / "serverkey.pem",
        f"{pki}/clientcert.pem": place / "clientcert.pem",
        f"{pki}/private/clientkey.pem": place / "clientkey.pem",
    }
    running = pod.start("libvirt")
    running.until("virsh", "--connect", "qemu:///system", "--quiet", "uri")
    return running


def connect(running: Running, host: str, more: str = "") -> tuple[int, str]:
    done = running.exec(["virsh", "--connect", f"qemu+tls://{host}/system{more}", "--quiet", "uri"])
    return done.returncode, done.stderr


@pytest.fixture
def node() -> Iterator[Node]:
    with a_hypervisor() as made:
        yield made


@pytest.fixture
def running(node: Node) -> Iterator[Running]:
    ours = authority(1)
    yield started(node, certificate(ours, 2, ours))


def test_hosts_know_each_other_by_their_addresses(running: Running) -> None:
    code, said = connect(running, ADDRESS)
    assert code == 0, said


def test_a_host_of_another_name_is_not_believed(running: Running) -> None:
    code, said = connect(running, "node1")
    assert code != 0
    assert "verify peer" in said


def connect_as(running: Running, node: Node, files: dict[str, str]) -> tuple[int, str]:
    """With other files than those of the hypervisor, which its own are after it."""
    [place] = list(node.directory.glob("pod-*/certificates"))
    for name, text in files.items():
        (place / f"strange-{name}").write_text(text)
    script = "mkdir /tmp/s; cd /etc/pki/region; for f in strange-*.pem; do cp $f /tmp/s/${f#strange-}; done"
    assert running.exec(["bash", "-ec", script]).returncode == 0
    return connect(running, ADDRESS, "?pkipath=/tmp/s")


def test_a_client_of_another_authority_is_refused(running: Running, node: Node) -> None:
    strange = authority(7)
    code, _ = connect_as(running, node, certificate(strange, 8, authority(1), strange))
    assert code != 0
    assert connect(running, ADDRESS)[0] == 0


@pytest.mark.parametrize("name", ["keystone-tls-api", "nova-novncproxy-vencrypt", "libvirt-tls-not"])
def test_a_client_of_the_region_that_is_no_hypervisor_is_refused(
    running: Running, node: Node, name: str
) -> None:
    ours = authority(1)
    code, _ = connect_as(running, node, certificate(ours, 8, ours, name=name))
    assert code != 0
    assert connect(running, ADDRESS)[0] == 0


def test_another_certificate_of_the_hypervisors_is_believed(running: Running, node: Node) -> None:
    ours = authority(1)
    code, said = connect_as(running, node, certificate(ours, 8, ours))
    assert code == 0, said


def test_both_authorities_are_trusted_while_one_follows_the_other(node: Node) -> None:
    first, second = authority(1), authority(2)
    running = started(node, certificate(second, 3, first, second))
    assert connect(running, ADDRESS)[0] == 0


def test_qemu_has_its_certificates_before_it_is_asked_for_a_server(running: Running) -> None:
    found = running.exec(["bash", "-ec", f"cd {KEPT}; stat -c '%a %G %n' * | sort -k 3"]).stdout.split("\n")
    names = ("ca-cert", "client-cert", "client-key", "server-cert", "server-key")
    assert found[:-1] == [f"640 kvm {name}.pem" for name in names]
    assert "tls_x509" in str(given()["qemu"])


def test_a_start_with_other_certificates_gives_them_to_qemu(node: Node) -> None:
    ours = authority(1)
    started(node, certificate(ours, 2, ours)).terminate(within=20)
    files = certificate(ours, 5, ours)
    running = started(node, files)
    assert running.exec(["cat", f"{KEPT}/server-cert.pem"]).stdout == files["tls.crt"]
