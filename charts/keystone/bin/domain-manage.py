#!/usr/bin/env python3
"""Make the domains of conf.ks_domains with their own configuration, and keep Keystone's catalogue entry true."""

import json
import os
import pathlib

import openstack


def ensure_endpoints(identity) -> None:
    service = next(identity.services(type="identity"))
    for interface in ("admin", "internal", "public"):
        wanted = os.environ[f"IDENTITY_{interface.upper()}_URL"]
        region = os.environ["OS_REGION_NAME"]
        found = list(identity.endpoints(service_id=service.id, interface=interface, region_id=region))
        if not found:
            identity.create_endpoint(service_id=service.id, interface=interface, region_id=region, url=wanted)
        elif found[0].url != wanted:
            identity.update_endpoint(found[0], url=wanted)


def ensure_domain(identity, name: str, config: dict) -> None:
    domain = identity.find_domain(name) or identity.create_domain(name=name)
    if config:
        answer = identity.put(f"/domains/{domain.id}/config", json={"config": config})
        answer.raise_for_status()
    print(f"domain {name} is ready")


def main() -> None:
    identity = openstack.connect().identity
    ensure_endpoints(identity)
    domains = json.loads(pathlib.Path("/etc/keystone/ks_domains.json").read_text())
    for name, config in domains.items():
        ensure_domain(identity, name, config or {})


if __name__ == "__main__":
    main()
