"""Helm's actions in memory, with its records where Helm has them: `StoredHelm` implements `HelmClient`.

Every request of Helm 4 is one request to the `Kube` that it is given, in Helm's order, so that it can be cut
off between any two of them; what it leaves is read and repaired by the real `SecretRecords`. It passes
`tests/contract/test_stored_helm.py`: the contract tests that real Helm passes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.failures import failure
from controller.adapters.helm.manifests import annotations_of, parse_manifests
from controller.adapters.helm.records.record_secrets import RECORD_TYPE
from controller.adapters.helm.records.record_texts import decode_record, encode_record
from controller.adapters.helm.records.recorded_revisions import revision
from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.api.conditions import timestamp
from controller.domain.api.names import HELM_FIELD_MANAGER, HOOK
from controller.domain.api.object_owner import is_marked
from controller.domain.releases.drift.difference import ObjectId
from controller.domain.releases.hooks import DELETE_POLICY, EVENTS, WEIGHT
from controller.domain.releases.kept_claims import is_kept
from controller.domain.values.chart_values import copied
from controller.errors import (
    ApiUnavailable,
    ControllerError,
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
from controller.ports.kubernetes import SECRET, Kube, KubeObject, resource_of
from controller.ports.system import Clock
from controller.reconcile.releases.drift.compare import as_sent, identify

# What a chart makes of a request: manifest and hooks.
Render = Callable[[HelmRequest], RenderedRelease]
# How an awaited hook ends: `Succeeded`, `Failed`, or `TimedOut`; not before.
Await = Callable[[KubeObject, str, float, CancellationToken], str]

Record = dict[str, Any]
_SYSTEM = ("name", "owner", "status", "version", "createdAt", "modifiedAt")
_TAKEN = (
    "exists and cannot be imported into the current release: invalid ownership metadata; "
    "label validation error, annotation validation error"
)


class StoredHelm:
    """Helm on `kube`, as one process runs it. Not safe from several threads."""

    def __init__(
        self, kube: Kube, clock: Clock, render: Render, await_hook: Await, *, max_history: int = 5
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._render = render
        self._await = await_hook
        self._max_history = max_history

    # -- HelmClient

    def new_cancellation(self) -> CancellationToken:
        return CancellationToken()

    def install(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        return self._act(lambda: self._install(request, _token(cancellation)))

    def upgrade(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        return self._act(lambda: self._upgrade(request, _token(cancellation)))

    def rollback(self, request: RollbackRequest, cancellation: Cancellation | None = None) -> None:
        self._act(lambda: self._rollback(request, _token(cancellation)))

    def uninstall(self, request: UninstallRequest, cancellation: Cancellation | None = None) -> None:
        self._act(lambda: self._uninstall(request, _token(cancellation)))

    def history(self, release: str, namespace: str) -> tuple[Revision, ...]:
        return SecretRecords(self._kube).observe(namespace, releases=(release,)).get(release, ())

    def hooks(self, release: str, namespace: str) -> tuple[HookRun, ...]:
        records = self._records(release, namespace)
        return tuple(
            HookRun(
                hook["name"],
                hook["kind"],
                tuple(hook["events"]),
                int(hook.get("weight") or 0),
                str((hook.get("last_run") or {}).get("phase") or "Unknown"),
            )
            for hook in (records[-1].get("hooks") or [] if records else [])
        )

    def render(self, request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        return self._render(request)

    # -- actions (helm.sh/helm/v4/pkg/action)

    def _act(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except ApiUnavailable as error:
            raise HelmFailed(f"{error}: unexpected EOF", interrupted=True) from None
        except KubeError as error:
            raise failure(str(error)) from None

    def _install(self, request: HelmRequest, token: CancellationToken) -> Revision:
        before = self._records(request.release, request.namespace)
        if before and before[-1]["info"]["status"] not in ("uninstalled", "failed"):
            raise HelmFailed("cannot reuse a name that is still in use")
        rendered = self._render(request)
        self._refuse_foreign(rendered.manifest, request.release, request.namespace)
        record = self._new_record(request, rendered, before, "pending-install")
        self._create(record)
        if before:
            before[-1]["info"]["status"] = "superseded"
            self._update(before[-1])
        return self._make("Install", record, (), [], request.timeout, token)

    def _upgrade(self, request: HelmRequest, token: CancellationToken) -> Revision:
        records = self._records(request.release, request.namespace)
        if not records:
            raise ReleaseMissing(f'"{request.release}" has no deployed releases')
        last = records[-1]
        if last["info"]["status"].startswith("pending-"):
            raise HelmFailed("another operation (install/upgrade/rollback) is in progress")
        deployed = [one for one in records if one["info"]["status"] == "deployed"]
        if not deployed and last["info"]["status"] not in ("failed", "superseded"):
            raise ReleaseMissing(f'"{request.release}" has no deployed releases')
        current = (deployed or records)[-1]
        rendered = self._render(request)
        original = parse_manifests(current["manifest"])
        had = {identify(obj, request.namespace) for obj in original}
        new = [obj for obj in rendered.manifest if identify(obj, request.namespace) not in had]
        self._refuse_foreign(new, request.release, request.namespace)
        labels = {**current.get("labels", {}), **request.labels}
        record = self._new_record(request, rendered, records, "pending-upgrade", labels)
        self._prune(records, request.max_history)
        self._create(record)
        return self._make("Upgrade", record, original, deployed, request.timeout, token)

    def _rollback(self, request: RollbackRequest, token: CancellationToken) -> None:
        version = request.version
        records = self._records(request.release, request.namespace)
        target = next((one for one in records if one["version"] == version), None)
        if target is None:
            raise ReleaseMissing(f"release has no {version} version")
        record = copied(target)
        record["version"] = records[-1]["version"] + 1
        record["info"] = {"status": "pending-rollback", "description": f"Rollback to {version}"}
        for hook in record.get("hooks") or []:
            hook["last_run"] = {}
        self._prune(records, self._max_history)
        self._create(record)
        deployed = [one for one in records if one["info"]["status"] == "deployed"]
        original = parse_manifests(records[-1]["manifest"])
        self._make("Rollback", record, original, deployed, request.timeout, token)

    def _make(
        self,
        action: str,
        record: Record,
        original: Sequence[KubeObject],
        deployed: Sequence[Record],
        timeout: float,
        token: CancellationToken,
    ) -> Revision:
        before, after = EVENTS[action]
        failed_hook = False
        try:
            failed_hook = True
            self._run_hooks(before, record, timeout, token)
            failed_hook = False
            self._apply_changes(record, original)
            failed_hook = True
            self._run_hooks(after, record, timeout, token)
            failed_hook = False
        except ControllerError as error:
            # Of a rollback whose hook fails Helm returns silently to its record.
            if action != "Rollback" or not failed_hook:
                record["info"] = {**record["info"], "status": "failed", "description": str(error)}
                self._try_update(record)
            raise
        for one in deployed:
            one["info"]["status"] = "superseded"
            self._update(one)
        record["info"]["status"] = "deployed"
        self._update(record)
        return revision(record["version"], "deployed", record.get("labels", {}), self._clock.now())

    def _apply_changes(self, record: Record, original: Sequence[KubeObject]) -> None:
        """pkg/kube, Client.update: what there is to be is applied, then the rest goes."""
        release, namespace = record["name"], record["namespace"]
        target = parse_manifests(record["manifest"])
        for obj in target:
            self._kube.apply(as_sent(obj, release, namespace), manager=HELM_FIELD_MANAGER)
        stays = {identify(obj, namespace) for obj in target}
        for obj in original:
            object_ = identify(obj, namespace)
            if object_ in stays:
                continue
            live = self._get(obj, object_)
            if live is not None and not is_kept(live["metadata"]):
                self._kube.delete(resource_of(obj), object_.name, object_.namespace or None)

    def _uninstall(self, request: UninstallRequest, token: CancellationToken) -> None:
        release, namespace, timeout = request.release, request.namespace, request.timeout
        records = self._records(release, namespace)
        if not records:
            return
        record = records[-1]
        if record["info"]["status"] == "uninstalled":
            if request.keep_history:
                raise HelmFailed(f'the release named "{release}" is already deleted')
            self._purge(records)
            return
        record["info"]["status"] = "uninstalling"
        if request.hooks:
            self._run_hooks("pre-delete", record, timeout, token)
        self._try_update(record)
        for obj in parse_manifests(record["manifest"]):
            object_ = identify(obj, namespace)
            if not is_kept(obj["metadata"]):
                self._kube.delete(resource_of(obj), object_.name, object_.namespace or None)
        problem: ControllerError | None = None
        if request.hooks:
            try:
                self._run_hooks("post-delete", record, timeout, token)
            except HelmFailed as error:
                problem = error
        record["info"]["status"] = "uninstalled"
        if request.keep_history:
            self._try_update(record)
            for one in self._records(release, namespace):
                if one["info"]["status"] == "deployed":
                    one["info"]["status"] = "superseded"
                    self._try_update(one)
        else:
            self._purge(records)
        if problem is not None:
            raise problem

    # -- hooks

    def _run_hooks(self, event: str, record: Record, timeout: float, token: CancellationToken) -> None:
        run = [hook for hook in record.get("hooks") or [] if event in hook["events"]]
        run.sort(key=lambda hook: (int(hook.get("weight") or 0), hook["name"]))
        for hook in run:
            policies = hook.get("delete_policies") or ["before-hook-creation"]
            [obj] = parse_manifests(hook["manifest"])
            object_ = identify(obj, record["namespace"])
            if "before-hook-creation" in policies:
                self._kube.delete(resource_of(obj), object_.name, object_.namespace or None)
            hook["last_run"] = {"started_at": timestamp(self._clock.now()), "phase": "Running"}
            self._update(record)
            hook["last_run"]["phase"] = "Unknown"
            sent = {**obj, "metadata": {**obj["metadata"], "namespace": object_.namespace}}
            self._kube.apply(sent, manager=HELM_FIELD_MANAGER)
            outcome = self._outcome(obj, record["namespace"], timeout, token)
            if outcome != "Succeeded":
                hook["last_run"]["phase"] = "Failed"
                if "hook-failed" in policies:
                    self._kube.delete(resource_of(obj), object_.name, object_.namespace or None)
                text = f"failed {event}: resource {obj['kind']}/{object_.name} not ready: {outcome}"
                if token.cancelled or outcome == "TimedOut":
                    cut = token.cut if token.cancelled else f"not done within {timeout:g} s"
                    raise HelmCancelled(f"{record['name']}: {cut}: {text}", cut)
                raise HelmFailed(text)
            hook["last_run"]["phase"] = "Succeeded"
        for hook in reversed(run):
            if "hook-succeeded" in (hook.get("delete_policies") or ()):
                [obj] = parse_manifests(hook["manifest"])
                object_ = identify(obj, record["namespace"])
                self._kube.delete(resource_of(obj), object_.name, object_.namespace or None)

    def _outcome(self, obj: KubeObject, namespace: str, timeout: float, token: CancellationToken) -> str:
        if obj["kind"] not in ("Job", "Pod"):
            return "Succeeded"
        return self._await(obj, namespace, timeout, token)

    # -- objects

    def _get(self, obj: KubeObject, object_: ObjectId) -> KubeObject | None:
        return self._kube.get(resource_of(obj), object_.name, object_.namespace or None)

    def _refuse_foreign(self, objects: Sequence[KubeObject], release: str, namespace: str) -> None:
        for obj in objects:
            object_ = identify(obj, namespace)
            live = self._get(obj, object_)
            if live is not None and not is_marked(live["metadata"], release, namespace):
                text = f'Unable to continue with install: {obj["kind"]} "{object_.name}" {_TAKEN}'
                raise failure(text)

    # -- records (pkg/storage/driver/secrets.go)

    def _records(self, release: str, namespace: str) -> list[Record]:
        found = self._kube.list(SECRET, namespace, labels=f"owner=helm,name={release}")
        records = []
        for secret in found:
            if secret.get("type") != RECORD_TYPE:
                continue
            try:
                record = decode_record(secret["data"]["release"], secret["metadata"]["name"])
            except HelmFailed:
                continue
            labels = secret["metadata"].get("labels") or {}
            record["labels"] = {key: text for key, text in labels.items() if key not in _SYSTEM}
            records.append(record)
        return sorted(records, key=lambda one: int(one["version"]))

    def _new_record(
        self,
        request: HelmRequest,
        rendered: RenderedRelease,
        before: Sequence[Record],
        status: str,
        labels: Mapping[str, str] | None = None,
    ) -> Record:
        return {
            "name": request.release,
            "namespace": request.namespace,
            "version": before[-1]["version"] + 1 if before else 1,
            "info": {"status": status, "description": request.description},
            "config": copied(dict(request.values)),
            "manifest": "".join(f"---\n{_text(obj)}\n" for obj in rendered.manifest),
            "hooks": [_hook(obj) for obj in rendered.hooks],
            "labels": dict(request.labels if labels is None else labels),
        }

    def _secret(self, record: Record) -> KubeObject:
        status = str(record["info"]["status"])
        now = str(int(self._clock.now()))
        own = {"name": record["name"], "owner": "helm", "status": status, "version": str(record["version"])}
        stored = {key: part for key, part in record.items() if key != "labels"}
        name = f"sh.helm.release.v1.{record['name']}.v{record['version']}"
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": name,
                "namespace": record["namespace"],
                "labels": {**record.get("labels", {}), **own, "modifiedAt": now},
            },
            "type": RECORD_TYPE,
            "data": {"release": encode_record(stored)},
        }

    def _create(self, record: Record) -> None:
        self._kube.create(self._secret(record))

    def _update(self, record: Record) -> None:
        """Over whatever others have written meanwhile, as Helm does it."""
        secret = self._secret(record)
        meta = secret["metadata"]
        live = self._kube.get(SECRET, meta["name"], meta["namespace"])
        if live is None:
            raise ReleaseMissing("release: not found")
        kept = {key: live["metadata"][key] for key in ("resourceVersion", "uid")}
        self._kube.replace({**secret, "metadata": {**meta, **kept}})

    def _try_update(self, record: Record) -> None:
        try:
            self._update(record)
        except ControllerError:
            return

    def _prune(self, records: Sequence[Record], most: int) -> None:
        """All but the newest, and the newest deployed one."""
        deployed = [one["version"] for one in records if one["info"]["status"] == "deployed"][-1:]
        old = [one for one in records if one["version"] not in deployed]
        for one in old[: max(0, len(records) - most + 1)]:
            self._purge([one])

    def _purge(self, records: Sequence[Record]) -> None:
        for one in reversed(records):
            self._kube.delete(SECRET, f"sh.helm.release.v1.{one['name']}.v{one['version']}", one["namespace"])


def _token(cancellation: Cancellation | None) -> CancellationToken:
    return cancellation if isinstance(cancellation, CancellationToken) else CancellationToken()


def _text(obj: KubeObject) -> str:
    return json.dumps(obj, ensure_ascii=False)


def _hook(obj: KubeObject) -> dict[str, Any]:
    notes = annotations_of(obj)
    words = str(notes.get(DELETE_POLICY) or "")
    return {
        "name": obj["metadata"]["name"],
        "kind": obj["kind"],
        "manifest": _text(obj),
        "events": [word.strip() for word in str(notes[HOOK]).split(",")],
        "weight": int(notes.get(WEIGHT) or 0),
        "delete_policies": [word.strip() for word in words.split(",") if word.strip()],
        "last_run": {"phase": ""},
    }


__all__ = ["StoredHelm"]
