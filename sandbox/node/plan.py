"""The plan of a real node: the places of its files, and the configuration of each of its programs. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.certificates import REAL_NODE
from sandbox.profiles import COMPUTE_LABELS, CONTROL_LABELS

NAME = REAL_NODE
ADDRESS = "10.200.0.2"
GATEWAY = "10.200.0.1"
API_PORT = 6443
KUBELET_HEALTH_PORT = 10248
PROXY_HEALTH_PORT = 10256
DNS_HEALTH_PORT = 8181
DOMAIN = "cluster.local"
LABELS = tuple(dict.fromkeys(CONTROL_LABELS + COMPUTE_LABELS))
# As the node's programs see them.
INSIDE = Path("/run/node")
VOLUMES = "/var/lib/volumes"
SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "sandbox.local/pause:1"
SYSCTLS = (
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
"""What a kubelet sets for the whole machine: in the node these are files of its own."""


@dataclass(frozen=True)
class NodeLayout:
    """The files of the node, all in `node` of its sandbox's directory."""

    directory: Path

    @property
    def root(self) -> Path:
        """The mount point of the node's root file system, in its own namespace only."""
        return self.directory / "root"

    @property
    def changes(self) -> Path:
        """What the node wrote over the root file system that it was given."""
        return self.directory / "changes"

    @property
    def work(self) -> Path:
        return self.directory / "work"

    @property
    def kubelet(self) -> Path:
        return self.directory / "kubelet"

    @property
    def volumes(self) -> Path:
        """The directories behind persistent volumes."""
        return self.directory / "volumes"

    @property
    def configuration(self) -> Path:
        return self.directory / "configuration"

    @property
    def identity(self) -> Path:
        """The first process of the node's namespaces."""
        return self.directory / "init.json"

    @property
    def egress(self) -> Path:
        """The socket by which the API server reaches the node's network."""
        return self.directory / "egress.sock"


def cgroup_name(directory: Path) -> str:
    """The control group of the node in the sandbox of that directory."""
    return f"osctl-sandbox-{hashlib.sha256(str(directory).encode()).hexdigest()[:12]}"


def configuration_files(cgroup: str, pod_range: str, service_range: str) -> dict[str, str]:
    """Name and content of every configuration file; they are seen below `INSIDE`/configuration."""
    return {
        "containerd.toml": _containerd(),
        "cni/10-pods.conflist": json.dumps(_pod_network(pod_range), indent=1),
        "kubelet.yaml": yaml.safe_dump(_kubelet(cgroup)),
        "kube-proxy.yaml": yaml.safe_dump(_kube_proxy(pod_range)),
        "Corefile": _dns(),
        "resolv.conf": f"nameserver {ADDRESS}\n",
        "hosts": f"127.0.0.1 localhost\n{ADDRESS} {NAME}.sandbox.local {NAME}\n",
        "reject.nft": _reject((pod_range, service_range)),
        **{f"{client}.kubeconfig": _kubeconfig(client) for client in ("kubelet", "kube-proxy", "coredns")},
    }


def commands() -> Mapping[str, list[str]]:
    """The node's programs and their arguments, in the order of start."""
    files = INSIDE / "configuration"
    kubelet = [f"{INSIDE}/kubelet/kubelet", "kubelet", f"--config={files}/kubelet.yaml"]
    kubelet += [f"--kubeconfig={files}/kubelet.kubeconfig", f"--hostname-override={NAME}"]
    kubelet += [f"--node-ip={ADDRESS}", f"--node-labels={','.join(f'{one}=enabled' for one in LABELS)}"]
    return {
        "containerd": [f"{INSIDE}/containers/containerd", "--config", f"{files}/containerd.toml"],
        "kube-proxy": [f"{INSIDE}/kubelet/kubelet", "kube-proxy", f"--config={files}/kube-proxy.yaml"],
        "coredns": [f"{INSIDE}/coredns/coredns", "-conf", f"{files}/Corefile"],
        "kubelet": kubelet,
    }


def before_restart() -> Mapping[str, list[list[str]]]:
    """What is done before a program is started again."""
    # A kube-proxy 1.36 that finds tables of an earlier one loses the Services in them seconds later: none
    # leads anywhere, until one of them changes, which fails, and all are written again.
    return {"kube-proxy": [["nft", "delete", "table", family, "kube-proxy"] for family in ("ip", "ip6")]}


