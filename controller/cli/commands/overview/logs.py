"""osctl logs: logs of the controller's containers, or of the pods of a service or release."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

import typer

from controller.cli.cluster import Cluster, open_cluster, open_survey
from controller.cli.exit_codes import ExitCode
from controller.cli.options import Context, Kubeconfig, Namespace, parse_wait
from controller.cli.output import soft_wrapped, stderr, stdout
from controller.cli.views.log_lines import (
    CONTAINERS,
    LogLine,
    LogSource,
    comparable,
    in_order,
    line_data,
    parse_lines,
    shown,
)
from controller.cli.views.release_rows import release_rows
from controller.domain.api.names import RELEASE_LABELS
from controller.domain.validation.definitions.crd_schema import nearest
from controller.errors import ApiUnavailable, KubeError, ObjectMissing
from controller.ports.kubernetes import POD, KubeObject
from controller.ports.survey import Survey

_CONTROLLER_PODS = "app.kubernetes.io/name=openstack-controller"
_OCTETS = 4 * 1024 * 1024
_POLL_SECONDS = 1.0
# Seconds that are read again with --follow: a line may come late.
_OVERLAP = 15
_MOST_LINES = 100_000


class LogFormat(StrEnum):
    """How a line is printed."""

    TEXT = "text"
    JSON = "json"


def logs(
    *,
    target: Annotated[
        str,
        typer.Argument(
            metavar="[CONTAINER|SERVICE|RELEASE]",
            help="A container of the controller, a service or a release [default: all of the controller].",
            show_default=False,
        ),
    ] = "",
    component: Annotated[
        str, typer.Option("--component", help="Only this component, such as scheduler.")
    ] = "",
    tail: Annotated[
        int, typer.Option("--tail", min=1, max=_MOST_LINES, help="Lines of each container.")
    ] = 100,
    since: Annotated[
        float | None,
        typer.Option("--since", metavar="DURATION", parser=parse_wait, help="Only the newest, such as 20m."),
    ] = None,
    previous: Annotated[bool, typer.Option("--previous", "-p", help="Of the run before.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with lines that come.")] = False,
    output: Annotated[
        LogFormat, typer.Option("--output", "-o", help="Output format; json: an object for each line.")
    ] = LogFormat.TEXT,
    controller_namespace: Annotated[
        str, typer.Option("--controller-namespace", metavar="NAMESPACE", help="Namespace of the controller.")
    ] = "openstack-controller",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Print logs in the order of time: of a container of the controller (core, helmbundle, health, secrets,
    node, servers), or of all pods of a service or release. A pod that waits also shows its init containers.
    """
    if follow and previous:
        raise typer.BadParameter("the run before has ended", param_hint="--follow")
    pods = _Pods(open_cluster(kubeconfig, context, namespace), target, component, controller_namespace)
    reader = _Reader(open_survey(kubeconfig, context), pods, previous)
    console = stdout()

    def show(lines: list[LogLine]) -> None:
        for line in lines:
            text = (
                json.dumps(line_data(line), ensure_ascii=True)
                if output == LogFormat.JSON
                else shown(line, reader.several)
            )
            console.print(soft_wrapped(text), soft_wrap=True)

    show(reader.read(lines=tail, since=int(since or 0)))
    if not reader.sources:
        raise ObjectMissing(f"no pod has a log for {target or 'the controller'}: {pods.searched}")
    if follow:
        _follow(lambda: show(reader.read(lines=_MOST_LINES, since=_OVERLAP)))
    if reader.refused and not reader.read_any:
        raise reader.refused[0]


def _follow(show_new: Callable[[], None]) -> None:
    """Until Ctrl-C, also while the API server is silent. Raises Exit."""
    while True:
        try:
            time.sleep(_POLL_SECONDS)
            show_new()
        except ApiUnavailable as error:
            stderr().print(soft_wrapped(str(error)))
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None


