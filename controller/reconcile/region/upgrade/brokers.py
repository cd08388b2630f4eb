"""Takes brokers to another version node by node, and looks at the cluster before each node.

Before the first node all stable feature flags are enabled, because a later version may require them, and the
StatefulSet is held: no pod is replaced until its number is let go. After the last node the flags of the new
version are enabled. Every write may be repeated, and depends on what was read in the same pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controller.domain.api.names import RELEASE_NAME
from controller.domain.credentials.rotation.accounts import Release, releases_of
from controller.domain.credentials.rotation.servers import broker_of
from controller.domain.region.allowed_version_steps import BROKER, ImageStep, image_version
from controller.domain.region.upgrade.broker_servers import (
    BrokerPod,
    BrokerServers,
    permits,
    refused_features,
)
from controller.domain.region.upgrade.broker_version_hops import hop_problems
from controller.domain.region.upgrade.next_step import StepFacts
from controller.domain.region.upgrade.upgrade_state import Check, CheckState
from controller.domain.region.upgrade.upgrade_steps import UpgradeStep
from controller.errors import ServerUnavailable
from controller.ports.accounts import ServerLogin
from controller.ports.brokers import BrokerCluster
from controller.ports.kubernetes import POD, STATEFULSET, Kube, KubeObject, KubeObjects
from controller.reconcile.region.parts import RegionPorts
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.secret_values import AccountLogins


class BrokerCare:
    """For one pass. `bundles` have the values by which the brokers are administered."""

    def __init__(self, ports: RegionPorts, osdpl: KubeObject, bundles: KubeObjects) -> None:
        self._ports = ports
        self._namespace = str(osdpl["metadata"]["namespace"])
        self._logins = AccountLogins(ports.kube, self._namespace)
        self._releases = {one.name: one for one in releases_of(bundles)}

    def inspect(self, targets: Mapping[str, str]) -> str:
        """Why a change to these images, by release, cannot begin; writes nothing. Raises KubeError."""
        for servers, _ in self._observe(targets):
            waits = servers.failing or servers.waiting
            try:
                _, cluster = self._ask(servers)
                waits = waits or _trouble(servers, cluster)
                waits = waits or self._refused(servers, cluster, targets[servers.release])
            except ServerUnavailable as error:
                waits = waits or str(error)
            if waits:
                return f"{servers.release}: {waits}"
        return ""

    def prepare(self, targets: Mapping[str, str]) -> str:
        """What a change to these images, by release, waits for; empty once it may begin. Raises KubeError."""
        for servers, obj in self._observe(targets):
            waits = servers.failing or servers.waiting or self._unready(servers, targets[servers.release])
            if waits:
                return f"{servers.release}: {waits}"
            if not servers.by_hand and servers.held < servers.replicas:
                self._hold(obj, servers.replicas)
        return ""

    def roll(self, releases: Sequence[str]) -> StepFacts:
        """Lets the next node of each broker go, and says how far they are. Raises KubeError."""
        waiting = []
        for servers, obj in self._observe(dict.fromkeys(releases, "")):
            if servers.stuck is not None:
                self._delete(servers.stuck)
                waiting.append(f"{servers.stuck.name} is replaced")
            elif servers.failing:
                return StepFacts(failing=f"{servers.failing}: {servers.progress}")
            elif text := servers.waiting or self._next(servers, obj):
                waiting.append(f"{servers.release}: {text}")
        return StepFacts(waiting="; ".join(waiting))

    def _next(self, servers: BrokerServers, obj: KubeObject) -> str:
        """Replaces the next pod if the cluster can do without it; what is waited for, empty at the end."""
        try:
            login, cluster = self._ask(servers)
            if text := _trouble(servers, cluster):
                return text
            pod = servers.next
            if pod is None:
                return self._enable_flags(login, cluster) or self._finish(servers, obj)
            if servers.keeps_quorum and self._ports.brokers.loses_quorum(self._login(servers, pod)):
                return f"queues would lose their quorum without {pod.name}: {servers.progress}"
        except ServerUnavailable as error:
            return str(error)
        if servers.by_hand:
            self._delete(pod)
        else:
            self._hold(obj, pod.number)
        return f"{pod.name} is replaced: {servers.progress}"

    def _finish(self, servers: BrokerServers, obj: KubeObject) -> str:
        if servers.held and not servers.by_hand:
            self._hold(obj, 0)
        return ""

    def _unready(self, servers: BrokerServers, target: str) -> str:
        if servers.next is not None:
            return f"{servers.next.name} is of an earlier template: {servers.progress}"
        try:
            login, cluster = self._ask(servers)
            text = _trouble(servers, cluster) or self._refused(servers, cluster, target)
            return text or self._enable_flags(login, cluster)
        except ServerUnavailable as error:
            return str(error)

    def _refused(self, servers: BrokerServers, cluster: BrokerCluster, target: str) -> str:
        before, after = image_version(servers.version), image_version(target)
        values = self._releases[servers.release].values
        used = [name for name in cluster.used_features if not permits(values, name)]
        if before is None or after is None or not (found := refused_features(used, before, after)):
            return ""
        text = f"{target} does not start with {', '.join(found)}, which clients use"
        return f"{text}: stop their use, or permit it under conf.rabbitmq where that version allows it"

    def _enable_flags(self, login: ServerLogin, cluster: BrokerCluster) -> str:
        """Enables what is not yet; what is waited for."""
        open_ = [flag for flag in cluster.flags if flag.changing or (flag.stable and not flag.enabled)]
        for flag in open_:
            if not flag.changing:
                self._ports.brokers.enable_flag(login, flag.name)
                text = f"feature flag {flag.name} of {login.place.shown}: enabled"
                log_action("enable", self._namespace, text)
        return f"feature flags are enabled: {', '.join(flag.name for flag in open_)}" if open_ else ""

    def _ask(self, servers: BrokerServers) -> tuple[ServerLogin, BrokerCluster]:
        """The cluster, by the first of its pods that answers. Raises ServerUnavailable."""
        problem = ServerUnavailable(f"no pod of {servers.name} has an address")
        for pod in servers.pods:
            try:
                login = self._login(servers, pod)
                return login, self._ports.brokers.cluster(login)
            except ServerUnavailable as error:
                problem = error
        raise problem

    def _login(self, servers: BrokerServers, pod: BrokerPod) -> ServerLogin:
        release = self._releases.get(servers.release, Release(servers.release, BROKER, {}))
        place = broker_of(release, self._namespace)
        if place is None or not pod.address:
            raise ServerUnavailable(f"{pod.name} has no address, or its release no administrator")
        return self._logins.at(replace(place, host=pod.address, certified=place.host))

    def _observe(self, releases: Mapping[str, str]) -> list[tuple[BrokerServers, KubeObject]]:
        found = []
        for obj in self._ports.kube.list(STATEFULSET, self._namespace):
            release = str((obj["metadata"].get("annotations") or {}).get(RELEASE_NAME) or "")
            image = _image(obj)
            if release in releases and image is not None:
                found.append((self._servers(release, image, obj), obj))
        return found

    def _servers(self, release: str, image: str, obj: KubeObject) -> BrokerServers:
        spec, status, meta = obj["spec"], obj.get("status") or {}, obj["metadata"]
        strategy = spec.get("updateStrategy") or {}
        wanted = ((spec.get("selector") or {}).get("matchLabels") or {}).items()
        labels = ",".join(f"{key}={value}" for key, value in sorted(wanted))
        revision, now = str(status.get("updateRevision") or ""), self._ports.clock.now()
        pods = [
            BrokerPod.of(pod, revision, now)
            for pod in self._ports.kube.list(POD, self._namespace, labels=labels)
            if any(owner.get("uid") == meta["uid"] for owner in pod["metadata"].get("ownerReferences") or ())
        ]
        return BrokerServers(
            release=release,
            name=str(meta["name"]),
            replicas=int(spec.get("replicas", 1)),
            held=int((strategy.get("rollingUpdate") or {}).get("partition") or 0),
            version=image,
            pods=tuple(sorted(pods, key=lambda pod: pod.number)),
            by_hand=strategy.get("type") == "OnDelete",
            observed=status.get("observedGeneration", 0) >= meta.get("generation", 1),
        )

    def _hold(self, obj: KubeObject, number: int) -> None:
        hold_pods(self._ports.kube, obj, number)

    def _delete(self, pod: BrokerPod) -> None:
        self._ports.kube.delete(POD, pod.name, self._namespace, uid=pod.uid)
        text = f"pod {pod.name}: deleted, so that its replacement runs the new version"
        log_action("delete", f"{self._namespace}/{pod.name}", text)


def broker_checks(
    care: BrokerCare, osdpl: KubeObject, steps: Sequence[UpgradeStep], images: Iterable[ImageStep]
) -> tuple[Check, ...]:
    """Whether a broker can pass through the versions before the one that is asked for. Raises KubeError."""
    named = ((osdpl.get("spec") or {}).get("images") or {}).get("overrides") or {}
    targets = {one.release: one.after for one in images if one.chart == BROKER}
    found = {
        "broker": care.inspect(targets),
        "broker-images": "; ".join(hop_problems(steps, named)),
    }
    return tuple(
        Check(name, CheckState.FAILED if text else CheckState.PASSED, text) for name, text in found.items()
    )


def let_pods_go(kube: Kube, namespace: str) -> None:
    """Takes back what an upgrade held that ends before its time. Raises KubeError."""
    for obj in kube.list(STATEFULSET, namespace):
        strategy = obj["spec"].get("updateStrategy") or {}
        if _image(obj) is not None and (strategy.get("rollingUpdate") or {}).get("partition"):
            hold_pods(kube, obj, 0)


def hold_pods(kube: Kube, obj: KubeObject, number: int) -> None:
    """Pods of a StatefulSet with a lower number keep their template. Raises KubeError."""
    meta = obj["metadata"]
    patch = {
        "metadata": {"uid": meta["uid"]},
        "spec": {"updateStrategy": {"rollingUpdate": {"partition": number}}},
    }
    kube.merge_patch(STATEFULSET, str(meta["name"]), str(meta["namespace"]), patch)
    place = f"{meta['namespace']}/{meta['name']}"
    log_action("patch", place, f"pods from number {number} on are replaced")


def _trouble(servers: BrokerServers, cluster: BrokerCluster) -> str:
    """Why no node may stop now; empty if one may."""
    down = [one.name for one in cluster.members if not one.running]
    if down:
        return f"node {down[0]} does not run: {servers.progress}"
    if len(cluster.members) < servers.replicas:
        return f"{len(cluster.members)} of {servers.replicas} nodes are in one cluster"
    if split := [one.name for one in cluster.members if one.partitioned]:
        return f"node {split[0]} does not see all others"
    return "an alarm of memory or disk is raised" if cluster.alarmed else ""


def _image(obj: KubeObject) -> str | None:
    """The image of the broker in a StatefulSet; None if it runs none."""
    containers: list[dict[str, Any]] = obj["spec"]["template"]["spec"].get("containers") or []
    return next((str(one.get("image") or "") for one in containers if one.get("name") == BROKER), None)
