"""The components of one control plane: their command lines, and how each is seen to be healthy."""

from __future__ import annotations

import http.client
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.build import Binaries
from sandbox.certificates import CLIENTS
from sandbox.kubectl import write_kubeconfig
from sandbox.node.hosts import MOST_NODES, RealNode, real_nodes
from sandbox.paths import SOURCE, Layout
from sandbox.ports import Ports
from sandbox.profiles import STORAGE_CLASSES

# A /24 is full after 250 Services.
SERVICE_RANGE = "10.0.0.0/16"
POD_RANGE = "10.244.0.0/16"
STAGE_DIRECTORY = SOURCE / "stages"
AUDIT_POLICY = SOURCE / "audit-policy.yaml"
COMPONENT_NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
"""In the order of start; each needs those before it."""

REAL_NAMES = ("network", *(node.component for node in real_nodes(MOST_NODES)))
"""Of a sandbox with real nodes: the network between them, and each of them."""

# Go's collector of garbage takes a fifth of their processor time by default: it comes more seldom, up to a
# bound on their memory.
LESS_COLLECTION = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}

_MODULE_CLASS_TEST = "self.spec.storageClassName == 'kwok-volume'"


@dataclass(frozen=True)
class HealthCheck:
    """An HTTP path on 127.0.0.1 that answers 200 when the component works. `pki`: the CA and client."""

    port: int
    path: str
    pki: Path | None = None

    def passes(self, timeout: float = 5.0) -> bool:
        """Whether the component says now that it is healthy."""
        connection: http.client.HTTPConnection
        try:
            if self.pki is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
            else:
                context = ssl.create_default_context(cafile=str(self.pki / "ca.crt"))
                context.load_cert_chain(self.pki / "server.crt", self.pki / "server.key")
                connection = http.client.HTTPSConnection(
                    "127.0.0.1", self.port, timeout=timeout, context=context
                )
            try:
                connection.request("GET", self.path)
                return connection.getresponse().status == 200
            finally:
                connection.close()
        except (OSError, http.client.HTTPException):
            return False


