"""Makes what Octavia's amphorae need in OpenStack, and writes its ids into a Secret.

`objects` makes network, subnet, security groups and flavor. `ports NODE SECONDS` makes the ports of a node,
and looks again for ever. Each step looks first: it may run at any time, and many times.
"""

import base64
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
NETWORK, SUBNET, GROUP, HEALTH_GROUP, FLAVOR = "lb-mgmt", "lb-mgmt-subnet", "lb-mgmt", "lb-health", "amphora"
API_PORT, HEALTH_PORT = 9443, 5555
# As Octavia's own plug-in calls them, and the scripts of its pods look for them.
PORTS = {"worker": "Octavia:worker", "health-manager": "Octavia:health-mgr"}


def openstack(*words):
    """What the command answers."""
    command = ["openstack", *words, "-f", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openstack {' '.join(words[:3])}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def ensured(looked, made):
    """The id of the first that was found, else of what is made now."""
    found = openstack(*looked)
    return found[0]["ID"] if found else openstack(*made)["id"]


def ensure_rule(group, protocol, port, network):
    """The group lets the network in at the port."""
    rules = openstack("security", "group", "rule", "list", group, "--protocol", protocol)
    if not any(rule.get("Port Range") == f"{port}:{port}" for rule in rules):
        openstack(
            *("security", "group", "rule", "create", group, "--protocol", protocol),
            *("--dst-port", str(port), "--remote-ip", network),
        )


def ensure_group(name, project):
    """The id of the project's security group."""
    found = openstack("security", "group", "list", "--project", project)
    there = [group["ID"] for group in found if group["Name"] == name]
    return there[0] if there else openstack("security", "group", "create", name)["id"]


def ensure_objects(network):
    """The ids of all but ports, by key of the Secret."""
    project = openstack("token", "issue")["project_id"]
    net = ensured(("network", "list", "--name", NETWORK), ("network", "create", NETWORK))
    ensured(
        ("subnet", "list", "--network", net, "--name", SUBNET),
        ("subnet", "create", "--network", net, "--gateway", "none", "--subnet-range", network, SUBNET),
    )
    group, health = ensure_group(GROUP, project), ensure_group(HEALTH_GROUP, project)
    ensure_rule(group, "tcp", API_PORT, network)
    ensure_rule(health, "udp", HEALTH_PORT, network)
    flavors = [one["ID"] for one in openstack("flavor", "list", "--all") if one["Name"] == FLAVOR]
    size = ("--vcpus", "1", "--ram", "1024", "--disk", "2", "--private")
    flavor = flavors[0] if flavors else openstack("flavor", "create", *size, FLAVOR)["id"]
    return {"network": net, "security-group": group, "flavor": flavor, "image-owner": project}


def ensure_ports(node):
    """Both ports of the node; the addresses of all health managers, None where there is no network yet."""
    found = openstack("network", "list", "--name", NETWORK)
    project = openstack("token", "issue")["project_id"]
    listed = openstack("security", "group", "list", "--project", project)
    groups = [one["ID"] for one in listed if one["Name"] == HEALTH_GROUP]
    if not (found and groups):
        return None
    host = node.partition(".")[0]
    for part, owner in PORTS.items():
        name = f"octavia-{part}-port-{host}"
        extra = ("--security-group", groups[0]) if part == "health-manager" else ()
        ensured(
            ("port", "list", "--network", found[0]["ID"], "--name", name),
            (
                *("port", "create", "--network", found[0]["ID"], "--host", host),
                *("--device-owner", owner, *extra, name),
            ),
        )
    ports = openstack("port", "list", "--network", found[0]["ID"], "--device-owner", PORTS["health-manager"])
    addresses = sorted(fixed["ip_address"] for port in ports for fixed in port["Fixed IP Addresses"])
    return ",".join(f"{address}:{HEALTH_PORT}" for address in addresses)


def call(method, body=None):
    """What the API of Kubernetes answers of the Secret."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    path = f"/api/v1/namespaces/{os.environ['NAMESPACE']}/secrets/{os.environ['SECRET']}"
    token = Path(ACCOUNT, "token").read_text(encoding="utf-8")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"}
    data = None if body is None else json.dumps(body).encode()
    url = f"https://{f'[{host}]' if ':' in host else host}:{port}{path}"
    request = urllib.request.Request(url, data, headers, method=method)
    context = ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt")
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:  # noqa: S310
        return json.load(answer)


def publish(texts):
    """The Secret has these texts; others in it stay. Written only where something differs."""
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    there = call("GET").get("data") or {}
    if any(there.get(key) != text for key, text in data.items()):
        call("PATCH", {"data": data})
        print(f"Secret {os.environ['SECRET']}: {', '.join(sorted(texts))} written", flush=True)


def look(node):
    """One look of a node's pod; whether there was a network."""
    addresses = ensure_ports(node)
    if addresses:
        publish({"health-managers": addresses})
    return bool(addresses)


def main():
    if sys.argv[1] == "objects":
        publish(ensure_objects(os.environ["RANGE"]))
        return
    while True:
        try:
            ready = look(sys.argv[2])
        except Exception as error:  # noqa: BLE001 - OpenStack and the API come and go
            print(f"tried again later: {error}", file=sys.stderr, flush=True)
            ready = False
        time.sleep(float(sys.argv[3]) if ready else 5)


if __name__ == "__main__":
    main()
