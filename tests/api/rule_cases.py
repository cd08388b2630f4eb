"""For each rule of the definitions, objects that keep it and objects that break it.

Used twice: offline, and against a real API server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.api.definitions import bundle, evacuation, features, osdpl, server, server_port

SECRET = {"name": "vault", "key": "id"}
VAULT = {"url": "https://vault.example.org", "roleID": SECRET, "secretID": SECRET}
MACHINE = {
    "nodeUID": "6f1c2a40-0000-4000-8000-000000000001",
    "bootID": "0b2d3c51-0000-4000-8000-000000000002",
    "ready": "Unknown",
    "lastHeartbeatTime": "2026-11-22T07:01:10Z",
}
BUCKET = {"endpoint": "https://s3.example.org", "bucket": "backups", "credentials": "bucket"}
EXTERNAL = {"name": "public", "bridge": "br-ex"}
SUBNET = {"range": "203.0.113.0/24"}


@dataclass(frozen=True)
class RuleCase:
    """`message` is how the rule answers; `good` objects are accepted and `bad` ones refused with it."""

    message: str
    good: Sequence[dict[str, Any]]
    bad: Sequence[dict[str, Any]]


def _backend(**given: Any) -> dict[str, Any]:
    return features(blockStorage={"backends": [{"name": "one", **given}]})


def _store(**given: Any) -> dict[str, Any]:
    return features(image={"backends": [{"name": "one", **given}]})


def _charts(**given: Any) -> dict[str, Any]:
    return osdpl(charts=given)


def _nodes(*labels: str) -> dict[str, Any]:
    return osdpl(nodes={label: {"services": {}} for label in labels})


def _address(**subnet: Any) -> dict[str, Any]:
    return features(networking={"floatingNetwork": {"subnet": {**SUBNET, **subnet}}})


REPOSITORY = "https://charts.example.org"

ROOK = {"source": "Rook", "namespace": "rook-ceph"}
OFFER = {"source": "Secret", "namespace": "storage"}

NET0 = {"network": {"filter": {"name": "net0"}}}
UUID = "6f1c2a40-0000-4000-8000-000000000001"
LOCAL = {"name": "scratch", "sizeGiB": 1, "storage": {"type": "Local"}}


def _subnet(**filter: Any) -> dict[str, Any]:
    return server_port(fixedIPs=[{"subnet": {"filter": filter}}])


def _device(**storage: Any) -> dict[str, Any]:
    return server(additionalBlockDevices=[{"name": "data", "sizeGiB": 1, "storage": storage}])


SERVER_CASES: Sequence[RuleCase] = (
    RuleCase(
        "exactly one of flavor and flavorID must be set",
        [server(flavor="small"), server(flavor=None, flavorID="1")],
        [server(flavor=None), server(flavorID="1")],
    ),
    RuleCase(
        "exactly one of id and filter must be set",
        [server(image={"id": UUID}), server_port(network={"id": UUID})],
        [server(image={}), server(image={"id": UUID, "filter": {"name": "tiny"}}), server_port(network={})],
    ),
    RuleCase(
        "exactly one of network and pool must be set",
        [server(floatingIP={"pool": "public"}), server(floatingIP={"network": {"id": UUID}})],
        [server(floatingIP={}), server(floatingIP={"pool": "public", "network": {"id": UUID}})],
    ),
    RuleCase(
        "one of subnet and ipAddress must be set",
        [server_port(fixedIPs=[{"ipAddress": "192.0.2.1"}, {"subnet": {"id": UUID}}])],
        [server_port(fixedIPs=[{}])],
    ),
    RuleCase(
        "tags that begin with osctl-server- are reserved for the controller",
        [server(tags=["osctl", "a=b"]), server_port(tags=["a/b"])],
        [server(tags=[f"osctl-server-{UUID}"]), server_port(tags=[f"osctl-server-{UUID}"])],
    ),
    RuleCase(
        "the name root is reserved for the root volume",
        [server(additionalBlockDevices=[LOCAL])],
        [server(additionalBlockDevices=[{**LOCAL, "name": "root"}])],
    ),
    RuleCase(
        "must be an IP address or a network",
        [server_port(allowedAddressPairs=[{"ipAddress": "192.0.2.0/24"}, {"ipAddress": "2001:db8::1"}])],
        [server_port(allowedAddressPairs=[{"ipAddress": "everything"}])],
    ),
    RuleCase(
        "must be an IP address",
        [server_port(fixedIPs=[{"ipAddress": "192.0.2.1"}]), _subnet(gatewayIP="2001:db8::1")],
        [server_port(fixedIPs=[{"ipAddress": "first"}]), _subnet(gatewayIP="192.0.2.0/24")],
    ),
    RuleCase(
        "must be a network in CIDR form",
        [_subnet(cidr="192.0.2.0/24"), _subnet(cidr="2001:db8::/64")],
        [_subnet(cidr="192.0.2.0"), _subnet(cidr="everything")],
    ),
    RuleCase(
        "volume needs type Volume",
        [_device(type="Volume", volume={"type": "fast"}), _device(type="Local")],
        [_device(type="Local", volume={"type": "fast"})],
    ),
    RuleCase(
        "from Name needs a name, and a name needs from Name",
        [
            _device(type="Volume", volume={"availabilityZone": {"from": "Machine"}}),
            _device(type="Volume", volume={"availabilityZone": {"name": "az1"}}),
        ],
        [
            _device(type="Volume", volume={"availabilityZone": {"from": "Machine", "name": "az1"}}),
            _device(type="Volume", volume={"availabilityZone": {"from": "Name"}}),
        ],
    ),
    RuleCase(
        "network, or the subnet of an address, must be set",
        [
            server(ports=[NET0]),
            server(ports=[{"fixedIPs": [{"ipAddress": "192.0.2.1"}, {"subnet": {"id": UUID}}]}]),
        ],
        [server(ports=[{"tags": ["a"]}]), server(ports=[{"fixedIPs": [{"ipAddress": "192.0.2.1"}]}])],
    ),
    RuleCase(
        "securityGroups and allowedAddressPairs need port security",
        [server_port(disablePortSecurity=True), server_port(securityGroups=[{"id": UUID}])],
        [
            server_port(disablePortSecurity=True, securityGroups=[{"id": UUID}]),
            server_port(disablePortSecurity=True, allowedAddressPairs=[{"ipAddress": "192.0.2.1"}]),
        ],
    ),
    RuleCase(
        "each nameSuffix may occur once",
        [server(ports=[{**NET0, "nameSuffix": "a"}, NET0, NET0])],
        [server(ports=[{**NET0, "nameSuffix": "a"}, {**NET0, "nameSuffix": "a"}])],
    ),
)

CASES: Sequence[RuleCase] = (
    *SERVER_CASES,
    RuleCase(
        "set both source and namespace, or neither",
        [features(ceph=ROOK), features(ceph={"pools": {"replicas": 2}})],
        [features(ceph={"source": "Rook"}), features(ceph={"namespace": "rook-ceph"})],
    ),
    RuleCase(
        "secretName is allowed only with source Secret",
        [features(ceph={**OFFER, "secretName": "cluster"})],
        [features(ceph={**ROOK, "secretName": "cluster"}), features(ceph={"secretName": "cluster"})],
    ),
    RuleCase(
        "request Rook is allowed only with source Rook",
        [features(ceph={**ROOK, "request": "Rook"}), features(ceph={**OFFER, "request": "Secret"})],
        [features(ceph={**OFFER, "request": "Rook"}), features(ceph={"request": "Rook"})],
    ),
    RuleCase(
        "fenced names the machine that is off: nodeUID, bootID, ready and lastHeartbeatTime, as its Node "
        "shows them; osctl node maintain NODE --mode evacuate --fenced writes them",
        [
            evacuation(**MACHINE),
            evacuation(**MACHINE, givenAt="2026-11-22T07:05:00Z"),
            evacuation(**dict.fromkeys(MACHINE, "")),
        ],
        [evacuation(), *(evacuation(**{k: v for k, v in MACHINE.items() if k != one}) for one in MACHINE)],
    ),
    RuleCase(
        "ready is the status of the Node's condition Ready: Unknown, False, or empty where there is no Node; "
        "a machine whose node is Ready is not off",
        [evacuation(**{**MACHINE, "ready": "False"})],
        [evacuation(**{**MACHINE, "ready": "True"})],
    ),
    RuleCase(
        "the name must have at most 63 characters",
        [osdpl(name="r" * 63), bundle(bundle_name="b" * 63)],
        [osdpl(name="r" * 64), bundle(bundle_name="b" * 64)],
    ),
    RuleCase(
        "a release cannot depend on itself", [bundle(dependsOn=["a"])], [bundle(dependsOn=["keystone"])]
    ),
    RuleCase(
        "exactly one of path and repository must be set",
        [bundle(chart={"name": "a", "repository": REPOSITORY, "version": "1"})],
        [
            bundle(chart={"name": "a"}),
            bundle(chart={"name": "a", "repository": REPOSITORY, "path": "a", "version": "1"}),
        ],
    ),
    RuleCase(
        "a chart from a network repository needs an exact version",
        [
            bundle(chart={"name": "a", "repository": "oci://r.example.org/a", "version": "1.2.3"}),
            bundle(chart={"name": "a", "repository": "file:///charts"}),
        ],
        [bundle(chart={"name": "a", "repository": "oci://r.example.org/a"})],
    ),
    RuleCase(
        "the timeout must be between 10s and 24h",
        [bundle(timeout=text) for text in ("10s", "1h30m", "24h", "23h60m")],
        [bundle(timeout=text) for text in ("9s", "24h1s", "99999h")],
    ),
    RuleCase(
        "path and repository exclude each other",
        [_charts(path="/charts"), _charts(repository=REPOSITORY)],
        [_charts(path="/charts", repository=REPOSITORY)],
    ),
    RuleCase(
        "credentialsSecret and caSecret need a repository",
        [_charts(repository=REPOSITORY, credentialsSecret="c", caSecret="c")],
        [_charts(credentialsSecret="c"), _charts(path="/charts", caSecret="c")],
    ),
    RuleCase(
        "each key must be a node label and its value",
        [_nodes("example.org/role::compute", "gpu::", "a_B.c::1.2-3")],
        [
            _nodes("gpu"),
            _nodes("gpu:yes"),
            _nodes("::x"),
            _nodes("a::b::c"),
            _nodes("a::b\n"),
            _nodes("A/b::c"),
        ],
    ),
    RuleCase(
        "a service cannot be enabled and disabled at once",
        [features(services={"enabled": ["dns"], "disabled": ["image"]})],
        [features(services={"enabled": ["dns", "image"], "disabled": ["image"]})],
    ),
    RuleCase(
        "physicalNetwork must be the name of one of externalNetworks",
        [
            features(
                networking={"externalNetworks": [EXTERNAL], "floatingNetwork": {"physicalNetwork": "public"}}
            )
        ],
        [
            features(networking={"floatingNetwork": {"physicalNetwork": "public"}}),
            features(
                networking={"externalNetworks": [EXTERNAL], "floatingNetwork": {"physicalNetwork": "x"}}
            ),
        ],
    ),
    RuleCase(
        "an enabled floating network needs physicalNetwork and subnet",
        [
            features(networking={"floatingNetwork": {"enabled": False}}),
            features(
                networking={
                    "externalNetworks": [EXTERNAL],
                    "floatingNetwork": {"enabled": True, "physicalNetwork": "public", "subnet": SUBNET},
                }
            ),
        ],
        [
            features(networking={"floatingNetwork": {"enabled": True, "subnet": SUBNET}}),
            features(
                networking={
                    "externalNetworks": [EXTERNAL],
                    "floatingNetwork": {"enabled": True, "physicalNetwork": "public"},
                }
            ),
        ],
    ),
    RuleCase(
        'must be a number from 1 to 5000, or a percentage from "1%" to "100%", such as "20%"',
        [features(nodes={"maxUnhealthy": one}) for one in (1, 3, 5000, "1%", "20%", "99%", "100%")],
        [
            features(nodes={"maxUnhealthy": one})
            for one in (
                0,
                -1,
                5001,
                2**40,
                "0%",
                "101%",
                "020%",
                "20",
                "20 %",
                "20%\n",
                "-5%",
                "1e2%",
                "٢%",
                "",
            )
        ],
    ),
    RuleCase(
        'must be a number of nodes from 1 to 5000, or a percentage from "1%" to "100%"',
        [osdpl(upgrade={"computes": {"batch": one}}) for one in (1, 3, 5000, "1%", "20%", "99%", "100%")],
        [
            osdpl(upgrade={"computes": {"batch": one}})
            for one in (
                0,
                -1,
                5001,
                2**40,
                "0%",
                "101%",
                "020%",
                "20",
                "20 %",
                "20%\n",
                "-5%",
                "1e2%",
                "٢%",
                "",
            )
        ],
    ),
    RuleCase(
        "must be a network in CIDR form",
        [
            features(loadBalancer={"managementNetwork": text})
            for text in ("10.0.0.0/8", "2001:db8::/32", "0.0.0.0/0", "10.1.2.3/8", "::/0", "::1/128")
        ],
        [
            features(loadBalancer={"managementNetwork": text})
            for text in (
                "",
                "10.0.0.0",
                "10.0.0.0/33",
                "10.0.0.0/08",
                "10.0.0.0/",
                "10.0.0/8",
                "010.0.0.0/8",
                "10.0.0.0/+8",
                "::ffff:10.0.0.0/104",
                "fe80::%eth0/64",
                "::/129",
                "10.0.0.0/8 ",
                "x/1",
                "10.0.0.0/٨",
                "10.0.0.0/255.0.0.0",
            )
        ],
    ),
    RuleCase(
        "must be an IP address",
        [_address(gateway=text) for text in ("203.0.113.1",)]
        + [
            features(networking={"dnsServers": [text]})
            for text in ("9.9.9.9", "2620:fe::fe", "::", "FE80::1")
        ],
        [
            features(networking={"dnsServers": [text]})
            for text in (
                "",
                "9.9.9",
                "09.9.9.9",
                "9.9.9.9.9",
                "9.9.9.256",
                "::ffff:9.9.9.9",
                "fe80::1%eth0",
                ":::",
                " 9.9.9.9",
                "9.9.9.9\n",
                "dns.example.org",
                "1::2::3",
                "12345::",
            )
        ],
    ),
    RuleCase(
        "ceph needs backend ceph",
        [features(compute={"images": {"backend": "ceph", "ceph": {}}})],
        [
            features(compute={"images": {"ceph": {}}}),
            features(compute={"images": {"backend": "lvm", "ceph": {}}}),
        ],
    ),
    RuleCase(
        "lvm needs backend lvm",
        [features(compute={"images": {"backend": "lvm", "lvm": {"volumeGroup": "vg0"}}})],
        [features(compute={"images": {"backend": "local", "lvm": {}}})],
    ),
    RuleCase(
        "defaultBackend must be the name of one of backends",
        [
            features(blockStorage={"backends": [{"name": "a", "type": "lvm"}], "defaultBackend": "a"}),
            features(image={"backends": [{"name": "a", "type": "pvc"}], "defaultBackend": "a"}),
        ],
        [
            features(blockStorage={"defaultBackend": "a"}),
            features(image={"backends": [{"name": "a", "type": "pvc"}], "defaultBackend": "b"}),
        ],
    ),
    RuleCase("ceph needs type ceph", [_backend(type="ceph", ceph={})], [_backend(type="lvm", ceph={})]),
    RuleCase("lvm needs type lvm", [_backend(type="lvm", lvm={})], [_backend(type="ceph", lvm={})]),
    RuleCase(
        "type nfs needs the field nfs, and the field nfs needs type nfs",
        [_backend(type="nfs", nfs={"shares": ["nas:/volumes"]})],
        [_backend(type="nfs"), _backend(type="lvm", nfs={"shares": ["nas:/volumes"]})],
    ),
    RuleCase(
        "type custom needs conf",
        [_backend(type="custom", conf={"volume_driver": "x.Y"}), _backend(type="ceph", conf={"a": 1})],
        [_backend(type="custom")],
    ),
    RuleCase(
        "set either claim or s3",
        [features(backup={"destination": {"claim": {}}}), features(backup={"destination": {"s3": BUCKET}})],
        [
            features(backup={"destination": {}}),
            features(backup={"destination": {"claim": {}, "s3": BUCKET}}),
        ],
    ),
    RuleCase(
        "enabled backups need a driver",
        [features(blockStorage={"backup": {"enabled": True, "driver": "ceph"}})],
        [features(blockStorage={"backup": {"enabled": True}})],
    ),
    RuleCase(
        "driver nfs needs the field share",
        [features(blockStorage={"backup": {"driver": "nfs", "share": "nas:/backups"}})],
        [features(blockStorage={"backup": {"driver": "nfs"}})],
    ),
    RuleCase("size needs type pvc", [_store(type="pvc", size="1Ti")], [_store(type="ceph", size="1Ti")]),
    RuleCase("pool needs type ceph", [_store(type="ceph", pool="p")], [_store(type="s3", pool="p")]),
    RuleCase(
        "secretName and issuer exclude each other",
        [
            features(tls={"public": {"enabled": True, "secretName": "s"}}),
            features(tls={"public": {"issuer": "i"}}),
        ],
        [features(tls={"public": {"secretName": "s", "issuer": "i"}})],
    ),
    RuleCase(
        "authoritySecret and issuer exclude each other",
        [
            features(tls={"internal": {"authoritySecret": "s"}}),
            features(tls={"internal": {"issuer": "i", "caSecret": "c"}}),
        ],
        [features(tls={"internal": {"authoritySecret": "s", "issuer": "i"}})],
    ),
    RuleCase(
        "caSecret needs an issuer, and excludes authoritySecret",
        [features(tls={"internal": {"authoritySecret": "s"}})],
        [features(tls={"internal": {"authoritySecret": "s", "caSecret": "c"}})],
    ),
    RuleCase(
        "backend vault needs the field vault, and the field vault needs backend vault",
        [
            features(keyManager={"backend": "vault", "vault": VAULT}),
            features(keyManager={"backend": "simple"}),
        ],
        [features(keyManager={"backend": "vault"}), features(keyManager={"vault": VAULT})],
    ),
)

# Rules that compare with the object before: only a server knows it. They have tests of their own.
TRANSITION_MESSAGES = (
    "a restore cannot be changed; create another one",
    "the region's name is part of every endpoint and cannot be changed",
    "a region that was provisioned stays provisioned",
    "a maintenance stays with its region; create another one",
    "a maintenance stays with its node; create another one",
    "a running maintenance cannot become a dry run; create another one",
    "update cannot be changed; create another server",
    "a floating IP stays in its network; remove it first",
    "a field of a frozen server cannot be changed",
)
