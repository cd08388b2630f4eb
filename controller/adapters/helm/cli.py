"""Helm as a program: `controller.ports.helm.HelmClient` on the helm 4 command line.

The second adapter of the port, chosen by a setting (HELM_BINARY), and the proof that the port hides which
of the two is used. Values go through standard input only: a command line or a file would
show secrets to whoever looks at the machine.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.exchange import epoch, hook_runs, require_chart, values_text
from controller.adapters.helm.failures import failure
from controller.adapters.helm.impersonation import service_account_user
from controller.adapters.helm.manifests import HOOK_ANNOTATION, annotations_of, parse_manifests
from controller.adapters.helm.release_records import revision
from controller.errors import HelmCancelled, HelmFailed, ReleaseMissing
from controller.ports.helm import Cancellation, HelmRequest, HookRun, RenderedRelease, Revision
from controller.ports.kubernetes import KubeObject

READ_SECONDS = 60
VERSION_SECONDS = 30.0
# Between SIGTERM, upon which helm records the failure, and SIGKILL.
GRACE_SECONDS = 20.0
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")


class CliClient:
    """Helm on the cluster of `kubeconfig` (None: KUBECONFIG, or the pod's service account).

    `binary` is helm 4. `qps` and `burst` bound the requests per second of each process. Helm acts as the
    ServiceAccount of that name in the release's namespace; as ourselves where it is empty.
    """

    def __init__(
        self,
        binary: Path,
        kubeconfig: Path | None = None,
        *,
        qps: float = 100.0,
        burst: int = 200,
        max_history: int = 5,
        service_account: str = "",
    ) -> None:
        self._binary = binary
        self._kubeconfig = kubeconfig
        self._limits = ("--qps", f"{qps:g}", "--burst-limit", str(burst))
        self._max_history = max_history
        self._service_account = service_account
        self._home = tempfile.TemporaryDirectory(prefix="helm-")

    @property
    def detached(self) -> int:
        return 0  # an action ends with its process

    def new_cancellation(self) -> CancellationToken:
        return CancellationToken()

    def install(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        return self._release(request, cancellation, "install", ["--replace"])

    def upgrade(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        more = ["--reset-values", "--history-max", str(request.max_history)]
        return self._release(request, cancellation, "upgrade", more)

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
        arguments = ["uninstall", release, "--timeout", f"{timeout}s", "--cascade", "background"]
        arguments += [] if hooks else ["--no-hooks"]
        arguments += ["--keep-history"] if keep_history else []
        with suppress(ReleaseMissing):
            self._run(arguments, namespace, timeout, cancellation=cancellation)

    def rollback(
        self,
        release: str,
        namespace: str,
        version: int,
        *,
        timeout: int = 1800,
        cancellation: Cancellation | None = None,
    ) -> None:
        arguments = ["rollback", release, str(version), "--timeout", f"{timeout}s", "--force-conflicts"]
        arguments += ["--history-max", str(self._max_history)]
        self._run(arguments, namespace, timeout, cancellation=cancellation)

    def history(self, release: str, namespace: str) -> tuple[Revision, ...]:
        try:
            found = self._ask(["history", release], namespace)
        except ReleaseMissing:
            return ()
        revisions = []
        for one in found:
            version = int(one["revision"])
            # The history's own output leaves out the labels.
            try:
                metadata = self._ask(["get", "metadata", release, "--revision", str(version)], namespace)
            except ReleaseMissing:
                continue  # dropped from the history since it was listed
            labels = metadata.get("labels") or {}
            revisions.append(revision(version, str(one["status"]), labels, epoch(one.get("updated"))))
        return tuple(sorted(revisions, key=lambda one: one.version))

    def hooks(self, release: str, namespace: str) -> tuple[HookRun, ...]:
        try:
            status = self._ask(["status", release], namespace)
        except ReleaseMissing:
            return ()
        return hook_runs(status.get("hooks") or ())

    def render(self, request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        require_chart(request.chart_path)
        dry_run = "server" if server else "client"
        arguments = ["template", request.release, request.chart_path, f"--dry-run={dry_run}", "-f", "-"]
        # It would look whose the objects are, and give nothing else where some are not the release's.
        arguments += ["--take-ownership"]
        text = self._run(
            arguments, request.namespace, READ_SECONDS, values=request.values, chart=request.chart_path
        )
        objects = parse_manifests(text)
        manifest = tuple(obj for obj in objects if not _is_hook(obj))
        return RenderedRelease(manifest, tuple(obj for obj in objects if _is_hook(obj)), text)

    def _release(
        self,
        request: HelmRequest,
        cancellation: Cancellation | None,
        command: str,
        more: Sequence[str],
    ) -> Revision:
        require_chart(request.chart_path)
        arguments = [command, request.release, request.chart_path, "-f", "-", "-o", "json"]
        arguments += ["--timeout", f"{request.timeout}s", "--force-conflicts"]
        # The API server validates, strictly; asking it first whether it can costs more than the rest.
        arguments += ["--disable-openapi-validation", *more]
        if request.labels:
            arguments += ["--labels", ",".join(f"{key}={value}" for key, value in request.labels.items())]
        if request.description:
            arguments += ["--description", request.description]
        answer = _decoded(
            self._run(
                arguments,
                request.namespace,
                request.timeout,
                values=request.values,
                chart=request.chart_path,
                cancellation=cancellation,
            )
        )
        info = answer.get("info") or {}
        return revision(
            int(answer["version"]),
            str(info.get("status", "")),
            request.labels,
            epoch(info.get("last_deployed")),
        )

    def _ask(self, arguments: Sequence[str], namespace: str) -> Any:
        return _decoded(self._run([*arguments, "-o", "json"], namespace, READ_SECONDS))

    def _run(
        self,
        arguments: Sequence[str],
        namespace: str,
        timeout: float,
        *,
        values: Mapping[str, Any] | None = None,
        chart: str = "",
        cancellation: Cancellation | None = None,
    ) -> str:
        """Standard output of one helm process, which is ended when cancelled or after `timeout` seconds."""
        if cancellation is not None and cancellation.cancelled:
            raise HelmCancelled(f"helm {arguments[0]}: cancelled before it began")
        text = None if values is None else values_text(values).encode()
        process = subprocess.Popen(
            [*_dies_with_us(), str(self._binary), *arguments, *self._everywhere(namespace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment(),
            start_new_session=True,  # a group of its own, so that all of it can be ended
        )
        ending = _Ending(process)
        token = cancellation if isinstance(cancellation, CancellationToken) else None
        timed_out = False
        try:
            if token:
                token.listen(ending.begin)
            try:
                out, err = process.communicate(text, timeout)
            except subprocess.TimeoutExpired:
                timed_out = True
                ending.begin()
                out, err = process.communicate()
        finally:
            if token:
                token.forget(ending.begin)
            ending.complete()
        if process.returncode == 0:
            return out.decode(errors="replace")
        cause = _cause(err)
        if timed_out:
            cut = f"not done within {timeout:g} s"
            raise HelmCancelled(f"helm {arguments[0]}: {cut}: {cause}", cut)
        if token and token.cancelled:
            raise HelmCancelled(f"helm {arguments[0]}: {token.cut}: {cause}", token.cut)
        raise failure(cause, chart)

    def _everywhere(self, namespace: str) -> list[str]:
        """What every command is given."""
        flags = ["--namespace", namespace, *self._limits]
        if self._service_account:
            flags += ["--kube-as-user", service_account_user(namespace, self._service_account)]
        return flags

    def _environment(self) -> dict[str, str]:
        """Nothing of our own environment but what helm needs, and none of the user's Helm settings."""
        home = self._home.name
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment |= {
            "HELM_DRIVER": "secret",
            "HELM_CACHE_HOME": f"{home}/cache",
            "HELM_CONFIG_HOME": f"{home}/config",
            "HELM_DATA_HOME": f"{home}/data",
            "KUBECACHEDIR": f"{home}/kube",
        }
        if self._kubeconfig is not None:
            environment["KUBECONFIG"] = str(self._kubeconfig)
        return environment


def program_version(binary: Path) -> str:
    """The version that a Helm program says it is, such as `v4.0.1`; empty when it gives none."""
    try:
        answer = subprocess.run(
            [str(binary), "version", "--template", "{{.Version}}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.decode(errors="replace").strip() if answer.returncode == 0 else ""


class _Ending:
    """Ends one process with its group: SIGTERM first, SIGKILL after the grace. From any thread."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = threading.Lock()
        self._killer: threading.Timer | None = None

    def begin(self) -> None:
        with self._lock:
            if self._killer is not None:
                return
            self._killer = threading.Timer(GRACE_SECONDS, self._signal, (signal.SIGKILL,))
            self._killer.daemon = True
        self._signal(signal.SIGTERM)
        self._killer.start()

    def complete(self) -> None:
        """Whatever is left of the process is killed and reaped."""
        if self._killer is not None:
            self._killer.cancel()
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
            self._process.communicate()

    def _signal(self, number: signal.Signals) -> None:
        # A process that was reaped has no group any more: its number may be someone else's by now.
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def _dies_with_us() -> tuple[str, ...]:
    """Words before a command that end it when we are killed: nobody would be left to end it then.

    util-linux's setpriv sets the signal that the kernel sends when the starting thread is gone; that
    thread waits for the command. Where there is no setpriv, the container's own end has to do.
    """
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # The output holds the whole release, secrets included: nothing of it is quoted.
        raise HelmFailed("helm gave an answer that is not JSON; is it helm 4?") from None


def _cause(error_output: bytes) -> str:
    """Helm's own last word: what stands before `Error:` is warnings and progress."""
    text = error_output.decode(errors="replace").strip()
    _, found, cause = text.rpartition("Error: ")
    return cause if found else text


def _is_hook(obj: KubeObject) -> bool:
    return HOOK_ANNOTATION in annotations_of(obj)
