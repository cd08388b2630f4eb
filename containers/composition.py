"""What every container starts with: settings, logs, a connection, a queue and its Lease."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.adapters.http.health_endpoint import EndpointUnavailable
from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import Connection, connect
from controller.adapters.kubernetes.events import KubeEvents
from controller.adapters.kubernetes.watches import Key, Watch
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.core_dumps import forbid_core_dumps
from controller.adapters.system.lease_process import split_off_work
from controller.adapters.system.logs import LogSecrets, configure_logs, set_level
from controller.adapters.system.metrics import PrometheusMetrics
from controller.adapters.system.randomness import SystemRandomness
from controller.errors import ControllerError
from controller.operator import Container, exit_container, run_container
from controller.ports.kubernetes import OSDPL, Events, Kube
from controller.ports.system import Clock, Randomness
from controller.reconcile.region.older_controller import OlderController
from controller.reconcile.shared.leases.board import LeaseBoard
from controller.reconcile.shared.leases.lease import LeaseTimes, WriterLease, lease_holder, lease_name
from controller.reconcile.shared.status_metrics import named_region
from controller.reconcile.shared.work_queue import WorkQueue
from controller.settings import Settings, read_settings

log = logging.getLogger(__name__)

# EX_CONFIG of sysexits.h.
UNUSABLE = 78


@dataclass(frozen=True)
class Parts:
    """The shared parts of a container, ready to be wired."""

    settings: Settings
    connection: Connection
    kube: Kube
    clock: Clock
    randomness: Randomness
    events: Events
    log_secrets: LogSecrets
    metrics: PrometheusMetrics
    queue: WorkQueue[Key]


def ensure_home() -> None:
    """Sets a home directory if there is none, because openstacksdk cannot be imported without one."""
    if not os.environ.get("HOME"):
        os.environ["HOME"] = tempfile.gettempdir()


def run(name: str, compose: Callable[[Parts], Container]) -> None:
    """Starts a container and does not return: the process ends with its exit code.

    If the installation needs an edit (a setting, a broken file in the image, no API server in the
    kubeconfig), it ends with one clear line and code 78.
    """
    forbid_core_dumps()
    log_secrets = configure_logs(name)
    ensure_home()
    try:
        settings = read_settings()
        set_level(settings.log_level)
        connection = connect()
        clock, randomness = SystemClock(), SystemRandomness()
        # The rest runs in the working process only.
        lease = _split(name, settings, connection, clock)
        kube = PykubeClient(connection, user_agent=f"openstack-controller/{name}")
        parts = Parts(
            settings=settings,
            connection=connection,
            kube=kube,
            clock=clock,
            randomness=randomness,
            events=KubeEvents(kube, clock, component=name, instance=settings.pod_name),
            log_secrets=log_secrets,
            metrics=PrometheusMetrics(name, region_namespace=settings.region_namespace),
            queue=WorkQueue(clock, randomness),
        )
        container = naming_its_region(held_while_older(compose(parts), parts), parts.metrics)
    except ControllerError as error:
        log.critical("%s", error, extra={"object": name, "reason": type(error).__name__})
        exit_container(UNUSABLE)
    try:
        code = run_container(
            container,
            settings=settings,
            connection=connection,
            lease=lease,
            measures=parts.metrics,
            clock=clock,
        )
    except EndpointUnavailable as error:
        log.critical("%s", error, extra={"object": name, "reason": type(error).__name__})
        code = UNUSABLE
    exit_container(code)


def held_while_older(container: Container, parts: Parts) -> Container:
    """The container, which does nothing in a region that a newer controller has served.

    The pass of core over the region itself decides this alone, because it reports it.
    """
    settings = parts.settings
    named = named_region(parts.metrics.name_region)
    gate = OlderController(
        parts.kube, settings.region_namespace, settings.version, found=lambda osdpl: named(None, osdpl)
    )
    passes = {
        kind: one if (container.name, kind) == ("core", "region") else gate.hold(one)
        for kind, one in container.reconcilers.items()
    }
    return replace(container, reconcilers=passes)


def naming_its_region(container: Container, metrics: PrometheusMetrics) -> Container:
    """The container, whose measures have the name of the region that its watch shows.

    A container without a watch of regions knows the name from its first pass.
    """
    named = named_region(metrics.name_region)

    def both(watch: Watch) -> Watch:
        def seen(event: str | None, obj: Mapping[str, Any]) -> None:
            named(event, obj)
            if watch.seen is not None:
                watch.seen(event, obj)

        return replace(watch, seen=seen) if watch.resource == OSDPL else watch

    return replace(container, watches=tuple(map(both, container.watches)))


def _split(name: str, settings: Settings, connection: Connection, clock: Clock) -> LeaseBoard:
    times = LeaseTimes(settings.lease_duration)

    def make_lease() -> WriterLease:
        return WriterLease(
            PykubeClient(
                connection,
                user_agent=f"openstack-controller/{name}",
                read_timeout=times.answer_within,
                retries_within=0,
            ),
            clock,
            name=lease_name(name),
            namespace=settings.region_namespace,
            holder=lease_holder(settings.pod_namespace, settings.pod_name),
            times=times,
        )

    return split_off_work(name, make_lease, clock, times)