@dataclass(frozen=True)
class Component:
    """One process of the control plane."""

    name: str
    argv: tuple[str, ...]
    health: HealthCheck
    ports: tuple[int, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def _etcd(layout: Layout, ports: Ports, binaries: Binaries) -> Component:
    pki = layout.pki
    client = f"https://127.0.0.1:{ports.etcd}"
    peer = f"https://127.0.0.1:{ports.etcd_peer}"
    argv = [str(binaries.sandbox), "etcd", "--data-dir", str(layout.etcd), "--log-level", "warn"]
    argv += ["--listen-client-urls", client, "--advertise-client-urls", client]
    argv += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
    argv += ["--initial-cluster", f"default={peer}"]
    for prefix in ("", "peer-"):
        argv += [f"--{prefix}cert-file", str(pki / "server.crt")]
        argv += [f"--{prefix}key-file", str(pki / "server.key")]
        argv += [f"--{prefix}trusted-ca-file", str(pki / "ca.crt"), f"--{prefix}client-cert-auth"]
    # The data of a sandbox need not outlive a power cut.
    argv += ["--unsafe-no-fsync", "--quota-backend-bytes", str(4 * 1024**3)]
    check = HealthCheck(ports.etcd, "/health", pki)
    return Component("etcd", tuple(argv), check, (ports.etcd, ports.etcd_peer), LESS_COLLECTION)


def _apiserver(layout: Layout, ports: Ports, binaries: Binaries, real: bool) -> Component:
    pki = layout.pki
    argv = [str(binaries.sandbox), "kube-apiserver"]
    argv += [f"--etcd-servers=https://127.0.0.1:{ports.etcd}", f"--etcd-cafile={pki / 'ca.crt'}"]
    argv += [f"--etcd-certfile={pki / 'server.crt'}", f"--etcd-keyfile={pki / 'server.key'}"]
    argv += [f"--secure-port={ports.apiserver}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"]
    argv += [f"--tls-cert-file={pki / 'server.crt'}", f"--tls-private-key-file={pki / 'server.key'}"]
    argv += [f"--client-ca-file={pki / 'ca.crt'}"]
    argv += [f"--service-account-key-file={pki / 'sa.pub'}"]
    argv += [f"--service-account-signing-key-file={pki / 'sa.key'}"]
    argv += ["--service-account-issuer=https://kubernetes.default.svc"]
    argv += _for_kubelets(layout) if real else ["--authorization-mode=RBAC"]
    argv += [f"--service-cluster-ip-range={SERVICE_RANGE}", "--allow-privileged=true"]
    argv += ["--endpoint-reconciler-type=none", "--profiling=false"]
    # Blocking (the default mode): a request is in the log before its answer is sent, so counts are exact.
    argv += [f"--audit-policy-file={AUDIT_POLICY}", f"--audit-log-path={layout.audit_log}"]
    argv += ["--audit-log-maxsize=100", "--audit-log-maxbackup=3"]
    check = HealthCheck(ports.apiserver, "/readyz", pki)
    return Component("kube-apiserver", tuple(argv), check, (ports.apiserver,), LESS_COLLECTION)


def _for_kubelets(layout: Layout) -> list[str]:
    """A kubelet sees what concerns its own pods, and is reached through the nodes' network."""
    certificate = layout.pki / "apiserver"
    return [
        *("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"),
        f"--kubelet-client-certificate={certificate}.crt",
        f"--kubelet-client-key={certificate}.key",
        "--kubelet-preferred-address-types=InternalIP",
        f"--egress-selector-config-file={layout.egress_configuration}",
        # That network has no addresses of Services.
        "--enable-aggregator-routing=true",
    ]


def _controller_manager(layout: Layout, ports: Ports, binaries: Binaries) -> Component:
    pki = layout.pki
    kubeconfig = layout.client_kubeconfig("kube-controller-manager")
    argv = [str(binaries.sandbox), "kube-controller-manager", f"--kubeconfig={kubeconfig}"]
    argv += [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]
    argv += [f"--service-account-private-key-file={pki / 'sa.key'}", f"--root-ca-file={pki / 'ca.crt'}"]
    argv += ["--use-service-account-credentials=true", "--leader-elect=false", "--profiling=false"]
    argv += ["--bind-address=127.0.0.1", f"--secure-port={ports.controller_manager}"]
    argv += [f"--tls-cert-file={pki / 'server.crt'}", f"--tls-private-key-file={pki / 'server.key'}"]
    argv += ["--kube-api-qps=200", "--kube-api-burst=400"]
    check = HealthCheck(ports.controller_manager, "/healthz", pki)
    ports_of_it = (ports.controller_manager,)
    return Component("kube-controller-manager", tuple(argv), check, ports_of_it, LESS_COLLECTION)


def _scheduler(layout: Layout, ports: Ports, binaries: Binaries) -> Component:
    pki = layout.pki
    kubeconfig = layout.client_kubeconfig("kube-scheduler")
    argv = [str(binaries.sandbox), "kube-scheduler", f"--kubeconfig={kubeconfig}"]
    argv += [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]
    argv += ["--leader-elect=false", "--profiling=false", "--bind-address=127.0.0.1"]
    argv += [f"--secure-port={ports.scheduler}", "--kube-api-qps=200", "--kube-api-burst=400"]
    argv += [f"--tls-cert-file={pki / 'server.crt'}", f"--tls-private-key-file={pki / 'server.key'}"]
    check = HealthCheck(ports.scheduler, "/healthz", pki)
    return Component("kube-scheduler", tuple(argv), check, (ports.scheduler,))


def _kwok(layout: Layout, ports: Ports, binaries: Binaries) -> Component:
    argv = [str(binaries.kwok), "--kubeconfig", str(layout.client_kubeconfig("kwok"))]
    argv += ["--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake"]
    argv += ["--node-lease-duration-seconds=40", f"--server-address=127.0.0.1:{ports.kwok}"]
    argv += ["--cidr", POD_RANGE]
    for stage in sorted(layout.stages.glob("*.yaml")):
        argv += ["--config", str(stage)]
    return Component("kwok", tuple(argv), HealthCheck(ports.kwok, "/healthz"), (ports.kwok,))


def _network(layout: Layout, ports: Ports) -> Component:
    argv = (sys.executable, "-P", "-m", "sandbox.node.network", str(layout.directory))
    return Component("network", argv, HealthCheck(ports.network, "/healthz"), (ports.network,))


def _node(layout: Layout, ports: Ports, node: RealNode) -> Component:
    port: int = getattr(ports, node.component)
    argv = (sys.executable, "-P", "-m", "sandbox.node", str(layout.directory), str(node.index))
    return Component(node.component, argv, HealthCheck(port, "/healthz"), (port,))


def components(layout: Layout, ports: Ports, binaries: Binaries, nodes: int = 0) -> tuple[Component, ...]:
    """Every component, in the order of their start; where there are real nodes, these and their network."""
    control_plane = (
        _etcd(layout, ports, binaries),
        _apiserver(layout, ports, binaries, nodes > 0),
        _controller_manager(layout, ports, binaries),
        _scheduler(layout, ports, binaries),
        _kwok(layout, ports, binaries),
    )
    real = (_node(layout, ports, one) for one in real_nodes(nodes))
    return (*control_plane, _network(layout, ports), *real) if nodes else control_plane


def write_stages(source: Path, target: Path, volumes: bool = True) -> None:
    """Puts KWOK's stages (from the build) and our failure stages into `target`.

    KWOK's volume stages serve one storage class only; they are widened to all of `STORAGE_CLASSES`, or
    left out where not KWOK makes the `volumes`.
    """
    target.mkdir(parents=True, exist_ok=True)
    classes = ", ".join(f"'{name}'" for name in STORAGE_CLASSES)
    for stage in sorted(source.glob("*.yaml")):
        if stage.name.startswith("volume-") and not volumes:
            continue
        text = stage.read_text().replace(_MODULE_CLASS_TEST, f"self.spec.storageClassName in [{classes}]")
        (target / stage.name).write_text(text)
    for stage in sorted(STAGE_DIRECTORY.glob("*.yaml")):
        (target / f"sandbox-{stage.name}").write_text(stage.read_text())


def cluster_entry(layout: Layout, ports: Ports) -> dict[str, str]:
    """The cluster's entry in a kubeconfig."""
    return {
        "server": f"https://127.0.0.1:{ports.apiserver}",
        "certificate-authority": str(layout.pki / "ca.crt"),
    }


def write_kubeconfigs(layout: Layout, ports: Ports, name: str) -> None:
    """One kubeconfig per client certificate."""
    for client in CLIENTS:
        user = {
            "client-certificate": str(layout.pki / f"{client}.crt"),
            "client-key": str(layout.pki / f"{client}.key"),
        }
        path = layout.client_kubeconfig(client)
        write_kubeconfig(path, cluster_entry(layout, ports), user, f"sandbox-{name}")
