"""osctl restore: makes a RegionRestore, and waits for its end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from controller.cli.cluster import Cluster, open_cluster
from controller.cli.commands.plan import RegionName
from controller.cli.exit_codes import ExitCode
from controller.cli.options import Context, Kubeconfig, Namespace, Output, parse_wait
from controller.cli.output import Format, print_data, print_table, soft_wrapped, stderr, stdout
from controller.cli.waiting import POLL_SECONDS
from controller.domain.backups.backup_spec import parse_backup_spec
from controller.domain.restores.restore_spec import parse_restore_spec
from controller.domain.restores.restore_state import Phase
from controller.errors import ObjectMissing, ObjectRefused
from controller.ports.kubernetes import RESTORE, KubeObject

Restore = Annotated[
    str, typer.Argument(metavar="RESTORE", help="Name of the RegionRestore.", show_default=False)
]
Secret = Annotated[
    str,
    typer.Option(
        "--secret",
        metavar="NAME",
        help="The Secret with restic's variables. Default: the region's own backups.",
        show_default=False,
    ),
]
Backup = Annotated[str, typer.Option("--backup", metavar="ID", help="The backup.")]
Claim = Annotated[
    str,
    typer.Option("--claim", metavar="NAME", help="The volume claim with the repository.", show_default=False),
]
Image = Annotated[
    str,
    typer.Option(
        "--image",
        metavar="IMAGE",
        help="An image with restic. Default: that of the region's own backups.",
        show_default=False,
    ),
]
RestoreTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        parser=parse_wait,
        show_default="4h",
        help="How long to wait, such as 90m or 4h.",
    ),
]
_FAILED = (Phase.REFUSED, Phase.ABORTED)


def restore(
    restore: Restore,
    *,
    name: RegionName = "",
    secret: Secret = "",
    backup: Backup = "latest",
    claim: Claim = "",
    image: Image = "",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for its end.")] = True,
    timeout: RestoreTimeout = 14400.0,
    output: Output = Format.TABLE,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Restore the databases of the region from a backup, or follow a restore that runs.

    It ends with 0 when the region is restored, and with 4 after --timeout; the restore goes on then.
    """
    cluster = open_cluster(kubeconfig, context, namespace)
    osdpl = cluster.find_region(name)
    region, place = osdpl["metadata"], str(osdpl["metadata"]["namespace"])
    asked: dict[str, Any] = {"region": str(region["name"]), "backup": backup}
    if secret:
        given = {"secret": secret, "claim": claim, "image": image}
        asked["from"] = {key: text for key, text in given.items() if text}
    elif parse_backup_spec(osdpl.get("spec")) is None:
        asked = {}
    found = _ensure(cluster, place, restore, asked)
    done = _follow(cluster, found, timeout) if wait else True
    found = _get(cluster, place, restore)
    if output != Format.TABLE:
        print_data(found, output)
    else:
        _show(found)
    if _phase(found) in _FAILED:
        raise typer.Exit(ExitCode.REFUSED)
    if not done:
        stderr().print(soft_wrapped(f"{restore}: not done after {timeout:.0f} s; it goes on"))
        raise typer.Exit(ExitCode.NOT_READY)


def _ensure(cluster: Cluster, place: str, name: str, spec: dict[str, Any]) -> KubeObject:
    """The restore; made if it is not there and a spec is given. Raises ObjectRefused if another has its
    name."""
    there = cluster.kube.get(RESTORE, name, place)
    if there is not None:
        if spec.get("from") and parse_restore_spec(there["spec"]) != parse_restore_spec(spec):
            raise ObjectRefused(f"RegionRestore {name} is there with another spec; choose another name")
        return there
    if not spec:
        raise ObjectMissing(f'there is no RegionRestore "{name}" in namespace "{place}"; name a --secret')
    meta = {"name": name, "namespace": place}
    head = {"apiVersion": RESTORE.api_version, "kind": RESTORE.kind}
    return cluster.kube.create({**head, "metadata": meta, "spec": spec})


def _follow(cluster: Cluster, found: KubeObject, timeout: float) -> bool:
    """Whether it has ended in time; reports each change meanwhile."""
    deadline, told = time.monotonic() + timeout, ""
    while True:
        status = found.get("status") or {}
        text = f"{_phase(found) or 'not begun'}: {status.get('message') or 'the controller has not seen it'}"
        if text != told:
            stderr().print(soft_wrapped(text))
            told = text
        if _phase(found) in (Phase.DONE, *_FAILED):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
        found = _get(cluster, str(found["metadata"]["namespace"]), str(found["metadata"]["name"]))


def _show(found: KubeObject) -> None:
    status = found.get("status") or {}
    rows = [_row(one) for one in status.get("steps") or ()]
    if rows:
        print_table(stdout(), ("STEP", "STATE", "STARTED", "ENDED", "MESSAGE"), rows)
    differing = [_difference(one) for one in status.get("differences") or ()]
    if differing:
        print_table(stdout(), ("DIFFERENCE", "KIND", "ID", "NAME", "HOST"), differing)
    stdout().print(soft_wrapped(f"{found['metadata']['name']}: {status.get('message') or 'not begun'}"))


def _row(step: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(step.get(key) or "") for key in ("name", "state", "started", "ended", "message"))


def _difference(one: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(one.get(key) or "") for key in ("what", "kind", "id", "name", "host"))


def _get(cluster: Cluster, place: str, name: str) -> KubeObject:
    found = cluster.kube.get(RESTORE, name, place)
    if found is None:
        raise ObjectMissing(f'RegionRestore "{name}" is gone')
    return found


def _phase(found: KubeObject) -> str:
    return str((found.get("status") or {}).get("phase") or "")
