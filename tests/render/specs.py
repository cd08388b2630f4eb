"""One spec for each feature, and pairs of features that meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PUBLIC_NETWORK = [{"name": "public", "bridge": "br-ex", "interface": "bond1"}]
OVN = {"backend": "ml2/ovn", "externalNetworks": PUBLIC_NETWORK}
CEPH_STORE = {"name": "fast", "type": "ceph"}
INTERNAL_TLS = {"enabled": True, "issuer": "region-ca", "caSecret": "region-ca-bundle"}
GATEWAY = {"services": {"enabled": ["gateway"]}, "gateway": {"className": "envoy"}}
OIDC = {
    "name": "corporate",
    "title": "Corporate account",
    "issuer": "https://login.example.org",
    "clientID": "cloud",
    "clientSecret": {"name": "oidc-client", "key": "secret"},
    "mapping": [{"local": [{"user": {"name": "{0}"}}], "remote": [{"type": "OIDC-preferred_username"}]}],
}
OTHER_OIDC = {
    **OIDC,
    "name": "partners",
    "issuer": "https://sso.example.com/realms/one/",
    "clientID": 'a"{{client}}',
    "clientSecret": {"name": "oidc-partners", "key": "secret"},
    "scopes": ["openid", "groups"],
    "metadata": {
        "issuer": "https://sso.example.com/realms/one/",
        "authorization_endpoint": "https://sso.example.com/auth",
        "token_endpoint": "https://sso.example.com/token",
        "jwks_uri": "https://sso.example.com/keys",
    },
}
BACKUP_IN_S3: dict[str, Any] = {
    "enabled": True,
    "driver": "s3",
    "conf": {
        "backup_s3_endpoint_url": "https://s3.example.org",
        "backup_s3_store_access_key": {"$secretRef": {"name": "s3", "key": "access"}},
        "backup_s3_store_secret_key": {"$secretRef": {"name": "s3", "key": "secret"}},
    },
}
LDAP = {
    "name": "staff",
    "url": "ldaps://ldap.example.org",
    "suffix": "dc=example,dc=org",
    "user": "cn=cloud,dc=example,dc=org",
    "password": {"name": "ldap-bind", "key": "password"},
    "conf": {"user_objectclass": "inetOrgPerson"},
}
FLOATING = {
    "enabled": True,
    "physicalNetwork": "public",
    "subnet": {
        "range": "203.0.113.0/24",
        "gateway": "203.0.113.1",
        "poolStart": "203.0.113.10",
        "poolEnd": "203.0.113.99",
    },
    "router": True,
}


GNOCCHI_TAGS = ("db_sync", *(f"gnocchi_{part}" for part in ("api", "metricd", "resources_cleaner", "statsd")))
POOLS = [
    {
        "name": "default",
        "ns_records": [{"hostname": "ns1.example.org.", "priority": 1}],
        "nameservers": [{"host": "192.0.2.53", "port": 53}],
        "targets": [
            {
                "type": "bind9",
                "masters": [{"host": "192.0.2.54", "port": 5354}],
                "options": {"host": "192.0.2.53", "port": 53, "rndc_host": "192.0.2.53", "rndc_port": 953},
            }
        ],
    }
]
AMPHORAE = {
    "controller_worker": {
        "amp_boot_network_list": "6b4f3c1e-8a55-4d0c-9a36-0e7f6a1f2b11",
        "amp_secgroup_list": "1f0c2d3e-4b5a-4c6d-8e7f-9a0b1c2d3e4f",
        "amp_flavor_id": "9d8c7b6a-5f4e-4d3c-8b2a-1f0e9d8c7b6a",
        "amp_image_owner_id": "0a1b2c3d4e5f40718293a4b5c6d7e8f9",
        "amp_image_tag": "amphora",
    },
    "health_manager": {"controller_ip_port_list": "172.31.0.12:5555,172.31.0.13:5555"},
}
# What services in no preset cannot work without, as their operator brings it.
_BROUGHT: Mapping[str, Mapping[str, Any]] = {
    "dns": {"designate": {"conf": {"pools": POOLS}}},
    "load-balancer": {"octavia": {"conf": {"octavia": AMPHORAE}}},
    "shared-file-system": {"manila": {"conf": {"manila": {"generic": {"service_image_name": "shares"}}}}},
    "instance-ha": {"masakari": {"manifests": {"instance_monitor": True}}},
}
_GNOCCHI = "registry.example.org/gnocchi:4.7"


def brought(*services: str) -> dict[str, Any]:
    """The part of a spec with what these services need beside being enabled."""
    values = {
        name: {chart: {"values": given} for chart, given in _BROUGHT[name].items()}
        for name in services
        if name in _BROUGHT
    }
    images = {"images": {"overrides": dict.fromkeys(GNOCCHI_TAGS, _GNOCCHI)}}
    return {**({"services": values} if values else {}), **(images if "metering" in services else {})}


def _features(**features: Any) -> dict[str, Any]:
    return {"features": features}


FEATURES: Mapping[str, dict[str, Any]] = {
    "fields-of-networking": {
        "size": "small",
        **_features(
            networking={
                "externalNetworks": [{"name": "dc", "bridge": "br-dc", "vlanRanges": ["100:199"]}],
                "routerHA": False,
                "dhcpAgentsPerNetwork": 3,
                "floatingNetwork": {
                    **{key: value for key, value in FLOATING.items() if key != "physicalNetwork"},
                    "name": "outside",
                    "physicalNetwork": "dc",
                    "networkType": "vlan",
                    "segmentationID": 150,
                },
            }
        ),
    },
    "fields-of-storage": _features(
        compute={"liveMigration": {"permitAutoConverge": False}},
        blockStorage={
            "backends": [
                {"name": "fast", "type": "ceph", "ceph": {"pool": "ssd", "user": "volumes"}},
                {"name": "local", "type": "lvm", "lvm": {"volumeGroup": "vg1"}},
            ],
            "backup": {
                "enabled": True,
                "driver": "ceph",
                "pool": "safe",
                "conf": {"backup_ceph_user": "safe"},
            },
        },
        image={
            "backends": [
                {"name": "rbd", "type": "ceph", "pool": "golden", "conf": {"rbd_store_chunk_size": 4}}
            ]
        },
    ),
    "fields-of-identity": _features(
        identity={
            "federation": {"providers": [{**OIDC, "scopes": ["openid", "groups"]}]},
            "ldap": {
                "domains": [
                    {
                        **LDAP,
                        "caSecret": "directory",
                        "userTreeDN": "ou=users,dc=example,dc=org",
                        "groupTreeDN": "ou=groups,dc=example,dc=org",
                    }
                ]
            },
        },
        dashboard={"defaultDomain": "staff"},
        keyManager={
            "backend": "vault",
            "vault": {
                "url": "https://vault.example.org",
                "mountPoint": "cloud",
                "namespace": "region-one",
                "roleID": {"name": "vault", "key": "role"},
                "secretID": {"name": "vault", "key": "secret"},
            },
        },
    ),
    "fields-of-operations": brought("load-balancer")
    | _features(
        database={
            "backup": {"enabled": True, "schedule": "30 2 * * *", "volumeSize": "200Gi"},
            "cleanup": {"compute": {"enabled": False, "schedule": "5 4 * * *"}},
        },
        networking={"externalNetworks": [{**PUBLIC_NETWORK[0], "vlanRanges": ["200:219"]}]},
        services={"enabled": ["load-balancer"]},
        loadBalancer={"managementNetwork": "10.99.0.0/16"},
        baremetal={
            "networks": [
                {
                    "name": "clean",
                    "purpose": "cleaning",
                    "physicalNetwork": "public",
                    "vlan": 200,
                    "range": "10.8.0.0/24",
                },
                {
                    "name": "boot",
                    "purpose": "provisioning",
                    "physicalNetwork": "public",
                    "vlan": 201,
                    "range": "10.7.0.0/24",
                    "gateway": "10.7.0.1",
                    "poolStart": "10.7.0.10",
                    "poolEnd": "10.7.0.99",
                },
                {
                    "name": "machines",
                    "purpose": "tenant",
                    "physicalNetwork": "public",
                    "vlan": 202,
                    "range": "10.6.0.0/24",
                },
            ]
        },
    ),
    "networking-external": _features(
        networking={
            "externalNetworks": [
                *PUBLIC_NETWORK,
                {"name": "dc", "bridge": "br-dc", "mtu": 9000, "vlanRanges": ["100:199", "300:310"]},
            ],
            "tunnelInterface": "bond0",
            "physicalNetworkMTU": 9000,
        }
    ),
    "networking-ovn": _features(networking=OVN),
    "networking-ovn-dvr-dns": _features(
        networking={**OVN, "dvr": True, "dnsServers": ["192.0.2.53"], "extensions": ["vpnaas"]}
    ),
    "networking-dvr": _features(networking={"externalNetworks": PUBLIC_NETWORK, "dvr": True}),
    "networking-floating": _features(
        networking={"externalNetworks": PUBLIC_NETWORK, "floatingNetwork": FLOATING}
    ),
    "networking-dns": _features(
        networking={"dnsServers": ["192.0.2.53", "192.0.2.54"], "dnsDomain": "cloud.example.org."}
    ),
    "networking-extensions": _features(
        networking={
            "extensions": [
                "qos",
                "trunk",
                "port-forwarding",
                "segments",
                "dns",
                "vpnaas",
                "bgp",
                "fwaas",
                "metering",
                "log",
            ]
        }
    ),
    "networking-vlan-tenants": _features(
        networking={
            "tenantNetworkTypes": ["vlan", "gre"],
            "firewallDriver": "noop",
            "routerHA": False,
            "dhcpAgentsPerNetwork": 1,
            "externalNetworks": [{"name": "dc", "bridge": "br-dc", "vlanRanges": ["100:199"]}],
        }
    ),
    "compute-images-ceph": _features(compute={"images": {"backend": "ceph", "ceph": {"pool": "disks"}}}),
    "compute-images-lvm": _features(compute={"images": {"backend": "lvm", "lvm": {"volumeGroup": "vg0"}}}),
    "compute-ratios": _features(
        compute={"allocationRatios": {"cpu": 6, "ram": 1.2, "disk": 1.5}, "vcpuType": "host-passthrough"}
    ),
    "compute-cpu-models": _features(
        compute={"virtualization": "kvm", "vcpuType": "Cascadelake-Server,Icelake-Server"}
    ),
    "compute-live-migration": _features(
        compute={"liveMigration": {"interface": "bond2", "permitPostCopy": True, "concurrent": 4}}
    ),
    "compute-console-spice": _features(compute={"console": {"type": "spice"}}),
    "compute-new-hosts": _features(nodes={"newHosts": "AtOnce"}),
    "compute-console-none": _features(compute={"console": {"type": "none"}}),
    "compute-libvirt-tls": _features(compute={"libvirtTLS": {"enabled": True}}),
    "compute-pods": _features(
        compute={
            "pods": {
                "tolerations": [
                    {"key": "role", "operator": "Equal", "value": "compute", "effect": "NoSchedule"},
                    {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600},
                ],
                "priorityClassName": "system-node-critical",
            }
        }
    ),
    "pods-tolerations": _features(
        pods={
            "tolerations": [
                {
                    "key": "node-role.kubernetes.io/control-plane",
                    "operator": "Exists",
                    "effect": "NoSchedule",
                },
                {
                    "key": "disk",
                    "operator": "Equal",
                    "value": "slow",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                },
            ]
        },
        compute={
            "pods": {"tolerations": [{"key": "role", "operator": "Equal", "value": "compute"}]},
        },
    ),
    "compute-libvirt-in-clear": _features(compute={"libvirtTLS": {"enabled": False}}),
    "volumes-ceph": _features(blockStorage={"backends": [CEPH_STORE]}),
    "volumes-lvm-nfs-custom": _features(
        blockStorage={
            "backends": [
                {"name": "local", "type": "lvm", "lvm": {"protocol": "nvmet_tcp"}},
                {"name": "filer", "type": "nfs", "nfs": {"shares": ["filer.example.org:/volumes"]}},
                {
                    "name": "array",
                    "type": "custom",
                    "conf": {"volume_driver": "cinder.volume.drivers.example.Driver"},
                },
            ],
            "defaultBackend": "filer",
        }
    ),
    "volume-backup-ceph": _features(
        blockStorage={"backends": [CEPH_STORE], "backup": {"enabled": True, "driver": "ceph"}}
    ),
    "volume-backup-nfs": _features(
        blockStorage={"backup": {"enabled": True, "driver": "nfs", "share": "filer.example.org:/backups"}}
    ),
    "images-ceph": _features(image={"backends": [{"name": "rbd", "type": "ceph"}]}),
    "ceph-exchange": _features(
        ceph={"source": "Rook", "namespace": "rook-ceph", "request": "Rook"},
        image={"backends": [{"name": "rbd", "type": "ceph"}]},
        compute={"images": {"backend": "ceph"}},
    ),
    "ceph-exchange-everywhere": brought("metering")
    | _features(
        services={"enabled": ["metering", "shared-file-system", "object-storage"]},
        ceph={
            "source": "Secret",
            "namespace": "storage",
            "secretName": "cluster",
            "pools": {"replicas": 2, "failureDomain": "rack", "deviceClass": "ssd"},
            "shares": {"filesystem": "shared"},
            "objectStorage": {"url": "https://rgw.example.org:8443"},
        },
        image={"backends": [{"name": "rbd", "type": "ceph"}]},
        compute={"images": {"backend": "ceph"}},
        blockStorage={
            "backends": [{"name": "fast", "type": "ceph", "ceph": {"user": "disks"}}],
            "backup": {"enabled": True, "driver": "ceph"},
        },
    ),
    "images-two-stores": _features(
        image={
            "backends": [
                {"name": "volumes", "type": "cinder"},
                {"name": "disk", "type": "pvc", "size": "100Gi"},
            ],
            "defaultBackend": "disk",
        }
    ),
    "identity-oidc": _features(identity={"federation": {"providers": [OIDC]}}),
    "identity-oidc-directives": _features(
        identity={
            "federation": {
                "providers": [OIDC],
                "directives": ["OIDCPassClaimsAs environment", 'OIDCSessionType "server-cache"'],
            }
        }
    ),
    "identity-two-providers": _features(
        identity={
            "federation": {
                "providers": [{**OIDC, "metadata": {"issuer": "https://login.example.org"}}, OTHER_OIDC]
            }
        }
    ),
    "identity-ldap": _features(identity={"ldap": {"domains": [LDAP]}}),
    "identity-oidc-and-ldap": _features(
        identity={"federation": {"providers": [OIDC]}, "ldap": {"domains": [LDAP]}}
    ),
    "gateway": _features(**{**GATEWAY, "gateway": {"className": "envoy", "address": "203.0.113.80"}}),
    "tls-public-secret": _features(**GATEWAY, tls={"public": {"enabled": True, "secretName": "public-tls"}}),
    "tls-public-issuer": _features(**GATEWAY, tls={"public": {"enabled": True, "issuer": "acme"}}),
    "tls-internal": {"preset": "core", **_features(tls={"internal": INTERNAL_TLS})},
    "tls-internal-database": _features(
        tls={"internal": {"enabled": True, "issuer": "region-ca", "traffic": ["database"]}}
    ),
    "tls-internal-own": {"preset": "core", **_features(tls={"internal": {"enabled": True}})},
    "metering": brought("metering")
    | _features(
        services={"enabled": ["metering"]}, metering={"gnocchi": {"pool": "measures", "user": "measurer"}}
    ),
    "metering-sent-on": _features(
        services={"enabled": ["metering"]},
        metering={"gnocchi": {"enabled": False}, "alarms": {"enabled": False}},
    ),
    "tls-public": _features(tls={"public": {"enabled": True}}),
    "database-backup": _features(
        database={
            "volumeSize": "80Gi",
            "backup": {"enabled": True, "keepDays": 30, "storageClass": "general"},
        }
    ),
    "database-exporter": _features(database={"exporter": {"enabled": True}}),
    "database-cleanup": _features(
        database={"cleanup": {"compute": {}, "block-storage": {"olderThanDays": 60}, "orchestration": {}}}
    ),
    "brokers": _features(messaging={"dedicatedBrokers": ["compute", "networking"], "volumeSize": "20Gi"}),
    "external-servers": _features(
        database={"external": {"address": "192.0.2.10", "port": 3307, "administrator": "cloud"}},
        messaging={
            "external": {
                "addresses": ["192.0.2.11", "192.0.2.12"],
                "port": 5673,
                "managementPort": 15673,
                "administrator": "cloud",
            }
        },
        credentials={
            "database": {"root-password": {"name": "servers", "key": "database"}},
            "messaging": {"admin-password": {"name": "servers", "key": "broker"}},
        },
    ),
    "notifications": brought("load-balancer")
    | _features(
        services={"enabled": ["load-balancer"]},
        messaging={"notifications": {"enabled": True, "topics": ["notifications", "billing"]}},
    ),
    "logging": _features(logging={"level": "WARNING", "services": {"compute": "DEBUG"}}),
    "audit": _features(audit={"enabled": True, "services": ["compute", "networking"]}),
    "network-policies": _features(
        networkPolicies={
            "enabled": True,
            "nodeNetworks": ["10.0.0.0/16"],
            "controllerNamespace": "controllers",
            "monitoring": [{"namespace": "monitoring", "podLabels": {"app": "prometheus"}}],
        }
    ),
    "policies": _features(policies={"compute": {"os_compute_api:servers:create": "role:member"}}),
    "dashboard": _features(
        dashboard={"multiDomain": True, "sessionTimeoutSeconds": 600, "settings": {"DROPDOWN_MAX_ITEMS": 20}}
    ),
    "load-balancer-ovn": _features(
        services={"enabled": ["load-balancer"]}, networking=OVN, loadBalancer={"provider": "ovn"}
    ),
    "load-balancer-made-network": _features(
        services={"enabled": ["load-balancer"]},
        loadBalancer={"makeNetwork": True, "managementNetwork": "198.51.100.0/24"},
    ),
    "load-balancer-own-certificates": brought("load-balancer")
    | _features(
        services={"enabled": ["load-balancer"]},
        loadBalancer={"certificatesSecret": "octavia-certs"},
        credentials={"load-balancer": {"ca-passphrase": {"name": "octavia-certs", "key": "passphrase"}}},
    ),
    "key-manager-vault": _features(
        keyManager={
            "backend": "vault",
            "vault": {
                "url": "https://vault.example.org",
                "caSecret": "vault-ca",
                "roleID": {"name": "vault", "key": "role"},
                "secretID": {"name": "vault", "key": "secret"},
            },
        }
    ),
    "baremetal": _features(
        networking={"externalNetworks": PUBLIC_NETWORK},
        baremetal={
            "provisioningInterface": "bond3",
            "networks": [
                {"name": "rack", "physicalNetwork": "public", "range": "10.9.0.0/24", "gateway": "10.9.0.1"}
            ],
        },
    ),
    "images-mirror": {
        "images": {
            "registry": "mirror.example.org/openstack",
            "pullSecrets": ["mirror"],
            "pullPolicy": "Always",
            "overrides": {"nova_compute": "mirror.example.org/own/nova:1"},
        }
    },
    "storage-classes": {"storageClass": "standard", "storageClasses": {"database": "fast"}},
    "region-and-domains": {"region": "north", "internalDomainName": "k8s.example.org"},
    "nodes": {
        "nodes": {
            "role::gpu": {
                "services": {
                    "compute": {
                        "nova": {
                            "compute": {
                                "values": {"conf": {"nova": {"DEFAULT": {"cpu_allocation_ratio": 1}}}}
                            }
                        },
                        "libvirt": {"libvirt": {"values": {"conf": {"libvirt": {"log_level": "1"}}}}},
                    }
                }
            }
        }
    },
}

# Features that touch the same releases, and where one could undo the other.
PAIRS: Mapping[str, dict[str, Any]] = {
    "ovn-and-floating": _features(networking={**OVN, "floatingNetwork": FLOATING}),
    "ovn-and-nodes": {**_features(networking=OVN), **FEATURES["nodes"]},
    "dvr-and-vlan-tenants": _features(
        networking={
            "externalNetworks": [{"name": "dc", "bridge": "br-dc", "vlanRanges": ["100:199"]}],
            "tenantNetworkTypes": ["vlan", "vxlan"],
            "dvr": True,
        }
    ),
    "ceph-for-all": _features(
        compute={"images": {"backend": "ceph"}},
        blockStorage={"backends": [CEPH_STORE], "backup": {"enabled": True, "driver": "ceph"}},
        image={"backends": [{"name": "rbd", "type": "ceph"}]},
    ),
    "live-migration-over-tls": _features(
        compute={
            "liveMigration": {"interface": "bond2"},
            "libvirtTLS": {"enabled": True, "addresses": ["10.1.0.0/29", "10.2.0.7"]},
        }
    ),
    "oidc-over-tls": _features(
        identity={"federation": {"providers": [OIDC]}}, tls={"public": {"enabled": True}}
    ),
    "tls-everywhere": {
        "preset": "core",
        **_features(**GATEWAY, tls={"public": {"enabled": True, "issuer": "acme"}, "internal": INTERNAL_TLS}),
    },
    "gateway-and-internal-tls": {"preset": "core", **_features(**GATEWAY, tls={"internal": INTERNAL_TLS})},
    "brokers-and-internal-tls": {
        "preset": "core",
        **_features(messaging={"dedicatedBrokers": ["compute"]}, tls={"internal": INTERNAL_TLS}),
    },
    "ovn-and-internal-tls": {"preset": "core", **_features(networking=OVN, tls={"internal": INTERNAL_TLS})},
    "own-tls-of-servers-and-brokers": {
        "preset": "core",
        **_features(
            services={"enabled": ["block-storage", "orchestration", "dashboard"]},
            messaging={"dedicatedBrokers": ["compute"]},
            tls={"internal": {"enabled": True, "traffic": ["database", "messaging", "endpoints"]}},
        ),
    },
    "own-tls-of-servers-only": {
        "preset": "compute",
        **brought("shared-file-system"),
        **_features(
            services={"enabled": ["block-storage", "shared-file-system", "key-manager"]},
            tls={"internal": {"enabled": True, "traffic": ["database", "messaging"]}},
        ),
    },
    "gateway-and-own-tls": {"preset": "core", **_features(**GATEWAY, tls={"internal": {"enabled": True}})},
    "libvirt-tls-and-own-tls": {
        "preset": "core",
        **_features(compute={"libvirtTLS": {"enabled": True}}, tls={"internal": {"enabled": True}}),
    },
    "mirror-and-internal-tls": {
        "preset": "core",
        "images": {"registry": "mirror.example.org/openstack"},
        **_features(tls={"internal": INTERNAL_TLS}),
    },
    "metering-and-gateway": brought("metering")
    | _features(services={"enabled": ["gateway", "metering"]}, gateway=GATEWAY["gateway"]),
    "console-spice-and-gateway": _features(**GATEWAY, compute={"console": {"type": "spice"}}),
    "brokers-and-network-policies": _features(
        messaging={"dedicatedBrokers": ["compute"]},
        networkPolicies={
            "enabled": True,
            "nodeNetworks": ["10.0.0.0/16"],
            "controllerNamespace": "controllers",
            "monitoring": [{"namespace": "monitoring", "podLabels": {"app": "prometheus"}}],
        },
    ),
    "notifications-and-audit": _features(
        messaging={"notifications": {"enabled": True}}, audit={"enabled": True}
    ),
    "mirror-and-override-in-services": {
        **FEATURES["images-mirror"],
        "services": {
            "compute": {"nova": {"values": {"images": {"tags": {"nova_api": "own.example.org/nova:2"}}}}}
        },
    },
}

# Features that the charts shipped with the controller refuse with preset core, and those that they serve.
UPSTREAM_ONLY = frozenset(
    (
        "ceph-exchange-everywhere",
        "compute-console-spice",
        "compute-libvirt-tls",
        "database-backup",
        "database-exporter",
        "database-cleanup",
        "fields-of-identity",
        "fields-of-operations",
        "identity-oidc",
        "identity-oidc-and-ldap",
        "identity-oidc-directives",
        "identity-two-providers",
        "images-two-stores",
        "load-balancer-made-network",
        "load-balancer-ovn",
        "load-balancer-own-certificates",
        "metering",
        "metering-sent-on",
        "networking-extensions",
        "networking-ovn",
        "networking-ovn-dvr-dns",
        "notifications",
        "tls-internal",
        "tls-internal-database",
        "tls-internal-own",
    )
)
EMBEDDED = sorted(set(FEATURES) - UPSTREAM_ONLY)
