"""Rules in CEL of the resource definition OpenStackDeployment: the API server evaluates them too.

The expressions stand in the definition (charts/openstack-controller/files/crds/).
"""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import cel_rule

CEL_RULES = (
    cel_rule(
        "name-length",
        "metadata.name",
        "the name must have at most 63 characters, because it is put into labels",
    ),
    cel_rule(
        "provisioned-once",
        "status.initialization.provisioned",
        "a region that was provisioned stays provisioned",
    ),
    cel_rule(
        "region-changed", "spec.region", "the region's name is part of every endpoint and cannot be changed"
    ),
    cel_rule("charts-path-and-repository", "spec.charts", "path and repository exclude each other"),
    cel_rule(
        "chart-secrets-without-repository", "spec.charts", "credentialsSecret and caSecret need a repository"
    ),
    cel_rule(
        "service-in-both-lists", "spec.features.services", "a service cannot be enabled and disabled at once"
    ),
    cel_rule(
        "floating-network-unknown",
        "spec.features.networking.floatingNetwork.physicalNetwork",
        "physicalNetwork must be the name of one of externalNetworks",
    ),
    cel_rule(
        "floating-network-incomplete",
        "spec.features.networking.floatingNetwork",
        "an enabled floating network needs physicalNetwork and subnet",
    ),
    cel_rule(
        "subnet-range-form",
        "spec.features.networking.floatingNetwork.subnet.range",
        "must be a network in CIDR form, such as 203.0.113.0/24",
    ),
    cel_rule(
        "subnet-gateway-form",
        "spec.features.networking.floatingNetwork.subnet.gateway",
        "must be an IP address",
    ),
    cel_rule(
        "subnet-pool-start-form",
        "spec.features.networking.floatingNetwork.subnet.poolStart",
        "must be an IP address",
    ),
    cel_rule(
        "subnet-pool-end-form",
        "spec.features.networking.floatingNetwork.subnet.poolEnd",
        "must be an IP address",
    ),
    cel_rule("dns-server-form", "spec.features.networking.dnsServers[*]", "must be an IP address"),
    cel_rule("ceph-images-backend", "spec.features.compute.images.ceph", "ceph needs backend ceph"),
    cel_rule("lvm-images-backend", "spec.features.compute.images.lvm", "lvm needs backend lvm"),
    cel_rule(
        "volume-default-unknown",
        "spec.features.blockStorage.defaultBackend",
        "defaultBackend must be the name of one of backends",
    ),
    cel_rule("ceph-store-type", "spec.features.blockStorage.backends[*].ceph", "ceph needs type ceph"),
    cel_rule("lvm-store-type", "spec.features.blockStorage.backends[*].lvm", "lvm needs type lvm"),
    cel_rule(
        "nfs-store-type",
        "spec.features.blockStorage.backends[*].nfs",
        "type nfs needs the field nfs, and the field nfs needs type nfs",
    ),
    cel_rule(
        "custom-store-conf",
        "spec.features.blockStorage.backends[*].conf",
        "type custom needs conf with volume_driver and the driver's options",
    ),
    cel_rule(
        "backup-driver-required", "spec.features.blockStorage.backup.driver", "enabled backups need a driver"
    ),
    cel_rule(
        "backup-share-required", "spec.features.blockStorage.backup.share", "driver nfs needs the field share"
    ),
    cel_rule(
        "backup-destination",
        "spec.features.backup.destination",
        "set either claim or s3",
    ),
    cel_rule(
        "image-default-unknown",
        "spec.features.image.defaultBackend",
        "defaultBackend must be the name of one of backends",
    ),
    cel_rule("image-store-size", "spec.features.image.backends[*].size", "size needs type pvc"),
    cel_rule("image-store-pool", "spec.features.image.backends[*].pool", "pool needs type ceph"),
    cel_rule(
        "ceph-source-and-namespace", "spec.features.ceph.source", "set both source and namespace, or neither"
    ),
    cel_rule(
        "ceph-secret-source", "spec.features.ceph.secretName", "secretName is allowed only with source Secret"
    ),
    cel_rule(
        "ceph-request-source", "spec.features.ceph.request", "request Rook is allowed only with source Rook"
    ),
    cel_rule(
        "public-secret-and-issuer", "spec.features.tls.public", "secretName and issuer exclude each other"
    ),
    cel_rule(
        "authority-secret-and-issuer",
        "spec.features.tls.internal",
        "authoritySecret and issuer exclude each other",
    ),
    cel_rule(
        "authority-without-issuer-or-double",
        "spec.features.tls.internal",
        "caSecret needs an issuer, and excludes authoritySecret",
    ),
    cel_rule("gateway-address-form", "spec.features.gateway.address", "must be an IP address"),
    cel_rule("database-address-form", "spec.features.database.external.address", "must be an IP address"),
    cel_rule(
        "messaging-address-form", "spec.features.messaging.external.addresses[*]", "must be an IP address"
    ),
    cel_rule(
        "management-network-form",
        "spec.features.loadBalancer.managementNetwork",
        "must be a network in CIDR form, such as 203.0.113.0/24",
    ),
    cel_rule(
        "key-manager-vault",
        "spec.features.keyManager.vault",
        "backend vault needs the field vault, and the field vault needs backend vault",
    ),
    cel_rule(
        "baremetal-range-form",
        "spec.features.baremetal.networks[*].range",
        "must be a network in CIDR form, such as 203.0.113.0/24",
    ),
    cel_rule(
        "baremetal-gateway-form", "spec.features.baremetal.networks[*].gateway", "must be an IP address"
    ),
    cel_rule(
        "baremetal-pool-start-form", "spec.features.baremetal.networks[*].poolStart", "must be an IP address"
    ),
    cel_rule(
        "baremetal-pool-end-form", "spec.features.baremetal.networks[*].poolEnd", "must be an IP address"
    ),
    cel_rule(
        "upgrade-batch-form",
        "spec.upgrade.computes.batch",
        'must be a number of nodes from 1 to 5000, or a percentage from "1%" to "100%"',
    ),
    cel_rule(
        "max-unhealthy-form",
        "spec.features.nodes.maxUnhealthy",
        'must be a number from 1 to 5000, or a percentage from "1%" to "100%", such as "20%"',
    ),
    cel_rule(
        "node-label-form",
        "spec.nodes",
        "each key must be a node label and its value, written <label>::<value>",
    ),
)
