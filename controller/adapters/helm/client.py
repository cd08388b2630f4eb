"""`controller.ports.helm.HelmClient` on Helm's own code, in separate processes (helm/main.go).

Values go through standard input only, because a command line, an environment or a file would expose secrets
on the machine. Helm's records are read directly, not through Helm.

**How an action is ended.** When Helm's program is terminated, the Job of the hook that it waits for would
remain. So the Job must fail first (Kubernetes fails a Job after its `activeDeadlineSeconds`), and then Helm
records the failure and ends. If the process does not end, it gets SIGTERM, and finally SIGKILL.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.conversation import Finished
from controller.adapters.helm.failures import failure
from controller.adapters.helm.impersonation import service_account_user
from controller.adapters.helm.input_and_output import hook_runs, require_chart, values_text
from controller.adapters.helm.manifests import HOOK_ANNOTATION, annotations_of, parse_manifests
from controller.adapters.helm.memory_budget import MemoryBudget
from controller.adapters.helm.process_bounds import HelmLimits, action_bounds, render_bounds
from controller.adapters.helm.records.recorded_revisions import revision
from controller.adapters.helm.records.release_records import SecretRecords
from controller.adapters.helm.render_memo import RenderMemo, RenderRefused
from controller.adapters.helm.running_hooks import fail_running_hooks
from controller.adapters.helm.workers import Workers
from controller.errors import (
    ApiUnavailable,
    HelmCancelled,
    HelmFailed,
    KubeError,
    ReleaseMissing,
)
from controller.ports.helm import (
    Cancellation,
    HelmRequest,
    HookRun,
    RenderedRelease,
    Revision,
    RollbackRequest,
    UninstallRequest,
)
from controller.ports.kubernetes import Kube, KubeObject

# The capabilities of the API server are read once for all processes, and again after this time.
DISCOVERY_SECONDS = 900.0
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
# The way to the API server. Small letters come first for our own requests, and last for Go.
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
# One number: when the next request to the API server is due (helm/budget.go).
_BUDGET_OCTETS = 8


class HelmProgram:
    """Helm on the cluster of `kubeconfig` (None: KUBECONFIG, or the pod's service account).

    `program` is Helm 4. Helm acts as the ServiceAccount of that name in the release's namespace; if it is
    empty, as our own.
    """

    def __init__(
        self,
        kube: Kube,
        program: Path,
        kubeconfig: Path | None = None,
        *,
        limits: HelmLimits | None = None,
        service_account: str = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kube = kube
        self._records = SecretRecords(kube)
        self._kubeconfig = kubeconfig
        self._limits = limits or HelmLimits()
        self._service_account = service_account
        budget = MemoryBudget(self._limits.together)
        self._workers = Workers(program, self._environment, self._limits.memory, budget)
        self._rendered = RenderMemo(now)
        self._now = now
        self._home = tempfile.TemporaryDirectory(prefix="helm-")

    def new_cancellation(self) -> CancellationToken:
        return CancellationToken()

    def install(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        return self._release("install", request, cancellation)

    def upgrade(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        return self._release("upgrade", request, cancellation)

    def uninstall(self, request: UninstallRequest, cancellation: Cancellation | None = None) -> None:
        more = {"noHooks": not request.hooks, "keepHistory": request.keep_history}
        with suppress(ReleaseMissing):
            self._act("uninstall", request, cancellation, more)

    def rollback(self, request: RollbackRequest, cancellation: Cancellation | None = None) -> None:
        more = {"version": request.version, "maxHistory": self._limits.history}
        self._act("rollback", request, cancellation, more)

    def history(self, release: str, namespace: str) -> tuple[Revision, ...]:
        return self._records.observe(namespace, releases=(release,)).get(release, ())

    def hooks(self, release: str, namespace: str) -> tuple[HookRun, ...]:
        try:
            return hook_runs(self._records.recorded_hooks(release, namespace))
        except ReleaseMissing:
            return ()

    def render(self, request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        require_chart(request.chart_path)
        values = values_text(request.values)
        render = partial(self._render, request, values, server)
        return render() if server else self._rendered.get(request, values, render)

    def _render(self, request: HelmRequest, values: str, server: bool) -> RenderedRelease:
        more = {
            "chart": request.chart_path,
            "values": values,
            "server": server,
            "version": request.revision,
        }
        asked = self._asked("render", request.release, request.namespace, more)
        bounds = render_bounds(self._limits.memory)
        ended = self._workers.call(asked, bounds)
        if ended.killed:
            # Perhaps before the request. A render changes nothing, so it can be repeated.
            ended = self._workers.call(asked, bounds)
        if ended.exceeded:
            raise RenderRefused(f"chart {request.chart_path}: rendering {ended.exceeded}, and was terminated")
        if ended.cut:
            raise ApiUnavailable(f"Helm: {request.release}: rendering was {ended.cut}")
        self._require_done(ended, request.chart_path)
        text = str(ended.answer.get("text", ""))
        objects = parse_manifests(text)
        manifest = tuple(obj for obj in objects if not _is_hook(obj))
        return RenderedRelease(manifest, tuple(obj for obj in objects if _is_hook(obj)), text)

    def _release(self, action: str, request: HelmRequest, cancellation: Cancellation | None) -> Revision:
        require_chart(request.chart_path)
        more = {
            "chart": request.chart_path,
            "values": values_text(request.values),
            "labels": dict(request.labels),
            "description": request.description,
            "maxHistory": request.max_history,
        }
        ended = self._act(action, request, cancellation, more)
        made, status = int(ended.answer.get("revision", 0)), str(ended.answer.get("status", ""))
        return revision(made, status, request.labels, time.time())

    def _act(
        self,
        action: str,
        request: HelmRequest | UninstallRequest | RollbackRequest,
        cancellation: Cancellation | None,
        more: Mapping[str, Any],
    ) -> Finished:
        """Carries out one action. Raises the error for its failure."""
        release, namespace, timeout = request.release, request.namespace, request.timeout
        token = cancellation if isinstance(cancellation, CancellationToken) else None
        if token is not None and token.cancelled:
            raise HelmCancelled(f"{release}: cancelled before it began")
        ended = self._workers.call(
            self._asked(action, release, namespace, {"timeout": timeout, **more}),
            action_bounds(self._limits.memory, timeout),
            token=token,
            make_it_end=partial(fail_running_hooks, self._kube, self._records, release, namespace),
        )
        if ended.exceeded:
            why = self._unreadable(release, namespace)
            raise HelmFailed(f"{release}: Helm {ended.exceeded}, and was terminated{why}")
        if ended.cut and not (ended.answer and "error" not in ended.answer):
            raise HelmCancelled(f"{release}: {ended.cut}: {_cause(ended)}", ended.cut)
        self._require_done(ended, str(more.get("chart", "")))
        return ended

    def _require_done(self, ended: Finished, chart: str) -> None:
        if ended.died or "error" in ended.answer:
            raise failure(_cause(ended), chart)

    def _asked(self, action: str, release: str, namespace: str, more: Mapping[str, Any]) -> Mapping[str, Any]:
        account = self._service_account
        return {
            "action": action,
            "release": release,
            "namespace": namespace,
            "user": service_account_user(namespace, account) if account else "",
            "qps": self._limits.qps,
            "burst": self._limits.burst,
            "budget": self._budget(),
            "discovery": self._discovery(),
            **more,
        }

    def _budget(self) -> str:
        """The file that all workers map; never one that is half there, which would kill them."""
        place = Path(self._home.name) / "requests"
        if not place.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            draft = place.with_name(f"requests-{threading.get_ident()}")
            draft.write_bytes(bytes(_BUDGET_OCTETS))
            draft.replace(place)
        return str(place)

    def _discovery(self) -> str:
        """Where workers cache the capabilities of the API server; renewed periodically."""
        root = Path(self._home.name) / "discovery"
        period = int(self._now() // DISCOVERY_SECONDS)
        place = root / str(period)
        if not place.is_dir():
            place.mkdir(parents=True, exist_ok=True)
            # The previous one may still be in use.
            for old in root.iterdir():
                if int(old.name) < period - 1:
                    shutil.rmtree(old, ignore_errors=True)
        return str(place)

    def _unreadable(self, release: str, namespace: str) -> str:
        """The unreadable records that could be the cause."""
        with suppress(KubeError):
            found = self._records.unreadable(release, namespace)
            if found:
                return f"; Helm's record {found[0]} cannot be read: delete it, or put it back from a backup"
        return ""

    def _environment(self) -> dict[str, str]:
        """Only the variables that Helm needs, and none of the user's Helm settings."""
        home = self._home.name
        found = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        for name in _PROXIES:
            if text := os.environ.get(name.lower()) or os.environ.get(name):
                found[name] = text
        found |= {f"HELM_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("CACHE", "CONFIG", "DATA")}
        if self._kubeconfig is not None:
            found["KUBECONFIG"] = str(self._kubeconfig)
        return found


def _cause(ended: Finished) -> str:
    """Helm's own text, or the last output of a process without an answer."""
    return str(ended.answer.get("error") or ended.died)


def _is_hook(obj: KubeObject) -> bool:
    return HOOK_ANNOTATION in annotations_of(obj)
