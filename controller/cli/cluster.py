"""The cluster that a command works on, chosen as kubectl chooses it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from controller.cli.exit_codes import NoCluster
from controller.cli.views.hook_jobs import JOB_NAME
from controller.domain.api.names import DEPLOYMENT_LABEL
from controller.domain.api.region_name import RegionName
from controller.errors import Forbidden, KubeError, ObjectMissing, ObjectRefused
from controller.ports.kubernetes import HELMBUNDLE, JOB, OSDPL, POD, Kube, KubeObject, KubeObjects
from controller.ports.survey import Survey

if TYPE_CHECKING:
    from controller.adapters.kubernetes.connection import Connection


@dataclass(frozen=True)
class Cluster:
    """An API server. `namespace` is that of -n, else the context's, empty when neither has one."""

    kube: Kube
    namespace: str = ""

    def find_region(self, name: str = "") -> KubeObject:
        """The region of that name, or the only one.

        Without a namespace all are searched. Raises ObjectMissing, with the candidates if there are several.
        """
        if name and self.namespace:
            found = self.kube.get(OSDPL, name, self.namespace)
            if found is None:
                where = f'in namespace "{self.namespace}"{self._others(name)}'
                raise ObjectMissing(f'there is no OpenStackDeployment "{name}" {where}')
            return found
        regions = self._all()
        chosen = [region for region in regions if name in ("", region["metadata"]["name"])]
        if len(chosen) == 1:
            return chosen[0]
        where = f'in namespace "{self.namespace}"' if self.namespace else "in any namespace"
        if not chosen:
            what = f'OpenStackDeployment "{name}"' if name else "OpenStackDeployment"
            raise ObjectMissing(f"there is no {what} {where}{_listing(regions) if name else ''}")
        raise ObjectMissing(f"there are several regions: specify name and namespace{_listing(chosen)}")

    def choose_region(self, named: str = "") -> RegionName:
        """The region for a cluster-scoped object: `named` ([NAMESPACE/]NAME), or the only one.

        Raises ObjectMissing, with all regions, unless there is exactly one.
        """
        namespace, _, name = named.rpartition("/")
        if namespace:
            if self.kube.get(OSDPL, name, namespace) is None:
                text = f'there is no OpenStackDeployment "{name}" in namespace "{namespace}"'
                raise ObjectMissing(f"{text}{self._others(name)}")
            return RegionName(namespace, name)
        try:
            listed = self.kube.list(OSDPL)
        except Forbidden as error:
            raise Forbidden(f"{error}; name the region with --region NAMESPACE/NAME") from None
        found = sorted(RegionName(one["metadata"]["namespace"], one["metadata"]["name"]) for one in listed)
        chosen = [one for one in found if name in ("", one.name)]
        if len(chosen) == 1:
            return chosen[0]
        there = ", ".join(map(str, found))
        if not chosen:
            text = f'there is no OpenStackDeployment "{name}"' if name else "there is no OpenStackDeployment"
            raise ObjectMissing(f"{text}{f'; there is: {there}' if found else ''}")
        raise ObjectMissing(f"there are several regions; choose one with --region: {there}")

    def bundles(self, region: KubeObject) -> KubeObjects:
        """The HelmBundles of the region."""
        meta = region["metadata"]
        return self.kube.list(HELMBUNDLE, meta["namespace"], labels=f"{DEPLOYMENT_LABEL}={meta['name']}")

    def unfinished_jobs(self, namespace: str) -> KubeObjects:
        """Jobs that have not succeeded; none if we may not read them."""
        try:
            return self.kube.list(JOB, namespace, fields="status.successful=0")
        except (Forbidden, ObjectRefused):
            return []

    def pods_of_jobs(self, namespace: str, jobs: Sequence[str]) -> KubeObjects:
        """Pods of these Jobs; none if we may not read them."""
        if not jobs:
            return []
        try:
            return self.kube.list(POD, namespace, labels=f"{JOB_NAME} in ({','.join(jobs)})")
        except (Forbidden, ObjectRefused):
            return []

    def _all(self) -> KubeObjects:
        try:
            return self.kube.list(OSDPL, self.namespace or None)
        except ObjectMissing:
            raise ObjectMissing(
                "the cluster knows no OpenStackDeployment: install the controller's chart first"
            ) from None
        except Forbidden as error:
            if self.namespace:
                raise
            raise Forbidden(f"{error}; name the region's namespace with -n") from None

    def _others(self, name: str) -> str:
        """The namespaces that have a region of that name, if we may read them."""
        try:
            found = [one for one in self.kube.list(OSDPL) if one["metadata"]["name"] == name]
        except KubeError:
            return ""
        return _listing(found)


def _listing(regions: KubeObjects) -> str:
    names = [f"{one['metadata']['name']} (-n {one['metadata'].get('namespace')})" for one in regions]
    return f"; there is: {', '.join(sorted(names))}" if names else ""


def open_cluster(kubeconfig: Path | None, context: str, namespace: str) -> Cluster:
    """The cluster of the kubeconfig; nothing is sent yet. Raises NoCluster if there is none."""
    # Commands that work on files alone do not wait for the import of an HTTP client.
    from controller.adapters.kubernetes.client import PykubeClient

    connection = _connect(kubeconfig, context)
    contexts = connection.config.contexts
    chosen = contexts[connection.config.current_context].get("namespace") or ""
    return Cluster(PykubeClient(connection, user_agent="osctl"), namespace or chosen)


def context_names(kubeconfig: Path | None) -> tuple[str, ...]:
    """The contexts of the kubeconfig. Raises NoCluster if there is none."""
    return tuple(sorted(map(str, _connect(kubeconfig, "").config.contexts)))


def open_survey(kubeconfig: Path | None, context: str) -> Survey:
    """The same cluster for reading much of it. Raises NoCluster if there is none."""
    from controller.adapters.kubernetes.survey import PykubeSurvey

    return PykubeSurvey(_connect(kubeconfig, context), user_agent="osctl")


def _connect(kubeconfig: Path | None, context: str) -> Connection:
    from controller.adapters.kubernetes.connection import connect

    named = kubeconfig or (Path(os.environ["KUBECONFIG"]) if os.environ.get("KUBECONFIG") else None)
    if kubeconfig is None and named is not None and os.pathsep in str(named):
        raise NoCluster("KUBECONFIG names several files; osctl reads one: choose it with --kubeconfig")
    try:
        return connect(named.expanduser() if named else None, context)
    except KubeError as error:
        raise NoCluster(f"{error}; name one with --kubeconfig or $KUBECONFIG") from None
