"""What a spec refers to, found in OpenStack: each exactly once."""

from __future__ import annotations

from controller.domain.api.reasons import Reason
from controller.domain.servers.server_conditions import Finding
from controller.domain.servers.server_spec import PortSpec, Reference, ServerSpec
from controller.domain.servers.server_status import Resolved, ResolvedPort
from controller.errors import ControllerError
from controller.ports.servers import Catalog, ServerCloud


class DependencyMissing(ControllerError):
    """Something that is referred to is not there, or there more than once. `finding` says what."""

    def __init__(self, text: str, reason: Reason = Reason.DEPENDENCY_FAILED) -> None:
        super().__init__(text)
        self.finding = Finding("False", reason, text)


def resolve(spec: ServerSpec, digest: str, cloud: ServerCloud) -> Resolved:
    """The ids of all that is referred to. Raises DependencyMissing, CloudUnavailable, CloudRefused."""
    known: dict[tuple[Catalog, str, str], str] = {}

    def one(catalog: Catalog, reference: Reference, network: str = "") -> str:
        key = (catalog, str(reference), network)
        if key not in known:
            known[key] = _only(catalog, reference, cloud.find(catalog, reference, network=network))
        return known[key]

    def network_of(given: PortSpec) -> str:
        if given.network is not None:
            return one(Catalog.NETWORK, given.network)
        subnet = next(fixed.subnet for fixed in given.fixed_ips if fixed.subnet)
        network = cloud.network_of(one(Catalog.SUBNET, subnet))
        return _only(Catalog.SUBNET, subnet, (network,) if network else ())

    def port(given: PortSpec) -> ResolvedPort:
        network = network_of(given)
        groups = spec.security_groups if given.security_groups is None else given.security_groups
        return ResolvedPort(
            network=network,
            subnets=tuple(
                one(Catalog.SUBNET, fixed.subnet, network) if fixed.subnet else ""
                for fixed in given.fixed_ips
            ),
            security_groups=tuple(
                one(Catalog.SECURITY_GROUP, group) for group in groups if given.port_security
            ),
        )

    flavor = Reference(id=spec.flavor_id) if spec.flavor_id else Reference(query={"name": spec.flavor})
    return Resolved(
        digest=digest,
        image=one(Catalog.IMAGE, spec.image),
        flavor=one(Catalog.FLAVOR, flavor),
        ports=tuple(port(given) for given in spec.ports),
        group=one(Catalog.SERVER_GROUP, spec.group) if spec.group else "",
        floating_network=one(Catalog.EXTERNAL_NETWORK, spec.floating_ip.network) if spec.floating_ip else "",
    )


def _only(catalog: Catalog, reference: Reference, found: tuple[str, ...]) -> str:
    if len(found) != 1:
        what = "nothing" if not found else f"{len(found)} of them"
        raise DependencyMissing(f"{catalog} with {reference}: {what} found, but exactly one is needed")
    return found[0]
