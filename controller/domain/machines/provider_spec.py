"""The provider spec of a machine as the spec of an OpenStackMachine of Cluster API's OpenStack provider.

Sources: OpenstackProviderSpec (openshift/api, machine/v1alpha1) and its use in the machine API's OpenStack
provider; OpenStackMachineSpec (cluster-api-provider-openstack, api/v1beta1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from controller.domain.machines.fields import Fields, filled, unique
from controller.domain.machines.neutron import security_group_param
from controller.domain.machines.ports import port_of_port, ports_of_network

KIND = "OpenstackProviderSpec"
#: The second is the group in older clusters; both mean the same.
API_VERSIONS = ("machine.openshift.io/v1alpha1", "openstackproviderconfig.openshift.io/v1alpha1")
LOCAL, VOLUME = "Local", "Volume"
FROM_MACHINE = "Machine"


@dataclass(frozen=True)
class Cluster:
    """The target of machines: the Cluster of Cluster API, and the namespace of it and of the mirrors.

    `virtual_addresses` are those of the cluster's own load balancer, which ports of its machines may use.
    """

    name: str
    namespace: str
    virtual_addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProviderParts:
    """The result for a provider spec, apart from the fields of the Machine itself.

    `port_counts` is the number of ports of each entry of `networks`, for the conversion back.
    """

    spec: dict[str, Any]
    failure_domain: str
    bootstrap_secret: str
    port_counts: tuple[int, ...]


def convert_provider_spec(given: Fields, cluster: Cluster, source_namespace: str) -> ProviderParts:
    """The parts of the mirror from `providerSpec.value`; mistakes go into the findings."""
    _kind(given)
    identity = _identity(given, cluster, source_namespace)
    root, image = _root_volume_and_image(given)
    by_network = [ports_of_network(network, cluster.virtual_addresses) for network in given.each("networks")]
    _virtual_addresses(given, cluster)
    ports = [port for made in by_network for port in made]
    ports += [port_of_port(port) for port in given.each("ports")]
    if not ports:
        message = "names no network; Cluster API connects such a machine to the network of the cluster"
        given.warn("networks", message, "name the networks")
    spec = filled(
        flavor=given.text("flavor", required="the flavor of the servers"),
        image={"filter": {"name": image}} if image else None,
        sshKeyName=given.text("keyName"),
        identityRef=identity,
        ports=ports,
        securityGroups=[security_group_param(group) for group in given.each("securityGroups")],
        trunk=given.flag("trunk") or None,
        tags=unique(given.texts("tags")),
        serverMetadata=list(_server_metadata(given)),
        configDrive=given.flag("configDrive"),
        rootVolume=root,
        additionalBlockDevices=_block_devices(given),
        serverGroup=_server_group(given),
    )
    parts = ProviderParts(
        spec=spec,
        failure_domain=given.text("availabilityZone", most=256),
        bootstrap_secret=_bootstrap_secret(given, cluster, source_namespace),
        port_counts=tuple(len(made) for made in by_network),
    )
    _left_out(given)
    given.finish()
    return parts


def _kind(given: Fields) -> None:
    kind, version = given.text("kind"), given.text("apiVersion")
    if kind and kind != KIND:
        given.refuse("kind", "is not a machine on OpenStack", f"this converts {KIND}")
    if version and version not in API_VERSIONS:
        given.refuse("apiVersion", "is not a known version", f"known is {API_VERSIONS[0]}")


def _left_out(given: Fields) -> None:
    given.ignored("sshUserName", "primarySubnet")
    given.refused(
        "floatingIP",
        "cannot be converted: machines of a set cannot share one address",
        "remove it",
    )
    metadata = given.below("metadata")
    metadata.ignored("name", "namespace", "labels", "annotations", "creationTimestamp")
    metadata.finish()


def _identity(given: Fields, cluster: Cluster, source_namespace: str) -> dict[str, Any]:
    secret = given.below("cloudsSecret")
    name = secret.text("name", required="the Secret with clouds.yaml")
    _in_namespace(secret, "clouds.yaml under the key clouds.yaml", cluster, source_namespace)
    cloud = given.text("cloudName", required="the cloud in clouds.yaml")
    return filled(type="Secret", name=name, cloudName=cloud)


def _bootstrap_secret(given: Fields, cluster: Cluster, source_namespace: str) -> str:
    secret = given.below("userDataSecret")
    name = secret.text("name")
    if not name:
        message = "is missing: Cluster API does not start machines without user data"
        given.refuse("userDataSecret", message, "name the Secret with the user data")
    else:
        _in_namespace(secret, "the user data under the key value", cluster, source_namespace)
    secret.finish()
    return name


def _in_namespace(secret: Fields, holds: str, cluster: Cluster, source_namespace: str) -> None:
    """Cluster API reads Secrets of its own namespace only."""
    namespace = secret.text("namespace") or source_namespace
    if secret.text("name") and namespace != cluster.namespace:
        message = f"Cluster API reads it in namespace {cluster.namespace}"
        secret.warn("name", message, f"put a Secret of this name there, with {holds}")
    secret.finish()


def _root_volume_and_image(given: Fields) -> tuple[dict[str, Any] | None, str]:
    """The root volume, and the image of the server or of that volume.

    The machine API boots a volume from the image that `sourceUUID` names, which is a name, despite its own
    name; installers wrote it only there.
    """
    image = given.text("image")
    if not given.has("rootVolume"):
        if not image:
            given.refuse("image", "is missing: the name of the image of the servers")
        return None, image
    root = given.below("rootVolume")
    source = root.text("sourceUUID")
    if source and image and source != image:
        given.warn("image", "is not converted: sourceUUID of the root volume has precedence over it")
    if not source and not image:
        root.refuse("sourceUUID", "is missing: the name of the image for the volume")
    size = root.whole("diskSize", least=1)
    if size is None and not root.has("diskSize"):
        root.refuse("diskSize", "is missing: the size of the volume in GiB")
    root.ignored("sourceType", "deviceType")
    found = filled(sizeGiB=size, type=root.text("volumeType"), availabilityZone=_volume_zone(root))
    root.finish()
    return found, source or image


def _volume_zone(given: Fields) -> dict[str, str]:
    """Without one the machine API uses the zone of the machine; Cluster API does so on request."""
    zone = given.text("availabilityZone")
    if " " in zone:
        message = "has a space, which Cluster API does not accept in the zone of a volume"
        given.refuse("availabilityZone", message, "rename the zone in Cinder")
    return {"from": "Name", "name": zone} if zone else {"from": FROM_MACHINE}


def _block_devices(given: Fields) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    names: set[str] = set()
    for device in given.each("additionalBlockDevices"):
        name = device.text("name", required="the name of the device")
        if name == "root":
            device.refuse("name", "is the name of the root volume", "choose another name")
        if name and name in names:
            device.refuse("name", "is the name of another device of this machine", "choose another name")
        names.add(name)
        size = device.whole("sizeGiB", least=1)
        if size is None and not device.has("sizeGiB"):
            device.refuse("sizeGiB", "is missing: the size of the device in GiB")
        storage = device.below("storage")
        found.append({"name": name, "sizeGiB": size, "storage": _storage(storage)})
        device.finish()
    return found


def _storage(storage: Fields) -> dict[str, Any]:
    kind = storage.text("type")
    if kind not in (LOCAL, VOLUME):
        storage.refuse("type", f"must be {LOCAL} or {VOLUME}")
    volume = storage.below("volume")
    made = filled(type=volume.text("type"), availabilityZone=_volume_zone(volume))
    volume.finish()
    if kind == LOCAL and storage.has("volume"):
        storage.warn("volume", f"is not converted: a {LOCAL} device has no volume")
    storage.finish()
    return {"type": kind, **({"volume": made} if kind == VOLUME else {})}


def _server_group(given: Fields) -> dict[str, Any]:
    group, name = given.uuid("serverGroupID"), given.text("serverGroupName")
    if group:
        if name:
            given.warn("serverGroupName", "is not converted: serverGroupID has precedence over it")
        return {"id": group}
    if not name:
        return {}
    message = "must exist: unlike the machine API, Cluster API does not create it"
    given.warn("serverGroupName", message, "create the server group")
    return {"filter": {"name": name}}


def _server_metadata(given: Fields) -> Iterator[dict[str, str]]:
    for key, value in given.text_map("serverMetadata").items():
        if len(key) > 255 or len(value) > 255:
            path = (*given.path, "serverMetadata", key[:64])
            given.findings.refuse(path, "key and value may each have 255 characters")
        yield {"key": key, "value": value}


def _virtual_addresses(given: Fields, cluster: Cluster) -> None:
    through = [one for one in given.each("networks") if not one.flag("noAllowedAddressPairs")]
    if through and not cluster.virtual_addresses:
        message = "the machine API allows the cluster's virtual addresses on ports; none is given here"
        given.warn("networks", message, "name them, or set noAllowedAddressPairs if there are none")