@dataclass
class _Pods:
    """The pods of a target. `searched` says where they were looked for."""

    cluster: Cluster
    target: str
    component: str
    controller_namespace: str
    searched: str = ""
    _releases: tuple[str, ...] = ()
    _space: str = ""

    def observe(self) -> list[tuple[KubeObject, str]]:
        """Each with the only container to read, or an empty text for all."""
        if self.target in ("", *CONTAINERS):
            self.searched = f"namespace {self.controller_namespace}, label {_CONTROLLER_PODS}"
            found = self.cluster.kube.list(POD, self.controller_namespace, labels=_CONTROLLER_PODS)
            return [(pod, self.target) for pod in found]
        if not self._releases:
            self._space, self._releases = self._named()
        pods: dict[str, KubeObject] = {}
        for label in RELEASE_LABELS:
            selector = f"{label} in ({','.join(self._releases)})"
            selector += f",component={self.component}" if self.component else ""
            for pod in self.cluster.kube.list(POD, self._space, labels=selector):
                pods[pod["metadata"]["name"]] = pod
        self.searched = f"namespace {self._space}, releases {', '.join(self._releases)}"
        return [(pods[name], "") for name in sorted(pods)]

    def _named(self) -> tuple[str, tuple[str, ...]]:
        """Namespace and releases of the service, or the release, of that name. Raises ObjectMissing."""
        region = self.cluster.find_region()
        rows = release_rows(self.cluster.bundles(region))
        found = tuple(row.release for row in rows if self.target in (row.service, row.release))
        if not found:
            names = sorted({*CONTAINERS, *(row.service for row in rows), *(row.release for row in rows)})
            meant = nearest(self.target, names)
            hint = f'did you mean "{meant}"?' if meant else f"there is: {', '.join(names)}"
            raise ObjectMissing(f'there is no container, service or release "{self.target}"; {hint}')
        return str(region["metadata"]["namespace"]), found


@dataclass
class _Reader:
    """Reads all logs, and with each call only the lines that are new."""

    survey: Survey
    pods: _Pods
    previous: bool
    sources: set[LogSource] = field(default_factory=set)
    refused: list[KubeError] = field(default_factory=list)
    read_any: bool = False
    _seen: dict[LogSource, str] = field(default_factory=dict)

    @property
    def several(self) -> bool:
        """Whether lines have to name their container."""
        return len(self.sources) > 1

    def read(self, *, lines: int, since: int) -> list[LogLine]:
        """The lines that are new, in the order of time."""
        found: list[LogLine] = []
        for source in self._observe_sources():
            self.sources.add(source)
            found += self._new(source, lines, since)
        return in_order(found)

    def _new(self, source: LogSource, lines: int, since: int) -> list[LogLine]:
        first = source not in self._seen
        try:
            text = self.survey.log_end(
                source.pod,
                source.namespace,
                source.container,
                lines=lines,
                octets=_OCTETS,
                previous=source.previous,
                since=since,
                times=True,
            )
        except ApiUnavailable:
            raise
        except KubeError as error:
            if first:
                stderr().print(soft_wrapped(f"{source.title}: {error}"))
            self.refused.append(error)
            self._seen.setdefault(source, "")
            return []
        self.read_any = True
        last = self._seen.get(source, "")
        new = [line for line in parse_lines(source, text) if comparable(line.time) > last]
        self._seen[source] = max([last, *(comparable(line.time) for line in new)])
        return new

    def _observe_sources(self) -> Iterator[LogSource]:
        for pod, only in self.pods.observe():
            meta, spec = pod["metadata"], pod.get("spec") or {}
            waits = (pod.get("status") or {}).get("phase") == "Pending"
            containers = [
                *(spec.get("initContainers") or () if waits else ()),
                *(spec.get("containers") or ()),
            ]
            for one in containers:
                if only in ("", one["name"]):
                    yield LogSource(meta["namespace"], meta["name"], one["name"], self.previous)
