"""osctl credentials adopt: the credentials of running releases, before a region takes them over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from controller.adapters.helm.records.release_records import SecretRecords
from controller.cli.cluster import Cluster, open_cluster
from controller.cli.exit_codes import ExitCode, NoCluster
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.region import OfflineRegion, offline_renderer
from controller.cli.options import Context, Kubeconfig, Namespace, Output
from controller.cli.output import Cell, Format, Row, print_data, print_table, soft_wrapped, stderr, stdout
from controller.domain.credentials.adoption import (
    AdoptedKey,
    AdoptedSecret,
    NewRelease,
    Origin,
    plan_adoption,
    renamed_accounts,
)
from controller.domain.shared.plurals import count
from controller.domain.shared.secret_text import as_put_in
from controller.domain.values.chart_values import Values
from controller.domain.values.secret_refs import find_references
from controller.errors import ObjectMissing, ObjectRefused
from controller.ports.helm import Revision
from controller.ports.kubernetes import SECRET, KubeObject

_STYLES = {Origin.NEW: "yellow", Origin.PACKAGE: "yellow", Origin.CONFLICT: "red"}
_MOST_SHOWN = 4


def adopt(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File of the region that you will apply.")],
    *,
    values: Annotated[
        Path | None,
        typer.Option(
            "--values",
            metavar="DIRECTORY",
            help="RELEASE.yaml of each release (helm get values RELEASE --all) in place of Helm's records.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    output: Output = Format.TABLE,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Write the credentials of releases that run already into the Secrets of a region, before it is applied.

    The texts come from the values of the releases of the same names; what they do not have, the controller
    generates. A Secret with another text stays, and then nothing is written.
    """
    region = offline_renderer().render_one(read_objects([file]), lacking=True)
    cluster = _cluster(kubeconfig, context, namespace, needed=values is None or not dry_run)
    place = namespace or region.deployment.namespace
    releases = tuple(_releases(region))
    running = _of_files(values, releases) if values else _of_records(cluster, place, releases)
    if not running:
        raise ObjectMissing(
            f"namespace {place} has no release of this region: " + ", ".join(one.name for one in releases)
        )
    files = offline_renderer().library.names.files
    planned = plan_adoption(region.region.credentials, releases, running, files)
    differing = _differing(cluster, place, planned) if cluster else {}
    if output != Format.TABLE:
        print_data([_data(one, differing) for one in planned], output)
    else:
        print_table(stdout(), ("SECRET", "KEY", "TEXT", "WHERE"), _rows(planned, differing))
    _warn(planned, releases, running)
    _refuse(planned, differing)
    if cluster is None:
        stderr().print("there is no kubeconfig, so Secrets of a cluster were not compared")
    elif not dry_run:
        written = [one.name for one in planned if _write(cluster, place, one)]
        stderr().print(f"{count(len(written), 'Secret')} written: {', '.join(written) or 'none'}")


def _cluster(kubeconfig: Path | None, context: str, namespace: str, *, needed: bool) -> Cluster | None:
    """The cluster; None without a kubeconfig, if files alone are enough. Raises NoCluster."""
    try:
        return open_cluster(kubeconfig, context, namespace)
    except NoCluster:
        if needed or kubeconfig is not None or context:
            raise
        return None


def _releases(region: OfflineRegion) -> Iterable[NewRelease]:
    for bundle in region.region.bundles:
        for release in bundle.releases:
            references = find_references(release.spec.values)
            yield NewRelease(release.spec.name, bundle.service, references, release.merged.defaults)


def _of_records(cluster: Cluster | None, namespace: str, releases: Sequence[NewRelease]) -> dict[str, Values]:
    if cluster is None:
        return {}
    records = SecretRecords(cluster.kube)
    histories = records.observe(namespace, releases=[one.name for one in releases])
    chosen = {one.name: _newest(histories.get(one.name, ())) for one in releases}
    return {
        name: records.effective_values(name, namespace, revision.version)
        for name, revision in chosen.items()
        if revision is not None
    }


def _newest(history: Sequence[Revision]) -> Revision | None:
    """The revision that runs: the newest deployed one, or else the newest."""
    deployed = [one for one in history if one.status == "deployed"]
    return next(reversed(deployed or history), None) if history else None


def _of_files(directory: Path, releases: Sequence[NewRelease]) -> dict[str, Values]:
    found: dict[str, Values] = {}
    for one in releases:
        path = directory / f"{one.name}.yaml"
        if not path.exists():
            continue
        try:
            document = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        except (OSError, ValueError, yaml.YAMLError):
            # The text of the error quotes the file.
            raise typer.BadParameter(f"{path} cannot be read as YAML", param_hint="--values") from None
        found[one.name] = document if isinstance(document, dict) else {}
    return found


