"""The plan of real nodes: the places of its files, and the configuration of their programs. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.node.hosts import GATEWAY, RealNode

FIRST = RealNode(1)
API_PORT = 6443
KUBELET_HEALTH_PORT = 10248
PROXY_HEALTH_PORT = 10256
DNS_HEALTH_PORT = 8181
DOMAIN = "cluster.local"
# As the node's programs see them.
INSIDE = Path("/run/node")
VOLUMES = "/var/lib/volumes"
SHARED = "/var/lib/shared"
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
    """The files of a node, all in one directory of its sandbox's."""

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
    def containerd(self) -> Path:
        """What its containerd keeps: images and containers."""
        return self.directory / "containerd"

    @property
    def plan(self) -> Path:
        """The arguments of its first process."""
        return self.directory / "plan.json"

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


@dataclass(frozen=True)
class NetworkLayout:
    """The files of the network between the nodes, all in `network` of its sandbox's directory."""

    directory: Path

    @property
    def identity(self) -> Path:
        """The process that has the network, once nodes can be plugged in."""
        return self.directory / "network.json"

    @property
    def egress(self) -> Path:
        """The socket by which the API server reaches the network."""
        return self.directory / "egress.sock"


def cgroup_name(directory: Path, node: RealNode = FIRST) -> str:
    """The control group of a node in the sandbox of that directory."""
    name = f"osctl-sandbox-{hashlib.sha256(str(directory).encode()).hexdigest()[:12]}"
    return name if node == FIRST else f"{name}-{node.index}"


def configuration_files(
    cgroup: str, node: RealNode, nodes: Sequence[RealNode], ranges: tuple[str, str]
) -> dict[str, str]:
    """Name and content of every configuration file; they are seen below `INSIDE`/configuration.

    `nodes`: all of them; `ranges`: the addresses of all pods, and of Services.
    """
    known = "".join(f"{one.address} {one.name}.sandbox.local {one.name}\n" for one in nodes)
    users = {"kubelet": f"kubelet-{node.name}", "kube-proxy": "kube-proxy", "coredns": "coredns"}
    return {
        "containerd.toml": _containerd(),
        "cni/10-pods.conflist": json.dumps(_pod_network(node.pod_range), indent=1),
        "kubelet.yaml": yaml.safe_dump(_kubelet(cgroup, node)),
        "kube-proxy.yaml": yaml.safe_dump(_kube_proxy(node, ranges[0])),
        "Corefile": _dns(node),
        "resolv.conf": f"nameserver {node.address}\n",
        "hosts": f"127.0.0.1 localhost\n{known}",
        "reject.nft": _reject(ranges),
        **{f"{program}.kubeconfig": _kubeconfig(user) for program, user in users.items()},
    }


def commands(node: RealNode = FIRST) -> Mapping[str, list[str]]:
    """The node's programs and their arguments, in the order of start."""
    files = INSIDE / "configuration"
    kubelet = [f"{INSIDE}/kubelet/kubelet", "kubelet", f"--config={files}/kubelet.yaml"]
    kubelet += [f"--kubeconfig={files}/kubelet.kubeconfig", f"--hostname-override={node.name}"]
    labels = ",".join(f"{one}=enabled" for one in node.labels)
    kubelet += [f"--node-ip={node.address}", f"--node-labels={labels}"]
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


def _kubelet(cgroup: str, node: RealNode) -> dict[str, Any]:
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
        "address": node.address,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": KUBELET_HEALTH_PORT,
        "clusterDNS": [node.address],
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


def _kube_proxy(node: RealNode, pod_range: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": pod_range,
        "clientConnection": {"kubeconfig": f"{INSIDE}/configuration/kube-proxy.kubeconfig"},
        "hostnameOverride": node.name,
        "bindAddress": node.address,
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


def _dns(node: RealNode) -> str:
    return f"""\
{DOMAIN}:53 in-addr.arpa:53 {{
  bind {node.address}
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
  bind {node.address}
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"""


def _reject(ranges: Sequence[str]) -> str:
    """Nothing leaves the nodes: attempts fail at once, without a wait for an answer.

    By address: what the node itself sends to a Service still has the link of its first route here, although
    it goes to a pod.
    """
    inside = ", ".join((f"{GATEWAY}/24", *ranges))
    rule = f'oifname "eth0" ip daddr != {{ {inside} }} reject with icmpx type admin-prohibited'
    chains = "".join(
        f"  chain {hook} {{\n    type filter hook {hook} priority 10; policy accept;\n    {rule}\n  }}\n"
        for hook in ("forward", "output")
    )
    return f"table inet sandbox {{\n{chains}}}\n"


def _kubeconfig(user: str) -> str:
    """Of a program of a node: it reaches the API server through the gateway."""
    server = f"https://{GATEWAY}:{API_PORT}"
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
                        "client-certificate": f"{INSIDE}/pki/{user}.crt",
                        "client-key": f"{INSIDE}/pki/{user}.key",
                    },
                }
            ],
            "contexts": [{"name": "node", "context": {"cluster": "node", "user": "node"}}],
            "current-context": "node",
        },
        indent=1,
    )


def egress_configuration(socket: Path) -> str:
    """The API server's: what goes to pods and kubelets goes through the nodes' network."""
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
    """The target of the Service `kubernetes`: the gateway, because the nodes' network has no API server."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [GATEWAY], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": API_PORT, "protocol": "TCP"}],
    }