def _containerd() -> str:
    # restrict_oom_score_adj: a machine may have taken from root the right to lower the score.
    return f"""\
version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
      BinaryName = "{INSIDE}/runc/runc"
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{INSIDE}/containers"]
    conf_dir = "{INSIDE}/configuration/cni"
"""


def _pod_network(pod_range: str) -> dict[str, Any]:
    # Each pod has a link of its own to the node, and all of its traffic is routed: a bridge would hand
    # answers of a Service's pods past the translation of addresses, unless bridges call netfilter here.
    address = {"type": "host-local", "ranges": [[{"subnet": pod_range}]], "routes": [{"dst": "0.0.0.0/0"}]}
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {"type": "ptp", "ipMasq": False, "mtu": 1500, "ipam": address},
            {"type": "portmap", "capabilities": {"portMappings": True}, "backend": "nftables"},
        ],
    }


def _kubelet(cgroup: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "failSwapOn": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "authentication": {
            "x509": {"clientCAFile": f"{INSIDE}/pki/ca.crt"},
            "webhook": {"enabled": True},
            "anonymous": {"enabled": False},
        },
        "authorization": {"mode": "Webhook"},
        "address": ADDRESS,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": KUBELET_HEALTH_PORT,
        "clusterDNS": [ADDRESS],
        "clusterDomain": DOMAIN,
        "resolvConf": f"{INSIDE}/configuration/resolv.conf",
        # The disk is the machine's own, and its other users' files are not the node's concern.
        "evictionHard": {"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "maxPods": 250,
        "nodeStatusUpdateFrequency": "5s",
        "syncFrequency": "10s",
    }


def _kube_proxy(pod_range: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": pod_range,
        "clientConnection": {"kubeconfig": f"{INSIDE}/configuration/kube-proxy.kubeconfig"},
        "hostnameOverride": NAME,
        "bindAddress": ADDRESS,
        "healthzBindAddress": f"127.0.0.1:{PROXY_HEALTH_PORT}",
        "metricsBindAddress": "127.0.0.1:10249",
        # Sizes of the connection table are the whole machine's.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }


def _dns() -> str:
    return f"""\
{DOMAIN}:53 in-addr.arpa:53 {{
  bind {ADDRESS}
  errors
  health 127.0.0.1:{DNS_HEALTH_PORT}
  kubernetes {DOMAIN} in-addr.arpa {{
    kubeconfig {INSIDE}/configuration/coredns.kubeconfig node
    pods insecure
    ttl 5
  }}
  cache 5
}}
.:53 {{
  bind {ADDRESS}
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"""


def _reject(ranges: Sequence[str]) -> str:
    """Nothing leaves the node: attempts fail at once, without a wait for an answer.

    By address: what the node itself sends to a Service still has the link of its first route here, although
    it goes to a pod.
    """
    inside = ", ".join((f"{ADDRESS}/30", *ranges))
    rule = f'oifname "eth0" ip daddr != {{ {inside} }} reject with icmpx type admin-prohibited'
    chains = "".join(
        f"  chain {hook} {{\n    type filter hook {hook} priority 10; policy accept;\n    {rule}\n  }}\n"
        for hook in ("forward", "output")
    )
    return f"table inet sandbox {{\n{chains}}}\n"


def _kubeconfig(client: str) -> str:
    """Of a program of the node: it reaches the API server through the gateway."""
    server = f"https://{ADDRESS}:{API_PORT}"
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "node",
                    "cluster": {
                        "server": server,
                        "certificate-authority": f"{INSIDE}/pki/ca.crt",
                        "tls-server-name": "kubernetes",
                    },
                }
            ],
            "users": [
                {
                    "name": "node",
                    "user": {
                        "client-certificate": f"{INSIDE}/pki/{client}.crt",
                        "client-key": f"{INSIDE}/pki/{client}.key",
                    },
                }
            ],
            "contexts": [{"name": "node", "context": {"cluster": "node", "user": "node"}}],
            "current-context": "node",
        },
        indent=1,
    )


def egress_configuration(socket: Path) -> str:
    """The API server's: what goes to pods, Services and kubelets goes through the node's gateway."""
    return yaml.safe_dump(
        {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [
                {
                    "name": "cluster",
                    "connection": {
                        "proxyProtocol": "HTTPConnect",
                        "transport": {"uds": {"udsName": str(socket)}},
                    },
                }
            ],
        }
    )


def api_endpoints() -> dict[str, Any]:
    """The target of the Service `kubernetes`: the gateway, because the node's networks have no API server."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": API_PORT, "protocol": "TCP"}],
    }
