"""A survey of the API server in memory: what it refuses, and how long it takes, is said by the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.errors import Forbidden
from controller.ports.kubernetes import KubeObject, Resource
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock


class FakeSurvey:
    """`controller.ports.survey.Survey` on a `FakeKube`. Each object takes `pause` seconds."""

    def __init__(self, kube: FakeKube, clock: FakeClock, *, pause: float = 0.0) -> None:
        self.kube = kube
        self.clock = clock
        self.pause = pause
        # Kinds, or kind and namespace, that it refuses to list; of others how many objects come before.
        self.refused: set[str] = set()
        self.breaks_after: dict[str, int] = {}

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        return self.kube.get(resource, name, namespace)

    def scan(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        metadata: bool = False,
    ) -> Iterator[KubeObject]:
        if self.refused & {resource.kind, f"{resource.kind} in {namespace}"}:
            raise Forbidden(f"{resource.plural} is forbidden")
        listing = self.kube.list_metadata if metadata else self.kube.list
        for number, obj in enumerate(listing(resource, namespace, labels=labels, fields=fields)):
            if number == self.breaks_after.get(resource.kind, -1):
                raise Forbidden("the right was taken away meanwhile")
            self.clock.advance(self.pause)
            yield obj

    def log_end(
        self,
        pod: str,
        namespace: str,
        container: str,
        *,
        lines: int,
        octets: int,
        previous: bool = False,
        since: int = 0,
        times: bool = False,
    ) -> str:
        if "log" in self.refused:
            raise Forbidden(f'pods/log "{pod}" is forbidden')
        text = self.kube.pod_log(pod, namespace, container=container, tail_lines=lines, previous=previous)
        return text[-octets:]

    def server_version(self) -> Mapping[str, Any]:
        return {"gitVersion": "v1.36.0", "platform": "linux/amd64"}
