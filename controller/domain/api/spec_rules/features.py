"""Rules about features that a resource definition cannot say."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

VLAN_RANGE_ORDER = refusal(
    "vlan-range-order",
    "spec.features.networking.externalNetworks[*].vlanRanges[*]",
    "must be two VLANs from 1 to 4094, in ascending order",
)
VLAN_RANGE_OVERLAP = refusal(
    "vlan-range-overlap",
    "spec.features.networking.externalNetworks[*].vlanRanges[*]",
    "overlaps with {shared}",
    "put each VLAN into one range only",
)
TUNNEL_INTERFACE_IN_BRIDGE = refusal(
    "tunnel-interface-in-bridge",
    "spec.features.networking.tunnelInterface",
    '{interface} is in the bridge of network "{network}", and the bridge takes over its address',
    "give tunnels a separate interface, such as a VLAN of it ({interface}.100)",
)
BRIDGE_RESERVED = refusal(
    "bridge-reserved",
    "spec.features.networking.externalNetworks[*].bridge",
    "{bridge} is reserved for neutron",
    "name a separate bridge, such as br-ex",
)
INTERFACE_IN_TWO_BRIDGES = refusal(
    "interface-in-two-bridges",
    "spec.features.networking.externalNetworks[*].interface",
    '{interface} is already in the bridge of network "{holder}"',
    "give each network a separate interface, or use VLANs of one network",
)
SEGMENTATION_ID_REQUIRED = refusal(
    "segmentation-id-required",
    "spec.features.networking.floatingNetwork.segmentationID",
    "required, and not set",
    "networkType is vlan",
)
SEGMENTATION_ID_WITHOUT_VLAN = refusal(
    "segmentation-id-without-vlan",
    "spec.features.networking.floatingNetwork.segmentationID",
    "needs networkType vlan",
)
POOL_ORDER = refusal(
    "pool-order",
    "spec.features.networking.floatingNetwork.subnet.poolEnd",
    "comes before poolStart",
)
ADDRESS_OUTSIDE_SUBNET = refusal(
    "address-outside-subnet",
    "spec.features.networking.floatingNetwork.subnet.*",
    "is not an address in {network}",
)
TOLERATION_VALUE = refusal(
    "toleration-value",
    "spec.features.pods.tolerations[*].value",
    "must be empty when operator is Exists",
    "omit it, or use operator Equal",
)
TOLERATION_OPERATOR = refusal(
    "toleration-operator",
    "spec.features.pods.tolerations[*].operator",
    "must be Exists when no key is given",
    "set it to Exists",
)
TOLERATION_EFFECT = refusal(
    "toleration-effect",
    "spec.features.pods.tolerations[*].effect",
    "must be NoExecute when tolerationSeconds is set",
)
TOO_MANY_HYPERVISOR_ADDRESSES = refusal(
    "too-many-hypervisor-addresses",
    "spec.features.compute.libvirtTLS.addresses",
    "has {total} addresses, and one certificate can hold {most_addresses}",
    "use smaller networks, or addresses",
)
HYPERVISOR_NETWORK_TOO_LARGE = refusal(
    "hypervisor-network-too-large",
    "spec.features.compute.libvirtTLS.addresses[*]",
    "is a network of more than 1024 addresses",
    "use smaller networks, or addresses",
)
HYPERVISOR_ADDRESS_MALFORMED = refusal(
    "hypervisor-address-malformed",
    "spec.features.compute.libvirtTLS.addresses[*]",
    "is neither an address nor a network",
    "write it as 10.1.0.7 or 10.1.0.0/24",
)
NODE_NETWORK_MALFORMED = refusal(
    "node-network-malformed",
    "spec.features.networkPolicies.nodeNetworks[*]",
    "is no network",
    "write it as 10.0.0.0/16, without host bits",
)
LOAD_BALANCER_OVN = refusal(
    "load-balancer-ovn",
    "spec.features.loadBalancer.provider",
    "ovn needs networking backend ml2/ovn",
    "set spec.features.networking.backend to ml2/ovn, or provider to amphora",
)
BAREMETAL_NETWORK_UNKNOWN = refusal(
    "baremetal-network-unknown",
    "spec.features.baremetal.networks[*].physicalNetwork",
    "must be the name of one of spec.features.networking.externalNetworks",
    "known: {known}",
)
BACKUP_SHARE_WITHOUT_NFS = refusal(
    "backup-share-without-nfs",
    "spec.features.blockStorage.backup.share",
    "needs driver nfs",
)
CEPH_SHARES_WITHOUT_EXCHANGE = refusal(
    "ceph-shares-without-exchange",
    "spec.features.ceph.shares.filesystem",
    "needs an exchange",
    "set ceph.source",
)
CEPH_ADMINISTRATOR = refusal(
    "ceph-administrator",
    "spec.features.blockStorage.backends[*].ceph.user",
    "is Ceph's administrator, and the key of the administrator must not be in a pod",
    "name another",
)
CEPH_NAME_MALFORMED = refusal(
    "ceph-name-malformed",
    "spec.features.blockStorage.backends[*].ceph.*",
    "may have only letters, digits, - _ and .",
    "name another",
)
CEPH_USERS_DIFFER = refusal(
    "ceph-users-differ",
    "spec.features.blockStorage.backends[*].ceph.user",
    "all stores of a region share one user, and another store has {user}",
    "a client may use several pools: give all stores the same user",
)
VLAN_TENANTS_WITHOUT_RANGES = refusal(
    "vlan-tenants-without-ranges",
    "spec.features.networking.tenantNetworkTypes[*]",
    "networkType vlan needs an external network with VLANs",
    "give vlanRanges to one of spec.features.networking.externalNetworks",
)
NETWORK_WITHOUT_VLANS = refusal(
    "network-without-vlans",
    "spec.features.networking.floatingNetwork.networkType",
    'network "{physical}" has no VLANs',
    "set {ranges}, or use networkType flat",
)
NETWORK_WITH_VLANS = refusal(
    "network-with-vlans",
    "spec.features.networking.floatingNetwork.networkType",
    'network "{physical}" has VLANs, so it cannot be flat',
    "give its VLAN, or remove {ranges}",
)
SECOND_IMAGE_VOLUME = refusal(
    "second-image-volume",
    "spec.features.image.backends[*].type",
    "the glance chart claims only one volume, and an earlier store has type pvc",
    "keep one of them",
)
DOMAIN_OF_KEYSTONE = refusal(
    "domain-of-keystone",
    "spec.features.identity.ldap.domains[*].name",
    'domain "{name}" contains Keystone\'s own accounts',
    "give the domain another name, because those accounts could no longer sign in",
)
DOMAIN_TWICE = refusal(
    "domain-twice",
    "spec.features.identity.ldap.domains[*].name",
    ('Keystone treats it as domain "{name}", because domain names are not case-sensitive'),
    "give the domain another name",
)
ROTATION_WINDOW_LENGTH = refusal(
    "rotation-window-length",
    "spec.features.credentialRotation.window.duration",
    "is {length}, but must be from 10m to 24h",
    "write it as 4h or 90m",
)
SECRET_RESERVED = refusal(
    "secret-reserved",
    "spec.features.tls.*.*",
    'Secret "{name}" is {purpose}',
    "name one of your own Secrets",
)
PATCH_IN_FEATURES = refusal(
    "patch-in-features",
    "spec.features.*.$patch",
    "$patch is only possible in values under spec.common and spec.services",
    "omit the field instead",
)
STORE_OPTION_LACKING = warning(
    "store-option-lacking",
    "spec.features.blockStorage.backends[*].conf",
    "{store}{of_driver} does not work without {lacking}",
    "{remedy}",
)
NETWORK_ON_NO_NODE = warning(
    "network-on-no-node",
    "spec.features.networking.externalNetworks",
    "no node has a bridge for {nowhere}, so servers and routers cannot reach it",
    "map it to its bridge in {key}, for all nodes or for some (docs/networks.md)",
)
NETWORK_ON_NO_CONTROL_NODE = warning(
    "network-on-no-control-node",
    "spec.features.networking.externalNetworks",
    "no node has the bridges of all of {names}, although each of these networks has agents on control nodes",
    (
        "give control nodes a label with all bridges, because they serve addresses and routers "
        "(docs/networks.md)"
    ),
)
NETWORK_NOT_ON_NODES = warning(
    "network-not-on-nodes",
    "spec.features.networking.externalNetworks",
    "nodes {nodes} have no bridge for {lost}, because the mapping of these nodes replaces the "
    "mapping of all nodes",
    "add {lost} in spec.nodes to the mapping of these nodes, or take it out of {key} (docs/networks.md)",
)
NETWORK_WITHOUT_UPLINK = warning(
    "network-without-uplink",
    "spec.features.networking.externalNetworks",
    (
        "only nodes {nodes} have an interface in {bridge}, but all nodes offer {name}: "
        "the others lose its packets"
    ),
    "take {name} out of {key}, and name it in spec.nodes for these nodes (docs/networks.md)",
)
NETWORK_MAPPED_UNKNOWN = warning(
    "network-mapped-unknown",
    "spec.features.networking.externalNetworks",
    'nodes map the physical network "{name}", which the region does not have',
    "{suggestion}",
)
DRIVER_NEEDS_HOST_DEVICES = warning(
    "driver-needs-host-devices",
    "spec.features.blockStorage.backends[*]",
    "the driver creates devices on the host, which pods of {blind} cannot see",
    "remove conf.enable_iscsi from the values of those charts",
)
IMAGE_LACKS_PACKAGE = warning(
    "image-lacks-package",
    "spec.features.blockStorage.backends[*]",
    "OpenStack-Helm's image of {tags} {lacks}",
    "build one with it, and name it in spec.images.overrides ({listed})",
)
ROTATION_WINDOW_MALFORMED = refusal(
    "rotation-window-malformed",
    "spec.features.credentialRotation.window.duration",
    "{fault}",
    "write it as 4h or 90m",
)
SCHEDULE_MALFORMED = refusal(
    "schedule-malformed",
    "spec.features.database.*.schedule",
    "{fault}",
    "write minute, hour, day of the month, month, day of the week, as 0 1 * * *",
)
BACKUP_SCHEDULE_MALFORMED = refusal(
    "backup-schedule-malformed",
    "spec.features.backup.*",
    "{fault}",
    "write minute, hour, day of the month, month, day of the week, as 0 2 * * *",
)
BACKUP_KEEPS_NOTHING = refusal(
    "backup-keeps-nothing",
    "spec.features.backup.keep",
    "no backup would be kept",
    "set last, daily or weekly to 1 or more",
)
BACKUP_SECRET_RESERVED = refusal(
    "backup-secret-reserved",
    "spec.features.backup.*",
    'Secret "{name}" is {purpose}',
    "name one of your own Secrets",
)
BACKUP_AUTHORITY_UNUSED = refusal(
    "backup-authority-unused",
    "spec.features.backup.destination.s3.ca",
    "works only with an https endpoint, but this endpoint has http",
    "write the endpoint with https, or remove ca",
)
REGION_BACKUP_OF_EXTERNAL_DATABASE = refusal(
    "region-backup-of-external-database",
    "spec.features.backup",
    "only a database of the region itself can be backed up",
    "back up your database by its own tools, and the credentials with osctl credentials backup",
)
POLICY_RULE_MALFORMED = refusal(
    "policy-rule-malformed",
    "spec.features.policies.*.*",
    "{fault}",
    "write it as role:admin, or as role:member and project_id:%(project_id)s",
)