def _differing(
    cluster: Cluster, namespace: str, planned: Sequence[AdoptedSecret]
) -> dict[str, frozenset[str]]:
    """Keys of live Secrets that have another text, by Secret."""
    found: dict[str, frozenset[str]] = {}
    for one in planned:
        there = _texts(cluster.kube.get(SECRET, one.name, namespace))
        keys = {key for key, text in one.data.items() if text and there.get(key) not in (None, "", text)}
        if keys:
            found[one.name] = frozenset(keys)
    return found


def _texts(secret: KubeObject | None) -> Mapping[str, str | None]:
    return {key: as_put_in(text) for key, text in ((secret or {}).get("data") or {}).items()}


def _write(cluster: Cluster, namespace: str, secret: AdoptedSecret) -> bool:
    """Makes the Secret, or adds the keys that it lacks. Raises Conflict, ObjectRefused."""
    live = cluster.kube.get(SECRET, secret.name, namespace)
    there = _texts(live)
    # An empty key asks the controller for a new text, and takes none away.
    lacking = {key: text for key, text in secret.data.items() if not there.get(key)}
    if live is not None and all(key in there and not text for key, text in lacking.items()):
        return False
    try:
        if live is None:
            meta = {"name": secret.name, "namespace": namespace}
            body = {"apiVersion": "v1", "kind": SECRET.kind, "type": "Opaque", "metadata": meta}
            cluster.kube.create({**body, "stringData": lacking})
        else:
            cluster.kube.replace({**live, "stringData": lacking})
    except ObjectRefused:
        # Its text may quote the object.
        raise ObjectRefused(f"the API server refuses to write Secret {secret.name}") from None
    return True


def _warn(
    planned: Sequence[AdoptedSecret], releases: Sequence[NewRelease], running: Mapping[str, Values]
) -> None:
    absent = [one.name for one in releases if one.name not in running]
    if absent:
        _say(f"not among the running releases: {_several(absent)}; what only they use is generated")
    known = [f"{one.name}/{key.key}" for one in planned for key in one.keys if key.of_chart]
    if known:
        _say(f"the chart's own default, which everyone knows: {_several(known)}; rotate it afterwards")
    for one in planned:
        for key in one.keys:
            if key.origin == Origin.RELEASE and key.others:
                _say(f"{one.name}/{key.key}: another text in {_several(key.others)}; it will get this one")
    for where, name, new in renamed_accounts(releases, running):
        _say(f"{where}: the account is {name}, and would be {new}; set the username in spec.services")


def _refuse(planned: Sequence[AdoptedSecret], differing: Mapping[str, frozenset[str]]) -> None:
    conflicts = [(one, key) for one in planned for key in one.keys if key.origin == Origin.CONFLICT]
    for one, key in conflicts:
        text = f"{one.name}/{key.key}: {key.place} and {_several(key.others)} have different texts. Name one"
        text += " of them in the values of its release: {$secretRef: {name: …, key: …}} of a Secret of yours"
        stderr().print(soft_wrapped(text), style="red")
    for name, keys in differing.items():
        text = f"Secret {name} has another text under {', '.join(sorted(keys))}; correct or delete it first"
        stderr().print(soft_wrapped(text), style="red")
    if conflicts or differing:
        stderr().print("nothing was written", style="red")
        raise typer.Exit(ExitCode.REFUSED)


def _say(text: str) -> None:
    stderr().print(soft_wrapped(f"warning: {text}"), style="yellow")


def _several(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


def _rows(planned: Sequence[AdoptedSecret], differing: Mapping[str, frozenset[str]]) -> list[Row]:
    return [
        (secret.name, key.key, Cell(_word(secret, key, differing), _STYLES.get(key.origin, "")), key.place)
        for secret in planned
        for key in secret.keys
    ]


def _word(secret: AdoptedSecret, key: AdoptedKey, differing: Mapping[str, frozenset[str]]) -> str:
    return "differs in the Secret" if key.key in differing.get(secret.name, ()) else key.origin.value


def _data(secret: AdoptedSecret, differing: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    return {
        "secret": secret.name,
        "service": secret.service,
        "keys": [
            {
                "key": one.key,
                "text": _word(secret, one, differing),
                "place": one.place,
                "others": list(one.others),
                "chartDefault": one.of_chart,
            }
            for one in secret.keys
        ],
    }
