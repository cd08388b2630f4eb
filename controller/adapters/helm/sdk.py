"""Helm inside this process: `controller.ports.helm.HelmClient` on helm-python-sdk.

**How an action is ended.** The library's own cancellation only abandons the action: a goroutine stays
behind that waits for the same hook Job, and when the next upgrade's Job of that name completes it goes
on, with the old manifest. So the hook that an action waits for is made to fail (a Job whose
`activeDeadlineSeconds` has passed is failed by Kubernetes), upon which Helm records the failure and
returns. That works for install, upgrade, rollback and uninstall alike. What does not end even so is
counted in `detached`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from controller.adapters.helm import calls as helm_calls
from controller.adapters.helm import go_library
from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.exchange import epoch, hook_phase, hook_runs, require_chart, values_text
from controller.adapters.helm.failures import failure
from controller.adapters.helm.impersonation import service_account_user
from controller.adapters.helm.manifests import HOOK_ANNOTATION, annotations_of, parse_manifests
from controller.adapters.helm.release_records import revision
from controller.errors import (
    ApiUnavailable,
    ChartInvalid,
    ControllerError,
    HelmCancelled,
    ReleaseMissing,
)
from controller.ports.helm import Cancellation, HelmRequest, HookRun, RenderedRelease, Revision
from controller.ports.kubernetes import JOB, POD, Kube, Resource
from controller.reconcile.shared.action_log import log_action

import helm_python  # isort: skip - after go_library, which loads it under Helm's name

T = TypeVar("T")

# A connection caches what the API server can do; new kinds and a newer server are seen after this.
CONNECTION_SECONDS = 900.0
READ_SECONDS = 60.0
_HOOK_KINDS: Mapping[str, Resource] = {"Job": JOB, "Pod": POD}
_CHART_CODES = (
    helm_python.ErrorCode.IO,
    helm_python.ErrorCode.CHART_LOAD,
    helm_python.ErrorCode.CHART_INVALID,
    helm_python.ErrorCode.RENDER,
    helm_python.ErrorCode.VALUES,
)


class SdkClient:
    """Helm on the cluster of `kubeconfig` (None: KUBECONFIG, or the pod's service account).

    `qps` and `burst` bound the requests per second of each namespace. `grace`: seconds that an action
    has to end once it was cancelled or timed out. `max_history` bounds the history at a rollback. Helm acts
    as the ServiceAccount of that name in the release's namespace; as ourselves where it is empty.
    """

    def __init__(
        self,
        kube: Kube,
        kubeconfig: Path | None = None,
        *,
        qps: float = 100.0,
        burst: int = 200,
        grace: float = 90.0,
        max_history: int = 5,
        service_account: str = "",
    ) -> None:
        self._kube = kube
        self._kubeconfig = kubeconfig
        self._qps, self._burst = qps, burst
        self._grace = grace
        self._max_history = max_history
        self._service_account = service_account
        self._lock = threading.Lock()
        self._connections: dict[str, tuple[float, helm_python.Config]] = {}
        self._detached = 0

    @property
    def detached(self) -> int:
        return self._detached

    def new_cancellation(self) -> CancellationToken:
        return CancellationToken()

    def install(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        # Without `replace` Helm refuses a name all of whose revisions have failed.
        return self._release(request, cancellation, "helm_install", {"replace": True})

    def upgrade(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        # Without `reset_values` empty values mean "as before".
        options = {"reset_values": True, "max_history": request.max_history}
        return self._release(request, cancellation, "helm_upgrade", options)

    def uninstall(
        self,
        release: str,
        namespace: str,
        *,
        timeout: int = 600,
        hooks: bool = True,
        keep_history: bool = False,
        cancellation: Cancellation | None = None,
    ) -> None:
        options = {
            "keep_history": keep_history,
            "timeout_seconds": timeout,
            "deletion_propagation": "background",
            "disable_hooks": not hooks,
        }

        def act() -> None:
            # Not `ignore_not_found`: it takes every failure to read the history for "not found".
            go_library.call("helm_uninstall", self._connection(namespace), release, options)

        try:
            self._act(release, namespace, timeout, cancellation, act)
        except ReleaseMissing:
            return

    def rollback(
        self,
        release: str,
        namespace: str,
        version: int,
        *,
        timeout: int = 1800,
        cancellation: Cancellation | None = None,
    ) -> None:
        options = {
            "version": version,
            "timeout_seconds": timeout,
            "force_conflicts": True,
            "max_history": self._max_history,
        }

        def act() -> None:
            go_library.call("helm_rollback", self._connection(namespace), release, options)

        self._act(release, namespace, timeout, cancellation, act)

    def history(self, release: str, namespace: str) -> tuple[Revision, ...]:
        try:
            found = self._read(release, namespace, lambda connection: connection.history(release))
        except ReleaseMissing:
            return ()
        return tuple(_revision(one) for one in found)

    def hooks(self, release: str, namespace: str) -> tuple[HookRun, ...]:
        return hook_runs(self._recorded_hooks(release, namespace))

    def render(self, request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        """See the port. On the server, hooks are rendered with lookups, but for the API versions that
        this Helm knows by itself: the library does not hand out the hooks of a dry run."""
        require_chart(request.chart_path)
        values = json.loads(values_text(request.values))

        def render(connection: helm_python.Config) -> dict[str, str]:
            with helm_python.Chart.load(request.chart_path) as chart:
                render = partial(connection.render, chart) if server else chart.render
                files: dict[str, str] = render(values, name=request.release, namespace=request.namespace)
                return files

        read = partial(self._read, request.release, request.namespace, chart=request.chart_path)
        files = read(render)
        texts = [text for path, text in files.items() if path.endswith((".yaml", ".yml", ".json"))]
        objects = [obj for text in texts for obj in parse_manifests(text)]
        if server:
            known = bool(self.history(request.release, request.namespace))
            manifest = parse_manifests(read(partial(_dry_run, request=request, known=known)))
        else:
            manifest = tuple(obj for obj in objects if HOOK_ANNOTATION not in annotations_of(obj))
        hooks = tuple(obj for obj in objects if HOOK_ANNOTATION in annotations_of(obj))
        return RenderedRelease(manifest, hooks, "\n---\n".join(texts))

    def _release(
        self,
        request: HelmRequest,
        cancellation: Cancellation | None,
        function: str,
        more: Mapping[str, Any],
    ) -> Revision:
        require_chart(request.chart_path)
        values = values_text(request.values)
        options = {
            "timeout_seconds": request.timeout,
            "labels": dict(request.labels),
            "description": request.description,
            # Fields that others edited by hand are ours. Objects of others are not: Helm takes none over that
            # lacks its marks of the release.
            "force_conflicts": True,
            # It only asks whether the API server validates fields (every supported one does, and Helm has
            # it do so strictly), and reads megabytes of OpenAPI for that: half the time of an upgrade.
            "disable_openapi_validation": True,
            **more,
        }

        def act() -> Revision:
            connection = self._connection(request.namespace)
            return _revision(
                go_library.call(
                    function, connection, request.release, options, chart=request.chart_path, values=values
                )
            )

        return self._act(
            request.release, request.namespace, request.timeout, cancellation, act, chart=request.chart_path
        )

    def _act(
        self,
        release: str,
        namespace: str,
        timeout: int,
        cancellation: Cancellation | None,
        act: Callable[[], T],
        *,
        chart: str = "",
    ) -> T:
        """Runs one action of Helm until it ends, is cancelled or times out, and the grace after that."""
        token = cancellation if isinstance(cancellation, CancellationToken) else None
        fail_hooks = partial(self._fail_running_hooks, release, namespace)
        ended = helm_calls.act(release, act, timeout, token=token, make_it_end=fail_hooks, grace=self._grace)
        if not ended.outcome.done():
            with self._lock:
                self._detached += 1
            text = f"{release}: {ended.cut}, and Helm could not be stopped within {self._grace:g} s"
            raise HelmCancelled(text, ended.cut)
        error = ended.outcome.exception()
        if error is not None and ended.cut:
            raise HelmCancelled(f"{release}: {ended.cut}: {error}", ended.cut)
        with _translated(chart):
            return ended.outcome.result()

    def _read(
        self,
        release: str,
        namespace: str,
        get: Callable[[helm_python.Config], T],
        *,
        chart: str = "",
        timeout: float | None = None,
    ) -> T:
        with _translated(chart):
            return helm_calls.read(release, lambda: get(self._connection(namespace)), timeout or READ_SECONDS)

    def _fail_running_hooks(self, release: str, namespace: str) -> None:
        for hook in self._recorded_hooks(release, namespace, timeout=min(self._grace, 5.0)):
            resource = _HOOK_KINDS.get(str(hook.get("kind", "")))
            if resource is None or hook_phase(hook) != "Running":
                continue
            for obj in parse_manifests(str(hook.get("manifest", ""))):
                metadata = obj["metadata"]
                self._kube.merge_patch(
                    resource,
                    str(metadata["name"]),
                    str(metadata.get("namespace") or namespace),
                    {"spec": {"activeDeadlineSeconds": 1}},
                )
                place = f"{metadata.get('namespace') or namespace}/{metadata['name']}"
                text = f"{resource.kind} {metadata['name']}: ended, its action of Helm was cancelled"
                log_action("end-hook", place, text, release=release)

    def _recorded_hooks(
        self, release: str, namespace: str, *, timeout: float | None = None
    ) -> list[dict[str, Any]]:
        try:
            record = self._read(
                release, namespace, lambda connection: connection.get_all(release), timeout=timeout
            )
        except ReleaseMissing:
            return []
        return record.get("hooks") or []

    def _connection(self, namespace: str) -> helm_python.Config:
        with self._lock:
            made, connection = self._connections.get(namespace, (0.0, None))
            if connection is None or time.monotonic() - made > CONNECTION_SECONDS:
                # The former one is freed when the last action on it has ended.
                account = self._service_account
                connection = helm_python.Config(
                    kubeconfig_path=self._kubeconfig,
                    namespace=namespace,
                    qps=self._qps,
                    burst_limit=self._burst,
                    storage_driver="secret",
                    kube_as_user=service_account_user(namespace, account) if account else None,
                )
                self._connections[namespace] = (time.monotonic(), connection)
            return connection


@contextmanager
def _translated(chart: str = "") -> Iterator[None]:
    """Turns the library's errors into ours; `chart` is the path of the chart acted on, if any."""
    try:
        yield
    except helm_python.HelmError as error:
        raise _meaning(error, chart) from None


def _meaning(error: helm_python.HelmError, chart: str) -> ControllerError:
    text = str(error.detail)
    if error.code == helm_python.ErrorCode.CANCELLED:
        return HelmCancelled(text)
    if error.code == helm_python.ErrorCode.NOT_FOUND:
        return ReleaseMissing(text)
    if error.code == helm_python.ErrorCode.KUBE:
        return ApiUnavailable(f"Helm: {text}")
    if error.code in _CHART_CODES:
        return ChartInvalid(f"chart {chart}: {text}")
    return failure(text, chart)


def _dry_run(connection: helm_python.Config, *, request: HelmRequest, known: bool) -> str:
    """The manifest that Helm would send, with the API server's capabilities."""
    options: dict[str, Any] = {
        "dry_run": "server",
        "take_ownership": True,
        "disable_openapi_validation": True,
    }
    if known:
        options["reset_values"] = True
    answer = go_library.call(
        "helm_upgrade" if known else "helm_install",
        connection,
        request.release,
        options,
        chart=request.chart_path,
        values=values_text(request.values),
    )
    return str(answer.get("manifest", ""))


def _revision(summary: Mapping[str, Any]) -> Revision:
    return revision(
        int(summary["revision"]),
        str(summary["status"]),
        summary.get("labels") or {},
        epoch(summary.get("deployed_at")),
    )
