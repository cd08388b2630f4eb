"""secrets: generates and keeps the credentials that the region needs to start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from containers.composition import Parts, run
from containers.keys import owner_key, region_key
from containers.region_events import RegionEvents
from controller.adapters.accounts.servers import RealAccountServers
from controller.adapters.helm.records.release_records import SecretRecords
from controller.adapters.kubernetes.watches import Watch
from controller.adapters.system.crd_files import load_schema
from controller.adapters.system.values_files import load_library
from controller.domain.region.required_certificates import region_certificates
from controller.domain.region.required_credentials import region_ceph, region_credentials, region_services
from controller.operator import Container
from controller.ports.kubernetes import HELMBUNDLE, OSDPL
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.credentials.region_pass import RegionNeeds, SecretsPorts
from controller.reconcile.credentials.secrets import SecretsReconciler
from controller.reconcile.credentials.step_list import credential_steps
from controller.reconcile.shared.installation_key import InstallationKey, KeptInstallationKey
from controller.reconcile.shared.status_metrics import measured_region, secret_series
from controller.render.parsed_deployment import ParsedDeployment


def main() -> None:
    """Entry point of the `osctl-secrets` command."""
    run("secrets", compose)


def compose(parts: Parts) -> Container:
    """Wires the reconciler of credentials to the API server and to the catalogue of the image."""
    settings = parts.settings
    parsed = ParsedDeployment(load_schema(settings.crds_dir, OSDPL.plural))
    library = load_library(settings.values_dir)

    def needs_of(osdpl: Mapping[str, Any]) -> RegionNeeds:
        spec = parsed.of(osdpl).spec
        namespace = str(osdpl["metadata"]["namespace"])
        services = region_services(spec, library)
        return RegionNeeds(
            region_credentials(spec, services),
            region_certificates(spec, namespace, services),
            region_ceph(spec, services, library),
        )

    servers = RealAccountServers()
    key = InstallationKey(parts.kube, parts.randomness, settings.region_namespace)
    ports = SecretsPorts(
        kube=parts.kube,
        clock=parts.clock,
        randomness=parts.randomness,
        events=parts.events,
        records=SecretRecords(parts.kube),
        digest_key=KeptInstallationKey(key, parts.clock).read,
        option_files=library.catalogue.option_files,
    )
    sealing = SealingKey(parts.kube, parts.randomness, settings.pod_namespace, settings.region_namespace)
    steps = credential_steps(ports, accounts=servers, wrapped=servers, readers=servers, sealing=sealing)
    reconciler = SecretsReconciler(ports, needs_of, steps, resync=settings.resync)
    measure = measured_region(parts.metrics, secret_series)
    regions = RegionEvents(parts.queue, region_key)

    def region_seen(event: str | None, obj: Mapping[str, Any]) -> None:
        measure(event, obj)
        regions.seen(event, obj)

    return Container(
        name="secrets",
        # The removal of a Secret may wait for the deletion of a bundle.
        watches=(
            Watch(OSDPL, seen=region_seen),
            Watch(HELMBUNDLE, seen=RegionEvents(parts.queue, owner_key).seen),
        ),
        reconcilers={"region": lambda namespace, name: reconciler.reconcile((namespace, name))},
        queue=parts.queue,
        workers=1,
    )


if __name__ == "__main__":
    main()
